(* The decisions at work: short histories, run by the machine, most of them cases that an earlier wording of
   the decisions got wrong. Texts are numbers, 0 is a blank one, and a question is its own digest. *)
From Coq Require Import List Arith Bool.
From Mage Require Import Path Machine.
Import ListNotations.

Definition question_eq (p q : Question nat) : {p = q} + {p <> q}.
Proof. repeat decide equality. Defined.
Definition same_question p q := if question_eq p q then true else false.
Definition fold_question_eq (p q : FoldQuestion nat) : {p = q} + {p <> q}.
Proof. repeat decide equality. Defined.
(* one kind of digest for both: a question is its own *)
Definition Asked := (Question nat + FoldQuestion nat)%type.
Definition same_asked (p q : Asked) := match p, q with
  | inl p, inl q => same_question p q
  | inr p, inr q => if fold_question_eq p q then true else false
  | _, _ => false end.

(* what Given.v assumes can be had, a digest without collision too *)
Example assumptions_hold :
  (forall x y, Nat.eqb x y = true <-> x = y) /\ (forall p q, same_asked p q = true <-> p = q) /\
  (forall p q : Question nat, @inl _ (FoldQuestion nat) p = inl q -> p = q).
Proof.
  split; [exact Nat.eqb_eq|]. split; [|intros p q E; now injection E].
  intros [p|p] [q|q]; simpl; try (split; discriminate).
  - unfold same_question. destruct (question_eq p q); split; congruence.
  - destruct (fold_question_eq p q); split; congruence.
Qed.

Notation State := (Machine.State nat).
Notation Command := (Machine.Command nat Asked).
Notation taken := (exec 0 Nat.eqb (Nat.eqb 0) same_asked inl inr).
Notation asked := (digest 0 (@inl _ (FoldQuestion nat))).
Notation question s := (Machine.question 0 s (summary_head s)).
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
Definition refused (s : State) (m : Move) (why : Refusal Asked) := taken s (m s) = Refused why.

Definition grow c : Move := fun _ => Grow (c, c).
Definition compress m : Move := fun _ => Compress m Subgoal.
Definition fall_back m : Move := fun _ => Compress m Fallback.
Definition retext m : Move := fun _ => Retext m.
Definition pass : Move := fun s => ApplyVerdict Pass (asked s).
Definition fail f : Move := fun s => ApplyVerdict (Fail f InExecution None) (asked s).
Definition misread f : Move := fun s => ApplyVerdict (Fail f InSummary None) (asked s).
Definition fail_at b f : Move := fun s => ApplyVerdict (Fail f InExecution (Some b)) (asked s).
Definition misread_at b f : Move := fun s => ApplyVerdict (Fail f InSummary (Some b)) (asked s).
Definition accept : Move := fun _ => Accept.
Definition revise b l : Move := fun _ => Revise b l.
Definition instruct x : Move := fun _ => Instruct (x, false).
Definition stand x : Move := fun _ => Instruct (x, true).
Definition fold n b m : Move := fun s => Fold n b m
  (match run_to_fold 0 s n b with Some run => inr (fold_question 0 s run m) | None => inl (question s) end).

(* ---- D17 ---- *)
Definition two := [grow 1; instruct 10; grow 2; instruct 20; grow 3].
(* a fallback in between takes no instruction out of force *)
Example fallback_keeps_both :
  then_ two (fun s => shown s = [10; 20]) /\ then_ (two ++ [fall_back 7; pass]) (fun s => shown s = [10; 20]).
Proof. vm_compute. auto. Qed.
(* ... and the judge of the subgoal hears both, and sees all four steps in one run *)
Example judge_hears_both :
  then_ (two ++ [fall_back 7; pass; grow 4; compress 8]) (fun s =>
    judged_by s (summary_head s) = [10; 20] /\ map fst (asked_covers (question s)) = [1; 2; 3; 4]).
Proof. vm_compute. auto. Qed.
(* of two fallbacks as well, whose texts it is given, oldest first; they are no lines of C any more *)
Example judge_is_given_both_texts :
  then_ (two ++ [fall_back 7; pass; grow 4; fall_back 8; accept; grow 5; compress 9]) (fun s =>
    map (fun x => snd (fst (snd x))) (asked_earlier (question s)) = [7; 8] /\ judged_by s (summary_head s) = [10; 20] /\
    map fst (asked_covers (question s)) = [1; 2; 3; 4; 5] /\
    C 0 s = [OfSummary 3] /\ way 0 s (summary_head s) = [0; 1; 2; 3]).
Proof. vm_compute. auto 6. Qed.
(* D5: the judge sees what stands above, and what else was tried on the way, but not what is being judged *)
Example judge_sees_what_is_above :
  then_ [grow 1; compress 7; pass; grow 2; compress 8; pass; revise 1 0; grow 3; fall_back 4; pass; grow 5; compress 9]
    (fun s => map (fun x => snd (fst x)) (asked_before (question s)) = [7] /\
       hints 0 s (summary_head s) = ([2], [2], [])).
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
(* D7, D12: back to where a fallback ended that the failed subgoal took in: its line and its steps are there again *)
Example back_into_the_subgoal :
  then_ [grow 1; fall_back 7; pass; grow 2; fall_back 8; pass; grow 3; compress 9; fail_at 1 5] (fun s =>
    C 0 s = [OfSummary 3] /\ legal_boundaries 0 s = [0; 1; 2]) /\
  then_ [grow 1; fall_back 7; pass; grow 2; fall_back 8; pass; grow 3; compress 9; fail_at 1 5; revise 1 5] (fun s =>
    C 0 s = [OfSummary 1] /\ step_head s = 1 /\ phase s = Active).
Proof. vm_compute. auto. Qed.
(* where a subgoal and the fallback that it took in last have one boundary, the subgoal is meant, and once it has
   failed neither is a target *)
Example the_subgoal_is_meant :
  then_ [grow 1; fall_back 7; pass; grow 2; fall_back 8; pass; compress 9] (fun s =>
    way 0 s (summary_head s) = [0; 1; 2; 3] /\ boundary s 2 = 2 /\ boundary s 3 = 2 /\
    legal_boundaries 0 s = [0; 1; 2] /\ boundaries 0 s 3 = [0; 1] /\
    exists s', taken s (Revise 2 0) = Done s' /\ summary_head s' = 3) /\
  then_ [grow 1; fall_back 7; pass; grow 2; fall_back 8; pass; compress 9; fail 5] (fun s =>
    legal_boundaries 0 s = [0; 1]).
Proof. vm_compute. intuition eauto. Qed.
(* D5: what a verdict may name, and in which order it is refused *)
Example where_it_began :
  then_ [grow 1; compress 7; pass; grow 2; compress 8] (fun s =>
    refused s (fail_at 2 5) (UnknownBoundary [0; 1]) /\ refused s (fail_at 2 0) (UnknownBoundary [0; 1]) /\
    refused s (misread_at 1 5) (UnknownBoundary []) /\ refused s (fail_at 1 0) BlankFeedback).
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
  then_ [grow 1; fall_back 7; fail 5; accept; compress 8] (fun s => lessons s = [(0, 5)] /\ next_summary s = 2).
Proof. vm_compute. auto. Qed.
(* a fallback that is all of its subgoal is made a subgoal by compress with nothing open, but not while it is pending *)
Example complete_with_nothing_open :
  then_ [grow 1; fall_back 7] (fun s => refused s (compress 8) IllegalPhase) /\
  then_ [grow 1; fall_back 7; pass] (fun s => refused s (fall_back 8) (EmptySegment 1)) /\
  then_ [grow 1; fall_back 7; pass; compress 8] (fun s =>
    next_summary s = 2 /\ kind (summary 0 s 1) = Subgoal /\ after (summary 0 s 1) = 0 /\ phase s = Unverified).
Proof. vm_compute. auto 6. Qed.
(* L12: cut or not, the same summary, under its own id, made from another head *)
Example taken_again_from_another_head :
  then_ [grow 1; grow 2; compress 7; fail 5; revise 0 0; grow 1; fall_back 6; pass; grow 2; compress 8] (fun s =>
    summary_head s = 1 /\ after (summary 0 s 1) = 2 /\ covers (summary 0 s 1) = [1; 2] /\ next_summary s = 3).
Proof. vm_compute. auto 6. Qed.
(* D8, D13: a fallback does not hide what was learned where its subgoal began *)
Example lessons_reach_over_fallbacks :
  then_ [grow 1; revise 0 5; grow 1; fall_back 7; pass] (fun s => snd (H 0 s) = [(0, 5)]) /\
  then_ [grow 1; revise 0 5; grow 1; compress 7; pass] (fun s => snd (H 0 s) = []).
Proof. vm_compute. auto. Qed.

(* ---- D19 ---- *)
Definition three := [grow 1; compress 11; pass; grow 2; compress 12; accept; grow 3; compress 13; pass].
(* chapters fold into chapters; what is inside is still there to be asked for *)
Example chapters_nest :
  then_ (three ++ [fold 0 2 21]) (fun s => length (C 0 s) = 2 /\
    map (accepted_under (Text := nat)) (chapters s) = [1]) /\
  then_ (three ++ [fold 0 2 21; fold 0 3 22]) (fun s =>
    map (line_label 0 s) (C 0 s) = [0] /\ map (line_boundary 0 s) (C 0 s) = [3] /\
    map (fun l => (line_label 0 s l, line_boundary 0 s l)) (flat_map (inside 0 s) (C 0 s)) = [(0, 2); (2, 3)] /\
    flat_map (inside 0 s) (flat_map (inside 0 s) (C 0 s)) = [OfSummary 1; OfSummary 2]).
Proof. vm_compute. auto 6. Qed.
(* going back to somewhere inside shows the lines inside; coming back, judged on other words, does not fold them *)
Example inside_shows_again :
  then_ (three ++ [fold 0 2 21; fold 0 3 22; revise 2 0]) (fun s => map (line_boundary 0 s) (C 0 s) = [2]) /\
  then_ (three ++ [fold 0 2 21; fold 0 3 22; revise 1 0]) (fun s => C 0 s = [OfSummary 1]) /\
  then_ (three ++ [fold 0 2 21; fold 0 3 22; revise 1 0; grow 2; compress 14; pass; grow 3; compress 13; pass])
    (fun s => C 0 s = [OfSummary 1; OfSummary 2; OfSummary 3] /\ chapters s = []).
Proof. vm_compute. auto 6. Qed.
(* two lines at least, whole, from above to below, none of them a fallback; then the text, then the request *)
Example what_cannot_be_folded :
  then_ three (fun s =>
    refused s (fold 0 1 21) (UnfoldableRange [(0, 1); (1, 2); (2, 3)]) /\
    refused s (fold 1 1 0) (UnfoldableRange [(0, 1); (1, 2); (2, 3)]) /\
    refused s (fold 0 2 0) BlankSummary /\
    exists q, refused s (fun _ => Fold 0 2 21 (inl (question s))) (StaleVerdict (Some (inr q)))) /\
  then_ [grow 1; compress 11; pass; grow 2; fall_back 12; pass]
    (fun s => refused s (fold 0 2 21) (UnfoldableRange [(0, 1)])).
Proof. vm_compute. intuition eauto. Qed.
(* a fold leaves the question of the next subgoal as it is: before stands unfolded *)
Example a_fold_is_beside_the_question :
  then_ (three ++ [fold 0 2 21; grow 4; compress 14]) (fun s =>
    map (fun x => snd (fst x)) (asked_before (question s)) = [11; 12; 13] /\ length (lines_before 0 s 4) = 2).
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
