(* D12 and D17: a fallback is no end. A subgoal takes its fallbacks in, is the summary that it would have been without
   them, and is judged as such; no instruction and no lesson is hidden by one. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants Lines Kept Refusals Lost Laws Phases Changes Detours Reading.
Import ListNotations.

Section Fallbacks.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).
Notation telling := (Reading.telling nothing).
Notation new_after := (Invariants.new_after nothing).
Notation all_of := (Detours.all_of nothing same blank same_digest digest_of digest_of_fold).
Notation regrow := (Detours.regrow nothing Digest).
Notation made_from := (@Detours.made_from Text).

(* ---- D12 ---- *)
Lemma covers_are_after : forall s t, Inv s -> 0 < t < next_summary s ->
  covers (summary s t) = steps_after s (boundary s (parent_of s t)) (boundary s t).
Proof.
  intros s t I Ht. destruct (inv_covers I Ht) as [_ [_ E]].
  assert (In (boundary s (parent_of s t)) (step_path s (boundary s t))) as Hb
    by (rewrite E; apply in_or_app; left; apply path_self, I).
  rewrite (steps_after_spec I Hb) in E. now apply app_inv_head in E.
Qed.

(* question_is_whole: a subgoal is judged on all steps since its base, with what it took in, which are fallbacks
   whose covers tile a prefix of its own, oldest first; a fallback on its own steps, with none *)
Theorem question_is_whole : forall s t, reachable s -> In t (way s (summary_head s)) -> 0 < t ->
  let q := question s t in
  asked_covers q = map (telling s) (covers (summary s t)) /\
  asked_earlier q = map (fun u => (boundary s u, said s u)) (earlier s t) /\
  match kind (summary s t) with
  | Fallback => earlier s t = [] /\
      covers (summary s t) = steps_after s (boundary s (parent_of s t)) (boundary s t)
  | Subgoal =>
      covers (summary s t) = steps_after s (boundary s (base s (parent_of s t))) (boundary s t) /\
      (forall u, In u (earlier s t) -> kind (summary s u) = Fallback) /\
      exists rest, covers (summary s t) = flat_map (fun u => covers (summary s u)) (earlier s t) ++ rest
  end.
Proof using same_spec.
  intros s t Re Hw H0 q. pose proof (reachable_inv same_spec Re) as I. pose proof (way_lt I Hw) as Lt.
  split; [reflexivity|]. split; [reflexivity|]. pose proof (covers_are_after I (conj H0 Lt)) as Co.
  destruct (took_in_on_way I Hw H0) as [E T]. destruct (kind (summary s t)) eqn:K.
  - (* a subgoal on the way is on the summary path, and its parent is no fallback *)
    assert (In t (summary_path s (summary_head s))) as Ht.
    { apply in_way in Hw as [v [Hv [Hw| ->]]]; [exfalso|exact Hv].
      destruct (taken_in_by I Hv Hw) as [V0 [Lv Tv]]. destruct (taken_in I Lv Tv V0 Hw) as [Kt _]. congruence. }
    rewrite (base_of (parent_of s t) I), (inv_ends I Ht H0 K). split; [exact Co|]. split.
    + intros u Hu. now destruct (taken_in I Lt (ex_intro _ E T) H0 Hu) as [Ku _].
    + rewrite (earlier_is I T). destruct T as [P [_ [_ [La Ba]]]].
      pose proof (covers_to I La) as Ca. rewrite P, flat_map_app, (covers_to I) in Ca
        by (pose proof (inv_parent I H0); lia).
      destruct (inv_covers I (conj H0 Lt)) as [_ [_ Ct]].
      pose proof (path_prefix _ (inv_above I) _ _ Ba) as [d Hd]. fold (step_path s (boundary s t)) in Hd.
      fold (step_path s (boundary s (after_of s t))) in Hd. rewrite Ct, <- Ca, <- app_assoc in Hd.
      apply app_inv_head in Hd. now exists d.
  - split; [|exact Co]. rewrite (earlier_is I T). destruct T as [_ [_ [Kt _]]]. now apply Kt.
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
  set (b := boundary s (base s (summary_head s))).
  assert (In b (active_path s)) as Hb.
  { pose proof (base_boundary_on_path I (inv_summary_head I)) as Hb. fold b (current_boundary s) in Hb.
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
  unfold Machine.base. now rewrite Nf.
Qed.

(* standing_hides_none: a standing instruction only comes to those that are shown, which all stay *)
Theorem standing_hides_none : forall s x s', reachable s -> instruct s (x, true) = Done s' ->
  s' = s \/ instructions_shown s' = instructions_shown s ++ [x].
Proof using same_spec.
  intros s x s' Re E. pose proof (reachable_inv same_spec Re) as I.
  destruct (instruct_cases same_spec E) as [_ [_ [[_ ->]|[_ ->]]]]; [now left|right].
  unfold Machine.instructions_shown. set (s' := with_instruction s (x, true)).
  change (base s' (summary_head s')) with (base s' (summary_head s)).
  rewrite (base_same (s := s) (s' := s')) by reflexivity.
  change (boundary s' (base s (summary_head s))) with (boundary s (base s (summary_head s))).
  set (b := boundary s (base s (summary_head s))).
  change (steps_after s' b (step_head s')) with (steps_after s b (step_head s)).
  assert (In b (active_path s)) as Hb.
  { pose proof (base_boundary_on_path I (inv_summary_head I)) as Hb. fold b (current_boundary s) in Hb.
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
Lemma in_force_same : forall s s' b ns, steps s' = steps s -> instructions s' = instructions s ->
  in_force s' b ns = in_force s b ns.
Proof.
  intros s s' b ns Es Ei. unfold Machine.in_force, Machine.step_path, Machine.above_of, Machine.step, placed.
  unfold instructions_at. now rewrite Es, Ei.
Qed.
Lemma steps_after_same : forall s s' b n, steps s' = steps s -> steps_after s' b n = steps_after s b n.
Proof. intros s s' b n Es. unfold Machine.steps_after, Machine.above_of, Machine.step. now rewrite Es. Qed.

Lemma since_base_is : forall s t, Inv s -> exists l,
  summary_path s (base s t) = l ++ [base s t] /\ summary_path s t = l ++ since_base s t.
Proof.
  intros s t I. destruct (path_end _ (inv_parent I) (base s t)) as [l Hl]. exists l. split; [exact Hl|].
  unfold Machine.summary_path, Machine.since_base. rewrite (trace_spec _ (inv_parent I) _ _ (base_on_path t I)).
  rewrite Hl, <- app_assoc. reflexivity.
Qed.

(* the base stays where no fallback, and no change, comes between *)
Lemma compress_base : forall s m k s', reachable s -> exec s (Compress m k) = Done s' -> let t := summary_head s' in
  base s' (parent_of s' t) = base s (summary_head s) /\
  boundary s' (base s (summary_head s)) = boundary s (base s (summary_head s)) /\
  (k = Fallback -> base s' t = base s (summary_head s) /\ since_base s' t = since_base s (summary_head s) ++ [t]).
Proof using same_spec.
  intros s m k s' Re G t. pose proof (reachable_inv same_spec Re) as I.
  destruct (compress_views same_spec Re G) as [_ [_ [_ [Pa [Su [Old _]]]]]]. fold t in Pa, Su.
  pose proof (kept same_spec I G) as I'. set (p := new_parent s k) in *.
  assert (parent_of s' t = p) as Pt by (unfold Machine.parent_of; now rewrite Su).
  assert (base s p = base s (summary_head s)) as Bp.
  { unfold p. destruct k; [|reflexivity]. simpl. rewrite (base_of (base s (summary_head s)) I).
    now rewrite (proj1 (base_is (summary_head s) I)). }
  assert (base s' p = base s p) as Bp'.
  { apply (base_kept I). intros u Hu. unfold Machine.parent_of. now rewrite (Old u Hu). }
  rewrite Pt. split; [congruence|]. split.
  - unfold Machine.boundary. rewrite Old; [reflexivity|]. rewrite <- Bp. exact (base_on_path p I).
  - intros ->. assert (base s' t = base s (summary_head s)) as Bt.
    { rewrite (base_of t I'), Su. simpl. rewrite Pt. congruence. }
    split; [exact Bt|]. destruct (since_base_is t I') as [l [El Pl]]. destruct (since_base_is (summary_head s) I) as [l' [El' Pl']].
    rewrite Bt in El. assert (summary_path s' (base s (summary_head s)) = summary_path s (base s (summary_head s))) as Eb.
    { assert (base s (summary_head s) < next_summary s) as Lb.
      { pose proof (proj1 (proj2 (base_is (summary_head s) I))). pose proof (inv_summary_head I). lia. }
      exact (extends_summary_path I I' (nothing_is_lost G) Lb). }
    rewrite Eb, El' in El. apply app_inj_tail in El as [<- _].
    rewrite Pa in Pl. unfold p in Pl. simpl in Pl. rewrite Pl', <- app_assoc in Pl. now apply app_inv_head in Pl.
Qed.

(* L13, fallback_hides_nothing: compressing as a fallback takes no instruction out of force, brings none back, and
   takes no lesson out of H *)
Theorem fallback_hides_nothing : forall s m s', reachable s -> exec s (Compress m Fallback) = Done s' ->
  instructions_shown s' = instructions_shown s /\ forall x, In x (snd (H s)) -> In x (snd (H s')).
Proof using same_spec same_digest_spec.
  intros s m s' Re G. pose proof (reachable_inv same_spec Re) as I.
  destruct (changes_are_local same_spec same_digest_spec Re G) as [[_ [Es [Eh [Ei _]]]] _].
  destruct (compress_base Re G) as [_ [Bb Fb]]. destruct (Fb eq_refl) as [Bt St]. split.
  - unfold Machine.instructions_shown. rewrite Bt, Bb, Eh, (steps_after_same _ _ Es). now apply in_force_same.
  - intros [b l] Hx. unfold Machine.H in *. cbn [snd] in *. rewrite St, map_app. unfold Machine.lessons_of in *.
    rewrite flat_map_app. apply in_or_app. left. apply in_flat_map in Hx as [b' [Hb Hx]]. apply in_flat_map.
    exists b'. split.
    + apply in_map_iff in Hb as [u [<- Hu]]. apply in_map_iff. exists u. split; [|exact Hu].
      destruct (compress_views same_spec Re G) as [_ [_ [_ [_ [_ [Old _]]]]]]. unfold Machine.boundary.
      rewrite Old; [reflexivity|]. exact (since_base_on_path I Hu).
    + destruct (lessons_kept (nothing_is_lost G)) as [more K]. unfold Machine.lessons_at in *. rewrite K, filter_app, !map_app.
      apply in_or_app. now left.
Qed.

(* judged_since_the_base: a judge hears all instructions since the base, and a subgoal's sees all steps since
   it: neither depends on the fallbacks between *)
Theorem judged_since_the_base : forall s m k s', reachable s -> exec s (Compress m k) = Done s' ->
  let h := summary_head s' in let b := boundary s (base s (summary_head s)) in
  instructions_judged s' h = in_force s b (b :: removelast (steps_after s b (step_head s))) /\
  (k = Subgoal -> covers (summary s' h) = steps_after s b (step_head s)).
Proof using same_spec same_digest_spec.
  intros s m k s' Re G h b. pose proof (reachable_inv same_spec Re) as I.
  destruct (changes_are_local same_spec same_digest_spec Re G) as [[_ [Es [Eh [Ei _]]]] _].
  destruct (compress_base Re G) as [Bp [Bb _]]. destruct (compress_fresh I G) as [_ [Bh [Su _]]]. fold h in Bp, Bh, Su.
  split.
  - unfold Machine.instructions_judged. rewrite Bp, Bb, Bh, Eh, (steps_after_same _ _ Es). now apply in_force_same.
  - intros ->. now rewrite Su.
Qed.

(* ---- L12 ---- *)
Lemma upd_last : forall T (l : list T) x f, upd (l ++ [x]) (length l) f = l ++ [f x].
Proof. intros T l x f. induction l as [|y l IH]; simpl; [reflexivity|now rewrite IH]. Qed.

(* go back to where the subgoal began, grow all of its steps again, and complete it in one piece *)
Definition uncut s l m : list Command :=
  Revise (boundary s (base s (summary_head s))) l :: regrow s (to_cover s Subgoal) ++ [Compress m Subgoal].

(* L12, fallbacks_leave_no_trace: what completes a subgoal that was cut by fallbacks leaves the same state as if it had
   not been cut, but for the head that the summary was made from ... *)
Theorem fallbacks_leave_no_trace : forall s m s' l, reachable s -> blank l = true ->
  exec s (Compress m Subgoal) = Done s' ->
  all_of s (uncut s l m) = Done (made_from (base s (summary_head s)) s').
Proof using same_spec.
  intros s m s' l Re Bl G. pose proof (reachable_inv same_spec Re) as I.
  set (b := base s (summary_head s)). pose proof (base_on_path (summary_head s) I) as Hb. fold b in Hb.
  destruct (compress_cases I G) as [P [Bm [Ne Cs]]].
  assert (Tb : phase_of_verdict (verdict (summary s b)) = Active)
    by exact (proj1 (trusted_spec _) (active_way_trusted I P (path_in_way Hb))).
  unfold uncut. fold b. cbn [Detours.all_of].
  assert (G1 : exec s (Revise (boundary s b) l) = Done (at_heads s (boundary s b) b)).
  { simpl. rewrite (revise_to _ _ I Hb) by congruence. f_equal. unfold Machine.with_lesson. now rewrite Bl. }
  rewrite G1. set (s1 := at_heads s (boundary s b) b). pose proof (kept same_spec I G1) as I1. fold s1 in I1.
  rewrite all_of_app. change (regrow s (to_cover s Subgoal)) with (regrow s1 (to_cover s Subgoal)).
  assert (G2 : all_of s1 (regrow s1 (to_cover s Subgoal)) = Done (at_heads s1 (step_head s) b)).
  { apply (grow_back _ _ _ same_spec); [exact I1| |apply I|exact (to_cover_spec Subgoal I)].
    change (phase s1) with (phase_of_verdict (verdict (summary s b))). congruence. }
  rewrite G2. change (at_heads s1 (step_head s) b) with (at_heads s (step_head s) b) in *.
  set (s2 := at_heads s (step_head s) b) in *.
  assert (I2 : Inv s2) by exact (all_of_inv same_spec I1 G2).
  assert (Np : new_parent s2 Subgoal = b).
  { simpl. change (summary_head s2) with b. rewrite (base_of b I2). change (summary s2 b) with (summary s b).
    unfold b at 1. now rewrite (proj1 (base_is (summary_head s) I)). }
  assert (To : to_cover s2 Subgoal = to_cover s Subgoal) by (unfold Machine.to_cover; now rewrite Np).
  cbn [Detours.all_of]. simpl exec. unfold Machine.compress.
  change (phase s2) with (phase_of_verdict (verdict (summary s b))). rewrite Tb, To, Np, Bm.
  change (child_covering s2 b (to_cover s Subgoal)) with (child_covering s (new_parent s Subgoal) (to_cover s Subgoal)).
  destruct (to_cover s Subgoal) as [|x r] eqn:Et; [contradiction|]. rewrite <- Et in *. clear Et x r.
  destruct Cs as [[t [F [Lt [Pt [_ [_ [Bt E]]]]]]]|[F E]]; rewrite F.
  - f_equal. assert (t <> b) as Nt.
    { intros ->. pose proof (inv_parent I (proj1 Lt)) as D. rewrite Pt in D. simpl in D. fold b in D. lia. }
    unfold s2. rewrite (retexted_from _ _ I I2 Nt), E. f_equal. rewrite (retexted_is _ _ _ I). reflexivity.
  - f_equal. rewrite E. unfold Machine.compressed. rewrite Np, To. unfold Detours.made_from, changed_summary, with_summary, s2, at_heads.
    cbn [summary_head task steps summaries step_head lessons instructions chapters]. f_equal. unfold next_summary. cbn [summaries].
    rewrite upd_last. reflexivity.
Qed.

Lemma read_same : forall s s' fuel top t, (forall u, parent_of s' u = parent_of s u) -> chapters s' = chapters s ->
  read s' fuel top t = read s fuel top t.
Proof.
  intros s s' fuel. induction fuel as [|fuel IH]; intros top t P E; simpl; [reflexivity|].
  destruct (t =? top); [reflexivity|]. unfold Machine.ending_at. rewrite E, P. f_equal. now apply IH.
Qed.
Lemma narrowed : forall (l : list (nat * Step Text)) places p own g,
  (forall c, In c l -> g (fst c) = above (snd c)) ->
  filter own (map fst (filter (fun c => mem (above (snd c)) [p]) l)) =
  filter (fun n : nat => g n =? p) (filter own (map fst (filter (fun c => mem (above (snd c)) (p :: places)) l))).
Proof.
  induction l as [|c l IH]; intros places p own g G; [reflexivity|].
  pose proof (G c (or_introl eq_refl)) as Gc. specialize (IH places p own g (fun d Hd => G d (or_intror Hd))).
  unfold mem in *. cbn [filter existsb] in *. destruct (Nat.eqb_spec (above (snd c)) p) as [E|N]; simpl.
  - destruct (own (fst c)); simpl; [|exact IH]. rewrite Gc, E, Nat.eqb_refl. now f_equal.
  - destruct (existsb (Nat.eqb (above (snd c))) places); simpl; [|exact IH].
    destruct (own (fst c)); simpl; [|exact IH]. rewrite Gc. apply Nat.eqb_neq in N. rewrite N. exact IH.
Qed.
Lemma way_up_to : forall s p u, Inv s -> In p (summary_path s (summary_head s)) -> In u (way s p) ->
  boundary s u <= boundary s p.
Proof.
  intros s p u I Hp Hu. destruct (way_below I Hp (root_on_path p I)) as [d [Ed Bd]].
  rewrite Ed in Hu. apply in_app_or in Hu as [Hu|Hu]; [|now apply Bd].
  rewrite (way_0 I) in Hu. destruct Hu as [<-|[]]. unfold Machine.boundary at 1. rewrite (inv_root I). simpl. lia.
Qed.

(* ... and its judge is asked the same, but for earlier, what was tried and learned from the boundaries of the
   fallbacks, and that a mistake may be said to have begun there *)
Theorem fallbacks_are_beside_the_question : forall s m s', reachable s -> exec s (Compress m Subgoal) = Done s' ->
  let t := summary_head s' in let one := made_from (base s (summary_head s)) s' in
  let q := question s' t in
  question one t = Ask (asked_task q) (asked_instructions q) (asked_kind q) (asked_summary q) (asked_before q)
                       (asked_covers q) [] (asked_text q) /\
  lines_before one t = lines_before s' t /\ steps_since_root one t = steps_since_root s' t /\
  fst (fst (hints one t)) = filter (fun n => above_of s' n =? label (summary s' t)) (fst (fst (hints s' t))) /\
  (exists more, snd (hints s' t) = snd (hints one t) ++ more) /\
  (forall u, kind (summary s' u) = Subgoal ->
     (In u (snd (fst (hints one t))) <-> In u (snd (fst (hints s' t))) /\ parent_of s' u = parent_of s' t)) /\
  forall b, In b (boundaries one t) <-> In b (boundaries s' t) /\ ~ In b (map (boundary s') (earlier s' t)).
Proof using same_spec same_digest_spec.
  intros s m s' Re G t one q. pose proof (reachable_inv same_spec Re) as I0. pose proof (kept same_spec I0 G) as I.
  destruct (compress_fresh I0 G) as [Lt [_ [Sm _]]]. fold t in Lt, Sm.
  set (b := base s (summary_head s)) in *.
  assert (parent_of s' t = b) as Pt by (unfold Machine.parent_of; now rewrite Sm).
  assert (kind (summary s' t) = Subgoal) as Kt by now rewrite Sm.
  assert (forall u, u <> t -> summary one u = summary s' u) as Su by (intros u D; now apply changed_other).
  assert (summary one t = set_after b (summary s' t)) as St by (apply changed_same, Lt).
  assert (forall u, shape (summary one u) = shape (summary s' u) /\ kind (summary one u) = kind (summary s' u) /\
                    said one u = said s' u) as Sh.
  { intro u. unfold Machine.said. destruct (Nat.eq_dec u t) as [->|D]; [rewrite St|rewrite (Su u D)]; auto. }
  assert (forall u, parent_of one u = parent_of s' u) as Pu by (intro u; now apply (shape_parts (proj1 (Sh u)))).
  assert (forall u, boundary one u = boundary s' u) as Bu.
  { intro u. unfold Machine.boundary. destruct (shape_parts (proj1 (Sh u))) as [_ [_ ->]]. reflexivity. }
  assert (forall u, covers (summary one u) = covers (summary s' u)) as Cu
    by (intro u; now apply (shape_parts (proj1 (Sh u)))).
  assert (label (summary one t) = label (summary s' t)) as Lat by now rewrite St.
  assert (decreasing (parent_of one)) as D1 by (intros n Hn; rewrite Pu; now apply (inv_parent I)).
  assert (forall u, summary_path one u = summary_path s' u) as Pa by (intro u; apply path_ext; auto; apply I).
  assert (base one b = base s' b) as Bb.
  { apply (base_kept I). intros u _. split; [apply Pu|apply Sh]. }
  assert (after_of one t = b) as At by (unfold Machine.after_of; now rewrite St).
  assert (earlier one t = []) as E1.
  { unfold Machine.earlier. rewrite At, Pu, Pt. destruct (next_summary one); simpl; [reflexivity|]. now rewrite Nat.eqb_refl. }
  assert (other_earlier one t = []) as O1 by (unfold Machine.other_earlier; now rewrite E1).
  assert (since_base one b = since_base s' b) as Sb.
  { pose proof (base_on_path b I) as Hb. unfold Machine.since_base. rewrite Bb. f_equal.
    pose proof (trace_spec _ (inv_parent I) _ _ Hb) as T1. fold (summary_path s' (base s' b)) (summary_path s' b) in T1.
    assert (In (base s' b) (summary_path one b)) as Hb1 by (rewrite Pa; exact Hb).
    pose proof (trace_spec _ D1 _ _ Hb1) as T2. fold (summary_path one (base s' b)) (summary_path one b) in T2.
    rewrite !Pa, T1 in T2. now apply app_inv_head in T2. }
  assert (In t (summary_path s' t)) as Ht by apply path_self, I.
  pose proof (inv_way I Ht (proj1 Lt)) as Tt.
  split; [|split; [|split; [|split; [|split; [|split]]]]].
  - unfold q, Machine.question. cbn [asked_task asked_instructions asked_kind asked_summary asked_before asked_covers asked_text].
    f_equal.
    + unfold Machine.instructions_judged. rewrite Pu, Pt, Bb, !Bu.
      rewrite (steps_after_same (s := s') (s' := one)) by reflexivity. now apply in_force_same.
    + apply Sh.
    + unfold Machine.before. rewrite Pu, Pa. apply map_ext. intro u. apply Sh.
    + unfold Machine.told_by. now rewrite Cu.
    + now rewrite E1.
    + now rewrite St.
  - unfold Machine.lines_before, Machine.lines. rewrite Pu. now apply read_same.
  - unfold Machine.steps_since_root. now rewrite Bu.
  - unfold Machine.hints. cbn [fst]. rewrite O1, Lat, Cu. cbn [map].
    apply (narrowed (map (boundary s') (other_earlier s' t))). intros [n x] Hc.
    apply (in_numbered root_step) in Hc as [_ E]. cbn [fst snd]. change (steps one) with (steps s') in E. unfold Machine.above_of, Machine.step. now rewrite E.
  - unfold Machine.hints. cbn [snd]. rewrite O1, app_nil_r, Pu, Pt, Sb, map_app. unfold Machine.lessons_of. rewrite flat_map_app.
    rewrite (map_ext _ _ Bu). eexists. reflexivity.
  - intros u Ku. unfold Machine.hints. cbn [fst snd]. rewrite O1, E1, Pu, Pt, Cu, !filter_In, !in_tried.
    rewrite (proj1 (proj2 (Sh u))), Ku, Pu. change (next_summary one) with (length (upd (summaries s') (summary_head s') (set_after b))).
    rewrite upd_length. fold (next_summary s'). rewrite !negb_true_iff, !mem_is_not. simpl. split.
    + intros [[L [P|[]]] No]. split; [|now symmetry]. split; [split; [exact L|now left]|].
      intros [E|Hu]; [apply No; now left|].
      destruct (taken_in I (proj2 Lt) Tt (proj1 Lt) Hu) as [Kf _]. congruence.
    + intros [[[L _] No] P]. split; [split; [exact L|left; now symmetry]|]. intros [E|[]]. apply No. now left.
  - assert (way one b = way s' b) as Wb.
    { unfold Machine.way. rewrite Pa, !flat_map_concat_map. f_equal. apply map_ext_in. intros u Hu. f_equal.
      assert (In b (summary_path s' t)) as Hbt by (rewrite <- Pt; apply (parent_on_path I Ht); lia).
      pose proof (boundary_above_parent I Lt) as Lb. rewrite Pt in Lb.
      assert (b < next_summary s') as Lbn by (pose proof (on_path_le I Hbt); lia).
      assert (In u (summary_path s' t)) as Hut.
      { destruct (path_prefix _ (inv_parent I) _ _ Hbt) as [d Hd]. unfold Machine.summary_path. rewrite Hd.
        apply in_or_app. now left. }
      pose proof (boundary_on_path I Lbn Hu) as Bub. apply (path_le _ (inv_above I)) in Bub.
      assert (u <> t) as Nu by (intros ->; lia).
      destruct u as [|u].
      { rewrite (earlier_0 I). unfold Machine.earlier, Machine.after_of, Machine.parent_of. rewrite (Su 0 Nu), (inv_root I).
        simpl. now destruct (next_summary one). }
      destruct (inv_way I Hut ltac:(lia)) as [F TF]. rewrite (earlier_is I TF). pose proof TF as [P [Fa [_ [La _]]]].
      unfold Machine.earlier. rewrite Pu. unfold Machine.after_of at 2. rewrite (Su _ Nu). fold (after_of s' (S u)).
      apply (walk_is_trace (parent_of s')); [apply I|exact P| |].
      - intros v Hv. destruct (Fa v Hv) as [_ <-]. unfold Machine.after_of. rewrite Su; [reflexivity|]. intros ->.
        rewrite <- (earlier_is I TF) in Hv.
        destruct (taken_in I (head_path_lt I Hut) (ex_intro _ F TF) ltac:(lia) Hv) as [_ [_ [_ [_ [_ [B _]]]]]]. lia.
      - pose proof (path_length (parent_of s') (after_of s' (S u)) (inv_parent I)) as Le. unfold Machine.summary_path in P.
        rewrite P, app_length in Le. destruct (path_starts _ (inv_parent I) (parent_of s' (S u))) as [l Hl].
        rewrite Hl in Le. simpl in Le. unfold next_summary, one, Detours.made_from. simpl. rewrite upd_length.
        unfold next_summary in La. lia. }
    assert (In b (summary_path s' (summary_head s'))) as Hb' by (fold t; rewrite <- Pt; apply (parent_on_path I Ht); lia).
    pose proof (boundary_above_parent I Lt) as Lb. rewrite Pt in Lb.
    intro c. unfold Machine.boundaries, distinct. rewrite !nodup_In, !filter_In, !Nat.ltb_lt, Bu, (map_ext _ _ Bu).
    rewrite (way_walked D1 (proj1 Lt)), (way_of_child I (proj1 Lt)), E1, Pu, Pt, Wb. rewrite !map_app, !in_app_iff. simpl.
    split.
    + intros [[Hc|[[]|[Hc|[]]]] Lc]; [|lia]. split; [auto|]. intro He.
      apply in_map_iff in Hc as [v [Ev Hv]]. apply in_map_iff in He as [w [Ew Hw]].
      pose proof (way_up_to I Hb' Hv). destruct (taken_in I (proj2 Lt) Tt (proj1 Lt) Hw) as [_ [_ [_ [_ [_ [B _]]]]]].
      rewrite Pt in B. lia.
    + intros [[[Hc|[Hc|[Hc|[]]]] Lc] No]; [auto|contradiction|lia].
Qed.
End Fallbacks.
