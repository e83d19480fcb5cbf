(** What the theorems rest on: scripts/proofs compares what this prints. *)

From Tidelog Require Import Certificate.

Print Assumptions check_correct.
Print Assumptions check_complete.
