(** Rule bodies matched against a view, by nested loops over the rows that can match.

    Nothing here ranges over the domain: [exists_join] tries the rows of each atom in turn, those with the right first
    column where that is known, and looks the tuple up where all of it is known.  [exists_join_sound] and
    [exists_join_complete] say that this is the same as trying all valuations, for a condition on the body's variables. *)

From Coq Require Import List ZArith NArith Bool.
From Tidelog Require Import Syntax Semantics.
Import ListNotations.

(** ** Substitutions and matching *)

Definition substitution := list (variable * value).

Fixpoint lookup (x : variable) (sub : substitution) : option value :=
  match sub with
  | [] => None
  | (y, c) :: sub => if N.eqb x y then Some c else lookup x sub
  end.

Definition valuation_of (sub : substitution) : valuation :=
  fun x => match lookup x sub with Some c => c | None => 0%Z end.

Definition agrees (s : valuation) (sub : substitution) := forall x c, lookup x sub = Some c -> s x = c.
Definition binds (sub : substitution) (x : variable) := exists c, lookup x sub = Some c.

(** [sub] extended so that the terms become the values, those that are not computed. *)
Fixpoint match_terms (terms : list term) (values : list value) (sub : substitution) : option substitution :=
  match terms, values with
  | [], [] => Some sub
  | Const d :: terms, c :: values => if Z.eqb d c then match_terms terms values sub else None
  | Var x :: terms, c :: values =>
      match lookup x sub with
      | Some d => if Z.eqb d c then match_terms terms values sub else None
      | None => match_terms terms values ((x, c) :: sub)
      end
  | Apply _ _ _ :: terms, _ :: values => match_terms terms values sub
  | _, _ => None
  end.

Lemma agrees_valuation_of sub : agrees (valuation_of sub) sub.
Proof. intros x c H. unfold valuation_of. now rewrite H. Qed.

Lemma agrees_cons s x c sub : agrees s sub -> s x = c -> agrees s ((x, c) :: sub).
Proof.
  intros H Hx y d. simpl. destruct (N.eqb_spec y x) as [->|_]; [now intros [= <-] | apply H].
Qed.

Lemma agrees_tail s x c sub : lookup x sub = None -> agrees s ((x, c) :: sub) -> agrees s sub.
Proof.
  intros Hx H y d Hy. apply H. simpl. destruct (N.eqb_spec y x) as [->|_]; [congruence | exact Hy].
Qed.

Lemma binds_cons y x c sub : binds sub y -> binds ((x, c) :: sub) y.
Proof. intros [d H]. unfold binds. simpl. destruct (N.eqb y x); eauto. Qed.

Lemma match_terms_agrees terms : forall values sub sub', match_terms terms values sub = Some sub' ->
  forall s, agrees s sub' -> agrees s sub.
Proof.
  induction terms as [|[x|d|f t u] terms IH]; intros [|c values] sub sub'; simpl; try discriminate.
  - now intros [= <-].
  - destruct (lookup x sub) as [d|] eqn:Hx.
    + destruct (Z.eqb d c); [eauto | discriminate].
    + intros H s Hs. apply (agrees_tail s x c); eauto.
  - destruct (Z.eqb d c); [eauto | discriminate].
  - eauto.
Qed.

Lemma match_terms_sound terms : forallb flat_term terms = true ->
  forall values sub sub', match_terms terms values sub = Some sub' ->
  (forall s, agrees s sub' -> agrees s sub /\ map (eval s) terms = values).
Proof.
  induction terms as [|[x|d|f t u] terms IH]; simpl; try discriminate; intros Hflat [|c values] sub sub'; try discriminate;
    try specialize (IH Hflat).
  - intros [= <-] s Hs. now split.
  - destruct (lookup x sub) as [d|] eqn:Hx.
    + destruct (Z.eqb_spec d c) as [->|]; [|discriminate].
      intros H s Hs. destruct (IH _ _ _ H s Hs) as [Hsub <-]. split; [exact Hsub | now rewrite (Hsub _ _ Hx)].
    + intros H s Hs. destruct (IH _ _ _ H s Hs) as [Hsub <-].
      split; [now apply (agrees_tail s x c)|]. f_equal. apply Hsub. simpl. now rewrite N.eqb_refl.
  - destruct (Z.eqb_spec d c) as [->|]; [|discriminate].
    intros H s Hs. now destruct (IH _ _ _ H s Hs) as [Hsub <-].
Qed.

Lemma match_terms_complete s terms : forall values sub, agrees s sub -> map (eval s) terms = values ->
  exists sub', match_terms terms values sub = Some sub' /\ agrees s sub'.
Proof.
  induction terms as [|[x|d|f t u] terms IH]; intros [|c values] sub Hs; simpl; try discriminate.
  - now exists sub.
  - intros [= Hx Ht]. destruct (lookup x sub) as [d|] eqn:Hd.
    + rewrite <- (Hs _ _ Hd), Hx, Z.eqb_refl. now apply IH.
    + apply IH; [now apply agrees_cons | exact Ht].
  - intros [= -> Ht]. rewrite Z.eqb_refl. now apply IH.
  - intros [= _ Ht]. now apply IH.
Qed.

Lemma match_terms_binds terms : forallb flat_term terms = true ->
  forall values sub sub' x, match_terms terms values sub = Some sub' ->
  binds sub x \/ In x (flat_map term_vars terms) -> binds sub' x.
Proof.
  induction terms as [|[y|d|f t u] terms IH]; simpl; try discriminate; intros Hflat [|c values] sub sub' x;
    try discriminate; try specialize (IH Hflat).
  - intros [= <-] [H|[]]. exact H.
  - destruct (lookup y sub) as [d|] eqn:Hd.
    + destruct (Z.eqb d c); [|discriminate].
      intros H [Hx|[<-|Hx]]; apply (IH _ _ _ _ H); [now left | left; now exists d | now right].
    + intros H [Hx|[<-|Hx]]; apply (IH _ _ _ _ H); [left; now apply binds_cons | left | now right].
      exists c. simpl. now rewrite N.eqb_refl.
  - destruct (Z.eqb d c); [|discriminate]. intros H Hx. exact (IH _ _ _ _ H Hx).
Qed.

(** ** Views *)

(** How a view is read: [rows p None] are the rows of [p], [rows p (Some c)] those with [c] in the first column. *)
Record view := View {
  member : fact -> bool;
  rows : predicate -> option value -> list (list value)
}.

Record shows (V : view) (I : list fact) : Prop := {
  member_spec : forall t, member V t = true <-> In t I;
  rows_sound : forall p key row, In row (rows V p key) -> In (p, row) I;
  rows_complete : forall p row, In (p, row) I -> In row (rows V p None);
  rows_first : forall p c row, In (p, c :: row) I -> In (c :: row) (rows V p (Some c))
}.

Definition term_value (sub : substitution) (t : term) : option value :=
  match t with Var x => lookup x sub | Const c => Some c | Apply _ _ _ => None end.

Fixpoint ground (sub : substitution) (terms : list term) : option (list value) :=
  match terms with
  | [] => Some []
  | t :: terms =>
      match term_value sub t, ground sub terms with
      | Some c, Some values => Some (c :: values)
      | _, _ => None
      end
  end.

Definition first_value (sub : substitution) (terms : list term) : option value :=
  match terms with [] => None | t :: _ => term_value sub t end.

(** The rows that can match an atom. *)
Definition candidates (V : view) (sub : substitution) (a : atom) : list (list value) :=
  match ground sub (args a) with
  | Some values => if member V (pred a, values) then [values] else []
  | None => rows V (pred a) (first_value sub (args a))
  end.

Lemma term_value_agrees s sub t c : agrees s sub -> term_value sub t = Some c -> eval s t = c.
Proof. intros Hs. destruct t as [x|d|f t u]; simpl; [apply Hs | now intros [= ->] | easy]. Qed.

Lemma ground_agrees s sub terms : forall values, agrees s sub -> ground sub terms = Some values ->
  map (eval s) terms = values.
Proof.
  induction terms as [|t terms IH]; simpl; intros values Hs; [now intros [= <-]|].
  destruct (term_value sub t) eqn:Ht; [|discriminate]. destruct (ground sub terms); [|discriminate].
  intros [= <-]. now rewrite (term_value_agrees _ _ _ _ Hs Ht), (IH _ Hs eq_refl).
Qed.

Section Join.

Variables (V : view) (I : list fact).
Hypothesis V_shows_I : shows V I.

Lemma candidates_sound sub a row : In row (candidates V sub a) -> In (pred a, row) I.
Proof.
  unfold candidates. destruct (ground sub (args a)) as [values|].
  - destruct (member V (pred a, values)) eqn:Hm; [|easy].
    intros [<-|[]]. now apply (member_spec V I V_shows_I).
  - apply (rows_sound V I V_shows_I).
Qed.

Lemma candidates_complete s sub a : agrees s sub -> In (instance s a) I ->
  In (map (eval s) (args a)) (candidates V sub a).
Proof.
  intros Hs HI. unfold candidates. destruct (ground sub (args a)) as [values|] eqn:Hg.
  - rewrite <- (ground_agrees _ _ _ _ Hs Hg).
    replace (member V _) with true; [now left|]. symmetry. now apply (member_spec V I V_shows_I).
  - unfold instance in HI. destruct (args a) as [|t terms]; [discriminate|]. simpl in *.
    destruct (term_value sub t) as [c|] eqn:Ht; [|now apply (rows_complete V I V_shows_I)].
    rewrite (term_value_agrees _ _ _ _ Hs Ht) in *. now apply (rows_first V I V_shows_I).
Qed.

(** ** Joins *)

(** Whether some valuation that extends [sub] has all atoms in the view and satisfies [Q]. *)
Fixpoint exists_join (atoms : list atom) (sub : substitution) (Q : valuation -> bool) : bool :=
  match atoms with
  | [] => Q (valuation_of sub)
  | a :: atoms =>
      existsb
        (fun row =>
           match match_terms (args a) row sub with
           | Some sub => exists_join atoms sub Q
           | None => false
           end)
        (candidates V sub a)
  end.

Lemma exists_join_sound atoms : forallb flat atoms = true -> forall sub Q, exists_join atoms sub Q = true ->
  exists s, agrees s sub /\ (forall a, In a atoms -> In (instance s a) I) /\ Q s = true.
Proof.
  induction atoms as [|a atoms IH]; simpl; intros Hflat sub Q H.
  - exists (valuation_of sub). split; [apply agrees_valuation_of | now split].
  - apply andb_true_iff in Hflat as [Ha Hflat]. apply existsb_exists in H as (row & Hrow & H).
    destruct (match_terms (args a) row sub) as [sub'|] eqn:Hm; [|discriminate].
    destruct (IH Hflat _ _ H) as (s & Hs & Hatoms & HQ).
    destruct (match_terms_sound _ Ha _ _ _ Hm s Hs) as [Hsub Hargs].
    exists s. split; [exact Hsub | split; [|exact HQ]].
    intros b [<-|Hb]; [|now apply Hatoms].
    unfold instance. rewrite Hargs. now apply (candidates_sound sub).
Qed.

Definition depends_on (Q : valuation -> bool) (xs : list variable) :=
  forall s s', (forall x, In x xs -> s x = s' x) -> Q s = Q s'.

Lemma exists_join_complete s Q xs : depends_on Q xs -> Q s = true -> forall atoms sub,
  forallb flat atoms = true ->
  agrees s sub ->
  (forall a, In a atoms -> In (instance s a) I) ->
  (forall x, In x xs -> binds sub x \/ In x (flat_map atom_vars atoms)) ->
  exists_join atoms sub Q = true.
Proof.
  intros HQ Hs. induction atoms as [|a atoms IH]; simpl; intros sub Hflat Hsub Hin Hxs.
  - rewrite <- Hs. apply HQ. intros x Hx. destruct (Hxs x Hx) as [[c Hc]|[]].
    unfold valuation_of. rewrite Hc. symmetry. now apply Hsub.
  - apply andb_true_iff in Hflat as [Ha Hflat]. apply existsb_exists. exists (map (eval s) (args a)).
    split; [apply candidates_complete; auto|].
    destruct (match_terms_complete s (args a) _ sub Hsub eq_refl) as (sub' & Hm & Hsub').
    rewrite Hm. apply IH; auto.
    intros x Hx. destruct (Hxs x Hx) as [Hb|Hb].
    + left. apply (match_terms_binds _ Ha _ _ _ _ Hm). now left.
    + apply in_app_or in Hb as [Hb|Hb]; [|now right].
      left. apply (match_terms_binds _ Ha _ _ _ _ Hm). now right.
Qed.

Lemma exists_join_mono (Q R : valuation -> bool) : (forall s, Q s = true -> R s = true) -> forall atoms sub,
  exists_join atoms sub Q = true -> exists_join atoms sub R = true.
Proof.
  intros HQR. induction atoms as [|a atoms IH]; simpl; intros sub; [apply HQR|].
  rewrite !existsb_exists. intros (row & Hrow & H). exists row. split; [exact Hrow|].
  destruct (match_terms (args a) row sub); [now apply IH | discriminate].
Qed.

End Join.
