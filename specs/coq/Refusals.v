(* What is refused, and how: L7, and the conditions of D3 to D7, D16, D17 and D19 as one list of rules. *)
From Coq Require Import List Arith Bool.
From Mage Require Import Path Machine.
Import ListNotations.

(* reads an accepted or refused operation, case by case *)
Ltac by_cases := repeat match goal with
  | H : _ = Refused _ |- _ => injection H as <- || discriminate H
  | H : _ = Done _ |- _ => injection H as <- || discriminate H
  | H : context [match phase ?x ?s with _ => _ end] |- _ => destruct (phase x s) eqn:?
  | H : context [match to_cover ?x ?s ?k with _ => _ end] |- _ => destruct (to_cover x s k) eqn:?
  | H : context [match run_to_fold ?x ?s ?n ?b with _ => _ end] |- _ => destruct (run_to_fold x s n b) eqn:?
  | H : context [match find ?f ?l with _ => _ end] |- _ => destruct (find f l) eqn:?
  | H : context [match ?a with Pass => _ | Fail _ _ _ => _ end] |- _ => destruct a
  | H : context [match child_with ?x ?y ?s ?c with _ => _ end] |- _ => destruct (child_with x y s c)
  | H : context [match child_covering ?x ?s ?p ?c with _ => _ end] |- _ => destruct (child_covering x s p c)
  | H : context [if negb ?b then _ else _] |- _ => destruct b eqn:?; simpl in H
  | H : context [if ?b then _ else _] |- _ => destruct b eqn:?
  end.

Section Refusals.
Load "Given".

(* ---- L7 ---- *)
(* L7: a refused operation leaves the state as it was *)
Theorem refusal_changes_nothing : forall s c why, exec s c = Refused why -> next s c = s.
Proof. intros s c why H. unfold Machine.next. now rewrite H. Qed.

(* ... and is taken exactly like one that was never given: no run is told from the one without it *)
Theorem refusals_leave_no_trace : forall s c why cs, exec s c = Refused why ->
  run s (c :: cs) = run s cs.
Proof. intros s c why cs H. unfold Machine.run. simpl. now rewrite (refusal_changes_nothing H). Qed.

(* ---- what is refused, and how (D3 to D7, D16, D17, D19) ---- *)
(* Every refusal there is. The rules of one command exclude each other, in D3's order: phase, then target,
   then blank. For a verdict the targets are the question that it answers and the boundary that it names;
   for a fold the lines, then a text that is not blank, then the request that was judged. *)
Inductive refused s : Command -> Refusal -> Prop :=
  | grow_after_a_failure : forall c, phase s = Rejected -> refused s (Grow c) IllegalPhase
  | instruct_after_a_failure : forall x, phase s = Rejected -> refused s (Instruct x) IllegalPhase
  | instruct_blank : forall x, phase s <> Rejected -> blank (fst x) = true ->
      refused s (Instruct x) BlankInstruction
  | compress_before_trust : forall m k, phase s <> Active -> refused s (Compress m k) IllegalPhase
  | compress_nothing : forall m k, phase s = Active -> to_cover s k = [] ->
      refused s (Compress m k) (EmptySegment (current_boundary s))
  | compress_blank : forall m k, phase s = Active -> to_cover s k <> [] -> blank m = true ->
      refused s (Compress m k) BlankSummary
  | retext_what_is_trusted : forall m, phase s = Active -> refused s (Retext m) IllegalPhase
  | retext_blank : forall m, phase s <> Active -> blank m = true -> refused s (Retext m) BlankSummary
  | verdict_on_nothing : forall a d, phase s <> Unverified ->
      refused s (ApplyVerdict a d) (StaleVerdict None)
  | verdict_overtaken : forall a d, phase s = Unverified -> d <> digest s ->
      refused s (ApplyVerdict a d) (StaleVerdict (Some (digest s)))
  | origin_elsewhere : forall f k b d, phase s = Unverified -> d = digest s -> ~ In b (origins s k) ->
      refused s (ApplyVerdict (Fail f k (Some b)) d) (UnknownBoundary (origins s k))
  | feedback_blank : forall f k o d, phase s = Unverified -> d = digest s ->
      (forall b, o = Some b -> In b (origins s k)) -> blank f = true ->
      refused s (ApplyVerdict (Fail f k o) d) BlankFeedback
  | accept_what_is_trusted : phase s = Active -> refused s Accept IllegalPhase
  | revise_elsewhere : forall b l, ~ In b (legal_boundaries s) ->
      refused s (Revise b l) (UnknownBoundary (legal_boundaries s))
  | fold_before_trust : forall n b m d, phase s <> Active -> refused s (Fold n b m d) IllegalPhase
  | fold_elsewhere : forall n b m d, phase s = Active -> run_to_fold s n b = None ->
      refused s (Fold n b m d) (UnfoldableRange (may_be_folded s))
  | fold_blank : forall n b m d run, phase s = Active -> run_to_fold s n b = Some run -> blank m = true ->
      refused s (Fold n b m d) BlankSummary
  | fold_overtaken : forall n b m d run, phase s = Active -> run_to_fold s n b = Some run -> blank m = false ->
      d <> digest_of_fold (fold_question s run m) ->
      refused s (Fold n b m d) (StaleVerdict (Some (digest_of_fold (fold_question s run m)))).

Lemma mem_is : forall n ns, mem n ns = true <-> In n ns.
Proof.
  intros n ns. unfold mem. rewrite existsb_exists. split.
  - intros [m [Hm E]]. apply Nat.eqb_eq in E. now subst m.
  - intro Hn. exists n. split; [exact Hn|apply Nat.eqb_refl].
Qed.
Lemma mem_is_not : forall n ns, mem n ns = false <-> ~ In n ns.
Proof. intros n ns. rewrite <- mem_is. destruct (mem n ns); split; congruence. Qed.
Lemma known_origin_is : forall s k o, known_origin s k o = true <-> forall b, o = Some b -> In b (origins s k).
Proof.
  intros s k [b|]; simpl; [rewrite mem_is|]; split; intro H; auto.
  - intros c E. now injection E as <-.
  - discriminate.
Qed.

Lemma no_target : forall s b, find (fun t => boundary s t =? b) (rev (targets s)) = None <->
  ~ In b (legal_boundaries s).
Proof.
  intros s b. unfold Machine.legal_boundaries, distinct. rewrite nodup_In. split.
  - intros H Hin. apply in_map_iff in Hin as [t [E Hin]]. rewrite in_rev in Hin.
    apply (find_none _ _ H) in Hin. apply Nat.eqb_neq in Hin. contradiction.
  - intro H. destruct (find _ _) as [t|] eqn:F; [|reflexivity]. exfalso.
    apply find_some in F as [Hin E]. rewrite <- in_rev in Hin. apply Nat.eqb_eq in E. apply H, in_map_iff. eauto.
Qed.

Lemma refused_if : forall s c why, exec s c = Refused why -> refused s c why.
Proof using same_digest_spec.
  intros s [x|c|m k|m|a d| |b l|n b m d] why H; simpl in H.
  - unfold Machine.instruct in H. by_cases; constructor; congruence.
  - unfold Machine.grow in H. by_cases; constructor; congruence.
  - unfold Machine.compress in H. by_cases; constructor; congruence.
  - unfold Machine.retext in H. by_cases; constructor; congruence.
  - unfold Machine.apply_verdict in H. destruct (phase s) eqn:P;
      try (injection H as <-; apply verdict_on_nothing; congruence).
    destruct (same_digest d (digest s)) eqn:D; simpl in H.
    2: { injection H as <-. apply verdict_overtaken; [exact P|]. intro E. apply same_digest_spec in E. congruence. }
    apply same_digest_spec in D. destruct a as [|f k o]; [discriminate|].
    destruct (known_origin s k o) eqn:O; simpl in H.
    + destruct (blank f) eqn:B; [|discriminate]. injection H as <-. apply feedback_blank; auto.
      now apply known_origin_is.
    + destruct o as [b|]; [|discriminate]. injection H as <-. apply origin_elsewhere; auto.
      now apply mem_is_not.
  - unfold Machine.accept in H. by_cases; constructor; congruence.
  - unfold Machine.revise in H. by_cases. constructor. now apply no_target.
  - unfold Machine.fold in H. destruct (phase s) eqn:P; try (injection H as <-; constructor; congruence).
    destruct (run_to_fold s n b) as [run|] eqn:F; [|injection H as <-; now constructor].
    destruct (blank m) eqn:B; [injection H as <-; econstructor; eauto|].
    destruct (same_digest d _) eqn:D; simpl in H; [discriminate|]. injection H as <-. constructor; auto.
    intro E. apply same_digest_spec in E. congruence.
Qed.

Lemma refused_then : forall s c why, refused s c why -> exec s c = Refused why.
Proof using same_digest_spec.
  intros s c why [? P|? P|? P B|? ? P|? ? P E|? ? P E B|? P|? P B|? ? P|? ? P D|f k b d P D O|f k o d P D O B|P|? ? N
    |? ? ? ? P|? ? ? ? P F|? ? ? ? ? P F B|? ? ? ? ? P F B D]; simpl.
  - unfold Machine.grow. now rewrite P.
  - unfold Machine.instruct. now rewrite P.
  - unfold Machine.instruct. rewrite B. now destruct (phase s).
  - unfold Machine.compress. now destruct (phase s).
  - unfold Machine.compress. now rewrite P, E.
  - unfold Machine.compress. rewrite P, B. now destruct (to_cover s k).
  - unfold Machine.retext. now rewrite P.
  - unfold Machine.retext. rewrite B. now destruct (phase s).
  - unfold Machine.apply_verdict. now destruct (phase s).
  - unfold Machine.apply_verdict. rewrite P. destruct (same_digest _ _) eqn:E; [|reflexivity].
    apply same_digest_spec in E. contradiction.
  - unfold Machine.apply_verdict. rewrite P. apply same_digest_spec in D. rewrite D. simpl.
    apply mem_is_not in O. now rewrite O.
  - unfold Machine.apply_verdict. rewrite P, B. apply same_digest_spec in D. rewrite D. simpl.
    apply known_origin_is in O. now rewrite O.
  - unfold Machine.accept. now rewrite P.
  - unfold Machine.revise. apply no_target in N. now rewrite N.
  - unfold Machine.fold. now destruct (phase s).
  - unfold Machine.fold. now rewrite P, F.
  - unfold Machine.fold. now rewrite P, F, B.
  - unfold Machine.fold. rewrite P, F, B. destruct (same_digest _ _) eqn:E; [|reflexivity].
    apply same_digest_spec in E. contradiction.
Qed.

(* D3 to D7, D16, D17, D19: these commands are refused and no others, each with its one answer *)
Theorem what_is_refused : forall s c why, exec s c = Refused why <-> refused s c why.
Proof using same_digest_spec. split; [apply refused_if|apply refused_then]. Qed.
End Refusals.
