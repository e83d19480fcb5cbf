(** The engine of Regular Datalog: Section 3 of "Certified Graph View Maintenance with Regular Datalog".

    Functions only, all of them computable (see [RegularExamples.v]); what they promise is proved in
    [RegularMatching.v], [RegularOperators.v] and [Regular.v].  The names are those of [papers.regular] where
    it has them, in parentheses those of the paper's Coq code. *)

#[local] Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.
From Tidelog Require Import RegularPrograms.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Updates: Definitions 7 and 8 *)

Section Updates.

Variables V Sigma : eqType.
Notation edges := (edges V).
Notation graph := (graph V Sigma).

(** (edelta) Insertions and deletions, which are disjoint. *)
Record update := Update {
  inserted : graph;
  deleted : graph;
  disjoint : forall s lab e, e \in inserted s lab -> e \notin deleted s lab
}.

Definition no_edges : graph := fun _ _ => [::].

Lemma no_edges_disjoint s lab e : e \in no_edges s lab -> e \notin no_edges s lab.
Proof. by []. Qed.

Definition no_change : update := Update no_edges_disjoint.

Definition without (r dropped : edges) : edges := [seq e <- r | e \notin dropped].

(** Definition 8: [G :+: D = G \ D- U D+]. *)
Definition kept (G : graph) (D : update) : graph := fun s lab => without (G s lab) (deleted D s lab).
Definition applied (G : graph) (D : update) : graph := fun s lab => kept G D s lab ++ inserted D s lab.

Definition replaced (G : graph) (s : Sigma) (lab : label) (r : edges) : graph :=
  fun s' lab' => if (s' == s) && (lab' == lab) then r else G s' lab'.

Lemma modified_disjoint (D : update) s lab plus minus s' lab' e :
  e \in replaced (inserted D) s lab plus s' lab' -> e \notin replaced (deleted D) s lab (without minus plus) s' lab'.
Proof.
by rewrite /replaced; case: ifP => _ hin; [rewrite mem_filter hin | apply: disjoint hin].
Qed.

(** Definition 8: [D{s -> (plus, minus)}]. *)
Definition modified (D : update) (s : Sigma) (lab : label) (plus minus : edges) : update :=
  Update (@modified_disjoint D s lab plus minus).

(** [D{s -> G(s) (-) wanted}]: after it, the symbol has these edges. *)
Definition towards (G : graph) (D : update) (s : Sigma) (lab : label) (wanted : edges) : update :=
  modified D s lab (without wanted (G s lab)) (without (G s lab) wanted).

End Updates.

Arguments no_change {V Sigma}.
Notation "G :+: D" := (applied G D) (at level 50).

(** The masks of Section 3.4: match a literal against the base, the update, or both. *)
Inductive mask := B | D | F.

Definition option_of_mask (m : mask) : option bool := match m with B => Some true | D => Some false | F => None end.
Definition mask_of_option (m : option bool) : mask :=
  match m with Some true => B | Some false => D | None => F end.
Lemma option_of_maskK : cancel option_of_mask mask_of_option. Proof. by case. Qed.
Definition mask_eqMixin := CanEqMixin option_of_maskK.
Canonical mask_eqType := EqType mask mask_eqMixin.

(** ** Matching: Section 3.2 *)

Section Matching.

Variables V Sigma : eqType.
Notation edges := (edges V).
Notation graph := (graph V Sigma).
Notation term := (term V).
Notation literal := (literal V Sigma).
Notation joined := (seq ((term * term) * edges)).

(** (σ) Values of the variables that are bound. *)
Definition substitution := seq (nat * V).

Fixpoint lookup (sigma : substitution) (x : nat) : option V :=
  if sigma is (y, v) :: rest then if y == x then Some v else lookup rest x else None.

(** σ(t) and σ(t1, t2), where their variables are bound. *)
Definition instance_of_term (sigma : substitution) (t : term) : option V :=
  match t with Node v => Some v | Var x => lookup sigma x end.
Definition instance (sigma : substitution) (p : term * term) : option (V * V) :=
  match instance_of_term sigma p.1, instance_of_term sigma p.2 with
  | Some v, Some w => Some (v, w)
  | _, _ => None
  end.

Definition match_term (sigma : substitution) (t : term) (v : V) : option substitution :=
  match instance_of_term sigma t, t with
  | Some w, _ => if w == v then Some sigma else None
  | None, Var x => Some ((x, v) :: sigma)
  | None, Node _ => None
  end.

(** (match_atom) The extension of a substitution under which a pair of terms is this edge. *)
Definition match_edge (p : term * term) (sigma : substitution) (e : V * V) : option substitution :=
  obind (fun tau => match_term tau p.2 e.2) (match_term sigma p.1 e.1).

(** (match_body) M^B, the nested-loop join of a conjunction of literals, which may be decorated: each stands for the
    terms that it joins and the edges that it may take. *)
Fixpoint match_body (b : joined) (sigma : substitution) : seq substitution :=
  if b is (p, r) :: rest then flatten [seq match_body rest tau | tau <- pmap (match_edge p sigma) r]
  else [:: sigma].

(** Definition 9, the set of all σ(t1, t2). *)
Definition heads (h : term * term) (bs : seq joined) : edges :=
  undup (flatten [seq pmap (fun sigma => instance sigma h) (match_body b [::]) | b <- bs]).

(** Whether an edge is among the heads, found from the edge. *)
Definition has_head (h : term * term) (bs : seq joined) (e : V * V) : bool :=
  if match_edge h [::] e is Some sigma then has (fun b => match_body b sigma != [::]) bs else false.

(** The edges of a literal; an equality has the pairs of [equal]. *)
Definition extent (equal : edges) (G : graph) (l : literal) : edges :=
  match l with Edge s lab _ => G s lab | Equal _ => equal end.

Definition plain (equal : edges) (G : graph) (b : body V Sigma) : joined :=
  [seq (arguments l, extent equal G l) | l <- b].

(** ** Masks: Section 3.4 *)

(** (body_mask) The diagonal factoring: in front of the [D] of a row all literals are [B], behind it all are [F]. *)
Fixpoint body_masks (b : body V Sigma) : seq (seq (mask * literal)) :=
  if b is l :: rest then ((D, l) :: [seq (F, l') | l' <- rest]) :: [seq (B, l) :: row | row <- body_masks rest]
  else [::].

(** (match_delta_atom) M^{A,m}; equalities never change. *)
Definition masked_extent (equal : edges) (base change : graph) (m : mask) (l : literal) : edges :=
  (if m is D then [::] else extent equal base l) ++ (if m is B then [::] else extent [::] change l).

(** (match_delta_body) *)
Definition masked (equal : edges) (base change : graph) (row : seq (mask * literal)) : joined :=
  [seq (arguments ml.2, masked_extent equal base change ml.1 ml.2) | ml <- row].

Definition masked_bodies (equal : edges) (base change : graph) (c : clause V Sigma) : seq joined :=
  [seq masked equal base change row | row <- flatten (map body_masks (bodies c))].

Definition plain_bodies (equal : edges) (G : graph) (c : clause V Sigma) : seq joined :=
  map (plain equal G) (bodies c).

End Matching.

(** ** A closure: Section 3.1 leaves the algorithm open; this is a naive one *)

Section Closure.

Variable V : eqType.

(** The pairs that an edge of [r] and then one of [t] connect. *)
Definition composed (r t : edges V) : edges V := flatten [seq [seq (e.1, f.2) | f <- t & f.1 == e.2] | e <- r].

(** No path needs more edges than there are. *)
Definition naive_closure (r : edges V) : edges V := iter (size r) (fun t => undup (r ++ composed r t)) [::].

End Closure.

(** ** Operators and the engine: Sections 3.1, 3.2 and 3.4 *)

Section Engine.

Variables V Sigma : eqType.
Variable nodes : seq V.
Variable closure : edges V -> edges V.
Variable deletions : bool.  (* whether deletions are maintained too, or recomputed as in the paper *)

Notation graph := (graph V Sigma).
Notation clause := (clause V Sigma).
Notation update := (update V Sigma).

(** What equality ranges over. *)
Definition identity : edges V := [seq (v, v) | v <- nodes].

(** (fwd_or_clause_base) Definition 9: all that follows from the updated graph. *)
Definition base (G : graph) (D : update) (s : Sigma) (c : clause) : update :=
  towards G D s Single (heads (head c) (plain_bodies identity (G :+: D) c)).

(** What follows by at least one insertion ... *)
Definition gained (G : graph) (D : update) (c : clause) : edges V :=
  heads (head c) (masked_bodies identity (kept G D) (inserted D) c).

(** ... and what did by at least one deletion, and has no other derivation in the updated graph (beyond the paper). *)
Definition lost (G : graph) (D : update) (c : clause) : edges V :=
  [seq e <- heads (head c) (masked_bodies identity (kept G D) (deleted D) c)
     | ~~ has_head (head c) (plain_bodies identity (G :+: D) c) e].

(** (fwd_or_clause_delta) Definition 11, incremental. *)
Definition delta (G : graph) (D : update) (s : Sigma) (c : clause) : update :=
  modified D s Single (without (gained G D c) (G s Single)) (lost G D c).

(** Whether something is gone that a clause reads. *)
Definition loses (D : update) (c : clause) : bool :=
  has (has (fun l => if l is Edge r lab _ then deleted D r lab != [::] else false)) (bodies c).

(** (fwd_or_clause) Definition 11: incremental for a symbol of the support, if nothing is deleted from what it reads. *)
Definition clause_update (G : graph) (supp : seq Sigma) (D : update) (s : Sigma) (c : clause) : update :=
  if (s \in supp) && (deletions || ~~ loses D c) then delta G D s c else base G D s c.

(** (compute_closures) *)
Definition compute_closures (G : graph) (D : update) (s : Sigma) : update :=
  towards G D s Plus (closure ((G :+: D) s Single)).

(** (fwd_program) T^Π, along the strata that are still to be done. *)
Fixpoint maintain (P : program V Sigma) (G : graph) (supp : seq Sigma) (D : update) (todo : seq Sigma) : update :=
  if todo is s :: rest then
    let D' := clause_update G supp D s (P s) in
    let D'' := compute_closures G D' s in
    maintain P G supp D'' rest
  else D.

(** An update of the edges of given symbols, with what becomes of their closures. *)
Definition edge_change (G : graph) (D : update) (change : Sigma * (edges V * edges V)) : update :=
  let: (s, (plus, minus)) := change in compute_closures G (modified D s Single plus minus) s.
Definition edge_update (G : graph) (changes : seq (Sigma * (edges V * edges V))) : update :=
  foldl (edge_change G) no_change changes.

(** Repeated calls: each epoch starts from the graph that the last one has left, with all symbols in the support. *)
Definition epoch (P : program V Sigma) (given derived : seq Sigma) (G : graph)
    (changes : seq (Sigma * (edges V * edges V))) : graph :=
  G :+: maintain P G (given ++ derived) (edge_update G changes) derived.

End Engine.
