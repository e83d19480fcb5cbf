(** What the theorems rest on: scripts/proofs demands that it is nothing. *)

From Tidelog Require Semantics Joins Certificate Complete Finite Monotone Selection Choice RegularMatching Regular RegularViews RegularClauseMap.

Print Assumptions Semantics.level_closed.
Print Assumptions Semantics.level_least.
Print Assumptions Joins.exists_join_sound.
Print Assumptions Joins.exists_join_complete.
Print Assumptions Certificate.check_nodes.
Print Assumptions Certificate.check_correct.
Print Assumptions Certificate.check_unique.
Print Assumptions Complete.check_complete.
Print Assumptions Finite.certificate_exists.
Print Assumptions Selection.selection_certified.
Print Assumptions Selection.selection_unique.
Print Assumptions Monotone.monotone_sound.
Print Assumptions Choice.choice_certified.
Print Assumptions Choice.choice_complete.
Print Assumptions Choice.choice_maximal.
Print Assumptions RegularMatching.masks_once.
Print Assumptions Regular.engine_sound.
Print Assumptions Regular.engine_sound_finite.
Print Assumptions Regular.engine_exact.
Print Assumptions RegularViews.engine_incremental.
Print Assumptions RegularViews.first_call_maintains.
Print Assumptions RegularViews.epochs_maintain.
Print Assumptions RegularViews.maintained_least.
Print Assumptions RegularClauseMap.clause_map_spec.
