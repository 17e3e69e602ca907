(* The decisions at work: short histories, run by the machine, most of them cases that an earlier wording of
   the decisions got wrong. Texts are numbers, 0 is a blank one, and a question is its own digest. *)
From Coq Require Import List Arith Bool.
From Mage Require Import Path Machine.
Import ListNotations.

Definition question_eq (p q : Question nat) : {p = q} + {p <> q}.
Proof. repeat decide equality. Defined.
Definition same_question p q := if question_eq p q then true else false.

(* what Given.v assumes can be had, a digest without collision too *)
Example assumptions_hold :
  (forall x y, Nat.eqb x y = true <-> x = y) /\ (forall p q, same_question p q = true <-> p = q) /\
  (forall p q : Question nat, (fun x => x) p = (fun x => x) q -> p = q).
Proof.
  split; [exact Nat.eqb_eq|]. split; [|auto]. intros p q. unfold same_question.
  destruct (question_eq p q); split; congruence.
Qed.

Notation State := (Machine.State nat).
Notation Command := (Machine.Command nat (Question nat)).
Notation taken := (exec 0 Nat.eqb (Nat.eqb 0) same_question (fun q => q)).
Notation asked := (digest 0 (fun q => q)).
Notation phase := (Machine.phase 0).
Notation summary_path := (Machine.summary_path 0).
Notation shown := (instructions_shown 0).
Notation judged_by := (instructions_judged 0).
Notation boundary := (Machine.boundary 0).

(* a history: what is done next may look at the state, as an answer does at the question *)
Definition Move := State -> Command.
Fixpoint all (s : State) (ms : list Move) : option State :=
  match ms with
  | [] => Some s
  | m :: ms => match taken s (m s) with Done s' => all s' ms | Refused _ => None end
  end.
(* every one of them was taken, and then [what] holds *)
Definition then_ (ms : list Move) (what : State -> Prop) :=
  match all (start 0 100) ms with Some s => what s | None => False end.
Definition refused (s : State) (m : Move) (why : Refusal (Question nat)) := taken s (m s) = Refused why.

Definition grow c : Move := fun _ => Grow (c, c).
Definition compress m : Move := fun _ => Compress m Subgoal.
Definition fall_back m : Move := fun _ => Compress m Fallback.
Definition retext m : Move := fun _ => Retext m None.
Definition complete m : Move := fun _ => Retext m (Some Subgoal).
Definition pass : Move := fun s => ApplyVerdict Pass (asked s).
Definition fail f : Move := fun s => ApplyVerdict (Fail f InExecution) (asked s).
Definition misread f : Move := fun s => ApplyVerdict (Fail f InSummary) (asked s).
Definition accept : Move := fun _ => Accept.
Definition revise b l : Move := fun _ => Revise b l.
Definition instruct x : Move := fun _ => Instruct (x, false).
Definition stand x : Move := fun _ => Instruct (x, true).

(* ---- D17 ---- *)
Definition two := [grow 1; instruct 10; grow 2; instruct 20; grow 3].
(* a fallback in between takes no instruction out of force *)
Example fallback_keeps_both :
  then_ two (fun s => shown s = [10; 20]) /\ then_ (two ++ [fall_back 7; pass]) (fun s => shown s = [10; 20]).
Proof. vm_compute. auto. Qed.
(* ... and the judge of the subgoal hears both, and sees all four steps in one run *)
Example judge_hears_both :
  then_ (two ++ [fall_back 7; pass; grow 4; compress 8]) (fun s =>
    judged_by s (summary_head s) = [10; 20] /\ steps_judged 0 s (summary_head s) = [1; 2; 3; 4]).
Proof. vm_compute. auto. Qed.
(* of two fallbacks as well, whose texts it is given, oldest first *)
Example judge_is_given_both_texts :
  then_ (two ++ [fall_back 7; pass; grow 4; fall_back 8; accept; grow 5; compress 9]) (fun s =>
    map fst (asked_earlier (asked s)) = [7; 8] /\ judged_by s (summary_head s) = [10; 20] /\
    steps_judged 0 s (summary_head s) = [1; 2; 3; 4; 5]).
Proof. vm_compute. auto. Qed.
(* a standing instruction that is nearer hides no other *)
Example standing_hides_nothing :
  then_ [instruct 10; grow 1; stand 99; grow 2; fall_back 7; pass] (fun s => shown s = [10; 99]) /\
  then_ [instruct 10; grow 1; stand 99; grow 2; compress 7; pass] (fun s => shown s = [10; 99]).
Proof. vm_compute. auto. Qed.
(* the end of a subgoal makes room for the next instruction, and only for one that is not standing *)
Example next_one_replaces :
  then_ [instruct 10; grow 1; compress 7; pass] (fun s => shown s = [10]) /\
  then_ [instruct 10; grow 1; compress 7; pass; instruct 20; grow 2] (fun s => shown s = [20]) /\
  then_ [instruct 10; grow 1; compress 7; pass; stand 20; grow 2] (fun s => shown s = [10; 20]).
Proof. vm_compute. auto. Qed.
(* the same again at the same step, as a driver does that repeats itself, changes nothing *)
Example instruct_is_idempotent :
  then_ [instruct 10; instruct 10] (fun s => shown s = [10]) /\
  then_ [instruct 10; stand 10] (fun s => shown s = [10; 10]).
Proof. vm_compute. auto. Qed.
(* one that was given while the judge thinks does not enter the question, and is left behind by the revise
   that a failure forces, which says so *)
Example instruction_goes_with_the_failed_summary :
  then_ [grow 1; compress 7; stand 20] (fun s => shown s = [20] /\ judged_by s 1 = []) /\
  then_ [grow 1; compress 7; stand 20; fail 5] (fun s => left_behind 0 s 0 = [(20, true)]) /\
  then_ [grow 1; compress 7; stand 20; fail 5; revise 0 5] (fun s => shown s = []).
Proof. vm_compute. auto 6. Qed.

(* ---- D7, D1 ---- *)
(* step 1 is a boundary (of summary 1) and lies on the active path, but not that summary: no target *)
Example boundary_on_the_active_path_is_too_wide :
  then_ [grow 1; compress 7; fail 5; revise 0 0; grow 1; grow 2; compress 8; pass] (fun s =>
    active_path 0 s = [0; 1; 2] /\ boundary s 1 = 1 /\ summary_path s (summary_head s) = [0; 2] /\
    refused s (revise 1 0) (UnknownBoundary [0; 2])).
Proof. vm_compute. auto. Qed.
(* "the summary that ends at b" is not one: 1 and 3 both end at 2, and revise means the one on the path *)
Example two_summaries_end_at_one_boundary :
  then_ [grow 1; grow 2; compress 7; pass; revise 0 0; grow 1; compress 8; pass; grow 2; compress 9; pass]
    (fun s => boundary s 1 = 2 /\ boundary s 3 = 2 /\ summary_path s (summary_head s) = [0; 2; 3] /\
      exists s', taken s (Revise 2 0) = Done s' /\ summary_head s' = 3).
Proof. vm_compute. intuition eauto. Qed.
(* L9. A lesson that is left through summary 3 stands at the boundary of summary 1 too *)
Example lessons_are_shared_by_a_boundary :
  then_ [grow 1; grow 2; compress 7; pass; revise 0 0; grow 1; compress 8; pass; grow 2; compress 9; pass;
         revise 2 4]
    (fun s => lessons_at s (boundary s 1) = [4] /\ summary_path s (summary_head s) = [0; 2; 3]).
Proof. vm_compute. auto. Qed.
(* in Rejected the failed summary must go; before it fails its own boundary drops the open segment only *)
Example failed_head_is_no_target :
  then_ [grow 1; compress 7; grow 2; revise 1 0] (fun s => phase s = Unverified /\ R 0 s = []) /\
  then_ [grow 1; compress 7; grow 2; fail 5] (fun s =>
    refused s (revise 1 0) (UnknownBoundary [0]) /\ refused s (grow 3) IllegalPhase).
Proof. vm_compute. auto. Qed.

(* ---- D3, D4, D10, D12, D16 ---- *)
(* the paper's first Compress reads the root's covers, and an empty segment gives a node without any *)
Example nothing_open_is_refused :
  then_ [] (fun s => refused s (compress 7) (EmptySegment 0)) /\
  then_ [grow 1; compress 7; pass] (fun s =>
    refused s (compress 0) (EmptySegment 1) /\ refused s (fall_back 8) (EmptySegment 1)) /\
  then_ [grow 1] (fun s => refused s (compress 0) BlankSummary).
Proof. vm_compute. auto. Qed.
(* growing back into a branch that was left is a merge, and compressing it again asks the judge again *)
Example merges_ask_again :
  then_ [grow 1; compress 7; pass; revise 0 6; grow 1; fall_back 7] (fun s =>
    next_step s = 2 /\ next_summary s = 2 /\ phase s = Unverified /\
    kind (summary 0 s 1) = Fallback /\ lessons s = [(0, 6)]).
Proof. vm_compute. auto 6. Qed.
(* what an old failure said of the steps is left as a lesson, at the label; what it said of the text is not *)
Example old_feedback_is_left :
  then_ [grow 1; compress 7; fail 5; retext 8] (fun s => lessons s = [(0, 5)]) /\
  then_ [grow 1; compress 7; misread 5; retext 8] (fun s => lessons s = []) /\
  then_ [grow 1; compress 7; fail 5; accept; revise 0 6; grow 1; compress 8]
    (fun s => lessons s = [(0, 6); (0, 5)]) /\
  then_ [grow 1; fall_back 7; fail 5; accept; compress 8] (fun s => lessons s = [(0, 5)]).
Proof. vm_compute. auto. Qed.
(* a fallback is made a subgoal by compress with nothing open, or by retext while it is pending; then the
   answer to the old question is stale, and one to the new question is not *)
Example complete_while_fallback_pending :
  then_ [grow 1; fall_back 7] (fun s => refused s (compress 8) IllegalPhase /\
    let old := asked s in
    match all s [complete 8] with
    | Some s' => kind (summary 0 s' 1) = Subgoal /\
        refused s' (fun _ => ApplyVerdict Pass old) (StaleVerdict (Some (asked s'))) /\
        match all s' [pass] with Some s'' => phase s'' = Active | None => False end
    | None => False
    end).
Proof. vm_compute. auto. Qed.
(* D5. A late answer meets its question again where exactly this one is asked again, and no other *)
Example a_late_answer :
  then_ [grow 1; compress 7] (fun s =>
    let old := asked s in
    match all s [revise 0 6; grow 1; compress 7] with Some s' => asked s' = old | None => False end /\
    match all s [revise 0 6; instruct 9; grow 1; compress 7] with
    | Some s' => refused s' (fun _ => ApplyVerdict Pass old) (StaleVerdict (Some (asked s')))
    | None => False
    end).
Proof. vm_compute. auto. Qed.
(* D13. A judge and a re-texter may go round without end, and without any revision: policy must count both *)
Example retext_loop_has_no_bound :
  then_ ([grow 1; compress 7] ++ concat (repeat [fail 5; retext 7] 9)) (fun s =>
    phase s = Unverified /\ length (lessons s) = 9).
Proof. vm_compute. auto. Qed.
