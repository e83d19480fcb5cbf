(** The clause map as the normal form of rules: Sections 2.1 and 2.2 of "Certified Graph View Maintenance with Regular
    Datalog".

    A rule has any head, and a body over the surface syntax of Section 2.2, s-(X, Y) and s*(X, Y).  [clause_map] brings
    the rules of a symbol to a common head, by equalities as in Clark's completion, compiles the surface syntax away,
    and gathers the bodies in one disjunction.  [clause_map_spec]: it means what the rules mean; [clause_map_safe]: it
    is safe, whatever the rules are, since the equalities bind the head.

    [papers.regular_programs] does the same, and renames variables where the equality could be left out. *)

#[local] Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.
From Tidelog Require Import RegularPrograms.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section ClauseMap.

Variables V Sigma : eqType.
Notation term := (term V).
Notation literal := (literal V Sigma).
Notation body := (body V Sigma).
Notation graph := (graph V Sigma).
Implicit Types (G : graph) (eta : grounding V).

(** Over each symbol: its edges or their closure, the same backwards, or its reflexive and transitive closure. *)
Inductive step := Forward of Sigma & label | Backward of Sigma & label | Star of Sigma.

Definition sum_of_step (p : step) : Sigma * option (bool * label) :=
  match p with
  | Forward s lab => (s, Some (true, lab)) | Backward s lab => (s, Some (false, lab)) | Star s => (s, None)
  end.
Definition step_of_sum (p : Sigma * option (bool * label)) : step :=
  match p with
  | (s, Some (true, lab)) => Forward s lab | (s, Some (false, lab)) => Backward s lab | (s, None) => Star s
  end.
Lemma sum_of_stepK : cancel sum_of_step step_of_sum. Proof. by case. Qed.
Definition step_eqMixin := CanEqMixin sum_of_stepK.
Canonical step_eqType := EqType step step_eqMixin.

(** [derived(t1, t2) <- p1(t11, t12), ..., pn(tn1, tn2).] *)
Definition rule : Type := Sigma * (term * term) * seq (step * (term * term)).
Definition derived (r : rule) : Sigma := r.1.1.
Definition rule_head (r : rule) : term * term := r.1.2.
Definition rule_body (r : rule) : seq (step * (term * term)) := r.2.

Definition step_holds G eta (l : step * (term * term)) : bool :=
  match l.1 with
  | Forward s lab => ground eta l.2 \in G s lab
  | Backward s lab => (value eta l.2.2, value eta l.2.1) \in G s lab
  | Star s => (value eta l.2.1 == value eta l.2.2) || (ground eta l.2 \in G s Plus)
  end.

Definition rule_satisfied G (r : rule) : Prop :=
  forall eta, all (step_holds G eta) (rule_body r) -> ground eta (rule_head r) \in G (derived r) Single.

(** In a well-formed graph, a star is a path of any length. *)
Lemma star_spec G eta s (p : term * term) : is_closure (G s Single) (G s Plus) ->
  step_holds G eta (Star s, p) <->
  exists q, path (edge_in (G s Single)) (value eta p.1) q /\ last (value eta p.1) q = value eta p.2.
Proof.
move=> closed; split=> [/orP [/eqP same | /closed [q [_ walk ends]]] | [[|z q] [walk ends]]].
- by exists [::].
- by exists q.
- by rewrite /step_holds /= -ends eqxx.
by apply/orP; right; apply/closed; exists (z :: q).
Qed.

(** *** Surface syntax compiled away: s-(X, Y) is s(Y, X), and s*(X, Y) is X = Y \/ s+(X, Y) *)

Definition alternatives (l : step * (term * term)) : seq literal :=
  match l.1 with
  | Forward s lab => [:: Edge s lab l.2]
  | Backward s lab => [:: Edge s lab (l.2.2, l.2.1)]
  | Star s => [:: Equal l.2; Edge s Plus l.2]
  end.

Definition expanded (b : seq (step * (term * term))) : seq body :=
  foldr (fun l bs => [seq l' :: b' | l' <- alternatives l, b' <- bs]) [:: [::]] b.

Lemma alternatives_hold G eta l : has (holds G eta) (alternatives l) = step_holds G eta l.
Proof. by case: l => [[s lab | s lab | s] [t u]]; rewrite /step_holds /= orbF. Qed.

Lemma expanded_holds G eta b : has (body_holds G eta) (expanded b) = all (step_holds G eta) b.
Proof.
elim: b => [|l b IH] //=; rewrite -alternatives_hold -IH.
elim: (alternatives l) => //= l' ls IHl; rewrite has_cat IHl andb_orl; congr (_ || _).
by rewrite has_map; elim: (expanded b) => [|b' bs /= ->] //=; rewrite ?andbF // andb_orr.
Qed.

(** *** A common head: the variables 0 and 1; those of the rules make room *)

Definition common_head : term * term := (Var 0, Var 1).

Definition shifted_term (t : term) : term := match t with Node v => Node v | Var x => Var x.+2 end.
Definition shifted (p : term * term) : term * term := (shifted_term p.1, shifted_term p.2).
Definition shifted_literal (l : literal) : literal :=
  match l with Edge s lab p => Edge s lab (shifted p) | Equal p => Equal (shifted p) end.

Definition completed (h : term * term) (b : body) : body :=
  Equal (Var 0, shifted_term h.1) :: Equal (Var 1, shifted_term h.2) :: map shifted_literal b.

Definition completed_bodies (r : rule) : seq body := map (completed (rule_head r)) (expanded (rule_body r)).

(** The clause map of rules. *)
Definition clause_map (rules : seq rule) : program V Sigma :=
  fun s => Clause common_head (flatten [seq completed_bodies r | r <- rules & derived r == s]).

Lemma clause_map_safe rules : safe_program (clause_map rules).
Proof. by move=> s; apply/allP => b /flattenP [_ /mapP [r _ ->] /mapP [b' _ ->]]; rewrite /= !(inE, mem_cat) orbT. Qed.

(** A grounding of the common head and of a rule's own variables. *)
Definition joint (v w : V) eta : grounding V := fun x => match x with 0 => v | 1 => w | x.+2 => eta x end.

Lemma shifted_value eta t : value eta (shifted_term t) = value (fun x => eta x.+2) t.
Proof. by case: t. Qed.

Lemma shifted_holds G eta l : holds G eta (shifted_literal l) = holds G (fun x => eta x.+2) l.
Proof. by case: l => [s lab p | p] /=; rewrite /ground !shifted_value. Qed.

Lemma completed_holds G eta h b : body_holds G eta (completed h b) =
  (ground eta common_head == ground (fun x => eta x.+2) h) && body_holds G (fun x => eta x.+2) b.
Proof.
rewrite /body_holds /= !shifted_value all_map andbA; congr (_ && _).
by apply: eq_all => l; apply: shifted_holds.
Qed.

Lemma completed_bodies_hold G eta r : has (body_holds G eta) (completed_bodies r) =
  (ground eta common_head == ground (fun x => eta x.+2) (rule_head r)) &&
  all (step_holds G (fun x => eta x.+2)) (rule_body r).
Proof.
rewrite /completed_bodies has_map (eq_has (completed_holds G eta (rule_head r))) -expanded_holds.
by elim: (expanded _) => [|b bs /= ->] /=; rewrite ?andbF ?andb_orr.
Qed.

(** The normal form means what the rules mean. *)
Theorem clause_map_spec rules G s :
  satisfies G s (clause_map rules s) <-> forall r, r \in rules -> derived r = s -> rule_satisfied G r.
Proof.
split=> [sat r r_in is_s eta held | sat eta /hasP [b /flattenP [bs /mapP [r]]]].
  pose e := ground eta (rule_head r).
  suff: ground (joint e.1 e.2 eta) common_head \in G s Single by rewrite -is_s.
  apply: sat; apply/hasP.
  have /hasP [b b_in b_held] : has (body_holds G (joint e.1 e.2 eta)) (completed_bodies r).
    by rewrite completed_bodies_hold held andbT.
  exists b => //; apply/flattenP; exists (completed_bodies r) => //.
  by apply: map_f; rewrite mem_filter is_s eqxx.
rewrite mem_filter => /andP [/eqP is_s r_in] {bs} -> b_in b_held.
have : has (body_holds G eta) (completed_bodies r) by apply/hasP; exists b.
by rewrite completed_bodies_hold => /andP [/eqP -> /(sat r r_in is_s)]; rewrite is_s.
Qed.

End ClauseMap.
