(* The phases of D6 and what moves between them; what a verdict, an acceptance and old feedback come to. *)
From Coq Require Import List Arith Bool Lia.
From Mage Require Import Path Machine Invariants Lines Kept Refusals Lost Laws.
Import ListNotations.

(* what a refusal is called, without what it tells *)
Inductive Name := illegal_phase | empty_segment | blank_summary | blank_instruction | blank_feedback
  | stale_verdict | unknown_boundary | unfoldable_range.

Section Phases.
Load "Given".
Notation Inv := (Inv nothing blank).
Notation new_after := (Invariants.new_after nothing).

(* ---- the table ---- *)
Definition name (why : Refusal) :=
  match why with
  | IllegalPhase => illegal_phase | EmptySegment _ => empty_segment | BlankSummary => blank_summary
  | BlankInstruction => blank_instruction | BlankFeedback => blank_feedback
  | StaleVerdict _ => stale_verdict | UnknownBoundary _ => unknown_boundary
  | UnfoldableRange _ => unfoldable_range
  end.
(* TRANSITIONS of mage/engine/machine.py, row by row: the phases it may end in, the refusals it may meet *)
Definition transitions p (c : Command) : list Phase * list Name :=
  match p, c with
  | Active, Instruct _ => ([Active], [blank_instruction])
  | Active, Grow _ => ([Active], [])
  | Active, Compress _ _ => ([Unverified], [empty_segment; blank_summary])
  | Active, Retext _ => ([], [illegal_phase])
  | Active, ApplyVerdict _ _ => ([], [stale_verdict])
  | Active, Accept => ([], [illegal_phase])
  | Active, Revise _ _ => ([Active], [unknown_boundary])
  | Active, Fold _ _ _ _ => ([Active], [unfoldable_range; blank_summary; stale_verdict])
  | Unverified, Instruct _ => ([Unverified], [blank_instruction])
  | Unverified, Grow _ => ([Unverified], [])
  | Unverified, Compress _ _ => ([], [illegal_phase])
  | Unverified, Retext _ => ([Unverified], [blank_summary])
  | Unverified, ApplyVerdict _ _ => ([Active; Rejected], [stale_verdict; unknown_boundary; blank_feedback])
  | Unverified, Accept => ([Active], [])
  | Unverified, Revise _ _ => ([Active; Unverified], [unknown_boundary])
  | Unverified, Fold _ _ _ _ => ([], [illegal_phase])
  | Rejected, Instruct _ => ([], [illegal_phase])
  | Rejected, Grow _ => ([], [illegal_phase])
  | Rejected, Compress _ _ => ([], [illegal_phase])
  | Rejected, Retext _ => ([Unverified], [blank_summary])
  | Rejected, ApplyVerdict _ _ => ([], [stale_verdict])
  | Rejected, Accept => ([Active], [])
  | Rejected, Revise _ _ => ([Active], [unknown_boundary])
  | Rejected, Fold _ _ _ _ => ([], [illegal_phase])
  end.

Lemma leave_summary : forall s b o t, summary (leave s b o) t = summary s t.
Proof. intros s b [l|] t; simpl; [|reflexivity]. unfold Machine.with_lesson. now destruct (blank l). Qed.
Lemma leave_head : forall s b o, summary_head (leave s b o) = summary_head s.
Proof. intros s b [l|]; simpl; [|reflexivity]. unfold Machine.with_lesson. now destruct (blank l). Qed.
Lemma retexted_at : forall s t m k, t < next_summary s ->
  summary (retexted s t m k) t = set_text m k (new_after s t) (summary s t).
Proof.
  intros s t m k L. unfold Machine.retexted. rewrite leave_summary. now rewrite changed_same.
Qed.
Lemma retexted_elsewhere : forall s t m k u, u <> t -> summary (retexted s t m k) u = summary s u.
Proof.
  intros s t m k u N. unfold Machine.retexted. rewrite leave_summary. now rewrite changed_other.
Qed.
Lemma retexted_head : forall s t m k, summary_head (retexted s t m k) = t.
Proof. intros s t m k. unfold Machine.retexted. now rewrite leave_head. Qed.

Lemma phase_of_retexted : forall s t m k, t < next_summary s -> phase (retexted s t m k) = Unverified.
Proof. intros s t m k L. unfold Machine.phase. now rewrite retexted_head, retexted_at by exact L. Qed.
Lemma phase_of_judged : forall s v, Inv s -> phase (judged s v) = phase_of_verdict v.
Proof.
  intros s v I. unfold Machine.phase, judged. cbn [summary_head changed_summary].
  now rewrite changed_same by apply I.
Qed.
Lemma phase_kept : forall s s', summaries s' = summaries s -> summary_head s' = summary_head s ->
  phase s' = phase s.
Proof. intros s s' E F. unfold Machine.phase, Machine.summary. now rewrite E, F. Qed.

(* D6: the phase that each command leads to *)
Theorem phases_are_as_said : forall s c s', reachable s -> exec s c = Done s' ->
  phase s' = match c with
             | Instruct _ | Grow _ => phase s
             | Compress _ _ | Retext _ => Unverified
             | ApplyVerdict Pass _ | Accept | Fold _ _ _ _ => Active
             | ApplyVerdict (Fail _ _ _) _ => Rejected
             | Revise b _ => if b =? current_boundary s then phase s else Active
             end.
Proof using same_spec same_digest_spec.
  intros s c s' Re G. pose proof (reachable_inv same_spec Re) as I.
  pose proof (inv_summary_head I) as L. destruct c as [x|c|m k|m|a d| |b l|n b m d]; simpl in G.
  - destruct (instruct_cases same_spec G) as [_ [_ [[_ ->]|[_ ->]]]]; now apply phase_kept.
  - destruct (grow_leads same_spec I G) as [_ [_ [_ [_ [E F]]]]]. now apply phase_kept.
  - destruct (compress_fresh I G) as [_ [_ [E _]]]. unfold Machine.phase. now rewrite E.
  - destruct (retext_cases G) as [_ [_ ->]]. now apply phase_of_retexted.
  - destruct (apply_verdict_cases same_digest_spec G) as [_ [_ E]].
    destruct a; [|destruct E as [_ [_ E]]]; subst s'; now rewrite phase_of_judged.
  - destruct (accept_cases G) as [_ ->]. now rewrite phase_of_judged.
  - destruct (revise_restores same_spec (b := b) (l := l) Re G) as [_ [_ [_ [Hin [B [_ [Es [_ Ta]]]]]]]].
    destruct (Nat.eqb_spec b (current_boundary s)) as [E|N].
    + destruct (Ta (summary_head s) (path_self _ (inv_parent I) _) (eq_sym E)) as [Eh _]. now apply phase_kept.
    + destruct (inv_trusted I Hin) as [Eh|T]; [unfold Machine.current_boundary in N; congruence|].
      unfold Machine.phase, Machine.summary. rewrite Es. now apply trusted_spec.
  - destruct (fold_makes G) as [P [run [_ ->]]]. exact P.
Qed.

(* D6: the table says so, refusals and all *)
Theorem table_holds : forall s c, reachable s ->
  (forall s', exec s c = Done s' -> In (phase s') (fst (transitions (phase s) c))) /\
  (forall why, exec s c = Refused why -> In (name why) (snd (transitions (phase s) c))).
Proof using same_spec same_digest_spec.
  intros s c Re. split.
  - intros s' G. rewrite (phases_are_as_said Re G).
    destruct (phase s) eqn:P, c as [x|c|m k|m|[|f k o] d| |b l|n b m d]; simpl; auto;
      try (destruct (_ =? _); simpl; auto; fail);
      try (exfalso; simpl in G; unfold Machine.grow, Machine.instruct, Machine.compress, Machine.retext,
             Machine.apply_verdict, Machine.accept, Machine.fold in G; rewrite P in G; discriminate).
    destruct (Nat.eqb_spec b (current_boundary s)) as [->|]; simpl; auto. exfalso.
    apply (reachable_inv same_spec) in Re. destruct (revise_spec Re G) as [t [_ [_ [Rj _]]]].
    pose proof (Rj P). lia.
  - intros why G. apply what_is_refused in G; [|exact same_digest_spec].
    destruct G; simpl; repeat match goal with
      | E : phase s = _ |- _ => rewrite E
      | N : phase s <> _ |- _ => destruct (phase s); try (now destruct N); clear N
      end; simpl; auto; destruct (phase s); simpl; auto.
Qed.

(* ---- what accept says (D6) ---- *)
(* accept is recorded as Accepted(despite = the failed verdict or None), and is no pass *)
Theorem accepted_openly : forall s s', reachable s -> exec s Accept = Done s' ->
  summary_head s' = summary_head s /\
  verdict (summary s' (summary_head s')) =
    Accepted match verdict (summary s (summary_head s)) with Failed f k o => Some (f, k, o) | _ => None end.
Proof using same_spec.
  intros s s' I G. apply (reachable_inv same_spec) in I. destruct (accept_cases G) as [_ ->].
  split; [reflexivity|]. unfold judged. cbn [summary_head changed_summary].
  now rewrite changed_same by apply I.
Qed.

(* nothing passes but by a pass that answers the question of the head *)
Theorem passed_by_the_judge : forall s c s' t, reachable s -> exec s c = Done s' ->
  verdict (summary s' t) = Passed -> verdict (summary s t) <> Passed ->
  c = ApplyVerdict Pass (digest s) /\ t = summary_head s /\ phase s = Unverified.
Proof using same_spec same_digest_spec.
  intros s c s' t I G V N. apply (reachable_inv same_spec) in I.
  pose proof (inv_summary_head I) as L.
  assert (Re : forall u m k, u < next_summary s -> verdict (summary (retexted s u m k) t) <> Passed).
  { intros u m k Lu. destruct (Nat.eq_dec t u) as [->|D].
    - now rewrite retexted_at.
    - now rewrite retexted_elsewhere. }
  assert (Ju : forall v, v <> Passed -> verdict (summary (judged s v) t) <> Passed).
  { intros v Nv. destruct (Nat.eq_dec t (summary_head s)) as [->|D].
    - unfold judged. now rewrite changed_same.
    - unfold judged. now rewrite changed_other. }
  destruct c as [x|c|m k|m|a d| |b l|n b m d]; simpl in G.
  - destruct (instruct_cases same_spec G) as [_ [_ [[_ ->]|[_ ->]]]]; contradiction.
  - destruct (grow_leads same_spec I G) as [_ [_ [_ [_ [E _]]]]]. unfold Machine.summary in *.
    rewrite E in V. contradiction.
  - exfalso. destruct (compress_fresh I G) as [Lt [_ [F [_ [_ [Old _]]]]]].
    destruct (Nat.eq_dec t (summary_head s')) as [->|D]; [rewrite F in V; discriminate|].
    destruct (lt_dec t (next_summary s)) as [Lo|Hi]; [rewrite Old in V by assumption; contradiction|].
    destruct (compress_cases I G) as [_ [_ [_ [[u [_ [Lu [_ [_ [_ [_ ->]]]]]]]|[_ ->]]]]].
    + rewrite retexted_elsewhere in V by (rewrite retexted_head in D; exact D). contradiction.
    + apply N. unfold Machine.summary. now rewrite nth_overflow by (unfold next_summary in Hi; lia).
  - destruct (retext_cases G) as [_ [_ ->]]. now apply Re in V.
  - destruct (apply_verdict_cases same_digest_spec G) as [P [-> E]]. destruct a as [|f k o].
    + subst s'. split; [reflexivity|]. split; [|exact P].
      destruct (Nat.eq_dec t (summary_head s)) as [E|D]; [exact E|exfalso].
      unfold judged in V. rewrite changed_other in V by exact D. contradiction.
    + destruct E as [_ [_ ->]]. now apply Ju in V.
  - destruct (accept_cases G) as [_ ->]. now apply Ju in V.
  - destruct (revise_spec I G) as [u [_ [_ [_ ->]]]]. rewrite with_lesson_is in V. contradiction.
  - destruct (fold_makes G) as [_ [run [_ ->]]]. contradiction.
Qed.

(* ---- what a new text leaves of the old verdict (D4, D12, D16) ---- *)
(* D4: if it had failed for execution, or was accepted despite such a failure, its feedback is first left as
   a lesson at its label; feedback on the text goes with the text *)
Theorem old_feedback_is_left : forall s c s', reachable s -> exec s c = Done s' ->
  match c with Compress _ _ | Retext _ => True | _ => False end ->
  let t := summary_head s' in
  lessons s' = lessons s ++
    if t <? next_summary s then
      match verdict (summary s t) with
      | Failed f InExecution _ | Accepted (Some (f, InExecution, _)) => [(label (summary s t), f)]
      | _ => []
      end
    else [].
Proof using same_spec.
  intros s c s' I G Hc t. apply (reachable_inv same_spec) in I. pose proof (inv_summary_head I) as L.
  assert (Re : forall u m k, u < next_summary s -> s' = retexted s u m k -> lessons s' = lessons s ++
    if t <? next_summary s then match verdict (summary s t) with
      | Failed f InExecution _ | Accepted (Some (f, InExecution, _)) => [(label (summary s t), f)] | _ => [] end
    else []).
  { intros u m k Lu E. assert (t = u) as -> by (unfold t; rewrite E; apply retexted_head).
    apply Nat.ltb_lt in Lu. rewrite Lu, E, retexted_is by exact I. simpl. unfold lessons_left.
    destruct (verdict (summary s u)) as [| |f [] o|[[[f []] o]|]]; simpl; auto using app_nil_r. }
  destruct c as [x|c|m k|m|a d| |b l|n b m d]; try contradiction; simpl in G.
  - destruct (compress_cases I G) as [_ [_ [_ [[u [_ [Lu W]]]|[_ E]]]]].
    + destruct W as [_ [_ [_ [_ E]]]]. exact (Re _ _ _ (proj2 Lu) E).
    + assert (t = next_summary s) as -> by (unfold t; rewrite E; reflexivity).
      rewrite Nat.ltb_irrefl, app_nil_r, E. reflexivity.
  - destruct (retext_cases G) as [_ [_ E]]. exact (Re _ _ _ L E).
Qed.

(* ---- where one can always go (D7) ---- *)
(* D7: legal are the boundaries of the summaries on the way, each told once, but in Rejected only those below the
   failed one's own; the root's always is *)
Theorem what_is_legal : forall s, reachable s ->
  In 0 (legal_boundaries s) /\ NoDup (legal_boundaries s) /\ forall b,
  In b (legal_boundaries s) <-> exists t, In t (way s (summary_head s)) /\ boundary s t = b /\
                                          (phase s = Rejected -> b < current_boundary s).
Proof using same_spec.
  intros s I. apply (reachable_inv same_spec) in I.
  assert (L : forall b, In b (legal_boundaries s) <-> exists t, In t (way s (summary_head s)) /\
    boundary s t = b /\ (phase s = Rejected -> b < current_boundary s)).
  { intro b. unfold Machine.legal_boundaries, distinct. rewrite nodup_In, in_map_iff. split.
    - intros [t [E Hin]]. apply in_targets in Hin as [Hp Hr]. rewrite E in Hr. eauto.
    - intros [t [Hp [E Hr]]]. exists t. split; [exact E|]. apply in_targets. rewrite E. auto. }
  split; [|split; [apply NoDup_nodup|exact L]]. apply L. exists 0. split; [|split].
  - apply path_in_way, (root_on_path _ I).
  - unfold Machine.boundary. now rewrite (inv_root I).
  - intros P. assert (phase s <> Active) as Na by congruence. pose proof (head_not_root I Na) as H0.
    pose proof (boundary_above_parent I (conj H0 (inv_summary_head I))). unfold Machine.current_boundary. lia.
Qed.

(* D6, D7: there is no dead end: what is not Active becomes so by accept, and by revise to its label *)
Theorem never_stuck : forall s, reachable s -> phase s <> Active ->
  (exists s', exec s Accept = Done s' /\ phase s' = Active) /\
  forall l, exists s', exec s (Revise (label (summary s (summary_head s))) l) = Done s' /\ phase s' = Active.
Proof using same_spec same_digest_spec.
  intros s Re P. pose proof (reachable_inv same_spec Re) as I. split.
  - assert (G : exists s', exec s Accept = Done s')
      by (simpl; unfold Machine.accept; destruct (phase s); [now destruct P| |]; eauto).
    destruct G as [s' G]. exists s'. split; [exact G|]. exact (phases_are_as_said Re G).
  - intro l. pose proof (head_not_root I P) as L0. pose proof (inv_summary_head I) as L.
    destruct (inv_covers I (conj L0 L)) as [_ [E _]]. rewrite E.
    pose proof (inv_parent I L0) as D.
    assert (Hp : In (parent_of s (summary_head s)) (summary_path s (summary_head s))).
    { apply (parent_on_path I); [apply (path_self _ (inv_parent I))|lia]. }
    assert (G : exec s (Revise (boundary s (parent_of s (summary_head s))) l) = Done (with_lesson
      (at_heads s (boundary s (parent_of s (summary_head s))) (parent_of s (summary_head s)))
      (boundary s (parent_of s (summary_head s))) l)) by (apply (revise_to _ _ I Hp); intros _; lia).
    eexists. split; [exact G|]. rewrite (phases_are_as_said Re G).
    pose proof (boundary_above_parent I (conj L0 L)). unfold Machine.current_boundary.
    destruct (Nat.eqb_spec (boundary s (parent_of s (summary_head s))) (boundary s (summary_head s)));
      [lia|reflexivity].
Qed.
End Phases.
