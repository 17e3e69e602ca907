(* What each operation does, case by case, to a state that has the invariant: all else is proved from these. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants.
Import ListNotations.

Section Cases.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).

(* ---- states are read through their fields: what does not change, does not change what is read ---- *)
(* what a summary keeps for ever *)
Definition shape (u : Summary Text) := (parent u, label u, covers u).
Lemma shape_parts : forall u v, shape u = shape v ->
  parent u = parent v /\ label u = label v /\ covers u = covers v.
Proof. intros u v E. unfold shape in E. now injection E as -> -> ->. Qed.
Lemma same_shapes : forall s s', Inv s -> (forall t, shape (summary s' t) = shape (summary s t)) ->
  (forall t, parent_of s' t = parent_of s t) /\ (forall t, boundary s' t = boundary s t) /\
  (forall t, covers (summary s' t) = covers (summary s t)) /\ decreasing (parent_of s') /\
  (forall t, summary_path s' t = summary_path s t).
Proof.
  intros s s' I E.
  assert (forall t, parent_of s' t = parent_of s t) as P by (intro t; now apply shape_parts).
  assert (decreasing (parent_of s')) as D by (intros t Ht; rewrite P; now apply (inv_parent I)).
  repeat split; auto.
  - intro t. unfold Machine.boundary. now destruct (shape_parts (E t)) as [_ [_ ->]].
  - intro t. now apply shape_parts.
  - intro t. apply path_ext; auto. apply I.
Qed.
Lemma step_path_kept : forall s s' n, Inv s -> Inv s' -> n < next_step s ->
  (exists l, steps s' = steps s ++ l) -> step_path s' n = step_path s n.
Proof.
  intros s s' n I I' Hn [l El]. apply path_ext; [apply I'|apply I|]. intros m Hm.
  unfold Machine.above_of, Machine.step. rewrite El. unfold next_step in Hn. now rewrite app_nth1 by lia.
Qed.
Lemma summary_path_kept : forall s s' t, Inv s -> Inv s' -> t < next_summary s ->
  (forall u, u < next_summary s -> parent_of s' u = parent_of s u) -> summary_path s' t = summary_path s t.
Proof.
  intros s s' t I I' Ht E. apply path_ext; [apply I'|apply I|]. intros u Hu. apply E. lia.
Qed.

(* what retexted gives, field by field: a lesson where there was feedback on the steps *)
Definition lessons_left s t :=
  match feedback_on_steps (verdict (summary s t)) with
  | Some f => lessons s ++ [(label (summary s t), f)]
  | None => lessons s
  end.
Lemma feedback_is_said : forall (v : Verdict Text) f, feedback_on_steps v = Some f -> feedback_of v = Some f.
Proof. intros [| |g [] o|[[[g []] o]|]] f E; simpl in *; congruence. Qed.
Definition new_after s t := if t =? summary_head s then after_of s t else summary_head s.
Definition chapters_left s t := filter (fun c : Chapter => negb (last_under c =? t)) (chapters s).
Lemma retexted_is : forall s t m k, Inv s -> retexted s t m k =
  MkState (task s) (steps s) (upd (summaries s) t (set_text m k (new_after s t))) (step_head s) t
          (lessons_left s t) (instructions s) (chapters_left s t).
Proof.
  intros s t m k I. unfold Machine.retexted, lessons_left, Machine.leave.
  destruct (feedback_on_steps (verdict (summary s t))) as [f|] eqn:E; [|reflexivity].
  apply feedback_is_said in E. apply (inv_feedback I) in E.
  unfold Machine.with_lesson. now rewrite E.
Qed.
(* what with_lesson gives *)
Definition lessons_with s b l := if blank l then lessons s else lessons s ++ [(b, l)].
Lemma with_lesson_is : forall s b l, with_lesson s b l =
  MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s)
          (lessons_with s b l) (instructions s) (chapters s).
Proof.
  intros s b l. unfold Machine.with_lesson, lessons_with. destruct (blank l); [now destruct s|reflexivity].
Qed.

(* ---- what each operation does, case by case: all else is proved from these ---- *)
Lemma new_parent_on_path : forall s k, Inv s -> In (new_parent s k) (summary_path s (summary_head s)).
Proof. intros s [] I; [exact (base_on_path _ I)|apply path_self, I]. Qed.
Lemma on_active_path : forall s t, Inv s -> In t (summary_path s (summary_head s)) ->
  In (boundary s t) (active_path s).
Proof.
  intros s t I Hin. rewrite (open_segment_spec I). apply in_or_app. left.
  exact (boundary_on_path I (inv_summary_head I) Hin).
Qed.
Lemma to_cover_spec : forall s k, Inv s ->
  active_path s = step_path s (boundary s (new_parent s k)) ++ to_cover s k.
Proof.
  intros s k I. apply trace_spec; [apply I|]. apply (on_active_path I), (new_parent_on_path k I).
Qed.
Lemma to_cover_last : forall s k, Inv s -> to_cover s k <> [] -> last (to_cover s k) 0 = step_head s.
Proof.
  intros s k I Ne. apply trace_last; [apply I| |exact Ne]. apply (on_active_path I), (new_parent_on_path k I).
Qed.
Lemma to_cover_fallback : forall s, to_cover s Fallback = open_segment s.
Proof. reflexivity. Qed.

Lemma grow_cases : forall s c s', Inv s -> grow s c = Done s' -> phase s <> Rejected /\
  ((exists n, child_with s c = Some n /\ 0 < n < next_step s /\ above_of s n = step_head s /\
              content (step s n) = c /\ s' = at_heads s n (summary_head s)) \/
   (child_with s c = None /\ s' = with_step s c)).
Proof using same_spec.
  intros s c s' I E. unfold Machine.grow in E.
  assert (match child_with s c with
          | Some n => Done (at_heads s n (summary_head s))
          | None => Done (with_step s c) end = Done s' /\ phase s <> Rejected) as [G P]
    by (destruct (phase s); [split; [exact E|discriminate]|split; [exact E|discriminate]|discriminate]).
  split; [exact P|]. destruct (child_with s c) as [n|] eqn:F; injection G as <-.
  - left. exists n. destruct (child_with_some same_spec F) as [? [? ?]]. auto.
  - now right.
Qed.

Lemma compress_cases : forall s m k s', Inv s -> compress s m k = Done s' ->
  phase s = Active /\ blank m = false /\ to_cover s k <> [] /\
  ((exists t, child_covering s (new_parent s k) (to_cover s k) = Some t /\
    0 < t < next_summary s /\ parent_of s t = new_parent s k /\
    label (summary s t) = boundary s (new_parent s k) /\ covers (summary s t) = to_cover s k /\
    boundary s t = step_head s /\ s' = retexted s t m k) \/
   (child_covering s (new_parent s k) (to_cover s k) = None /\ s' = compressed s m k)).
Proof.
  intros s m k s' I E. unfold Machine.compress in E.
  destruct (phase s) eqn:P; try discriminate. split; [reflexivity|].
  destruct (to_cover s k) as [|x r] eqn:Seg; [discriminate|].
  rewrite <- Seg in E. assert (to_cover s k <> []) as Ne by (rewrite Seg; discriminate).
  rewrite <- Seg. clear Seg. destruct (blank m) eqn:B; [discriminate|]. split; [reflexivity|].
  split; [exact Ne|].
  destruct (child_covering s (new_parent s k) (to_cover s k)) as [t|] eqn:F; injection E as <-; [left|right; auto].
  exists t. destruct (child_covering_some F) as [Ht [Hp Hc]].
  destruct (inv_covers I Ht) as [_ [Hl _]]. rewrite Hp in Hl.
  assert (boundary s t = step_head s) by (unfold Machine.boundary; rewrite Hc; now apply to_cover_last).
  repeat (split; [assumption || reflexivity|]). reflexivity.
Qed.

Lemma retext_cases : forall s m s', retext s m = Done s' ->
  phase s <> Active /\ blank m = false /\
  s' = retexted s (summary_head s) m (kind (summary s (summary_head s))).
Proof.
  intros s m s' E. unfold Machine.retext in E.
  destruct (phase s) eqn:P; try discriminate; destruct (blank m) eqn:B; try discriminate;
    injection E as <-; repeat split; discriminate.
Qed.

Lemma apply_verdict_cases : forall s a d s', apply_verdict s a d = Done s' ->
  phase s = Unverified /\ d = digest s /\
  match a with
  | Pass => s' = judged s Passed
  | Fail f k o => known_origin s k o = true /\ blank f = false /\ s' = judged s (Failed f k o)
  end.
Proof using same_digest_spec.
  intros s a d s' E. unfold Machine.apply_verdict in E. destruct (phase s) eqn:P; try discriminate.
  destruct (same_digest d (digest s)) eqn:D; [|discriminate]. apply same_digest_spec in D.
  split; [reflexivity|]. split; [exact D|]. simpl in E. destruct a as [|f k o].
  - now injection E as <-.
  - destruct (known_origin s k o) eqn:O; [|discriminate]. split; [reflexivity|]. simpl in E.
    destruct (blank f) eqn:B; [discriminate|]. now injection E as <-.
Qed.

Lemma accept_cases : forall s s', accept s = Done s' ->
  phase s <> Active /\ s' = judged s (Accepted (despite (verdict (summary s (summary_head s))))).
Proof.
  intros s s' E. unfold Machine.accept in E.
  destruct (phase s) eqn:P; try discriminate; injection E as <-; split; (discriminate || reflexivity).
Qed.

Lemma revise_spec : forall s b l s', Inv s -> revise s b l = Done s' ->
  exists t, In t (way s (summary_head s)) /\ boundary s t = b /\
            (phase s = Rejected -> b < current_boundary s) /\
            s' = with_lesson (at_heads s b t) b l.
Proof.
  intros s b l s' I E. unfold Machine.revise in E.
  destruct (find _ (rev (targets s))) as [t|] eqn:F; [|discriminate]. injection E as <-.
  apply find_some in F as [Hin Hb]. apply Nat.eqb_eq in Hb. rewrite <- in_rev in Hin.
  apply in_targets in Hin as [Hin Hr]. rewrite Hb in Hr. exists t. repeat split; assumption.
Qed.
Lemma find_app : forall T (p : T -> bool) l r, (forall x, In x l -> p x = false) -> find p (l ++ r) = find p r.
Proof.
  intros T p l r. induction l as [|x l IH]; intro N; simpl; [reflexivity|].
  rewrite (N x) by now left. apply IH. intros y Hy. apply N. now right.
Qed.
(* what stands on the summary path is the nearest to the head that has its boundary *)
Lemma revise_to : forall s l t, Inv s -> In t (summary_path s (summary_head s)) ->
  (phase s = Rejected -> t <> summary_head s) ->
  revise s (boundary s t) l = Done (with_lesson (at_heads s (boundary s t) t) (boundary s t) l).
Proof.
  intros s l t I Hin Hr. unfold Machine.revise.
  assert (find (fun u => boundary s u =? boundary s t) (rev (targets s)) = Some t) as ->; [|reflexivity].
  destruct (way_below I (path_self _ (inv_parent I) _) Hin) as [d [Ed Hd]]. destruct (way_ends nothing s t) as [w Ew].
  assert (exists w' d', targets s = (w' ++ [t]) ++ d' /\ incl d' d) as [w' [d' [-> Id]]].
  { unfold Machine.targets. rewrite Ed, Ew. destruct (phase s) eqn:P;
      try (exists w, d; split; [reflexivity|apply incl_refl]).
    assert (boundary s t < current_boundary s) as Lb
      by (apply (boundaries_rise I (inv_summary_head I) Hin); auto).
    rewrite !filter_app. simpl. apply Nat.ltb_lt in Lb. rewrite Lb. eexists _, _. split; [reflexivity|].
    intros x Hx. now apply filter_In in Hx. }
  rewrite !rev_app_distr. rewrite find_app.
  - simpl. now rewrite Nat.eqb_refl.
  - intros u Hu. rewrite <- in_rev in Hu. apply Id in Hu. pose proof (Hd u Hu). apply Nat.eqb_neq. lia.
Qed.

Lemma fold_makes : forall s n b m d s', fold s n b m d = Done s' ->
  phase s = Active /\ exists run, run_to_fold s n b = Some run /\ s' = with_chapter s (chapter_of s run m).
Proof.
  intros s n b m d s' E. unfold Machine.fold in E. destruct (phase s); try discriminate.
  split; [reflexivity|]. destruct (run_to_fold s n b) as [run|]; [|discriminate].
  destruct (blank m); [discriminate|]. destruct (negb _); [discriminate|]. injection E as <-. now exists run.
Qed.
Lemma fold_cases : forall s n b m d s', fold s n b m d = Done s' ->
  phase s = Active /\ blank m = false /\ exists run, run_to_fold s n b = Some run /\
  d = digest_of_fold (fold_question s run m) /\ s' = with_chapter s (chapter_of s run m).
Proof using same_digest_spec.
  intros s n b m d s' E. unfold Machine.fold in E. destruct (phase s); try discriminate.
  split; [reflexivity|]. destruct (run_to_fold s n b) as [run|]; [|discriminate].
  destruct (blank m); [discriminate|]. split; [reflexivity|].
  destruct (same_digest _ _) eqn:D; [|discriminate]. apply same_digest_spec in D. simpl in E.
  injection E as <-. exists run. auto.
Qed.

Lemma instruct_cases : forall s x s', instruct s x = Done s' ->
  phase s <> Rejected /\ blank (fst x) = false /\
  ((In x (instructions_at s (step_head s)) /\ s' = s) \/
   (~ In x (instructions_at s (step_head s)) /\ s' = with_instruction s x)).
Proof using same_spec.
  intros s x s' E. unfold Machine.instruct in E.
  assert (phase s <> Rejected) as P by (destruct (phase s); discriminate).
  assert ((if blank (fst x) then Refused BlankInstruction
           else if existsb (same_instruction x) (instructions_at s (step_head s)) then Done s
           else Done (with_instruction s x)) = Done s') as G
    by (destruct (phase s); assumption || discriminate).
  split; [exact P|]. destruct (blank (fst x)); [discriminate|]. split; [reflexivity|].
  destruct (existsb _ _) eqn:F; injection G as <-; [left|right]; (split; [|reflexivity]).
  - apply existsb_exists in F as [y [Hy F]]. apply (same_instruction_spec same_spec) in F. now subst y.
  - intro Hin. enough (existsb (same_instruction x) (instructions_at s (step_head s)) = true) by congruence.
    apply existsb_exists. exists x. split; [exact Hin|now apply (same_instruction_spec same_spec)].
Qed.
End Cases.
