(** The engine of Regular Datalog is sound: Section 4 of "Certified Graph View Maintenance with Regular Datalog"
    (Bonifati, Dumbrava and Gallego Arias, 2018), whose Theorem 1 is [engine_sound].

    - [RegularPrograms.v]: programs, graphs with closures, models, strata (Section 2, Definitions 1 to 6, 12 and 13)
    - [RegularClauseMap.v]: the clause map as the normal form of rules (Sections 2.1 and 2.2)
    - [RegularEngine.v]: updates, matching, masks, operators, engine (Section 3, Definitions 7 to 11)
    - [RegularMatching.v]: what matching, masks and closures compute (Lemma A.8)
    - [RegularOperators.v]: modular satisfaction, and what the operators do (Lemmas A.3 to A.7)
    - this file: the engine, Theorem 1
    - [RegularViews.v]: repeated calls, least models
    - [RegularExamples.v]: examples of the paper, computed by the engine inside Coq

    Where the statement differs from that of the paper:

    - Equality is a literal, as in Figure 1; the paper's Coq code leaves it out.  It ranges over a list of all nodes.
    - [is_closure] is an equivalence.  The formula in Section 2.2 has one direction only, its text both.
    - Sets are lists, read up to membership, and substitutions are lists of bindings, so that the engine computes inside
      Coq; the paper has finite sets.  [engine_sound_finite] is the theorem for finite types.
    - Symbol sets have symbols without labels: a symbol and its closure are processed, and supported, together.
    - (H3), that D says something about processed symbols only, is not needed: whatever an update says about a symbol
      that is still to be done, the operators replace.  So the theorem is stronger than the paper's by one hypothesis.
    - The processed symbols are no argument of [maintain], which does not look at them.
    - The base of the masks is what an update keeps, [G \ D-].  Where nothing that a clause reads is deleted, which is
      the only case in which the paper's engine uses them, this is [G].

    Beyond the paper:

    - Deletions can be maintained incrementally ([deletions], which is a parameter of the engine; [false] is the paper's
      engine): the same masks, with the deletions as their update, find the heads that lose a derivation, and those
      without another one go.
    - [engine_exact]: the engine derives nothing else either.  In [RegularViews.v]: so it stays through repeated calls,
      what it maintains is the least model, and what maintenance and recomputation arrive at is the same, the equation
      of the paper's problem statement.
    - The closure algorithm, which the paper assumes to be right, is any that is; a naive one is there, and proved.
    - [masks_once] in [RegularMatching.v]: the diagonal factoring meets each derivation once. *)

#[local] Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.
From Tidelog Require Import RegularPrograms RegularEngine RegularMatching RegularOperators.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Soundness.

Variables V Sigma : eqType.
Variable nodes : seq V.
Hypothesis all_nodes : forall v, v \in nodes.
Variable closure : edges V -> edges V.
Hypothesis closure_spec : forall r, is_closure r (closure r).
Variable deletions : bool.

Notation graph := (graph V Sigma).
Notation program := (program V Sigma).
Notation update := (update V Sigma).
Notation step := (step nodes closure deletions).
Notation maintain := (maintain nodes closure deletions).
Notation step_agree := (step_agree nodes closure deletions).
Notation step_sound := (step_sound all_nodes).
Notation step_exact := (step_exact all_nodes closure deletions).
Notation compute_closures_spec := (compute_closures_spec closure_spec).
Implicit Types (G : graph) (D : update) (P : program) (s : Sigma) (e : V * V).
Implicit Types (S supp done todo : seq Sigma).

(** ** The engine: Section 4.2 *)

Lemma strata_step P s done todo : is_strata P done (s :: todo) ->
  [/\ s \notin done, {subset read_by (P s) <= done} & is_strata P (s :: done) todo].
Proof. by case/and3P=> s_new /allP reads strata. Qed.

(** What is done is not touched again. *)
Lemma maintain_agree P G supp D done todo :
  is_strata P done todo -> agree done (G :+: D) (G :+: maintain P G supp D todo).
Proof.
elim: todo D done => [|s todo IH] D done; first by move=> _ s lab _ e.
move=> /strata_step [s_new _ /IH later]; apply: agree_trans (step_agree P G supp D s_new) _.
by apply: agree_sub (later _) => r r_in; rewrite inE r_in orbT.
Qed.

Lemma maintain_sound P G supp D done todo : safe_program P -> models supp P G -> slice P done ->
  is_strata P done todo -> models done P (G :+: D) -> models (done ++ todo) P (G :+: maintain P G supp D todo).
Proof.
move=> safe_P [wf_supp sat_supp]; elim: todo D done => [|s todo IH] D done; first by rewrite cats0.
move=> sliced /strata_step [s_new reads strata] model.
have sliced' : slice P (s :: done).
  apply/allP=> r; rewrite inE => /orP [/eqP -> | r_in]; apply/allP => q.
    by move=> /reads q_in; rewrite /= inE q_in orbT.
  by move=> /(slice_reads sliced r_in) q_in; rewrite /= inE q_in orbT.
have [wf' sat'] := models_agree sliced (step_agree P G supp D s_new) model.
have model' : models (s :: done) P (G :+: step P G supp D s).
  split=> r; rewrite inE => /orP [/eqP -> | r_in]; [exact: compute_closures_spec | exact: wf' | | exact: sat'].
  by apply: step_sound reads _ => //; apply: sat_supp.
apply: models_sub (IH _ _ sliced' strata model') => r.
by rewrite !(mem_cat, inE) orbA [(r \in done) || _]orbC.
Qed.

(** Theorem 1: if (H1) the graph is a model of the program for the support, (H2) the processed symbols are a
    well-formed slice, (H4) they and those to be done are a stratification, and (H5) the updated graph is a model for
    the processed symbols, then the engine's output makes the graph a model of the program, for all symbols. *)
Theorem engine_sound P G supp D done todo S :
  safe_program P ->
  models supp P G ->
  slice P done ->
  stratification P done todo ->
  models done P (G :+: D) ->
  models S P (G :+: maintain P G supp D todo).
Proof.
move=> safe_P model_supp sliced [strata all_symbols] model_done.
apply: models_sub (maintain_sound safe_P model_supp sliced strata model_done) => s _.
exact: all_symbols.
Qed.

(** *** Nothing else *)

Lemma maintain_well_formed P G supp D done todo :
  is_strata P done todo -> well_formed todo (G :+: maintain P G supp D todo).
Proof.
elim: todo D done => [|s todo IH] D done //= strata r.
have [s_new _ strata'] := strata_step strata.
rewrite inE => /orP [/eqP -> | r_in]; last exact: IH strata' _ r_in.
have later := maintain_agree G supp (step P G supp D s) strata'.
have is_closed : is_closure ((G :+: step P G supp D s) s Single) ((G :+: step P G supp D s) s Plus).
  exact: compute_closures_spec.
by apply: closure_agree is_closed => e; rewrite later // inE eqxx.
Qed.

(** Beyond the paper: if the symbols of the support that are still to be done have exactly the edges that are derived
    for them, then all that were to be done have. *)
Theorem engine_exact P G supp D done todo :
  safe_program P ->
  exact [seq s <- supp | s \in todo] P G ->
  is_strata P done todo ->
  exact todo P (G :+: maintain P G supp D todo).
Proof.
move=> safe_P; elim: todo D done => [|s todo IH] D done //= was_exact strata r.
have [s_new reads strata'] := strata_step strata.
rewrite inE => /orP [/eqP -> | r_in] e; last first.
  apply: IH strata' _ r_in e => q; rewrite mem_filter => /andP [q_in q_supp].
  by apply: was_exact; rewrite mem_filter inE q_in orbT q_supp.
have later := maintain_agree G supp (step P G supp D s) strata'.
have reads' : {subset read_by (P s) <= s :: done} by move=> q /reads q_in; rewrite inE q_in orbT.
rewrite -later ?inE ?eqxx // -(derives_agree e later reads').
have exact_s : s \in supp -> forall e', e' \in G s Single <-> derives G (P s) e'.
  by move=> s_supp; apply: was_exact; rewrite mem_filter inE eqxx s_supp.
exact: (step_exact D (safe_P s) s_new reads exact_s e).
Qed.

End Soundness.

(** Theorem 1 as in the paper, over finite types of nodes and symbols, and with a closure algorithm that is there. *)
Corollary engine_sound_finite (V Sigma : finType) (P : program V Sigma) (G : graph V Sigma) (supp : seq Sigma)
    (D : update V Sigma) (done todo : seq Sigma) (deletions : bool) :
  safe_program P -> models supp P G -> slice P done -> stratification P done todo -> models done P (G :+: D) ->
  models (enum Sigma) P (G :+: maintain (enum V) (@naive_closure V) deletions P G supp D todo).
Proof. by apply: engine_sound; [apply: mem_enum | apply: naive_closure_spec]. Qed.

