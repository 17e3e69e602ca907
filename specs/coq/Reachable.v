(* I1 to I10 of ../README.md, and D2, of every reachable state, under their names. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants Kept.
Import ListNotations.

Section Reachable.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).

(* I1: step ids are 0..next-1 (an id is a place in a list), every parent id is smaller, one root *)
Theorem steps_form_a_tree : forall s, reachable s ->
  0 < next_step s /\
  (forall n, 0 < n < next_step s -> above_of s n < n) /\
  (forall n, n < next_step s -> (above_of s n = n <-> n = 0)) /\
  (forall n, n < next_step s -> In 0 (step_path s n)).
Proof using same_spec.
  intros s Re. pose proof (reachable_inv same_spec Re) as I. split; [apply I|].
  assert (forall n, 0 < n < next_step s -> above_of s n < n) as D by (intros; apply (inv_above I); lia).
  repeat split; auto.
  - intro E. destruct n as [|n]; [reflexivity|]. pose proof (D (S n) ltac:(lia)). lia.
  - intros ->. unfold Machine.above_of. now rewrite (inv_root_step I).
  - intros n _. destruct (path_starts (above_of s) (inv_above I) n) as [l Hl].
    unfold Machine.step_path. rewrite Hl. now left.
Qed.

(* I2: no two children of a step have the same content *)
Theorem siblings_differ : forall s, reachable s -> forall p m n,
  In m (step_children s p) -> In n (step_children s p) -> m <> n -> content (step s m) <> content (step s n).
Proof using same_spec.
  intros s Re p m n Hm Hn D E. pose proof (reachable_inv same_spec Re) as I.
  apply (in_step_children nothing) in Hm as [Hm Pm], Hn as [Hn Pn].
  apply D, (inv_siblings I); congruence || assumption.
Qed.

(* I3: every summary but the root covers a non-empty downward run of steps whose first has the parent's
   boundary as its parent; its label is that boundary *)
Theorem covers_are_contiguous : forall s, reachable s -> forall t, 0 < t < next_summary s ->
  let run := covers (summary s t) in let b := boundary s (parent_of s t) in
  run <> [] /\
  (forall l x y r, b :: run = l ++ x :: y :: r -> above_of s y = x) /\
  (forall n, In n run -> 0 < n < next_step s) /\
  label (summary s t) = b.
Proof using same_spec.
  intros s Re t Ht run b. pose proof (reachable_inv same_spec Re) as I.
  destruct (inv_covers I Ht) as [H1 [H2 H3]].
  repeat split; auto.
  - intros l x y r E. destruct (path_end (above_of s) (inv_above I) b) as [l0 Hl].
    apply (path_chain (above_of s) (inv_above I) (boundary s t) (l0 ++ l) x y r).
    fold (step_path s (boundary s t)). rewrite H3. unfold Machine.step_path. fold b. rewrite Hl. fold run.
    rewrite <- app_assoc. simpl. rewrite E. now rewrite <- app_assoc.
  - pose proof (path_sorted (above_of s) (inv_above I) (boundary s t)) as So.
    unfold Machine.step_path in H3. rewrite H3 in So.
    pose proof (sorted_app_lt So (path_self _ (inv_above I) _) H). lia.
  - assert (In n (step_path s (boundary s t))) as Hin by (rewrite H3; apply in_or_app; now right).
    apply (path_le (above_of s) (inv_above I)) in Hin. pose proof (inv_boundary I (t := t) ltac:(lia)). lia.
Qed.

(* I4: no two children of a summary have the same covers *)
Theorem sibling_covers_differ : forall s, reachable s -> forall p t u,
  In t (summary_children s p) -> In u (summary_children s p) -> t <> u ->
  covers (summary s t) <> covers (summary s u).
Proof using same_spec.
  intros s Re p t u Ht Hu D E. pose proof (reachable_inv same_spec Re) as I.
  apply (in_summary_children nothing) in Ht as [Ht Pt], Hu as [Hu Pu].
  apply D, (inv_sibling_covers I); congruence || assumption.
Qed.

(* I5: the step head is the current boundary or below it *)
Theorem heads_agree : forall s, reachable s -> In (current_boundary s) (step_path s (step_head s)).
Proof using same_spec. intros s Re. pose proof (reachable_inv same_spec Re) as I. apply I. Qed.

(* I6: the covers along the summary path, then the open segment, are exactly the active path *)
Theorem path_is_whole : forall s, reachable s ->
  flat_map (fun t => covers (summary s t)) (summary_path s (summary_head s)) ++ open_segment s =
  active_path s.
Proof using same_spec. intros s Re. exact (told_is_active_path (reachable_inv same_spec Re)). Qed.

(* I7: labels rise strictly along any summary path below the root *)
Theorem labels_rise : forall s, reachable s -> forall n t, n < next_summary s ->
  In t (summary_path s n) -> 0 < t -> t <> n -> label (summary s t) < label (summary s n).
Proof using same_spec.
  intros s Re n t Hn Hin Ht D. pose proof (reachable_inv same_spec Re) as I. pose proof (on_path_le I Hin).
  destruct (inv_covers I (t := n) ltac:(lia)) as [_ [-> _]].
  destruct (inv_covers I (t := t) ltac:(lia)) as [_ [-> _]].
  pose proof (boundary_above_parent I (t := t) ltac:(lia)). pose proof (inv_parent I (n := n) ltac:(lia)).
  rewrite (path_of_child I) in Hin by lia.
  apply in_app_or in Hin as [Hin|[<-|[]]]; [|congruence].
  destruct (Nat.eq_dec t (parent_of s n)) as [->|E]; [assumption|].
  pose proof (boundaries_rise I (n := parent_of s n) ltac:(lia) Hin E). lia.
Qed.

(* I8: on the summary path every summary above the head has passed or was accepted openly; so has the head
   in Active, is pending in Unverified, has failed in Rejected *)
Theorem summary_path_is_trusted : forall s, reachable s ->
  (forall t, In t (summary_path s (summary_head s)) -> t <> summary_head s ->
     verdict (summary s t) = Passed \/ exists d, verdict (summary s t) = Accepted d) /\
  let head := verdict (summary s (summary_head s)) in
  match phase s with
  | Active => head = Passed \/ exists d, head = Accepted d
  | Unverified => head = Pending
  | Rejected => exists f k, head = Failed f k
  end.
Proof using same_spec.
  intros s Re. pose proof (reachable_inv same_spec Re) as I. split.
  - intros t Ht D. destruct (inv_trusted I Ht) as [|E]; [contradiction|].
    destruct (verdict (summary s t)); try discriminate; eauto.
  - unfold Machine.phase, phase_of_verdict. destruct (verdict (summary s (summary_head s))) eqn:E; eauto.
Qed.

(* I9: lessons are not blank, each at a boundary of some summary; instructions are not blank, each at a
   step *)
Theorem lessons_stand_at_boundaries : forall s, reachable s ->
  (forall b l, In (b, l) (lessons s) ->
     blank l = false /\ exists t, t < next_summary s /\ boundary s t = b) /\
  (forall n x standing, In (n, (x, standing)) (instructions s) -> blank x = false /\ n < next_step s).
Proof using same_spec.
  intros s Re. pose proof (reachable_inv same_spec Re) as I. split; [apply I|].
  intros n x st Hin. exact (inv_instructions I Hin).
Qed.

(* D5: no feedback that is kept is blank, so what D4 leaves of it is always a lesson *)
Theorem feedback_is_not_blank : forall s, reachable s -> forall t f k,
  verdict (summary s t) = Failed f k \/ verdict (summary s t) = Accepted (Some (f, k)) -> blank f = false.
Proof using same_spec.
  intros s Re t f k V. apply (inv_feedback (reachable_inv same_spec Re) (t := t)). now destruct V as [->| ->].
Qed.

(* I10 is of the engine's indexes, which are not here. What is: to look for a child by content, by covers or
   by its boundary, as the engine does, finds one child, the same one, and children come in order of ids *)
Lemma numbered_sorted : forall T (p : nat * T -> bool) (l : list T),
  StronglySorted lt (map fst (filter p (numbered l))).
Proof.
  intros T p l. unfold numbered. generalize 1, (length l - 1), (tl l). clear l. intros i n l. revert n i.
  induction l as [|x l IH]; intros [|n] i; simpl; try constructor.
  assert (StronglySorted lt (i :: map fst (filter p (combine (seq (S i) n) l)))) as So.
  { constructor; [apply IH|]. apply Forall_forall. intros m Hm. apply in_map_iff in Hm as [[k y] [<- Hm]].
    apply filter_In in Hm as [Hm _]. apply in_combine_l, in_seq in Hm. simpl. lia. }
  destruct (p (i, x)); [exact So|]. inversion So. assumption.
Qed.

Lemma siblings_end_apart : forall s p t u, Inv s ->
  In t (summary_children s p) -> In u (summary_children s p) -> boundary s t = boundary s u -> t = u.
Proof.
  intros s p t u I Ht Hu E. apply (in_summary_children nothing) in Ht as [Ht Pt], Hu as [Hu Pu].
  apply (inv_sibling_covers I); try congruence || assumption.
  destruct (inv_covers I Ht) as [_ [_ Et]], (inv_covers I Hu) as [_ [_ Eu]].
  rewrite Pt, E in Et. rewrite Pu, Et in Eu. now apply app_inv_head in Eu.
Qed.

(* indexes_agree: children and merge indexes say what the nodes say *)
Theorem indexes_agree : forall s, reachable s ->
  (forall p n, In n (step_children s p) <-> 0 < n < next_step s /\ above_of s n = p) /\
  (forall p t, In t (summary_children s p) <-> 0 < t < next_summary s /\ parent_of s t = p) /\
  (forall p, StronglySorted lt (step_children s p)) /\
  (forall p, StronglySorted lt (summary_children s p)) /\
  (forall c n, child_with s c = Some n <->
     In n (step_children s (step_head s)) /\ content (step s n) = c) /\
  (forall run t, child_covering s run = Some t <->
     In t (summary_children s (summary_head s)) /\ covers (summary s t) = run) /\
  (open_segment s <> [] -> forall t, child_covering s (open_segment s) = Some t <->
     In t (summary_children s (summary_head s)) /\ boundary s t = step_head s).
Proof using same_spec.
  intros s Re. pose proof (reachable_inv same_spec Re) as I.
  assert (forall run t, child_covering s run = Some t <->
          In t (summary_children s (summary_head s)) /\ covers (summary s t) = run) as Cc.
  { intros run t. split.
    - intro E. destruct (child_covering_some E) as [Ht [Hp Hc]].
      split; [now apply (in_summary_children nothing)|exact Hc].
    - intros [Hin Hc]. destruct (child_covering s run) as [u|] eqn:E.
      + destruct (child_covering_some E) as [Hu [Hp Hc']]. f_equal.
        apply (in_summary_children nothing) in Hin as [Ht Pt].
        apply (inv_sibling_covers I); try congruence || assumption.
      + apply (in_summary_children nothing) in Hin as [Ht Pt]. now destruct (child_covering_none E Ht Pt). }
  split; [apply in_step_children|]. split; [apply in_summary_children|].
  split; [intro; apply numbered_sorted|]. split; [intro; apply numbered_sorted|].
  split; [|split; [exact Cc|]].
  - intros c n. split.
    + intro E. destruct (child_with_some same_spec E) as [Hn [Hp Hc]].
      split; [now apply (in_step_children nothing)|exact Hc].
    + intros [Hin Hc]. apply (in_step_children nothing) in Hin as [Hn Pn].
      destruct (child_with s c) as [m|] eqn:E.
      * destruct (child_with_some same_spec E) as [Hm [Hp Hc']]. f_equal.
        apply (inv_siblings I); try congruence || assumption.
      * now destruct (child_with_none same_spec E Hn Pn).
  - intros Ne t. rewrite Cc. split; intros [Hin E]; (split; [exact Hin|]).
    + unfold Machine.boundary. rewrite E. exact (open_segment_last I Ne).
    + apply (in_summary_children nothing) in Hin as [Ht Pt]. destruct (inv_covers I Ht) as [_ [_ Et]].
      rewrite Pt, E in Et. pose proof (open_segment_spec I) as Sp. unfold Machine.active_path in Sp.
      rewrite Et in Sp. now apply app_inv_head in Sp.
Qed.

(* D2: the sentinels stay what they are, are never shown, compressed, judged or revised away *)
Theorem root_stands : forall s, reachable s ->
  step s 0 = root_step /\ summary s 0 = root_summary /\
  ~ In 0 (C s) /\ ~ In 0 (R s) /\
  (forall n, ~ In 0 (step_children s n)) /\ (forall t, ~ In 0 (summary_children s t)) /\
  (forall t, 0 < t < next_summary s -> ~ In 0 (covers (summary s t))) /\
  (phase s <> Active -> summary_head s <> 0) /\
  In 0 (summary_path s (summary_head s)) /\ In 0 (active_path s).
Proof using same_spec.
  intros s Re. pose proof (covers_are_contiguous Re) as Co. pose proof (reachable_inv same_spec Re) as I.
  destruct (path_starts (parent_of s) (inv_parent I) (summary_head s)) as [l Hl].
  destruct (path_starts (above_of s) (inv_above I) (current_boundary s)) as [r Hr].
  pose proof (path_nodup (parent_of s) (inv_parent I) (summary_head s)) as Nl.
  pose proof (path_nodup (above_of s) (inv_above I) (step_head s)) as Nr.
  pose proof (open_segment_spec I) as Sp. unfold Machine.active_path, Machine.step_path in *.
  unfold Machine.C, Machine.summary_path, Machine.R. rewrite Sp, Hl, Hr in *. simpl in *.
  inversion Nl; inversion Nr; subst. rewrite in_app_iff in *.
  split; [apply I|]. split; [apply I|]. split; [assumption|]. split; [tauto|].
  split; [intros n Hin; apply (in_step_children nothing) in Hin; lia|].
  split; [intros t Hin; apply (in_summary_children nothing) in Hin; lia|].
  split; [intros t Ht Hin; destruct (Co t Ht) as [_ [_ [Lt _]]]; apply Lt in Hin; lia|].
  split; [intro P; pose proof (head_not_root I P); lia|]. auto.
Qed.
End Reachable.
