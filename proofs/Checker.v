(** The checker of certificates, and its conditions said with logic ([check_spec]).

    A certificate of a view [I] is a number for each of its tuples, the birth.  [check] verifies these conditions, as
    [db.check()] does, by matching rule bodies against the view:

    - the rules are safe and monotone, and the hyper-nodes are in order ([safe], [monotone], [stratified]);
    - no hyper-node has both minima or maxima and choice-domains ([choosing]);
    - the asserted facts are of declared predicates ([facts_declared]);
    - it is closed: each asserted fact, and whatever follows from it by one rule, is in it, or a tuple of it dominates
      that, or has its key in a choice-domain ([violated]);
    - it is founded: each tuple is asserted, or follows by one rule whose body tuples of the same hyper-node have
      smaller births ([supported]);
    - it is selected: no tuple of it dominates another one, or has the key of another one in a choice-domain.

    Tuples dominate others in relations with minima or maxima only, and share keys in those with choice-domains only
    ([Orders]).  All rules of plain programs are monotone ([Monotone.plain_monotone]).  [Certificate] says what is right
    about a view that is accepted, [Complete] which views are. *)

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

(** Rows of the predicate of [t]: those with its first column, if that is known to be the same. *)
Definition similar (V : view) (t : fact) (same_first : bool) : list (list value) :=
  rows V (fst t) (if same_first then hd_error (snd t) else None).

(** The rows that can dominate [t]. *)
Definition rivals (P : program) (V : view) (t : fact) : list (list value) :=
  match order P (fst t) with
  | [] => []
  | columns => similar V t (negb (is_compared columns 0))
  end.

Definition dominated (P : program) (V : view) (t : fact) : bool :=
  existsb (fun row => dominates P (fst t, row) t) (rivals P V t).

(** The tuples that have the key of [t] in a choice-domain. *)
Definition sharing (P : program) (V : view) (t : fact) : list fact :=
  filter (fun u => shares P u t)
    (match domains P (fst t) with
     | [] => []
     | keys => map (pair (fst t)) (similar V t (forallb (existsb (Nat.eqb 0)) keys))
     end).

(** Whether [t] is in the view, or one that is shown in its place. *)
Definition represented (P : program) (V : view) (t : fact) : bool :=
  member V t || dominated P V t || match sharing P V t with [] => false | _ => true end.

Definition same_fact (t u : fact) : bool := if fact_eq_dec t u then true else false.

Definition conflicting (P : program) (V : view) (t : fact) : bool :=
  dominated P V t || existsb (fun u => negb (same_fact u t)) (sharing P V t).

(** The predicates that can have tuples, and whether one of them in hyper-node [k] has choice-domains. *)
Definition predicates (P : program) (E : list fact) : list predicate :=
  map (fun r => pred (head r)) (rules P) ++ map fst E.
Definition choosing (P : program) (E : list fact) (k : nat) : bool :=
  existsb (fun p => Nat.eqb (node P p) k && match domains P p with [] => false | _ => true end) (predicates P E).
Definition mixed (P : program) (E : list fact) (p : predicate) : bool :=
  choosing P E (node P p) && match order P p with [] => false | _ => true end.

(** Whether something follows by [r] that is not in the view, nor one that is shown in its place. *)
Definition violated (P : program) (V : view) (r : rule) : bool :=
  exists_join V (body r) [] (fun s => applicable V s r && negb (represented P V (instance s (head r)))).

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
| Mixed (p : predicate)
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
          (search (mixed P E) (predicates P E) Mixed
             (search (fun t => negb (declared P (fst t))) E Undeclared
                (search (fun t => negb (represented P V t)) E Missing
                   (search (violated P V) (rules P) NotClosed
                      (search (fun t => negb (founded t)) I Unfounded
                         (search (conflicting P V) I NotSelected Accepted)))))))).

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

Lemma similar_spec p row other same_first : In (p, row) I -> length row = length other ->
  (same_first = true -> other <> [] -> at_column row 0 = at_column other 0) ->
  In row (similar V (p, other) same_first).
Proof.
  intros Hin Hlength Hfirst. unfold similar. cbn [fst snd].
  destruct same_first; [|now apply (rows_complete V I V_shows_I)].
  destruct other as [|c values], row as [|d row]; try discriminate Hlength.
  - now apply (rows_complete V I V_shows_I).
  - assert (Hdc := Hfirst eq_refl ltac:(discriminate)). cbn in Hdc. subst d. now apply (rows_first V I V_shows_I).
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
    apply similar_spec; [exact Hin | exact Hlength|]. rewrite negb_true_iff. intros Hfirst Hother. apply Hkey; [|exact Hfirst].
    rewrite Hlength. destruct other; [easy | simpl; lia].
Qed.

Lemma sharing_spec t u : In u (sharing P V t) <-> In u I /\ shares P u t = true.
Proof.
  unfold sharing. rewrite filter_In. split; (intros [Hu Hshares]; split; [|exact Hshares]).
  - destruct (domains P (fst t)); [easy|]. apply in_map_iff in Hu as (row & <- & Hrow).
    now apply (rows_sound V I V_shows_I) in Hrow.
  - destruct u as [p row], t as [q other]. apply shares_spec in Hshares as (key & Hp & Hlength & Hkey & Hsame).
    cbn [fst snd] in *. subst q. destruct (domains P p) as [|first keys]; [easy|].
    apply in_map, similar_spec; [exact Hu | exact Hlength|]. rewrite forallb_forall. intros Hfirst _.
    specialize (Hfirst key Hkey). apply existsb_exists in Hfirst as (i & Hi & Hzero). apply Nat.eqb_eq in Hzero. subst i.
    now apply Hsame.
Qed.

(** [u] is shown in the place of [t]. *)
Definition stands_for (u t : fact) : Prop :=
  covers (fun u t => dominates P u t = true) u t \/ shares P u t = true.

Definition shown (t : fact) : Prop := exists u, In u I /\ stands_for u t.

Lemma represented_spec t : represented P V t = true <-> shown t.
Proof.
  unfold represented, shown, stands_for, covers. rewrite !orb_true_iff, dominated_spec, (member_spec V I V_shows_I).
  assert (Hsharing := sharing_spec t). split.
  - intros [[Ht|(u & Hu & Hdom)]|Ht]; [eauto 6.. |]. destruct (sharing P V t) as [|u us]; [easy|].
    exists u. split; [|right]; now apply (Hsharing u); left.
  - intros (u & Hu & [[->|Hdom]|Hshares]); [eauto.. |]. right.
    assert (Hin : In u (sharing P V t)) by now apply Hsharing. now destruct (sharing P V t).
Qed.

Lemma same_fact_spec t u : same_fact t u = true <-> t = u.
Proof. unfold same_fact. now destruct (fact_eq_dec t u). Qed.

Lemma conflicting_spec t : conflicting P V t = false <->
  forall u, In u I -> dominates P u t = false /\ (shares P u t = true -> u = t).
Proof.
  unfold conflicting. rewrite orb_false_iff, <- !not_true_iff_false, dominated_spec, existsb_exists. split.
  - intros [Hdom Hshares] u Hu. split; [apply not_true_iff_false; intros H; apply Hdom; eauto|].
    intros H. destruct (fact_eq_dec u t) as [->|Hdiff]; [reflexivity|]. destruct Hshares. exists u.
    split; [now apply sharing_spec|]. apply negb_true_iff, not_true_iff_false. now rewrite same_fact_spec.
  - intros H. split.
    + intros (u & Hu & Hdom). destruct (H u Hu) as [Hnot _]. congruence.
    + intros (u & Hu & Hdiff). apply sharing_spec in Hu as [Hu Hshares]. destruct (H u Hu) as [_ Hsame].
      apply negb_true_iff, not_true_iff_false in Hdiff. now rewrite same_fact_spec in Hdiff; auto.
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
  is_unmixed : forall p, In p (predicates P E) -> choosing P E (node P p) = true -> order P p = [];
  only_declared : facts_declared P E;
  shows_facts : forall t, In t E -> shown P I t;
  is_closed : forall r s, In r (rules P) -> fits I s r -> shown P I (instance s (head r));
  is_founded : forall t, In t I -> In t E \/
    exists r s, In r (rules P) /\ founds P I (fun u => N.ltb (birth u) (birth t)) t r s;
  is_selected : forall u t, In u I -> In t I -> dominates P u t = false;
  is_single : forall u t, In u I -> In t I -> shares P u t = true -> u = t
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
  - intros (Hstrat & Hsafe & Hmonotone & Hmixed & Hdeclared & Hfacts & Hclosed & Hfounded & Hselected & _).
    assert (Hsafe' : forall r, In r (rules P) -> safe r = true).
    { intros r Hr. now apply negb_false_iff, Hsafe. }
    split; [| exact Hsafe' | | | | | | | |].
    + intros r Hr. now apply negb_false_iff, Hstrat.
    + intros r Hr. now apply negb_false_iff, Hmonotone.
    + intros p Hp Hchoosing. specialize (Hmixed p Hp). unfold mixed in Hmixed. rewrite Hchoosing in Hmixed.
      now destruct (order P p).
    + intros t Ht. now apply negb_false_iff, Hdeclared.
    + intros t Ht. now apply (represented_spec P V I HV), negb_false_iff, Hfacts.
    + intros r s Hr. apply (violated_spec P V I HV); auto.
    + intros t Ht. specialize (Hfounded t Ht). apply negb_false_iff, orb_true_iff in Hfounded as [Ht'|Ht'].
      * left. now apply numbered_facts.
      * right. apply existsb_exists in Ht' as (r & Hr & Hsup).
        apply (supported_by_spec P V I HV) in Hsup as (s & Hs); [|auto].
        exists r, s. split; [exact Hr|]. revert Hs. apply founds_change.
        intros u Hu. now rewrite !Hbirth.
    + intros u t Hu Ht. now apply (proj1 (conflicting_spec P V I HV t) (Hselected t Ht) u Hu).
    + intros u t Hu Ht. now apply (proj1 (conflicting_spec P V I HV t) (Hselected t Ht) u Hu).
  - intros [Hstrat Hsafe Hmonotone Hmixed Hdeclared Hfacts Hclosed Hfounded Hselected Hsingle]. repeat split.
    + intros r Hr. now apply negb_false_iff, Hstrat.
    + intros r Hr. now apply negb_false_iff, Hsafe.
    + intros r Hr. now apply negb_false_iff, Hmonotone.
    + intros p Hp. unfold mixed. destruct (choosing P E (node P p)) eqn:Hc; [|reflexivity]. now rewrite Hmixed.
    + intros t Ht. now apply negb_false_iff, Hdeclared.
    + intros t Ht. now apply negb_false_iff, (represented_spec P V I HV), Hfacts.
    + intros r Hr. apply (violated_spec P V I HV); auto.
    + intros t Ht. apply negb_false_iff, orb_true_iff. destruct (Hfounded t Ht) as [HE|(r & s & Hr & Hs)].
      * left. now apply numbered_facts.
      * right. apply existsb_exists. exists r. split; [exact Hr|].
        apply (supported_by_spec P V I HV); [auto|]. exists s. revert Hs. apply founds_change.
        intros u Hu. now rewrite !Hbirth.
    + intros t Ht. apply (conflicting_spec P V I HV). auto.
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
