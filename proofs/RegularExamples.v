(** The engine of Regular Datalog at work, inside Coq: what [vm_compute] makes of examples of "Certified Graph View
    Maintenance with Regular Datalog", so that a definition which says nothing would be seen. *)

#[local] Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.
From Tidelog Require Import RegularPrograms RegularClauseMap RegularEngine RegularMatching RegularViews.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Nodes, symbols, programs *)

Inductive node := V0 | V1 | V2 | V3 | V4 | V5 | V6.

Definition nat_of_node v := match v with V0 => 0 | V1 => 1 | V2 => 2 | V3 => 3 | V4 => 4 | V5 => 5 | V6 => 6 end.
Definition node_of_nat n := match n with 0 => V0 | 1 => V1 | 2 => V2 | 3 => V3 | 4 => V4 | 5 => V5 | _ => V6 end.
Lemma nat_of_nodeK : cancel nat_of_node node_of_nat. Proof. by case. Qed.
Definition node_eqMixin := CanEqMixin nat_of_nodeK.
Canonical node_eqType := EqType node node_eqMixin.

Definition nodes : seq node := [:: V0; V1; V2; V3; V4; V5; V6].
Lemma all_nodes v : v \in nodes. Proof. by case: v. Qed.

Inductive symbol :=
| Transfers | Accredited | Connected | Monitors
| Cmonitored | Secures | Stransfer | Pstransfer | Suspect | Detectable | Reaches.

Definition nat_of_symbol s := match s with
  | Transfers => 0 | Accredited => 1 | Connected => 2 | Monitors => 3 | Cmonitored => 4 | Secures => 5 | Stransfer => 6
  | Pstransfer => 7 | Suspect => 8 | Detectable => 9 | Reaches => 10 end.
Definition symbol_of_nat n := match n with
  | 0 => Transfers | 1 => Accredited | 2 => Connected | 3 => Monitors | 4 => Cmonitored | 5 => Secures | 6 => Stransfer
  | 7 => Pstransfer | 8 => Suspect | 9 => Detectable | _ => Reaches end.
Lemma nat_of_symbolK : cancel nat_of_symbol symbol_of_nat. Proof. by case. Qed.
Definition symbol_eqMixin := CanEqMixin nat_of_symbolK.
Canonical symbol_eqType := EqType symbol symbol_eqMixin.

Notation atom s t u := (Forward s Single, (t, u)).
Notation plus s t u := (Forward s Plus, (t, u)).
Notation star s t u := (Star s, (t, u)).
Notation x := (Var 0).
Notation y := (Var 1).
Notation z := (Var 2).
Notation w := (Var 3).

(** Example 1, Fraud Detection, with Example 3, Detectable Frauds; and who can be reached by transfers. *)
Definition rules : seq (rule node_eqType symbol_eqType) := [::
  (Suspect, (x, y), [:: plus Pstransfer x y; plus Pstransfer y x]);
  (Pstransfer, (x, y), [:: atom Transfers x y]);
  (Pstransfer, (x, y), [:: atom Stransfer x y]);
  (Stransfer, (x, y), [:: atom Accredited y x; atom Secures x y; atom Transfers x y]);
  (Secures, (x, y), [:: atom Connected x z; plus Cmonitored z w; atom Connected w y]);
  (Cmonitored, (x, y), [:: atom Connected x y; plus Monitors z x; plus Monitors z y; atom Accredited z x]);
  (Detectable, (x, y), [:: atom Suspect x y; atom Monitors z x; atom Monitors z y]);
  (Reaches, (x, y), [:: star Transfers x y])].

Definition fraud : program node_eqType symbol_eqType := clause_map rules.
Definition given := [:: Transfers; Accredited; Connected; Monitors].
Definition derived := [:: Cmonitored; Secures; Stransfer; Pstransfer; Suspect; Detectable; Reaches].

Example fraud_strata : is_strata fraud given derived. Proof. by vm_compute. Qed.

Notation graph := (graph node_eqType symbol_eqType).
Notation clause := (clause node_eqType symbol_eqType).
Definition nothing : graph := fun _ _ => [::].

(** *** The diagonal factoring, Section 3.4 *)

Definition detectable : clause :=
  Clause (x, y) [:: [:: Edge Suspect Single (x, y); Edge Monitors Single (z, x); Edge Monitors Single (z, y)]].

Example three_rows : [seq map fst row | row <- flatten (map (@body_masks _ _) (bodies detectable))] =
  [:: [:: D; F; F];
      [:: B; D; F];
      [:: B; B; D]].
Proof. by []. Qed.

(** *** Example 3: the graphs of Figure 4, as far as the text tells them *)

Definition before : graph := fun s lab => match s, lab with
  | Suspect, Single => [:: (V6, V0); (V3, V0); (V0, V2); (V0, V5)]
  | Monitors, Single => [:: (V1, V0); (V1, V6); (V1, V3)]
  | Detectable, Single => [:: (V6, V0); (V3, V0)]
  | _, _ => [::]
  end.

Definition news : update node_eqType symbol_eqType :=
  modified (modified no_change Suspect Single [:: (V2, V0)] [::]) Monitors Single [:: (V1, V2); (V1, V5)] [::].

Definition found_by (row : seq (mask * literal node_eqType symbol_eqType)) : edges node_eqType :=
  heads (head detectable) [:: masked (identity nodes) before (inserted news) row].

Example rows_find : map found_by (flatten (map (@body_masks _ _) (bodies detectable))) =
  [:: [:: (V2, V0)];
      [::];
      [:: (V0, V2); (V0, V5)]].
Proof. by vm_compute. Qed.

(** In Figure 4c what is in front of the D is full and what is behind it is base, the reverse of Definition 10 and of
    Section 3.4; together its delta clauses find the same. *)
Example figure_4c_finds : [seq found_by (zip masks (flatten (bodies detectable))) |
    masks <- [:: [:: D; B; B]; [:: F; D; B]; [:: F; F; D]]] =
  [:: [::];
      [:: (V2, V0)];
      [:: (V0, V2); (V0, V5)]].
Proof. by vm_compute. Qed.

Example detectable_delta :
  inserted (delta nodes before news Detectable detectable) Detectable Single = [:: (V2, V0); (V0, V2); (V0, V5)].
Proof. by vm_compute. Qed.

Example detectable_after :
  (before :+: delta nodes before news Detectable detectable) Detectable Single =i
  [:: (V6, V0); (V3, V0); (V0, V2); (V2, V0); (V0, V5)].
Proof. by apply: perm_mem; vm_compute. Qed.

(** *** Repeated calls, with insertions and deletions *)

Notation changes := (seq (symbol * (edges node_eqType * edges node_eqType))).

(** A ring of transfers, in which that from V2 to V3 is a secured one. *)
Definition first_edges : changes := [::
  (Transfers, ([:: (V0, V1); (V1, V2); (V2, V3); (V3, V0)], [::]));
  (Accredited, ([:: (V3, V2); (V6, V4)], [::]));
  (Connected, ([:: (V2, V4); (V4, V5); (V5, V3)], [::]));
  (Monitors, ([:: (V6, V4); (V4, V5)], [::]))].

Section Calls.

Variable deletions : bool.

Definition first_call : graph :=
  nothing :+: maintain nodes (@naive_closure _) deletions fraud nothing given
    (edge_update (@naive_closure _) nothing first_edges) derived.

Definition after (history : seq changes) : graph :=
  foldl (epoch nodes (@naive_closure _) deletions fraud given derived) first_call history.

(** Every example below is an instance. *)
Lemma history_models history : models (given ++ derived) fraud (after history).
Proof.
have closed := @naive_closure_spec node_eqType; have safe_fraud := clause_map_safe rules.
apply: maintained_models; first by move=> s; rewrite !inE => /or4P [] /eqP ->.
apply: (epochs_maintain all_nodes closed deletions history safe_fraud fraud_strata).
apply: (first_call_maintains all_nodes closed deletions _ safe_fraud fraud_strata).
by move=> s _ u v; split=> // -[[|p q] []].
Qed.

End Calls.

Definition ring : edges node_eqType := [seq (u, v) | u <- [:: V0; V1; V2; V3], v <- [:: V0; V1; V2; V3]].

Definition same_edges (r t : edges node_eqType) : bool := perm_eq (undup r) (undup t).

(** All four are suspect to each other; nobody monitors them. *)
Example fraud_found : [&& same_edges (first_call true Suspect Single) ring,
  same_edges (first_call true Stransfer Single) [:: (V2, V3)] & same_edges (first_call true Detectable Single) [::]].
Proof. by vm_compute. Qed.

(** One transfer goes, somebody looks; another closes a smaller ring. *)
Definition history : seq changes := [::
  [:: (Transfers, ([::], [:: (V3, V0)])); (Monitors, ([:: (V6, V1); (V6, V2)], [::]))];
  [:: (Transfers, ([:: (V2, V1)], [::]))];
  [:: (Connected, ([::], [:: (V4, V5)]))]].

Definition all_same (G1 G2 : graph) : bool :=
  all (fun s => same_edges (G1 s Single) (G2 s Single) && same_edges (G1 s Plus) (G2 s Plus)) (given ++ derived).

Example fraud_gone : same_edges (after true (take 1 history) Suspect Single) [::].
Proof. by vm_compute. Qed.

Example fraud_again :
  let views := after true (take 2 history) in
  let small := [:: (V1, V2); (V2, V1); (V1, V1); (V2, V2)] in
  same_edges (views Suspect Single) small && same_edges (views Detectable Single) small.
Proof. by vm_compute. Qed.

(** No secured connection is left, but the transfer still is potentially secured. *)
Example not_secured :
  let views := after true history in
  [&& views Secures Single == [::], views Stransfer Single == [::] & (V2, V3) \in views Pstransfer Single].
Proof. by vm_compute. Qed.

(** Deletions that are maintained and deletions that are recomputed come to the same. *)
Example deletions_agree :
  all (fun n => all_same (after true (take n history)) (after false (take n history))) (iota 0 4).
Proof. by vm_compute. Qed.
