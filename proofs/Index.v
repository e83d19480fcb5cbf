(** Views as search trees: tuples looked up, and rows found by predicate and first column, in logarithmic time. *)

From Coq Require Import List ZArith NArith Bool OrderedType FMapAVL FMapFacts.
From Tidelog Require Import Syntax Joins.
Import ListNotations.

(** ** The order of keys: lexicographic, the predicate first *)

Fixpoint compare_values (l m : list Z) : comparison :=
  match l, m with
  | [], [] => Eq
  | [], _ :: _ => Lt
  | _ :: _, [] => Gt
  | x :: l, y :: m => match Z.compare x y with Eq => compare_values l m | c => c end
  end.

Lemma compare_values_eq l : forall m, compare_values l m = Eq <-> l = m.
Proof.
  induction l as [|x l IH]; intros [|y m]; simpl; try easy.
  destruct (Z.compare_spec x y) as [->|H|H].
  - rewrite IH. split; [now intros -> | now intros [= ->]].
  - split; [discriminate|]. intros [= -> _]. now apply Z.lt_irrefl in H.
  - split; [discriminate|]. intros [= -> _]. now apply Z.lt_irrefl in H.
Qed.

Lemma compare_values_antisym l : forall m, compare_values m l = CompOpp (compare_values l m).
Proof.
  induction l as [|x l IH]; intros [|y m]; simpl; try easy.
  rewrite (Z.compare_antisym x y), (IH m). now destruct (Z.compare x y).
Qed.

Lemma compare_values_trans l : forall m n, compare_values l m = Lt -> compare_values m n = Lt ->
  compare_values l n = Lt.
Proof.
  induction l as [|x l IH]; intros [|y m] [|z n]; simpl; try easy.
  intros H1 H2. destruct (Z.compare_spec x y) as [->|Hxy|Hxy]; [| |discriminate].
  - destruct (Z.compare y z); [now apply (IH m) | reflexivity | discriminate].
  - destruct (Z.compare_spec y z) as [<-|Hyz|Hyz]; [| |discriminate].
    + now rewrite (proj2 (Z.compare_lt_iff x y) Hxy).
    + now rewrite (proj2 (Z.compare_lt_iff x z) (Z.lt_trans _ _ _ Hxy Hyz)).
Qed.

Module Key <: OrderedType.
  Definition t := fact.
  Definition values (k : t) : list Z := Z.of_N (fst k) :: snd k.
  Definition eq := @Logic.eq t.
  Definition lt (k l : t) := compare_values (values k) (values l) = Lt.
  Definition eq_refl := @Logic.eq_refl t.
  Definition eq_sym := @Logic.eq_sym t.
  Definition eq_trans := @Logic.eq_trans t.
  Definition eq_dec := fact_eq_dec.

  Lemma values_inj k l : values k = values l -> k = l.
  Proof. destruct k as [p xs], l as [q ys]. intros [= H ->]. apply N2Z.inj in H. now subst. Qed.

  Lemma lt_trans k l m : lt k l -> lt l m -> lt k m.
  Proof. apply compare_values_trans. Qed.

  Lemma lt_not_eq k l : lt k l -> ~ eq k l.
  Proof. unfold lt. intros H ->. now rewrite (proj2 (compare_values_eq _ _) Logic.eq_refl) in H. Qed.

  Definition compare (k l : t) : Compare lt eq k l.
  Proof.
    destruct (compare_values (values k) (values l)) eqn:H.
    - apply EQ. apply values_inj. now apply compare_values_eq.
    - now apply LT.
    - apply GT. unfold lt. now rewrite compare_values_antisym, H.
  Defined.
End Key.

Module Facts := FMapAVL.Make(Key).
Module FactsProps := FMapFacts.WFacts_fun(Key)(Facts).

(** ** Sets of tuples, with a number each *)

Definition numbered (l : list (fact * N)) : Facts.t N :=
  fold_right (fun entry map => Facts.add (fst entry) (snd entry) map) (Facts.empty N) l.

Definition has (map : Facts.t N) (t : fact) : bool := Facts.mem t map.
Definition number (map : Facts.t N) (t : fact) : N := match Facts.find t map with Some n => n | None => 0%N end.

Lemma has_spec l t : has (numbered l) t = true <-> In t (map fst l).
Proof.
  unfold has. induction l as [|[u n] l IH]; simpl.
  - now rewrite FactsProps.empty_a.
  - rewrite FactsProps.add_b, orb_true_iff, IH. unfold FactsProps.eqb.
    destruct (Key.eq_dec u t) as [->|H]; [tauto|]. split; [intros [?|?]|intros [?|?]]; try easy; auto.
Qed.

Lemma number_spec f l t : In t l -> number (numbered (map (fun u => (u, f u)) l)) t = f t.
Proof.
  unfold number. induction l as [|u l IH]; simpl; [easy|].
  rewrite FactsProps.add_o. destruct (Key.eq_dec u t) as [->|H]; [now intros|].
  intros [->|Hin]; [congruence | now apply IH].
Qed.

(** ** Rows by predicate, and by predicate and first column *)

Definition rows_at (index : Facts.t (list (list value))) (k : fact) : list (list value) :=
  match Facts.find k index with Some rows => rows | None => [] end.

Definition put (k : fact) (row : list value) (index : Facts.t (list (list value))) :=
  Facts.add k (row :: rows_at index k) index.

Definition add_row (t : fact) (index : Facts.t (list (list value))) :=
  match t with
  | (p, []) => put (p, []) [] index
  | (p, c :: row) => put (p, [c]) (c :: row) (put (p, []) (c :: row) index)
  end.

Definition indexed (I : list fact) : Facts.t (list (list value)) := fold_right add_row (Facts.empty _) I.

Lemma in_put k l row other index :
  In other (rows_at (put k row index) l) <-> (k = l /\ row = other) \/ In other (rows_at index l).
Proof.
  unfold rows_at at 1, put. rewrite FactsProps.add_o.
  destruct (Key.eq_dec k l) as [->|H]; simpl; [tauto|]. split; [now right | now intros [[-> _]|]].
Qed.

Lemma rows_at_sound I p key row : In row (rows_at (indexed I) (p, key)) -> In (p, row) I.
Proof.
  induction I as [|[q [|c cs]] I IH]; simpl; [easy | |]; rewrite !in_put.
  - intros [[[= -> _] <-]|H]; auto.
  - intros [[[= -> _] <-]|[[[= -> _] <-]|H]]; auto.
Qed.

Lemma rows_at_all I p row : In (p, row) I -> In row (rows_at (indexed I) (p, [])).
Proof.
  induction I as [|[q [|c cs]] I IH]; simpl; [easy | |]; rewrite !in_put.
  - intros [[= -> ->]|H]; auto.
  - intros [[= -> ->]|H]; auto.
Qed.

Lemma rows_at_first I p c row : In (p, c :: row) I -> In (c :: row) (rows_at (indexed I) (p, [c])).
Proof.
  induction I as [|[q [|d ds]] I IH]; simpl; [easy | |]; rewrite !in_put.
  - intros [[= _]|H]; auto.
  - intros [[= -> -> ->]|H]; auto.
Qed.

(** The view of a list of numbered tuples, built once. *)
Definition view_of (births : Facts.t N) (index : Facts.t (list (list value))) : view :=
  View (has births)
    (fun p key => rows_at index (p, match key with Some c => [c] | None => [] end)).

Theorem view_of_shows l : shows (view_of (numbered l) (indexed (map fst l))) (map fst l).
Proof.
  split; simpl.
  - apply has_spec.
  - intros p [c|] row; apply rows_at_sound.
  - apply rows_at_all.
  - apply rows_at_first.
Qed.
