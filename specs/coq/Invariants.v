(* The invariant, what follows from it at once, and what each operation does, case by case.
   Kept.v proves that every operation keeps it. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine.
Import ListNotations.

Section Invariants.
Load "Given".

(* ---- the invariant ---- *)
Definition feedback_of (v : Verdict Text) :=
  match v with Failed f _ => Some f | Accepted (Some (f, _)) => Some f | _ => None end.
Definition covers_from_parent s t :=
  covers (summary s t) <> [] /\
  label (summary s t) = boundary s (parent_of s t) /\
  step_path s (boundary s t) = step_path s (boundary s (parent_of s t)) ++ covers (summary s t).

Record Inv s : Prop := MkInv {
  inv_above : decreasing (above_of s);
  inv_parent : decreasing (parent_of s);
  inv_steps : 0 < next_step s;
  inv_summaries : 0 < next_summary s;
  inv_root_step : step s 0 = root_step;
  inv_root : summary s 0 = root_summary;
  inv_boundary : forall t, t < next_summary s -> boundary s t < next_step s;
  inv_covers : forall t, 0 < t < next_summary s -> covers_from_parent s t;
  inv_step_head : step_head s < next_step s;
  inv_summary_head : summary_head s < next_summary s;
  inv_heads : In (current_boundary s) (active_path s);
  inv_siblings : forall m n, 0 < m < next_step s -> 0 < n < next_step s ->
    above_of s m = above_of s n -> content (step s m) = content (step s n) -> m = n;
  inv_sibling_covers : forall t u, 0 < t < next_summary s -> 0 < u < next_summary s ->
    parent_of s t = parent_of s u -> covers (summary s t) = covers (summary s u) -> t = u;
  inv_trusted : forall t, In t (summary_path s (summary_head s)) ->
    t = summary_head s \/ trusted (verdict (summary s t)) = true;
  inv_feedback : forall t f, feedback_of (verdict (summary s t)) = Some f -> blank f = false;
  inv_lessons : forall b l, In (b, l) (lessons s) ->
    blank l = false /\ exists t, t < next_summary s /\ boundary s t = b;
  inv_instructions : forall n x, In (n, x) (instructions s) -> blank (fst x) = false /\ n < next_step s
}.

(* ---- small facts ---- *)
Lemma same_ids_spec : forall x y, same_ids x y = true <-> x = y.
Proof.
  intros x y. unfold same_ids. destruct (list_eq_dec Nat.eq_dec x y); split; congruence.
Qed.
Lemma same_content_spec : forall c d, same_content c d = true <-> c = d.
Proof using same_spec.
  intros [a o] [a' o']. unfold Machine.same_content. simpl. rewrite andb_true_iff, !same_spec.
  split; [intros [-> ->]; reflexivity|intro E; now injection E].
Qed.
Lemma same_instruction_spec : forall x y, same_instruction x y = true <-> x = y.
Proof using same_spec.
  intros [x b] [y b']. unfold Machine.same_instruction. simpl. rewrite andb_true_iff, same_spec, eqb_true_iff.
  split; [intros [-> ->]; reflexivity|intro E; now injection E].
Qed.

Lemma in_numbered : forall T (d : T) l n x,
  In (n, x) (numbered l) <-> 0 < n < length l /\ nth n l d = x.
Proof.
  intros T d l n x. unfold numbered. destruct l as [|r l]; simpl; [split; [contradiction|lia]|].
  rewrite Nat.sub_0_r. split.
  - intro Hin. apply (In_nth _ _ (0, d)) in Hin as [i [Hi E]].
    rewrite combine_length, seq_length, Nat.min_id in Hi.
    rewrite combine_nth in E by apply seq_length. rewrite seq_nth in E by assumption.
    injection E as <- <-. split; [lia|reflexivity].
  - intros [Hn <-]. destruct n as [|n]; [lia|].
    replace (S n, nth n l d) with (nth n (combine (seq 1 (length l)) l) (0, d)).
    + apply nth_In. rewrite combine_length, seq_length, Nat.min_id. lia.
    + rewrite combine_nth by apply seq_length. now rewrite seq_nth by lia.
Qed.
Lemma in_step_children : forall s p n,
  In n (step_children s p) <-> 0 < n < next_step s /\ above_of s n = p.
Proof.
  intros s p n. unfold step_children. rewrite in_map_iff. split.
  - intros [[m x] [<- Hin]]. apply filter_In in Hin as [Hin Hp]. apply Nat.eqb_eq in Hp. simpl in *.
    apply (in_numbered root_step) in Hin as [Hm <-]. now split.
  - intros [Hn <-]. exists (n, step s n). split; [reflexivity|]. apply filter_In. split.
    + apply (in_numbered root_step). now split.
    + apply Nat.eqb_refl.
Qed.
Lemma in_summary_children : forall s p t,
  In t (summary_children s p) <-> 0 < t < next_summary s /\ parent_of s t = p.
Proof.
  intros s p t. unfold summary_children. rewrite in_map_iff. split.
  - intros [[m x] [<- Hin]]. apply filter_In in Hin as [Hin Hp]. apply Nat.eqb_eq in Hp. simpl in *.
    apply (in_numbered root_summary) in Hin as [Hm <-]. now split.
  - intros [Hn <-]. exists (t, summary s t). split; [reflexivity|]. apply filter_In. split.
    + apply (in_numbered root_summary). now split.
    + apply Nat.eqb_refl.
Qed.

Lemma child_with_some : forall s c n, child_with s c = Some n ->
  0 < n < next_step s /\ above_of s n = step_head s /\ content (step s n) = c.
Proof using same_spec.
  intros s c n E. apply find_some in E as [Hin E]. apply in_step_children in Hin as [Hn Hp].
  apply same_content_spec in E. auto.
Qed.
Lemma child_with_none : forall s c n, child_with s c = None -> 0 < n < next_step s ->
  above_of s n = step_head s -> content (step s n) <> c.
Proof using same_spec.
  intros s c n E Hn Hp <-.
  apply find_none with (x := n) in E; [|now apply in_step_children].
  assert (same_content (content (step s n)) (content (step s n)) = true) by now apply same_content_spec.
  congruence.
Qed.
Lemma child_covering_some : forall s c t, child_covering s c = Some t ->
  0 < t < next_summary s /\ parent_of s t = summary_head s /\ covers (summary s t) = c.
Proof.
  intros s c t E. apply find_some in E as [Hin E]. apply in_summary_children in Hin as [Ht Hp].
  apply same_ids_spec in E. auto.
Qed.
Lemma child_covering_none : forall s c t, child_covering s c = None -> 0 < t < next_summary s ->
  parent_of s t = summary_head s -> covers (summary s t) <> c.
Proof.
  intros s c t E Ht Hp <-.
  apply find_none with (x := t) in E; [|now apply in_summary_children].
  assert (same_ids (covers (summary s t)) (covers (summary s t)) = true) by now apply same_ids_spec.
  congruence.
Qed.

Lemma trusted_spec : forall v : Verdict Text, trusted v = true <-> phase_of_verdict v = Active.
Proof.
  intros [| |f k|d]; simpl; split; intro E; congruence.
Qed.
Lemma head_not_root : forall s, Inv s -> phase s <> Active -> 0 < summary_head s.
Proof.
  intros s I P. destruct (summary_head s) eqn:E; [|lia]. exfalso. apply P.
  unfold Machine.phase. now rewrite E, (inv_root I).
Qed.

Lemma open_segment_spec : forall s, Inv s ->
  active_path s = step_path s (current_boundary s) ++ open_segment s.
Proof.
  intros s I. apply trace_spec; [apply I|exact (inv_heads I)].
Qed.
Lemma open_segment_nil : forall s, Inv s -> (open_segment s = [] <-> step_head s = current_boundary s).
Proof.
  intros s I. split; intro E.
  - pose proof (open_segment_spec I) as Sp. rewrite E, app_nil_r in Sp.
    eapply path_inj; [|exact Sp]. apply I.
  - unfold Machine.open_segment, Machine.steps_after. rewrite E. apply trace_nil. apply I.
Qed.
Lemma open_segment_last : forall s, Inv s -> open_segment s <> [] -> last (open_segment s) 0 = step_head s.
Proof.
  intros s I E. apply trace_last; [apply I|exact (inv_heads I)|exact E].
Qed.

Lemma covers_to : forall s t, Inv s -> t < next_summary s ->
  flat_map (fun u => covers (summary s u)) (summary_path s t) = step_path s (boundary s t).
Proof.
  intros s t I. induction t as [t IH] using lt_wf_ind; intro Ht. destruct t as [|t].
  - unfold Machine.summary_path, Machine.boundary. simpl. rewrite (inv_root I). reflexivity.
  - pose proof (inv_parent I (n := S t) ltac:(lia)) as D.
    unfold Machine.summary_path. rewrite path_S by (try apply I; lia).
    rewrite flat_map_app. simpl. rewrite app_nil_r.
    destruct (inv_covers I (t := S t) ltac:(lia)) as [_ [_ ->]]. f_equal. apply IH; lia.
Qed.
Lemma told_is_active_path : forall s, Inv s -> told s = active_path s.
Proof.
  intros s I. unfold Machine.told. rewrite covers_to by (try apply I; assumption).
  symmetry. now apply open_segment_spec.
Qed.

Lemma sorted_app_lt : forall l r x y, StronglySorted lt (l ++ r) -> In x l -> In y r -> x < y.
Proof.
  induction l as [|a l IH]; intros r x y So Hx Hy; [contradiction|].
  inversion So as [|? ? So' All]; subst. destruct Hx as [<-|Hx].
  - rewrite Forall_forall in All. apply All, in_or_app. now right.
  - eapply IH; eauto.
Qed.
Lemma on_path_le : forall s n t, Inv s -> In t (summary_path s n) -> t <= n.
Proof.
  intros s n t I E. exact (path_le _ (inv_parent I) _ _ E).
Qed.
Lemma path_of_child : forall s t, Inv s -> 0 < t -> summary_path s t = summary_path s (parent_of s t) ++ [t].
Proof.
  intros s t I Ht. apply path_S; [apply I|exact Ht].
Qed.
Lemma parent_on_path : forall s n t, Inv s -> In t (summary_path s n) -> t <> 0 ->
  In (parent_of s t) (summary_path s n).
Proof.
  intros s n t I Hin H0. destruct (path_prefix _ (inv_parent I) _ _ Hin) as [d Hd].
  unfold Machine.summary_path. rewrite Hd. apply in_or_app. left.
  rewrite path_S by (try apply I; lia). apply in_or_app. left. apply path_self. apply I.
Qed.
(* of two summaries on one path, the one with the smaller id is above the other *)
Lemma smaller_is_above : forall s n t u, Inv s ->
  In t (summary_path s n) -> In u (summary_path s n) -> t < u -> In t (summary_path s u).
Proof.
  intros s n t u I Ht Hu L. destruct (path_prefix _ (inv_parent I) _ _ Hu) as [d Hd].
  unfold Machine.summary_path in *. rewrite Hd in Ht. apply in_app_or in Ht as [Ht|Ht]; [assumption|exfalso].
  pose proof (path_sorted _ (inv_parent I) n) as So. rewrite Hd in So.
  pose proof (sorted_app_lt So (path_self _ (inv_parent I) u) Ht). lia.
Qed.

Lemma boundary_above_parent : forall s t, Inv s -> 0 < t < next_summary s ->
  boundary s (parent_of s t) < boundary s t.
Proof.
  intros s t I Ht. destruct (inv_covers I Ht) as [Hne [_ E]].
  pose proof (path_sorted (above_of s) (inv_above I) (boundary s t)) as So.
  unfold Machine.step_path in E. rewrite E in So.
  eapply sorted_app_lt; [exact So|apply path_self; apply I|].
  destruct (exists_last Hne) as [l [x Hx]]. unfold Machine.boundary. rewrite Hx, last_last.
  apply in_or_app. right. now left.
Qed.
Lemma boundaries_rise : forall s n t, Inv s -> n < next_summary s -> In t (summary_path s n) -> t <> n ->
  boundary s t < boundary s n.
Proof.
  intros s n t I. induction n as [n IH] using lt_wf_ind; intros Hn Hin Hne.
  destruct n as [|n]; [destruct Hin as [<-|[]]; congruence|].
  pose proof (inv_parent I (n := S n) ltac:(lia)) as D.
  pose proof (boundary_above_parent I (t := S n) ltac:(lia)) as L.
  rewrite path_of_child in Hin by (assumption || lia).
  apply in_app_or in Hin as [Hin|[<-|[]]]; [|congruence].
  destruct (Nat.eq_dec t (parent_of s (S n))) as [->|Hd]; [exact L|].
  specialize (IH _ D ltac:(lia) Hin Hd). lia.
Qed.
Lemma target_unique : forall s t u, Inv s ->
  In t (summary_path s (summary_head s)) -> In u (summary_path s (summary_head s)) ->
  boundary s t = boundary s u -> t = u.
Proof.
  intros s t u I Ht Hu E. pose proof (inv_summary_head I) as Lh.
  destruct (lt_eq_lt_dec t u) as [[L|?]|L]; auto; exfalso.
  - pose proof (on_path_le I Hu). pose proof (smaller_is_above I Ht Hu L) as Hin.
    pose proof (boundaries_rise I (n := u) ltac:(lia) Hin ltac:(lia)). lia.
  - pose proof (on_path_le I Ht). pose proof (smaller_is_above I Hu Ht L) as Hin.
    pose proof (boundaries_rise I (n := t) ltac:(lia) Hin ltac:(lia)). lia.
Qed.

Lemma boundary_on_path : forall s n t, Inv s -> n < next_summary s -> In t (summary_path s n) ->
  In (boundary s t) (step_path s (boundary s n)).
Proof.
  intros s n t I. induction n as [n IH] using lt_wf_ind; intros Hn Hin.
  destruct n as [|n]; [destruct Hin as [<-|[]]; apply path_self, I|].
  pose proof (inv_parent I (n := S n) ltac:(lia)) as D.
  rewrite path_of_child in Hin by (assumption || lia).
  apply in_app_or in Hin as [Hin|[<-|[]]]; [|apply path_self, I].
  destruct (inv_covers I (t := S n) ltac:(lia)) as [_ [_ ->]].
  apply in_or_app. left. apply IH; assumption || lia.
Qed.

(* targets: every summary on the path, but for the failed head *)
Lemma in_targets : forall s t, Inv s ->
  (In t (targets s) <->
   In t (summary_path s (summary_head s)) /\ (phase s = Rejected -> t <> summary_head s)).
Proof.
  intros s t I. unfold Machine.targets.
  destruct (path_end (parent_of s) (inv_parent I) (summary_head s)) as [l Hl].
  pose proof (path_nodup _ (inv_parent I) (summary_head s)) as N.
  unfold Machine.summary_path. rewrite Hl in *. apply NoDup_remove_2 in N. rewrite app_nil_r in N.
  destruct (phase s) eqn:P; [intuition discriminate| intuition discriminate|].
  rewrite removelast_last, in_app_iff. simpl. split.
  - intro Hin. split; [now left|]. intros _ ->. contradiction.
  - intros [[Hin|[E|[]]] D]; [assumption|]. symmetry in E. now apply D in E.
Qed.

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
Lemma feedback_is_said : forall v f, feedback_on_steps v = Some f -> feedback_of v = Some f.
Proof. intros [| |g []|[[g []]|]] f E; simpl in *; congruence. Qed.
Lemma retexted_is : forall s t m k, Inv s -> retexted s t m k =
  MkState (task s) (steps s) (upd (summaries s) t (set_text m k)) (step_head s) t
          (lessons_left s t) (instructions s).
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
          (lessons_with s b l) (instructions s).
Proof.
  intros s b l. unfold Machine.with_lesson, lessons_with. destruct (blank l); [now destruct s|reflexivity].
Qed.

(* ---- what each operation does, case by case: all else is proved from these ---- *)
Definition compressed s m k :=
  with_summary s (MkSummary (summary_head s) (current_boundary s) (open_segment s) m k Pending).

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
  - left. exists n. destruct (child_with_some F) as [? [? ?]]. auto.
  - now right.
Qed.

Lemma compress_cases : forall s m k s', Inv s -> compress s m k = Done s' ->
  phase s = Active /\ blank m = false /\
  ((open_segment s = [] /\ kind (summary s (summary_head s)) = Fallback /\ k = Subgoal /\
    0 < summary_head s /\ s' = retexted s (summary_head s) m Subgoal) \/
   (open_segment s <> [] /\ exists t, child_covering s (open_segment s) = Some t /\
    0 < t < next_summary s /\ parent_of s t = summary_head s /\ summary_head s < t /\
    label (summary s t) = current_boundary s /\ covers (summary s t) = open_segment s /\
    boundary s t = step_head s /\ s' = retexted s t m k) \/
   (open_segment s <> [] /\ child_covering s (open_segment s) = None /\ s' = compressed s m k)).
Proof.
  intros s m k s' I E. unfold Machine.compress in E.
  destruct (phase s) eqn:P; try discriminate. split; [reflexivity|].
  destruct (open_segment s) as [|x r] eqn:Seg.
  - destruct (completes s k) eqn:Co; simpl in E; [|discriminate].
    destruct (blank m) eqn:B; [discriminate|]. injection E as <-. split; [reflexivity|]. left.
    unfold Machine.completes in Co. destruct (kind (summary s (summary_head s))) eqn:K; [discriminate|].
    destruct k; [|discriminate]. repeat split; auto.
    destruct (summary_head s) eqn:Eh; [|lia]. rewrite (inv_root I) in K. discriminate.
  - rewrite <- Seg in E. assert (open_segment s <> []) as Ne by (rewrite Seg; discriminate).
    rewrite <- Seg. clear Seg. destruct (blank m) eqn:B; [discriminate|]. split; [reflexivity|]. right.
    destruct (child_covering s (open_segment s)) as [t|] eqn:F; injection E as <-; [left|right; auto].
    split; [assumption|]. exists t. destruct (child_covering_some F) as [Ht [Hp Hc]].
    pose proof (inv_parent I (n := t) ltac:(lia)) as D. rewrite Hp in D.
    destruct (inv_covers I Ht) as [_ [Hl _]]. rewrite Hp in Hl.
    assert (boundary s t = step_head s) by (unfold Machine.boundary; rewrite Hc; now apply open_segment_last).
    repeat (split; [assumption || reflexivity|]). reflexivity.
Qed.

Lemma retext_cases : forall s m k s', retext s m k = Done s' ->
  phase s <> Active /\ blank m = false /\
  s' = retexted s (summary_head s) m
         (match k with Some k => k | None => kind (summary s (summary_head s)) end).
Proof.
  intros s m k s' E. unfold Machine.retext in E.
  destruct (phase s) eqn:P; try discriminate; destruct (blank m) eqn:B; try discriminate;
    injection E as <-; repeat split; discriminate.
Qed.

Lemma apply_verdict_cases : forall s a d s', apply_verdict s a d = Done s' ->
  phase s = Unverified /\ d = digest s /\
  match a with
  | Pass => s' = judged s Passed
  | Fail f k => blank f = false /\ s' = judged s (Failed f k)
  end.
Proof using same_digest_spec.
  intros s a d s' E. unfold Machine.apply_verdict in E. destruct (phase s) eqn:P; try discriminate.
  destruct (same_digest d (digest s)) eqn:D; [|discriminate]. apply same_digest_spec in D.
  split; [reflexivity|]. split; [exact D|]. simpl in E. destruct a as [|f k].
  - now injection E as <-.
  - destruct (blank f) eqn:B; [discriminate|]. now injection E as <-.
Qed.

Lemma accept_cases : forall s s', accept s = Done s' ->
  phase s <> Active /\ s' = judged s (Accepted (despite (verdict (summary s (summary_head s))))).
Proof.
  intros s s' E. unfold Machine.accept in E.
  destruct (phase s) eqn:P; try discriminate; injection E as <-; split; (discriminate || reflexivity).
Qed.

Lemma revise_spec : forall s b l s', Inv s -> revise s b l = Done s' ->
  exists t, In t (summary_path s (summary_head s)) /\ boundary s t = b /\
            (phase s = Rejected -> t <> summary_head s) /\
            s' = with_lesson (at_heads s b t) b l.
Proof.
  intros s b l s' I E. unfold Machine.revise in E.
  destruct (find _ (targets s)) as [t|] eqn:F; [|discriminate]. injection E as <-.
  apply find_some in F as [Hin Hb]. apply Nat.eqb_eq in Hb. apply (in_targets t I) in Hin as [Hin Hr].
  exists t. repeat split; assumption.
Qed.
Lemma revise_to : forall s l t, Inv s -> In t (summary_path s (summary_head s)) ->
  (phase s = Rejected -> t <> summary_head s) ->
  revise s (boundary s t) l = Done (with_lesson (at_heads s (boundary s t) t) (boundary s t) l).
Proof.
  intros s l t I Hin Hr. unfold Machine.revise. destruct (find _ (targets s)) as [u|] eqn:F.
  - apply find_some in F as [Hu Eu]. apply Nat.eqb_eq in Eu. apply (in_targets u I) in Hu as [Hu _].
    now rewrite (target_unique I Hu Hin Eu).
  - exfalso. apply find_none with (x := t) in F; [|now apply in_targets].
    simpl in F. rewrite Nat.eqb_refl in F. discriminate.
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
  - apply existsb_exists in F as [y [Hy F]]. apply same_instruction_spec in F. now subst y.
  - intro Hin. enough (existsb (same_instruction x) (instructions_at s (step_head s)) = true) by congruence.
    apply existsb_exists. exists x. split; [exact Hin|now apply same_instruction_spec].
Qed.
End Invariants.
