(** The checker accepts each right view of a program without selections and choices.

    [check_complete]: every listing of the stratified least model has births with which [check] accepts it.  A selection
    need not have: its tuples may follow from those only that they dominate. *)

From Coq Require Import List ZArith NArith Bool Lia.
From Tidelog Require Import Syntax Orders Selection Semantics Joins Monotone Index Checker.
Import ListNotations.

(** The first of the numbers below [n] at which [f] holds, otherwise [n]. *)
Fixpoint first (f : nat -> bool) (n : nat) : nat :=
  match n with
  | 0 => 0
  | S n => if f 0 then 0 else S (first (fun i => f (S i)) n)
  end.

Lemma first_le n : forall f i, f i = true -> first f n <= i.
Proof.
  induction n as [|n IH]; simpl; intros f i Hi; [lia|].
  destruct (f 0) eqn:H0; [lia|]. destruct i as [|i]; [congruence|].
  specialize (IH (fun i => f (S i)) i Hi). lia.
Qed.

Lemma first_holds n : forall f, f n = true -> f (first f n) = true.
Proof.
  induction n as [|n IH]; simpl; intros f Hn; [exact Hn|].
  destruct (f 0) eqn:H0; [exact H0|]. now apply (IH (fun i => f (S i))).
Qed.

Section Complete.

Variables (P : program) (E I : list fact).
Hypothesis all_stratified : forall r, In r (rules P) -> stratified P r = true.
Hypothesis all_safe : forall r, In r (rules P) -> safe r = true.
Hypothesis all_plain : forall p, order P p = [].
Hypothesis no_choice : forall p, domains P p = [].
Hypothesis all_declared : facts_declared P E.
Hypothesis I_model : (fun t => In t I) ≡ stratified_model P E.

Let V := view_of (numbered (map (fun t => (t, 0%N)) I)) (indexed I).

Lemma V_shows_I : shows V I.
Proof.
  unfold V. assert (H := view_of_shows (map (fun t => (t, 0%N)) I)).
  rewrite map_map in H. simpl in H. now rewrite map_id in H.
Qed.

Let given (t : fact) : bool := if in_dec fact_eq_dec t E then true else false.

(** What is derived after [n] steps, in all hyper-nodes at once, each looking at the whole view of those before. *)
Fixpoint stage (n : nat) : fact -> bool :=
  match n with
  | 0 => fun _ => false
  | S n => supported P V given (stage n)
  end.

Lemma supported_spec earlier t : supported P V given earlier t = true <->
  In t E \/ exists r s, In r (rules P) /\ founds P I earlier t r s.
Proof.
  unfold supported, given. rewrite orb_true_iff, existsb_exists. destruct (in_dec fact_eq_dec t E) as [Ht|Ht].
  - split; now left.
  - split; (intros [H|H]; [easy | right]).
    + destruct H as (r & Hr & H). apply (supported_by_spec P V I V_shows_I) in H as [s Hs]; eauto.
    + destruct H as (r & s & Hr & H). exists r. split; [exact Hr|].
      apply (supported_by_spec P V I V_shows_I); eauto.
Qed.

Lemma stage_grows m n t : m <= n -> stage m t = true -> stage n t = true.
Proof.
  intros Hmn. revert m Hmn t. induction n as [|n IH]; intros [|m] Hmn t; simpl; try easy; try lia.
  rewrite !supported_spec. intros [Ht|(r & s & Hr & Hs)]; [now left | right].
  exists r, s. split; [exact Hr|]. revert Hs. apply founds_change. intros u _. apply IH. lia.
Qed.

Lemma stage_common (facts : list fact) : (forall t, In t facts -> exists n, stage n t = true) ->
  exists n, forall t, In t facts -> stage n t = true.
Proof.
  induction facts as [|t facts IH]; intros H; [now exists 0|].
  destruct IH as [n Hn]; [intros; apply H; now right|].
  destruct (H t (or_introl eq_refl)) as [m Hm].
  exists (m + n). intros u [<-|Hu]; [apply (stage_grows m) | apply (stage_grows n)]; auto; lia.
Qed.

Lemma model_in k t : model_before P E k t -> In t I.
Proof. intros H. apply I_model. now exists k. Qed.

Lemma in_model_before k t : In t I -> node P (fst t) < k -> model_before P E k t.
Proof. intros Ht Hk. apply I_model in Ht. now apply (stratified_model_before P E k t Hk). Qed.

Lemma derived_fits k r s : In r (rules P) -> node P (pred (head r)) = k ->
  satisfied (model_before P E (S k)) (model_before P E k) s r -> fits I s r.
Proof.
  intros Hr Hk [Hpos Hneg Htests]. split; [| |exact Htests].
  - intros a Ha. apply (model_in (S k)), Hpos, Ha.
  - intros a Ha Hin. apply (Hneg a Ha), in_model_before; [exact Hin|].
    apply all_stratified, stratified_spec in Hr as [_ Hr]. rewrite <- Hk. now apply Hr.
Qed.

Lemma iterate_staged k n t : iterate P E k (model_before P E k) n t -> node P (fst t) = k ->
  exists m, stage m t = true.
Proof.
  revert t. induction n as [|n IH]; intros t Ht Hk.
  { apply model_before_node in Ht. lia. }
  destruct Ht as [t Ht | t Ht _ | r s Hr _ Hs].
  - apply model_before_node in Ht. lia.
  - exists 1. simpl. apply supported_spec. now left.
  - simpl in Hk.
    destruct (stage_common (map (instance s) (filter (fun a => same_node P a (head r)) (body r)))) as [m Hm].
    + intros u Hu. apply in_map_iff in Hu as (a & <- & Ha). apply filter_In in Ha as [Ha Hn].
      apply Nat.eqb_eq in Hn. apply IH; [now apply Hs | simpl; congruence].
    + exists (S m). simpl. apply supported_spec. right. exists r, s. split; [exact Hr|]. split; [reflexivity | |].
      * apply (derived_fits k); auto. revert Hs. apply satisfied_mono. intros u Hu.
        apply model_before_plain; [exact all_plain | now exists n].
      * intros a Ha Hn. apply Hm, in_map, filter_In. split; [exact Ha|]. now apply Nat.eqb_eq.
Qed.

Lemma model_staged t : In t I -> exists n, stage n t = true.
Proof.
  intros Ht. apply (in_model_before (S (node P (fst t)))) in Ht; [|lia].
  destruct Ht as [[n Hn] _]. now apply (iterate_staged (node P (fst t)) n).
Qed.

Lemma model_certified : exists birth, certified P E I birth.
Proof.
  destruct (stage_common I model_staged) as [last Hlast].
  set (born t := first (fun n => stage n t) last).
  assert (Hshown : forall t, stratified_model P E t -> shown P I t).
  { intros t Ht. exists t. split; [now apply I_model | left; now left]. }
  exists (fun t => N.of_nat (born t)). split.
  - exact all_stratified.
  - exact all_safe.
  - intros r _. now apply plain_monotone.
  - intros p _ _. apply all_plain.
  - exact all_declared.
  - intros t Ht. apply Hshown. exists (S (node P (fst t))).
    apply model_before_plain, level_closed; [exact all_plain | now apply asserted].
  - intros r s Hr Hfits. apply Hshown. set (k := node P (pred (head r))). exists (S k).
    assert (Hr' := Hr). apply all_stratified, stratified_spec in Hr' as [Hle Hlt].
    apply model_before_plain, level_closed, derived; auto.
    destruct Hfits as [Hpos Hneg Htests]. split; [| |exact Htests].
    + intros a Ha. apply model_before_plain; [exact all_plain|].
      apply (in_model_before (S k)); [now apply Hpos|]. specialize (Hle a Ha). simpl. unfold k. lia.
    + intros a Ha Hin. apply (Hneg a Ha). now apply (model_in k).
  - intros t Ht. assert (Hborn := first_holds last (fun n => stage n t) (Hlast t Ht)). simpl in Hborn.
    change (stage (born t) t = true) in Hborn. destruct (born t) as [|b] eqn:Hb; [easy|]. simpl in Hborn.
    apply supported_spec in Hborn as [HE|(r & s & Hr & Hs)]; [now left | right].
    exists r, s. split; [exact Hr|]. revert Hs. apply founds_change. intros u _ Hu.
    apply N.ltb_lt. assert (born u <= b) by (unfold born; now apply (first_le last (fun n => stage n u))). lia.
  - intros u t _ _. now apply order_none.
  - intros u t _ _. now rewrite shares_none.
Qed.

End Complete.

(** No right view of a plain program is refused for want of births. *)
Theorem check_complete P E I :
  (forall p, order P p = []) ->
  (forall p, domains P p = []) ->
  (forall r, In r (rules P) -> stratified P r = true /\ safe r = true) ->
  facts_declared P E ->
  (fun t => In t I) ≡ stratified_model P E ->
  exists birth, check P E I birth = true.
Proof.
  intros Hplain Hchoice HP HE HI.
  destruct (model_certified P E I) as [birth H]; try (intros r Hr; now apply HP); [exact Hplain | exact Hchoice | exact HE | exact HI|].
  exists birth. now apply check_spec.
Qed.
