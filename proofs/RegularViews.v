(** Views of a graph that changes, through repeated calls of the engine; beyond Theorem 1 of "Certified Graph View
    Maintenance with Regular Datalog".

    Symbols are given or derived.  A graph is [maintained] if its closures are closures, and each derived symbol has
    exactly the edges that its clause derives.

    - [maintained_models], [maintained_least]: such a graph is the least model over the edges of its given symbols, and
      [maintained_unique] the only such graph over them;
    - [call_maintains], [epochs_maintain]: a call of the engine makes a graph maintained, from a support that holds only
      given symbols, or whose derived ones are maintained already, and so do all calls after it;
    - [edge_update_edges]: the given symbols have then lost and won what was asked for;
    - [engine_incremental]: maintenance and recomputation have the same result. *)

#[local] Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.
From Tidelog Require Import RegularPrograms RegularEngine RegularOperators Regular.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Least models *)

Section Least.

Variables V Sigma : eqType.
Notation graph := (graph V Sigma).
Notation program := (program V Sigma).
Implicit Types (G M : graph) (P : program) (S done todo given derived : seq Sigma).

(** One graph has no more than another for the symbols of a set. *)
Definition below S G M : Prop := forall s lab, s \in S -> {subset G s lab <= M s lab}.

Lemma below_sub S T G M : {subset S <= T} -> below T G M -> below S G M.
Proof. by move=> sub le s lab /sub; apply: le. Qed.

Lemma body_holds_below S G M eta (b : body V Sigma) :
  below S G M -> {subset read_by_body b <= S} -> body_holds G eta b -> body_holds M eta b.
Proof.
move=> le; elim: b => [|l b IH] //= reads /andP [hl hb].
rewrite IH //; last by move=> s s_in; apply: reads; rewrite mem_cat s_in orbT.
case: l hl reads => [s lab p | p] /= hl reads; last by rewrite hl.
by rewrite (le s lab) // reads // inE eqxx.
Qed.

(** Programs are monotone. *)
Lemma derives_below S G M (c : clause V Sigma) e :
  below S G M -> {subset read_by c <= S} -> derives G c e -> derives M c e.
Proof.
move=> le reads [eta /andP [/hasP [b b_in held] is_e]]; exists eta; rewrite is_e andbT; apply/hasP; exists b => //.
apply: body_holds_below le _ held => s s_in; apply: reads.
by apply/flattenP; exists (read_by_body b); rewrite ?map_f.
Qed.

Lemma closure_below (r1 r2 t1 t2 : edges V) :
  is_closure r1 t1 -> is_closure r2 t2 -> {subset r1 <= r2} -> {subset t1 <= t2}.
Proof.
move=> closed1 closed2 le [x y] /closed1 [p [nonempty walk ends]]; apply/closed2; exists p; split=> //.
by apply: sub_path walk => u v; apply: le.
Qed.

(** What is derived from less is less than any model. *)
Lemma exact_below P G M done todo : is_strata P done todo -> below done G M ->
  exact todo P G -> well_formed todo G -> models todo P M -> below (done ++ todo) G M.
Proof.
elim: todo done => [|s todo IH] done; first by rewrite cats0.
move=> /strata_step [_ reads strata] le exact_G wf_G [wf_M sat_M].
have s_in : s \in s :: todo by rewrite inE eqxx.
have le_s : {subset G s Single <= M s Single}.
  move=> e /(exact_G s s_in) /(derives_below le reads) [eta /andP [held /eqP <-]].
  exact: sat_M held.
have le' : below (s :: done) G M.
  move=> r lab; rewrite inE => /orP [/eqP -> | ]; last exact: le.
  by case: lab => //; apply: closure_below le_s; [apply: wf_G | apply: wf_M].
have later : below ((s :: done) ++ todo) G M.
  have sub r : r \in todo -> r \in s :: todo by rewrite inE orbC => ->.
  by apply: IH => //; [move=> r /sub /exact_G | move=> r /sub /wf_G | split=> r /sub; [apply: wf_M | apply: sat_M]].
by apply: below_sub later => r; rewrite !(mem_cat, inE) orbA [(r \in done) || _]orbC.
Qed.

Lemma exact_models P S G : exact S P G -> well_formed S G -> models S P G.
Proof. by move=> exact_G wf_G; split=> // s s_in eta held; apply/exact_G => //; exists eta; rewrite held eqxx. Qed.

(** What is derived is determined by what is done. *)
Lemma exact_unique P G1 G2 done todo : is_strata P done todo -> agree done G1 G2 ->
  exact todo P G1 -> well_formed todo G1 -> exact todo P G2 -> well_formed todo G2 -> agree (done ++ todo) G1 G2.
Proof.
move=> strata same exact1 wf1 exact2 wf2 s lab s_in e; apply/idP/idP.
  by apply: (exact_below strata) s_in e => // [r lab' r_in e|]; [rewrite same | apply: exact_models].
by apply: (exact_below strata) s_in e => // [r lab' r_in e|]; [rewrite same | apply: exact_models].
Qed.

(** Views over given symbols. *)
Definition maintained P given derived G : Prop := well_formed (given ++ derived) G /\ exact derived P G.

Lemma well_formed_cat S T G : well_formed (S ++ T) G <-> well_formed S G /\ well_formed T G.
Proof.
split=> [wf | [wf_S wf_T] s]; last by rewrite mem_cat => /orP [/wf_S | /wf_T].
by split=> s s_in; apply: wf; rewrite mem_cat s_in ?orbT.
Qed.

Theorem maintained_models P given derived G : (forall s, s \in given -> bodies (P s) = [::]) ->
  maintained P given derived G -> models (given ++ derived) P G.
Proof.
move=> no_bodies [wf exact_G]; split=> // s; rewrite mem_cat => /orP [/no_bodies none eta | s_in].
  by rewrite none.
by apply: (proj2 (exact_models exact_G _)) => //; have [] := proj1 (well_formed_cat _ _ _) wf.
Qed.

Theorem maintained_least P given derived G M : is_strata P given derived -> maintained P given derived G ->
  models (given ++ derived) P M -> (forall s, s \in given -> {subset G s Single <= M s Single}) ->
  below (given ++ derived) G M.
Proof.
move=> strata [/well_formed_cat [wf_given wf_derived] exact_G] model le.
have [/well_formed_cat [wf_M _] _] := model.
apply: exact_below strata _ exact_G wf_derived _.
  by move=> s [] s_in; [apply: le | apply: closure_below (le s s_in); [apply: wf_given | apply: wf_M]].
by apply: models_sub model => s s_in; rewrite mem_cat s_in orbT.
Qed.

Theorem maintained_unique P given derived G1 G2 : is_strata P given derived ->
  maintained P given derived G1 -> maintained P given derived G2 ->
  (forall s, s \in given -> G1 s Single =i G2 s Single) -> agree (given ++ derived) G1 G2.
Proof.
move=> strata [/well_formed_cat [wf1 wf1'] exact1] [/well_formed_cat [wf2 wf2'] exact2] same.
apply: exact_unique strata _ exact1 wf1' exact2 wf2' => s [] s_in; first exact: same.
have closed1 := closure_agree (same s s_in) (fun _ => erefl) (wf1 s s_in).
by move=> [x y]; apply/idP/idP => [/closed1 /(wf2 s s_in) | /(wf2 s s_in) /closed1].
Qed.

End Least.

(** ** Calls of the engine *)

Section Views.

Variables V Sigma : eqType.
Variable nodes : seq V.
Hypothesis all_nodes : forall v, v \in nodes.
Variable closure : edges V -> edges V.
Hypothesis closure_spec : forall r, is_closure r (closure r).
Variable deletions : bool.

Notation graph := (graph V Sigma).
Notation program := (program V Sigma).
Notation update := (update V Sigma).
Notation changes := (seq (Sigma * (edges V * edges V))).
Notation maintain := (maintain nodes closure deletions).
Notation edge_update := (edge_update closure).
Notation epoch := (epoch nodes closure deletions).
Notation maintain_agree := (maintain_agree nodes closure deletions).
Implicit Types (G : graph) (D : update) (P : program) (s : Sigma) (cs : changes).
Implicit Types (S supp done todo given derived : seq Sigma).

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

Theorem call_maintains P G supp D given derived : safe_program P -> is_strata P given derived ->
  exact [seq s <- supp | s \in derived] P G -> well_formed given (G :+: D) ->
  maintained P given derived (G :+: maintain P G supp D derived).
Proof.
move=> safe_P strata was_exact wf; split; last exact: engine_exact strata.
apply/well_formed_cat; split; last exact: maintain_well_formed strata.
by move=> s s_in; apply: closure_agree (wf s s_in) => e; rewrite (maintain_agree G supp D strata).
Qed.

Lemma edge_update_well_formed S G cs : well_formed S G -> well_formed S (G :+: edge_update G cs).
Proof.
move=> wf; rewrite /edge_update.
have : well_formed S (G :+: no_change).
  by move=> s s_in; apply: closure_agree (wf s s_in) => e; rewrite no_change_spec.
elim: cs no_change => [|[r [plus minus]] cs IH] D wf_D //=; apply: IH => s s_in.
have [->|other] := eqVneq s r; first exact: compute_closures_spec.
by apply: closure_agree (wf_D s s_in) => e; rewrite !modified_other ?other.
Qed.

Lemma edge_changes_other G cs D s : s \notin map fst cs ->
  (G :+: foldl (edge_change closure G) D cs) s Single = (G :+: D) s Single.
Proof.
elim: cs D => [|[r [plus minus]] cs IH] D //=; rewrite inE negb_or => /andP [other s_new].
by rewrite IH // !modified_other ?other.
Qed.

(** The edges after an update that has one change for a symbol, ... *)
Lemma edge_update_edges G cs s plus minus e : uniq (map fst cs) -> (s, (plus, minus)) \in cs ->
  (e \in (G :+: edge_update G cs) s Single) = (e \in plus) || (e \in G s Single) && (e \notin minus).
Proof.
rewrite /edge_update; elim: cs no_change => [|c cs IH] D //= /andP [c_new distinct].
rewrite inE => /orP [/eqP is_c | in_cs]; last exact: IH.
rewrite -is_c /= in c_new *.
by rewrite edge_changes_other // compute_closures_edges modified_spec.
Qed.

(** ... or none. *)
Lemma edge_update_other G cs s : s \notin map fst cs -> (G :+: edge_update G cs) s Single =i G s Single.
Proof. by move=> s_new e; rewrite edge_changes_other // no_change_spec. Qed.

(** The first call: no derived symbol is in the support. *)
Theorem first_call_maintains P given derived G cs : safe_program P -> is_strata P given derived ->
  well_formed given G ->
  maintained P given derived (G :+: maintain P G given (edge_update G cs) derived).
Proof.
move=> safe_P strata wf; apply: call_maintains => //; last exact: edge_update_well_formed.
move=> s; rewrite mem_filter => /andP [s_derived s_given].
suff apart done todo : is_strata P done todo -> s \in todo -> s \notin done.
  by have := apart _ _ strata s_derived; rewrite s_given.
elim: todo done {strata s_derived s_given} => [|r todo IH] done // /strata_step [r_new _ strata].
rewrite inE => /orP [/eqP -> // | /(IH _ strata)]; rewrite inE negb_or => /andP [] //.
Qed.

(** Every later call, and any number of them, with all symbols in the support. *)
Theorem epochs_maintain P given derived G (history : seq changes) :
  safe_program P -> is_strata P given derived ->
  maintained P given derived G -> maintained P given derived (foldl (epoch P given derived) G history).
Proof.
move=> safe_P strata; elim: history G => [|cs history IH] G //= [wf exact_G]; apply: IH.
apply: call_maintains => //; last first.
  by have [wf_given _] := proj1 (well_formed_cat _ _ _) wf; apply: edge_update_well_formed.
by move=> s; rewrite mem_filter => /andP [s_in _]; apply: exact_G.
Qed.

End Views.
