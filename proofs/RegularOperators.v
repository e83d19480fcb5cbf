(** The operators of [RegularEngine.v] do what they should: Sections A.1 and A.2 of "Certified Graph View Maintenance
    with Regular Datalog".

    Modularity says that symbols which an update leaves alone stay satisfied, closed and exact; [base_spec],
    [delta_sound] and [delta_exact] that the two operators leave a symbol with the edges that its clause derives;
    [step_sound] and [step_exact] that so does one step of the engine, with the closure of the symbol. *)

#[local] Set Warnings "-notation-overridden".
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

Lemma no_change_spec G s lab : (G :+: no_change) s lab =i G s lab.
Proof. by move=> e; rewrite applied_spec orbF. Qed.

End Modularity.

(** ** The operators: Section A.2 *)

Section Operators.

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
Implicit Types (G : graph) (D : update) (c : clause) (P : program) (s : Sigma) (e : V * V).
Implicit Types (S supp done : seq Sigma).

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
have stays : e \notin lost G D c.
  by have /derivable_spec := derived; rewrite lost_spec negb_and negbK orbC => ->.
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
End Operators.
