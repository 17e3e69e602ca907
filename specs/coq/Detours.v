(* L11 of ../README.md, and that Algorithm 1's Revise, word for word, is ours on every label (D7). *)
From Coq Require Import List Arith Bool Lia Sorted.
From Mage Require Import Path Machine Invariants Lines Kept Refusals Lost Laws Phases.
Import ListNotations.

Section Detours.
Load "Given".
Notation Inv := (Inv nothing blank).
Notation new_after := (Invariants.new_after nothing).

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

(* the same state, in which the head summary was made from another head *)
Definition set_after a (u : Summary Text) :=
  MkSummary (parent u) (label u) (covers u) (text u) (kind u) (verdict u) a.
Definition made_from a s := changed_summary s (summary_head s) (set_after a).

(* D4 at a head that is the new parent, below which all else is as it was *)
Lemma retexted_from : forall s n p t m k, Inv s -> Inv (at_heads s n p) -> t <> p ->
  retexted (at_heads s n p) t m k = made_from p (at_heads (retexted s t m k) n t).
Proof.
  intros s n p t m k I I' D. rewrite (retexted_is t m k I'), (retexted_is t m k I).
  unfold made_from, changed_summary, at_heads. cbn [summary_head task steps summaries step_head lessons instructions chapters].
  rewrite upd_upd. unfold Invariants.new_after at 1. cbn [summary_head at_heads].
  destruct (Nat.eqb_spec t p); [contradiction|]. reflexivity.
Qed.

(* L11: retext(m) equals, but for what the summary was made from: revise to the label (blank lesson), grow the covers
   again, compress(m) with its kind, and grow the open segment again *)
Theorem retext_is_a_detour_saved : forall s m s' l, reachable s -> blank l = true ->
  exec s (Retext m) = Done s' ->
  all_of s (detour s l m (kind (summary s (summary_head s)))) =
  Done (made_from (parent_of s (summary_head s)) s').
Proof using same_spec.
  intros s m s' l Re Bl G. pose proof (reachable_inv same_spec Re) as I. pose proof (inv_summary_head I) as L.
  destruct (retext_cases G) as [P [Bm E]]. pose proof (head_not_root I P) as L0.
  set (t := summary_head s) in *. set (p := parent_of s t). set (k := kind (summary s t)) in *.
  pose proof (inv_parent I L0) as D. fold p in D.
  destruct (inv_covers I (conj L0 L)) as [Ne [La Co]]. fold p in La, Co.
  pose proof (inv_boundary I L) as Lb.
  assert (Ht : In t (summary_path s t)) by apply (path_self _ (inv_parent I)).
  assert (Hp : In p (summary_path s t)) by (apply (parent_on_path I Ht); lia).
  assert (Tp : phase_of_verdict (verdict (summary s p)) = Active).
  { destruct (inv_trusted I (path_in_way Hp)) as [Eh|Eh]; [fold t in Eh; lia|now apply trusted_spec]. }
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
  change (at_heads s1 (boundary s t) p) with (at_heads s (boundary s t) p) in *.
  set (s2 := at_heads s (boundary s t) p) in *. assert (I2 : Inv s2) by exact (all_of_inv I1 G2).
  assert (Np : new_parent s2 k = p).
  { unfold Machine.new_parent. change (summary_head s2) with p. destruct k eqn:K; [|reflexivity].
    rewrite (base_of p I2). change (summary s2 p) with (summary s p). pose proof (inv_ends I Ht L0 K) as Kp. fold p in Kp. now rewrite Kp. }
  assert (O : to_cover s2 k = covers (summary s t)).
  { pose proof (to_cover_spec k I2) as W. rewrite Np in W. apply (app_inv_head (step_path s (boundary s p))).
    rewrite <- Co. symmetry. exact W. }
  assert (G3 : exec s2 (Compress m k) = Done (retexted s2 t m k)).
  { apply (compress_known (t := t) _ I2 Tp Bm);
      [now rewrite O|exact (conj L0 L)|now rewrite Np|now rewrite O]. }
  cbn [all_of]. rewrite G3. pose proof (kept same_spec I2 G3) as I3.
  assert (P3 : phase (retexted s2 t m k) = Unverified) by (apply phase_of_retexted; exact L).
  assert (R3 : retexted s2 t m k = made_from p (at_heads s' (boundary s t) t)).
  { rewrite E. apply (retexted_from _ _ I I2). lia. }
  rewrite R3 in I3, P3 |- *. set (s3 := made_from p (at_heads s' (boundary s t) t)) in *.
  assert (Es : steps s3 = steps s) by (unfold s3, made_from; simpl; rewrite E, (retexted_is _ _ _ I); reflexivity).
  assert (Eh' : step_head s' = step_head s) by (rewrite E, (retexted_is _ _ _ I); reflexivity).
  assert (Et' : summary_head s' = t) by (rewrite E; apply retexted_head).
  assert (regrow s (R s) = regrow s3 (open_segment s)) as ->.
  { unfold regrow. apply map_ext. intro n. unfold Machine.step. now rewrite Es. }
  assert (forall n, step_path s3 n = step_path s n) as Sp
    by (intro n; unfold Machine.step_path, Machine.above_of, Machine.step; now rewrite Es).
  rewrite (grow_back (ns := open_segment s) (h := step_head s) I3); [|congruence| |].
  - unfold s3, made_from, at_heads, changed_summary. simpl. now rewrite Eh', Et'.
  - unfold next_step. rewrite Es. apply I.
  - unfold Machine.active_path. rewrite !Sp. change (step_head s3) with (boundary s t). exact (open_segment_spec I).
Qed.

(* ---- Algorithm 1's Revise (D7) ---- *)
Lemma path_from_root : forall p n, decreasing p -> path p n = 0 :: tl (path p n).
Proof.
  intros p n D. induction n as [n IH] using lt_wf_ind. destruct n as [|n]; [reflexivity|].
  rewrite path_S by (auto; lia). rewrite (IH (p (S n))) by (apply D; lia). reflexivity.
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
Theorem paper_revise_agrees : forall s t l, reachable s ->
  In t (summary_path s (summary_head s)) -> t <> 0 -> let b := label (summary s t) in
  exists s', exec s (Revise b l) = Done s' /\ paper_revise s b l = Some s' /\ phase s' = Active.
Proof using same_spec same_digest_spec.
  intros s t l Re Hin T0 b. pose proof (reachable_inv same_spec Re) as I.
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
Theorem a_label_names_one_summary : forall s t u, reachable s ->
  In t (summary_path s (summary_head s)) -> t <> 0 -> In u (summary_path s (summary_head s)) -> u <> 0 ->
  label (summary s t) = label (summary s u) -> t = u.
Proof using same_spec.
  intros s t u Re Ht T0 Hu U0 E. pose proof (reachable_inv same_spec Re) as I.
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
Theorem paper_revise_fails : forall s b l, reachable s -> (paper_revise s b l = None <->
  forall t, In t (summary_path s (summary_head s)) -> t <> 0 -> label (summary s t) <> b).
Proof using same_spec same_digest_spec.
  intros s b l Re. pose proof (reachable_inv same_spec Re) as I. split.
  - intros N t Hin T0 E. destruct (paper_revise_agrees l Re Hin T0) as [s' [_ [A _]]]. congruence.
  - intro No. unfold Machine.paper_revise. rewrite while_fails; auto.
Qed.

(* D7: more targets than Algorithm 1 has are the current boundary, but not that of a failed head, and the boundaries
   of the fallbacks that were taken in, but for one that ends where a failed head does *)
Theorem more_targets : forall s b, reachable s -> (In b (legal_boundaries s) <->
  (exists t, In t (summary_path s (summary_head s)) /\ t <> 0 /\ label (summary s t) = b) \/
  phase s <> Rejected /\ b = current_boundary s \/
  (exists t u, In t (summary_path s (summary_head s)) /\ In u (earlier s t) /\ boundary s u = b /\
     (phase s = Rejected -> b < current_boundary s))).
Proof using same_spec same_digest_spec.
  intros s b Re. pose proof (reachable_inv same_spec Re) as I. pose proof (inv_summary_head I) as L.
  rewrite (proj2 (proj2 (what_is_legal same_spec Re)) b). split.
  - intros [u [Hin [E Rj]]]. apply in_way in Hin as [t [Ht [Hu| ->]]]; [right; right; exists t, u; auto|].
    destruct (Nat.eq_dec t (summary_head s)) as [->|N].
    + right. left. split; [|now symmetry]. intro P. pose proof (Rj P). unfold Machine.current_boundary in *. lia.
    + left. destruct (child_on_path I Ht N) as [u [Hu [U0 Pu]]].
      exists u. split; [exact Hu|]. split; [exact U0|]. pose proof (head_path_lt I Hu).
      destruct (inv_covers I (t := u)) as [_ [Eu _]]; [lia|]. congruence.
  - intros [[t [Hin [T0 <-]]]|[[P ->]|[t [u [Ht [Hu [E Rj]]]]]]].
    + destruct (paper_revise_agrees nothing Re Hin T0) as [s' [G _]].
      destruct (revise_spec I G) as [u [Hu [B [Rj _]]]]. eauto.
    + exists (summary_head s). split; [apply path_in_way, (path_self _ (inv_parent I))|].
      split; [reflexivity|contradiction].
    + exists u. split; [apply in_way; exists t; auto|auto].
Qed.
End Detours.
