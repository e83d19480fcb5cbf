(** Datalog with stratified negation, comparisons, sums and selections: the part of tidelog's core language that the
    proofs cover.

    Values are integers: what exports a certificate numbers symbols and records, in their order.  Predicates and
    variables are numbers.  A program says for each predicate the number of its hyper-node; negation has to go to a
    smaller number ([Checker.stratified]).  It also says which predicates are declared: only these may have facts,
    all others are intermediate results that the rewriting of rules has made ([Checker.facts_declared]).  For a
    relation with a minimum or a maximum it has the columns that are compared, the first one first, and whether all
    columns count alike, so that the relation shows a front; and for a relation with choice-domains the columns of each
    of its keys ([Orders]). *)

From Coq Require Import List ZArith NArith.
Import ListNotations.

Definition value := Z.
Definition variable := N.
Definition predicate := N.

Inductive functor := Plus | Minus | Least | Greatest.

(** Computed terms stand in heads, tests and negated atoms, not in positive atoms ([Checker.safe]).  Integers have no
    bounds here: a view in which a sum has wrapped around is rejected. *)
Inductive term :=
| Var (x : variable)
| Const (c : value)
| Apply (f : functor) (t u : term).

Record atom := Atom { pred : predicate; args : list term }.

Inductive operator := Equal | Unequal | Less | AtMost.

Record test := Test { op : operator; left : term; right : term }.

(** [head :- body, not negated, tests]. *)
Record rule := Rule { head : atom; body : list atom; negated : list atom; tests : list test }.

Inductive direction := Min | Max.

Record program := Program {
  rules : list rule;
  node : predicate -> nat;
  declared : predicate -> bool;
  order : predicate -> list (direction * nat);
  front : predicate -> bool;
  domains : predicate -> list (list nat)
}.

(** A tuple of a predicate. *)
Definition fact := (predicate * list value)%type.

Definition fact_eq_dec (t u : fact) : {t = u} + {t <> u}.
Proof. repeat decide equality. Defined.

(** The variables that occur. *)
Fixpoint term_vars (t : term) : list variable :=
  match t with
  | Var x => [x]
  | Const _ => []
  | Apply _ t u => term_vars t ++ term_vars u
  end.
Definition atom_vars (a : atom) : list variable := flat_map term_vars (args a).
Definition test_vars (c : test) : list variable := term_vars (left c) ++ term_vars (right c).

(** Without computed terms. *)
Definition flat_term (t : term) : bool := match t with Apply _ _ _ => false | _ => true end.
Definition flat (a : atom) : bool := forallb flat_term (args a).
