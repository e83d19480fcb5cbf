(** Relations with choice-domains: one tuple for each key, whichever came first.

    One hyper-node, as in [Selection].  [same d t u]: both tuples are of the same relation, [d] is one of its domains, and
    they agree on the key of [d].  A plain relation has no domains.  A derivation is ignored if its head is not *free*:
    some visible tuple has its key in one of the domains.

    There are many right answers, and no theorem singles out one.  A *choice* is the outcome of a run ([outcome]) that
    adds derivable free tuples, in any order, until there is none.  [choice_certified]: three conditions on the visible
    tuples and their births make them the outcome of some run.  [choice_complete]: each outcome of a run meets them.
    [choice_maximal]: no larger set is founded and has one tuple for each key.  Two different choices of one program are
    in [two_choices]. *)

From Coq Require Import List NArith Lia.
From Tidelog Require Import Selection.
Import ListNotations.

Section Choice.

Variables T D : Type.
Variable derives : list T -> T -> Prop.
Variable same : D -> T -> T -> Prop.

(** No member of [V] has the key of [t] in any domain. *)
Definition free (V : T -> Prop) (t : T) : Prop := forall d u, V u -> ~ same d u t.

Definition from (V : T -> Prop) (t : T) : Prop := exists B, derives B t /\ Forall V B.

(** ** Runs *)

Inductive run : list T -> Prop :=
| start : run []
| choose R t : run R -> from (fun u => In u R) t -> ~ In t R -> free (fun u => In u R) t -> run (t :: R).

(** [V] is what a finished run has chosen: all that follows from it is chosen, or was not free. *)
Record outcome (V : T -> Prop) : Prop := {
  outcome_run : exists R, run R /\ forall t, V t <-> In t R;
  outcome_finished : forall t, from V t -> V t \/ exists d v, V v /\ same d v t
}.

(** ** Certificates *)

Record choice_certificate (birth : T -> N) (V : T -> Prop) : Prop := {
  choice_closed : forall t, from V t -> V t \/ exists d v, V v /\ same d v t;
  choice_founded : founded_by derives birth V;
  choice_selected : forall d u t, V u -> V t -> same d u t -> u = t
}.

Section Certified.

Variables (birth : T -> N) (V : T -> Prop) (I : list T).
Hypothesis certificate : choice_certificate birth V.
Hypothesis V_listed : forall t, V t <-> In t I.
Hypothesis eq_dec : forall t u : T, {t = u} + {t <> u}.

(** A run may add the members of one birth in any order. *)
Lemma run_extended n R : run R -> (forall t, In t R <-> V t /\ (birth t < n)%N) -> forall L,
  (forall t, In t L -> V t /\ birth t = n) ->
  exists R', run R' /\ forall t, In t R' <-> In t R \/ In t L.
Proof.
  intros HR Hbefore. induction L as [|t L IH]; intros HL; [exists R; simpl; intuition|].
  destruct IH as (R' & HR' & Hin); [intros u Hu; apply HL; now right|].
  destruct (in_dec eq_dec t R') as [Ht|Ht].
  - exists R'. split; [exact HR'|]. intros u. rewrite Hin. simpl. split; [tauto|].
    intros [Hu|[<-|Hu]]; auto. now apply Hin.
  - exists (t :: R'). split; [|intros u; simpl; rewrite Hin; tauto].
    destruct (HL t (or_introl eq_refl)) as [HVt Hbirth]. apply choose; [exact HR' | | exact Ht |].
    + destruct (choice_founded _ _ certificate t HVt) as (B & HB & Hbody). exists B. split; [exact HB|].
      apply Forall_forall. intros b Hb. apply Hin. left. apply Hbefore. rewrite <- Hbirth. now apply Hbody.
    + intros d u Hu Hsame. assert (HVu : V u).
      { apply Hin in Hu as [Hu|Hu]; [now apply Hbefore in Hu | now apply HL; right]. }
      apply Ht. now rewrite <- (choice_selected _ _ certificate d u t HVu HVt Hsame).
Qed.

Lemma run_before n : exists R, run R /\ forall t, In t R <-> V t /\ (birth t < n)%N.
Proof.
  induction n as [|n (R & HR & Hin)] using N.peano_ind.
  - exists []. split; [constructor|]. intros t. split; [easy | lia].
  - destruct (run_extended n R HR Hin (filter (fun t => N.eqb (birth t) n) I)) as (R' & HR' & Hin').
    { intros t Ht. apply filter_In in Ht as [Ht Hn]. split; [now apply V_listed | now apply N.eqb_eq]. }
    exists R'. split; [exact HR'|]. intros t. rewrite Hin', Hin, filter_In, N.eqb_eq, <- V_listed.
    split; [intros [[? ?]|[? ?]]; split; auto; lia|].
    intros [Ht Hlt]. assert (Hcases : (birth t < n)%N \/ birth t = n) by lia. intuition.
Qed.

Lemma births_bounded (L : list T) : exists n, forall t, In t L -> (birth t < n)%N.
Proof.
  induction L as [|t L [n Hn]]; [now exists 0%N|].
  exists (N.max n (N.succ (birth t))). intros u [<-|Hu]; [lia|]. specialize (Hn u Hu). lia.
Qed.

Theorem choice_certified : outcome V.
Proof.
  split; [|apply (choice_closed _ _ certificate)].
  destruct (births_bounded I) as [n Hn]. destruct (run_before n) as (R & HR & Hin).
  exists R. split; [exact HR|]. intros t. rewrite Hin. split; [|tauto].
  intros Ht. split; [exact Ht | now apply Hn, V_listed].
Qed.

End Certified.

(** ** Each outcome has a certificate *)

Section Complete.

Hypothesis eq_dec : forall t u : T, {t = u} + {t <> u}.
Hypothesis same_sym : forall d t u, same d t u -> same d u t.

(** How many tuples a run has chosen before [t]. *)
Fixpoint place (R : list T) (t : T) : N :=
  match R with
  | [] => 0
  | u :: R => if eq_dec u t then N.of_nat (length R) else place R t
  end.

Lemma place_before R t : In t R -> (place R t < N.of_nat (length R))%N.
Proof.
  induction R as [|u R IH]; simpl; [easy|]. intros Ht.
  destruct (eq_dec u t) as [->|Hu]; [lia|]. destruct Ht as [->|Ht]; [easy|]. specialize (IH Ht). lia.
Qed.

Lemma run_founded R : run R -> founded_by derives (place R) (fun t => In t R).
Proof.
  induction 1 as [|R t HR IH (B & HB & Hbody) Ht Hfree]; intros u Hu; [easy|].
  rewrite Forall_forall in Hbody.
  assert (Hplace : forall b, In b R -> place (t :: R) b = place R b).
  { intros b Hb. simpl. destruct (eq_dec t b) as [<-|_]; [easy | reflexivity]. }
  destruct Hu as [<-|Hu].
  - exists B. split; [exact HB|]. intros b Hb. split; [right; auto|]. rewrite Hplace by auto.
    simpl. destruct (eq_dec t t) as [_|H]; [now apply place_before, Hbody | easy].
  - destruct (IH u Hu) as (C & HC & Hbefore). exists C. split; [exact HC|].
    intros b Hb. destruct (Hbefore b Hb) as [Hin Hlt]. split; [now right|]. now rewrite !Hplace.
Qed.

Lemma run_selected R : run R -> forall d u t, In u R -> In t R -> same d u t -> u = t.
Proof.
  induction 1 as [|R t HR IH _ _ Hfree]; intros d u v; [easy|].
  intros [<-|Hu] [<-|Hv] Hsame; [reflexivity | | | now apply (IH d)].
  - destruct (Hfree d v Hv). now apply same_sym.
  - now destruct (Hfree d u Hu).
Qed.

Theorem choice_complete V : outcome V -> exists birth, choice_certificate birth V.
Proof.
  intros [(R & HR & Hin) Hfinished]. exists (place R). split; [exact Hfinished | |].
  - intros t Ht. apply Hin in Ht. destruct (run_founded R HR t Ht) as (B & HB & Hbody).
    exists B. split; [exact HB|]. intros b Hb. rewrite Hin. now apply Hbody.
  - intros d u t Hu Ht. apply (run_selected R HR d); now apply Hin.
Qed.

End Complete.

(** ** Nothing can be added to a choice *)

Theorem choice_maximal birth birth' (V W : T -> Prop) :
  choice_certificate birth V ->
  (forall t, V t -> W t) -> founded_by derives birth' W -> (forall d u t, W u -> W t -> same d u t -> u = t) ->
  forall t, W t -> V t.
Proof.
  intros C HVW Hfounded Hone t. remember (birth' t) as n eqn:Hn. revert t Hn.
  induction n as [n IH] using (well_founded_induction N.lt_wf_0). intros t -> Ht.
  destruct (Hfounded t Ht) as (B & HB & Hbody).
  destruct (choice_closed _ _ C t) as [HV|(d & v & Hv & Hsame)]; [|exact HV|].
  - exists B. split; [exact HB|]. apply Forall_forall. intros b Hb. destruct (Hbody b Hb) as [HW Hlt].
    now apply (IH (birth' b)).
  - now rewrite <- (Hone d v t (HVW v Hv) Ht Hsame).
Qed.

End Choice.

Arguments outcome {T D}.
Arguments choice_certificate {T D}.

(** One node, and two facts that name a parent for it. *)
Example two_choices :
  let derives (B : list (N * N)) t := B = [] /\ (t = (1, 10) \/ t = (1, 20))%N in
  let same (_ : unit) (t u : N * N) := fst t = fst u in
  choice_certificate derives same (fun _ => 0%N) (fun t => t = (1, 10)%N)
  /\ choice_certificate derives same (fun _ => 0%N) (fun t => t = (1, 20)%N).
Proof.
  split; split.
  1, 4: intros t (B & (_ & [->| ->]) & _); auto; right; exists tt; eexists; split; reflexivity.
  1, 3: intros t ->; exists []; split; [auto | easy].
  1, 2: now intros d u t -> ->.
Qed.
