(** The checker of certificates, and the proof that it is right.

    A certificate of a view [I] is a number for each of its tuples, the birth.  [check] verifies these conditions, as
    [db.check()] does, by matching rule bodies against the view:

    - the rules are safe and monotone, and the hyper-nodes are in order ([safe], [monotone], [stratified]);
    - the asserted facts are of declared predicates ([facts_declared]);
    - it is closed: each asserted fact, and whatever follows from it by one rule, is in it, or a tuple of it dominates
      that ([violated]);
    - it is founded: each tuple is asserted, or follows by one rule whose body tuples of the same hyper-node have
      smaller births ([supported]);
    - it is selected: no tuple of it dominates another one.

    Tuples dominate others in relations with minima or maxima only ([Orders]).  All rules of plain programs are
    monotone ([Monotone.plain_monotone]).

    [check_correct]: what [check] accepts is the stratified least model, of facts of declared predicates.
    [check_unique]: so the facts of declared predicates leave no choice, whatever else somebody states.
    [check_complete]: every listing of the stratified least model of a plain program has births with which [check]
    accepts it.  A selection need not have: its tuples may follow from those only that they dominate. *)

From Coq Require Import List ZArith NArith Bool Lia.
From Tidelog Require Import Syntax Orders Selection Semantics Joins Monotone Index.
Import ListNotations.

(** ** The checker *)

Definition test_holds (s : valuation) (c : test) : bool :=
  let l := eval s (left c) in
  let r := eval s (right c) in
  match op c with
  | Equal => Z.eqb l r
  | Unequal => negb (Z.eqb l r)
  | Less => Z.ltb l r
  | AtMost => Z.leb l r
  end.

Definition same_node (P : program) (a b : atom) : bool := Nat.eqb (node P (pred a)) (node P (pred b)).

(** No atom goes to a later hyper-node, and no negated one to the same. *)
Definition stratified (P : program) (r : rule) : bool :=
  forallb (fun a => Nat.leb (node P (pred a)) (node P (pred (head r)))) (body r)
  && forallb (fun a => Nat.ltb (node P (pred a)) (node P (pred (head r)))) (negated r).

(** All variables occur in positive atoms, and these compute nothing. *)
Definition body_vars (r : rule) : list variable := flat_map atom_vars (body r).
Definition other_vars (r : rule) : list variable :=
  atom_vars (head r) ++ flat_map atom_vars (negated r) ++ flat_map test_vars (tests r).
Definition safe (r : rule) : bool :=
  forallb flat (body r) && forallb (fun x => existsb (N.eqb x) (body_vars r)) (other_vars r).

(** What a valuation has to satisfy besides the positive atoms. *)
Definition applicable (V : view) (s : valuation) (r : rule) : bool :=
  forallb (test_holds s) (tests r) && forallb (fun a => negb (member V (instance s a))) (negated r).

(** The rows that can dominate [t]: those with its first column, if that belongs to the key. *)
Definition rivals (P : program) (V : view) (t : fact) : list (list value) :=
  match order P (fst t) with
  | [] => []
  | columns => rows V (fst t) (if is_compared columns 0 then None else hd_error (snd t))
  end.

Definition dominated (P : program) (V : view) (t : fact) : bool :=
  existsb (fun row => dominates P (fst t, row) t) (rivals P V t).

(** Whether [t] or a better tuple is in the view. *)
Definition represented (P : program) (V : view) (t : fact) : bool := member V t || dominated P V t.

(** Whether something follows by [r] that is not in the view, nor a better tuple. *)
Definition violated (P : program) (V : view) (r : rule) : bool :=
  exists_join V (body r) [] (fun s => applicable V s r && negb (represented P V (instance s (head r)))).

Definition same_fact (t u : fact) : bool := if fact_eq_dec t u then true else false.

(** Whether [t] follows by [r] from body tuples of which those of the same hyper-node are [earlier]. *)
Definition supported_by (P : program) (V : view) (earlier : fact -> bool) (t : fact) (r : rule) : bool :=
  N.eqb (pred (head r)) (fst t)
  && match match_terms (args (head r)) (snd t) [] with
     | None => false
     | Some sub =>
         exists_join V (body r) sub (fun s =>
           applicable V s r && same_fact (instance s (head r)) t
           && forallb (fun a => negb (same_node P a (head r)) || earlier (instance s a)) (body r))
     end.

Definition supported (P : program) (V : view) (given earlier : fact -> bool) (t : fact) : bool :=
  given t || existsb (supported_by P V earlier t) (rules P).

Inductive verdict :=
| Accepted
| NotStratified (r : rule)
| NotSafe (r : rule)
| NotMonotone (r : rule)
| Undeclared (t : fact)
| Missing (t : fact)
| NotClosed (r : rule)
| Unfounded (t : fact)
| NotSelected (t : fact).

Definition search {A B : Type} (bad : A -> bool) (items : list A) (found : A -> B) (otherwise : B) : B :=
  match find bad items with Some x => found x | None => otherwise end.

(** The first condition that does not hold, for asserted facts [E] and the tuples of the view with their births. *)
Definition verify (P : program) (E : list fact) (certificate : list (fact * N)) : verdict :=
  let births := numbered certificate in
  let I := map fst certificate in
  let V := view_of births (indexed I) in
  let given := has (numbered (map (fun t => (t, 0%N)) E)) in
  let founded t := supported P V given (fun u => N.ltb (number births u) (number births t)) t in
  search (fun r => negb (stratified P r)) (rules P) NotStratified
    (search (fun r => negb (safe r)) (rules P) NotSafe
       (search (fun r => negb (monotone P r)) (rules P) NotMonotone
          (search (fun t => negb (declared P (fst t))) E Undeclared
             (search (fun t => negb (represented P V t)) E Missing
                (search (violated P V) (rules P) NotClosed
                   (search (fun t => negb (founded t)) I Unfounded
                      (search (dominated P V) I NotSelected Accepted))))))).

Definition check (P : program) (E I : list fact) (birth : fact -> N) : bool :=
  match verify P E (map (fun t => (t, birth t)) I) with Accepted => true | _ => false end.

(** ** The conditions, said with logic *)

Lemma test_holds_spec s c : test_holds s c = true <-> holds s c.
Proof.
  unfold test_holds, holds. destruct (op c).
  - apply Z.eqb_eq.
  - now rewrite negb_true_iff, Z.eqb_neq.
  - apply Z.ltb_lt.
  - apply Z.leb_le.
Qed.

Lemma eval_ext s s' t : (forall x, In x (term_vars t) -> s x = s' x) -> eval s t = eval s' t.
Proof.
  induction t as [x|c|f t IHt u IHu]; simpl; intros H; auto.
  rewrite IHt, IHu; [reflexivity | |]; intros x Hx; apply H, in_or_app; auto.
Qed.

Lemma instance_ext s s' a : (forall x, In x (atom_vars a) -> s x = s' x) -> instance s a = instance s' a.
Proof.
  intros H. unfold instance. f_equal. apply map_ext_in. intros t Ht. apply eval_ext.
  intros x Hx. apply H. apply in_flat_map. eauto.
Qed.

Lemma test_holds_ext s s' c : (forall x, In x (test_vars c) -> s x = s' x) -> test_holds s c = test_holds s' c.
Proof.
  unfold test_vars, test_holds. intros H.
  rewrite (eval_ext s s' (left c)), (eval_ext s s' (right c)); auto using in_or_app.
Qed.

Lemma forallb_ext_in {A : Type} (f g : A -> bool) l : (forall x, In x l -> f x = g x) -> forallb f l = forallb g l.
Proof.
  induction l as [|x l IH]; simpl; [reflexivity|]. intros H.
  rewrite (H x), IH; auto.
Qed.

Lemma search_accepted {A : Type} bad (items : list A) found otherwise :
  (forall x, found x <> Accepted) ->
  search bad items found otherwise = Accepted <-> (forall x, In x items -> bad x = false) /\ otherwise = Accepted.
Proof.
  intros Hfound. unfold search. destruct (find bad items) as [x|] eqn:Hx.
  - apply find_some in Hx as [Hin Hx]. split; [intros H; now apply Hfound in H|].
    intros [H _]. rewrite (H x Hin) in Hx. discriminate.
  - split; [|now intros [_ H]]. intros H. split; [|exact H]. now apply find_none.
Qed.

(** The valuations that a rule has, with its body in [I] and its negated atoms outside. *)
Definition fits (I : list fact) (s : valuation) (r : rule) : Prop :=
  satisfied (fun t => In t I) (fun t => In t I) s r.

Section Conditions.

Variables (P : program) (V : view) (I : list fact).
Hypothesis V_shows_I : shows V I.

Lemma member_false t : member V t = false <-> ~ In t I.
Proof. now rewrite <- (member_spec V I V_shows_I t), not_true_iff_false. Qed.

Lemma applicable_spec s r : (forall a, In a (body r) -> In (instance s a) I) ->
  applicable V s r = true <-> fits I s r.
Proof.
  intros Hbody. unfold applicable. rewrite andb_true_iff, !forallb_forall. split.
  - intros [Htests Hnegs]. split; [exact Hbody | |].
    + intros a Ha. now apply member_false, negb_true_iff, Hnegs.
    + intros c Hc. now apply test_holds_spec, Htests.
  - intros [_ Hnegs Htests]. split.
    + intros c Hc. now apply test_holds_spec, Htests.
    + intros a Ha. now apply negb_true_iff, member_false, Hnegs.
Qed.

Lemma safe_binds r : safe r = true -> forall x, In x (other_vars r ++ body_vars r) -> In x (body_vars r).
Proof.
  unfold safe. rewrite andb_true_iff, (forallb_forall _ (other_vars r)). intros [_ H] x Hx.
  apply in_app_or in Hx as [Hx|Hx]; [|exact Hx].
  apply H, existsb_exists in Hx as (y & Hy & Hxy). apply N.eqb_eq in Hxy. now subst.
Qed.

Lemma safe_flat r : safe r = true -> forallb flat (body r) = true.
Proof. unfold safe. rewrite andb_true_iff. tauto. Qed.

Lemma applicable_ext s s' r : (forall x, In x (other_vars r) -> s x = s' x) -> applicable V s r = applicable V s' r.
Proof.
  unfold other_vars, applicable. intros H. f_equal; apply forallb_ext_in.
  - intros c Hc. apply test_holds_ext. intros x Hx. apply H.
    do 2 (apply in_or_app; right). apply in_flat_map. eauto.
  - intros a Ha. f_equal. f_equal. apply instance_ext. intros x Hx. apply H.
    apply in_or_app; right. apply in_or_app; left. apply in_flat_map. eauto.
Qed.

Lemma dominated_spec t : dominated P V t = true <-> exists u, In u I /\ dominates P u t = true.
Proof.
  unfold dominated. rewrite existsb_exists. split.
  - intros (row & Hrow & Hdom). exists (fst t, row). split; [|exact Hdom]. unfold rivals in Hrow.
    destruct (order P (fst t)); [easy|]. now apply (rows_sound V I V_shows_I) in Hrow.
  - destruct t as [q other]. intros ([p row] & Hin & Hdom). assert (Hp := dominates_same P _ _ Hdom). cbn in Hp. subst q.
    exists row. split; [|exact Hdom]. unfold rivals. unfold dominates in Hdom.
    rewrite !andb_true_iff, same_key_spec in Hdom. destruct Hdom as [[_ [Hlength Hkey]] Hahead]. cbn [fst snd] in *.
    destruct (order P p) as [|column columns]; [now destruct (front P p)|].
    destruct (is_compared (column :: columns) 0) eqn:Hfirst; [now apply (rows_complete V I V_shows_I)|].
    destruct other as [|c values], row as [|d row]; try discriminate Hlength.
    + now apply (rows_complete V I V_shows_I).
    + assert (Hdc := Hkey 0 ltac:(simpl; lia) Hfirst). cbn in Hdc. subst d. now apply (rows_first V I V_shows_I).
Qed.

(** [t] or a better tuple is in the view. *)
Definition shown (t : fact) : Prop := exists u, In u I /\ covers (fun u t => dominates P u t = true) u t.

Lemma represented_spec t : represented P V t = true <-> shown t.
Proof.
  unfold represented, shown, covers. rewrite orb_true_iff, dominated_spec, (member_spec V I V_shows_I). split.
  - intros [Ht|(u & Hu & Hdom)]; eauto.
  - intros (u & Hu & [->|Hdom]); eauto.
Qed.

Lemma violated_spec r : safe r = true ->
  violated P V r = false <-> (forall s, fits I s r -> shown (instance s (head r))).
Proof.
  intros Hsafe. assert (Hflat := safe_flat r Hsafe). split.
  - intros Hv s Hs. apply represented_spec.
    apply not_false_iff_true. intros Hm. apply not_true_iff_false in Hv. apply Hv.
    apply (exists_join_complete V I V_shows_I s _ (other_vars r)); [| | exact Hflat | | |].
    + intros s1 s2 H. f_equal; [now apply applicable_ext|]. f_equal. f_equal.
      apply instance_ext. intros x Hx. apply H. now apply in_or_app; left.
    + apply andb_true_iff. split; [|now rewrite Hm]. apply applicable_spec; [|exact Hs]. apply Hs.
    + now intros x c.
    + apply Hs.
    + intros x Hx. right. apply (safe_binds r Hsafe). now apply in_or_app; left.
  - intros H. apply not_true_iff_false. intros Hv.
    apply (exists_join_sound V I V_shows_I _ Hflat) in Hv as (s & _ & Hbody & HQ).
    apply andb_true_iff in HQ as [Happ Hm]. apply negb_true_iff in Hm.
    apply applicable_spec in Happ; [|exact Hbody]. apply H, represented_spec in Happ. congruence.
Qed.

(** [t] follows by [r] under [s]. *)
Record founds (earlier : fact -> bool) (t : fact) (r : rule) (s : valuation) : Prop := {
  founds_head : instance s (head r) = t;
  founds_fits : fits I s r;
  founds_earlier : forall a, In a (body r) -> node P (pred a) = node P (pred (head r)) -> earlier (instance s a) = true
}.

Lemma earlier_spec earlier s r :
  forallb (fun a => negb (same_node P a (head r)) || earlier (instance s a)) (body r) = true
  <-> (forall a, In a (body r) -> node P (pred a) = node P (pred (head r)) -> earlier (instance s a) = true).
Proof.
  rewrite forallb_forall. unfold same_node. split; intros H a Ha.
  - intros Hn. specialize (H a Ha). rewrite Hn, Nat.eqb_refl in H. exact H.
  - destruct (Nat.eqb_spec (node P (pred a)) (node P (pred (head r)))); [simpl | reflexivity]. auto.
Qed.

Lemma same_fact_spec t u : same_fact t u = true <-> t = u.
Proof. unfold same_fact. now destruct (fact_eq_dec t u). Qed.

Lemma supported_by_spec earlier t r : safe r = true ->
  supported_by P V earlier t r = true <-> exists s, founds earlier t r s.
Proof.
  intros Hsafe. assert (Hflat := safe_flat r Hsafe). unfold supported_by. split.
  - intros H. apply andb_true_iff in H as [_ H].
    destruct (match_terms (args (head r)) (snd t) []) as [sub|]; [|discriminate].
    apply (exists_join_sound V I V_shows_I _ Hflat) in H as (s & _ & Hbody & HQ).
    rewrite !andb_true_iff in HQ. destruct HQ as [[Happ Hhead] Hearlier].
    exists s. split; [now apply same_fact_spec | now apply applicable_spec | now apply earlier_spec].
  - intros (s & [<- Hfits Hearlier]). cbn [instance fst snd]. rewrite N.eqb_refl. simpl.
    destruct (match_terms_complete s (args (head r)) _ [] (fun x c H => ltac:(discriminate H)) eq_refl) as (sub & -> & Hs).
    apply (exists_join_complete V I V_shows_I s _ (other_vars r ++ body_vars r)); [| | exact Hflat | exact Hs | |].
    + intros s1 s2 H. f_equal; [f_equal|].
      * apply applicable_ext. intros x Hx. apply H. now apply in_or_app; left.
      * f_equal. apply instance_ext. intros x Hx. apply H, in_or_app. left. now apply in_or_app; left.
      * apply forallb_ext_in. intros a Ha. f_equal. f_equal. apply instance_ext. intros x Hx. apply H.
        apply in_or_app; right. apply in_flat_map. eauto.
    + rewrite !andb_true_iff. split; [split|]; [|now apply same_fact_spec | now apply earlier_spec].
      apply applicable_spec; [|exact Hfits]. apply Hfits.
    + apply Hfits.
    + intros x Hx. right. now apply (safe_binds r Hsafe).
Qed.

End Conditions.

(** Intermediate results have no facts. *)
Definition facts_declared (P : program) (E : list fact) : Prop := forall t, In t E -> declared P (fst t) = true.

(** [check] is the conjunction of the conditions. *)
Record certified (P : program) (E I : list fact) (birth : fact -> N) : Prop := {
  is_stratified : forall r, In r (rules P) -> stratified P r = true;
  is_safe : forall r, In r (rules P) -> safe r = true;
  is_monotone : forall r, In r (rules P) -> monotone P r = true;
  only_declared : facts_declared P E;
  shows_facts : forall t, In t E -> shown P I t;
  is_closed : forall r s, In r (rules P) -> fits I s r -> shown P I (instance s (head r));
  is_founded : forall t, In t I -> In t E \/
    exists r s, In r (rules P) /\ founds P I (fun u => N.ltb (birth u) (birth t)) t r s;
  is_selected : forall u t, In u I -> In t I -> dominates P u t = false
}.

Lemma numbered_facts E t : has (numbered (map (fun u => (u, 0%N)) E)) t = true <-> In t E.
Proof. rewrite has_spec, map_map. simpl. now rewrite map_id. Qed.

Lemma founds_change P I (e1 e2 : fact -> bool) t r s : (forall u, In u I -> e1 u = true -> e2 u = true) ->
  founds P I e1 t r s -> founds P I e2 t r s.
Proof. intros H [Hh Hf He]. split; [exact Hh | exact Hf |]. intros a Ha Hn. apply H; auto. now apply Hf. Qed.

Lemma check_spec P E I birth : check P E I birth = true <-> certified P E I birth.
Proof.
  unfold check. set (certificate := map (fun t => (t, birth t)) I).
  assert (HI : map fst certificate = I).
  { unfold certificate. rewrite map_map. apply map_id. }
  transitivity (verify P E certificate = Accepted).
  { now destruct (verify P E certificate). }
  assert (HV := view_of_shows certificate). rewrite HI in HV.
  unfold verify. rewrite HI. set (V := view_of _ _) in *.
  rewrite !search_accepted by discriminate.
  assert (Hbirth : forall u, In u I -> number (numbered certificate) u = birth u).
  { intros u Hu. now apply number_spec. }
  split.
  - intros (Hstrat & Hsafe & Hmonotone & Hdeclared & Hfacts & Hclosed & Hfounded & Hselected & _).
    assert (Hsafe' : forall r, In r (rules P) -> safe r = true).
    { intros r Hr. now apply negb_false_iff, Hsafe. }
    split; [| exact Hsafe' | | | | | |].
    + intros r Hr. now apply negb_false_iff, Hstrat.
    + intros r Hr. now apply negb_false_iff, Hmonotone.
    + intros t Ht. now apply negb_false_iff, Hdeclared.
    + intros t Ht. now apply (represented_spec P V I HV), negb_false_iff, Hfacts.
    + intros r s Hr. apply (violated_spec P V I HV); auto.
    + intros t Ht. specialize (Hfounded t Ht). apply negb_false_iff, orb_true_iff in Hfounded as [Ht'|Ht'].
      * left. now apply numbered_facts.
      * right. apply existsb_exists in Ht' as (r & Hr & Hsup).
        apply (supported_by_spec P V I HV) in Hsup as (s & Hs); [|auto].
        exists r, s. split; [exact Hr|]. revert Hs. apply founds_change.
        intros u Hu. now rewrite !Hbirth.
    + intros u t Hu Ht. apply not_true_iff_false. intros Hdom.
      assert (Hnot := Hselected t Ht). apply not_true_iff_false in Hnot. apply Hnot, (dominated_spec P V I HV). eauto.
  - intros [Hstrat Hsafe Hmonotone Hdeclared Hfacts Hclosed Hfounded Hselected]. repeat split.
    + intros r Hr. now apply negb_false_iff, Hstrat.
    + intros r Hr. now apply negb_false_iff, Hsafe.
    + intros r Hr. now apply negb_false_iff, Hmonotone.
    + intros t Ht. now apply negb_false_iff, Hdeclared.
    + intros t Ht. now apply negb_false_iff, (represented_spec P V I HV), Hfacts.
    + intros r Hr. apply (violated_spec P V I HV); auto.
    + intros t Ht. apply negb_false_iff, orb_true_iff. destruct (Hfounded t Ht) as [HE|(r & s & Hr & Hs)].
      * left. now apply numbered_facts.
      * right. apply existsb_exists. exists r. split; [exact Hr|].
        apply (supported_by_spec P V I HV); [auto|]. exists s. revert Hs. apply founds_change.
        intros u Hu. now rewrite !Hbirth.
    + intros t Ht. apply not_true_iff_false. intros Hdom.
      apply (dominated_spec P V I HV) in Hdom as (u & Hu & Hdom). rewrite (Hselected u t Hu Ht) in Hdom. discriminate.
Qed.

Lemma stratified_spec P r : stratified P r = true <->
  (forall a, In a (body r) -> node P (pred a) <= node P (pred (head r)))
  /\ (forall a, In a (negated r) -> node P (pred a) < node P (pred (head r))).
Proof.
  unfold stratified. rewrite andb_true_iff, !forallb_forall. split; intros [H1 H2]; split; intros a Ha.
  - now apply Nat.leb_le, H1.
  - now apply Nat.ltb_lt, H2.
  - now apply Nat.leb_le, H1.
  - now apply Nat.ltb_lt, H2.
Qed.

(** ** Soundness *)

Section Sound.

Variables (P : program) (E I : list fact) (birth : fact -> N).
Hypothesis C : certified P E I birth.

Let before (k : nat) (t : fact) := node P (fst t) < k.

Let better_than (u t : fact) : Prop := dominates P u t = true.

(** The tuples of one hyper-node are a certificate as [Selection] has it, given that those before it are right. *)
Section Node.

Variables (k : nat) (L : interpretation).
Hypothesis L_right : forall t, L t <-> In t I /\ before k t.

Let members (t : fact) : Prop := In t I /\ node P (fst t) = k.

Lemma shown_members t : shown P I t -> node P (fst t) = k -> exists u, members u /\ covers better_than u t.
Proof.
  intros (u & Hu & Hcovers) Hk. exists u. split; [split; [exact Hu|] | exact Hcovers].
  destruct Hcovers as [->|Hdom]; [exact Hk|]. now rewrite (dominates_same P u t Hdom).
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
  - apply (Hneg a Ha), L_right. split; [exact Hin|]. unfold before. simpl. rewrite <- Hk. now apply Hlt.
Qed.

Lemma node_closed B t : derives P E k L B t -> Forall members B -> exists v, members v /\ covers better_than v t.
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
        specialize (Hle a Ha). unfold before. simpl. lia.
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

Lemma node_right t : members t <-> selection better_than (derivable (derives P E k L)) t.
Proof.
  apply (selection_certified _ _ _ (dominates_trans P) birth members node_monotone).
  split; [exact node_closed | exact node_founded |].
  intros u v [Hu _] [Hv _]. unfold better_than. now rewrite (is_selected P E I birth C).
Qed.

Lemma level_right t : selected P (level P E k L) t <-> In t I /\ before (S k) t.
Proof.
  assert (HL : forall u, L u -> node P (fst u) < k) by (intros u Hu; now apply L_right).
  assert (Hnode : forall u, derivable (derives P E k L) u -> node P (fst u) = k).
  { intros u Hu. inversion Hu as [B w Hder _ Hw]. now apply derives_node in Hder. }
  assert (Hlevel := level_derivable P E k L HL). unfold before. split.
  - intros [Ht Hbest]. apply Hlevel in Ht as [Ht|Ht].
    + apply L_right in Ht as [Ht Hk]. split; [exact Ht | unfold before in Hk; lia].
    + assert (Hm : members t).
      { apply node_right. split; [exact Ht|]. intros u Hu. apply Hbest, Hlevel. now right. }
      destruct Hm as [Hm Hk]. split; [exact Hm | lia].
  - intros [Ht Hk]. assert (Hcases : node P (fst t) < k \/ node P (fst t) = k) by lia.
    split.
    + apply Hlevel. destruct Hcases as [Hlt|Heq]; [left; now apply L_right | right].
      now apply node_right.
    + intros u Hu Hdom. assert (Hsame := dominates_same P u t Hdom). apply Hlevel in Hu as [Hu|Hu].
      * apply L_right in Hu as [Hu _]. rewrite (is_selected P E I birth C u t Hu Ht) in Hdom. discriminate.
      * assert (Hm : members t) by (split; [exact Ht|]; rewrite <- Hsame; now apply Hnode).
        apply node_right in Hm as [_ Hbest]. now apply (Hbest u).
Qed.

End Node.

Lemma model_before_right k t : model_before P E k t <-> In t I /\ before k t.
Proof.
  revert t. induction k as [|k IH]; intros t.
  - unfold before. simpl. split; [easy | lia].
  - now apply level_right.
Qed.

Lemma certified_model t : In t I <-> stratified_model P E t.
Proof.
  rewrite (stratified_model_before P E (S (node P (fst t)))) by lia.
  rewrite model_before_right. unfold before. split; [auto with arith | tauto].
Qed.

End Sound.

(** What the checker accepts is the stratified least model, and its facts are of declared predicates. *)
Theorem check_correct P E I birth :
  check P E I birth = true -> facts_declared P E /\ (fun t => In t I) ≡ stratified_model P E.
Proof.
  intros H. apply check_spec in H. split; [apply (only_declared P E I birth H)|].
  intros t. now apply (certified_model P E I birth).
Qed.

(** The facts of declared predicates and the rules determine what the checker accepts: nothing that is stated of
    intermediate results, no births and no listing make it accept another view. *)
Theorem check_unique P E E' I I' birth birth' :
  check P E I birth = true -> check P E' I' birth' = true ->
  (forall t, declared P (fst t) = true -> (In t E <-> In t E')) ->
  (fun t => In t I) ≡ (fun t => In t I').
Proof.
  intros H H' Hsame. apply check_spec in H, H'.
  assert (HE : forall t, In t E <-> In t E').
  { intros t. split; intros Ht.
    - apply Hsame; [now apply (only_declared P E I birth H) | exact Ht].
    - apply Hsame; [now apply (only_declared P E' I' birth' H') | exact Ht]. }
  assert (C : certified P E' I birth).
  { destruct H as [Hstrat Hsafe Hmonotone Hdeclared Hfacts Hclosed Hfounded Hselected]. split; auto.
    - intros t Ht. now apply Hdeclared, HE.
    - intros t Ht. now apply Hfacts, HE.
    - intros t Ht. destruct (Hfounded t Ht) as [HE'|Hs]; [left; now apply HE | now right]. }
  intros t. rewrite (certified_model P E' I birth C). symmetry. apply (certified_model P E' I' birth' H').
Qed.

(** ** Completeness *)

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
  { intros t Ht. exists t. split; [now apply I_model | now left]. }
  exists (fun t => N.of_nat (born t)). split.
  - exact all_stratified.
  - exact all_safe.
  - intros r _. now apply plain_monotone.
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
  - intros u t _ _. now apply plain_dominates.
Qed.

End Complete.

(** No right view of a plain program is refused for want of births. *)
Theorem check_complete P E I :
  (forall p, order P p = []) ->
  (forall r, In r (rules P) -> stratified P r = true /\ safe r = true) ->
  facts_declared P E ->
  (fun t => In t I) ≡ stratified_model P E ->
  exists birth, check P E I birth = true.
Proof.
  intros Hplain HP HE HI.
  destruct (model_certified P E I) as [birth H]; try (intros r Hr; now apply HP); [exact Hplain | exact HE | exact HI|].
  exists birth. now apply check_spec.
Qed.
