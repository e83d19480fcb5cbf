(** The engine of Regular Datalog is sound: Section 4 of "Certified Graph View Maintenance with Regular Datalog"
    (Bonifati, Dumbrava and Gallego Arias, 2018), whose Theorem 1 is [engine_sound].

    - [RegularPrograms.v]: programs, graphs with closures, models, strata (Section 2, Definitions 1 to 6, 12 and 13)
    - [RegularEngine.v]: updates, matching, masks, operators, engine (Section 3, Definitions 7 to 11)
    - [RegularMatching.v]: what matching, masks and closures compute (Lemma A.8)
    - this file: the operators (Lemmas A.3 to A.7), Theorem 1, and what goes beyond it

    Where the statement differs from that of the paper:

    - Equality is a literal, as in Figure 1; the paper's Coq code leaves it out.  It ranges over a list of all nodes.
    - [is_closure] is an equivalence.  The formula in Section 2.2 has one direction only, its text both.
    - Sets are lists, read up to membership, and substitutions are lists of bindings, so that the engine computes, in
      Coq and extracted; the paper has finite sets.  [engine_sound_finite] is the theorem for finite types.
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
    - [engine_exact]: the engine derives nothing else either; [engine_incremental]: maintenance and recomputation have
      the same result, the equation in the paper's problem statement; [epochs_sound]: so it stays through repeated calls.
    - [masks_once] in [RegularMatching.v]: the diagonal factoring meets each derivation once. *)

From mathcomp Require Import all_ssreflect.
From Tidelog Require Import RegularPrograms RegularEngine RegularMatching.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Modular satisfaction: Section A.1 *)

Section Modularity.

Variables V Sigma : eqType.
Notation graph := (graph V Sigma).
Notation clause := (clause V Sigma).
Notation program := (program V Sigma).
Implicit Types (G : graph) (D : update V Sigma) (c : clause) (P : program) (S : seq Sigma) (s : Sigma) (e : V * V).

(** Two graphs have the same edges and closures for the symbols of a set. *)
Definition agree S G1 G2 : Prop := forall s lab, s \in S -> G1 s lab =i G2 s lab.

Lemma agree_sym S G1 G2 : agree S G1 G2 -> agree S G2 G1.
Proof. by move=> same s lab s_in e; rewrite same. Qed.

Lemma agree_trans S G1 G2 G3 : agree S G1 G2 -> agree S G2 G3 -> agree S G1 G3.
Proof. by move=> same12 same23 s lab s_in e; rewrite same12 ?same23. Qed.

Lemma agree_sub S T G1 G2 : {subset S <= T} -> agree T G1 G2 -> agree S G1 G2.
Proof. by move=> sub same s lab /sub; apply: same. Qed.

Lemma body_holds_agree S G1 G2 eta (b : body V Sigma) :
  agree S G1 G2 -> {subset read_by_body b <= S} -> body_holds G1 eta b = body_holds G2 eta b.
Proof.
move=> same; elim: b => [|l b IH] //= reads.
rewrite IH; last by move=> s s_in; apply: reads; rewrite mem_cat s_in orbT.
by case: l reads => [s lab p | p] //= reads; rewrite same // reads // inE eqxx.
Qed.

Lemma clause_agree S G1 G2 eta c : agree S G1 G2 -> {subset read_by c <= S} ->
  has (body_holds G1 eta) (bodies c) = has (body_holds G2 eta) (bodies c).
Proof.
rewrite /read_by => same; elim: (bodies c) => [|b bs IH] //= reads.
rewrite IH; last by move=> s s_in; apply: reads; rewrite mem_cat s_in orbT.
by rewrite (body_holds_agree _ same) // => s s_in; apply: reads; rewrite mem_cat s_in.
Qed.

Lemma derives_agree S G1 G2 c e : agree S G1 G2 -> {subset read_by c <= S} -> derives G1 c e <-> derives G2 c e.
Proof. by move=> same reads; split=> -[eta found]; exists eta; move: found; rewrite (clause_agree _ same). Qed.

Lemma closure_agree (r1 r2 t1 t2 : edges V) : r1 =i r2 -> t1 =i t2 -> is_closure r1 t1 -> is_closure r2 t2.
Proof.
move=> same_r same_t is_closed x y; rewrite -same_t is_closed.
have walks : path (edge_in r1) =2 path (edge_in r2) by apply: eq_path => u v; apply: same_r.
by split=> -[p [nonempty walk ends]]; exists p; split; rewrite // ?walks // -walks.
Qed.

(** (sTc_mod) Lemma A.3: a clause is satisfied or not whatever happens to other symbols. *)
Lemma satisfies_agree S G1 G2 s c :
  agree S G1 G2 -> s \in S -> {subset read_by c <= S} -> satisfies G1 s c -> satisfies G2 s c.
Proof. by move=> same s_in reads sat eta; rewrite -(clause_agree _ same) // -same //; apply: sat. Qed.

Lemma slice_reads P S s : slice P S -> s \in S -> {subset read_by (P s) <= S}.
Proof. by move=> /allP sliced /sliced /allP. Qed.

(** (ssTp_mod) Lemma A.4, for programs. *)
Lemma models_agree P S G1 G2 : slice P S -> agree S G1 G2 -> models S P G1 -> models S P G2.
Proof.
move=> sliced same [wf sat]; split=> s s_in.
  by apply: closure_agree (wf s s_in) => e; rewrite same.
exact: satisfies_agree same s_in (slice_reads sliced s_in) (sat s s_in).
Qed.

Lemma models_sub P S T G : {subset S <= T} -> models T P G -> models S P G.
Proof. by move=> sub [wf sat]; split=> s /sub; [apply: wf | apply: sat]. Qed.

(** *** What updates do to a graph *)

Lemma applied_spec G D s lab e :
  (e \in (G :+: D) s lab) = (e \notin deleted D s lab) && (e \in G s lab) || (e \in inserted D s lab).
Proof. by rewrite mem_cat mem_filter. Qed.

Lemma modified_spec G D s lab plus minus e :
  (e \in (G :+: modified D s lab plus minus) s lab) =
  (e \in plus) || (e \in G s lab) && (e \notin minus).
Proof.
rewrite applied_spec /= /replaced !eqxx /= mem_filter.
by case: (e \in plus); case: (e \in minus); case: (e \in G s lab).
Qed.

Lemma modified_other G D s lab plus minus s' lab' : (s' != s) || (lab' != lab) ->
  (G :+: modified D s lab plus minus) s' lab' = (G :+: D) s' lab'.
Proof. by rewrite -negb_and /applied /kept /= /replaced => /negbTE ->. Qed.

Lemma modified_agree S G D s lab plus minus : s \notin S -> agree S (G :+: D) (G :+: modified D s lab plus minus).
Proof.
move=> s_new s' lab' s'_in e; rewrite modified_other //.
by apply/orP; left; apply: contraNneq s_new => <-.
Qed.

Lemma towards_spec G D s lab wanted : (G :+: towards G D s lab wanted) s lab =i wanted.
Proof.
move=> e; rewrite modified_spec !mem_filter.
by case: (e \in wanted); case: (e \in G s lab).
Qed.

Lemma no_change_agree S G : agree S (G :+: no_change) G.
Proof. by move=> s lab _ e; rewrite applied_spec orbF. Qed.

End Modularity.

(** ** The operators: Section A.2 *)

Section Soundness.

Variables V Sigma : eqType.
Variable nodes : seq V.
Hypothesis all_nodes : forall v, v \in nodes.
Variable closure : edges V -> edges V.
Hypothesis closure_spec : forall r, is_closure r (closure r).
Variable deletions : bool.

Notation graph := (graph V Sigma).
Notation clause := (clause V Sigma).
Notation program := (program V Sigma).
Notation update := (update V Sigma).
Notation identity := (identity nodes).
Notation base := (base nodes).
Notation delta := (delta nodes).
Notation gained := (gained nodes).
Notation lost := (lost nodes).
Notation clause_update := (clause_update nodes deletions).
Notation compute_closures := (compute_closures closure).
Notation maintain := (maintain nodes closure deletions).
Implicit Types (G : graph) (D : update) (c : clause) (P : program) (s : Sigma) (e : V * V).
Implicit Types (S supp done todo given derived : seq Sigma).

(** Definition 9: the consequences of a clause. *)
Lemma consequences_spec G c e : safe c -> e \in heads (head c) (plain_bodies identity G c) <-> derives G c e.
Proof.
move=> safe_c; rewrite heads_spec ?plain_bound //.
by split=> -[eta]; rewrite ?plain_bodies_fit // => found; exists eta; rewrite ?plain_bodies_fit.
Qed.

Lemma derivable_spec G c e : has_head (head c) (plain_bodies identity G c) e <-> derives G c e.
Proof.
rewrite has_head_spec.
by split=> -[eta]; rewrite ?plain_bodies_fit // => found; exists eta; rewrite ?plain_bodies_fit.
Qed.

(** *** The base operator *)

(** (fwd_or_clause_baseP) Lemma A.5, and its converse: afterwards a symbol has the edges that its clause derives. *)
Lemma base_spec G D s c e : safe c -> e \in (G :+: base G D s c) s Single <-> derives (G :+: D) c e.
Proof. by move=> safe_c; rewrite towards_spec consequences_spec. Qed.

(** *** The delta operator *)

(** The heads that are found through masks, of a base and an update. *)
Lemma masked_heads_spec (stays change : graph) c e : safe c ->
  e \in heads (head c) (masked_bodies identity stays change c) <->
  exists eta, has (fun b => has (row_fits stays change eta) (body_masks b)) (bodies c) && (ground eta (head c) == e).
Proof.
move=> safe_c; rewrite heads_spec ?masked_bound //.
by split=> -[eta]; rewrite ?masked_bodies_fit // => found; exists eta; rewrite ?masked_bodies_fit.
Qed.

(** (fwd_delta_body_sound) Lemma A.8: all that is gained is derived. *)
Lemma gained_derives G D c e : safe c -> e \in gained G D c -> derives (G :+: D) c e.
Proof.
move=> safe_c /(masked_heads_spec _ _ _ safe_c) [eta /andP [fit is_e]]; exists eta; rewrite is_e andbT.
apply: sub_has fit => b; apply: masks_sound => s lab e' e'_in; first by rewrite mem_cat e'_in.
by rewrite applied_spec e'_in orbT.
Qed.

(** What an update derives holds in what it keeps, or is gained. *)
Lemma derives_kept_or_gained G D c eta : safe c -> has (body_holds (G :+: D) eta) (bodies c) ->
  has (body_holds (kept G D) eta) (bodies c) \/ ground eta (head c) \in gained G D c.
Proof.
move=> safe_c /hasP [b b_in b_holds].
have /orP [old | new] : body_holds (kept G D) eta b || has (row_fits (kept G D) (inserted D) eta) (body_masks b).
- by apply: masks_complete b_holds => s lab e; rewrite mem_cat.
- by left; apply/hasP; exists b.
by right; apply/masked_heads_spec => //; exists eta; rewrite eqxx andbT; apply/hasP; exists b.
Qed.

(** What a graph derives holds in what an update keeps, or is a candidate to be lost. *)
Lemma derives_kept_or_candidate G D c eta : safe c -> has (body_holds G eta) (bodies c) ->
  has (body_holds (kept G D) eta) (bodies c) \/
  ground eta (head c) \in heads (head c) (masked_bodies identity (kept G D) (deleted D) c).
Proof.
move=> safe_c /hasP [b b_in b_holds].
have /orP [old | new] : body_holds (kept G D) eta b || has (row_fits (kept G D) (deleted D) eta) (body_masks b).
- by apply: masks_complete b_holds => s lab e; rewrite mem_filter => ->; rewrite andbT orbC orbN.
- by left; apply/hasP; exists b.
by right; apply/masked_heads_spec => //; exists eta; rewrite eqxx andbT; apply/hasP; exists b.
Qed.

Lemma body_holds_sub G1 G2 eta (b : body V Sigma) :
  (forall s lab, {subset G1 s lab <= G2 s lab}) -> body_holds G1 eta b -> body_holds G2 eta b.
Proof. by move=> sub; apply: sub_all => -[s lab p | p] //=; apply: sub. Qed.

Lemma kept_before G D eta c : has (body_holds (kept G D) eta) (bodies c) -> has (body_holds G eta) (bodies c).
Proof. by apply: sub_has => b; apply: body_holds_sub => s lab e; rewrite mem_filter => /andP []. Qed.

Lemma kept_after G D eta c : has (body_holds (kept G D) eta) (bodies c) -> has (body_holds (G :+: D) eta) (bodies c).
Proof. by apply: sub_has => b; apply: body_holds_sub => s lab e; rewrite mem_cat => ->. Qed.

Lemma lost_spec G D c e : (e \in lost G D c) =
  (e \in heads (head c) (masked_bodies identity (kept G D) (deleted D) c)) &&
  ~~ has_head (head c) (plain_bodies identity (G :+: D) c) e.
Proof. by rewrite mem_filter andbC. Qed.

Lemma delta_edges G D s c e : (e \in (G :+: delta G D s c) s Single) =
  (e \in gained G D c) && (e \notin G s Single) || (e \in G s Single) && (e \notin lost G D c).
Proof. by rewrite modified_spec mem_filter andbC. Qed.

(** (fwd_or_clause_deltaP) Lemma A.6: if all consequences were there, all are there. *)
Lemma delta_sound G D s c e :
  safe c -> satisfies G s c -> derives (G :+: D) c e -> e \in (G :+: delta G D s c) s Single.
Proof.
move=> safe_c sat derived; rewrite delta_edges.
have stays : e \notin lost G D c by rewrite lost_spec negb_and negbK (introT idP (proj2 (derivable_spec _ _ _) derived)) orbT.
case there: (e \in G s Single); first by rewrite stays orbT.
rewrite andbT orbF.
case: derived => eta /andP [/(derives_kept_or_gained safe_c) [/kept_before /sat old | new] /eqP is_e].
  by rewrite is_e there in old.
by rewrite -is_e.
Qed.

(** Beyond the paper: if nothing else was there, nothing else is there. *)
Lemma delta_exact G D s c e : safe c -> (forall e', e' \in G s Single <-> derives G c e') ->
  e \in (G :+: delta G D s c) s Single -> derives (G :+: D) c e.
Proof.
move=> safe_c was_exact; rewrite delta_edges => /orP [/andP [new _] | /andP [old]].
  exact: gained_derives new.
rewrite lost_spec negb_and negbK => not_lost.
have [eta /andP [held /eqP is_e]] := proj1 (was_exact e) old.
case: (derives_kept_or_candidate D safe_c held) => [stays | candidate].
  by exists eta; rewrite kept_after //= is_e eqxx.
by apply/derivable_spec; move: not_lost; rewrite -is_e candidate.
Qed.

(** *** A clause and the closure of its symbol *)

(** (suppΔ_fwd_or_clause) An update of a clause changes its symbol only. *)
Lemma clause_update_agree S G supp D s c : s \notin S -> agree S (G :+: D) (G :+: clause_update G supp D s c).
Proof. by move=> s_new; rewrite /clause_update; case: ifP => _; apply: modified_agree. Qed.

(** (fwd_or_clauseP) Lemma A.7: by either operator, all consequences are there. *)
Lemma clause_update_sound G supp D s c e : safe c -> (s \in supp -> satisfies G s c) ->
  derives (G :+: D) c e -> e \in (G :+: clause_update G supp D s c) s Single.
Proof.
move=> safe_c sat derived; rewrite /clause_update; case: ifP => [/andP [/sat sat_s _] | _].
  exact: delta_sound.
exact/base_spec.
Qed.

(** By either operator, nothing else is. *)
Lemma clause_update_exact G supp D s c e :
  safe c -> (s \in supp -> forall e', e' \in G s Single <-> derives G c e') ->
  e \in (G :+: clause_update G supp D s c) s Single -> derives (G :+: D) c e.
Proof.
move=> safe_c was_exact; rewrite /clause_update; case: ifP => [/andP [/was_exact exact_s _] | _].
  exact: delta_exact.
by move/base_spec; apply.
Qed.

(** After its closure has been computed, a symbol is well-formed, with the edges that it had. *)
Lemma compute_closures_edges G D s : (G :+: compute_closures G D s) s Single = (G :+: D) s Single.
Proof. by rewrite modified_other // orbT. Qed.

Lemma compute_closures_spec G D s :
  is_closure ((G :+: compute_closures G D s) s Single) ((G :+: compute_closures G D s) s Plus).
Proof.
rewrite compute_closures_edges; apply: closure_agree (closure_spec _) => // e.
by rewrite towards_spec.
Qed.

(** One symbol, as [maintain] does it. *)
Definition step P G supp D s : update := compute_closures G (clause_update G supp D s (P s)) s.

Lemma step_agree S P G supp D s : s \notin S -> agree S (G :+: D) (G :+: step P G supp D s).
Proof.
move=> s_new; apply: agree_trans (clause_update_agree G supp D (P s) s_new) _.
exact: modified_agree.
Qed.

Lemma step_edges P G supp D s :
  (G :+: step P G supp D s) s Single = (G :+: clause_update G supp D s (P s)) s Single.
Proof. exact: compute_closures_edges. Qed.

Lemma step_sound P G supp D s done : safe (P s) -> s \notin done -> {subset read_by (P s) <= done} ->
  (s \in supp -> satisfies G s (P s)) -> satisfies (G :+: step P G supp D s) s (P s).
Proof.
move=> safe_s s_new reads sat eta held; rewrite step_edges.
apply: clause_update_sound => //; exists eta; rewrite eqxx andbT.
by rewrite (clause_agree eta (step_agree P G supp D s_new) reads).
Qed.

Lemma step_exact P G supp D s done : safe (P s) -> s \notin done -> {subset read_by (P s) <= done} ->
  (s \in supp -> forall e, e \in G s Single <-> derives G (P s) e) ->
  forall e, e \in (G :+: step P G supp D s) s Single <-> derives (G :+: step P G supp D s) (P s) e.
Proof.
move=> safe_s s_new reads was_exact e.
rewrite -(derives_agree e (step_agree P G supp D s_new) reads) step_edges; split.
  exact: clause_update_exact.
apply: clause_update_sound => // /was_exact exact_s eta held.
by apply/exact_s; exists eta; rewrite held eqxx.
Qed.

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
by apply: closure_agree (compute_closures_spec G (clause_update G supp D s (P s)) s) => e; rewrite -later // inE eqxx.
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

(** What is derived is determined by what is done. *)
Lemma exact_unique P G1 G2 done todo : is_strata P done todo -> agree done G1 G2 ->
  exact todo P G1 -> well_formed todo G1 -> exact todo P G2 -> well_formed todo G2 -> agree (done ++ todo) G1 G2.
Proof.
elim: todo done => [|s todo IH] done; first by rewrite cats0.
move=> /strata_step [s_new reads strata] same exact1 wf1 exact2 wf2.
have same_s : G1 s Single =i G2 s Single.
  move=> e; apply/idP/idP => there.
    by apply/exact2; rewrite ?inE ?eqxx //; apply/(derives_agree e same reads)/exact1; rewrite ?inE ?eqxx.
  by apply/exact1; rewrite ?inE ?eqxx //; apply/(derives_agree e same reads)/exact2; rewrite ?inE ?eqxx.
have same' : agree (s :: done) G1 G2.
  move=> r lab; rewrite inE => /orP [/eqP -> | ]; last exact: same.
  case: lab => // -[x y]; have s_in : s \in s :: todo by rewrite inE eqxx.
  have := closure_agree same_s (fun _ => erefl) (wf1 s s_in); move: (wf2 s s_in) => closed2 closed1.
  by apply/idP/idP => [/closed1 /closed2 | /closed2 /closed1].
have later : agree ((s :: done) ++ todo) G1 G2.
  have sub r : r \in todo -> r \in s :: todo by rewrite inE orbC => ->.
  by apply: IH => // r /sub; [apply: exact1 | apply: wf1 | apply: exact2 | apply: wf2].
by apply: agree_sub later => r; rewrite !(mem_cat, inE) orbA [(r \in done) || _]orbC.
Qed.

(** Maintenance and recomputation have the same result: V[G] U dV[G; D] = V[G :+: D], the equation of the paper's
    problem statement. *)
Theorem engine_incremental P G supp D done todo :
  safe_program P ->
  exact [seq s <- supp | s \in todo] P G ->
  is_strata P done todo ->
  agree (done ++ todo) (G :+: maintain P G supp D todo) (G :+: maintain P G [::] D todo).
Proof.
move=> safe_P was_exact strata.
have same := agree_trans (agree_sym (maintain_agree G supp D strata)) (maintain_agree G [::] D strata).
apply: (exact_unique strata same).
- exact: engine_exact strata.
- exact: maintain_well_formed strata.
- exact: engine_exact strata.
exact: maintain_well_formed strata.
Qed.

(** ** Repeated calls: Section 3.1 *)

Notation changes := (seq (Sigma * (edges V * edges V))).
Notation edge_update := (edge_update closure).
Notation epoch := (epoch nodes closure deletions).

(** Views over given symbols: these have no clauses, all others have exactly what is derived. *)
Definition maintained P given derived G : Prop := well_formed (given ++ derived) G /\ exact derived P G.

Lemma edge_update_well_formed S G (cs : changes) : well_formed S G -> well_formed S (G :+: edge_update G cs).
Proof.
move=> wf; rewrite /edge_update.
have : well_formed S (G :+: no_change).
  by move=> s s_in; apply: closure_agree (wf s s_in) => e; rewrite applied_spec orbF.
elim: cs no_change => [|c cs IH] D wf_D //=; apply: IH => s s_in.
have [->|other] := eqVneq s c.1.
  exact: compute_closures_spec.
by apply: closure_agree (wf_D s s_in) => e; rewrite !modified_other ?other.
Qed.

(** Each epoch leaves maintained views, and a model, if all symbols are given or derived, the given ones have no
    clauses, and these alone are what the epochs' updates are about. *)
Theorem epochs_sound P given derived G (history : seq changes) :
  safe_program P -> is_strata P given derived -> 
  maintained P given derived G -> maintained P given derived (foldl (epoch P given derived) G history).
Proof.
move=> safe_P strata; elim: history G => [|cs history IH] G //= [wf was_exact]; apply: IH.
set D := edge_update G cs; rewrite /epoch -/D.
have kept_given := maintain_agree G (given ++ derived) D strata.
split=> s.
  rewrite mem_cat => /orP [s_in | s_in]; last exact: maintain_well_formed strata _ s_in.
  have wf_D : is_closure ((G :+: D) s Single) ((G :+: D) s Plus).
    by apply: (edge_update_well_formed cs wf); rewrite mem_cat s_in.
  by apply: closure_agree wf_D => e; rewrite kept_given.
apply: engine_exact strata _ => // r; rewrite mem_filter => /andP [r_in _].
exact: was_exact.
Qed.

Theorem maintained_models P given derived G : (forall s, s \in given -> bodies (P s) = [::]) ->
  maintained P given derived G -> models (given ++ derived) P G.
Proof.
move=> no_bodies [wf was_exact]; split=> // s; rewrite mem_cat => /orP [/no_bodies none eta | s_in eta held].
  by rewrite none.
by apply/was_exact => //; exists eta; rewrite held eqxx.
Qed.

End Soundness.

(** Theorem 1 as in the paper, over finite types of nodes and symbols, and with a closure algorithm that is there. *)
Corollary engine_sound_finite (V Sigma : finType) (P : program V Sigma) (G : graph V Sigma) (supp : seq Sigma)
    (D : update V Sigma) (done todo : seq Sigma) (deletions : bool) :
  safe_program P -> models supp P G -> slice P done -> stratification P done todo -> models done P (G :+: D) ->
  models (enum Sigma) P (G :+: maintain (enum V) (@naive_closure V) deletions P G supp D todo).
Proof. by apply: engine_sound; [apply: mem_enum | apply: naive_closure_spec]. Qed.

Print Assumptions engine_sound.
Print Assumptions engine_exact.
Print Assumptions engine_incremental.
Print Assumptions epochs_sound.
