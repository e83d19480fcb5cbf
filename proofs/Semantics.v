(** What a program means: the stratified least model, as the limit of iterating the immediate consequences, one
    hyper-node after the other (Apt, Blair and Walker 1988).

    Relations with a minimum or a maximum show a selection: the rules of a hyper-node read every tuple that is derived in
    it, hyper-nodes behind it read the selected ones.  Without such relations the selection leaves everything
    ([model_before_plain]).

    The model is defined for every program; it is what one expects of it where negation goes to smaller hyper-nodes and
    rules are safe, which the checker verifies.  [level_least] and [level_closed] say that each hyper-node's part, before
    the selection, is the least set that its rules are closed on, given those before. *)

From Coq Require Import List ZArith NArith Bool Lia.
From Tidelog Require Import Syntax Orders Selection.
Import ListNotations.

Definition interpretation := fact -> Prop.
Definition valuation := variable -> value.

Definition included (M N : interpretation) := forall t, M t -> N t.
Definition equivalent (M N : interpretation) := forall t, M t <-> N t.
Notation "M '⊆' N" := (included M N) (at level 70).
Notation "M '≡' N" := (equivalent M N) (at level 70).

Definition apply (f : functor) : value -> value -> value :=
  match f with Plus => Z.add | Minus => Z.sub | Least => Z.min | Greatest => Z.max end.

Fixpoint eval (s : valuation) (t : term) : value :=
  match t with
  | Var x => s x
  | Const c => c
  | Apply f t u => apply f (eval s t) (eval s u)
  end.
Definition instance (s : valuation) (a : atom) : fact := (pred a, map (eval s) (args a)).

Definition holds (s : valuation) (c : test) : Prop :=
  let l := eval s (left c) in
  let r := eval s (right c) in
  match op c with
  | Equal => l = r
  | Unequal => l <> r
  | Less => (l < r)%Z
  | AtMost => (l <= r)%Z
  end.

(** The body of [r] under [s]: positive atoms in [M], negated ones outside of [L]. *)
Record satisfied (M L : interpretation) (s : valuation) (r : rule) : Prop := {
  positive_in : forall a, In a (body r) -> M (instance s a);
  negated_out : forall a, In a (negated r) -> ~ L (instance s a);
  tests_hold : forall c, In c (tests r) -> holds s c
}.

Section Model.

Variable P : program.
Variable E : list fact.

(** The immediate consequences of [M] in hyper-node [k], where [L] is what the hyper-nodes before [k] hold. *)
Inductive consequence (k : nat) (L M : interpretation) : interpretation :=
| lower t : L t -> consequence k L M t
| asserted t : In t E -> node P (fst t) = k -> consequence k L M t
| derived r s : In r (rules P) -> node P (pred (head r)) = k -> satisfied M L s r ->
    consequence k L M (instance s (head r)).

Fixpoint iterate (k : nat) (L : interpretation) (n : nat) : interpretation :=
  match n with
  | 0 => L
  | S n => consequence k L (iterate k L n)
  end.

Definition level (k : nat) (L : interpretation) : interpretation := fun t => exists n, iterate k L n t.

Definition selected (M : interpretation) : interpretation := selection (fun u t => dominates P u t = true) M.

(** The hyper-nodes before [k], each on top of those before it. *)
Fixpoint model_before (k : nat) : interpretation :=
  match k with
  | 0 => fun _ => False
  | S k => selected (level k (model_before k))
  end.

Definition stratified_model : interpretation := fun t => exists k, model_before k t.

(** ** The iterates grow, and so do the levels *)

Lemma satisfied_mono M N L s r : M ⊆ N -> satisfied M L s r -> satisfied N L s r.
Proof. intros H [A B C]; split; auto. Qed.

Lemma consequence_mono k L M N : M ⊆ N -> consequence k L M ⊆ consequence k L N.
Proof.
  intros H t [u Hu | u Hu Hk | r s Hr Hk Hs].
  - now apply lower.
  - now apply asserted.
  - apply derived; auto. eapply satisfied_mono; eauto.
Qed.

Lemma iterate_step k L n : iterate k L n ⊆ iterate k L (S n).
Proof.
  induction n as [|n IH].
  - intros t Ht. now apply lower.
  - apply consequence_mono, IH.
Qed.

Lemma iterate_mono k L m n : m <= n -> iterate k L m ⊆ iterate k L n.
Proof.
  induction 1; [now intros t|].
  intros t Ht. now apply iterate_step, IHle.
Qed.

Lemma level_extends k L : L ⊆ level k L.
Proof. intros t Ht. now exists 0. Qed.

(** A body that holds in the limit holds in some iterate, as it is finite. *)
Lemma iterate_common k L (s : valuation) (atoms : list atom) :
  (forall a, In a atoms -> level k L (instance s a)) ->
  exists n, forall a, In a atoms -> iterate k L n (instance s a).
Proof.
  induction atoms as [|a atoms IH]; intros H.
  - exists 0. now intros.
  - destruct IH as [n Hn]; [intros; apply H; now right|].
    destruct (H a (or_introl eq_refl)) as [m Hm].
    exists (m + n). intros b [<-|Hb].
    + eapply iterate_mono; [|exact Hm]. lia.
    + eapply iterate_mono; [|exact (Hn b Hb)]. lia.
Qed.

(** ** The level is the least set that is closed under the consequences *)

Theorem level_closed k L : consequence k L (level k L) ⊆ level k L.
Proof.
  intros t [u Hu | u Hu Hk | r s Hr Hk [A B C]].
  - now apply level_extends.
  - exists 1. now apply asserted.
  - destruct (iterate_common k L s (body r) A) as [n Hn].
    exists (S n). apply derived; auto. now split.
Qed.

Theorem level_least k L M : consequence k L M ⊆ M -> level k L ⊆ M.
Proof.
  intros H t [n Hn]. revert t Hn. induction n as [|n IH]; intros t Hn.
  - apply H. now apply lower.
  - apply H. now apply (consequence_mono k L (iterate k L n)).
Qed.

(** ** Each level is about its own predicates *)

Lemma iterate_node k L n t : iterate k L n t -> L t \/ node P (fst t) = k.
Proof. destruct n as [|n]; [now left|]. intros [u Hu | u Hu Hk | r s Hr Hk Hs]; auto. Qed.

Lemma model_before_node k t : model_before k t -> node P (fst t) < k.
Proof.
  induction k as [|k IH]; [now intros|].
  intros [[n Hn] _]. apply iterate_node in Hn as [H|H]; [apply IH in H|]; lia.
Qed.

Lemma model_before_selected k u t : model_before k u -> model_before k t -> dominates P u t = false.
Proof.
  destruct k as [|k]; [easy|]. intros [Hu _] [_ Hbest]. apply not_true_iff_false. now apply Hbest.
Qed.

Lemma model_before_step k : model_before k ⊆ model_before (S k).
Proof.
  intros t Ht. split; [now apply level_extends|]. intros u [n Hu] Hdom.
  assert (Hk := model_before_node k t Ht). rewrite <- (dominates_same P u t Hdom) in Hk.
  apply iterate_node in Hu as [Hu|Hu]; [|lia].
  rewrite (model_before_selected k u t Hu Ht) in Hdom. discriminate.
Qed.

Lemma model_before_mono j k : j <= k -> model_before j ⊆ model_before k.
Proof.
  induction 1; [now intros t|].
  intros t Ht. now apply model_before_step, IHle.
Qed.

Lemma model_before_stable k t : model_before k t -> model_before (S (node P (fst t))) t.
Proof.
  induction k as [|k IH]; [now intros|].
  intros H. assert (H' := H). destruct H as [[n Hn] _].
  apply iterate_node in Hn as [Hn|<-]; auto.
Qed.

Lemma stratified_model_before k t : node P (fst t) < k -> (stratified_model t <-> model_before k t).
Proof.
  intros Hk. split; [|now exists k].
  intros [j Hj]. apply model_before_stable in Hj. revert Hj. now apply model_before_mono.
Qed.

Lemma model_before_plain k : (forall p, order P p = []) ->
  model_before (S k) ≡ level k (model_before k).
Proof.
  intros Hplain t. split; [now intros [H _]|]. intros Ht. split; [exact Ht|].
  intros u _. now rewrite order_none.
Qed.

(** ** One derivation at a time: the hyper-node as [Selection] has it *)

Definition own (r : rule) : list atom := filter (fun a => Nat.eqb (node P (pred a)) (node P (pred (head r)))) (body r).

Lemma in_own r a : In a (own r) <-> In a (body r) /\ node P (pred a) = node P (pred (head r)).
Proof. unfold own. now rewrite filter_In, Nat.eqb_eq. Qed.

(** The tuples of hyper-node [k] that a fact or a rule instance needs, and the one that follows. *)
Inductive derives (k : nat) (L : interpretation) : list fact -> fact -> Prop :=
| by_fact t : In t E -> node P (fst t) = k -> derives k L [] t
| by_rule r s : In r (rules P) -> node P (pred (head r)) = k ->
    (forall a, In a (body r) -> node P (pred a) <> k -> L (instance s a)) ->
    (forall a, In a (negated r) -> ~ L (instance s a)) ->
    (forall c, In c (tests r) -> holds s c) ->
    derives k L (map (instance s) (own r)) (instance s (head r)).

Lemma derives_node k L B t : derives k L B t -> node P (fst t) = k.
Proof. now intros [u Hu Hk | r s Hr Hk Hlow Hneg Htests]. Qed.

Lemma level_derivable k (L : interpretation) : (forall t, L t -> node P (fst t) < k) ->
  forall t, level k L t <-> L t \/ derivable (derives k L) t.
Proof.
  intros HL t. split.
  - revert t. apply (level_least k L). intros t [u Hu | u Hu Hk | r s Hr Hk [Hpos Hneg Htests]].
    + now left.
    + right. apply (derivable_by _ _ []); [now apply by_fact | easy].
    + right. apply (derivable_by _ _ (map (instance s) (own r))).
      * apply by_rule; auto. intros a Ha Hother. destruct (Hpos a Ha) as [HLa|Hd]; [exact HLa|].
        destruct Hother. inversion Hd as [B u Hder _ Hu]. now apply derives_node in Hder.
      * intros b Hb. apply in_map_iff in Hb as (a & <- & Ha). apply in_own in Ha as [Ha Hn].
        destruct (Hpos a Ha) as [HLa|Hd]; [|exact Hd]. apply HL in HLa. simpl in HLa. lia.
  - intros [Ht|Ht]; [now apply level_extends|].
    induction Ht as [B t Hder _ IH]. apply level_closed. destruct Hder as [t Ht Hk | r s Hr Hk Hlow Hneg Htests].
    + now apply asserted.
    + apply derived; auto. split; auto. intros a Ha.
      destruct (Nat.eq_dec (node P (pred a)) k) as [Heq|Hother].
      * apply IH, in_map, in_own. split; [exact Ha | congruence].
      * now apply level_extends, Hlow.
Qed.

End Model.
