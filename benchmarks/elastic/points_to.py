"""A points-to analysis of Python in the style of Doop, over facts that `bytecode` makes.

Flow-insensitive, context-insensitive, field-sensitive; objects are allocation sites. Calls are resolved through the
points-to sets while these grow, methods through the class of the receiver and its bases, which are found through
points-to sets as well; a function counts when the call graph reaches it.
"""

from __future__ import annotations

INPUTS = {
    "entry": "f",
    "allocate": "v o f",
    "move": "to from_",
    "load": "to base a",
    "store": "base a from_",
    "load_global": "to g",
    "store_global": "g from_",
    "module_global": "m a g",
    "function_object": "o f",
    "class_object": "o c",
    "class_attribute": "c a v",
    "declares": "c a",
    "base": "c v",
    "open_instance": "o c",
    "call": "i v",
    "call_method": "i v a",
    "argument": "i n v",
    "parameter": "f n v",
    "result": "i v",
    "returned": "f v",
    "site_object": "i o",
    "site_in": "i f",
    "initializer": "a",
}
DERIVED = {
    "reachable": "f",
    "points": "v o",
    "global_points": "g o",
    "heap": "o a p",
    "attribute": "c a p",
    "above": "c d",
    "lookup": "c a p",
    "instance": "o c",
    "member": "o a p",
    "callee": "i p",
    "bound": "i f o",
    "calls": "i f",
    "calls_class": "i c",
    "bound_calls": "i f",
}
ARITIES = {name: len(columns.split()) for name, columns in INPUTS.items()}
_RULES = """
reach_entry: reachable(f) :- entry(f).
reach_call: reachable(f) :- calls(i, f), site_in(i, g), reachable(g).
reach_method: reachable(f) :- bound_calls(i, f), site_in(i, g), reachable(g).

new: points(v, o) :- allocate(v, o, f), reachable(f).
move: points(v, o) :- move(v, w), points(w, o).
load: points(v, p) :- load(v, b, a), points(b, o), member(o, a, p).
store: heap(o, a, p) :- store(b, a, v), points(b, o), points(v, p).
store_global: global_points(g, o) :- store_global(g, v), points(v, o).
store_module: global_points(g, p) :- store(b, a, v), points(b, o), module_global(o, a, g), points(v, p).
load_global: points(v, o) :- load_global(v, g), global_points(g, o).

attribute: attribute(c, a, p) :- class_attribute(c, a, v), points(v, p).
base: above(c, d) :- base(c, v), points(v, o), class_object(o, d).
bases: above(c, e) :- above(c, d), above(d, e).
own: lookup(c, a, p) :- attribute(c, a, p).
inherited: lookup(c, a, p) :- above(c, d), attribute(d, a, p), !declares(c, a).
instance: instance(o, c) :- calls_class(i, c), site_object(i, o).
instance_open: instance(o, c) :- open_instance(o, c).

member_heap: member(o, a, p) :- heap(o, a, p).
member_module: member(o, a, p) :- module_global(o, a, g), global_points(g, p).
member_class: member(o, a, p) :- class_object(o, c), lookup(c, a, p).

callee: callee(i, p) :- call(i, v), points(v, p).
callee_member: callee(i, p) :- call_method(i, v, a), points(v, o), member(o, a, p).
callee_virtual: bound(i, f, o) :-
    call_method(i, v, a), points(v, o), instance(o, c), lookup(c, a, p), function_object(p, f).
callee_new: bound(i, f, o) :-
    calls_class(i, c), site_object(i, o), initializer(a), lookup(c, a, p), function_object(p, f).
calls: calls(i, f) :- callee(i, p), function_object(p, f).
calls_class: calls_class(i, c) :- callee(i, p), class_object(p, c).
bound_calls: bound_calls(i, f) :- bound(i, f, _).

made: points(v, o) :- calls_class(i, _), result(i, v), site_object(i, o).
pass: points(x, o) :- calls(i, f), argument(i, n, v), parameter(f, n, x), points(v, o).
pass_self: points(x, o) :- bound(i, f, o), parameter(f, 0, x).
pass_bound: points(x, o) :- bound_calls(i, f), argument(i, n, v), parameter(f, n + 1, x), points(v, o).
back: points(v, o) :- calls(i, f), result(i, v), returned(f, w), points(w, o).
back_bound: points(v, o) :- bound_calls(i, f), result(i, v), returned(f, w), points(w, o).
"""


def _declaration(name: str, columns: str) -> str:
    return f".decl {name}({', '.join(f'{column}: number' for column in columns.split())})"


PROGRAM = "\n".join(_declaration(*item) for item in (INPUTS | DERIVED).items()) + _RULES
