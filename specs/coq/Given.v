(* What is given from outside, and all that is assumed of it; then the words of Machine.v with the given
   filled in. Not a module: `Load "Given".` stands at the head of the section of each file of proofs.
   A proof that uses an assumption says so: `Proof using same_spec.` *)
Set Implicit Arguments. Unset Strict Implicit.
Set Default Proof Using "Type".

Variable Text : Type.
Variable nothing : Text.
Variable same : Text -> Text -> bool.
Variable blank : Text -> bool.
Variable Digest : Type.
Variable same_digest : Digest -> Digest -> bool.
Variable digest_of : Question Text -> Digest.
Variable digest_of_fold : FoldQuestion Text -> Digest.

Hypothesis same_spec : forall x y, same x y = true <-> x = y.
Hypothesis same_digest_spec : forall x y, same_digest x y = true <-> x = y.

Notation State := (Machine.State Text).
Notation Outcome := (Machine.Outcome Text Digest).
Notation Command := (Machine.Command Text Digest).
Notation Refusal := (Machine.Refusal Digest).
Implicit Types s : State.

Notation root_step := (Machine.root_step nothing).
Notation root_summary := (Machine.root_summary nothing).
Notation start := (Machine.start nothing).

Notation step := (Machine.step nothing).
Notation summary := (Machine.summary nothing).
Notation above_of := (Machine.above_of nothing).
Notation parent_of := (Machine.parent_of nothing).
Notation after_of := (Machine.after_of nothing).
Notation boundary := (Machine.boundary nothing).
Notation current_boundary := (Machine.current_boundary nothing).
Notation step_path := (Machine.step_path nothing).
Notation summary_path := (Machine.summary_path nothing).
Notation active_path := (Machine.active_path nothing).
Notation steps_after := (Machine.steps_after nothing).
Notation open_segment := (Machine.open_segment nothing).
Notation earlier := (Machine.earlier nothing).
Notation way := (Machine.way nothing).

Notation Chapter := (Machine.Chapter Text).
Notation Line := (Machine.Line Text).
Notation ending_at := (@Machine.ending_at Text).
Notation read := (Machine.read nothing).
Notation lines := (Machine.lines nothing).
Notation line_label := (Machine.line_label nothing).
Notation line_boundary := (Machine.line_boundary nothing).
Notation under := (Machine.under nothing).
Notation inside := (Machine.inside nothing).

Notation C := (Machine.C nothing).
Notation R := (Machine.R nothing).
Notation H := (Machine.H nothing).
Notation lessons_at := (@Machine.lessons_at Text).
Notation lessons_of := (@Machine.lessons_of Text).
Notation is_fallback := (Machine.is_fallback nothing).
Notation tried := (Machine.tried nothing).
Notation told := (Machine.told nothing).
Notation phase := (Machine.phase nothing).

Notation no_fallback := (Machine.no_fallback nothing).
Notation base := (Machine.base nothing).
Notation since_base := (Machine.since_base nothing).
Notation in_force := (Machine.in_force nothing).
Notation instructions_shown := (Machine.instructions_shown nothing).
Notation instructions_judged := (Machine.instructions_judged nothing).

Notation told_by := (Machine.told_by nothing).
Notation question := (Machine.question nothing).
Notation said := (Machine.said nothing).
Notation before := (Machine.before nothing).
Notation lines_before := (Machine.lines_before nothing).
Notation other_earlier := (Machine.other_earlier nothing).
Notation hints := (Machine.hints nothing).
Notation boundaries := (Machine.boundaries nothing).
Notation steps_since_root := (Machine.steps_since_root nothing).
Notation digest := (Machine.digest nothing digest_of).
Notation expected := (Machine.expected nothing digest_of).
Notation run_to_fold := (Machine.run_to_fold nothing).
Notation fold_question := (Machine.fold_question nothing).
Notation may_be_folded := (Machine.may_be_folded nothing).
Notation chapter_of := (Machine.chapter_of nothing).

Notation with_lesson := (Machine.with_lesson blank).
Notation same_content := (Machine.same_content same).
Notation child_with := (Machine.child_with nothing same).
Notation leave := (Machine.leave blank).
Notation retexted := (Machine.retexted nothing blank).
Notation child_covering := (Machine.child_covering nothing).
Notation new_parent := (Machine.new_parent nothing).
Notation to_cover := (Machine.to_cover nothing).
Notation compressed := (Machine.compressed nothing).
Notation origins := (Machine.origins nothing).
Notation known_origin := (Machine.known_origin nothing).
Notation same_instruction := (Machine.same_instruction same).
Notation targets := (Machine.targets nothing).
Notation legal_boundaries := (Machine.legal_boundaries nothing).
Notation abandoned := (Machine.abandoned nothing).
Notation left_behind := (Machine.left_behind nothing).

Notation Done := (@Machine.Done Text Digest).
Notation Refused := (@Machine.Refused Text Digest).
Notation grow := (@Machine.grow Text nothing same Digest).
Notation compress := (@Machine.compress Text nothing blank Digest).
Notation retext := (@Machine.retext Text nothing blank Digest).
Notation apply_verdict := (@Machine.apply_verdict Text nothing blank Digest same_digest digest_of).
Notation accept := (@Machine.accept Text nothing Digest).
Notation revise := (@Machine.revise Text nothing blank Digest).
Notation fold := (@Machine.fold Text nothing blank Digest same_digest digest_of_fold).
Notation instruct := (@Machine.instruct Text nothing same blank Digest).
Notation exec := (Machine.exec nothing same blank same_digest digest_of digest_of_fold).
Notation next := (Machine.next nothing same blank same_digest digest_of digest_of_fold).
Notation run := (Machine.run nothing same blank same_digest digest_of digest_of_fold).
Notation reachable := (Machine.reachable nothing same blank same_digest digest_of digest_of_fold).
Notation paper_revise := (Machine.paper_revise nothing blank).
Notation while_not := (Machine.while_not nothing).
