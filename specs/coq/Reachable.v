(* I1 to I10 of ../README.md, and D2, of every reachable state, under their names. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants Lines Kept.
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

(* I8: on the way every summary but the head has passed or was accepted openly; so has the head in Active, is
   pending in Unverified, has failed in Rejected *)
Theorem way_is_trusted : forall s, reachable s ->
  (forall t, In t (way s (summary_head s)) -> t <> summary_head s ->
     verdict (summary s t) = Passed \/ exists d, verdict (summary s t) = Accepted d) /\
  let head := verdict (summary s (summary_head s)) in
  match phase s with
  | Active => head = Passed \/ exists d, head = Accepted d
  | Unverified => head = Pending
  | Rejected => exists f k o, head = Failed f k o
  end.
Proof using same_spec.
  intros s Re. pose proof (reachable_inv same_spec Re) as I. split.
  - intros t Ht D. destruct (inv_trusted I Ht) as [|E]; [contradiction|].
    destruct (verdict (summary s t)); try discriminate; eauto.
  - unfold Machine.phase, phase_of_verdict. destruct (verdict (summary s (summary_head s))) eqn:E; eauto.
Qed.

(* I11: on the way, between a summary of the summary path and its parent stand fallbacks alone, whose covers tile a
   prefix of its own; between a fallback and its parent nothing. On the summary path fallbacks stand only at the
   end. And the way is what `after` says: each but the root was made from the one before it *)
Theorem taken_in_are_fallbacks : forall s, reachable s -> let h := summary_head s in
  (forall t, In t (summary_path s h) -> 0 < t ->
     (forall u, In u (earlier s t) -> kind (summary s u) = Fallback /\ kind (summary s t) = Subgoal) /\
     (exists rest, covers (summary s t) = flat_map (fun u => covers (summary s u)) (earlier s t) ++ rest) /\
     (kind (summary s t) = Subgoal -> kind (summary s (parent_of s t)) = Subgoal) /\
     way s t = way s (parent_of s t) ++ earlier s t ++ [t]) /\
  forall l x y r, way s h = l ++ x :: y :: r -> after_of s y = x.
Proof using same_spec.
  intros s Re h. pose proof (reachable_inv same_spec Re) as I. split.
  - intros t Ht H0. pose proof (head_path_lt I Ht) as Lt. pose proof (inv_way I Ht H0) as T.
    split; [|split; [|split; [now apply (inv_ends I)|exact (way_of_child I H0)]]].
    + intros u Hu. destruct (taken_in I Lt T H0 Hu) as [K [_ [Kt _]]]. now split.
    + destruct T as [E T]. rewrite (earlier_is I T). destruct T as [P [_ [_ [La Ba]]]].
      pose proof (covers_to I La) as Ca. rewrite P, flat_map_app, (covers_to I) in Ca.
      2: { pose proof (inv_parent I H0). lia. }
      destruct (inv_covers I (conj H0 Lt)) as [_ [_ Ct]].
      pose proof (path_prefix _ (inv_above I) _ _ Ba) as [d Hd]. fold (step_path s (boundary s t)) in Hd.
      fold (step_path s (boundary s (after_of s t))) in Hd. rewrite Ct, <- Ca, <- app_assoc in Hd.
      apply app_inv_head in Hd. now exists d.
  - (* consecutive summaries of a way *)
    assert (forall n, In n (summary_path s h) -> forall l x y r, way s n = l ++ x :: y :: r -> after_of s y = x) as W.
    2: { apply W, path_self, I. }
    intros n. induction n as [n IH] using lt_wf_ind; intros Hn l x y r E.
    destruct (Nat.eq_dec n 0) as [->|N0].
    { rewrite (way_0 I) in E. destruct l as [|? [|? ?]]; discriminate. }
    assert (0 < n) as H0 by lia. pose proof (inv_parent I H0) as D. pose proof (head_path_lt I Hn) as Ln.
    assert (In (parent_of s n) (summary_path s h)) as Hp by (apply (parent_on_path I Hn); lia).
    destruct (inv_way I Hn H0) as [F T]. rewrite (way_of_child I H0), (earlier_is I T) in E.
    destruct (way_ends nothing s (parent_of s n)) as [w Ew]. pose proof T as [P [Fa [_ [La _]]]].
    (* the run from the parent to the head that n was made from *)
    assert (forall a G, a < next_summary s -> summary_path s a = summary_path s (parent_of s n) ++ G ->
            (forall u, In u G -> after_of s u = parent_of s u) ->
            forall l x y r, w ++ [parent_of s n] ++ G = l ++ x :: y :: r -> after_of s y = x) as Run.
    { intros a G. revert a. induction G as [|g G IG] using rev_ind; intros a Lg Pa Ga l' x' y' r' E'.
      - rewrite app_nil_r, <- Ew in E'. exact (IH _ D Hp _ _ _ _ E').
      - destruct (path_end _ (inv_parent I) a) as [q Hq]. pose proof Pa as Pa'. unfold Machine.summary_path in Pa'.
        rewrite Hq, app_assoc in Pa'. apply app_inj_tail in Pa' as [Eq <-].
        assert (a <> 0) as A0.
        { intros ->. simpl in Hq. destruct q as [|? [|? ?]]; try discriminate. symmetry in Eq.
          apply app_eq_nil in Eq as [Eq _]. destruct (path_end _ (inv_parent I) (parent_of s n)) as [z Ez].
          rewrite Ez in Eq. now destruct z. }
        pose proof (inv_parent I (n := a) ltac:(lia)) as Da.
        assert (summary_path s (parent_of s a) = summary_path s (parent_of s n) ++ G) as Pp.
        { rewrite (path_of_child I), app_assoc in Pa by lia. now apply app_inj_tail in Pa as [Pa _]. }
        assert (forall u, In u G -> after_of s u = parent_of s u) as Ga' by (intros; apply Ga, in_or_app; now left).
        destruct r' as [|z r' _] using rev_ind.
        + replace (l' ++ [x'; y']) with ((l' ++ [x']) ++ [y']) in E' by now rewrite <- app_assoc.
          rewrite !app_assoc in E'. apply app_inj_tail in E' as [E' <-].
          rewrite (Ga a) by (apply in_or_app; right; now left).
          destruct (path_end _ (inv_parent I) (parent_of s a)) as [z Ez].
          destruct G as [|g G _] using rev_ind.
          * rewrite app_nil_r in E', Pp. apply app_inj_tail in E' as [_ <-].
            exact (path_inj _ (inv_parent I) _ _ Pp).
          * rewrite !app_assoc in E'. apply app_inj_tail in E' as [_ <-]. unfold Machine.summary_path in Pp.
            rewrite Ez, app_assoc in Pp. now apply app_inj_tail in Pp as [_ Pp].
        + replace (l' ++ x' :: y' :: r' ++ [z]) with ((l' ++ x' :: y' :: r') ++ [z]) in E'
            by (rewrite <- app_assoc; reflexivity).
          rewrite !app_assoc in E'. apply app_inj_tail in E' as [E' _]. rewrite <- app_assoc in E'.
          exact (IG (parent_of s a) ltac:(lia) Pp Ga' _ _ _ _ E'). }
    destruct r as [|z r _] using rev_ind.
    + replace (l ++ [x; y]) with ((l ++ [x]) ++ [y]) in E by now rewrite <- app_assoc.
      rewrite !app_assoc in E. apply app_inj_tail in E as [E <-].
      destruct (path_end _ (inv_parent I) (after_of s n)) as [z Ez]. unfold Machine.summary_path in P. rewrite Ez in P.
      destruct F as [|f F _] using rev_ind.
      * rewrite app_nil_r in E, P. rewrite Ew in E. apply app_inj_tail in E as [_ <-].
        destruct (path_end _ (inv_parent I) (parent_of s n)) as [v Ev]. rewrite Ev in P. now apply app_inj_tail in P as [_ P].
      * rewrite !app_assoc in E, P. apply app_inj_tail in E as [_ <-]. now apply app_inj_tail in P as [_ P].
    + replace (l ++ x :: y :: r ++ [z]) with ((l ++ x :: y :: r) ++ [z]) in E by (rewrite <- app_assoc; reflexivity).
      rewrite !app_assoc in E. apply app_inj_tail in E as [E _]. rewrite Ew, <- app_assoc in E.
      exact (Run (after_of s n) F La P (fun u Hu => proj2 (Fa u Hu)) _ _ _ _ E).
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
Theorem feedback_is_not_blank : forall s, reachable s -> forall t f k o,
  verdict (summary s t) = Failed f k o \/ verdict (summary s t) = Accepted (Some (f, k, o)) -> blank f = false.
Proof using same_spec.
  intros s Re t f k o V. apply (inv_feedback (reachable_inv same_spec Re) (t := t)). now destruct V as [->| ->].
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
  (forall p run t, child_covering s p run = Some t <->
     In t (summary_children s p) /\ covers (summary s t) = run) /\
  (forall k, to_cover s k <> [] -> forall t, child_covering s (new_parent s k) (to_cover s k) = Some t <->
     In t (summary_children s (new_parent s k)) /\ boundary s t = step_head s) /\
  (forall t c, In c (ending_at s t) <-> In c (chapters s) /\ last_under c = t).
Proof using same_spec.
  intros s Re. pose proof (reachable_inv same_spec Re) as I.
  assert (forall p run t, child_covering s p run = Some t <->
          In t (summary_children s p) /\ covers (summary s t) = run) as Cc.
  { intros p run t. split.
    - intro E. destruct (child_covering_some E) as [Ht [Hp Hc]].
      split; [now apply (in_summary_children nothing)|exact Hc].
    - intros [Hin Hc]. destruct (child_covering s p run) as [u|] eqn:E.
      + destruct (child_covering_some E) as [Hu [Hp Hc']]. f_equal.
        apply (in_summary_children nothing) in Hin as [Ht Pt].
        apply (inv_sibling_covers I); try congruence || assumption.
      + apply (in_summary_children nothing) in Hin as [Ht Pt]. now destruct (child_covering_none E Ht Pt). }
  split; [apply in_step_children|]. split; [apply in_summary_children|].
  split; [intro; apply numbered_sorted|]. split; [intro; apply numbered_sorted|].
  split; [|split; [exact Cc|split; [|intros t c; apply in_ending_at]]].
  - intros c n. split.
    + intro E. destruct (child_with_some same_spec E) as [Hn [Hp Hc]].
      split; [now apply (in_step_children nothing)|exact Hc].
    + intros [Hin Hc]. apply (in_step_children nothing) in Hin as [Hn Pn].
      destruct (child_with s c) as [m|] eqn:E.
      * destruct (child_with_some same_spec E) as [Hm [Hp Hc']]. f_equal.
        apply (inv_siblings I); try congruence || assumption.
      * now destruct (child_with_none same_spec E Hn Pn).
  - intros k Ne t. rewrite Cc. split; intros [Hin E]; (split; [exact Hin|]).
    + unfold Machine.boundary. rewrite E. exact (to_cover_last I Ne).
    + apply (in_summary_children nothing) in Hin as [Ht Pt]. destruct (inv_covers I Ht) as [_ [_ Et]].
      rewrite Pt, E in Et. pose proof (to_cover_spec k I) as Sp. unfold Machine.active_path in Sp.
      rewrite Et in Sp. now apply app_inv_head in Sp.
Qed.

(* D2: the sentinels stay what they are, are never shown, compressed, judged or revised away *)
Theorem root_stands : forall s, reachable s ->
  step s 0 = root_step /\ summary s 0 = root_summary /\
  ~ In 0 (flat_map (under s) (C s)) /\ ~ In 0 (R s) /\
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
  pose proof (reads_under I (inv_summary_head I) (C_reads I)) as Un. unfold Machine.summary_path in Un.
  rewrite Hl in Un. injection Un as Un.
  unfold Machine.summary_path, Machine.R. rewrite <- Un, Sp, Hl, Hr in *. simpl in *.
  inversion Nl; inversion Nr; subst. rewrite in_app_iff in *.
  split; [apply I|]. split; [apply I|]. split; [assumption|]. split; [tauto|].
  split; [intros n Hin; apply (in_step_children nothing) in Hin; lia|].
  split; [intros t Hin; apply (in_summary_children nothing) in Hin; lia|].
  split; [intros t Ht Hin; destruct (Co t Ht) as [_ [_ [Lt _]]]; apply Lt in Hin; lia|].
  split; [intro P; pose proof (head_not_root I P); lia|]. auto.
Qed.
End Reachable.
