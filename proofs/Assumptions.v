(** What the theorems rest on: scripts/proofs demands that it is nothing. *)

From Tidelog Require Import Certificate Finite.

Print Assumptions check_correct.
Print Assumptions check_complete.
Print Assumptions certificate_exists.
