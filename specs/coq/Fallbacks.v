(* D12 and D17: a fallback is no end. A subgoal is judged as if no fallback stood between, but for the texts,
   and no instruction comes into force or goes out of it by one. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants Kept Reading.
Import ListNotations.

Section Fallbacks.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).

(* ---- D12 ---- *)
Lemma path_by_fallbacks : forall s f t, Inv s -> t <= f ->
  summary_path s t = summary_path s (no_fallback s f t) ++ fallbacks_upwards s f t.
Proof.
  intros s f. induction f as [|f IH]; intros t I L; simpl; [now rewrite app_nil_r|].
  destruct (kind (summary s t)) eqn:K; [now rewrite app_nil_r|].
  destruct t as [|t]; [rewrite (inv_root I) in K; discriminate|].
  pose proof (inv_parent I (n := S t) ltac:(lia)) as D.
  rewrite (path_of_child I) by lia. rewrite (IH (parent_of s (S t))) at 1 by (assumption || lia).
  now rewrite app_assoc.
Qed.

Lemma fallbacks_are : forall s f t u, In u (fallbacks_upwards s f t) -> kind (summary s u) = Fallback.
Proof.
  intros s f. induction f as [|f IH]; intros t u Hu; simpl in Hu; [contradiction|].
  destruct (kind (summary s t)) eqn:K; [contradiction|].
  apply in_app_or in Hu as [Hu|[<-|[]]]; [now apply IH in Hu|exact K].
Qed.

Lemma subgoal_path : forall s t, Inv s -> 0 < t < next_summary s -> kind (summary s t) = Subgoal ->
  let first := no_fallback s t (parent_of s t) in
  summary_path s t = summary_path s first ++ earlier s t ++ [t] /\ boundary s first = base s (parent_of s t).
Proof.
  intros s t I Ht K first. pose proof (inv_parent I (n := t) ltac:(lia)) as D. split.
  - rewrite (path_of_child I) by lia. unfold Machine.earlier. rewrite K, app_assoc. f_equal.
    apply (path_by_fallbacks I). lia.
  - unfold Machine.base, first. now rewrite (no_fallback_fuel I) by lia.
Qed.

(* question_is_whole: a subgoal is judged with the run of fallbacks right above it, oldest first, their covers
   before its own; a fallback is judged alone. The run starts where the subgoal does: below the nearest
   summary that is no fallback *)
Theorem question_is_whole : forall s t, reachable s -> 0 < t < next_summary s ->
  asked_earlier (question s t) = map (fun u => (text (summary s u), told_by s u)) (earlier s t) /\
  match kind (summary s t) with
  | Fallback => earlier s t = [] /\ steps_judged s t = covers (summary s t)
  | Subgoal => exists first, kind (summary s first) = Subgoal /\
      summary_path s t = summary_path s first ++ earlier s t ++ [t] /\
      (forall u, In u (earlier s t) -> kind (summary s u) = Fallback) /\
      label (summary s (hd t (earlier s t))) = boundary s first /\
      steps_judged s t = steps_after s (boundary s first) (boundary s t)
  end.
Proof using same_spec.
  intros s t Re Ht. pose proof (reachable_inv same_spec Re) as I. split; [reflexivity|].
  destruct (kind (summary s t)) eqn:K.
  2: { unfold Machine.steps_judged, Machine.earlier. rewrite K. simpl. now rewrite app_nil_r. }
  destruct (subgoal_path I Ht K) as [Pa _]. set (first := no_fallback s t (parent_of s t)) in *.
  pose proof (inv_parent I (n := t) ltac:(lia)) as D.
  assert (In first (summary_path s t)) as Hf.
  { rewrite Pa. apply in_or_app. left. apply path_self, I. }
  pose proof (on_path_le I Hf) as Lf.
  exists first. split; [apply (no_fallback_is I); lia|]. split; [exact Pa|]. split; [|split].
  - intros u Hu. unfold Machine.earlier in Hu. rewrite K in Hu. exact (fallbacks_are Hu).
  - assert (exists r, earlier s t ++ [t] = hd t (earlier s t) :: r) as [r Er]
      by (destruct (earlier s t) as [|u l]; eexists; reflexivity).
    assert (In (hd t (earlier s t)) (summary_path s t)) as Hh.
    { rewrite Pa, Er. apply in_or_app. right. now left. }
    destruct (path_end _ (inv_parent I) first) as [l Hl]. unfold Machine.summary_path in *.
    rewrite Er, Hl, <- app_assoc in Pa. simpl in Pa.
    pose proof (path_chain _ (inv_parent I) _ _ _ _ _ Pa) as Hp.
    assert (hd t (earlier s t) <> 0) as N0.
    { intro E. rewrite E in *. pose proof (path_nodup _ (inv_parent I) t) as Nd. rewrite Pa in Nd.
      unfold Machine.parent_of in Hp. rewrite (inv_root I) in Hp. simpl in Hp. subst first.
      apply NoDup_remove_2 in Nd. apply Nd, in_or_app. right. rewrite <- Hp. now left. }
    pose proof (on_path_le I Hh). destruct (inv_covers I (t := hd t (earlier s t)) ltac:(lia)) as [_ [-> _]].
    now rewrite Hp.
  - apply (app_inv_head (step_path s (boundary s first))).
    rewrite <- (steps_after_spec I (boundary_on_path I (n := t) ltac:(lia) Hf)).
    rewrite <- (covers_to I (t := t)) by lia. rewrite Pa, flat_map_app.
    rewrite (covers_to I) by lia. reflexivity.
Qed.

(* since_root_is_all: D18's judge sees every step since the root, which are all that the summaries cover *)
Theorem since_root_is_all : forall s t, reachable s -> t < next_summary s ->
  steps_since_root s t = flat_map (fun u => covers (summary s u)) (tl (summary_path s t)).
Proof using same_spec.
  intros s t Re Ht. pose proof (reachable_inv same_spec Re) as I. unfold Machine.steps_since_root.
  rewrite <- (covers_to I Ht). destruct (path_starts _ (inv_parent I) t) as [l Hl].
  unfold Machine.summary_path. rewrite Hl. simpl. now rewrite (inv_root I).
Qed.

(* ---- D17: what is in force, said again without the walk ---- *)
Lemma sorted_app : forall l r, StronglySorted le l -> StronglySorted le r ->
  (forall x y, In x l -> In y r -> x <= y) -> StronglySorted le (l ++ r).
Proof.
  induction l as [|a l IH]; intros r Sl Sr B; simpl; [assumption|].
  inversion Sl as [|? ? Sl' Fa]; subst. constructor.
  - apply IH; auto. intros x y Hx Hy. apply B; [now right|exact Hy].
  - apply Forall_app. split; [exact Fa|]. apply Forall_forall. intros y Hy. apply B; [now left|exact Hy].
Qed.

Lemma in_placed : forall s ns y, In y (placed s ns) <-> In (fst y) ns /\ In y (instructions s).
Proof.
  intros s ns [n x]. unfold placed, instructions_at. rewrite in_flat_map. simpl. split.
  - intros [m [Hm Hx]]. apply in_map_iff in Hx as [y [E Hy]]. injection E as <- ->.
    apply in_map_iff in Hy as [[k z] [E Hy]]. apply filter_In in Hy as [Hy K]. apply Nat.eqb_eq in K.
    simpl in *. now subst k z.
  - intros [Hn Hx]. exists n. split; [exact Hn|].
    apply in_map, in_map_iff. exists (n, x). split; [reflexivity|].
    apply filter_In. split; [exact Hx|apply Nat.eqb_refl].
Qed.

Lemma placed_sorted : forall s p ns, StronglySorted lt ns ->
  StronglySorted le (map fst (filter p (placed s ns))).
Proof.
  intros s p ns. induction ns as [|n ns IH]; intro So; [constructor|].
  inversion So as [|? ? So' Fa]; subst. unfold placed in *. simpl.
  rewrite filter_app, map_app. apply sorted_app; auto.
  - induction (instructions_at s n) as [|x l IHl]; simpl; [constructor|].
    destruct (p (n, x)); [|exact IHl]. simpl. constructor; [exact IHl|]. apply Forall_forall.
    intros y Hy. apply in_map_iff in Hy as [z [<- Hz]]. apply filter_In in Hz as [Hz _].
    apply in_map_iff in Hz as [w [<- _]]. reflexivity.
  - intros x y Hx Hy. apply in_map_iff in Hx as [z [<- Hz]]. apply filter_In in Hz as [Hz _].
    apply in_map_iff in Hz as [w [<- _]]. apply in_map_iff in Hy as [v [<- Hv]].
    apply filter_In in Hv as [Hv _]. apply (in_placed s ns) in Hv as [Hv _].
    rewrite Forall_forall in Fa. apply Fa in Hv. simpl. lia.
Qed.

Lemma last_is_most : forall l x, StronglySorted le l -> In x l -> x <= last l 0 /\ In (last l 0) l.
Proof.
  induction l as [|a l IH]; intros x So Hx; [contradiction|].
  inversion So as [|? ? So' Fa]; subst. destruct l as [|b l]; [destruct Hx as [<-|[]]; simpl; auto|].
  change (last (a :: b :: l) 0) with (last (b :: l) 0).
  destruct (IH b So' (or_introl eq_refl)) as [Lb Hl]. split; [|now right].
  destruct Hx as [<-|Hx]; [|now apply IH]. rewrite Forall_forall in Fa. now apply Fa.
Qed.

(* what_is_in_force: all placed from the base on are in force; above it, all standing ones and, where none
   that is not standing was placed from the base on, those not standing at the nearest step that has some *)
Theorem what_is_in_force : forall s b from_base, reachable s -> let higher := removelast (step_path s b) in
  exists stays, in_force s b from_base =
    map (fun x => fst (snd x)) (filter stays (placed s higher) ++ placed s from_base) /\
  forall x, In x (placed s higher) -> (stays x = true <->
    standing x = true \/
    (forall y, In y (placed s from_base) -> standing y = true) /\
    (forall y, In y (placed s higher) -> standing y = false -> fst y <= fst x)).
Proof using same_spec.
  intros s b ns Re higher. pose proof (reachable_inv same_spec Re) as I. eexists. split; [reflexivity|].
  fold higher. intros x Hx. unfold standing, not_standing. destruct (snd (snd x)) eqn:St; simpl.
  { split; auto. }
  assert (StronglySorted le (map fst (filter not_standing (placed s higher)))) as So.
  { apply placed_sorted. unfold higher. pose proof (path_sorted _ (inv_above I) b) as Sp.
    destruct (path_end _ (inv_above I) b) as [l Hl]. unfold Machine.step_path. rewrite Hl in *.
    rewrite removelast_last. clear -Sp. induction l as [|a l IH]; [constructor|].
    inversion Sp as [|? ? Sp' Fa]; subst. constructor; [now apply IH|].
    apply Forall_app in Fa. apply Fa. }
  assert (In (fst x) (map fst (filter not_standing (placed s higher)))) as Hin.
  { apply in_map, filter_In. split; [exact Hx|]. unfold not_standing. now rewrite St. }
  destruct (last_is_most So Hin) as [Lx Hl]. fold (@not_standing Text).
  assert (filter not_standing (placed s ns) = [] <->
          (forall y, In y (placed s ns) -> snd (snd y) = true)) as Fe.
  { split.
    - intros E y Hy. destruct (snd (snd y)) eqn:Sy; [reflexivity|].
      assert (In y (filter not_standing (placed s ns))) as Hf
        by (apply filter_In; split; [exact Hy|unfold not_standing; now rewrite Sy]).
      rewrite E in Hf. contradiction.
    - intros A. destruct (filter not_standing (placed s ns)) as [|y l] eqn:E; [reflexivity|exfalso].
      assert (In y (y :: l)) as Hy by now left. rewrite <- E in Hy. apply filter_In in Hy as [Hy N].
      unfold not_standing in N. rewrite (A y Hy) in N. discriminate. }
  destruct (filter not_standing (placed s ns)) as [|z l] eqn:E.
  - rewrite Nat.eqb_eq. split.
    + intros ->. right. split; [now apply Fe|]. intros y Hy Sy.
      apply (last_is_most So), in_map, filter_In. split; [exact Hy|]. unfold not_standing. now rewrite Sy.
    + intros [|[_ A]]; [discriminate|].
      apply in_map_iff in Hl as [y [Ey Hy]]. apply filter_In in Hy as [Hy N].
      unfold not_standing in N. apply negb_true_iff in N. pose proof (A y Hy N). lia.
  - split; [discriminate|]. intros [|[A _]]; [discriminate|]. apply Fe in A. discriminate.
Qed.

(* standing_ones_are_shown: every standing instruction on the active path is in force *)
Theorem standing_ones_are_shown : forall s n x, reachable s ->
  In (n, (x, true)) (instructions s) -> In n (active_path s) -> In x (instructions_shown s).
Proof using same_spec.
  intros s n x Re Hx Hn. pose proof (reachable_inv same_spec Re) as I. unfold Machine.instructions_shown.
  set (b := base s (summary_head s)).
  assert (In b (active_path s)) as Hb.
  { pose proof (base_on_path I (inv_summary_head I)) as Hb. fold b (current_boundary s) in Hb.
    unfold Machine.active_path. rewrite (steps_after_spec I (inv_heads I)). apply in_or_app. now left. }
  destruct (what_is_in_force b (b :: steps_after s b (step_head s)) Re) as [stays [-> St]].
  apply in_map_iff. exists (n, (x, true)). split; [reflexivity|]. apply in_or_app.
  unfold Machine.active_path in Hn. rewrite (steps_after_spec I Hb) in Hn.
  destruct (path_end _ (inv_above I) b) as [l Hl]. fold (step_path s b) in Hl.
  rewrite Hl, <- app_assoc in Hn. rewrite Hl, removelast_last in *.
  apply in_app_or in Hn as [Hn|Hn]; [left|right; now apply in_placed].
  assert (In (n, (x, true)) (placed s l)) as Hp by now apply in_placed.
  apply filter_In. split; [exact Hp|]. apply St; [exact Hp|]. now left.
Qed.

Lemma base_same : forall s s' t, summaries s' = summaries s -> base s' t = base s t.
Proof.
  intros s s' t E. assert (forall u, summary s' u = summary s u) as Su
    by (intro u; unfold Machine.summary; now rewrite E).
  assert (forall f u, no_fallback s' f u = no_fallback s f u) as Nf.
  { induction f as [|f IH]; intro u; simpl; [reflexivity|]. unfold Machine.parent_of. now rewrite Su, IH. }
  unfold Machine.base, Machine.boundary. now rewrite Nf, Su.
Qed.

(* standing_hides_none: a standing instruction only comes to those that are shown, which all stay *)
Theorem standing_hides_none : forall s x s', reachable s -> instruct s (x, true) = Done s' ->
  s' = s \/ instructions_shown s' = instructions_shown s ++ [x].
Proof using same_spec.
  intros s x s' Re E. pose proof (reachable_inv same_spec Re) as I.
  destruct (instruct_cases same_spec E) as [_ [_ [[_ ->]|[_ ->]]]]; [now left|right].
  unfold Machine.instructions_shown. set (s' := with_instruction s (x, true)).
  rewrite (base_same (s := s) (s' := s')) by reflexivity.
  change (summary_head s') with (summary_head s). set (b := base s (summary_head s)).
  change (steps_after s' b (step_head s')) with (steps_after s b (step_head s)).
  assert (In b (active_path s)) as Hb.
  { pose proof (base_on_path I (inv_summary_head I)) as Hb. fold b (current_boundary s) in Hb.
    unfold Machine.active_path. rewrite (steps_after_spec I (inv_heads I)). apply in_or_app. now left. }
  destruct (path_end _ (inv_above I) b) as [l Hl]. fold (step_path s b) in Hl.
  destruct (path_end _ (inv_above I) (step_head s)) as [r Hr]. fold (step_path s (step_head s)) in Hr.
  pose proof (path_nodup _ (inv_above I) (step_head s)) as Nd. fold (step_path s (step_head s)) in Nd.
  pose proof (steps_after_spec I Hb) as Sp. rewrite Hl, <- app_assoc in Sp. simpl in Sp.
  assert (exists p, b :: steps_after s b (step_head s) = p ++ [step_head s] /\ r = l ++ p) as [p [Ep ->]].
  { destruct (exists_last (l := b :: steps_after s b (step_head s)) ltac:(discriminate)) as [p [z Ez]].
    exists p. rewrite Ez, app_assoc, Hr in Sp. apply app_inj_tail in Sp as [Er <-]. now split. }
  rewrite Hr in Nd. apply NoDup_remove_2 in Nd. rewrite app_nil_r, in_app_iff in Nd.
  assert (forall q, ~ In (step_head s) q -> placed s' q = placed s q) as Q.
  { intros q Hq. apply placed_kept. intros m Hm. apply instructions_at_snoc. congruence. }
  assert (placed s' (p ++ [step_head s]) =
          placed s (p ++ [step_head s]) ++ [(step_head s, (x, true))]) as New.
  { unfold placed. rewrite !flat_map_app. fold (placed s' p) (placed s p). rewrite (Q p) by tauto. simpl.
    rewrite !app_nil_r, <- app_assoc. f_equal. unfold instructions_at, s', with_instruction. simpl.
    rewrite filter_app, !map_app. simpl. rewrite Nat.eqb_refl. reflexivity. }
  unfold Machine.in_force. change (step_path s' b) with (step_path s b).
  rewrite Hl, removelast_last, Ep, New, (Q l), filter_app by tauto. simpl. rewrite app_nil_r.
  now rewrite app_assoc, map_app.
Qed.

(* ---- what a fallback leaves as it was ---- *)
(* what instructions and questions are counted from *)
Definition same_ground s s' := steps s' = steps s /\ instructions s' = instructions s /\
  step_head s' = step_head s /\ base s' (summary_head s') = base s (summary_head s).

Lemma in_force_same : forall s s' b ns, steps s' = steps s -> instructions s' = instructions s ->
  in_force s' b ns = in_force s b ns.
Proof.
  intros s s' b ns Es Ei. unfold Machine.in_force, Machine.step_path, Machine.above_of, Machine.step, placed.
  unfold instructions_at. now rewrite Es, Ei.
Qed.
Lemma steps_after_same : forall s s' b n, steps s' = steps s -> steps_after s' b n = steps_after s b n.
Proof. intros s s' b n Es. unfold Machine.steps_after, Machine.above_of, Machine.step. now rewrite Es. Qed.

Lemma shown_on_one_ground : forall s s', same_ground s s' -> instructions_shown s' = instructions_shown s.
Proof.
  intros s s' [Es [Ei [Eh Eb]]]. unfold Machine.instructions_shown.
  rewrite Eb, Eh, (steps_after_same _ _ Es). now apply in_force_same.
Qed.

(* the head that compress gives: of that kind, down to the step head, below all that was the head before *)
Lemma compressed_head : forall s m k s', Inv s -> compress s m k = Done s' -> let h := summary_head s' in
  steps s' = steps s /\ instructions s' = instructions s /\ step_head s' = step_head s /\
  0 < h < next_summary s' /\ kind (summary s' h) = k /\ boundary s' h = step_head s /\
  base s' (parent_of s' h) = base s (summary_head s).
Proof.
  intros s m k s' I E h. pose proof (inv_summary_head I) as Lh.
  assert (forall t f u, u < t ->
          summaries s' = upd (summaries s) t f -> base s' u = base s u) as Up.
  { intros t f u Lu Es. apply (base_kept I). intros v Hv. pose proof (on_path_le I Hv).
    unfold Machine.summary. rewrite Es, nth_upd_other by lia. reflexivity. }
  subst h. destruct (compress_cases I E) as [_ [_ [[Op [K [-> [H0 Er]]]]|
    [[_ [t [_ [Ht [Hp [Lt [_ [_ [Hb Er]]]]]]]]]|[Ne [_ Er]]]]]].
  - rewrite (retexted_is (summary_head s) m Subgoal I) in Er.
    assert (summary s' (summary_head s) = set_text m Subgoal (summary s (summary_head s))) as Su
      by (rewrite Er; unfold Machine.summary; simpl; now apply nth_upd_same).
    assert (summaries s' = upd (summaries s) (summary_head s) (set_text m Subgoal)) as Es by now rewrite Er.
    assert (summary_head s' = summary_head s) as -> by now rewrite Er.
    unfold Machine.boundary, Machine.parent_of, next_summary. rewrite Su, Es, upd_length. simpl.
    apply (open_segment_nil I) in Op.
    repeat split; auto; try (now rewrite Er). fold (parent_of s (summary_head s)).
    pose proof (inv_parent I H0). rewrite (Up _ _ _ ltac:(eassumption) Es).
    rewrite (base_of (summary_head s) I). now rewrite K.
  - rewrite (retexted_is t m k I) in Er.
    assert (summary s' t = set_text m k (summary s t)) as Su
      by (rewrite Er; unfold Machine.summary; simpl; now apply nth_upd_same).
    assert (summaries s' = upd (summaries s) t (set_text m k)) as Es by now rewrite Er.
    assert (summary_head s' = t) as -> by now rewrite Er.
    unfold Machine.boundary, Machine.parent_of, next_summary. rewrite Su, Es, upd_length. simpl.
    fold (parent_of s t) (next_summary s). rewrite Hp.
    repeat split; auto; try lia; try (now rewrite Er). exact (Up _ _ _ Lt Es).
  - assert (summary s' (next_summary s) = MkSummary (summary_head s) (current_boundary s) (open_segment s) m k
      Pending) as Su by (rewrite Er; apply new_summary).
    assert (summary_head s' = next_summary s) as -> by now rewrite Er.
    unfold Machine.boundary, Machine.parent_of. rewrite Su. simpl.
    assert (next_summary s' = S (next_summary s)) as -> by (rewrite Er; apply next_summary_compressed).
    repeat split; auto; try lia; try (now rewrite Er).
    + exact (open_segment_last I Ne).
    + apply (base_kept I). intros v Hv. pose proof (on_path_le I Hv).
      rewrite Er, old_summary; [reflexivity|lia].
Qed.

Lemma fallback_keeps_the_ground : forall s m s', Inv s -> compress s m Fallback = Done s' -> same_ground s s'.
Proof.
  intros s m s' I E. destruct (compressed_head I E) as [Es [Ei [Eh [_ [K [_ B]]]]]].
  pose proof (compress_inv I E) as I'. repeat split; auto. now rewrite (base_of (summary_head s') I'), K.
Qed.

(* fallback_hides_nothing: compressing as a fallback takes no instruction out of force and brings none back *)
Theorem fallback_hides_nothing : forall s m s', reachable s -> compress s m Fallback = Done s' ->
  instructions_shown s' = instructions_shown s.
Proof using same_spec.
  intros s m s' Re E. pose proof (reachable_inv same_spec Re) as I.
  exact (shown_on_one_ground (fallback_keeps_the_ground I E)).
Qed.

(* judged_since_the_base: a judge hears all instructions since the base, and a subgoal's sees all steps since
   it: neither depends on the fallbacks between *)
Theorem judged_since_the_base : forall s m k s', reachable s -> compress s m k = Done s' ->
  let h := summary_head s' in let b := base s (summary_head s) in
  instructions_judged s' h = in_force s b (b :: removelast (steps_after s b (step_head s))) /\
  (k = Subgoal -> steps_judged s' h = steps_after s b (step_head s)).
Proof using same_spec.
  intros s m k s' Re E h b. pose proof (reachable_inv same_spec Re) as I.
  destruct (compressed_head I E) as [Es [Ei [Eh [Hh [K [Bd B]]]]]]. fold h in Hh, K, Bd, B.
  fold b in B. split.
  - unfold Machine.instructions_judged. rewrite B, Bd, (steps_after_same _ _ Es). now apply in_force_same.
  - intros ->. assert (exec s (Compress m Subgoal) = Done s') as Ex by exact E.
    pose proof (compress_inv I E) as I'.
    assert (reachable s') as Re' by (rewrite <- (after_done Ex); now apply reachable_after).
    destruct (question_is_whole Re' Hh) as [_ W]. rewrite K in W. destruct W as [first [_ [Pa [_ [_ ->]]]]].
    destruct (subgoal_path I' Hh K) as [Pa' Bf].
    assert (first = no_fallback s' h (parent_of s' h)) as ->.
    { rewrite Pa in Pa'. apply app_inv_tail in Pa'. exact (path_inj _ (inv_parent I') _ _ Pa'). }
    rewrite Bf, B, Bd. now apply steps_after_same.
Qed.

(* ---- so a subgoal that was cut by a fallback is judged as if it had not been cut ---- *)
Inductive on_the_way : Command -> Prop :=
  | way_instruct : forall x, on_the_way (Instruct x)
  | way_grow : forall c, on_the_way (Grow c).

Lemma on_one_ground : forall s s' c, same_ground s s' -> on_the_way c ->
  phase s <> Rejected -> phase s' <> Rejected -> same_ground (after s c) (after s' c) /\
  phase (after s c) = phase s /\ phase (after s' c) = phase s'.
Proof.
  intros s s' c G W P P'. pose proof G as [Es [Ei [Eh Eb]]].
  destruct W as [x|c]; unfold Machine.after; simpl.
  - unfold Machine.instruct, instructions_at. rewrite Eh, Ei.
    destruct (phase s) eqn:Ps, (phase s') eqn:Ps'; try congruence; clear P P';
      destruct (blank (fst x)); try (split; [exact G|now split]);
      destruct (existsb _ _); try (split; [exact G|now split]);
      (split; [|split; assumption]); unfold same_ground, with_instruction; simpl; rewrite Ei, Eh;
        repeat split; auto; (transitivity (base s' (summary_head s'));
        [now apply base_same|rewrite Eb; symmetry; now apply base_same]).
  - unfold Machine.grow. assert (child_with s' c = child_with s c) as ->.
    { unfold Machine.child_with, step_children, Machine.step. now rewrite Es, Eh. }
    destruct (phase s) eqn:Ps, (phase s') eqn:Ps'; try congruence; clear P P';
      destruct (child_with s c); (split; [|split; assumption]);
      unfold same_ground, at_heads, with_step, next_step; simpl; rewrite ?Es, ?Eh;
        repeat split; auto; (transitivity (base s' (summary_head s'));
        [now apply base_same|rewrite Eb; symmetry; now apply base_same]).
Qed.

Lemma judging_keeps_the_ground : forall s v, Inv s -> same_ground s (judged s v).
Proof.
  intros s v I. repeat split; auto. apply (base_kept I). intros u Hu.
  pose proof (on_path_le I Hu). pose proof (inv_summary_head I).
  change (summary_head (judged s v)) with (summary_head s) in *.
  destruct (Nat.eq_dec u (summary_head s)) as [->|D]; unfold judged;
    [now rewrite changed_same|now rewrite changed_other].
Qed.

Lemma ground_step : forall s s' s'', same_ground s s' -> same_ground s' s'' -> same_ground s s''.
Proof. intros s s' s'' [A [B [D E]]] [A' [B' [D' E']]]. repeat split; congruence. Qed.

Lemma ground_run : forall cs s s', Inv s -> Inv s' -> same_ground s s' -> Forall on_the_way cs ->
  phase s <> Rejected -> phase s' <> Rejected -> same_ground (run s cs) (run s' cs).
Proof using same_spec.
  induction cs as [|c cs IH]; intros s s' I I' G W P P'; [exact G|].
  inversion W as [|? ? Wc Ws]; subst. destruct (on_one_ground G Wc P P') as [G' [E E']].
  simpl. apply IH; auto using after_inv; congruence.
Qed.

(* fallback_is_no_end: a subgoal that was cut by a fallback, which was then trusted, is judged on the same
   steps, by the same instructions, as if it had not been cut, whatever was done on the way to its end *)
Theorem fallback_is_no_end : forall s m c cs, reachable s -> phase s = Active ->
  let cut := after s (Compress m Fallback) in
  phase cut = Unverified -> c = Accept \/ c = ApplyVerdict Pass (digest cut) -> Forall on_the_way cs ->
  forall m1 m2 s1 s2,
  exec (run s cs) (Compress m1 Subgoal) = Done s1 ->
  exec (run cut (c :: cs)) (Compress m2 Subgoal) = Done s2 ->
  instructions_judged s2 (summary_head s2) = instructions_judged s1 (summary_head s1) /\
  steps_judged s2 (summary_head s2) = steps_judged s1 (summary_head s1).
Proof using same_spec same_digest_spec.
  intros s m c cs Re P cut Pc Hc W m1 m2 s1 s2 E1 E2. pose proof (reachable_inv same_spec Re) as I.
  assert (reachable cut) as Rc by now apply reachable_after.
  pose proof (reachable_inv same_spec Rc) as Ic.
  assert (same_ground s cut) as G.
  { subst cut. unfold Machine.after in *.
    destruct (exec s (Compress m Fallback)) as [r|] eqn:E; [|congruence].
    exact (fallback_keeps_the_ground I E). }
  assert (exists v, after cut c = judged cut v /\ phase (judged cut v) = Active) as [v [Ev Pv]].
  { assert (forall v, phase (judged cut v) = phase_of_verdict v) as Ph.
    { intro v. unfold Machine.phase, judged. simpl. now rewrite changed_same by apply Ic. }
    unfold Machine.after. destruct Hc as [->| ->]; simpl.
    - unfold Machine.accept. rewrite Pc. eexists. split; [reflexivity|]. now rewrite Ph.
    - unfold Machine.apply_verdict. rewrite Pc.
      assert (same_digest (digest cut) (digest cut) = true) as -> by now apply same_digest_spec.
      eexists. split; [reflexivity|]. now rewrite Ph. }
  simpl in E2. rewrite Ev in E2.
  assert (same_ground (run s cs) (run (judged cut v) cs)) as [Es [Ei [Eh Eb]]].
  { apply ground_run; auto; [rewrite <- Ev; now apply after_inv|
      exact (ground_step G (judging_keeps_the_ground v Ic))|congruence|congruence]. }
  assert (reachable (run s cs)) as R1 by now apply reachable_run.
  assert (reachable (run (judged cut v) cs)) as R2.
  { apply reachable_run. rewrite <- Ev. now apply reachable_after. }
  destruct (judged_since_the_base R1 E1) as [-> S1]. destruct (judged_since_the_base R2 E2) as [-> S2].
  rewrite S1, S2 by reflexivity. rewrite Eb, Eh, (steps_after_same _ _ Es). split; [|reflexivity].
  now apply in_force_same.
Qed.
End Fallbacks.
