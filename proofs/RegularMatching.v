(** What matching, masks and closures of [RegularEngine.v] compute, in terms of groundings and paths.

    After this file no proof mentions a substitution: [heads_spec] and [has_head_spec] say what a join derives,
    [masks_complete], [masks_sound] and [masks_once] what the diagonal factoring covers, [naive_closure_spec] that
    closures are right. *)

#[local] Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.
From Tidelog Require Import RegularPrograms RegularEngine.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Joins.

Variable V : eqType.
Notation term := (term V).
Notation edges := (edges V).
Notation substitution := (substitution V).
Notation joined := (seq ((term * term) * edges)).
Implicit Types (sigma tau : substitution) (eta : grounding V) (t : term) (p h : term * term) (v : V) (e : V * V).
Implicit Types (b : joined) (bs : seq joined).

(** *** Substitutions and groundings *)

Definition extends tau sigma := forall x v, lookup sigma x = Some v -> lookup tau x = Some v.
Definition agrees eta sigma := forall x v, lookup sigma x = Some v -> eta x = v.

(** The grounding that agrees with a substitution, and sends the other variables to a default. *)
Definition completed (default : V) sigma : grounding V := fun x => odflt default (lookup sigma x).

Lemma completed_agrees default sigma : agrees (completed default sigma) sigma.
Proof. by move=> x v found; rewrite /completed found. Qed.

Lemma instance_of_term_extends tau sigma t v :
  extends tau sigma -> instance_of_term sigma t = Some v -> instance_of_term tau t = Some v.
Proof. by case: t => [w|x] //= ext; apply: ext. Qed.

Lemma instance_extends tau sigma p e : extends tau sigma -> instance sigma p = Some e -> instance tau p = Some e.
Proof.
rewrite /instance => ext.
case left: (instance_of_term sigma p.1) => [v|] //; case right: (instance_of_term sigma p.2) => [w|] // [<-].
by rewrite (instance_of_term_extends ext left) (instance_of_term_extends ext right).
Qed.

Lemma instance_of_term_ground eta sigma t v :
  agrees eta sigma -> instance_of_term sigma t = Some v -> value eta t = v.
Proof. by case: t => [w|x] //= agr; [case | apply: agr]. Qed.

Lemma instance_ground eta sigma p e : agrees eta sigma -> instance sigma p = Some e -> ground eta p = e.
Proof.
rewrite /instance /ground => agr.
case left: (instance_of_term sigma p.1) => [v|] //; case right: (instance_of_term sigma p.2) => [w|] // [<-].
by rewrite (instance_of_term_ground agr left) (instance_of_term_ground agr right).
Qed.

(** An instance exists exactly if all variables are bound. *)
Lemma instance_bound sigma p :
  isSome (instance sigma p) = all (fun x => isSome (lookup sigma x)) (variables_of p).
Proof.
case: p => [[v|x] [w|y]]; rewrite /instance /variables_of //= ?andbT.
- by case: (lookup sigma y).
- by case: (lookup sigma x).
by case: (lookup sigma x) => //; case: (lookup sigma y).
Qed.

(** *** One edge *)

Lemma match_term_sound sigma tau t v :
  match_term sigma t v = Some tau -> extends tau sigma /\ instance_of_term tau t = Some v.
Proof.
rewrite /match_term; case found: (instance_of_term sigma t) => [w|].
  by case: eqP => // <- [<-]; split; first by [].
case: t found => // x found [<-]; rewrite /= eqxx; split=> // y w /=.
by case: eqP => // <-; rewrite [lookup _ _]found.
Qed.

Lemma match_term_complete eta sigma t :
  agrees eta sigma -> exists2 tau, match_term sigma t (value eta t) = Some tau & agrees eta tau.
Proof.
rewrite /match_term => agr; case found: (instance_of_term sigma t) => [w|].
  by rewrite (instance_of_term_ground agr found) eqxx; exists sigma.
case: t found => // x _; exists ((x, eta x) :: sigma) => // y w /=.
by case: eqP => [<- [] | _ /agr].
Qed.

Lemma match_edge_sound p sigma tau e :
  match_edge p sigma e = Some tau -> extends tau sigma /\ instance tau p = Some e.
Proof.
case: e => v w; rewrite /match_edge; case first: (match_term sigma p.1 v) => [rho|] //= second.
have [ext1 left] := match_term_sound first; have [ext2 right] := match_term_sound second.
split=> [x u /ext1 /ext2 //|].
by rewrite /instance (instance_of_term_extends ext2 left) right.
Qed.

Lemma match_edge_complete eta p sigma :
  agrees eta sigma -> exists2 tau, match_edge p sigma (ground eta p) = Some tau & agrees eta tau.
Proof.
move=> /(match_term_complete p.1) [rho first agr].
by have [tau second agr'] := match_term_complete p.2 agr; exists tau; rewrite // /match_edge first.
Qed.

(** *** Bodies *)

(** Under this grounding, each literal is one of its edges. *)
Definition fits eta b : bool := all (fun pr => ground eta pr.1 \in pr.2) b.

Lemma match_body_sound b sigma tau : tau \in match_body b sigma ->
  extends tau sigma /\ all (fun pr => if instance tau pr.1 is Some e then e \in pr.2 else false) b.
Proof.
elim: b sigma => [|[p r] b IH] sigma /=; first by rewrite inE => /eqP ->; split.
case/flattenP=> found /mapP [rho]; rewrite mem_pmap => /mapP [e e_in_r matched] ->.
move=> /IH [ext2 rest]; have [ext1 first] := match_edge_sound (esym matched).
split=> [x v /ext1 /ext2 //|].
by rewrite (instance_extends ext2 first) e_in_r.
Qed.

Lemma match_body_complete eta b sigma : agrees eta sigma -> fits eta b ->
  exists2 tau, tau \in match_body b sigma & agrees eta tau.
Proof.
elim: b sigma => [|[p r] b IH] sigma agr /=; first by exists sigma; rewrite ?inE.
case/andP=> in_r fit; have [rho matched agr'] := match_edge_complete p agr.
have [tau found agr''] := IH rho agr' fit; exists tau => //.
apply/flattenP; exists (match_body b rho) => //; apply: map_f.
by rewrite mem_pmap -matched; apply: map_f.
Qed.

(** All that is matched fits. *)
Lemma match_body_fits eta b sigma tau : tau \in match_body b sigma -> agrees eta tau -> fits eta b.
Proof.
move=> /match_body_sound [_ bound] agr; apply: sub_all bound => pr.
by case found: (instance tau pr.1) => [e|] //; rewrite (instance_ground agr found).
Qed.

(** *** Heads *)

(** Each variable of the head occurs in each body. *)
Definition bound_by h bs : bool :=
  all (fun b => all (mem (flatten [seq variables_of pr.1 | pr <- b])) (variables_of h)) bs.

Lemma head_bound h b sigma tau :
  all (mem (flatten [seq variables_of pr.1 | pr <- b])) (variables_of h) -> tau \in match_body b sigma ->
  isSome (instance tau h).
Proof.
move=> /allP safe_h /match_body_sound [_ /allP bound]; rewrite instance_bound; apply/allP => x /safe_h.
case/flattenP=> xs /mapP [pr pr_in_b ->] x_in; have := bound _ pr_in_b.
case found: (instance tau pr.1) => [e|] // _.
by have := instance_bound tau pr.1; rewrite found => /esym /allP; apply.
Qed.

(** The heads are the instances of the head under the groundings that fit a body. *)
Lemma heads_spec h bs e : bound_by h bs ->
  e \in heads h bs <-> exists eta, has (fits eta) bs && (ground eta h == e).
Proof.
move=> /allP safe_h; rewrite /heads mem_undup; split.
  case/flattenP=> found /mapP [b b_in_bs ->]; rewrite mem_pmap => /mapP [tau matched is_e].
  have agr := @completed_agrees e.1 tau; exists (completed e.1 tau).
  rewrite (instance_ground agr (esym is_e)) eqxx andbT.
  by apply/hasP; exists b => //; apply: match_body_fits matched agr.
case=> eta /andP [/hasP [b b_in_bs fit] /eqP <-].
have [//|tau matched agr] := @match_body_complete eta b [::] _ fit.
apply/flattenP; exists (pmap (fun sigma => instance sigma h) (match_body b [::])).
  exact: map_f b_in_bs.
rewrite mem_pmap; apply/mapP; exists tau => //.
case found: (instance tau h) (head_bound (safe_h _ b_in_bs) matched) => [e'|] // _.
by rewrite (instance_ground agr found).
Qed.

(** The same, found from the head; safety is not needed here. *)
Lemma has_head_spec h bs e : has_head h bs e <-> exists eta, has (fits eta) bs && (ground eta h == e).
Proof.
rewrite /has_head; split.
  case matched: (match_edge h [::] e) => [sigma|] // /hasP [b b_in_bs].
  case found: (match_body b sigma) => [|tau taus] // _.
  have tau_in : tau \in match_body b sigma by rewrite found inE eqxx.
  have agr := @completed_agrees e.1 tau; exists (completed e.1 tau).
  have [_ is_e] := match_edge_sound matched; have [ext _] := match_body_sound tau_in.
  rewrite (instance_ground agr (instance_extends ext is_e)) eqxx andbT.
  by apply/hasP; exists b => //; apply: match_body_fits tau_in agr.
case=> eta /andP [/hasP [b b_in_bs fit] /eqP <-].
have [//|sigma -> agr] := @match_edge_complete eta h [::].
apply/hasP; exists b => //; have [tau] := match_body_complete agr fit.
by case: (match_body b sigma).
Qed.

End Joins.

(** ** Literals and masks *)

Section Masks.

Variables V Sigma : eqType.
Variable nodes : seq V.
Hypothesis all_nodes : forall v, v \in nodes.
Notation graph := (graph V Sigma).
Notation body := (body V Sigma).
Notation clause := (clause V Sigma).
Notation identity := (identity nodes).
Implicit Types (eta : grounding V) (b : body) (c : clause) (G base change : graph).

Lemma identity_spec eta (p : term V * term V) : (ground eta p \in identity) = (value eta p.1 == value eta p.2).
Proof.
apply/mapP/eqP => [[v _ [-> ->]] // | same].
by exists (value eta p.1); rewrite // /ground -same.
Qed.

Lemma extent_spec G eta (l : literal V Sigma) : (ground eta (arguments l) \in extent identity G l) = holds G eta l.
Proof. by case: l => [s lab p | p] //=; rewrite identity_spec. Qed.

Lemma plain_fits G eta b : fits eta (plain identity G b) = body_holds G eta b.
Proof. by rewrite /fits all_map; apply: eq_all => l /=; rewrite extent_spec. Qed.

Lemma plain_bodies_fit G eta c : has (fits eta) (plain_bodies identity G c) = has (body_holds G eta) (bodies c).
Proof. by rewrite has_map; apply: eq_has => b /=; rewrite plain_fits. Qed.

Lemma plain_bound G c : bound_by (head c) (plain_bodies identity G c) = safe c.
Proof. by rewrite /bound_by all_map; apply: eq_all => b /=; rewrite -map_comp. Qed.

(** *** The diagonal factoring *)

(** Each row decorates the whole body. *)
Lemma undecorated b row : row \in body_masks b -> map snd row = b.
Proof.
elim: b row => [|l b IH] row //=; rewrite inE => /orP [/eqP -> | /mapP [row' /IH <- ->]] //=.
by rewrite -map_comp map_id.
Qed.

Lemma masked_bound base change c : safe c -> bound_by (head c) (masked_bodies identity base change c).
Proof.
move=> /allP safe_c; apply/allP => _ /mapP [row /flattenP [_ /mapP [b b_in ->]] row_in ->].
by have := safe_c _ b_in; rewrite -(undecorated row_in) -!map_comp.
Qed.

(** A literal that is satisfied by the update; an equality never is. *)
Definition changes change eta (l : literal V Sigma) : bool := ground eta (arguments l) \in extent [::] change l.

Lemma masked_extent_spec base change eta m (l : literal V Sigma) :
  (ground eta (arguments l) \in masked_extent identity base change m l) =
  (m != D) && holds base eta l || (m != B) && changes change eta l.
Proof. by rewrite mem_cat -extent_spec; case: m. Qed.

Definition row_fits base change eta (row : seq (mask * literal V Sigma)) : bool :=
  all (fun ml => (ml.1 != D) && holds base eta ml.2 || (ml.1 != B) && changes change eta ml.2) row.

Lemma masked_fits base change eta row : fits eta (masked identity base change row) = row_fits base change eta row.
Proof. by rewrite /fits all_map; apply: eq_all => ml /=; rewrite masked_extent_spec. Qed.

Lemma masked_bodies_fit base change eta c :
  has (fits eta) (masked_bodies identity base change c) =
  has (fun b => has (row_fits base change eta) (body_masks b)) (bodies c).
Proof.
rewrite has_map; elim: (bodies c) => //= b bs IH; rewrite has_cat IH; congr (_ || _).
by apply: eq_has => row /=; rewrite masked_fits.
Qed.

(** Whatever holds in the base and the update together holds in the base, or fits a row. *)
Lemma masks_complete base change G eta b :
  (forall s lab e, e \in G s lab -> (e \in base s lab) || (e \in change s lab)) ->
  body_holds G eta b -> body_holds base eta b || has (row_fits base change eta) (body_masks b).
Proof.
move=> covered.
have literal_covered l : holds G eta l -> holds base eta l || changes change eta l.
  by case: l => [s lab p | p] /=; [apply: covered | move=> ->].
elim: b => [|l b IH] //= /andP [/literal_covered hl hb].
have full : row_fits base change eta [seq (F, l') | l' <- b].
  by rewrite /row_fits all_map; apply: sub_all hb => l' /= /literal_covered.
rewrite full andbT; case in_base: (holds base eta l) hl => /= hl; last by rewrite hl.
rewrite has_map (eq_has (a2 := row_fits base change eta)); last by move=> row /=; rewrite in_base.
by case: (changes _ _ _) => //; rewrite ?orbT //; apply: IH.
Qed.

(** Whatever fits a row holds where the base and the update hold. *)
Lemma masks_sound base change G eta b :
  (forall s lab, {subset base s lab <= G s lab}) -> (forall s lab, {subset change s lab <= G s lab}) ->
  has (row_fits base change eta) (body_masks b) -> body_holds G eta b.
Proof.
move=> base_in change_in /hasP [row row_in fit].
rewrite -(undecorated row_in) /body_holds all_map; apply: sub_all fit => [[m [s lab p | p]]] /=.
  by case/orP=> /andP [_]; [apply: base_in | apply: change_in].
by case/orP=> /andP [_].
Qed.

(** No derivation is met in two rows, if nothing is both in the base and in the update. *)
Lemma masks_once base change eta b :
  (forall s lab e, e \in change s lab -> e \notin base s lab) ->
  count (row_fits base change eta) (body_masks b) <= 1.
Proof.
move=> apart; elim: b => [|l b IH] //=; rewrite count_map.
case new: (changes change eta l) => /=; last first.
  by rewrite add0n; apply: leq_trans IH; apply: sub_count => row /= /andP [].
have old : holds base eta l = false.
  by apply/negbTE; case: l new => [s lab p | p] //=; apply: apart.
rewrite (eq_count (a2 := pred0)); last by move=> row /=; rewrite old.
by rewrite count_pred0 addn0 leq_b1.
Qed.

End Masks.

(** ** The naive closure is a closure *)

Section Closure.

Variable V : eqType.
Implicit Types (r t : edges V) (x y z : V).

Lemma composed_spec r t x y : (x, y) \in composed r t <-> exists2 z, (x, z) \in r & (z, y) \in t.
Proof.
split.
  case/flattenP=> _ /mapP [[x' z] edge ->] /mapP [[z' y']]; rewrite mem_filter => /andP [/eqP /= same tail] [-> ->].
  by exists z'; rewrite // same.
case=> z edge tail; apply/flattenP; exists [seq (x, f.2) | f <- t & f.1 == z]; first exact: (map_f _ edge).
by apply/mapP; exists (z, y); rewrite // mem_filter eqxx.
Qed.

(** After n steps there are the pairs at a distance of 1 to n edges. *)
Lemma steps_spec r n x y :
  (x, y) \in iter n (fun t => undup (r ++ composed r t)) [::] <->
  exists p, [/\ p <> [::], path (edge_in r) x p, last x p = y & size p <= n].
Proof.
elim: n x y => [|n IH] x y /=; first by split=> // -[[|z p] []].
rewrite mem_undup mem_cat; split.
  case/orP=> [edge | /composed_spec [z edge /IH [p [_ walk <- short]]]].
    by exists [:: y]; split; rewrite //= andbT.
  by exists (z :: p); split=> //=; rewrite walk andbT.
case=> [[|z [|u p]]] [] // _ /= /andP [edge walk] <- short; apply/orP; [by left | right].
by apply/composed_spec; exists z => //; apply/IH; exists (u :: p).
Qed.

(** A path that visits no node twice is not longer than there are edges. *)
Lemma connected_short r x y :
  connected r x y -> exists p, [/\ p <> [::], path (edge_in r) x p, last x p = y & size p <= size r].
Proof.
case=> [[|z p]] [] // _ /= /andP [edge walk] <-.
case/shortenP: walk => p' walk distinct _; exists (z :: p'); split=> //=; first by rewrite edge.
rewrite -(size_map snd r); apply: uniq_leq_size distinct _ => u.
have targets q v : path (edge_in r) v q -> {subset q <= map snd r}.
  elim: q v => [|w q IHq] v //= /andP [vw /IHq rest] w'; rewrite inE => /orP [/eqP -> | /rest //].
  exact: (map_f snd vw).
by apply: (targets (z :: p') x); rewrite /= edge.
Qed.

Lemma naive_closure_spec r : is_closure r (naive_closure r).
Proof.
move=> x y; split; first by case/steps_spec=> p [nonempty walk ends _]; exists p.
by move=> /connected_short short; apply/steps_spec.
Qed.

End Closure.
