(* What is refused, and how: L7, and the conditions of D3 to D7, D16 and D17 as one list of rules. *)
From Coq Require Import List Arith Bool.
From Mage Require Import Path Machine.
Import ListNotations.

(* reads an accepted or refused operation, case by case *)
Ltac by_cases := repeat match goal with
  | H : _ = Refused _ |- _ => injection H as <- || discriminate H
  | H : _ = Done _ |- _ => injection H as <- || discriminate H
  | H : context [match phase ?x ?s with _ => _ end] |- _ => destruct (phase x s) eqn:?
  | H : context [match open_segment ?x ?s with _ => _ end] |- _ => destruct (open_segment x s) eqn:?
  | H : context [match find ?f ?l with _ => _ end] |- _ => destruct (find f l) eqn:?
  | H : context [match ?a with Pass => _ | Fail _ _ => _ end] |- _ => destruct a
  | H : context [match child_with ?x ?y ?s ?c with _ => _ end] |- _ => destruct (child_with x y s c)
  | H : context [match child_covering ?x ?s ?c with _ => _ end] |- _ => destruct (child_covering x s c)
  | H : context [if negb ?b then _ else _] |- _ => destruct b eqn:?; simpl in H
  | H : context [if ?b then _ else _] |- _ => destruct b eqn:?
  end.

Section Refusals.
Load "Given".

(* ---- L7 ---- *)
(* L7: a refused operation leaves the state as it was *)
Theorem refusal_changes_nothing : forall s c why, exec s c = Refused why -> after s c = s.
Proof. intros s c why H. unfold Machine.after. now rewrite H. Qed.

(* ... and is taken exactly like one that was never given: no run is told from the one without it *)
Theorem refusals_leave_no_trace : forall s c why cs, exec s c = Refused why ->
  run s (c :: cs) = run s cs.
Proof. intros s c why cs H. unfold Machine.run. simpl. now rewrite (refusal_changes_nothing H). Qed.

(* ---- what is refused, and how (D3 to D7, D16, D17) ---- *)
(* Every refusal there is. The rules of one command exclude each other, in D3's order: phase, then target,
   then blank. For a verdict the target is the question that it answers. *)
Definition something_to_compress s k :=
  R s <> [] \/ kind (summary s (summary_head s)) = Fallback /\ k = Subgoal.
Inductive refused s : Command -> Refusal -> Prop :=
  | grow_after_a_failure : forall c, phase s = Rejected -> refused s (Grow c) IllegalPhase
  | instruct_after_a_failure : forall x, phase s = Rejected -> refused s (Instruct x) IllegalPhase
  | instruct_blank : forall x, phase s <> Rejected -> blank (fst x) = true ->
      refused s (Instruct x) BlankInstruction
  | compress_before_trust : forall m k, phase s <> Active -> refused s (Compress m k) IllegalPhase
  | compress_nothing : forall m k, phase s = Active -> ~ something_to_compress s k ->
      refused s (Compress m k) (EmptySegment (current_boundary s))
  | compress_blank : forall m k, phase s = Active -> something_to_compress s k -> blank m = true ->
      refused s (Compress m k) BlankSummary
  | retext_what_is_trusted : forall m k, phase s = Active -> refused s (Retext m k) IllegalPhase
  | retext_blank : forall m k, phase s <> Active -> blank m = true -> refused s (Retext m k) BlankSummary
  | verdict_on_nothing : forall a d, phase s <> Unverified ->
      refused s (ApplyVerdict a d) (StaleVerdict None)
  | verdict_overtaken : forall a d, phase s = Unverified -> d <> digest s ->
      refused s (ApplyVerdict a d) (StaleVerdict (Some (digest s)))
  | feedback_blank : forall f k d, phase s = Unverified -> d = digest s -> blank f = true ->
      refused s (ApplyVerdict (Fail f k) d) BlankFeedback
  | accept_what_is_trusted : phase s = Active -> refused s Accept IllegalPhase
  | revise_elsewhere : forall b l, ~ In b (legal_boundaries s) ->
      refused s (Revise b l) (UnknownBoundary (legal_boundaries s)).

Lemma nothing_to_compress : forall s k, R s = [] -> completes s k = false -> ~ something_to_compress s k.
Proof.
  intros s k E Hc [H|[H ->]]; [contradiction|]. unfold Machine.completes in Hc. rewrite H in Hc. discriminate.
Qed.

Lemma completion_to_compress : forall s k, completes s k = true -> something_to_compress s k.
Proof.
  intros s k Hc. right. unfold Machine.completes in Hc.
  destruct (kind _), k; try discriminate; auto.
Qed.

Lemma no_target : forall s b, find (fun t => boundary s t =? b) (targets s) = None <->
  ~ In b (legal_boundaries s).
Proof.
  intros s b. unfold Machine.legal_boundaries. split.
  - intros H Hin. apply in_map_iff in Hin as [t [E Hin]].
    apply (find_none _ _ H) in Hin. apply Nat.eqb_neq in Hin. contradiction.
  - intro H. destruct (find _ _) as [t|] eqn:F; [|reflexivity]. exfalso.
    apply find_some in F as [Hin E]. apply Nat.eqb_eq in E. apply H, in_map_iff. eauto.
Qed.

Lemma refused_if : forall s c why, exec s c = Refused why -> refused s c why.
Proof using same_digest_spec.
  intros s [x|c|m k|m k|a d| |b l] why H; simpl in H.
  - unfold Machine.instruct in H. by_cases; constructor; congruence.
  - unfold Machine.grow in H. by_cases; constructor; congruence.
  - unfold Machine.compress in H. by_cases; constructor; try congruence.
    all: try (now apply completion_to_compress); try (now apply nothing_to_compress).
    all: left; unfold Machine.R; congruence.
  - unfold Machine.retext in H. by_cases; constructor; congruence.
  - unfold Machine.apply_verdict in H. by_cases; constructor; try congruence.
    all: try (now apply same_digest_spec).
    all: intro E; apply same_digest_spec in E; congruence.
  - unfold Machine.accept in H. by_cases; constructor; congruence.
  - unfold Machine.revise in H. by_cases. constructor. now apply no_target.
Qed.

Lemma refused_then : forall s c why, refused s c why -> exec s c = Refused why.
Proof using same_digest_spec.
  intros s c why [? P|? P|? P B|? ? P|? ? P E|? ? P E B|? ? P|? ? P B|? ? P|? ? P D|? ? ? P D B|P|? ? N];
    simpl.
  - unfold Machine.grow. now rewrite P.
  - unfold Machine.instruct. now rewrite P.
  - unfold Machine.instruct. rewrite B. now destruct (phase s).
  - unfold Machine.compress. now destruct (phase s).
  - unfold Machine.compress. rewrite P. destruct (open_segment s) eqn:O.
    + destruct (completes s k) eqn:K; [|reflexivity]. now apply completion_to_compress in K.
    + exfalso. apply E. left. unfold Machine.R. congruence.
  - unfold Machine.compress. rewrite P, B. destruct (open_segment s) eqn:O; [|reflexivity].
    destruct (completes s k) eqn:K; [reflexivity|]. now apply nothing_to_compress in K.
  - unfold Machine.retext. now rewrite P.
  - unfold Machine.retext. rewrite B. now destruct (phase s).
  - unfold Machine.apply_verdict. now destruct (phase s).
  - unfold Machine.apply_verdict. rewrite P. destruct (same_digest _ _) eqn:E; [|reflexivity].
    apply same_digest_spec in E. contradiction.
  - unfold Machine.apply_verdict. rewrite P, B. apply same_digest_spec in D. now rewrite D.
  - unfold Machine.accept. now rewrite P.
  - unfold Machine.revise. apply no_target in N. now rewrite N.
Qed.

(* D3 to D7, D16, D17: these commands are refused and no others, each with its one answer *)
Theorem what_is_refused : forall s c why, exec s c = Refused why <-> refused s c why.
Proof using same_digest_spec. split; [apply refused_if|apply refused_then]. Qed.
End Refusals.
