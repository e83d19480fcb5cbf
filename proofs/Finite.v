(** The model of a safe stratified program that neither computes heads nor selects is finite: only the values of the facts
    and of the rules' heads occur in it, and the iteration of each hyper-node stops.  So every such program has a
    certificate ([certificate_exists]). *)

From Coq Require Import List ZArith NArith Bool Lia.
From Tidelog Require Import Syntax Orders Selection Semantics Joins Index Checker Complete.
Import ListNotations.

(** ** Lists as sets *)

(** All rows of [n] values. *)
Fixpoint all_rows (values : list value) (n : nat) : list (list value) :=
  match n with
  | 0 => [[]]
  | S n => flat_map (fun c => map (cons c) (all_rows values n)) values
  end.

Lemma in_all_rows values row : (forall c, In c row -> In c values) -> In row (all_rows values (length row)).
Proof.
  induction row as [|c row IH]; simpl; intros H; [now left|].
  apply in_flat_map. exists c. split; [now apply H; left|]. apply in_map, IH. intros d Hd. apply H. now right.
Qed.

Lemma filter_length_le {A : Type} (f g : A -> bool) l : (forall x, In x l -> f x = true -> g x = true) ->
  length (filter f l) <= length (filter g l).
Proof.
  induction l as [|x l IH]; simpl; intros H; [lia|].
  specialize (IH (fun y Hy => H y (or_intror Hy))).
  destruct (f x) eqn:Hf; [rewrite (H x (or_introl eq_refl) Hf)|destruct (g x)]; simpl; lia.
Qed.

Lemma filter_length_lt {A : Type} (f g : A -> bool) l x : (forall y, In y l -> f y = true -> g y = true) ->
  In x l -> f x = false -> g x = true -> length (filter f l) < length (filter g l).
Proof.
  induction l as [|y l IH]; simpl; [easy|]. intros H [->|Hx] Hf Hg.
  - rewrite Hf, Hg. assert (Hle := filter_length_le f g l (fun z Hz => H z (or_intror Hz))). simpl. lia.
  - specialize (IH (fun z Hz => H z (or_intror Hz)) Hx Hf Hg).
    destruct (f y) eqn:Hy; [rewrite (H y (or_introl eq_refl) Hy)|destruct (g y)]; simpl; lia.
Qed.

Definition listed (I : list fact) (t : fact) : bool := if in_dec fact_eq_dec t I then true else false.

Lemma listed_spec I t : listed I t = true <-> In t I.
Proof. unfold listed. now destruct (in_dec fact_eq_dec t I). Qed.

Section Finite.

Variables (P : program) (E : list fact).
Hypothesis all_right : forall r, In r (rules P) -> stratified P r = true /\ safe r = true.
Hypothesis all_flat : forall r, In r (rules P) -> flat (head r) = true.
Hypothesis all_plain : forall p, order P p = [].

(** ** The values that can occur, and the tuples *)

Definition constants (terms : list term) : list value :=
  flat_map (fun t => match t with Const c => [c] | _ => [] end) terms.

Definition domain : list value := flat_map snd E ++ flat_map (fun r => constants (args (head r))) (rules P).

Definition base : list fact :=
  E ++ flat_map (fun r => map (pair (pred (head r))) (all_rows domain (length (args (head r))))) (rules P).

Lemma consequence_domain k (L M : interpretation) : (forall t, L t -> incl (snd t) domain) -> (forall t, M t -> incl (snd t) domain) ->
  forall t, consequence P E k L M t -> incl (snd t) domain.
Proof.
  intros HL HM t [u Hu | u Hu _ | r s Hr _ [Hpos _ _]]; [now apply HL| |].
  - intros c Hc. apply in_or_app. left. apply in_flat_map. eauto.
  - intros c Hc. simpl in Hc. apply in_map_iff in Hc as (term & <- & Ht). assert (Hflat := all_flat r Hr). unfold flat in Hflat. rewrite forallb_forall in Hflat.
    specialize (Hflat term Ht). destruct term as [x|c|f left right]; [| |discriminate]; simpl.
    + assert (Hx : In x (body_vars r)).
      { apply safe_binds; [now apply all_right|]. apply in_or_app. left. apply in_or_app. left.
        apply in_flat_map. exists (Var x). split; [exact Ht | now left]. }
      apply in_flat_map in Hx as (a & Ha & Hx). apply in_flat_map in Hx as (term & Ht' & Hy).
      assert (Hbody := safe_flat r (proj2 (all_right r Hr))). rewrite forallb_forall in Hbody.
      specialize (Hbody a Ha). unfold flat in Hbody. rewrite forallb_forall in Hbody. specialize (Hbody term Ht').
      destruct term as [y|d|f left right]; [|easy|discriminate].
      destruct Hy as [->|[]]. apply (HM _ (Hpos a Ha)). simpl. apply in_map_iff. now exists (Var x).
    + apply in_or_app. right. apply in_flat_map. exists r. split; [exact Hr|].
      apply in_flat_map. exists (Const c). split; [exact Ht | now left].
Qed.

Lemma iterate_domain k (L : interpretation) n : (forall t, L t -> incl (snd t) domain) ->
  forall t, iterate P E k L n t -> incl (snd t) domain.
Proof. intros HL. induction n as [|n IH]; [exact HL | now apply consequence_domain]. Qed.

Lemma model_domain k t : model_before P E k t -> incl (snd t) domain.
Proof. revert t. induction k as [|k IH]; intros t; [easy|]. intros [[n Hn] _]. now apply iterate_domain in Hn. Qed.

Lemma model_base k t : model_before P E k t -> In t base.
Proof.
  revert t. induction k as [|k IH]; intros t; [easy|].
  intros Ht. assert (Hdomain := model_domain (S k) t Ht). destruct Ht as [[n Hn] _].
  destruct n as [|n]; [now apply IH|]. destruct Hn as [t Ht | t Ht _ | r s Hr _ _]; [now apply IH| |].
  - apply in_or_app. now left.
  - apply in_or_app. right. apply in_flat_map. exists r. split; [exact Hr|].
    apply (in_map (pair (pred (head r)))). rewrite <- (map_length (eval s)). now apply in_all_rows.
Qed.

(** ** One hyper-node: its iterates as lists *)

Definition view_list (I : list fact) : view := view_of (numbered (map (fun t => (t, 0%N)) I)) (indexed I).

Definition step (k : nat) (L M : list fact) : list fact :=
  filter
    (fun t => listed L t
      || Nat.eqb (node P (fst t)) k && supported P (view_list M) (listed E) (fun _ => true) t)
    base.

Fixpoint steps (k : nat) (L : list fact) (n : nat) : list fact :=
  match n with
  | 0 => L
  | S n => step k L (steps k L n)
  end.

Lemma steps_right k L : (forall t, In t L <-> model_before P E k t) ->
  forall n t, In t (steps k L n) <-> iterate P E k (model_before P E k) n t.
Proof.
  intros HL. induction n as [|n IH]; intros t; [apply HL|].
  assert (Hsupported : In t E \/ (exists r s, In r (rules P) /\ founds P (steps k L n) (fun _ => true) t r s)
    <-> supported P (view_list (steps k L n)) (listed E) (fun _ => true) t = true).
  { unfold supported. rewrite orb_true_iff, listed_spec, existsb_exists. split; (intros [H|H]; [now left | right]).
    - destruct H as (r & s & Hr & H). exists r. split; [exact Hr|].
      apply (supported_by_spec P _ _ (V_shows_I (steps k L n))); [now apply all_right | eauto].
    - destruct H as (r & Hr & H). apply (supported_by_spec P _ _ (V_shows_I (steps k L n))) in H as [s Hs]; eauto.
      now apply all_right. }
  simpl steps. unfold step. rewrite filter_In, orb_true_iff, andb_true_iff, Nat.eqb_eq, listed_spec, <- Hsupported.
  clear Hsupported. split.
  - intros [_ [Ht|[Hk [Ht|(r & s & Hr & [<- [Hpos Hneg Htests] _])]]]].
    + now apply lower, HL.
    + now apply asserted.
    + apply derived; auto. split; [| |exact Htests].
      * intros a Ha. now apply IH, Hpos.
      * intros a Ha HLa. apply (Hneg a Ha), IH, (iterate_mono P E k _ 0 n); [lia | exact HLa].
  - intros Ht. split.
    { apply (model_base (S k)), model_before_plain; [exact all_plain | now exists (S n)]. }
    destruct Ht as [t Ht | t Ht Hk | r s Hr Hk [Hpos Hneg Htests]]; [left; now apply HL | right; auto |].
    right. split; [exact Hk|]. right. exists r, s. split; [exact Hr|]. split; [reflexivity | | auto].
    split; [| |exact Htests].
    + intros a Ha. now apply IH, Hpos.
    + intros a Ha Hin. apply (Hneg a Ha). apply IH, iterate_node in Hin as [H|H]; [exact H|].
      destruct (all_right r Hr) as [Hs _]. apply stratified_spec in Hs as [_ Hs]. specialize (Hs a Ha). simpl in H. lia.
Qed.

Lemma steps_stop k L : (forall t, In t L <-> model_before P E k t) ->
  exists n, forall t, In t (steps k L n) <-> level P E k (model_before P E k) t.
Proof.
  intros HL. assert (Hsteps := steps_right k L HL).
  set (size n := length (filter (listed (steps k L n)) base)).
  assert (Hgrow : forall n, (forall t, In t (steps k L (S n)) -> In t (steps k L n)) \/ size n < size (S n)).
  { intros n. destruct (find (fun t => negb (listed (steps k L n) t)) (steps k L (S n))) as [t|] eqn:Hfind.
    - right. apply find_some in Hfind as [Hin Hout]. apply negb_true_iff in Hout.
      apply (filter_length_lt _ _ base t); [| | exact Hout|].
      + intros u _. rewrite !listed_spec, !Hsteps. apply iterate_step.
      + apply (model_base (S k)), model_before_plain; [exact all_plain | exists (S n); now apply Hsteps].
      + now apply listed_spec.
    - left. intros t Ht. apply listed_spec, negb_false_iff. now apply (find_none _ _ Hfind). }
  assert (Hstop : forall n, (exists m, forall t, In t (steps k L (S m)) -> In t (steps k L m)) \/ n <= size n).
  { induction n as [|n [IH|IH]]; [right; lia | now left |].
    destruct (Hgrow n) as [H|H]; [left; now exists n | right; lia]. }
  destruct (Hstop (S (length base))) as [[m Hm]|H].
  - exists m. intros t. rewrite Hsteps. split; [now exists m|].
    intros Ht. revert t Ht. apply level_least. intros t Ht. apply Hsteps, Hm, Hsteps. exact Ht.
  - assert (Hle := filter_length_le (listed (steps k L (S (length base)))) (fun _ => true) base (fun _ _ _ => eq_refl)).
    fold (size (S (length base))) in Hle.
    assert (Hall : length (filter (fun _ : fact => true) base) = length base).
    { clear. induction base; simpl; congruence. }
    lia.
Qed.

Lemma model_before_finite k : exists I, forall t, In t I <-> model_before P E k t.
Proof.
  induction k as [|k [L HL]]; [now exists []|].
  destruct (steps_stop k L HL) as [n Hn]. exists (steps k L n). intros t. rewrite Hn.
  symmetry. now apply model_before_plain.
Qed.

(** A hyper-node that has neither rules nor facts adds nothing, so that the model stops growing. *)
Definition last_node : nat := list_max (map (fun t => node P (fst t)) base).

Theorem model_finite : exists I, (fun t => In t I) ≡ stratified_model P E.
Proof.
  destruct (model_before_finite (S last_node)) as [I HI]. exists I. intros t. rewrite HI.
  split; [now exists (S last_node)|]. intros Ht. assert (Ht' := Ht). destruct Ht' as [j Hj].
  apply (stratified_model_before P E); [|exact Ht].
  apply Nat.lt_succ_r. unfold last_node.
  assert (Hmax := proj1 (list_max_le (map (fun t => node P (fst t)) base) _) (le_n _)).
  rewrite Forall_forall in Hmax. apply Hmax, in_map_iff. exists t. split; [reflexivity|]. now apply (model_base j).
Qed.

End Finite.

(** Every safe stratified program of this kind has a certificate for its model. *)
Theorem certificate_exists P E :
  (forall r, In r (rules P) -> stratified P r = true /\ safe r = true) ->
  (forall r, In r (rules P) -> flat (head r) = true) ->
  (forall p, order P p = []) ->
  (forall p, domains P p = []) ->
  facts_declared P E ->
  exists I birth, check P E I birth = true.
Proof.
  intros HP Hflat Hplain Hchoice HE. destruct (model_finite P E HP Hflat Hplain) as [I HI].
  destruct (check_complete P E I Hplain Hchoice HP HE HI) as [birth H]. eauto.
Qed.
