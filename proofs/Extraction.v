(** The checker as an OCaml program, for [driver.ml].  Numbers stay what they are here, binary and without bounds, so that
    nothing is assumed of machine integers; only booleans, options, pairs and lists become those of OCaml. *)

From Coq Require Import ZArith ExtrOcamlBasic.
From Coq Require Extraction.
From Tidelog Require Import Syntax Checker.

Extraction Language OCaml.
Extraction "checker.ml" verify Z.add Z.mul Z.opp Z.to_N.
