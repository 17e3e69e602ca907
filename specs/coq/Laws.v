(* L3 to L6 of ../README.md; what revise leaves, and H (D7 to D9, D14); what Algorithm 1 says that its
   operations do to C and R, said of the C and R that are derived here. *)
From Coq Require Import List Arith Bool Lia Sorted.
From Mage Require Import Path Machine Invariants Lines Kept Refusals Lost.
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
Notation new_after := (Invariants.new_after nothing).
Notation chapters_left := (@Invariants.chapters_left Text).
Notation reads := (Lines.reads nothing).

Lemma kept : forall s c s', Inv s -> exec s c = Done s' -> Inv s'.
Proof using same_spec. intros s c s'. now apply every_operation_keeps_the_invariants. Qed.

(* what later commands leave of the places of nodes *)
Lemma later_step : forall s cs n, n < next_step s -> step (run s cs) n = step s n.
Proof.
  intros s cs n. apply prefix_nth.
  exact (steps_kept (nothing_is_ever_lost nothing same blank same_digest digest_of digest_of_fold cs s)).
Qed.
Lemma later_next_step : forall s cs, next_step s <= next_step (run s cs).
Proof.
  intros s cs. apply prefix_length.
  exact (steps_kept (nothing_is_ever_lost nothing same blank same_digest digest_of digest_of_fold cs s)).
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
Lemma compress_known : forall s t m k, Inv s -> phase s = Active -> blank m = false -> to_cover s k <> [] ->
  0 < t < next_summary s -> parent_of s t = new_parent s k -> covers (summary s t) = to_cover s k ->
  compress s m k = Done (retexted s t m k).
Proof.
  intros s t m k I P B O L A E. unfold Machine.compress. rewrite P.
  destruct (to_cover s k) as [|n l] eqn:Eo; [contradiction|]. rewrite B, <- Eo in *.
  destruct (child_covering s (new_parent s k) (to_cover s k)) as [u|] eqn:F.
  - apply child_covering_some in F as [Lu [Au Eu]].
    rewrite (inv_sibling_covers I Lu L) by congruence. reflexivity.
  - exfalso. exact (child_covering_none F L A E).
Qed.

(* what the summary head is, right after a compress *)
Definition fresh s m k s' := let t := summary_head s' in
  0 < t < next_summary s' /\ boundary s' t = step_head s' /\
  summary s' t = MkSummary (new_parent s k) (boundary s (new_parent s k)) (to_cover s k) m k Pending (new_after s t) /\
  steps s' = steps s /\ step_head s' = step_head s /\
  (forall u, u < next_summary s -> u <> t -> summary s' u = summary s u) /\
  (forall u, u <> t -> ending_at s' u = ending_at s u) /\ ending_at s' t = [].

Lemma ending_left : forall s t u cs, chapters_left s t = cs ->
  rev (filter (fun c : Chapter => last_under c =? u) cs) = if u =? t then [] else ending_at s u.
Proof.
  intros s t u cs <-. unfold chapters_left, Machine.ending_at. induction (chapters s) as [|c l IH]; simpl.
  - now destruct (u =? t).
  - destruct (Nat.eqb_spec u t) as [->|D]; destruct (Nat.eqb_spec (last_under c) t) as [E|N]; simpl; auto.
    + apply Nat.eqb_neq in N. now rewrite N.
    + rewrite IH. destruct (Nat.eqb_spec (last_under c) u); [congruence|reflexivity].
    + destruct (last_under c =? u); simpl; now rewrite IH.
Qed.

Lemma retexted_fresh : forall s t m k, Inv s -> 0 < t < next_summary s ->
  parent_of s t = new_parent s k -> label (summary s t) = boundary s (new_parent s k) ->
  covers (summary s t) = to_cover s k -> boundary s t = step_head s -> fresh s m k (retexted s t m k).
Proof.
  intros s t m k I L A La Co B. rewrite retexted_is by exact I.
  assert (E : nth t (upd (summaries s) t (set_text m k (new_after s t))) root_summary =
              set_text m k (new_after s t) (summary s t)) by (apply nth_upd_same, L).
  unfold fresh; cbn [summary_head]. unfold Machine.boundary, Machine.summary, Machine.next_summary; simpl.
  rewrite E, upd_length. unfold Machine.set_text; simpl. repeat split; auto; try apply L.
  - f_equal; assumption.
  - intros u _ N. apply nth_upd_other. congruence.
  - intros u N. unfold Machine.ending_at at 1. simpl. rewrite (ending_left (s := s) (t := t)) by reflexivity.
    now destruct (Nat.eqb_spec u t).
  - unfold Machine.ending_at at 1. simpl. rewrite (ending_left (s := s) (t := t)) by reflexivity.
    now rewrite Nat.eqb_refl.
Qed.

Lemma no_chapter_beyond : forall s t, Inv s -> next_summary s <= t -> ending_at s t = [].
Proof.
  intros s t I L. destruct (ending_at s t) as [|c l] eqn:E; [reflexivity|exfalso].
  assert (In c (ending_at s t)) as Hc by (rewrite E; now left). apply in_ending_at in Hc as [Hc <-].
  destruct (inv_chapters I Hc) as [_ [Lc _]]. lia.
Qed.

Lemma compress_fresh : forall s m k s', Inv s -> compress s m k = Done s' -> fresh s m k s'.
Proof.
  intros s m k s' I G. destruct (compress_cases I G) as [_ [_ [O [[t [_ W]]|[_ ->]]]]].
  - destruct W as [L [A [La [Co [B ->]]]]]. now apply retexted_fresh.
  - pose proof (inv_summary_head I) as Lh. pose proof (inv_summaries I) as L0.
    unfold fresh. change (summary_head (compressed s m k)) with (next_summary s).
    rewrite new_summary, next_summary_compressed. repeat split; auto; try lia.
    + exact (new_boundary m I O).
    + unfold new_after. destruct (Nat.eqb_spec (next_summary s) (summary_head s)); [lia|reflexivity].
    + intros u Lu _. now apply old_summary.
    + exact (no_chapter_beyond I (le_n _)).
Qed.

(* L4: compressing the same covers again behind the same parent reaches the same SummaryId, however much later,
   and whatever the kinds *)
Theorem compress_reuses_summary : forall s m k s' cs m' k' s'', reachable s ->
  exec s (Compress m k) = Done s' -> let later := run s' cs in
  new_parent later k' = new_parent s k -> to_cover later k' = to_cover s k ->
  exec later (Compress m' k') = Done s'' ->
  summary_head s'' = summary_head s' /\ next_summary s'' = next_summary later /\
  s'' = retexted later (summary_head s') m' k'.
Proof using same_spec.
  intros s m k s' cs m' k' s'' I G later Eh Eo G'. apply (reachable_inv same_spec) in I.
  destruct (compress_fresh I G) as [L [_ [E _]]].
  assert (I' : Inv later) by (apply run_inv, (kept I G); exact same_spec).
  pose proof (nothing_is_ever_lost nothing same blank same_digest digest_of digest_of_fold cs s') as X. fold later in X.
  pose proof (extends_shape nothing X (proj2 L)) as Sh. pose proof (extends_summaries X) as Le.
  rewrite E in Sh. unfold Invariants.shape in Sh; simpl in Sh. injection Sh as Pa _ Co.
  destruct (compress_cases I' G') as [P [B [O' _]]].
  assert (C' : compress later m' k' = Done (retexted later (summary_head s') m' k')).
  { apply compress_known; auto; unfold Machine.parent_of in *; try congruence. lia. }
  simpl in G'. rewrite C' in G'. injection G' as <-. rewrite retexted_is by exact I'.
  repeat split. unfold Machine.next_summary; simpl. apply upd_length.
Qed.

(* ---- L5, L6 ---- *)
Lemma tl_app : forall T (l r : list T), l <> [] -> tl (l ++ r) = tl l ++ r.
Proof. intros T [|x l] r N; [contradiction|reflexivity]. Qed.
Lemma path_not_nil : forall p n, path p n <> [].
Proof. intros p [|n]; [discriminate|]. unfold path; simpl. now destruct (up _ _ _). Qed.

Lemma path_split : forall s t, Inv s -> In t (summary_path s (summary_head s)) -> exists undone,
  summary_path s (summary_head s) = summary_path s t ++ undone /\
  forall u, In u undone -> boundary s t < boundary s u.
Proof.
  intros s t I Hin. destruct (path_prefix _ (inv_parent I) _ _ Hin) as [d E].
  exists d. split; [exact E|].
  intros u Hu. pose proof (inv_summary_head I) as Lh.
  assert (Hp : In u (summary_path s (summary_head s)))
    by (unfold Machine.summary_path; rewrite E; apply in_or_app; now right).
  pose proof (on_path_le I Hp) as Lu.
  pose proof (path_sorted _ (inv_parent I) (summary_head s)) as So. rewrite E in So.
  assert (Lt : t < u) by (apply (sorted_before _ _ _ _ So (path_self _ (inv_parent I) t) Hu)).
  apply (boundaries_rise I); auto; try lia.
  exact (smaller_is_above I Hin Hp Lt).
Qed.

(* L5: after revise(b) the summary path is that of the target, texts, verdicts and chapters as they stood: for a
   target on the summary path, which is taken before one that was taken in, the prefix that ends at b; b is the
   step head; R is empty *)
Theorem revise_restores : forall s b l s', reachable s -> exec s (Revise b l) = Done s' ->
  let t := summary_head s' in
  step_head s' = b /\ current_boundary s' = b /\ R s' = [] /\
  In t (way s (summary_head s)) /\ boundary s t = b /\
  summary_path s' t = summary_path s t /\ summaries s' = summaries s /\ C s' = lines s t /\
  forall u, In u (summary_path s (summary_head s)) -> boundary s u = b ->
    t = u /\ exists undone, summary_path s (summary_head s) = summary_path s t ++ undone.
Proof using same_spec.
  intros s b l s' I G. apply (reachable_inv same_spec) in I. pose proof (kept I G) as I'.
  destruct (revise_spec I G) as [t [Hin [<- [Rj E]]]]. rewrite with_lesson_is in E.
  assert (C s' = lines s t) as Ec.
  { unfold Machine.C. replace (summary_head s') with t by now rewrite E.
    apply (lines_kept I I' (way_lt I Hin)); rewrite E; auto. }
  rewrite E in Ec |- *. cbn [summary_head step_head summaries]. split; [reflexivity|]. split; [reflexivity|].
  split; [apply (trace_nil (above_of s)), I|]. do 5 (split; [exact Hin || reflexivity || exact Ec|]).
  intros u Hu Bu. assert (t = u) as <-.
  { simpl in G. rewrite <- Bu, (revise_to _ _ (t := u) I Hu) in G.
    - injection G as G. apply (f_equal (@summary_head _)) in G. rewrite with_lesson_is, E in G. simpl in G. congruence.
    - intros P ->. pose proof (Rj P). unfold Machine.current_boundary in *. lia. }
  split; [reflexivity|]. destruct (path_split I Hu) as [d [Ed _]]. now exists d.
Qed.

Lemma nodup_app : forall T (l r : list T) x, NoDup (l ++ r) -> In x r -> ~ In x l.
Proof.
  induction l as [|a l IH]; intros r x N Hx; [auto|]. inversion N as [|? ? Na N']; subst. intros [->|Hl].
  - apply Na. apply in_or_app. now right.
  - now apply (IH r x N' Hx).
Qed.

Lemma target_on_active_path : forall s t, Inv s -> In t (way s (summary_head s)) ->
  In (boundary s t) (active_path s).
Proof.
  intros s t I Hin. rewrite (open_segment_spec I). apply in_or_app. left. exact (way_boundary I Hin).
Qed.

(* L6: right after revise(b) no abandoned step or summary is in C or R. [told]: the covers along the summary path,
   which is what the lines of C stand for (I12), then R *)
Theorem errors_are_isolated : forall s b l s', reachable s -> exec s (Revise b l) = Done s' ->
  active_path s = active_path s' ++ rev (abandoned s b) /\ told s' = active_path s' /\
  (forall n, In n (abandoned s b) -> ~ In n (told s')) /\
  (forall t, In t (summary_path s (summary_head s)) ->
     (In t (summary_path s' (summary_head s')) <-> boundary s t <= b)).
Proof using same_spec.
  intros s b l s' Re G. pose proof (reachable_inv same_spec Re) as I. pose proof (kept I G) as I'.
  destruct (revise_restores Re G) as [_ [_ [_ [_ [_ [Pa [_ [_ Ta]]]]]]]].
  destruct (revise_spec I G) as [t [Hin [Eb [Rj E]]]]. rewrite with_lesson_is in E.
  pose proof (target_on_active_path I Hin) as Hb. rewrite Eb in Hb.
  assert (W : active_path s = active_path s' ++ rev (abandoned s b)).
  { unfold Machine.abandoned. rewrite rev_involutive. subst s'.
    exact (trace_spec _ (inv_above I) _ _ Hb). }
  rewrite (told_is_active_path I'). split; [exact W|]. split; [reflexivity|]. split.
  - intros n Hn. apply (in_rev (abandoned s b)) in Hn. refine (nodup_app _ Hn).
    rewrite <- W. apply (path_nodup _ (inv_above I)).
  - intros u Hu. rewrite Pa. assert (summary_head s' = t) as Eh by (rewrite E; reflexivity). rewrite Eh in *.
    pose proof (way_lt I Hin) as Lt. split.
    + intro Hu'. rewrite <- Eb. exact (path_le _ (inv_above I) _ _ (boundary_on_path I Lt Hu')).
    + intro Le. apply in_way in Hin as [v [Hv Hin]].
      assert (boundary s t <= boundary s v) as Bv.
      { destruct Hin as [Hin| ->]; [|lia]. destruct (taken_in_by I Hv Hin) as [V0 [Lv T]].
        destruct (taken_in I Lv T V0 Hin) as [_ [_ [_ [_ [_ [B _]]]]]]. lia. }
      assert (In u (summary_path s v)) as Huv.
      { destruct (Nat.eq_dec u v) as [->|D]; [apply path_self, I|].
        destruct (lt_dec u v) as [Lo|Hi]; [exact (smaller_is_above I Hu Hv Lo)|exfalso].
        pose proof (smaller_is_above I Hv Hu ltac:(lia)) as Hvu. pose proof (head_path_lt I Hu) as Lu.
        pose proof (boundaries_rise I Lu Hvu ltac:(congruence)). lia. }
      destruct Hin as [Hin| ->]; [|exact Huv]. destruct (taken_in_by I Hv Hin) as [V0 [Lv T]].
      destruct (taken_in I Lv T V0 Hin) as [_ [_ [_ [_ [Ne [_ [_ [_ [E1 [E2 [_ Pt]]]]]]]]]]].
      rewrite Pt. apply in_or_app. left. rewrite (path_of_child I V0) in Huv.
      apply in_app_or in Huv as [Huv|[<-|[]]]; [exact Huv|exfalso].
      destruct (Ta v Hv ltac:(lia)) as [Et _]. contradiction.
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

(* D8: a lesson shows in H whenever that boundary is one from the base's to the current one, however the agent
   came there *)
Theorem lessons_come_back : forall s b l s' cs, exec s (Revise b l) = Done s' -> blank l = false ->
  let later := run s' cs in
  In b (map (boundary later) (since_base later (summary_head later))) -> In (b, l) (snd (H later)).
Proof.
  intros s b l s' cs G B later Hb. unfold Machine.H. cbn [snd]. unfold Machine.lessons_of. apply in_flat_map.
  exists b. split; [exact Hb|].
  destruct (lessons_kept (nothing_is_ever_lost nothing same blank same_digest digest_of digest_of_fold cs s')) as [more K].
  fold later in K. apply in_map. unfold Machine.lessons_at. apply in_map_iff. exists (b, l). split; [reflexivity|].
  apply filter_In. split; [|apply Nat.eqb_refl]. rewrite K. apply in_or_app. left.
  simpl in G. unfold Machine.revise in G. destruct (find _ _); [|discriminate]. injection G as <-.
  unfold Machine.with_lesson. rewrite B. simpl. apply in_or_app. right. now left.
Qed.

Lemma sorted_filter : forall (p : nat -> bool) l, StronglySorted lt l -> StronglySorted lt (filter p l).
Proof.
  intros p l So. induction So as [|x l So IH Fa]; simpl; [constructor|]. destruct (p x); [|exact IH].
  constructor; [exact IH|]. apply Forall_forall. intros y Hy. apply filter_In in Hy as [Hy _].
  rewrite Forall_forall in Fa. now apply Fa.
Qed.
Lemma ids_sorted : forall T (l : list T), StronglySorted lt (map fst (numbered l)).
Proof.
  intros T l. pose proof (children_sorted _ (fun _ => true) l) as So.
  assert (forall r : list (nat * T), filter (fun _ => true) r = r) as Fi by (induction r; simpl; congruence).
  now rewrite Fi in So.
Qed.
Lemma in_ids : forall s t, In t (map fst (numbered (summaries s))) <-> 0 < t < next_summary s.
Proof using nothing.
  intros s t. rewrite in_map_iff. split.
  - intros [[n u] [<- Hin]]. now apply (in_numbered root_summary) in Hin.
  - intro Ht. exists (t, summary s t). split; [reflexivity|]. now apply (in_numbered root_summary).
Qed.
(* which summaries are shown as tried *)
Lemma in_tried : forall s ps qs own t, In t (tried s ps qs own) <-> 0 < t < next_summary s /\
  match kind (summary s t) with
  | Subgoal => In (parent_of s t) ps
  | Fallback => In (parent_of s t) qs /\ ~ In (boundary s t) own /\
      forall u, 0 < u < next_summary s -> In (parent_of s u) ps -> kind (summary s u) = Subgoal ->
        ~ In (boundary s t) (covers (summary s u))
  end.
Proof.
  intros s ps qs own t. unfold Machine.tried. rewrite filter_In, in_ids. unfold Machine.is_fallback at 1.
  destruct (kind (summary s t)); [now rewrite mem_is|].
  rewrite andb_true_iff, negb_true_iff, mem_is, mem_is_not, in_app_iff, in_flat_map.
  split; intros [L [Q Co]]; (split; [exact L|]); (split; [exact Q|]).
  - split; [intro O; apply Co; now left|]. intros u Lu Pu Ku Hu. apply Co. right. exists u. split; [|exact Hu].
    apply filter_In. split; [now apply in_ids|]. unfold Machine.is_fallback. rewrite Ku, andb_true_r. now apply mem_is.
  - destruct Co as [No Co]. intros [O|[u [Hu Bu]]]; [contradiction|]. apply filter_In in Hu as [Lu Hu].
    apply andb_true_iff in Hu as [Pu Ku]. apply mem_is in Pu. apply in_ids in Lu. apply (Co u Lu Pu); [|exact Bu].
    unfold Machine.is_fallback in Ku. now destruct (kind (summary s u)).
Qed.

(* D9: H is a function of the tree, each part in order of ids: the children of the step head; the children, of kind
   subgoal, of every summary from the base to the head, and the fallbacks that are children of the head and whose
   steps no such subgoal covers; then the lessons at the boundaries from the base's to the current one, in path
   order, at one boundary oldest first (in the order they were left) *)
Theorem hints_are_derived : forall s, let h := summary_head s in
  let '(continuations, subgoals, taught) := H s in
  StronglySorted lt continuations /\ StronglySorted lt subgoals /\
  (forall n, In n continuations <-> 0 < n < next_step s /\ above_of s n = step_head s) /\
  (forall t, In t subgoals <-> 0 < t < next_summary s /\
     match kind (summary s t) with
     | Subgoal => In (parent_of s t) (since_base s h)
     | Fallback => parent_of s t = h /\
         forall u, In u subgoals -> kind (summary s u) = Subgoal -> ~ In (boundary s t) (covers (summary s u))
     end) /\
  taught = flat_map (fun t => map (pair (boundary s t)) (map snd (filter (fun x => fst x =? boundary s t) (lessons s))))
                    (since_base s h).
Proof.
  intros s h. unfold Machine.H. fold h. split; [apply children_sorted|]. split; [apply sorted_filter, ids_sorted|].
  split; [intro; apply in_step_children|]. split.
  - intro t. rewrite in_tried. split; intros [L W]; (split; [exact L|]).
    + destruct (kind (summary s t)); [exact W|]. destruct W as [[E|[]] [_ Co]]. split; [now symmetry|].
      intros u Hu Ku. apply in_tried in Hu as [Lu Pu]. rewrite Ku in Pu. now apply Co.
    + destruct (kind (summary s t)); [exact W|]. destruct W as [E Co]. split; [left; now symmetry|].
      split; [auto|]. intros u Lu Pu Ku. apply Co; [|exact Ku]. apply in_tried. rewrite Ku. now split.
  - unfold Machine.lessons_of, Machine.lessons_at. rewrite flat_map_concat_map, map_map. now rewrite flat_map_concat_map.
Qed.

(* ---- Algorithm 1 keeps C and R as lists of its own: what it does to them ---- *)
(* Grow: R appends the step; C is left alone *)
Theorem grow_views : forall s c s', reachable s -> exec s (Grow c) = Done s' ->
  R s' = R s ++ [step_head s'] /\ content (step s' (step_head s')) = c /\
  C s' = C s /\ summary_path s' (summary_head s') = summary_path s (summary_head s) /\ summaries s' = summaries s.
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
  assert (chapters s' = chapters s) as Ech.
  { destruct (grow_cases same_spec I G) as [_ [[n [_ [_ [_ [_ ->]]]]]|[_ ->]]]; reflexivity. }
  split; [|split; [exact E|split; [|split; [|exact Es]]]].
  - apply (app_inv_head (step_path s' (current_boundary s'))). unfold Machine.R.
    rewrite <- (open_segment_spec I'), Pa, B, Pb, app_assoc. now rewrite <- (open_segment_spec I).
  - unfold Machine.C. rewrite Eh. apply (lines_kept I I' (inv_summary_head I)).
    + unfold next_summary. now rewrite Es.
    + intros u _. unfold Machine.parent_of. now rewrite Sm.
    + intros u _. unfold Machine.ending_at. now rewrite Ech.
  - rewrite Eh. exact (extends_summary_path I I' (nothing_is_lost G) (inv_summary_head I)).
Qed.

(* Compress: R is emptied, C appends the summary; all that C showed down to its parent it still shows: for a fallback
   all of C, for a subgoal all but the fallbacks that it takes in *)
Theorem compress_views : forall s m k s', reachable s -> exec s (Compress m k) = Done s' ->
  let t := summary_head s' in let p := new_parent s k in
  R s' = [] /\ step_head s' = step_head s /\ C s' = lines s p ++ [OfSummary t] /\
  summary_path s' t = summary_path s p ++ [t] /\
  summary s' t = MkSummary p (boundary s p) (to_cover s k) m k Pending (new_after s t) /\
  (forall u, In u (summary_path s p) -> summary s' u = summary s u) /\
  exists taken_in, summary_path s (summary_head s) = summary_path s p ++ taken_in /\
    forall u, In u taken_in -> kind (summary s u) = Fallback /\ k = Subgoal.
Proof using same_spec.
  intros s m k s' I G t p. apply (reachable_inv same_spec) in I. pose proof (kept I G) as I'.
  destruct (compress_fresh I G) as [L [B [E [Es [Eh [Old [Ch Ct]]]]]]]. fold t in L, B, E, Old, Ch, Ct.
  pose proof (new_parent_on_path k I) as Hp. fold p in Hp, E. pose proof (head_path_lt I Hp) as Lp.
  assert (Pt : parent_of s' t = p) by (unfold Machine.parent_of; now rewrite E).
  pose proof (inv_parent I' (proj1 L)) as D. rewrite Pt in D.
  assert (Pa : summary_path s' p = summary_path s p)
    by exact (extends_summary_path I I' (nothing_is_lost G) Lp).
  split; [apply (open_segment_nil I'); now symmetry|]. split; [exact Eh|]. split; [|split; [|split; [exact E|split]]].
  - assert (lines s' p = lines s p) as <-.
    { apply (lines_kept I I' Lp).
      - apply extends_summaries, (nothing_is_lost G).
      - intros u Lu. pose proof (extends_shape nothing (nothing_is_lost G) Lu) as Sh. now apply shape_parts in Sh.
      - intros u Hu. apply Ch. intros ->. pose proof (on_path_le I Hu). lia. }
    assert (t <= t) as Le by auto. unfold Machine.C. fold t.
    assert (reads s' 0 (lines s' p ++ [OfSummary t]) t) as Rd.
    { replace (OfSummary t) with (line_of t (ending_at s' t)) by now rewrite Ct.
      constructor; [apply L|lia|]. rewrite Ct. cbn [line_of first_of]. rewrite Pt.
      apply (read_reads I'); auto. lia. }
    exact (reads_read I' (proj2 L) Rd Le).
  - rewrite (path_of_child I') by apply L. now rewrite Pt, Pa.
  - intros u Hu. pose proof (on_path_le I Hu). apply Old; lia.
  - unfold p. destruct k; simpl.
    + destruct (base_is (summary_head s) I) as [_ [_ [F [Pf Ff]]]]. exists F. split; [exact Pf|]. intros u Hu. auto.
    + exists []. rewrite app_nil_r. split; [reflexivity|contradiction].
Qed.

(* Revise: R is emptied, C is cut back to the boundary; that is L5 *)

Lemma same_views : forall s s', Inv s -> Inv s' -> steps s' = steps s -> step_head s' = step_head s ->
  map shape (summaries s') = map shape (summaries s) -> summary_head s' = summary_head s ->
  R s' = R s /\ summary_path s' (summary_head s') = summary_path s (summary_head s).
Proof.
  intros s s' I I' Es Eb Em Et.
  assert (N : forall u t, shape (summary u t) = nth t (map shape (summaries u)) (shape root_summary))
    by (intros; symmetry; apply map_nth).
  assert (Sh : forall t, shape (summary s' t) = shape (summary s t)) by (intro; now rewrite !N, Em).
  destruct (same_shapes I Sh) as [_ [B [_ [_ P]]]]. split.
  - unfold Machine.R, Machine.open_segment, Machine.current_boundary, Machine.steps_after.
    rewrite Et, B, Eb. unfold Machine.above_of, Machine.step. now rewrite Es.
  - now rewrite Et, P.
Qed.
Lemma same_lines : forall s s', Inv s -> Inv s' -> map shape (summaries s') = map shape (summaries s) ->
  summary_head s' = summary_head s -> (forall u, ending_at s' u = ending_at s u) -> C s' = C s.
Proof.
  intros s s' I I' Em Et Ec. unfold Machine.C. rewrite Et. apply (lines_kept I I' (inv_summary_head I)); auto.
  - unfold next_summary. rewrite <- (map_length shape (summaries s')), Em, map_length. auto.
  - intros u _. assert (shape (summary s' u) = shape (summary s u)) as Sh.
    { unfold Machine.summary. rewrite <- !(map_nth shape). now rewrite Em. }
    now apply shape_parts in Sh.
Qed.

(* no chapter ends at what is not trusted *)
Lemma no_chapter_ends : forall s t, Inv s -> trusted (verdict (summary s t)) = false -> ending_at s t = [].
Proof.
  intros s t I T. destruct (ending_at s t) as [|c l] eqn:E; [reflexivity|exfalso].
  assert (In c (ending_at s t)) as Hc by (rewrite E; now left). apply in_ending_at in Hc as [Hc <-].
  destruct (inv_chapters I Hc) as [_ [_ [_ [_ Tc]]]]. congruence.
Qed.

(* ... and what else there is leaves both alone; a fold leaves R alone, and the summaries that C stands for *)
Theorem other_views : forall s c s', reachable s -> exec s c = Done s' ->
  match c with
  | Instruct _ | Retext _ | ApplyVerdict _ _ | Accept =>
      R s' = R s /\ C s' = C s /\ summary_path s' (summary_head s') = summary_path s (summary_head s)
  | Fold _ _ _ _ => R s' = R s /\ summary_path s' (summary_head s') = summary_path s (summary_head s)
  | Grow _ | Revise _ _ | Compress _ _ => True
  end.
Proof using same_spec same_digest_spec.
  intros s c s' I G. apply (reachable_inv same_spec) in I. pose proof (kept I G) as I'.
  assert (forall v, s' = judged s v -> R s' = R s /\ C s' = C s /\
            summary_path s' (summary_head s') = summary_path s (summary_head s)) as Ju.
  { intros v ->. assert (map shape (summaries (judged s v)) = map shape (summaries s)) as Em
      by (simpl; now apply shape_upd).
    destruct (same_views I I') as [Er Ep]; auto. split; [exact Er|]. split; [|exact Ep]. now apply same_lines. }
  destruct c as [x|c|m k|m|a d| |b l|n b m d]; auto; simpl in G.
  - destruct (instruct_cases same_spec G) as [_ [_ [[_ ->]|[_ ->]]]]; [auto|].
    split; [|split]; [apply (same_views I I'); auto|now apply same_lines|apply (same_views I I'); auto].
  - destruct (retext_cases G) as [P [_ E]]. rewrite retexted_is in E by exact I.
    assert (map shape (summaries s') = map shape (summaries s)) as Em by (rewrite E; simpl; now apply shape_upd).
    destruct (same_views I I') as [Er Ep]; auto; try (rewrite E; reflexivity).
    split; [exact Er|]. split; [|exact Ep]. apply same_lines; auto; try (rewrite E; reflexivity).
    intro u. rewrite E. unfold Machine.ending_at at 1. simpl.
    rewrite (ending_left (s := s) (t := summary_head s)) by reflexivity. destruct (Nat.eqb_spec u (summary_head s)) as [->|]; [|reflexivity].
    symmetry. apply (no_chapter_ends I). destruct (trusted _) eqn:T; [|reflexivity]. apply trusted_spec in T. contradiction.
  - destruct (apply_verdict_cases same_digest_spec G) as [_ [_ E]].
    destruct a; [|destruct E as [_ [_ E]]]; eauto.
  - destruct (accept_cases G) as [_ E]. eauto.
  - destruct (fold_makes G) as [_ [run [_ E]]]. apply (same_views I I'); rewrite E; reflexivity.
Qed.
End Laws.
