(* L11 of ../README.md, and that Algorithm 1's Revise, word for word, is ours on every label (D7). *)
From Coq Require Import List Arith Bool Lia Sorted.
From Mage Require Import Path Machine Invariants Kept Refusals Lost Laws Phases.
Import ListNotations.

Section Detours.
Load "Given".
Notation Inv := (Inv nothing blank).

(* one command after the other, as long as none is refused *)
Fixpoint all_of s (cs : list Command) : Outcome :=
  match cs with
  | [] => Done s
  | c :: more => match exec s c with Machine.Done s' => all_of s' more | refused => refused end
  end.
Lemma all_of_app : forall cs more s, all_of s (cs ++ more) =
  match all_of s cs with Machine.Done s' => all_of s' more | refused => refused end.
Proof.
  induction cs as [|c cs IH]; intros more s; simpl; [reflexivity|]. destruct (exec s c); auto.
Qed.
Lemma all_of_inv : forall cs s s', Inv s -> all_of s cs = Done s' -> Inv s'.
Proof using same_spec.
  induction cs as [|c cs IH]; intros s s' I G; simpl in G; [congruence|].
  destruct (exec s c) as [r|] eqn:E; [|discriminate]. exact (IH r s' (kept same_spec I E) G).
Qed.

(* ---- L11 ---- *)
Definition regrow s ns : list Command := map (fun n => Grow (content (step s n))) ns.
(* revise to the label, grow the covers again, compress, grow the open segment again *)
Definition detour s l m k : list Command :=
  Revise (label (summary s (summary_head s))) l :: regrow s (covers (summary s (summary_head s)))
  ++ Compress m k :: regrow s (R s).

(* growing a known run again walks down it and adds nothing *)
Lemma grow_back : forall ns s h, Inv s -> phase s <> Rejected -> h < next_step s ->
  step_path s h = active_path s ++ ns -> all_of s (regrow s ns) = Done (at_heads s h (summary_head s)).
Proof using same_spec.
  induction ns as [|n ns IH]; intros s h I P L E.
  - rewrite app_nil_r in E. apply (path_inj _ (inv_above I)) in E. subst h. simpl. now destruct s.
  - assert (Hn : In n (step_path s h)) by (rewrite E; apply in_or_app; right; now left).
    pose proof (path_le _ (inv_above I) _ _ Hn) as Ln.
    assert (L0 : step_head s < n).
    { pose proof (path_sorted _ (inv_above I) h) as So. fold (step_path s h) in So. rewrite E in So.
      apply (sorted_before _ _ _ _ So); [apply (path_self _ (inv_above I))|now left]. }
    assert (A : above_of s n = step_head s).
    { destruct (path_end (above_of s) (inv_above I) (step_head s)) as [l El].
      unfold Machine.active_path, Machine.step_path in E. rewrite El, <- app_assoc in E.
      exact (path_chain _ (inv_above I) _ _ _ _ _ E). }
    assert (Ln' : 0 < n < next_step s) by lia.
    assert (G : exec s (Grow (content (step s n))) = Done (at_heads s n (summary_head s)))
      by exact (grow_known Digest same_spec I P Ln' A).
    change (regrow s (n :: ns)) with (Grow (content (step s n)) :: regrow (at_heads s n (summary_head s)) ns).
    cbn [all_of]. rewrite G.
    apply (IH (at_heads s n (summary_head s)) h); auto.
    + exact (kept same_spec I G).
    + change (step_path s h = step_path s n ++ ns). unfold Machine.step_path at 2.
      rewrite (path_S _ (inv_above I) n) by lia.
      rewrite A, <- app_assoc. exact E.
Qed.

(* the whole detour is legal, and ends exactly where D4's rule ends in place *)
Lemma detour_is_retexted : forall s l m k, Inv s -> blank l = true -> blank m = false -> 0 < summary_head s ->
  all_of s (detour s l m k) = Done (retexted s (summary_head s) m k).
Proof using same_spec.
  intros s l m k I Bl Bm L0. pose proof (inv_summary_head I) as L.
  set (t := summary_head s) in *. set (p := parent_of s t).
  pose proof (inv_parent I L0) as D. fold p in D.
  destruct (inv_covers I (conj L0 L)) as [Ne [La Co]]. fold p in La, Co.
  pose proof (inv_boundary I L) as Lb.
  assert (Hp : In p (summary_path s t))
    by (apply (parent_on_path I); [apply (path_self _ (inv_parent I))|lia]).
  assert (Tp : phase_of_verdict (verdict (summary s p)) = Active).
  { destruct (inv_trusted I Hp) as [E|E]; [fold t in E; lia|now apply trusted_spec]. }
  unfold detour. fold t. rewrite La. cbn [all_of].
  assert (G1 : exec s (Revise (boundary s p) l) = Done (at_heads s (boundary s p) p)).
  { simpl. rewrite (revise_to _ _ I Hp) by (intros _; fold t; lia).
    f_equal. unfold Machine.with_lesson. now rewrite Bl. }
  rewrite G1. set (s1 := at_heads s (boundary s p) p).
  pose proof (kept same_spec I G1) as I1. fold s1 in I1.
  rewrite all_of_app.
  assert (G2 : all_of s1 (regrow s1 (covers (summary s t))) = Done (at_heads s1 (boundary s t) p)).
  { apply grow_back; auto. change (phase s1) with (phase_of_verdict (verdict (summary s p))). congruence. }
  change (regrow s (covers (summary s t))) with (regrow s1 (covers (summary s t))). rewrite G2.
  set (s2 := at_heads s1 (boundary s t) p). assert (I2 : Inv s2) by exact (all_of_inv I1 G2).
  assert (O : open_segment s2 = covers (summary s t)).
  { pose proof (open_segment_spec I2) as W. apply (app_inv_head (step_path s (boundary s p))).
    rewrite <- Co. symmetry. exact W. }
  assert (G3 : exec s2 (Compress m k) = Done (retexted s2 t m k)).
  { apply (compress_known (t := t) _ _ I2 Tp Bm);
      [now rewrite O|exact (conj L0 L)|reflexivity|now rewrite O]. }
  cbn [all_of]. rewrite G3. pose proof (kept same_spec I2 G3) as I3.
  assert (P3 : phase (retexted s2 t m k) = Unverified) by (apply phase_of_retexted; exact L).
  rewrite (retexted_is _ _ _ I2) in I3, P3 |- *. rewrite (retexted_is _ _ _ I).
  set (s3 := MkState _ _ _ _ _ _ _) in I3, P3 |- *.
  change (regrow s (R s)) with (regrow s3 (open_segment s)).
  rewrite (grow_back (ns := open_segment s) (h := step_head s) I3); [reflexivity|congruence|apply I|].
  exact (open_segment_spec I).
Qed.

(* L11: retext(m) equals: revise to the label (blank lesson), grow the covers again, compress(m) with the
   resulting kind, and grow the open segment again *)
Theorem retext_is_a_detour_saved : forall s m k s' l, reachable s -> blank l = true ->
  exec s (Retext m k) = Done s' ->
  all_of s (detour s l m (kind (summary s' (summary_head s')))) = Done s'.
Proof using same_spec.
  intros s m k s' l I Bl G. apply (reachable_inv same_spec) in I. pose proof (inv_summary_head I) as L.
  destruct (retext_cases G) as [P [Bm ->]]. rewrite retexted_head, retexted_at by exact L.
  cbn [kind set_text]. exact (detour_is_retexted _ I Bl Bm (head_not_root I P)).
Qed.

(* L11, for D12: so is the compress that completes a fallback with nothing open *)
Theorem completion_is_a_detour_saved : forall s m k s' l, reachable s -> blank l = true -> R s = [] ->
  exec s (Compress m k) = Done s' -> all_of s (detour s l m k) = Done s'.
Proof using same_spec.
  intros s m k s' l I Bl O G. apply (reachable_inv same_spec) in I.
  destruct (compress_cases I G) as [_ [Bm [[_ [_ [-> [L0 ->]]]]|[[N _]|[N _]]]]]; try contradiction.
  exact (detour_is_retexted _ I Bl Bm L0).
Qed.

(* ---- Algorithm 1's Revise (D7) ---- *)
Lemma path_from_root : forall p n, decreasing p -> path p n = 0 :: tl (path p n).
Proof.
  intros p n D. induction n as [n IH] using lt_wf_ind. destruct n as [|n]; [reflexivity|].
  rewrite path_S by (auto; lia). rewrite (IH (p (S n))) by (apply D; lia). reflexivity.
Qed.
Lemma in_C : forall s t, Inv s -> (In t (C s) <-> In t (summary_path s (summary_head s)) /\ t <> 0).
Proof.
  intros s t I. unfold Machine.C, Machine.summary_path.
  pose proof (path_nodup _ (inv_parent I) (summary_head s)) as N.
  rewrite (path_from_root (summary_head s) (inv_parent I)) in *. simpl.
  inversion N as [|? ? N0 _]; subst. split.
  - intro Hin. split; [now right|]. intros ->. contradiction.
  - intros [[<-|Hin] N1]; [now destruct N1|exact Hin].
Qed.

Lemma child_on_path : forall s t, Inv s -> In t (summary_path s (summary_head s)) -> t <> summary_head s ->
  exists u, In u (summary_path s (summary_head s)) /\ u <> 0 /\ parent_of s u = t.
Proof.
  intros s t I Hin N. destruct (path_prefix _ (inv_parent I) _ _ Hin) as [d E].
  destruct (path_end (parent_of s) (inv_parent I) t) as [l El].
  unfold Machine.summary_path. destruct d as [|u d].
  - rewrite app_nil_r in E. apply (path_inj _ (inv_parent I)) in E. now destruct N.
  - rewrite El, <- app_assoc in E. simpl in E. exists u. split; [|split].
    + rewrite E. apply in_or_app. right. right. now left.
    + intros ->. pose proof (path_sorted _ (inv_parent I) (summary_head s)) as So.
      rewrite E in So.
      replace (l ++ t :: 0 :: d) with ((l ++ [t]) ++ 0 :: d) in So by now rewrite <- app_assoc.
      assert (t < 0); [|lia]. apply (sorted_before _ _ _ _ So); [apply in_or_app; right|]; now left.
    + exact (path_chain _ (inv_parent I) _ _ _ _ _ E).
Qed.

Lemma labels_differ : forall s n t, Inv s -> n < next_summary s -> In t (summary_path s n) ->
  t <> 0 -> t <> n -> label (summary s n) <> label (summary s t).
Proof.
  intros s n t I L Hin T0 Tn. pose proof (on_path_le I Hin) as Le.
  assert (L0 : 0 < n) by lia. assert (Lt : 0 < t < next_summary s) by lia.
  destruct (inv_covers I (conj L0 L)) as [_ [-> _]]. destruct (inv_covers I Lt) as [_ [-> _]].
  pose proof (boundary_above_parent I Lt). pose proof (inv_parent I L0) as D.
  assert (Hp : In t (summary_path s (parent_of s n))).
  { rewrite (path_of_child I L0) in Hin. apply in_app_or in Hin as [Hin|[E|[]]]; [exact Hin|congruence]. }
  destruct (Nat.eq_dec t (parent_of s n)) as [<-|N]; [lia|].
  pose proof (boundaries_rise I (Nat.lt_trans _ _ _ D L) Hp N). lia.
Qed.

Lemma while_finds : forall s fuel n t, Inv s -> n < next_summary s -> n < fuel -> In t (summary_path s n) ->
  t <> 0 -> while_not s fuel n (label (summary s t)) = Some (parent_of s t).
Proof.
  intros s fuel. induction fuel as [|fuel IH]; intros n t I L F Hin T0; [lia|].
  pose proof (on_path_le I Hin). simpl.
  destruct (Nat.eqb_spec n 0) as [->|N0]; [lia|].
  destruct (Nat.eq_dec t n) as [->|Tn]; [now rewrite Nat.eqb_refl|].
  pose proof (labels_differ I L Hin T0 Tn) as D. apply Nat.eqb_neq in D. rewrite D.
  assert (L0 : 0 < n) by lia. pose proof (inv_parent I L0) as Dn.
  rewrite (path_of_child I L0) in Hin. apply in_app_or in Hin as [Hin|[E|[]]]; [|congruence].
  apply IH; auto; lia.
Qed.
Lemma while_fails : forall s fuel n b, Inv s ->
  (forall t, In t (summary_path s n) -> t <> 0 -> label (summary s t) <> b) -> while_not s fuel n b = None.
Proof.
  intros s fuel. induction fuel as [|fuel IH]; intros n b I No; [reflexivity|]. simpl.
  destruct (Nat.eqb_spec n 0) as [->|N0]; [reflexivity|].
  assert (L0 : 0 < n) by lia.
  assert (D : label (summary s n) <> b) by (apply No; [apply (path_self _ (inv_parent I))|exact N0]).
  apply Nat.eqb_neq in D. rewrite D. apply IH; [exact I|].
  intros t Hin. apply No. rewrite (path_of_child I L0). apply in_or_app. now left.
Qed.

(* D7: for the label of any summary this is Algorithm 1 word for word *)
Theorem paper_revise_agrees : forall s t l, reachable s -> In t (C s) -> let b := label (summary s t) in
  exists s', exec s (Revise b l) = Done s' /\ paper_revise s b l = Some s' /\ phase s' = Active.
Proof using same_spec same_digest_spec.
  intros s t l Re Hin b. pose proof (reachable_inv same_spec Re) as I. apply (in_C t I) in Hin as [Hin T0].
  pose proof (on_path_le I Hin) as Le. pose proof (inv_summary_head I) as L.
  assert (Lt : 0 < t < next_summary s) by lia. destruct (inv_covers I Lt) as [_ [E _]]. fold b in E.
  pose proof (inv_parent I (proj1 Lt)) as D.
  assert (G : exec s (Revise b l) = Done (with_lesson (at_heads s b (parent_of s t)) b l)).
  { rewrite E. apply (revise_to _ _ I (parent_on_path I Hin T0)). intros _. lia. }
  eexists. split; [exact G|]. split.
  - unfold Machine.paper_revise, b.
    rewrite (while_finds I L (Nat.lt_succ_diag_r _) Hin T0). now rewrite <- E.
  - rewrite (phases_are_as_said same_spec same_digest_spec Re G). unfold Machine.current_boundary. rewrite E.
    destruct (Nat.eqb_spec (boundary s (parent_of s t)) (boundary s (summary_head s))) as [B|];
      [exfalso|reflexivity].
    pose proof (target_unique I (parent_on_path I Hin T0) (path_self _ (inv_parent I) _) B). lia.
Qed.

(* D1: a label names at most one summary on the active path *)
Theorem a_label_names_one_summary : forall s t u, reachable s -> In t (C s) -> In u (C s) ->
  label (summary s t) = label (summary s u) -> t = u.
Proof using same_spec.
  intros s t u Re Ht Hu E. pose proof (reachable_inv same_spec Re) as I.
  apply (in_C t I) in Ht as [Ht T0]. apply (in_C u I) in Hu as [Hu U0].
  pose proof (inv_summary_head I) as L.
  pose proof (while_finds I L (Nat.lt_succ_diag_r _) Ht T0) as Pt.
  rewrite E, (while_finds I L (Nat.lt_succ_diag_r _) Hu U0) in Pt. injection Pt as P.
  destruct (path_prefix _ (inv_parent I) _ _ Ht) as [d D].
  destruct (path_prefix _ (inv_parent I) _ _ Hu) as [e F].
  fold (summary_path s t) in D. fold (summary_path s u) in F.
  rewrite (path_of_child I), <- app_assoc in D by lia. rewrite (path_of_child I), <- app_assoc in F by lia.
  rewrite D, P in F. apply app_inv_head in F. simpl in F. congruence.
Qed.

(* D7: ... and for anything else Algorithm 1 runs past the root *)
Theorem paper_revise_fails : forall s b l, reachable s ->
  (paper_revise s b l = None <-> forall t, In t (C s) -> label (summary s t) <> b).
Proof using same_spec same_digest_spec.
  intros s b l Re. pose proof (reachable_inv same_spec Re) as I. split.
  - intros N t Hin E. destruct (paper_revise_agrees l Re Hin) as [s' [_ [A _]]]. congruence.
  - intro No. unfold Machine.paper_revise. rewrite while_fails; auto.
    intros t Hin T0. apply No. now apply in_C.
Qed.

(* D7: one target more, the current boundary, but not that of a failed head *)
Theorem one_target_more : forall s b, reachable s -> (In b (legal_boundaries s) <->
  (exists t, In t (C s) /\ label (summary s t) = b) \/ phase s <> Rejected /\ b = current_boundary s).
Proof using same_spec same_digest_spec.
  intros s b Re. pose proof (reachable_inv same_spec Re) as I. 
  rewrite (proj2 (what_is_legal same_spec Re) b). split.
  - intros [t [Hin [<- Rj]]]. destruct (Nat.eq_dec t (summary_head s)) as [->|N].
    + right. split; [|reflexivity]. intro P. now apply (Rj P).
    + left. destruct (child_on_path I Hin N) as [u [Hu [U0 Pu]]].
      exists u. split; [now apply in_C|].
      pose proof (on_path_le I Hu). pose proof (inv_summary_head I).
      destruct (inv_covers I (t := u)) as [_ [E _]]; [lia|]. congruence.
  - intros [[t [Hin <-]]|[P ->]].
    + destruct (paper_revise_agrees nothing Re Hin) as [s' [G _]].
      destruct (revise_spec I G) as [u [Hu [B [Rj _]]]]. eauto.
    + exists (summary_head s). split; [apply (path_self _ (inv_parent I))|].
      split; [reflexivity|contradiction].
Qed.
End Detours.
