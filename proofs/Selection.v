(** Relations that select: minimum, maximum, lexicographic order, subsumption.

    One hyper-node, whose tuples are of any type.  [derives B t]: the fact or rule instance with the body tuples [B] in
    this hyper-node has the head [t].  Relations of earlier hyper-nodes, negation and tests are inside of [derives]; they
    do not change while this hyper-node is evaluated.  [dominates u t]: [u] is shown in place of [t].  It relates tuples
    of the same relation and key; for a plain relation it relates nothing.

    The meaning is that of the plain program, whose rules read every tuple that is derived, with a selection at the end.
    A certificate has the visible tuples only, with a birth each.  [selection_certified]: if the rules are monotone, three
    conditions on visible tuples make them the selection from all tuples that are derived, also from infinitely many. *)

From Coq Require Import List NArith.
Import ListNotations.

Section Derivable.

Variable T : Type.
Variable derives : list T -> T -> Prop.

(** The least model of the plain program. *)
Inductive derivable : T -> Prop :=
| derivable_by B t : derives B t -> (forall b, In b B -> derivable b) -> derivable t.

(** [V] is founded by [birth]: each member follows from members that were born before it. *)
Definition founded_by (birth : T -> N) (V : T -> Prop) : Prop := forall t, V t ->
  exists B, derives B t /\ forall b, In b B -> V b /\ (birth b < birth t)%N.

Lemma founded_derivable birth V : founded_by birth V -> forall t, V t -> derivable t.
Proof.
  intros HV t. remember (birth t) as n eqn:Hn. revert t Hn.
  induction n as [n IH] using (well_founded_induction N.lt_wf_0). intros t -> Ht.
  destruct (HV t Ht) as (B & HB & Hbody). apply (derivable_by B); [exact HB|].
  intros b Hb. destruct (Hbody b Hb) as [HVb Hlt]. now apply (IH (birth b)).
Qed.

End Derivable.

Arguments derivable {T}.
Arguments founded_by {T}.
Arguments founded_derivable {T}.

Section Selection.

Variable T : Type.
Variable derives : list T -> T -> Prop.
Variable dominates : T -> T -> Prop.

Definition covers (u t : T) : Prop := u = t \/ dominates u t.

(** The members of [M] that no other one dominates. *)
Definition selection (M : T -> Prop) (t : T) : Prop := M t /\ forall u, M u -> ~ dominates u t.

(** From better body tuples, which are visible, follows an equal or better head. *)
Definition monotone_on (V : T -> Prop) : Prop := forall B B' t,
  derives B t -> Forall V B' -> Forall2 covers B' B -> exists t', derives B' t' /\ covers t' t.

Record selection_certificate (birth : T -> N) (V : T -> Prop) : Prop := {
  selection_closed : forall B t, derives B t -> Forall V B -> exists v, V v /\ covers v t;
  selection_founded : founded_by derives birth V;
  selection_selected : forall u t, V u -> V t -> ~ dominates u t
}.

Hypothesis dominates_trans : forall u v t, dominates u v -> dominates v t -> dominates u t.

Lemma covers_trans u v t : covers u v -> covers v t -> covers u t.
Proof. intros [->|Huv] [->|Hvt]; [now left | now right | now right |]. right. now apply (dominates_trans u v). Qed.

(** A visible tuple for each tuple of a body. *)
Lemma covered_body (V : T -> Prop) B : (forall b, In b B -> exists v, V v /\ covers v b) ->
  exists B', Forall V B' /\ Forall2 covers B' B.
Proof.
  induction B as [|b B IH]; intros H; [now exists []|].
  destruct IH as (B' & HV & Hcovers); [intros c Hc; apply H; now right|].
  destruct (H b (or_introl eq_refl)) as (v & Hv & Hb). exists (v :: B'). split; now constructor.
Qed.

Section Certified.

Variables (birth : T -> N) (V : T -> Prop).
Hypothesis monotone : monotone_on V.
Hypothesis certificate : selection_certificate birth V.

Lemma derivable_covered t : derivable derives t -> exists v, V v /\ covers v t.
Proof.
  intros Ht. induction Ht as [B t HBt _ IH].
  destruct (covered_body V B IH) as (B' & HB' & Hcovers).
  destruct (monotone B B' t HBt HB' Hcovers) as (t' & Ht' & Hcover).
  destruct (selection_closed _ _ certificate B' t' Ht' HB') as (v & Hv & Hv').
  exists v. split; [exact Hv | now apply (covers_trans v t')].
Qed.

(** The visible tuples are the selection from the least model. *)
Theorem selection_certified t : V t <-> selection (derivable derives) t.
Proof.
  assert (HV := founded_derivable derives birth V (selection_founded _ _ certificate)). split.
  - intros Ht. split; [now apply HV|]. intros u Hu Hut.
    destruct (derivable_covered u Hu) as (v & Hv & [->|Hvu]).
    + now apply (selection_selected _ _ certificate u t).
    + apply (selection_selected _ _ certificate v t); auto. now apply (dominates_trans v u).
  - intros [Ht Hbest]. destruct (derivable_covered t Ht) as (v & Hv & [->|Hvt]); [exact Hv|].
    destruct (Hbest v); auto.
Qed.

End Certified.

(** So births and the way to the view leave no choice. *)
Corollary selection_unique birth birth' V V' :
  monotone_on V -> selection_certificate birth V -> monotone_on V' -> selection_certificate birth' V' ->
  forall t, V t <-> V' t.
Proof.
  intros HV C HV' C' t. rewrite (selection_certified birth V HV C). symmetry. now apply (selection_certified birth').
Qed.

End Selection.

Arguments covers {T}.
Arguments selection {T}.
Arguments monotone_on {T}.
Arguments selection_certificate {T}.

(** Without monotone rules the conditions are not enough: of the tuples 0 and 1 the first one dominates, and 2 follows
    from the other one.  The plain program derives it, but the certificate of 0 alone meets all conditions. *)
Example monotone_needed :
  let derives B t := B = [] /\ (t = 0 \/ t = 1) \/ B = [1] /\ t = 2 in
  let dominates u t := u = 0 /\ t = 1 in
  selection_certificate derives dominates (fun _ => 0%N) (fun t => t = 0) /\ selection dominates (derivable derives) 2.
Proof.
  split; split.
  - intros B t [[-> [->| ->]]|[-> ->]] HB; [now exists 0; split; [|left] | now exists 0; split; [|right]|].
    inversion HB. discriminate.
  - intros t ->. exists []. split; [left; auto | easy].
  - now intros u t -> -> [_ H].
  - apply (derivable_by _ _ [1]); [now right|]. intros b [<-|[]]. apply (derivable_by _ _ []); [left; auto | easy].
  - now intros u _ [_ H].
Qed.
