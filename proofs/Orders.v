(** Minimum and maximum as an order of tuples, over the columns that a program names for a relation.

    Tuples compare if they are of the same relation and agree in all other columns, the key.  The order is lexicographic;
    in a front, a tuple dominates another one if it is as good in all columns, and better in one.

    Choice-domains have keys too, but no order: tuples of the same relation share a key ([shares]), or they do not. *)

From Coq Require Import List ZArith NArith Bool Lia.
From Tidelog Require Import Syntax.
Import ListNotations.

Definition at_column (row : list value) (i : nat) : value := nth i row 0%Z.

Definition better (d : direction) (x y : value) : bool :=
  match d with Min => Z.ltb x y | Max => Z.ltb y x end.

(** [row] before [other]: better in the first column in which they differ. *)
Fixpoint ahead (columns : list (direction * nat)) (row other : list value) : bool :=
  match columns with
  | [] => false
  | (d, i) :: columns =>
      better d (at_column row i) (at_column other i)
      || Z.eqb (at_column row i) (at_column other i) && ahead columns row other
  end.

Definition at_least (d : direction) (x y : value) : bool :=
  match d with Min => Z.leb x y | Max => Z.leb y x end.

Definition everywhere (columns : list (direction * nat)) (row other : list value) : bool :=
  forallb (fun column => at_least (fst column) (at_column row (snd column)) (at_column other (snd column))) columns.

Definition beats (as_front : bool) (columns : list (direction * nat)) (row other : list value) : bool :=
  if as_front then everywhere columns row other && negb (everywhere columns other row) else ahead columns row other.

Definition is_compared (columns : list (direction * nat)) (i : nat) : bool :=
  existsb (fun column => Nat.eqb (snd column) i) columns.

Definition same_key (columns : list (direction * nat)) (row other : list value) : bool :=
  Nat.eqb (length row) (length other)
  && forallb (fun i => is_compared columns i || Z.eqb (at_column row i) (at_column other i)) (seq 0 (length row)).

Definition dominates (P : program) (u t : fact) : bool :=
  N.eqb (fst u) (fst t)
  && same_key (order P (fst u)) (snd u) (snd t)
  && beats (front P (fst u)) (order P (fst u)) (snd u) (snd t).

(** ** It is transitive *)

Lemma ahead_trans columns : forall u v t, ahead columns u v = true -> ahead columns v t = true ->
  ahead columns u t = true.
Proof.
  induction columns as [|[d i] columns IH]; simpl; [easy|]. intros u v t.
  rewrite !orb_true_iff, !andb_true_iff, !Z.eqb_eq. unfold better.
  intros [Huv|[Huv Hu]] [Hvt|[Hvt Hv]].
  - left. destruct d; lia.
  - left. now rewrite <- Hvt.
  - left. now rewrite Huv.
  - right. split; [congruence | now apply (IH u v)].
Qed.

Lemma everywhere_spec columns row other : everywhere columns row other = true <->
  forall column, In column columns -> at_least (fst column) (at_column row (snd column)) (at_column other (snd column)) = true.
Proof. apply forallb_forall. Qed.

Lemma everywhere_trans columns u v t : everywhere columns u v = true -> everywhere columns v t = true ->
  everywhere columns u t = true.
Proof.
  rewrite !everywhere_spec. intros Huv Hvt column Hc. specialize (Huv column Hc). specialize (Hvt column Hc).
  unfold at_least in *. destruct (fst column); lia.
Qed.

Lemma beats_trans as_front columns u v t : beats as_front columns u v = true -> beats as_front columns v t = true ->
  beats as_front columns u t = true.
Proof.
  unfold beats. destruct as_front; [|apply ahead_trans].
  rewrite !andb_true_iff, !negb_true_iff. intros [Huv _] [Hvt Hnot]. split; [now apply (everywhere_trans _ _ v)|].
  apply not_true_iff_false. intros Htu. apply not_true_iff_false in Hnot. apply Hnot. now apply (everywhere_trans _ _ u).
Qed.

Lemma same_key_spec columns row other : same_key columns row other = true <->
  length row = length other
  /\ forall i, i < length row -> is_compared columns i = false -> at_column row i = at_column other i.
Proof.
  unfold same_key. rewrite andb_true_iff, Nat.eqb_eq, forallb_forall. split; intros [Hlength H]; (split; [exact Hlength|]).
  - intros i Hi Hkey. specialize (H i). rewrite in_seq, Hkey in H. apply Z.eqb_eq, H. lia.
  - intros i Hi. apply in_seq in Hi. destruct (is_compared columns i) eqn:Hkey; [reflexivity|].
    apply Z.eqb_eq, H; [lia | exact Hkey].
Qed.

Lemma same_key_trans columns u v t : same_key columns u v = true -> same_key columns v t = true ->
  same_key columns u t = true.
Proof.
  rewrite !same_key_spec. intros [Hl H] [Hl' H']. split; [congruence|].
  intros i Hi Hkey. rewrite (H i Hi Hkey). apply H'; [lia | exact Hkey].
Qed.

Lemma dominates_same P u t : dominates P u t = true -> fst u = fst t.
Proof. unfold dominates. rewrite !andb_true_iff, N.eqb_eq. tauto. Qed.

Lemma dominates_trans P u v t : dominates P u v = true -> dominates P v t = true -> dominates P u t = true.
Proof.
  unfold dominates. rewrite !andb_true_iff, !N.eqb_eq. intros [[Hu Hk] Ha] [[Hv Hk'] Ha']. rewrite <- Hu in Hk', Ha'.
  split; [split|]; [congruence | now apply (same_key_trans _ _ (snd v)) | now apply (beats_trans _ _ _ (snd v))].
Qed.

(** ** Choice-domains *)

(** [u] and [t] have the same [key], which is one of their relation. *)
Definition same (P : program) (key : list nat) (u t : fact) : Prop :=
  fst u = fst t /\ length (snd u) = length (snd t) /\ In key (domains P (fst t))
  /\ forall i, In i key -> at_column (snd u) i = at_column (snd t) i.

Definition shares (P : program) (u t : fact) : bool :=
  N.eqb (fst u) (fst t) && Nat.eqb (length (snd u)) (length (snd t))
  && existsb (forallb (fun i => Z.eqb (at_column (snd u) i) (at_column (snd t) i))) (domains P (fst t)).

Lemma shares_spec P u t : shares P u t = true <-> exists key, same P key u t.
Proof.
  unfold shares, same. rewrite !andb_true_iff, N.eqb_eq, Nat.eqb_eq, existsb_exists. split.
  - intros [[Hp Hlength] (key & Hkey & Hsame)]. exists key. rewrite forallb_forall in Hsame. repeat split; auto.
    intros i Hi. now apply Z.eqb_eq, Hsame.
  - intros (key & Hp & Hlength & Hkey & Hsame). repeat split; auto. exists key. split; [exact Hkey|].
    apply forallb_forall. intros i Hi. now apply Z.eqb_eq, Hsame.
Qed.

Lemma shares_none P u t : domains P (fst t) = [] -> shares P u t = false.
Proof. intros H. unfold shares. rewrite H. apply andb_false_r. Qed.

Lemma order_none P u t : order P (fst t) = [] -> dominates P u t = false.
Proof.
  intros H. apply not_true_iff_false. intros Hdom. assert (Hsame := dominates_same P u t Hdom).
  unfold dominates in Hdom. rewrite Hsame, H in Hdom. destruct (front P (fst t)); now rewrite andb_false_r in Hdom.
Qed.
