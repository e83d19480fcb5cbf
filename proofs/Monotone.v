(** Which rules are monotone, seen from their text.

    In a rule of a recursion with selections, tuples of its own hyper-node may be replaced by better ones.  This changes
    the *costs*, the variables in the compared columns of these atoms, and nothing else.  [monotone] demands that

    - each cost is a variable, that occurs once in the body's atoms, and not in negated atoms or in the head's key;
    - a test that holds goes on to hold while the costs get better: [d < 7] for a minimum, not [d > 7];
    - the head's compared columns get better or stay: [head_improves].

    Of several compared columns only the first one is sure to get better, unless they make a front.  The next one may get
    worse if the first one has changed, so a condition on it has to know that the first one has not.

    [monotone_sound]: better body tuples give a rule instance with an equal or better head. *)

From Coq Require Import List ZArith NArith Bool Lia.
From Tidelog Require Import Syntax Orders Selection Semantics Joins.
Import ListNotations.

Definition among (x : variable) (xs : list variable) : bool := existsb (N.eqb x) xs.

Fixpoint distinct (xs : list variable) : bool :=
  match xs with [] => true | x :: xs => negb (among x xs) && distinct xs end.

Definition opposite (d : direction) : direction := match d with Min => Max | Max => Min end.
Definition same_direction (d e : direction) : bool :=
  match d, e with Min, Min => true | Max, Max => true | _, _ => false end.

Definition argument (a : atom) (i : nat) : term := nth i (args a) (Const 0%Z).

(** The variables whose values have to be the same if the value of the term is the same and each part got better. *)
Fixpoint exposed (t : term) : list variable :=
  match t with
  | Var x => [x]
  | Const _ => []
  | Apply (Plus | Minus) t u => exposed t ++ exposed u
  | Apply (Least | Greatest) _ _ => []
  end.

Section Monotone.

Variables (P : program) (r : rule).

Definition compared (a : atom) : list (direction * term) :=
  map (fun column => (fst column, argument a (snd column))) (order P (pred a)).

Definition key_terms (a : atom) : list term :=
  map (argument a) (filter (fun i => negb (is_compared (order P (pred a)) i)) (seq 0 (length (args a)))).

Definition costs_of (a : atom) : list variable := flat_map (fun column => term_vars (snd column)) (compared a).
Definition costs : list variable := flat_map costs_of (own P r).
Definition fixed (t : term) : bool := forallb (fun x => negb (among x costs)) (term_vars t).

(** [x] gets better in direction [d] or stays, if the variables [known] stay: those before it in its atom are known. *)
Fixpoint next_in (known : list variable) (d : direction) (x : variable) (columns : list (direction * term)) : bool :=
  match columns with
  | (e, Var y) :: columns => same_direction d e && N.eqb x y || among y known && next_in known d x columns
  | _ => false
  end.

Definition available (known : list variable) (d : direction) (x : variable) (a : atom) : bool :=
  if front P (pred a)
  then existsb (fun column => next_in [] d x [column]) (compared a)
  else next_in known d x (compared a).

Fixpoint moves (known : list variable) (d : direction) (t : term) : bool :=
  match t with
  | Var x =>
      negb (among x costs) || among x known || existsb (available known d x) (own P r)
  | Const _ => true
  | Apply Minus t u => moves known d t && moves known (opposite d) u
  | Apply _ t u => moves known d t && moves known d u
  end.

Definition tolerates (c : test) : bool :=
  fixed (left c) && fixed (right c)
  || match op c with
     | Less | AtMost => moves [] Min (left c) && moves [] Max (right c)
     | Equal | Unequal => false
     end.

Fixpoint improves (known : list variable) (columns : list (direction * term)) : bool :=
  match columns with
  | [] => true
  | (d, t) :: columns => moves known d t && improves (exposed t ++ known) columns
  end.

Definition head_improves : bool :=
  if front P (pred (head r))
  then forallb (fun column => moves [] (fst column) (snd column)) (compared (head r))
  else improves [] (compared (head r)).

Definition is_variable (t : term) : bool := match t with Var _ => true | _ => false end.
Definition others : list atom :=
  filter (fun a => negb (Nat.eqb (node P (pred a)) (node P (pred (head r))))) (body r).

Definition monotone : bool :=
  forallb (fun a => forallb (fun column => is_variable (snd column)) (compared a)) (own P r)
  && distinct costs
  && forallb fixed (flat_map key_terms (own P r) ++ flat_map args (others ++ negated r) ++ key_terms (head r))
  && forallb tolerates (tests r)
  && head_improves.

End Monotone.

(** ** What it means *)

Lemma among_spec x xs : among x xs = true <-> In x xs.
Proof.
  unfold among. rewrite existsb_exists. split.
  - intros (y & Hy & Heq). apply N.eqb_eq in Heq. now subst.
  - intros Hx. exists x. now rewrite N.eqb_refl.
Qed.

Lemma distinct_spec xs : distinct xs = true -> NoDup xs.
Proof.
  induction xs as [|x xs IH]; simpl; [constructor|]. rewrite andb_true_iff, negb_true_iff.
  intros [Hx Hxs]. constructor; [|now apply IH]. now rewrite <- among_spec, Hx.
Qed.

Lemma at_instance s a i : at_column (snd (instance s a)) i = eval s (argument a i).
Proof. unfold at_column, argument. simpl. now rewrite <- (map_nth (eval s)). Qed.

Lemma instance_eq s a t : pred a = fst t -> length (args a) = length (snd t) ->
  (forall i, i < length (args a) -> eval s (argument a i) = at_column (snd t) i) -> instance s a = t.
Proof.
  destruct t as [p row]. simpl. intros Hp Hlength H. unfold instance. f_equal; [exact Hp|].
  apply (nth_ext _ _ 0%Z 0%Z); rewrite map_length; [exact Hlength|].
  intros i Hi. specialize (H i Hi). now rewrite <- at_instance in H.
Qed.

(** [x] is as good as [y]. *)
Definition as_good (d : direction) (x y : value) : Prop := match d with Min => (x <= y)%Z | Max => (y <= x)%Z end.

Definition not_worse (as_front : bool) (columns : list (direction * nat)) (row other : list value) : Prop :=
  beats as_front columns row other = true
  \/ forall column, In column columns -> at_column row (snd column) = at_column other (snd column).

Notation covers_in P := (covers (fun u t => dominates P u t = true)).

Lemma covers_parts P u t : covers_in P u t ->
  fst u = fst t /\ same_key (order P (fst u)) (snd u) (snd t) = true /\ not_worse (front P (fst u)) (order P (fst u)) (snd u) (snd t).
Proof.
  intros [->|H].
  - split; [reflexivity|]. split; [|now right]. apply same_key_spec. now split.
  - unfold dominates in H. rewrite !andb_true_iff, N.eqb_eq in H. destruct H as [[Hp Hkey] Hahead].
    split; [exact Hp|]. split; [exact Hkey | now left].
Qed.

Lemma is_compared_spec columns i : is_compared columns i = true -> exists column, In column columns /\ snd column = i.
Proof. unfold is_compared. rewrite existsb_exists. intros (c & Hc & Hi). apply Nat.eqb_eq in Hi. eauto. Qed.

Lemma parts_cover P u t : fst u = fst t -> same_key (order P (fst u)) (snd u) (snd t) = true ->
  not_worse (front P (fst u)) (order P (fst u)) (snd u) (snd t) -> covers_in P u t.
Proof.
  intros Hp Hkey [Hahead|Hequal].
  - right. unfold dominates. now rewrite Hp, N.eqb_refl, <- Hp, Hkey.
  - left. apply same_key_spec in Hkey as [Hlength Hkey].
    rewrite (surjective_pairing u), (surjective_pairing t). f_equal; [exact Hp|].
    apply (nth_ext _ _ 0%Z 0%Z); [exact Hlength|]. intros i Hi.
    destruct (is_compared (order P (fst u)) i) eqn:Hc; [|now apply Hkey].
    apply is_compared_spec in Hc as (column & Hin & <-). now apply Hequal.
Qed.

(** ** The new values of the costs *)

Definition variable_of (t : term) : variable := match t with Var x => x | _ => 0%N end.

Definition new_costs (P : program) (a : atom) (t : fact) : substitution :=
  map (fun column => (variable_of (argument a (snd column)), at_column (snd t) (snd column))) (order P (pred a)).

Fixpoint changes (P : program) (atoms : list atom) (facts : list fact) : substitution :=
  match atoms, facts with
  | a :: atoms, t :: facts => new_costs P a t ++ changes P atoms facts
  | _, _ => []
  end.

Definition changed (sub : substitution) (s : valuation) : valuation :=
  fun x => match lookup x sub with Some c => c | None => s x end.

Lemma lookup_none x sub : ~ In x (map fst sub) -> lookup x sub = None.
Proof.
  induction sub as [|[y c] sub IH]; simpl; [easy|]. intros H.
  destruct (N.eqb_spec x y) as [->|Hxy]; [tauto | now apply IH; intros Hx; apply H; right].
Qed.

Lemma lookup_in x c sub : NoDup (map fst sub) -> In (x, c) sub -> lookup x sub = Some c.
Proof.
  induction sub as [|[y d] sub IH]; simpl; [easy|]. intros Hnodup [[= -> ->]|Hin].
  - now rewrite N.eqb_refl.
  - inversion Hnodup as [|? ? Hy Hsub]. subst. destruct (N.eqb_spec x y) as [->|_]; [|now apply IH].
    destruct Hy. apply in_map_iff. now exists (y, c).
Qed.

Lemma changes_costs P atoms :
  forallb (fun a => forallb (fun column => is_variable (snd column)) (compared P a)) atoms = true ->
  forall facts, length facts = length atoms -> map fst (changes P atoms facts) = flat_map (costs_of P) atoms.
Proof.
  induction atoms as [|a atoms IH]; simpl; intros Hvars [|t facts] Hlength; simpl in Hlength; try easy.
  apply andb_true_iff in Hvars as [Ha Hvars]. rewrite map_app, IH; auto. f_equal.
  unfold new_costs, costs_of, compared in *. induction (order P (pred a)) as [|[d i] columns IHc]; simpl in *; [easy|].
  apply andb_true_iff in Ha as [Hi Ha]. rewrite IHc by exact Ha. now destruct (argument a i).
Qed.

Lemma in_changes P a t atoms : forall facts, In (a, t) (combine atoms facts) ->
  incl (new_costs P a t) (changes P atoms facts).
Proof.
  induction atoms as [|b atoms IH]; intros [|u facts]; simpl; try easy.
  intros [[= -> ->]|Hin]; [now apply incl_appl, incl_refl | now apply incl_appr, IH].
Qed.

Lemma combine_covers (Q : fact -> fact -> Prop) s atoms : forall facts, Forall2 Q facts (map (instance s) atoms) ->
  length facts = length atoms /\ forall a t, In (a, t) (combine atoms facts) -> In a atoms /\ Q t (instance s a).
Proof.
  induction atoms as [|b atoms IH]; intros facts H; inversion H as [|u ? facts' ? Hu Hfacts]; subst; simpl; [easy|].
  destruct (IH facts' Hfacts) as [-> Hin]. split; [reflexivity|].
  intros a t [[= -> ->]|Hat]; [now split; [left|]|]. destruct (Hin a t Hat). now split; [right|].
Qed.

Lemma map_combine s atoms : forall facts, length facts = length atoms ->
  (forall a t, In (a, t) (combine atoms facts) -> instance s a = t) -> map (instance s) atoms = facts.
Proof.
  induction atoms as [|a atoms IH]; intros [|t facts]; simpl; try easy.
  intros [= Hlength] H. rewrite (H a t), (IH facts); auto.
Qed.

Lemma in_combine_left {A B : Type} (l : list A) : forall (m : list B) x, length m = length l -> In x l ->
  exists y, In (x, y) (combine l m).
Proof.
  induction l as [|z l IH]; intros [|y m] x; simpl; try easy.
  intros [= Hlength] [->|Hx]; [exists y; now left|]. destruct (IH m x Hlength Hx) as [w Hw]. exists w. now right.
Qed.

(** ** Soundness *)

Section Sound.

Variables (P : program) (r : rule) (s : valuation) (facts : list fact).
Hypothesis is_monotone : monotone P r = true.
Hypothesis facts_cover : Forall2 (covers_in P) facts (map (instance s) (own P r)).

Let s' := changed (changes P (own P r) facts) s.

Lemma monotone_parts :
  forallb (fun a => forallb (fun column => is_variable (snd column)) (compared P a)) (own P r) = true
  /\ NoDup (costs P r)
  /\ (forall t, In t (flat_map (key_terms P) (own P r) ++ flat_map args (others P r ++ negated r)
        ++ key_terms P (head r)) -> fixed P r t = true)
  /\ (forall c, In c (tests r) -> tolerates P r c = true)
  /\ head_improves P r = true.
Proof.
  unfold monotone in is_monotone. rewrite !andb_true_iff, !(forallb_forall (fixed P r)),
    !(forallb_forall (tolerates P r)) in is_monotone.
  destruct is_monotone as [[[[Hvars Hdistinct] Hfixed] Htests] Himproves]. auto using distinct_spec.
Qed.

Lemma facts_length : length facts = length (own P r).
Proof. now apply (combine_covers _ _ _ _ facts_cover). Qed.

Lemma changes_vars : map fst (changes P (own P r) facts) = costs P r.
Proof. apply changes_costs; [apply monotone_parts | apply facts_length]. Qed.

Lemma stays x : ~ In x (costs P r) -> s' x = s x.
Proof. intros Hx. unfold s', changed. rewrite lookup_none; [reflexivity | now rewrite changes_vars]. Qed.

Lemma fixed_eval t : fixed P r t = true -> eval s' t = eval s t.
Proof.
  unfold fixed. rewrite forallb_forall.
  induction t as [x|c|f t IHt u IHu]; simpl; intros H; [|reflexivity|].
  - apply stays. rewrite <- among_spec. apply not_true_iff_false, negb_true_iff, H. now left.
  - rewrite IHt, IHu; [reflexivity | |]; intros x Hx; apply H, in_or_app; auto.
Qed.

(** An own atom becomes the tuple that replaces its former one. *)
Lemma own_instance a t : In (a, t) (combine (own P r) facts) -> instance s' a = t.
Proof.
  intros Hat. destruct (combine_covers _ _ _ _ facts_cover) as [_ Hcombine].
  destruct (Hcombine a t Hat) as [Ha Hcovers].
  destruct (covers_parts P t _ Hcovers) as (Hp & Hkey & _). simpl in Hp.
  apply same_key_spec in Hkey as [Hlength Hkey]. simpl in Hlength. rewrite map_length in Hlength.
  destruct monotone_parts as (Hvars & Hnodup & Hfixed & _).
  apply instance_eq; [now symmetry | now symmetry |].
  intros i Hi. destruct (is_compared (order P (pred a)) i) eqn:Hc.
  - apply is_compared_spec in Hc as (column & Hcolumn & <-).
    rewrite forallb_forall in Hvars. specialize (Hvars a Ha). rewrite forallb_forall in Hvars.
    specialize (Hvars (fst column, argument a (snd column))). simpl in Hvars.
    assert (Hin : In (variable_of (argument a (snd column)), at_column (snd t) (snd column)) (changes P (own P r) facts)).
    { apply (in_changes P a t _ _ Hat). unfold new_costs. now apply in_map_iff; exists column. }
    destruct (argument a (snd column)) as [x|c|f u v] eqn:Hx.
    + change (variable_of (Var x)) with x in Hin. simpl. unfold s', changed. rewrite (lookup_in _ _ _ ltac:(rewrite changes_vars; exact Hnodup) Hin). reflexivity.
    + discriminate Hvars. unfold compared. apply in_map_iff. exists column. now rewrite Hx.
    + discriminate Hvars. unfold compared. apply in_map_iff. exists column. now rewrite Hx.
  - rewrite fixed_eval.
    + rewrite <- at_instance. symmetry. apply Hkey; [lia | now rewrite Hp].
    + apply Hfixed, in_or_app. left. apply in_flat_map. exists a. split; [exact Ha|].
      unfold key_terms. apply in_map, filter_In. split; [apply in_seq; lia | now rewrite Hc].
Qed.

Lemma other_instance a : In a (others P r ++ negated r) -> instance s' a = instance s a.
Proof.
  intros Ha. unfold instance. f_equal. apply map_ext_in. intros t Ht. apply fixed_eval.
  apply monotone_parts, in_or_app. right. apply in_or_app. left. apply in_flat_map. eauto.
Qed.

Lemma own_not_worse a : In a (own P r) ->
  not_worse (front P (pred a)) (order P (pred a)) (snd (instance s' a)) (snd (instance s a)).
Proof.
  intros Ha. destruct (in_combine_left _ facts a facts_length Ha) as [t Hat].
  destruct (combine_covers _ _ _ _ facts_cover) as [_ Hcombine]. destruct (Hcombine a t Hat) as [_ Hcovers].
  rewrite (own_instance a t Hat). apply covers_parts in Hcovers as (Hp & _ & Hworse). simpl in Hp. now rewrite Hp in Hworse.
Qed.

Definition unchanged (known : list variable) : Prop := forall x, In x known -> s' x = s x.

Lemma next_in_sound known d x a : unchanged known ->
  not_worse false (order P (pred a)) (snd (instance s' a)) (snd (instance s a)) ->
  next_in known d x (compared P a) = true -> as_good d (s' x) (s x).
Proof.
  intros Hknown H. unfold compared.
  induction (order P (pred a)) as [|[e i] columns IH]; simpl; [easy|].
  assert (Hi : forall s, at_column (snd (instance s a)) i = eval s (argument a i)) by (intros; apply at_instance).
  destruct (argument a i) as [y|c|f t u]; [|easy|easy]. simpl in Hi.
  rewrite orb_true_iff, !andb_true_iff, N.eqb_eq, among_spec. unfold not_worse in H. simpl in H.
  rewrite orb_true_iff, andb_true_iff, Z.eqb_eq, !Hi in H. intros [[Hd ->]|[Hy Hnext]].
  - assert (Hyy : better e (s' y) (s y) = true \/ s' y = s y).
    { destruct H as [[H|[H _]]|H]; auto. right. rewrite <- !Hi. now apply (H (e, i)); left. }
    unfold better in Hyy. destruct d, e; try discriminate Hd; simpl; lia.
  - apply IH; [|exact Hnext]. destruct H as [[H|[_ H]]|H].
    + rewrite (Hknown y Hy) in H. unfold better in H. destruct e; lia.
    + now left.
    + right. intros column Hc. apply H. now right.
Qed.

Lemma available_sound known d x a : unchanged known -> In a (own P r) -> available P known d x a = true ->
  as_good d (s' x) (s x).
Proof.
  intros Hknown Ha. assert (H := own_not_worse a Ha). unfold available.
  destruct (front P (pred a)); [|now apply next_in_sound].
  unfold compared. rewrite existsb_exists. intros (column & Hc & Hnext). apply in_map_iff in Hc as ([e i] & <- & Hc).
  assert (Hi : forall s, at_column (snd (instance s a)) i = eval s (argument a i)) by (intros; apply at_instance).
  simpl in Hnext. destruct (argument a i) as [y|c|f t u]; [|easy|easy]. cbn [eval] in Hi.
  rewrite orb_false_r, andb_true_iff, N.eqb_eq in Hnext. destruct Hnext as [Hd ->].
  destruct H as [H|H]; [apply andb_true_iff in H as [H _]; rewrite everywhere_spec in H|];
    specialize (H (e, i) Hc); change (snd (e, i)) with i in H; change (fst (e, i)) with e in H; rewrite !Hi in H; destruct d, e; simpl in *; try easy; lia.
Qed.

Lemma moves_sound known t : unchanged known -> forall d, moves P r known d t = true ->
  as_good d (eval s' t) (eval s t) /\ (eval s' t = eval s t -> unchanged (exposed t)).
Proof.
  intros Hknown. induction t as [x|c|f t IHt u IHu]; simpl; intros d H.
  - split; [|intros Hx y [<-|[]]; exact Hx].
    rewrite !orb_true_iff, negb_true_iff, among_spec, existsb_exists in H. destruct H as [[H|H]|(a & Ha & H)].
    + rewrite stays; [destruct d; simpl; lia | now rewrite <- among_spec, H].
    + rewrite (Hknown x H). destruct d; simpl; lia.
    + now apply (available_sound known d x a).
  - split; [destruct d; simpl; lia | now intros _ x].
  - destruct f; apply andb_true_iff in H as [Ht Hu]; destruct (IHt _ Ht) as [Hgt Hst], (IHu _ Hu) as [Hgu Hsu].
    + split; [destruct d; simpl in *; lia|]. intros Hsum x Hx.
      apply in_app_or in Hx as [Hx|Hx]; [apply Hst | apply Hsu]; auto; destruct d; simpl in *; lia.
    + split; [destruct d; simpl in *; lia|]. intros Hsum x Hx.
      apply in_app_or in Hx as [Hx|Hx]; [apply Hst | apply Hsu]; auto; destruct d; simpl in *; lia.
    + split; [destruct d; simpl in *; lia | now intros _ x].
    + split; [destruct d; simpl in *; lia | now intros _ x].
Qed.

Lemma tolerates_sound c : tolerates P r c = true -> holds s c -> holds s' c.
Proof.
  unfold tolerates, holds. rewrite orb_true_iff, andb_true_iff. intros [[Hl Hr]|H].
  - now rewrite !fixed_eval.
  - assert (Hnone : unchanged []) by now intros x.
    destruct (op c); try discriminate H; apply andb_true_iff in H as [Hl Hr];
      apply (moves_sound [] _ Hnone) in Hl as [Hl _]; apply (moves_sound [] _ Hnone) in Hr as [Hr _]; simpl in *; lia.
Qed.

Lemma improves_sound a columns : forall known, unchanged known ->
  improves P r known (map (fun column => (fst column, argument a (snd column))) columns) = true ->
  not_worse false columns (snd (instance s' a)) (snd (instance s a)).
Proof.
  induction columns as [|[d i] columns IH]; intros known Hknown; [now right|]. cbn [map improves fst snd].
  rewrite andb_true_iff. intros [Hmoves Himproves].
  destruct (moves_sound known _ Hknown d Hmoves) as [Hgood Hsame].
  unfold not_worse. cbn [beats ahead]. rewrite !at_instance.
  destruct (Z.eq_dec (eval s' (argument a i)) (eval s (argument a i))) as [Heq|Hdiff].
  - destruct (IH (exposed (argument a i) ++ known)) as [H|H]; [| exact Himproves | |].
    + intros x Hx. apply in_app_or in Hx as [Hx|Hx]; [now apply Hsame | now apply Hknown].
    + left. cbn [beats] in H. rewrite H, Heq, Z.eqb_refl. apply orb_true_r.
    + right. intros column [<-|Hc]; [cbn [snd]; now rewrite !at_instance | now apply H].
  - left. apply orb_true_iff. left. unfold better. destruct d; simpl in Hgood; lia.
Qed.

Lemma head_not_worse :
  not_worse (front P (pred (head r))) (order P (pred (head r))) (snd (instance s' (head r))) (snd (instance s (head r))).
Proof.
  destruct monotone_parts as (_ & _ & _ & _ & H). unfold head_improves in H.
  assert (Hnone : unchanged []) by now intros x.
  destruct (front P (pred (head r))); [|now apply (improves_sound _ _ [])].
  rewrite forallb_forall in H. set (columns := order P (pred (head r))) in *.
  assert (Hgood : everywhere columns (snd (instance s' (head r))) (snd (instance s (head r))) = true).
  { apply everywhere_spec. intros column Hc. rewrite !at_instance.
    assert (Hin : In (fst column, argument (head r) (snd column)) (compared P (head r))).
    { unfold compared. apply in_map_iff. now exists column. }
    apply H, (moves_sound [] _ Hnone) in Hin as [Hgood _].
    cbn [fst snd] in Hgood. destruct (fst column); simpl in *; lia. }
  destruct (everywhere columns (snd (instance s (head r))) (snd (instance s' (head r)))) eqn:Hback.
  - right. intros column Hc. rewrite everywhere_spec in Hgood, Hback. specialize (Hgood column Hc).
    specialize (Hback column Hc). destruct (fst column); simpl in *; lia.
  - left. unfold beats. now rewrite Hgood, Hback.
Qed.

Theorem monotone_sound : (forall c, In c (tests r) -> holds s c) -> exists s',
  map (instance s') (own P r) = facts
  /\ (forall a, In a (others P r ++ negated r) -> instance s' a = instance s a)
  /\ (forall c, In c (tests r) -> holds s' c)
  /\ covers_in P (instance s' (head r)) (instance s (head r)).
Proof.
  intros Htests. destruct monotone_parts as (_ & _ & Hfixed & Htolerates & _).
  exists s'. split; [|split; [|split]].
  - apply map_combine; [apply facts_length | apply own_instance].
  - apply other_instance.
  - intros c Hc. apply tolerates_sound; auto.
  - apply parts_cover; [reflexivity | |].
    + apply same_key_spec. split; [simpl; now rewrite !map_length|]. intros i Hi Hkey.
      simpl in Hi, Hkey. rewrite map_length in Hi. rewrite !at_instance. apply fixed_eval, Hfixed. do 2 (apply in_or_app; right).
      unfold key_terms. apply in_map, filter_In. split; [apply in_seq; lia | now rewrite Hkey].
    + apply head_not_worse.
Qed.

End Sound.

(** ** Without selections there is nothing to demand *)

Lemma plain_monotone P r : (forall p, order P p = []) -> monotone P r = true.
Proof.
  intros Hplain. assert (Hnone : forall a, compared P a = []) by (intros a; unfold compared; now rewrite Hplain).
  assert (Hcosts : costs P r = []).
  { unfold costs, costs_of. induction (own P r) as [|a atoms IH]; simpl; [reflexivity | now rewrite Hnone]. }
  assert (Hfixed : forall t, fixed P r t = true).
  { intros t. unfold fixed. apply forallb_forall. intros x _. now rewrite Hcosts. }
  unfold monotone, head_improves. rewrite Hcosts, (Hnone (head r)), !andb_true_iff.
  repeat split; [apply forallb_forall.. | now destruct (front P (pred (head r)))].
  - intros a _. now rewrite Hnone.
  - intros t _. apply Hfixed.
  - intros c _. unfold tolerates. now rewrite !Hfixed.
Qed.
