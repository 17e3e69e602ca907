(* The same functions as a program: see ../oracle/oracle.ml, which reads, prints and nothing else. *)
From Mage Require Import Path Machine.
Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
Extraction Language OCaml.
Set Extraction Output Directory ".".
Extraction "machine.ml" start exec phase expected digest question C R H step_path summary_path way
  boundary current_boundary open_segment next_step next_summary step_children summary_children lessons_at
  instructions_at instructions_shown lines_before hints boundaries steps_since_root ending_at inside line_label
  line_boundary abandoned left_behind.
