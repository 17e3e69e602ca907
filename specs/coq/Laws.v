(* L3 to L6 of ../README.md; what revise leaves, and H (D7 to D9, D14); what Algorithm 1 says that its
   operations do to C and R, said of the C and R that are derived here. *)
From Coq Require Import List Arith Bool Lia Sorted.
From Mage Require Import Path Machine Invariants Kept Refusals Lost.
Import ListNotations.

Lemma sorted_before : forall l r x y, StronglySorted lt (l ++ r) -> In x l -> In y r -> x < y.
Proof.
  induction l as [|a l IH]; intros r x y So Hx Hy; [contradiction|].
  inversion So as [|? ? So' Fa]; subst. destruct Hx as [<-|Hx].
  - rewrite Forall_forall in Fa. apply Fa. apply in_or_app. now right.
  - eapply IH; eauto.
Qed.

Lemma sorted_app_r : forall l r, StronglySorted lt (l ++ r) -> StronglySorted lt r.
Proof. induction l as [|a l IH]; intros r So; [exact So|]. inversion So; auto. Qed.
Lemma sorted_snoc_gt : forall l x, StronglySorted gt l -> Forall (fun y => y > x) l ->
  StronglySorted gt (l ++ [x]).
Proof.
  induction l as [|y l IH]; intros x So Fa; simpl; [repeat constructor|].
  inversion So; inversion Fa; subst. constructor; [auto|]. apply Forall_app. split; [assumption|].
  now repeat constructor.
Qed.

Lemma children_sorted : forall T (p : nat * T -> bool) l,
  StronglySorted lt (map fst (filter p (numbered l))).
Proof.
  intros T p l.
  assert (Ge : forall n i (xs : list T) m, In m (map fst (filter p (combine (seq i n) xs))) -> i <= m).
  { intros n i xs m Hm. apply in_map_iff in Hm as [[m' x] [<- Hm]]. apply filter_In in Hm as [Hm _].
    apply in_combine_l, in_seq in Hm. simpl. lia. }
  enough (So : forall n i (xs : list T), StronglySorted lt (map fst (filter p (combine (seq i n) xs))))
    by apply So.
  induction n as [|n IH]; intros i [|x xs]; simpl; try constructor.
  destruct (p (i, x)); simpl; [constructor|]; auto.
  apply Forall_forall. intros m Hm. apply Ge in Hm. lia.
Qed.

Section Laws.
Load "Given".
Notation Inv := (Inv nothing blank).
Notation shape := (@Invariants.shape Text).

Lemma kept : forall s c s', Inv s -> exec s c = Done s' -> Inv s'.
Proof using same_spec. intros s c s'. now apply every_operation_keeps_the_invariants. Qed.

(* what later commands leave of the places of nodes *)
Lemma later_step : forall s cs n, n < next_step s -> step (run s cs) n = step s n.
Proof.
  intros s cs n. apply prefix_nth.
  exact (steps_kept (nothing_is_ever_lost nothing same blank same_digest digest_of cs s)).
Qed.
Lemma later_next_step : forall s cs, next_step s <= next_step (run s cs).
Proof.
  intros s cs. apply prefix_length.
  exact (steps_kept (nothing_is_ever_lost nothing same blank same_digest digest_of cs s)).
Qed.
Lemma extends_summary_path : forall s s' t, Inv s -> Inv s' -> extends s s' -> t < next_summary s ->
  summary_path s' t = summary_path s t.
Proof.
  intros s s' t I I' X L. apply (summary_path_kept I I' L). intros u Lu.
  pose proof (extends_shape nothing X Lu) as E. unfold Invariants.shape in E. now injection E.
Qed.
Lemma extends_step_path : forall s s' n, Inv s -> Inv s' -> extends s s' -> n < next_step s ->
  step_path s' n = step_path s n.
Proof.
  intros s s' n I I' [_ [l K] _ _ _] L. apply (step_path_kept I I' L). now exists l.
Qed.

(* ---- L3 ---- *)
Lemma grow_known : forall s n, Inv s -> phase s <> Rejected -> 0 < n < next_step s ->
  above_of s n = step_head s -> grow s (content (step s n)) = Done (at_heads s n (summary_head s)).
Proof using same_spec.
  intros s n I P L A. unfold Machine.grow. destruct (child_with s _) as [m|] eqn:F.
  - apply (child_with_some same_spec) in F as [Lm [Am Cm]].
    rewrite (inv_siblings I Lm L) by congruence. now destruct (phase s).
  - now apply (child_with_none same_spec F L) in A.
Qed.

(* where grow leads, merged or not *)
Lemma grow_leads : forall s c s', Inv s -> grow s c = Done s' ->
  0 < step_head s' < next_step s' /\ above_of s' (step_head s') = step_head s /\
  content (step s' (step_head s')) = c /\ phase s <> Rejected /\
  summaries s' = summaries s /\ summary_head s' = summary_head s.
Proof using same_spec.
  intros s c s' I G. pose proof (inv_steps I).
  destruct (grow_cases same_spec I G) as [P [[n [_ [L [A [E ->]]]]]|[_ ->]]].
  - repeat split; auto; apply L.
  - unfold Machine.above_of, Machine.step, with_step, Machine.next_step in *; simpl.
    rewrite app_length, app_nth2, Nat.sub_diag by lia. simpl. repeat split; auto; lia.
Qed.

(* L3: growing the same content again from the same head reaches the same step and adds nothing,
   however much later *)
Theorem grow_is_idempotent : forall s c s' cs s'', reachable s -> exec s (Grow c) = Done s' ->
  let later := run s' cs in
  step_head later = step_head s -> exec later (Grow c) = Done s'' ->
  s'' = at_heads later (step_head s') (summary_head later).
Proof using same_spec.
  intros s c s' cs s'' I G later Eh G'. apply (reachable_inv same_spec) in I.
  destruct (grow_leads I G) as [L [A [E _]]].
  assert (I' : Inv later) by (apply run_inv, (kept I G); exact same_spec).
  destruct (grow_leads I' G') as [_ [_ [_ [P _]]]].
  pose proof (later_step cs (proj2 L)) as K. fold later in K.
  pose proof (later_next_step s' cs) as N. fold later in N.
  simpl in G'. rewrite <- E, <- K, grow_known in G'; auto; try lia.
  - congruence.
  - unfold Machine.above_of. rewrite K. unfold Machine.above_of in A. congruence.
Qed.

(* ---- L4 ---- *)
Lemma compress_known : forall s t m k, Inv s -> phase s = Active -> blank m = false -> open_segment s <> [] ->
  0 < t < next_summary s -> parent_of s t = summary_head s -> covers (summary s t) = open_segment s ->
  compress s m k = Done (retexted s t m k).
Proof.
  intros s t m k I P B O L A E. unfold Machine.compress. rewrite P.
  destruct (open_segment s) as [|n l] eqn:Eo; [contradiction|]. rewrite B, <- Eo in *.
  destruct (child_covering s (open_segment s)) as [u|] eqn:F.
  - apply child_covering_some in F as [Lu [Au Eu]].
    rewrite (inv_sibling_covers I Lu L) by congruence. reflexivity.
  - exfalso. exact (child_covering_none F L A E).
Qed.

(* what the summary head is, right after a compress with something open *)
Definition fresh s m k s' := let t := summary_head s' in
  0 < t < next_summary s' /\ summary_head s < t /\ boundary s' t = step_head s' /\
  summary s' t = MkSummary (summary_head s) (current_boundary s) (open_segment s) m k Pending /\
  steps s' = steps s /\ step_head s' = step_head s /\
  forall u, u < next_summary s -> u <> t -> summary s' u = summary s u.

Lemma retexted_fresh : forall s t m k, Inv s -> 0 < t < next_summary s -> summary_head s < t ->
  parent_of s t = summary_head s -> label (summary s t) = current_boundary s ->
  covers (summary s t) = open_segment s -> boundary s t = step_head s -> fresh s m k (retexted s t m k).
Proof.
  intros s t m k I L D A La Co B. rewrite retexted_is by exact I.
  assert (E : nth t (upd (summaries s) t (set_text m k)) root_summary = set_text m k (summary s t))
    by (apply nth_upd_same, L).
  unfold fresh; cbn [summary_head]. unfold Machine.boundary, Machine.summary, Machine.next_summary; simpl.
  rewrite E, upd_length. unfold Machine.set_text; simpl. repeat split; auto; try apply L.
  - unfold Machine.parent_of in A. congruence.
  - intros u _ N. apply nth_upd_other. congruence.
Qed.

Lemma compress_fresh : forall s m k s', Inv s -> open_segment s <> [] -> compress s m k = Done s' ->
  fresh s m k s'.
Proof.
  intros s m k s' I O G. destruct (compress_cases I G) as [_ [_ [[E _]|[[_ [t W]]|[_ [_ ->]]]]]].
  - contradiction.
  - destruct W as [_ [L [A [D [La [Co [B ->]]]]]]]. now apply retexted_fresh.
  - pose proof (inv_summary_head I) as Lh.
    unfold fresh, compressed, with_summary, Machine.boundary, Machine.summary, Machine.next_summary in *.
    simpl.
    rewrite app_length, app_nth2, Nat.sub_diag by lia. simpl. repeat split; auto; try lia.
    + exact (open_segment_last I O).
    + intros u Lu _. now apply app_nth1.
Qed.

(* L4: compressing the same covers again from the same head reaches the same SummaryId, however much later *)
Theorem compress_reuses_summary : forall s m k s' cs m' k' s'', reachable s -> R s <> [] ->
  exec s (Compress m k) = Done s' -> let later := run s' cs in
  summary_head later = summary_head s -> R later = R s -> exec later (Compress m' k') = Done s'' ->
  summary_head s'' = summary_head s' /\ next_summary s'' = next_summary later /\
  s'' = retexted later (summary_head s') m' k'.
Proof using same_spec.
  intros s m k s' cs m' k' s'' I O G later Eh Eo G'. apply (reachable_inv same_spec) in I.
  destruct (compress_fresh I O G) as [L [_ [_ [E _]]]].
  assert (I' : Inv later) by (apply run_inv, (kept I G); exact same_spec).
  pose proof (nothing_is_ever_lost nothing same blank same_digest digest_of cs s') as X. fold later in X.
  pose proof (extends_shape nothing X (proj2 L)) as Sh. pose proof (extends_summaries X) as Le.
  rewrite E in Sh. unfold Invariants.shape in Sh; simpl in Sh. injection Sh as Pa _ Co.
  destruct (compress_cases I' G') as [P [B _]].
  assert (C' : compress later m' k' = Done (retexted later (summary_head s') m' k')).
  { apply compress_known; auto; unfold Machine.parent_of, Machine.R in *; try congruence. lia. }
  simpl in G'. rewrite C' in G'. injection G' as <-. rewrite retexted_is by exact I'.
  repeat split. unfold Machine.next_summary; simpl. apply upd_length.
Qed.

(* ---- L5, L6 ---- *)
Lemma tl_app : forall T (l r : list T), l <> [] -> tl (l ++ r) = tl l ++ r.
Proof. intros T [|x l] r N; [contradiction|reflexivity]. Qed.
Lemma path_not_nil : forall p n, path p n <> [].
Proof. intros p [|n]; [discriminate|]. unfold path; simpl. now destruct (up _ _ _). Qed.

Lemma path_split : forall s t, Inv s -> In t (summary_path s (summary_head s)) -> exists undone,
  summary_path s (summary_head s) = summary_path s t ++ undone /\ C s = tl (summary_path s t) ++ undone /\
  forall u, In u undone -> boundary s t < boundary s u.
Proof.
  intros s t I Hin. destruct (path_prefix _ (inv_parent I) _ _ Hin) as [d E].
  exists d. split; [exact E|]. split.
  - unfold Machine.C, Machine.summary_path. rewrite E. apply tl_app, path_not_nil.
  - intros u Hu. pose proof (inv_summary_head I) as Lh.
    assert (Hp : In u (summary_path s (summary_head s)))
      by (unfold Machine.summary_path; rewrite E; apply in_or_app; now right).
    pose proof (on_path_le I Hp) as Lu.
    pose proof (path_sorted _ (inv_parent I) (summary_head s)) as So. rewrite E in So.
    assert (Lt : t < u) by (apply (sorted_before _ _ _ _ So (path_self _ (inv_parent I) t) Hu)).
    apply (boundaries_rise I); auto; try lia.
    destruct (path_prefix _ (inv_parent I) _ _ Hp) as [e E']. 
    rewrite E in E'. assert (Ht : In t (path (parent_of s) u ++ e))
      by (rewrite <- E'; apply in_or_app; left; apply path_self, I).
    apply in_app_or in Ht as [Ht|Ht]; [exact Ht|exfalso].
    rewrite E' in So. pose proof (sorted_before _ _ _ _ So (path_self _ (inv_parent I) u) Ht). lia.
Qed.

(* L5: after revise(b) C, with texts and verdicts, is the prefix of C before that ends at b; b is the step
   head; R is empty *)
Theorem revise_restores : forall s b l s', reachable s -> exec s (Revise b l) = Done s' ->
  step_head s' = b /\ current_boundary s' = b /\ R s' = [] /\
  exists undone, C s = C s' ++ undone /\
    map (summary s) (C s) = map (summary s') (C s') ++ map (summary s) undone.
Proof using same_spec.
  intros s b l s' I G. apply (reachable_inv same_spec) in I.
  destruct (revise_spec I G) as [t [Hin [<- [_ ->]]]]. rewrite with_lesson_is.
  destruct (path_split I Hin) as [undone [_ [E _]]].
  split; [reflexivity|]. split; [reflexivity|]. split; [apply (trace_nil (above_of s)), I|].
  exists undone. split; [exact E|]. rewrite E, map_app. reflexivity.
Qed.

Lemma target_on_active_path : forall s t, Inv s -> In t (summary_path s (summary_head s)) ->
  In (boundary s t) (active_path s).
Proof.
  intros s t I Hin. rewrite (open_segment_spec I). apply in_or_app. left.
  exact (boundary_on_path I (inv_summary_head I) Hin).
Qed.

Lemma nodup_app : forall T (l r : list T) x, NoDup (l ++ r) -> In x r -> ~ In x l.
Proof.
  induction l as [|a l IH]; intros r x N Hx; [auto|]. inversion N as [|? ? Na N']; subst. intros [->|Hl].
  - apply Na. apply in_or_app. now right.
  - now apply (IH r x N' Hx).
Qed.

(* L6: right after revise(b) no abandoned step or summary is in C or R. [told]: the covers along C, then R *)
Theorem errors_are_isolated : forall s b l s', reachable s -> exec s (Revise b l) = Done s' ->
  active_path s = active_path s' ++ rev (abandoned s b) /\ told s' = active_path s' /\
  (forall n, In n (abandoned s b) -> ~ In n (told s')) /\
  (forall t, In t (C s) -> (In t (C s') <-> boundary s t <= b)).
Proof using same_spec.
  intros s b l s' I G. apply (reachable_inv same_spec) in I. pose proof (kept I G) as I'.
  destruct (revise_spec I G) as [t [Hin [<- [_ E]]]]. rewrite with_lesson_is in E.
  destruct (path_split I Hin) as [undone [_ [Ec Un]]].
  pose proof (target_on_active_path I Hin) as Hb.
  assert (W : active_path s = active_path s' ++ rev (abandoned s (boundary s t))).
  { unfold Machine.abandoned. rewrite rev_involutive. subst s'.
    exact (trace_spec _ (inv_above I) _ _ Hb). }
  rewrite (told_is_active_path I'). split; [exact W|]. split; [reflexivity|]. split.
  - intros n Hn. apply (in_rev (abandoned s (boundary s t))) in Hn. refine (nodup_app _ Hn).
    rewrite <- W. apply (path_nodup _ (inv_above I)).
  - intros u Hu. assert (Ec' : C s' = tl (summary_path s t)) by (subst s'; reflexivity). rewrite Ec'. split.
    + intro Hu'. destruct (Nat.eq_dec u t) as [->|D]; [auto|]. apply Nat.lt_le_incl.
      pose proof (on_path_le I Hin). pose proof (inv_summary_head I).
      apply (boundaries_rise I); auto; try lia. destruct (summary_path s t); [contradiction|now right].
    + intro Le. rewrite Ec in Hu. apply in_app_or in Hu as [Hu|Hu]; [exact Hu|].
      specialize (Un u Hu). lia.
Qed.

(* D7, D14: what revise leaves are the steps below b and the instructions there, and no others *)
Theorem what_revise_leaves : forall s b l s', reachable s -> exec s (Revise b l) = Done s' ->
  (forall n, In n (abandoned s b) <-> In n (active_path s) /\ b < n) /\
  StronglySorted gt (abandoned s b) /\
  map snd (placed s (active_path s)) = map snd (placed s' (active_path s')) ++ left_behind s b.
Proof using same_spec.
  intros s b l s' Re G. pose proof (reachable_inv same_spec Re) as I.
  destruct (errors_are_isolated Re G) as [W _].
  assert (So : StronglySorted lt (active_path s)) by apply (path_sorted _ (inv_above I)).
  destruct (revise_spec I G) as [t [_ [_ [_ E]]]]. rewrite with_lesson_is in E. 
  assert (P : active_path s' = step_path s b) by now subst s'.
  rewrite P in W. split; [|split].
  - intro n. rewrite W in So |- *. rewrite in_app_iff, <- in_rev. split.
    + intro Hn. split; [now right|]. apply (sorted_before _ _ _ _ So); [apply (path_self _ (inv_above I))|].
      now rewrite <- in_rev.
    + intros [[Hn|Hn] Ln]; [|exact Hn]. apply (path_le _ (inv_above I)) in Hn. lia.
  - unfold Machine.abandoned in *. rewrite rev_involutive in W. rewrite W in So.
    apply sorted_app_r in So. clear -So. induction So as [|n ns _ IH Fa]; simpl; [constructor|].
    apply sorted_snoc_gt; [exact IH|]. apply Forall_forall. intros m Hm. apply in_rev in Hm.
    rewrite Forall_forall in Fa. now apply Fa.
  - unfold Machine.left_behind. rewrite P. unfold Machine.abandoned in W. rewrite rev_involutive in W.
    rewrite W at 1. unfold placed. rewrite flat_map_app, map_app. now subst s'.
Qed.

(* D8: a lesson shows in H whenever that boundary is current, however the agent came back to it *)
Theorem lessons_come_back : forall s b l s' cs, exec s (Revise b l) = Done s' -> blank l = false ->
  let later := run s' cs in current_boundary later = b -> In l (snd (H later)).
Proof.
  intros s b l s' cs G B later E. unfold Machine.H. cbn [snd]. rewrite E.
  destruct (lessons_kept (nothing_is_ever_lost nothing same blank same_digest digest_of cs s')) as [more K].
  fold later in K. unfold Machine.lessons_at. apply in_map_iff. exists (b, l). split; [reflexivity|].
  apply filter_In. split; [|apply Nat.eqb_refl]. rewrite K. apply in_or_app. left.
  simpl in G. unfold Machine.revise in G. destruct (find _ _); [|discriminate]. injection G as <-.
  unfold Machine.with_lesson. rewrite B. simpl. apply in_or_app. right. now left.
Qed.

(* D9: H is a function of the tree, each part in order of ids: the children of the step head, the children of
   the summary head; then the lessons at the current boundary, oldest first (in the order they were left) *)
Theorem hints_are_derived : forall s,
  let '(continuations, subgoals, taught) := H s in
  StronglySorted lt continuations /\ StronglySorted lt subgoals /\
  (forall n, In n continuations <-> 0 < n < next_step s /\ above_of s n = step_head s) /\
  (forall t, In t subgoals <-> 0 < t < next_summary s /\ parent_of s t = summary_head s) /\
  taught = map snd (filter (fun x => fst x =? current_boundary s) (lessons s)).
Proof.
  intro s. unfold Machine.H. split; [apply children_sorted|]. split; [apply children_sorted|].
  split; [intro; apply in_step_children|]. split; [intro; apply in_summary_children|reflexivity].
Qed.

(* ---- Algorithm 1 keeps C and R as lists of its own: what it does to them ---- *)
(* Grow: R appends the step; C is left alone *)
Theorem grow_views : forall s c s', reachable s -> exec s (Grow c) = Done s' ->
  R s' = R s ++ [step_head s'] /\ content (step s' (step_head s')) = c /\
  C s' = C s /\ map (summary s') (C s') = map (summary s) (C s).
Proof using same_spec.
  intros s c s' I G. apply (reachable_inv same_spec) in I. pose proof (kept I G) as I'.
  destruct (grow_leads I G) as [L [A [E [_ [Es Eh]]]]].
  assert (Sm : forall t, summary s' t = summary s t) by (intro; unfold Machine.summary; now rewrite Es).
  assert (B : current_boundary s' = current_boundary s)
    by (unfold Machine.current_boundary, Machine.boundary; now rewrite Eh, Sm).
  assert (Pa : active_path s' = active_path s ++ [step_head s']).
  { unfold Machine.active_path at 1, Machine.step_path. rewrite path_S by (try apply I'; lia).
    rewrite A. f_equal. exact (extends_step_path I I' (nothing_is_lost G) (inv_step_head I)). }
  assert (Pb : step_path s' (current_boundary s) = step_path s (current_boundary s))
    by exact (extends_step_path I I' (nothing_is_lost G) (inv_boundary I (inv_summary_head I))).
  assert (Ec : C s' = C s).
  { unfold Machine.C. rewrite Eh. f_equal.
    exact (extends_summary_path I I' (nothing_is_lost G) (inv_summary_head I)). }
  split; [|split; [exact E|split; [exact Ec|rewrite Ec; apply map_ext; exact Sm]]].
  apply (app_inv_head (step_path s' (current_boundary s'))). unfold Machine.R.
  rewrite <- (open_segment_spec I'), Pa, B, Pb, app_assoc. now rewrite <- (open_segment_spec I).
Qed.

(* Compress: R is emptied, C appends the summary; all that C showed before it still shows *)
Theorem compress_views : forall s m k s', reachable s -> R s <> [] -> exec s (Compress m k) = Done s' ->
  R s' = [] /\ step_head s' = step_head s /\ C s' = C s ++ [summary_head s'] /\
  map (summary s') (C s') =
    map (summary s) (C s) ++ [MkSummary (summary_head s) (current_boundary s) (R s) m k Pending].
Proof using same_spec.
  intros s m k s' I O G. apply (reachable_inv same_spec) in I. pose proof (kept I G) as I'.
  destruct (compress_fresh I O G) as [L [D [B [E [Es [Eh Old]]]]]].
  assert (Ec : C s' = C s ++ [summary_head s']).
  { unfold Machine.C. rewrite (path_of_child I') by lia. unfold Machine.parent_of. rewrite E; cbn [parent].
    rewrite (extends_summary_path I I' (nothing_is_lost G) (inv_summary_head I)).
    apply tl_app, path_not_nil. }
  repeat split; [|exact Eh|exact Ec|].
  - apply (open_segment_nil I'). now symmetry.
  - rewrite Ec, map_app; cbn [map]. rewrite E. f_equal. apply map_ext_in. intros u Hu.
    assert (Hp : In u (summary_path s (summary_head s)))
      by (unfold Machine.C in Hu; destruct (summary_path s (summary_head s)); [contradiction|now right]).
    pose proof (on_path_le I Hp). pose proof (inv_summary_head I). apply Old; lia.
Qed.

(* Revise: R is emptied, C is cut back to the boundary; that is L5 *)

Lemma same_views : forall s s', Inv s -> steps s' = steps s -> step_head s' = step_head s ->
  map shape (summaries s') = map shape (summaries s) -> summary_head s' = summary_head s ->
  R s' = R s /\ C s' = C s.
Proof.
  intros s s' I Es Eb Em Et.
  assert (N : forall u t, shape (summary u t) = nth t (map shape (summaries u)) (shape root_summary))
    by (intros; symmetry; apply map_nth).
  assert (Sh : forall t, shape (summary s' t) = shape (summary s t)) by (intro; now rewrite !N, Em).
  destruct (same_shapes I Sh) as [_ [B [_ [_ P]]]]. split.
  - unfold Machine.R, Machine.open_segment, Machine.current_boundary, Machine.steps_after.
    rewrite Et, B, Eb. unfold Machine.above_of, Machine.step. now rewrite Es.
  - unfold Machine.C. now rewrite Et, P.
Qed.

(* ... and what else there is leaves both alone *)
Theorem other_views : forall s c s', reachable s -> exec s c = Done s' ->
  match c with
  | Instruct _ | Retext _ _ | ApplyVerdict _ _ | Accept => R s' = R s /\ C s' = C s
  | Compress _ _ => R s = [] -> R s' = [] /\ C s' = C s
  | Grow _ | Revise _ _ => True
  end.
Proof using same_spec same_digest_spec.
  intros s c s' I G. apply (reachable_inv same_spec) in I.
  destruct c as [x|c|m k|m k|a d| |b l]; auto; simpl in G.
  - destruct (instruct_cases same_spec G) as [_ [_ [[_ ->]|[_ ->]]]]; now apply same_views.
  - intro O. destruct (compress_cases I G) as [_ [_ [[_ [_ [_ [_ ->]]]]|[[N _]|[N _]]]]]; try contradiction.
    rewrite retexted_is by exact I. rewrite <- O. apply same_views; auto. simpl. apply shape_upd. reflexivity.
  - destruct (retext_cases G) as [_ [_ ->]]. rewrite retexted_is by exact I.
    apply same_views; auto. simpl. apply shape_upd. reflexivity.
  - destruct (apply_verdict_cases same_digest_spec G) as [_ [_ E]].
    destruct a; [|destruct E as [_ E]]; subst s'; apply same_views; auto; simpl; apply shape_upd; reflexivity.
  - destruct (accept_cases G) as [_ ->]. apply same_views; auto. simpl. apply shape_upd. reflexivity.
Qed.
End Laws.
