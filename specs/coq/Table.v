(* The table of phases (Phases.v) is not too wide: every phase and every refusal that it lists happens. Tried
   on the machine itself, with numbers for texts, 0 for a blank one, and the id of a summary for a digest, that of a chapter's text. *)
From Coq Require Import List Arith Bool.
From Mage Require Import Path Machine Phases.
Import ListNotations.

Notation try_ := (exec 0 Nat.eqb (Nat.eqb 0) Nat.eqb (@asked_summary nat) (@fold_text nat)).
Notation phase_of := (phase 0).

(* some of each command: what it takes to be refused in every way, and taken in every way *)
Definition alphabet : list (list (Command nat nat)) :=
  [ [Instruct (1, false); Instruct (0, false)];
    [Grow (1, 1)];
    [Compress 1 Subgoal; Compress 0 Subgoal];
    [Retext 1; Retext 0];
    [ApplyVerdict Pass 1; ApplyVerdict Pass 9; ApplyVerdict (Fail 1 InExecution (Some 0)) 1;
     ApplyVerdict (Fail 1 InExecution (Some 9)) 1; ApplyVerdict (Fail 0 InExecution None) 1];
    [Accept];
    [Revise 0 1; Revise 1 1; Revise 9 1];
    [Fold 0 2 1 1; Fold 0 2 0 1; Fold 0 2 1 9; Fold 9 9 1 1] ].

Definition next_states s :=
  flat_map (fun c => match try_ s c with Done s' => [s'] | Refused _ => [] end) (concat alphabet).
Fixpoint states n := match n with 0 => [start 0 1] | S n => states n ++ flat_map next_states (states n) end.
(* and one in which there is something to fold *)
Definition two_done := run 0 Nat.eqb (Nat.eqb 0) Nat.eqb (@asked_summary nat) (@fold_text nat) (start 0 1)
  [Grow (1, 1); Compress 1 Subgoal; Accept; Grow (2, 2); Compress 2 Subgoal; Accept].
Definition seen := states 3 ++ [two_done].

Definition same_phase p q := match p, q with
  | Active, Active | Unverified, Unverified | Rejected, Rejected => true | _, _ => false end.
Definition same_name x y := match x, y with
  | illegal_phase, illegal_phase | empty_segment, empty_segment | blank_summary, blank_summary
  | blank_instruction, blank_instruction | blank_feedback, blank_feedback | stale_verdict, stale_verdict
  | unknown_boundary, unknown_boundary | unfoldable_range, unfoldable_range => true | _, _ => false end.
(* in some state of phase p, one of these commands does so *)
Definition happens p (cs : list (Command nat nat)) (does : Outcome nat nat -> bool) :=
  existsb (fun s => same_phase (phase_of s) p && existsb (fun c => does (try_ s c)) cs) seen.
Definition ends_in q (o : Outcome nat nat) :=
  match o with Done s => same_phase (phase_of s) q | Refused _ => false end.
Definition refused_as x (o : Outcome nat nat) :=
  match o with Done _ => false | Refused why => same_name (name why) x end.

(* D6: every entry of the table happens *)
Theorem table_is_exact :
  forallb (fun p => forallb (fun cs => forallb (fun c =>
      forallb (fun q => happens p cs (ends_in q)) (fst (transitions p c)) &&
      forallb (fun x => happens p cs (refused_as x)) (snd (transitions p c))) cs) alphabet)
    [Active; Unverified; Rejected] = true.
Proof. vm_compute. reflexivity. Qed.
