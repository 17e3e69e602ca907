(* Every operation keeps the invariant, so every reachable state has it. Reachable.v says I1 to I9, I11. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants Lines.
Import ListNotations.

Section Kept.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).
Notation took_in := (Invariants.took_in nothing).
Notation chapter_stands := (Invariants.chapter_stands nothing).
Notation new_after := (Invariants.new_after nothing).
Notation covers_from_parent := (Invariants.covers_from_parent nothing).

(* D2: both layers start with a sentinel *)
Lemma start_inv : forall t, Inv (start t).
Proof.
  intro t0.
  assert (forall n, above_of (start t0) n = 0) as A by (intros [|[|n]]; reflexivity).
  assert (forall n, parent_of (start t0) n = 0) as P by (intros [|[|n]]; reflexivity).
  assert (forall n, summary (start t0) n = root_summary) as U by (intros [|[|n]]; reflexivity).
  constructor; simpl; unfold next_step, next_summary; simpl; intros; try lia; try contradiction; auto.
  - intros n Hn. rewrite A. lia.
  - intros n Hn. rewrite P. lia.
  - unfold Machine.boundary. rewrite U. simpl. lia.
  - rewrite U in *. discriminate.
Qed.

(* ---- what stands where the head may be ---- *)
Definition head_stands s t :=
  (forall u, In u (summary_path s t) -> 0 < u -> exists E, took_in s u E) /\
  (forall u, In u (summary_path s t) -> 0 < u -> kind (summary s u) = Subgoal ->
     kind (summary s (parent_of s u)) = Subgoal) /\
  (forall u, In u (way s t) -> u = t \/ trusted (verdict (summary s u)) = true).
Lemma head_does : forall s, Inv s -> head_stands s (summary_head s).
Proof. intros s I. split; [apply I|]. split; [apply I|apply I]. Qed.
Lemma target_does : forall s t, Inv s -> In t (way s (summary_head s)) -> head_stands s t.
Proof.
  intros s t I Ht. split; [|split].
  - intros u Hu U0. exact (took_in_on_way I (path_on_way I Ht Hu) U0).
  - intros u Hu U0 K. apply in_way in Ht as [v [Hv Ht]].
    assert (In u (summary_path s v)) as Huv.
    { destruct Ht as [Ht| ->]; [|exact Hu]. destruct (taken_in_by I Hv Ht) as [V0 [Lv T]].
      destruct (taken_in I Lv T V0 Ht) as [Kt [_ [_ [_ [_ [_ [_ [_ [E1 [E2 [Ee Pt]]]]]]]]]]].
      rewrite Pt in Hu. apply in_app_or in Hu as [Hu|Hu]; [apply (path_of_parent I); [lia|exact Hu]|exfalso].
      assert (In u (earlier s v)) as Hue.
      { rewrite Ee. apply in_app_or in Hu as [Hu|[<-|[]]]; apply in_or_app; [now left|right; now left]. }
      destruct (taken_in I Lv T V0 Hue) as [Ku _]. congruence. }
    apply (inv_ends I); auto. destruct (path_prefix _ (inv_parent I) _ _ Hv) as [d Hd].
    unfold Machine.summary_path. rewrite Hd. apply in_or_app. now left.
  - intros u Hu. destruct (Nat.eq_dec t (summary_head s)) as [->|D]; [now apply (inv_trusted I)|right].
    destruct (inv_trusted I (way_on_way I Ht Hu)) as [->|Tr]; [|exact Tr].
    destruct (head_not_above I Ht D Hu).
Qed.

(* ---- moving the heads, leaving lessons, giving instructions ---- *)
Lemma inv_moved : forall s n t ls is, Inv s -> n < next_step s -> t < next_summary s ->
  In (boundary s t) (step_path s n) -> head_stands s t ->
  (forall b l, In (b, l) ls -> blank l = false /\ exists u, u < next_summary s /\ boundary s u = b) ->
  (forall m x, In (m, x) is -> blank (fst x) = false /\ m < next_step s) ->
  Inv (MkState (task s) (steps s) (summaries s) n t ls is (chapters s)).
Proof. intros s n t ls is I Hn Ht Hh [Hw [He Htr]] Hl Hi. destruct I. constructor; assumption. Qed.

Lemma inv_with_lesson : forall s b l, Inv s -> (exists t, t < next_summary s /\ boundary s t = b) ->
  Inv (with_lesson s b l).
Proof.
  intros s b l I Hb. unfold Machine.with_lesson. destruct (blank l) eqn:B; [exact I|].
  apply inv_moved; try apply I; auto; try now apply head_does.
  intros b' l' Hin. apply in_app_or in Hin as [Hin|[E|[]]]; [now apply (inv_lessons I)|].
  injection E as <- <-. auto.
Qed.

Lemma instruct_inv : forall s x s', Inv s -> instruct s x = Done s' -> Inv s'.
Proof using same_spec.
  intros s x s' I E. destruct (instruct_cases same_spec E) as [_ [B [[_ ->]|[_ ->]]]]; [exact I|].
  apply inv_moved; try apply I; try (now apply head_does); try apply (inv_lessons I); try apply (inv_heads I).
  intros n y Hin. apply in_app_or in Hin as [Hin|[F|[]]]; [now apply (inv_instructions I)|].
  injection F as <- <-. split; [exact B|apply I].
Qed.

Lemma revise_inv : forall s b l s', Inv s -> revise s b l = Done s' -> Inv s'.
Proof.
  intros s b l s' I E. destruct (revise_spec I E) as [t [Hin [<- [_ ->]]]].
  pose proof (way_lt I Hin) as Lt.
  apply inv_with_lesson; [|exists t; split; [exact Lt|reflexivity]].
  apply inv_moved; auto; [now apply (inv_boundary I)|apply path_self, I|now apply target_does|
    apply (inv_lessons I)|apply (inv_instructions I)].
Qed.

(* ---- one step more ---- *)
Lemma nth_snoc : forall T (l : list T) x d, nth (length l) (l ++ [x]) d = x.
Proof. intros. rewrite app_nth2 by lia. now rewrite Nat.sub_diag. Qed.
Lemma old_step : forall s c n, n < next_step s -> step (with_step s c) n = step s n.
Proof. intros. now apply app_nth1. Qed.
Lemma new_step : forall s c, step (with_step s c) (next_step s) = MkStep (step_head s) c.
Proof. intros. apply nth_snoc. Qed.
Lemma next_step_grown : forall s c, next_step (with_step s c) = S (next_step s).
Proof. intros. unfold next_step, with_step. simpl. rewrite app_length. simpl. lia. Qed.

Lemma grown_above : forall s c, Inv s -> decreasing (above_of (with_step s c)).
Proof.
  intros s c I n Hn. unfold Machine.above_of.
  destruct (lt_eq_lt_dec n (next_step s)) as [[L| ->]|L].
  - rewrite old_step by assumption. now apply (inv_above I).
  - rewrite new_step. apply I.
  - unfold Machine.step. rewrite nth_overflow; [exact Hn|].
    pose proof (next_step_grown s c). unfold next_step in *. lia.
Qed.

Lemma grown_path : forall s c n, Inv s -> n < next_step s -> step_path (with_step s c) n = step_path s n.
Proof.
  intros s c n I Hn. apply path_ext; [now apply grown_above|apply I|].
  intros m Hm. unfold Machine.above_of. now rewrite old_step by lia.
Qed.

Lemma grown_siblings : forall s c, Inv s -> child_with s c = None ->
  forall m n, 0 < m <= next_step s -> 0 < n <= next_step s ->
  above_of (with_step s c) m = above_of (with_step s c) n ->
  content (step (with_step s c) m) = content (step (with_step s c) n) -> m = n.
Proof using same_spec.
  intros s c I F m n Hm Hn. unfold Machine.above_of.
  destruct (Nat.eq_dec m (next_step s)) as [->|Dm], (Nat.eq_dec n (next_step s)) as [->|Dn]; auto.
  - rewrite new_step, old_step by lia. intros E1 E2. exfalso.
    eapply (child_with_none same_spec F); [|symmetry; exact E1|symmetry; exact E2]. lia.
  - rewrite new_step, old_step by lia. intros E1 E2. exfalso.
    eapply (child_with_none same_spec F); [|exact E1|exact E2]. lia.
  - rewrite !old_step by lia. apply (inv_siblings I); lia.
Qed.

Lemma grown_inv : forall s c, Inv s -> child_with s c = None -> Inv (with_step s c).
Proof using same_spec.
  intros s c I F. pose proof (next_step_grown s c) as Nx.
  pose proof (inv_steps I). pose proof (inv_step_head I).
  pose proof (grown_above c I) as D.
  constructor; rewrite ?Nx; try apply I; try lia.
  - exact D.
  - rewrite old_step by assumption. apply I.
  - intros t Ht. pose proof (inv_boundary I Ht). change (boundary (with_step s c) t) with (boundary s t). lia.
  - intros t Ht. change (next_summary (with_step s c)) with (next_summary s) in Ht.
    destruct (inv_covers I Ht) as [H1 [H2 H3]]. split; [exact H1|]. split; [exact H2|].
    pose proof (inv_parent I (n := t) ltac:(lia)).
    change (boundary (with_step s c)) with (boundary s).
    change (parent_of (with_step s c)) with (parent_of s).
    change (summary (with_step s c)) with (summary s).
    rewrite !grown_path by (auto; apply (inv_boundary I); lia). exact H3.
  - simpl. lia.
  - unfold Machine.active_path, Machine.step_path. simpl. rewrite path_S by (auto; lia).
    assert (above_of (with_step s c) (next_step s) = step_head s) as ->
      by (unfold Machine.above_of; now rewrite new_step).
    apply in_or_app. left. fold (step_path (with_step s c) (step_head s)).
    rewrite grown_path by assumption. exact (inv_heads I).
  - intros m n Hm Hn. apply grown_siblings; auto; lia.
  - intros t Ht H0'. destruct (inv_way I Ht H0') as [E [P [Fa [Ka [La Ba]]]]]. exists E. repeat split; auto; try (now apply Fa).
    change (boundary (with_step s c)) with (boundary s). change (after_of (with_step s c)) with (after_of s).
    rewrite grown_path; [exact Ba|exact I|]. apply (inv_boundary I). exact (head_path_lt I Ht).
  - intros n x Hx. destruct (inv_instructions I Hx). split; [assumption|lia].
Qed.

Lemma grow_inv : forall s c s', Inv s -> grow s c = Done s' -> Inv s'.
Proof using same_spec.
  intros s c s' I E. destruct (grow_cases same_spec I E) as [_ [[n [_ [Hn [Hp [_ ->]]]]]|[F ->]]].
  - apply inv_moved; auto; try apply I; try lia; try (now apply head_does);
      try apply (inv_lessons I); try apply (inv_instructions I).
    unfold Machine.step_path. rewrite path_S by (try apply I; lia). apply in_or_app. left.
    rewrite Hp. exact (inv_heads I).
  - now apply grown_inv.
Qed.

(* ---- another text, kind or verdict of one summary ---- *)
Lemma changed_summary_is : forall s t f u,
  summary (changed_summary s t f) u =
  if (t =? u) && (u <? next_summary s) then f (summary s u) else summary s u.
Proof.
  intros s t f u. unfold Machine.summary, changed_summary, next_summary. simpl.
  destruct (Nat.eqb_spec t u) as [->|D]; simpl; [|now rewrite nth_upd_other].
  destruct (Nat.ltb_spec u (length (summaries s))) as [L|L]; [now apply nth_upd_same|].
  rewrite !nth_overflow by (try rewrite upd_length; lia). reflexivity.
Qed.
Lemma changed_other : forall s t f u, u <> t -> summary (changed_summary s t f) u = summary s u.
Proof. intros s t f u D. rewrite changed_summary_is. now destruct (Nat.eqb_spec t u); [congruence|]. Qed.
Lemma changed_same : forall s t f, t < next_summary s -> summary (changed_summary s t f) t = f (summary s t).
Proof.
  intros s t f L. rewrite changed_summary_is, Nat.eqb_refl.
  now destruct (Nat.ltb_spec t (next_summary s)); [|lia].
Qed.
Lemma changed_shape : forall s t f u, (forall x, shape (f x) = shape x) ->
  shape (summary (changed_summary s t f) u) = shape (summary s u).
Proof. intros s t f u K. rewrite changed_summary_is. now destruct (_ && _). Qed.

(* ---- another head ---- *)
Lemma took_in_kept : forall s s' u E, Inv s -> decreasing (parent_of s') -> u < next_summary s ->
  took_in s u E -> next_summary s <= next_summary s' -> steps s' = steps s ->
  (forall v, v < next_summary s -> shape (summary s' v) = shape (summary s v)) ->
  (forall v, v = u \/ In v E -> v < next_summary s ->
     kind (summary s' v) = kind (summary s v) /\ after_of s' v = after_of s v) ->
  took_in s' u E.
Proof.
  intros s s' u E I D Lu [P [Fa [Ka [La Ba]]]] Ln Es Sh Ks.
  assert (forall v, v < next_summary s -> parent_of s' v = parent_of s v /\ boundary s' v = boundary s v) as Pb.
  { intros v Lv. destruct (shape_parts (Sh v Lv)) as [Pv [_ Cv]]. split; [exact Pv|].
    unfold Machine.boundary. now rewrite Cv. }
  assert (forall v, v < next_summary s -> summary_path s' v = summary_path s v) as Pa.
  { intros v Lv. apply path_ext; [exact D|apply I|]. intros w Hw. apply Pb. lia. }
  assert (forall b n, In b (step_path s' n) <-> In b (step_path s n)) as Sp.
  { intros b n. unfold Machine.step_path, Machine.above_of, Machine.step. now rewrite Es. }
  destruct (Ks u (or_introl eq_refl) Lu) as [Ku Au]. destruct (Pb u Lu) as [Pu Bu].
  assert (parent_of s u < next_summary s) as Lp.
  { destruct u as [|u]; [unfold Machine.parent_of; rewrite (inv_root I); simpl; exact Lu|].
    pose proof (inv_parent I (n := S u) ltac:(lia)). lia. }
  unfold Invariants.took_in. rewrite Au, Pu, Ku, Bu, !Pa, (proj2 (Pb _ La)) by assumption.
  split; [exact P|]. split; [|split; [exact Ka|split; [lia|now apply Sp]]].
  intros v Hv. assert (v < next_summary s) as Lv.
  { assert (In v (summary_path s (after_of s u))) as Hp by (rewrite P; apply in_or_app; now right).
    pose proof (on_path_le I Hp). lia. }
  destruct (Ks v (or_intror Hv) Lv) as [-> ->]. destruct (Pb v Lv) as [-> _]. now apply Fa.
Qed.

Lemma new_head_stands : forall s s' h E, Inv s -> decreasing (parent_of s') -> 0 < h ->
  next_summary s <= next_summary s' -> steps s' = steps s ->
  (forall v, v < next_summary s -> shape (summary s' v) = shape (summary s v)) ->
  (forall v, v < next_summary s -> v <> h -> summary s' v = summary s v) ->
  let p := parent_of s' h in
  In p (summary_path s (summary_head s)) -> ~ In h (way s p) ->
  took_in s' h E -> (forall v, In v E -> v < next_summary s /\ v <> h /\ trusted (verdict (summary s v)) = true) ->
  (kind (summary s' h) = Subgoal -> kind (summary s p) = Subgoal) ->
  (forall v, In v (way s p) -> trusted (verdict (summary s v)) = true) ->
  head_stands s' h /\ way s' h = way s p ++ E ++ [h].
Proof.
  intros s s' h E I D H0 Ln Es Sh Old p Hp Nh T Te Ke Tp.
  assert (In p (way s (summary_head s))) as Hpw by now apply path_in_way.
  pose proof (head_path_lt I Hp) as Lp. destruct (target_does I Hpw) as [Wp [Ep _]].
  assert (summary_path s' p = summary_path s p) as Pp.
  { apply path_ext; [exact D|apply I|]. intros w Hw. now apply (shape_parts (Sh w ltac:(lia))). }
  assert (summary_path s' h = summary_path s p ++ [h]) as Ph.
  { rewrite <- Pp. apply (path_S _ D). exact H0. }
  assert (forall v, In v (way s p) -> v < next_summary s /\ summary s' v = summary s v) as Kw.
  { intros v Hv. pose proof (way_lt I (way_on_way I Hpw Hv)). split; [assumption|]. apply Old; [assumption|].
    intros ->. contradiction. }
  assert (forall u, In u (summary_path s p) -> 0 < u -> exists F, took_in s' u F /\ earlier s u = F) as Wk.
  { intros u Hu U0. destruct (Wp u Hu U0) as [F TF]. exists F. split; [|exact (earlier_is I TF)].
    pose proof (earlier_is I TF) as EF. destruct (Kw u (path_in_way Hu)) as [Lu Su].
    apply (took_in_kept I D Lu TF Ln Es Sh). intros v Hv Lv. assert (summary s' v = summary s v) as Sv.
    { destruct Hv as [->|Hv]; [exact Su|]. apply Kw, in_way. exists u. split; [exact Hu|left]. now rewrite EF. }
    unfold Machine.after_of. now rewrite Sv. }
  assert (way s' p = way s p) as Ewp.
  { unfold Machine.way. rewrite Pp, !flat_map_concat_map. f_equal. apply map_ext_in. intros u Hu. f_equal.
    destruct u as [|u].
    - rewrite (earlier_0 I). unfold Machine.earlier, Machine.after_of, Machine.parent_of.
      destruct (Kw 0 (path_in_way Hu)) as [_ ->]. rewrite (inv_root I). simpl. now destruct (next_summary s').
    - destruct (Wk (S u) Hu ltac:(lia)) as [F [TF <-]]. exact (earlier_walked D TF). }
  assert (way s' h = way s p ++ E ++ [h]) as Ew
    by (rewrite (way_walked D H0), (earlier_walked D T); fold p; now rewrite Ewp).
  split; [|exact Ew]. split; [|split].
  - intros u Hu U0. rewrite Ph in Hu. apply in_app_or in Hu as [Hu|[<-|[]]]; [|now exists E].
    destruct (Wk u Hu U0) as [F [TF _]]. now exists F.
  - intros u Hu U0 K. rewrite Ph in Hu. apply in_app_or in Hu as [Hu|[<-|[]]].
    + destruct (Kw u (path_in_way Hu)) as [Lu Su]. rewrite Su in K. unfold Machine.parent_of. rewrite Su.
      fold (parent_of s u). assert (In (parent_of s u) (summary_path s p)) as Hpu by (apply (parent_on_path I); auto; lia).
      destruct (Kw _ (path_in_way Hpu)) as [_ ->]. now apply Ep.
    + fold p. destruct (Kw p (path_in_way (path_self _ (inv_parent I) p))) as [_ ->]. now apply Ke.
  - intros u Hu. rewrite Ew in Hu. apply in_app_or in Hu as [Hu|Hu]; [right|apply in_app_or in Hu as [Hu|[<-|[]]]; [right|now left]].
    + destruct (Kw u Hu) as [_ ->]. now apply Tp.
    + destruct (Te u Hu) as [Lu [Nu Tu]]. now rewrite (Old u Lu Nu).
Qed.

Lemma without_inv : forall s t, Inv s -> Inv (without_chapters s t).
Proof.
  intros s t I. destruct I. constructor; try assumption.
  intros c Hc. apply filter_In in Hc as [Hc _]. now apply inv_chapters.
Qed.

Lemma chapters_stand : forall s s' cs, Inv s -> decreasing (parent_of s') -> next_summary s <= next_summary s' ->
  (forall v, v < next_summary s -> shape (summary s' v) = shape (summary s v)) ->
  (forall c, In c cs -> In c (chapters s) /\ summary s' (last_under c) = summary s (last_under c)) ->
  forall c, In c cs -> chapter_stands s' c.
Proof.
  intros s s' cs I D Ln Sh Old c Hc. destruct (Old c Hc) as [Hc' E]. destruct (inv_chapters I Hc') as [F0 [L [P [K T]]]].
  unfold Invariants.chapter_stands. rewrite E. repeat split; auto; [lia|].
  assert (summary_path s' (last_under c) = summary_path s (last_under c)) as ->; [|exact P].
  apply path_ext; [exact D|apply I|]. intros w Hw. apply (shape_parts (Sh w ltac:(lia))).
Qed.

Lemma changed_inv : forall s t f, Inv s -> (forall x, shape (f x) = shape x) ->
  0 < t < next_summary s -> boundary s t = step_head s \/ t = summary_head s ->
  head_stands (changed_summary s t f) t ->
  (forall c, In c (chapters s) -> last_under c <> t) ->
  (forall g, feedback_of (verdict (f (summary s t))) = Some g -> blank g = false) ->
  Inv (changed_summary s t f).
Proof.
  intros s t f I K Ht Hb [Hw [He Htr]] Hch Hf. set (s' := changed_summary s t f) in *.
  destruct (same_shapes (s' := s') I (fun u => changed_shape s t u K)) as [P [B [Co [D T]]]].
  assert (next_summary s' = next_summary s) as Nx by apply upd_length.
  constructor; rewrite ?Nx; try apply I; try lia; auto.
  - unfold s'. rewrite changed_other by lia. apply I.
  - intros u Hu. rewrite B. now apply (inv_boundary I).
  - intros u Hu. unfold Invariants.covers_from_parent. rewrite Co, !B, P.
    assert (label (summary s' u) = label (summary s u)) as -> by now apply shape_parts, changed_shape.
    now apply (inv_covers I).
  - simpl. lia.
  - unfold Machine.current_boundary. rewrite B. change (active_path s') with (active_path s).
    change (summary_head s') with t.
    destruct Hb as [E|E]; [rewrite E; apply path_self, I|rewrite E; exact (inv_heads I)].
  - intros u v Hu Hv. rewrite !P, !Co. now apply (inv_sibling_covers I).
  - apply (chapters_stand (s := s)); auto; [lia|intros; now apply changed_shape|].
    intros c Hc. split; [exact Hc|]. apply changed_other. now apply Hch.
  - intros u g. destruct (Nat.eq_dec u t) as [->|N]; unfold s'.
    + rewrite changed_same by lia. apply Hf.
    + rewrite changed_other by assumption. apply (inv_feedback I).
  - intros b l Hl. destruct (inv_lessons I Hl) as [Bl [u [Hu E]]]. split; [exact Bl|].
    exists u. now rewrite B.
Qed.

Lemma retexted_inv : forall s t m k, Inv s -> 0 < t < next_summary s ->
  boundary s t = step_head s \/ t = summary_head s ->
  head_stands (changed_summary (without_chapters s t) t (set_text m k (new_after s t))) t ->
  Inv (retexted s t m k).
Proof.
  intros s t m k I Ht Hb Hs. set (s0 := without_chapters s t) in *.
  assert (Inv (changed_summary s0 t (set_text m k (new_after s t)))) as I'.
  { apply changed_inv; auto; [now apply without_inv| |discriminate].
    intros c Hc E. apply filter_In in Hc as [_ Hc]. rewrite E, Nat.eqb_refl in Hc. discriminate. }
  unfold Machine.retexted, Machine.leave. fold (new_after s t) s0.
  destruct (feedback_on_steps _) as [g|]; [|exact I'].
  apply inv_with_lesson; [exact I'|].
  destruct (inv_covers I Ht) as [_ [-> _]]. exists (parent_of s t).
  pose proof (inv_parent I (n := t) ltac:(lia)).
  destruct (same_shapes (s' := changed_summary s0 t (set_text m k (new_after s t))) I) as [_ [B _]];
    [intro; now apply (changed_shape s0)|].
  split; [unfold next_summary, changed_summary in *; simpl; rewrite upd_length; lia|apply B].
Qed.

(* the head itself, with another text or verdict *)
Lemma head_changed_stands : forall s0 s f, Inv s -> steps s0 = steps s -> summaries s0 = summaries s ->
  (forall x, shape (f x) = shape x) ->
  (forall x, kind (f x) = kind x /\ after (f x) = after x) -> 0 < summary_head s ->
  head_stands (changed_summary s0 (summary_head s) f) (summary_head s).
Proof.
  intros s0 s f I Es Em K Ka H0. set (h := summary_head s). set (s' := changed_summary s0 h f).
  assert (forall v, summary s' v = summary (changed_summary s h f) v) as Su
    by (intro v; unfold Machine.summary, s'; simpl; now rewrite Em).
  assert (forall v, v <> h -> summary s' v = summary s v) as Old by (intros; rewrite Su; now apply changed_other).
  assert (forall v, shape (summary s' v) = shape (summary s v)) as Sh by (intro; rewrite Su; now apply changed_shape).
  destruct (same_shapes (s' := s') I Sh) as [P [B [Co [D T]]]].
  pose proof (inv_summary_head I) as Lh. fold h in Lh.
  assert (In h (summary_path s h)) as Hh by apply path_self, I.
  destruct (inv_way I Hh H0) as [E TE]. fold h in TE.
  assert (In (parent_of s h) (summary_path s h)) as Hp by (apply (parent_on_path I Hh); lia).
  pose proof (inv_parent I H0) as Dp. fold h in Dp.
  assert (forall v, In v (way s (parent_of s h)) -> In v (way s h)) as Up
    by (intro v; apply (way_on_way I (path_in_way Hp))).
  pose proof (head_not_above I (path_in_way Hp) ltac:(fold h; lia)) as Nh. fold h in Nh.
  apply (new_head_stands (s := s) (E := E)); rewrite ?P; auto.
  - unfold next_summary, s'. simpl. rewrite upd_length, Em. lia.
  - apply (took_in_kept I D Lh TE); auto.
    + unfold next_summary, s'. simpl. rewrite upd_length, Em. lia.
    + intros v Hv Lv. destruct (Nat.eq_dec v h) as [->|Dv]; [|unfold Machine.after_of; now rewrite Old].
      unfold Machine.after_of. rewrite Su, changed_same by exact Lh. apply Ka.
  - intros v Hv. rewrite <- (earlier_is I TE) in Hv.
    destruct (taken_in I Lh (ex_intro _ E TE) H0 Hv) as [_ [_ [_ [[_ Lv] [Ne _]]]]]. repeat split; auto.
    destruct (inv_trusted I (t := v)) as [->|Tr]; [|now destruct Ne|exact Tr].
    apply in_way. exists h. auto.
  - rewrite Su, changed_same by exact Lh. destruct (Ka (summary s h)) as [-> _]. now apply (inv_ends I).
  - intros v Hv. destruct (inv_trusted I (Up v Hv)) as [->|Tr]; [contradiction|exact Tr].
Qed.

Lemma retext_inv : forall s m s', Inv s -> retext s m = Done s' -> Inv s'.
Proof.
  intros s m s' I E. destruct (retext_cases E) as [P [_ ->]].
  pose proof (head_not_root I P). pose proof (inv_summary_head I).
  apply retexted_inv; auto; try lia.
  (* at the head itself it keeps kind and after *)
  set (g := fun x : Summary Text => MkSummary (parent x) (label x) (covers x) m (kind x) Pending (after x)).
  assert (changed_summary (without_chapters s (summary_head s)) (summary_head s)
            (set_text m (kind (summary s (summary_head s))) (new_after s (summary_head s))) =
          changed_summary (without_chapters s (summary_head s)) (summary_head s) g) as ->.
  { unfold changed_summary. f_equal. apply upd_ext_at with (d := root_summary).
    unfold new_after. rewrite Nat.eqb_refl. reflexivity. }
  apply (head_changed_stands (f := g) (s := s)); auto.
Qed.

Lemma judged_inv : forall s v, Inv s -> phase s <> Active ->
  (forall g, feedback_of v = Some g -> blank g = false) -> Inv (judged s v).
Proof.
  intros s v I P Hv. pose proof (head_not_root I P). pose proof (inv_summary_head I).
  apply changed_inv; auto; try lia.
  - apply (head_changed_stands (f := set_verdict v) (s := s)); auto.
  - intros c Hc E. destruct (inv_chapters I Hc) as [_ [_ [_ [_ T]]]]. rewrite E in T.
    apply trusted_spec in T. contradiction.
Qed.

Lemma apply_verdict_inv : forall s a d s', Inv s -> apply_verdict s a d = Done s' -> Inv s'.
Proof.
  intros s a d s' I E. unfold Machine.apply_verdict in E. destruct (phase s) eqn:P; try discriminate.
  destruct (negb (same_digest _ _)); [discriminate|]. destruct a as [|f k o].
  - injection E as <-. apply judged_inv; [exact I|congruence|discriminate].
  - destruct (negb _); [discriminate|]. destruct (blank f) eqn:B; [discriminate|]. injection E as <-.
    apply judged_inv; [exact I|congruence|]. intros g Eg. now injection Eg as <-.
Qed.

Lemma accept_inv : forall s s', Inv s -> accept s = Done s' -> Inv s'.
Proof.
  intros s s' I E. destruct (accept_cases E) as [P ->]. apply judged_inv; auto.
  intros g Eg. destruct (verdict (summary s (summary_head s))) as [| |f k o|d] eqn:V; try discriminate.
  apply (inv_feedback I (t := summary_head s)). now rewrite V.
Qed.

(* ---- compress: one summary more, or one taken again ---- *)
Lemma active_way_trusted : forall s v, Inv s -> phase s = Active -> In v (way s (summary_head s)) ->
  trusted (verdict (summary s v)) = true.
Proof. intros s v I P Hv. destruct (inv_trusted I Hv) as [->|T]; [now apply trusted_spec|exact T]. Qed.

(* what it takes in: what stands between the new parent and the head *)
Lemma compress_takes_in : forall s m k h s', Inv s -> to_cover s k <> [] -> 0 < h < next_summary s' ->
  decreasing (parent_of s') -> next_summary s <= next_summary s' -> steps s' = steps s ->
  (forall v, v < next_summary s -> shape (summary s' v) = shape (summary s v)) ->
  (forall v, v < next_summary s -> v <> h -> summary s' v = summary s v) ->
  h < next_summary s \/ h = next_summary s ->
  summary s' h = MkSummary (new_parent s k) (boundary s (new_parent s k)) (to_cover s k) m k Pending (new_after s h) ->
  exists E, took_in s' h E /\ forall v, In v E -> v < next_summary s /\ v <> h /\ In v (way s (summary_head s)).
Proof.
  intros s m k h s' I Ne Hh D Ln Es Sh Old Hn Sm. set (hd := summary_head s) in *. set (p := new_parent s k) in *.
  pose proof (inv_summary_head I) as Lhd. fold hd in Lhd.
  assert (forall v, v < next_summary s -> parent_of s' v = parent_of s v /\ boundary s' v = boundary s v) as Pb.
  { intros v Lv. destruct (shape_parts (Sh v Lv)) as [Pv [_ Cv]]. split; [exact Pv|].
    unfold Machine.boundary. now rewrite Cv. }
  assert (forall v, v < next_summary s -> summary_path s' v = summary_path s v) as Pa.
  { intros v Lv. apply path_ext; [exact D|apply I|]. intros w Hw. apply Pb. lia. }
  assert (forall n, step_path s' n = step_path s n) as Sp.
  { intros n. unfold Machine.step_path, Machine.above_of, Machine.step. now rewrite Es. }
  assert (boundary s' h = step_head s) as Bh by (unfold Machine.boundary; rewrite Sm; now apply (to_cover_last I)).
  assert (parent_of s' h = p) as Ph by (unfold Machine.parent_of; now rewrite Sm).
  assert (kind (summary s' h) = k) as Kh by now rewrite Sm.
  pose proof (new_parent_on_path k I) as Hp. fold p hd in Hp. pose proof (head_path_lt I Hp) as Lp.
  assert (after_of s' h = new_after s h) as Ah by (unfold Machine.after_of; now rewrite Sm).
  (* taken again in place: nothing is taken in *)
  destruct (Nat.eq_dec h hd) as [Eh|Dh].
  { exists []. split; [|contradiction]. assert (parent_of s h = p) as Ph' by (destruct (Pb h ltac:(lia)); congruence).
    assert (after_of s h = p) as Af.
    { assert (In h (summary_path s hd)) as Hin by (rewrite Eh; apply path_self, I).
      destruct (inv_way I Hin ltac:(lia)) as [E [P [Fa [Ka _]]]].
      destruct (kind (summary s h)) eqn:K.
      - exfalso. destruct k.
        + unfold p, Machine.new_parent in Ph'. fold hd in Ph'. rewrite (base_of hd I), <- Eh, K in Ph'.
          pose proof (inv_parent I (n := h) ltac:(lia)). lia.
        + unfold p, Machine.new_parent in Ph'. fold hd in Ph'. pose proof (inv_parent I (n := h) ltac:(lia)). lia.
      - rewrite (Ka eq_refl), app_nil_r in P. apply (path_inj _ (inv_parent I)) in P. congruence. }
    assert (new_after s h = p) as Na by (unfold new_after; fold hd; rewrite Eh, Nat.eqb_refl, <- Eh; exact Af).
    unfold Invariants.took_in. rewrite Ah, Na, Ph, Bh, Sp, (proj2 (Pb p Lp)).
    split; [now rewrite app_nil_r|]. split; [contradiction|]. split; [reflexivity|]. split; [lia|].
    exact (on_active_path I Hp). }
  assert (new_after s h = hd) as Na by (unfold new_after; fold hd; now destruct (Nat.eqb_spec h hd)).
  assert (exists E, summary_path s hd = summary_path s p ++ E /\
          (forall u, In u E -> kind (summary s u) = Fallback) /\ (k = Fallback -> E = [])) as [E [PE [FE KE]]].
  { destruct k; unfold p, Machine.new_parent; fold hd.
    - destruct (base_is hd I) as [_ [_ [F [PF FF]]]]. exists F. repeat split; auto. discriminate.
    - exists []. rewrite app_nil_r. repeat split; auto. contradiction. }
  assert (forall v, In v E -> In v (summary_path s hd)) as Ein
    by (intros v Hv; rewrite PE; apply in_or_app; now right).
  assert (forall v, In v E -> v < next_summary s /\ v <> h /\ In v (way s hd)) as Ev.
  { intros v Hv. pose proof (Ein v Hv) as Hvp. split; [exact (head_path_lt I Hvp)|]. split; [|now apply path_in_way].
    intros ->. pose proof (head_path_lt I Hvp) as Lh.
    assert (boundary s h = step_head s) as Bh' by (destruct (Pb h Lh); congruence).
    pose proof (boundaries_rise I Lhd Hvp Dh) as Lb. pose proof (path_le _ (inv_above I) _ _ (inv_heads I)) as Le.
    unfold Machine.current_boundary in Le. fold hd in Le. lia. }
  exists E. split; [|exact Ev]. unfold Invariants.took_in. rewrite Ah, Na, Ph, Kh, Bh, Sp, !Pa, (proj2 (Pb hd Lhd)) by assumption.
  split; [exact PE|]. split; [|split; [exact KE|split; [lia|exact (inv_heads I)]]].
  intros v Hv. destruct (Ev v Hv) as [Lv [Nv _]]. unfold Machine.after_of, Machine.parent_of. rewrite (Old v Lv Nv).
  split; [now apply FE|]. fold (after_of s v) (parent_of s v).
  assert (v <> 0) as V0 by (intros ->; pose proof (FE 0 Hv) as K0; rewrite (inv_root I) in K0; discriminate).
  destruct (inv_way I (Ein v Hv) ltac:(lia)) as [F [PF [_ [KF _]]]]. rewrite (KF (FE v Hv)), app_nil_r in PF.
  exact (path_inj _ (inv_parent I) _ _ PF).
Qed.

Lemma compress_head_stands : forall s m k h s', Inv s -> phase s = Active -> to_cover s k <> [] ->
  0 < h < next_summary s' ->
  decreasing (parent_of s') -> next_summary s <= next_summary s' -> steps s' = steps s ->
  (forall v, v < next_summary s -> shape (summary s' v) = shape (summary s v)) ->
  (forall v, v < next_summary s -> v <> h -> summary s' v = summary s v) ->
  h < next_summary s \/ h = next_summary s ->
  summary s' h = MkSummary (new_parent s k) (boundary s (new_parent s k)) (to_cover s k) m k Pending (new_after s h) ->
  head_stands s' h /\ incl (way s' h) (h :: way s (summary_head s)).
Proof.
  intros s m k h s' I P Ne Hh D Ln Es Sh Old Hn Sm.
  destruct (compress_takes_in (m := m) I Ne Hh D Ln Es Sh Old Hn Sm) as [E [TE Ev]].
  pose proof (new_parent_on_path k I) as Hp.
  assert (forall v, In v (way s (new_parent s k)) -> In v (way s (summary_head s))) as Up
    by (intro v; apply (way_on_way I (path_in_way Hp))).
  assert (parent_of s' h = new_parent s k) as Ph by (unfold Machine.parent_of; now rewrite Sm).
  destruct (new_head_stands (s := s) (s' := s') (h := h) (E := E)) as [Hs Ew]; rewrite ?Ph; auto; try lia.
  - intro Hin. pose proof (way_lt I (Up h Hin)) as Lh.
    assert (boundary s h = step_head s) as Bh.
    { destruct (shape_parts (Sh h Lh)) as [_ [_ Co]]. rewrite Sm in Co. simpl in Co.
      unfold Machine.boundary. rewrite <- Co. now apply (to_cover_last I). }
    assert (boundary s h <= boundary s (new_parent s k)) as Le.
    { destruct (way_below I Hp (root_on_path (new_parent s k) I)) as [d [Ed Bd]].
      rewrite Ed in Hin. apply in_app_or in Hin as [Hin|Hin]; [|now apply Bd].
      rewrite (way_0 I) in Hin. destruct Hin as [<-|[]]. lia. }
    pose proof (to_cover_spec k I) as Sc. destruct (exists_last Ne) as [l [x Hx]].
    pose proof (path_sorted _ (inv_above I) (step_head s)) as So. fold (active_path s) in So.
    unfold Machine.active_path in *. unfold Machine.step_path in *.
    rewrite Sc in So. pose proof (to_cover_last I Ne) as La. rewrite Hx, last_last in La. subst x.
    assert (boundary s (new_parent s k) < step_head s); [|lia].
    apply (sorted_app_lt So); [apply path_self, I|]. rewrite Hx. apply in_or_app. right. now left.
  - intros v Hv. destruct (Ev v Hv) as [Lv [Nv Hw]]. repeat split; auto. now apply (active_way_trusted I P).
  - rewrite Sm. simpl. intros ->. apply (base_is (summary_head s) I).
  - intros v Hv. apply (active_way_trusted I P), Up, Hv.
  - split; [exact Hs|]. rewrite Ew, Ph. intros v Hv. apply in_app_or in Hv as [Hv|Hv]; [right; now apply Up|].
    apply in_app_or in Hv as [Hv|[<-|[]]]; [right; now apply Ev|now left].
Qed.

Lemma old_summary : forall s m k t, t < next_summary s -> summary (compressed s m k) t = summary s t.
Proof. intros. now apply app_nth1. Qed.
Lemma new_summary : forall s m k, summary (compressed s m k) (next_summary s) =
  MkSummary (new_parent s k) (boundary s (new_parent s k)) (to_cover s k) m k Pending (summary_head s).
Proof. intros. apply nth_snoc. Qed.
Lemma next_summary_compressed : forall s m k, next_summary (compressed s m k) = S (next_summary s).
Proof.
  intros. unfold next_summary, Machine.compressed, with_summary. simpl. rewrite app_length. simpl. lia.
Qed.
Lemma new_parent_lt : forall s k, Inv s -> new_parent s k < next_summary s.
Proof. intros s k I. exact (head_path_lt I (new_parent_on_path k I)). Qed.

Lemma compressed_parent : forall s m k, Inv s -> decreasing (parent_of (compressed s m k)).
Proof.
  intros s m k I n Hn. unfold Machine.parent_of.
  destruct (lt_eq_lt_dec n (next_summary s)) as [[L| ->]|L].
  - rewrite old_summary by assumption. now apply (inv_parent I).
  - rewrite new_summary. now apply new_parent_lt.
  - unfold Machine.summary. rewrite nth_overflow; [exact Hn|].
    pose proof (next_summary_compressed s m k). unfold next_summary in *. lia.
Qed.

Lemma compressed_path : forall s m k t, Inv s -> t < next_summary s ->
  summary_path (compressed s m k) t = summary_path s t.
Proof.
  intros s m k t I Ht. apply path_ext; [now apply compressed_parent|apply I|].
  intros u Hu. unfold Machine.parent_of. now rewrite old_summary by lia.
Qed.

Lemma compressed_boundary : forall s m k t, t < next_summary s ->
  boundary (compressed s m k) t = boundary s t.
Proof. intros. unfold Machine.boundary. now rewrite old_summary. Qed.
Lemma new_boundary : forall s m k, Inv s -> to_cover s k <> [] ->
  boundary (compressed s m k) (next_summary s) = step_head s.
Proof.
  intros s m k I Ne. unfold Machine.boundary. rewrite new_summary. simpl. exact (to_cover_last I Ne).
Qed.

Lemma compressed_covers : forall s m k t, Inv s -> to_cover s k <> [] -> 0 < t <= next_summary s ->
  covers_from_parent (compressed s m k) t.
Proof.
  intros s m k t I Ne Ht. pose proof (inv_summary_head I). pose proof (new_parent_lt k I).
  unfold Invariants.covers_from_parent, Machine.parent_of.
  destruct (Nat.eq_dec t (next_summary s)) as [->|D].
  - rewrite new_summary. simpl. rewrite new_boundary, compressed_boundary by assumption.
    repeat split; auto. exact (to_cover_spec k I).
  - pose proof (inv_parent I (n := t) ltac:(lia)). rewrite !old_summary by lia.
    rewrite !compressed_boundary by (unfold Machine.parent_of in *; lia).
    apply (inv_covers I). lia.
Qed.

Lemma compressed_siblings : forall s m k, Inv s -> child_covering s (new_parent s k) (to_cover s k) = None ->
  forall t u, 0 < t <= next_summary s -> 0 < u <= next_summary s ->
  parent_of (compressed s m k) t = parent_of (compressed s m k) u ->
  covers (summary (compressed s m k) t) = covers (summary (compressed s m k) u) -> t = u.
Proof.
  intros s m k I F t u Ht Hu. unfold Machine.parent_of.
  destruct (Nat.eq_dec t (next_summary s)) as [->|Dt], (Nat.eq_dec u (next_summary s)) as [->|Du]; auto.
  - rewrite new_summary, old_summary by lia. intros E1 E2. exfalso.
    eapply (child_covering_none F); [|symmetry; exact E1|symmetry; exact E2]. lia.
  - rewrite new_summary, old_summary by lia. intros E1 E2. exfalso.
    eapply (child_covering_none F); [|exact E1|exact E2]. lia.
  - rewrite !old_summary by lia. apply (inv_sibling_covers I); lia.
Qed.

Lemma compressed_stands : forall s m k, Inv s -> phase s = Active -> to_cover s k <> [] ->
  head_stands (compressed s m k) (next_summary s) /\
  incl (way (compressed s m k) (next_summary s)) (next_summary s :: way s (summary_head s)).
Proof.
  intros s m k I P Ne. pose proof (next_summary_compressed s m k) as Nx. pose proof (inv_summaries I).
  pose proof (inv_summary_head I).
  apply (compress_head_stands (m := m) I P Ne); rewrite ?Nx; auto; try lia.
  - now apply compressed_parent.
  - intros v Lv. now rewrite old_summary.
  - intros v Lv _. now apply old_summary.
  - rewrite new_summary. unfold new_after. destruct (Nat.eqb_spec (next_summary s) (summary_head s)); [lia|reflexivity].
Qed.

Lemma compressed_inv : forall s m k, Inv s -> phase s = Active -> to_cover s k <> [] ->
  child_covering s (new_parent s k) (to_cover s k) = None -> Inv (compressed s m k).
Proof.
  intros s m k I P Ne F. pose proof (next_summary_compressed s m k) as Nx.
  pose proof (inv_summaries I). pose proof (inv_summary_head I).
  destruct (compressed_stands m I P Ne) as [[Hw [He Htr]] _].
  constructor; rewrite ?Nx; try apply I; try lia; auto.
  - now apply compressed_parent.
  - rewrite old_summary by assumption. apply I.
  - intros t Ht. destruct (Nat.eq_dec t (next_summary s)) as [->|D].
    + rewrite new_boundary by assumption. apply I.
    + rewrite compressed_boundary by lia. apply (inv_boundary I). lia.
  - intros t Ht. apply compressed_covers; auto. lia.
  - unfold Machine.current_boundary. simpl. rewrite new_boundary by assumption. apply path_self, I.
  - intros t u Ht Hu. apply compressed_siblings; auto; lia.
  - apply (chapters_stand (s := s)); auto; [now apply compressed_parent|lia|intros; now rewrite old_summary|].
    intros c Hc. split; [exact Hc|]. destruct (inv_chapters I Hc) as [_ [L _]]. now apply old_summary.
  - intros t f. destruct (lt_eq_lt_dec t (next_summary s)) as [[L| ->]|L].
    + rewrite old_summary by assumption. apply (inv_feedback I).
    + rewrite new_summary. discriminate.
    + unfold Machine.summary. rewrite nth_overflow; [discriminate|].
      unfold next_summary in *. lia.
  - intros b l Hl. destruct (inv_lessons I Hl) as [Bl [t [Ht E]]]. split; [exact Bl|].
    exists t. rewrite compressed_boundary by assumption. split; [lia|exact E].
Qed.

(* D4: one that compress takes again *)
Lemma taken_again_stands : forall s t m k, Inv s -> phase s = Active -> to_cover s k <> [] ->
  0 < t < next_summary s -> parent_of s t = new_parent s k -> label (summary s t) = boundary s (new_parent s k) ->
  covers (summary s t) = to_cover s k ->
  let s' := changed_summary (without_chapters s t) t (set_text m k (new_after s t)) in
  head_stands s' t /\ incl (way s' t) (t :: way s (summary_head s)).
Proof.
  intros s t m k I P Ne Ht Hp Hl Hc s'.
  assert (forall v, shape (summary s' v) = shape (summary s v)) as Sh
    by (intro v; now apply (changed_shape (without_chapters s t))).
  destruct (same_shapes (s' := s') I Sh) as [_ [_ [_ [D _]]]].
  assert (next_summary s' = next_summary s) as Nx by apply upd_length.
  apply (compress_head_stands (m := m) I P Ne); rewrite ?Nx; auto; try lia.
  - intros v _ Nv. now apply (changed_other (without_chapters s t)).
  - unfold s'. rewrite (changed_same (s := without_chapters s t)) by apply Ht.
    change (summary (without_chapters s t) t) with (summary s t). unfold set_text. f_equal; assumption.
Qed.

Lemma compress_inv : forall s m k s', Inv s -> compress s m k = Done s' -> Inv s'.
Proof.
  intros s m k s' I E. pose proof (inv_summary_head I).
  destruct (compress_cases I E) as [P [_ [Ne [[t [_ [Ht [Hp [Hl [Hc [Hb ->]]]]]]]|[F ->]]]]].
  - apply retexted_inv; auto. exact (proj1 (taken_again_stands m I P Ne Ht Hp Hl Hc)).
  - now apply compressed_inv.
Qed.

(* ---- fold ---- *)
Lemma with_chapter_inv : forall s c, Inv s -> chapter_stands s c -> Inv (with_chapter s c).
Proof.
  intros s c I Hc. destruct I. constructor; try assumption.
  intros d Hd. apply in_app_or in Hd as [Hd|[<-|[]]]; [now apply inv_chapters|exact Hc].
Qed.

Lemma fold_inv : forall s n b m d s', Inv s -> fold s n b m d = Done s' -> Inv s'.
Proof.
  intros s n b m d s' I E. destruct (fold_makes E) as [P [run [F ->]]].
  apply with_chapter_inv; [exact I|]. destruct (folded m I F) as [_ [F0 [Hl [Hp K]]]].
  split; [exact F0|]. split; [exact (head_path_lt I Hl)|]. split; [exact Hp|]. split; [exact K|].
  apply (active_way_trusted I P), path_in_way, Hl.
Qed.

(* ---- all of them ---- *)
(* every_operation_keeps_the_invariants: whatever is done to a state that has them *)
Theorem every_operation_keeps_the_invariants : forall s c s', Inv s -> exec s c = Done s' -> Inv s'.
Proof using same_spec.
  intros s c s' I E. destruct c; simpl in E; eauto using grow_inv, compress_inv, retext_inv,
    apply_verdict_inv, accept_inv, revise_inv, instruct_inv, fold_inv.
Qed.

Lemma after_inv : forall s c, Inv s -> Inv (next s c).
Proof using same_spec.
  intros s c I. unfold Machine.next. destruct (exec s c) as [s'|] eqn:E; [|exact I].
  eauto using every_operation_keeps_the_invariants.
Qed.
Lemma run_inv : forall cs s, Inv s -> Inv (run s cs).
Proof using same_spec.
  induction cs as [|c cs IH]; intros s I; [exact I|]. simpl. apply IH. now apply after_inv.
Qed.

Lemma run_snoc : forall s cs c, run s (cs ++ [c]) = next (run s cs) c.
Proof. intros s cs c. unfold Machine.run. now rewrite fold_left_app. Qed.
Lemma after_done : forall s c s', exec s c = Done s' -> next s c = s'.
Proof. intros s c s' E. unfold Machine.next. now rewrite E. Qed.
Lemma after_refused : forall s c why, exec s c = Refused why -> next s c = s.
Proof. intros s c why E. unfold Machine.next. now rewrite E. Qed.
Lemma reachable_run : forall s cs, reachable s -> reachable (run s cs).
Proof. intros s cs [t [ds ->]]. exists t, (ds ++ cs). unfold Machine.run. now rewrite fold_left_app. Qed.
Lemma reachable_after : forall s c, reachable s -> reachable (next s c).
Proof. intros s c Re. exact (reachable_run [c] Re). Qed.

(* reachable_inv: what any commands make of a start, refused ones among them, has the invariant *)
Theorem reachable_inv : forall s, reachable s -> Inv s.
Proof using same_spec. intros s [t [cs ->]]. apply run_inv, start_inv. Qed.
End Kept.
