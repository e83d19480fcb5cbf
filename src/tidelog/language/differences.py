"""The difference of two schemes, for checks that depend on the change: `SchemeDifference`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidelog.language.declarations import Scheme
from tidelog.language.syntax import Aggregate, Cast, Functor, Record, Rule, TypeDeclaration
from tidelog.language.trees import walk, whole


@dataclass(frozen=True)
class SchemeDifference:
    """The relations, types, branches and functors that are others than before, or whose columns have such types.
    Branches begin with `$`, functors with `@`."""

    relations: frozenset[str]
    names: frozenset[str]

    @classmethod
    def between(cls, old: Scheme, new: Scheme) -> SchemeDifference:
        """Return the difference of two schemes."""
        types = _reached(_changed_types(old, new), old, new)
        branches = {*old.branches.items(), *new.branches.items()}
        names = {*types, *(f"${name}" for name, type_ in branches if type_ in types)}
        for name in old.functors.keys() | new.functors.keys():
            both = [found for scheme in (old, new) if (found := scheme.functors.get(name)) is not None]
            used = {column.type for each in both for column in (*each.parameters, each.result)}
            if used & types or len({str(each) for each in both}) > 1 or len(both) == 1:
                names.add(f"@{name}")
        relations = {
            name
            for name in old.relations.keys() | new.relations.keys()
            if name not in old.relations
            or name not in new.relations
            or old.relations[name] != new.relations[name]
            or old.relations[name].span != new.relations[name].span
            or any(column.type in types for column in new.relations[name].columns)
        }
        return cls(frozenset(relations), frozenset(names))

    def concerns(self, relations: frozenset[str], names: frozenset[str]) -> bool:
        """Return True if a statement with these relations, and the `names_in` it, may have other results."""
        return not (self.relations.isdisjoint(relations) and self.names.isdisjoint(names))


def names_in(rule: Rule) -> frozenset[str]:
    """Return the types, branches and functors that a statement names, as in a `SchemeDifference`."""
    found = set[str]()
    for node in walk(whole(rule)):
        match node:
            case Cast(type=name):
                found.add(name)
            case Record(branch=str(name)):
                found.add(f"${name}")
            case Functor(name=name):
                found.add(f"@{name.removeprefix('@')}")
            case Aggregate(called=name) if name:
                found.add(f"@{name.removeprefix('@')}")
            case _:
                pass
    return frozenset(found)


def _changed_types(old: Scheme, new: Scheme) -> set[str]:
    """Return the types with another declaration or another kind."""
    return {
        name
        for name in old.kinds.keys() | new.kinds.keys()
        if old.types.get(name) != new.types.get(name) or old.kinds.get(name) != new.kinds.get(name)
    }


def _reached(changed: set[str], old: Scheme, new: Scheme) -> set[str]:
    """Return the changed types with those that they may change: types declared by them, and where a union changes also
    those by its members, for two types may share a value through it."""
    found = set(changed)
    users: dict[str, set[str]] = {}
    for scheme in (old, new):
        for name, type_ in scheme.types.items():
            for part in _parts(type_):
                users.setdefault(part, set()).add(name)
        found |= _members(changed, scheme.types)
    waiting = [*found]
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in found:
                found.add(user)
                waiting.append(user)
    return found


def _members(names: Iterable[str], types: Mapping[str, TypeDeclaration]) -> set[str]:
    """Return the declared members of unions and of other names for types, with their members."""
    found = set[str]()
    waiting = [name for name in names if name in types and types[name].form in ("union", "alias")]
    while waiting:
        for member in types[waiting.pop()].members:
            if member in types and member not in found:
                found.add(member)
                waiting.append(member)
    return found


def _parts(type_: TypeDeclaration) -> Iterable[str]:
    """Return the types in the declaration of one."""
    yield from type_.members
    yield from (each.type for each in type_.fields)
    yield from (each.type for branch in type_.branches for each in branch.fields)
