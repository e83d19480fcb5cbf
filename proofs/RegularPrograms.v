(** Regular Datalog: programs, graphs with closures, and what it means that a graph is a model of a program.

    Sections and definitions are those of "Certified Graph View Maintenance with Regular Datalog" (Bonifati, Dumbrava
    and Gallego Arias, 2018), names in parentheses those of its Coq code.  [Regular.v] says where this development
    differs.  Nodes and symbols are any types with decidable equality; variables are numbers. *)

#[local] Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** The labels of symbols (L): the edges of a symbol, or their transitive closure. *)
Inductive label := Single | Plus.

Definition is_plus (l : label) : bool := if l is Plus then true else false.
Definition label_of_bool (b : bool) : label := if b then Plus else Single.
Lemma is_plusK : cancel is_plus label_of_bool. Proof. by case. Qed.
Definition label_eqMixin := CanEqMixin is_plusK.
Canonical label_eqType := EqType label label_eqMixin.

Section Programs.

Variables V Sigma : eqType.

(** ** Syntax: Section 2.1, Figure 1 *)

Inductive term := Node of V | Var of nat.

Definition sum_of_term (t : term) : V + nat := match t with Node v => inl v | Var x => inr x end.
Definition term_of_sum (t : V + nat) : term := match t with inl v => Node v | inr x => Var x end.
Lemma sum_of_termK : cancel sum_of_term term_of_sum. Proof. by case. Qed.
Definition term_eqMixin := CanEqMixin sum_of_termK.
Canonical term_eqType := EqType term term_eqMixin.

(** (lit) An edge under a label, or an equality. *)
Inductive literal := Edge of Sigma & label & (term * term) | Equal of (term * term).

Definition sum_of_literal (l : literal) : (Sigma * label * (term * term)) + (term * term) :=
  match l with Edge s lab p => inl (s, lab, p) | Equal p => inr p end.
Definition literal_of_sum (l : (Sigma * label * (term * term)) + (term * term)) : literal :=
  match l with inl (s, lab, p) => Edge s lab p | inr p => Equal p end.
Lemma sum_of_literalK : cancel sum_of_literal literal_of_sum. Proof. by case. Qed.
Definition literal_eqMixin := CanEqMixin sum_of_literalK.
Canonical literal_eqType := EqType literal literal_eqMixin.

Definition arguments (l : literal) : term * term := match l with Edge _ _ p | Equal p => p end.

(** (cbody) A conjunction. *)
Definition body := seq literal.

(** (clause) [head <- B1 \/ ... \/ Bn]. *)
Record clause := Clause { head : term * term; bodies : seq body }.

(** The clause map: one clause for each symbol, without bodies where nothing derives the symbol. *)
Definition program := Sigma -> clause.

(** (sym) The symbols that a clause reads. *)
Definition read_by_literal (l : literal) : seq Sigma := if l is Edge s _ _ then [:: s] else [::].
Definition read_by_body (b : body) : seq Sigma := flatten (map read_by_literal b).
Definition read_by (c : clause) : seq Sigma := flatten (map read_by_body (bodies c)).

Definition variables_of_term (t : term) : seq nat := if t is Var x then [:: x] else [::].
Definition variables_of (p : term * term) : seq nat := variables_of_term p.1 ++ variables_of_term p.2.

(** Each variable of the head occurs in each body. *)
Definition safe (c : clause) : bool :=
  all (fun b => all (mem (flatten [seq variables_of (arguments l) | l <- b])) (variables_of (head c))) (bodies c).

Definition safe_program (P : program) : Prop := forall s, safe (P s).

(** ** Graphs and closures: Definition 1, Section 2.2 *)

Definition edges := seq (V * V).

(** (lrel) For each symbol its edges, and under the label [Plus] what is to be their transitive closure. *)
Definition graph := Sigma -> label -> edges.

Definition edge_in (r : edges) : rel V := fun x y => (x, y) \in r.

(** A path of one edge or more; the list of its nodes leaves the first one out. *)
Definition connected (r : edges) (x y : V) : Prop := exists p, [/\ p <> [::], path (edge_in r) x p & last x p = y].

(** (is_closure) *)
Definition is_closure (r t : edges) : Prop := forall x y, (x, y) \in t <-> connected r x y.

(** (wfG), for the symbols of a set. *)
Definition well_formed (S : seq Sigma) (G : graph) : Prop := forall s, s \in S -> is_closure (G s Single) (G s Plus).

(** ** Satisfaction: Definitions 4 to 6 *)

(** (gr) η. *)
Definition grounding := nat -> V.

Definition value (eta : grounding) (t : term) : V := match t with Node v => v | Var x => eta x end.
Definition ground (eta : grounding) (p : term * term) : V * V := (value eta p.1, value eta p.2).

(** (sTl) Definition 4, of a literal's instance under a grounding. *)
Definition holds (G : graph) (eta : grounding) (l : literal) : bool :=
  match l with
  | Edge s lab p => ground eta p \in G s lab
  | Equal p => value eta p.1 == value eta p.2
  end.

(** (sTb) *)
Definition body_holds (G : graph) (eta : grounding) (b : body) : bool := all (holds G eta) b.

(** Some body has an instance that holds, with this instance of the head. *)
Definition derives (G : graph) (c : clause) (e : V * V) : Prop :=
  exists eta, has (body_holds G eta) (bodies c) && (ground eta (head c) == e).

(** (sTc) Definition 5. *)
Definition satisfies (G : graph) (s : Sigma) (c : clause) : Prop :=
  forall eta, has (body_holds G eta) (bodies c) -> ground eta (head c) \in G s Single.

(** (ssTp) Definition 6: a graph that is well-formed and satisfies the clauses of the symbols of a set. *)
Definition models (S : seq Sigma) (P : program) (G : graph) : Prop :=
  well_formed S G /\ forall s, s \in S -> satisfies G s (P s).

(** Beyond the paper, the other direction of Clark's completion: a symbol has no other edges than those derived. *)
Definition exact (S : seq Sigma) (P : program) (G : graph) : Prop :=
  forall s, s \in S -> forall e, e \in G s Single <-> derives G (P s) e.

(** ** Strata: Definitions 12 and 13 *)

(** A set of symbols that reads nothing outside of itself. *)
Definition slice (P : program) (S : seq Sigma) : bool := all (fun s => all (mem S) (read_by (P s))) S.

(** (is_strata) Symbols in an order in which each reads only what is done or comes before it. *)
Fixpoint is_strata (P : program) (done todo : seq Sigma) : bool :=
  if todo is s :: rest then [&& s \notin done, all (mem done) (read_by (P s)) & is_strata P (s :: done) rest]
  else true.

(** A stratification of all symbols. *)
Definition stratification (P : program) (done todo : seq Sigma) : Prop :=
  is_strata P done todo /\ forall s, s \in done ++ todo.

End Programs.

Arguments Node {V}.
Arguments Var {V}.
Arguments Edge {V Sigma}.
Arguments Equal {V Sigma}.
