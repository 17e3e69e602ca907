(* The same functions as a program: see ../oracle/oracle.ml, which reads, prints and nothing else. *)
From Mage Require Import Path Machine.
Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
Extraction Language OCaml.
Set Extraction Output Directory ".".
Extraction "machine.ml" start exec phase expected digest question C R H step_path summary_path
  current_boundary open_segment next_step next_summary step_children summary_children lessons_at
  instructions_at instructions_shown earlier steps_judged steps_since_root abandoned left_behind.
