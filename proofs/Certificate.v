(** The checker of certificates is right.

    [check_nodes]: in what [check] accepts, each hyper-node has the tuples that it should have, given those before it:
    the selection from all that its rules derive, or, if it has choice-domains, the outcome of a run.
    [check_correct]: so without choice-domains, what [check] accepts is the stratified least model, of facts of declared
    predicates.
    [check_unique]: so these facts leave no choice, whatever else somebody states. *)

From Coq Require Import List ZArith NArith Bool Lia.
From Tidelog Require Import Syntax Orders Selection Choice Semantics Joins Monotone Index Checker.
Import ListNotations.

(** The tuples [M] of hyper-node [k] are right over [L], those of the hyper-nodes before it. *)
Definition right_node (P : program) (E : list fact) (k : nat) (L M : interpretation) : Prop :=
  if choosing P E k
  then outcome (derives P E k L) (same P) M
  else forall t, M t <-> selection (fun u t => dominates P u t = true) (derivable (derives P E k L)) t.

Definition nodes_before (P : program) (I : list fact) (k : nat) : interpretation :=
  fun t => In t I /\ node P (fst t) < k.
Definition node_members (P : program) (I : list fact) (k : nat) : interpretation :=
  fun t => In t I /\ node P (fst t) = k.

Section Sound.

Variables (P : program) (E I : list fact) (birth : fact -> N).
Hypothesis C : certified P E I birth.

Let better_than (u t : fact) : Prop := dominates P u t = true.

(** One hyper-node, given that those before it are right. *)
Section Node.

Variables (k : nat) (L : interpretation).
Hypothesis L_right : forall t, L t <-> nodes_before P I k t.

Let members := node_members P I k.

Lemma shown_members t : shown P I t -> node P (fst t) = k -> exists u, members u /\ stands_for P u t.
Proof.
  intros (u & Hu & Hstands) Hk. exists u. split; [split; [exact Hu|] | exact Hstands].
  destruct Hstands as [[->|Hdom]|Hshares]; [exact Hk | now rewrite (dominates_same P u t Hdom)|].
  apply shares_spec in Hshares as (key & Hp & _). now rewrite Hp.
Qed.

Lemma derives_predicate B t : derives P E k L B t -> In (fst t) (predicates P E).
Proof.
  unfold predicates. intros [u Hu Hk | r s Hr Hk Hlow Hneg Htests]; apply in_or_app.
  - right. now apply in_map.
  - left. now apply (in_map (fun r => pred (head r)) _ r).
Qed.

(** A rule instance as [derives] has it and one as the checker has it. *)
Lemma derives_fits r s : In r (rules P) -> node P (pred (head r)) = k ->
  (forall a, In a (own P r) -> In (instance s a) I) ->
  (forall a, In a (body r) -> node P (pred a) <> k -> L (instance s a)) ->
  (forall a, In a (negated r) -> ~ L (instance s a)) -> (forall c, In c (tests r) -> holds s c) ->
  fits I s r.
Proof.
  intros Hr Hk Hown Hlow Hneg Htests. apply (is_stratified P E I birth C), stratified_spec in Hr as [_ Hlt].
  split; [intros a Ha | intros a Ha Hin | exact Htests].
  - destruct (Nat.eq_dec (node P (pred a)) k) as [Heq|Hother]; [|now apply L_right, Hlow].
    apply Hown, in_own. split; [exact Ha | congruence].
  - apply (Hneg a Ha), L_right. split; [exact Hin|]. simpl. rewrite <- Hk. now apply Hlt.
Qed.

Lemma node_closed B t : derives P E k L B t -> Forall members B -> exists v, members v /\ stands_for P v t.
Proof.
  intros Hder HB. apply shown_members; [|now apply derives_node in Hder].
  destruct Hder as [t Ht Hk | r s Hr Hk Hlow Hneg Htests]; [now apply (shows_facts P E I birth C)|].
  apply (is_closed P E I birth C); [exact Hr|]. apply derives_fits; auto.
  intros a Ha. rewrite Forall_forall in HB. now apply HB, in_map.
Qed.

Lemma node_founded : founded_by (derives P E k L) birth members.
Proof.
  intros t [Ht Hk]. destruct (is_founded P E I birth C t Ht) as [HE|(r & s & Hr & [<- [Hpos Hneg Htests] Hearlier])].
  - exists []. split; [now apply by_fact | easy].
  - exists (map (instance s) (own P r)). simpl in Hk. split.
    + assert (Hle := is_stratified P E I birth C r Hr). apply stratified_spec in Hle as [Hle _].
      apply by_rule; [exact Hr | exact Hk | | | exact Htests].
      * intros a Ha Hother. apply L_right. split; [now apply Hpos|].
        specialize (Hle a Ha). simpl. lia.
      * intros a Ha Hin. apply (Hneg a Ha). now apply L_right.
    + intros b Hb. apply in_map_iff in Hb as (a & <- & Ha). apply in_own in Ha as [Ha Hn]. split.
      * split; [now apply Hpos | simpl; congruence].
      * apply N.ltb_lt. now apply Hearlier.
Qed.

Lemma node_monotone : monotone_on (derives P E k L) better_than members.
Proof.
  intros B B' t Hder HB' Hcovers. destruct Hder as [t Ht Hk | r s Hr Hk Hlow Hneg Htests].
  - inversion Hcovers. subst. exists t. split; [now apply by_fact | now left].
  - destruct (monotone_sound P r s B' (is_monotone P E I birth C r Hr) Hcovers Htests)
      as (s' & Hown & Hothers & Htests' & Hhead).
    exists (instance s' (head r)). split; [|exact Hhead]. rewrite <- Hown. apply by_rule; auto.
    + intros a Ha Hother. rewrite Hothers; [now apply Hlow|]. apply in_or_app. left.
      apply filter_In. split; [exact Ha|]. apply negb_true_iff, Nat.eqb_neq. congruence.
    + intros a Ha. rewrite Hothers; [now apply Hneg | apply in_or_app; now right].
Qed.

(** Where no predicate has choice-domains, no derived tuple shares a key. *)
Lemma node_selected : choosing P E k = false ->
  forall t, members t <-> selection better_than (derivable (derives P E k L)) t.
Proof.
  intros Hchoosing. apply (selection_certified _ _ _ (dominates_trans P) birth members node_monotone).
  split; [| exact node_founded |].
  - intros B t Hder HB. destruct (node_closed B t Hder HB) as (v & Hv & [Hcovers|Hshares]); [now exists v|].
    rewrite shares_none in Hshares; [discriminate|]. assert (Hk := derives_node P E k L B t Hder).
    apply not_true_iff_false in Hchoosing. destruct (domains P (fst t)) eqn:Hdomains; [reflexivity|].
    destruct Hchoosing. apply existsb_exists. exists (fst t). split; [now apply (derives_predicate B)|].
    now rewrite Hk, Nat.eqb_refl, Hdomains.
  - intros u v [Hu _] [Hv _]. unfold better_than. now rewrite (is_selected P E I birth C).
Qed.

(** Where one has, no tuple dominates another one. *)
Lemma node_chosen : choosing P E k = true -> outcome (derives P E k L) (same P) members.
Proof.
  intros Hchoosing.
  apply (choice_certified _ _ _ _ birth members (filter (fun t => Nat.eqb (node P (fst t)) k) I));
    [| |exact fact_eq_dec].
  - split; [| exact node_founded |].
    + intros t (B & Hder & HB). destruct (node_closed B t Hder HB) as (v & Hv & [[->|Hdom]|Hshares]); [now left | |].
      * rewrite order_none in Hdom; [discriminate|]. apply (is_unmixed P E I birth C); [now apply (derives_predicate B)|].
        now rewrite (derives_node P E k L B t Hder).
      * right. apply shares_spec in Hshares as (key & Hsame). now exists key, v.
    + intros key u t [Hu _] [Ht _] Hsame. apply (is_single P E I birth C u t Hu Ht). apply shares_spec. now exists key.
  - intros t. rewrite filter_In, Nat.eqb_eq. reflexivity.
Qed.

Lemma node_right : right_node P E k L members.
Proof. unfold right_node. destruct (choosing P E k) eqn:Hc; [now apply node_chosen | now apply node_selected]. Qed.

Lemma level_right t : choosing P E k = false -> selected P (level P E k L) t <-> nodes_before P I (S k) t.
Proof.
  intros Hchoosing. assert (Hnode_selected := node_selected Hchoosing).
  assert (HL : forall u, L u -> node P (fst u) < k) by (intros u Hu; now apply L_right).
  assert (Hnode : forall u, derivable (derives P E k L) u -> node P (fst u) = k).
  { intros u Hu. inversion Hu as [B w Hder _ Hw]. now apply derives_node in Hder. }
  assert (Hlevel := level_derivable P E k L HL). unfold nodes_before. split.
  - intros [Ht Hbest]. apply Hlevel in Ht as [Ht|Ht].
    + apply L_right in Ht as [Ht Hk]. split; [exact Ht | lia].
    + assert (Hm : members t).
      { apply Hnode_selected. split; [exact Ht|]. intros u Hu. apply Hbest, Hlevel. now right. }
      destruct Hm as [Hm Hk]. split; [exact Hm | lia].
  - intros [Ht Hk]. assert (Hcases : node P (fst t) < k \/ node P (fst t) = k) by lia.
    split.
    + apply Hlevel. destruct Hcases as [Hlt|Heq]; [left; now apply L_right | right].
      now apply Hnode_selected.
    + intros u Hu Hdom. assert (Hsame := dominates_same P u t Hdom). apply Hlevel in Hu as [Hu|Hu].
      * apply L_right in Hu as [Hu _]. rewrite (is_selected P E I birth C u t Hu Ht) in Hdom. discriminate.
      * assert (Hm : members t) by (split; [exact Ht|]; rewrite <- Hsame; now apply Hnode).
        apply Hnode_selected in Hm as [_ Hbest]. now apply (Hbest u).
Qed.

End Node.

Hypothesis no_choice : forall p, domains P p = [].

Lemma none_choosing k : choosing P E k = false.
Proof.
  apply not_true_iff_false. unfold choosing. rewrite existsb_exists. intros (p & _ & Hp).
  now rewrite no_choice, andb_false_r in Hp.
Qed.

Lemma model_before_right k t : model_before P E k t <-> nodes_before P I k t.
Proof.
  revert t. induction k as [|k IH]; intros t.
  - unfold nodes_before. simpl. split; [easy | lia].
  - apply level_right; [exact IH | apply none_choosing].
Qed.

Lemma certified_model t : In t I <-> stratified_model P E t.
Proof.
  rewrite (stratified_model_before P E (S (node P (fst t)))) by lia.
  rewrite model_before_right. unfold nodes_before. split; [auto with arith | tauto].
Qed.

End Sound.

(** Each hyper-node of what the checker accepts is right over those before it. *)
Theorem check_nodes P E I birth : check P E I birth = true ->
  facts_declared P E /\ forall k, right_node P E k (nodes_before P I k) (node_members P I k).
Proof.
  intros H. apply check_spec in H. split; [apply (only_declared P E I birth H)|].
  intros k. now apply (node_right P E I birth H).
Qed.

(** Without choice-domains it is the stratified least model. *)
Theorem check_correct P E I birth : (forall p, domains P p = []) ->
  check P E I birth = true -> facts_declared P E /\ (fun t => In t I) ≡ stratified_model P E.
Proof.
  intros Hchoice H. apply check_spec in H. split; [apply (only_declared P E I birth H)|].
  intros t. now apply (certified_model P E I birth).
Qed.

(** The facts of declared predicates and the rules determine what the checker accepts: nothing that is stated of
    intermediate results, no births and no listing make it accept another view. *)
Theorem check_unique P E E' I I' birth birth' : (forall p, domains P p = []) ->
  check P E I birth = true -> check P E' I' birth' = true ->
  (forall t, declared P (fst t) = true -> (In t E <-> In t E')) ->
  (fun t => In t I) ≡ (fun t => In t I').
Proof.
  intros Hchoice H H' Hsame. apply check_spec in H, H'.
  assert (HE : forall t, In t E <-> In t E').
  { intros t. split; intros Ht.
    - apply Hsame; [now apply (only_declared P E I birth H) | exact Ht].
    - apply Hsame; [now apply (only_declared P E' I' birth' H') | exact Ht]. }
  assert (C : certified P E' I birth).
  { destruct H as [Hstrat Hsafe Hmonotone Hmixed Hdeclared Hfacts Hclosed Hfounded Hselected Hsingle]. split; auto.
    - intros p _ Hp. now rewrite none_choosing in Hp.
    - intros t Ht. now apply Hdeclared, HE.
    - intros t Ht. now apply Hfacts, HE.
    - intros t Ht. destruct (Hfounded t Ht) as [HE'|Hs]; [left; now apply HE | now right]. }
  intros t. rewrite (certified_model P E' I birth C Hchoice). symmetry. now apply (certified_model P E' I' birth' H').
Qed.
