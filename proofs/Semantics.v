(** What a program means: the stratified least model, as the limit of iterating the immediate consequences, one
    hyper-node after the other (Apt, Blair and Walker 1988).

    The model is defined for every program; it is what one expects of it where negation goes to smaller hyper-nodes and
    rules are safe, which the checker verifies.  [level_least] and [level_closed] say that each hyper-node's part is the
    least set that its rules are closed on, given those before. *)

From Coq Require Import List ZArith NArith Lia.
From Tidelog Require Import Syntax.
Import ListNotations.

Definition interpretation := fact -> Prop.
Definition valuation := variable -> value.

Definition included (M N : interpretation) := forall t, M t -> N t.
Definition equivalent (M N : interpretation) := forall t, M t <-> N t.
Notation "M '⊆' N" := (included M N) (at level 70).
Notation "M '≡' N" := (equivalent M N) (at level 70).

Definition eval (s : valuation) (t : term) : value := match t with Var x => s x | Const c => c end.
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

(** The hyper-nodes before [k], each on top of those before it. *)
Fixpoint model_before (k : nat) : interpretation :=
  match k with
  | 0 => fun _ => False
  | S k => level k (model_before k)
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

Lemma model_before_mono j k : j <= k -> model_before j ⊆ model_before k.
Proof.
  induction 1; [now intros t|].
  intros t Ht. now apply level_extends, IHle.
Qed.

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
  intros [n Hn]. apply iterate_node in Hn as [H|H]; [apply IH in H|]; lia.
Qed.

Lemma model_before_stable k t : model_before k t -> model_before (S (node P (fst t))) t.
Proof.
  induction k as [|k IH]; [now intros|].
  intros H. assert (H' := H). destruct H as [n Hn].
  apply iterate_node in Hn as [Hn|<-]; auto.
Qed.

Lemma stratified_model_before k t : node P (fst t) < k -> (stratified_model t <-> model_before k t).
Proof.
  intros Hk. split; [|now exists k].
  intros [j Hj]. apply model_before_stable in Hj. revert Hj. now apply model_before_mono.
Qed.

End Model.
