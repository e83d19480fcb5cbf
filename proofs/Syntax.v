(** Datalog with stratified negation and comparisons: the part of tidelog's core language that the proofs cover.

    Values are integers: what exports a certificate numbers symbols and records, in their order.  Predicates and
    variables are numbers.  A program says for each predicate the number of its hyper-node; negation has to go to a
    smaller number ([Certificate.stratified]).  It also says which predicates are declared: only these may have facts,
    all others are intermediate results that the rewriting of rules has made ([Certificate.facts_declared]). *)

From Coq Require Import List ZArith NArith.
Import ListNotations.

Definition value := Z.
Definition variable := N.
Definition predicate := N.

Inductive term :=
| Var (x : variable)
| Const (c : value).

Record atom := Atom { pred : predicate; args : list term }.

Inductive operator := Equal | Unequal | Less | AtMost.

Record test := Test { op : operator; left : term; right : term }.

(** [head :- body, not negated, tests]. *)
Record rule := Rule { head : atom; body : list atom; negated : list atom; tests : list test }.

Record program := Program { rules : list rule; node : predicate -> nat; declared : predicate -> bool }.

(** A tuple of a predicate. *)
Definition fact := (predicate * list value)%type.

Definition fact_eq_dec (t u : fact) : {t = u} + {t <> u}.
Proof. repeat decide equality. Defined.

(** The variables that occur. *)
Definition term_vars (t : term) : list variable := match t with Var x => [x] | Const _ => [] end.
Definition atom_vars (a : atom) : list variable := flat_map term_vars (args a).
Definition test_vars (c : test) : list variable := term_vars (left c) ++ term_vars (right c).
