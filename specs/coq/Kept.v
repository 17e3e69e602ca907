(* Every operation keeps the invariant, so every reachable state has it. Reachable.v says I1 to I9. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants.
Import ListNotations.

Section Kept.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).
Notation compressed := (Invariants.compressed nothing).
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

(* ---- moving the heads, leaving lessons, giving instructions ---- *)
Lemma inv_moved : forall s n t ls is, Inv s -> n < next_step s -> t < next_summary s ->
  In (boundary s t) (step_path s n) ->
  (forall u, In u (summary_path s t) -> u = t \/ trusted (verdict (summary s u)) = true) ->
  (forall b l, In (b, l) ls -> blank l = false /\ exists u, u < next_summary s /\ boundary s u = b) ->
  (forall m x, In (m, x) is -> blank (fst x) = false /\ m < next_step s) ->
  Inv (MkState (task s) (steps s) (summaries s) n t ls is).
Proof. intros s n t ls is I Hn Ht Hh Htr Hl Hi. destruct I. constructor; assumption. Qed.

Lemma inv_with_lesson : forall s b l, Inv s -> (exists t, t < next_summary s /\ boundary s t = b) ->
  Inv (with_lesson s b l).
Proof.
  intros s b l I Hb. unfold Machine.with_lesson. destruct (blank l) eqn:B; [exact I|].
  apply inv_moved; try apply I; auto; try apply (inv_trusted I).
  intros b' l' Hin. apply in_app_or in Hin as [Hin|[E|[]]]; [now apply (inv_lessons I)|].
  injection E as <- <-. auto.
Qed.

Lemma instruct_inv : forall s x s', Inv s -> instruct s x = Done s' -> Inv s'.
Proof using same_spec.
  intros s x s' I E. destruct (instruct_cases same_spec E) as [_ [B [[_ ->]|[_ ->]]]]; [exact I|].
  apply inv_moved; try apply I; try apply (inv_trusted I); try apply (inv_lessons I); try apply (inv_heads I).
  intros n y Hin. apply in_app_or in Hin as [Hin|[F|[]]]; [now apply (inv_instructions I)|].
  injection F as <- <-. split; [exact B|apply I].
Qed.

Lemma revise_inv : forall s b l s', Inv s -> revise s b l = Done s' -> Inv s'.
Proof.
  intros s b l s' I E. destruct (revise_spec I E) as [t [Hin [<- [_ ->]]]].
  pose proof (on_path_le I Hin) as Le. pose proof (inv_summary_head I).
  apply inv_with_lesson; [|exists t; split; [unfold next_summary in *; simpl; lia|reflexivity]].
  apply inv_moved; auto; try lia; [apply (inv_boundary I); lia|apply path_self, I| |
    apply (inv_lessons I)|apply (inv_instructions I)].
  intros u Hu. destruct (path_prefix _ (inv_parent I) _ _ Hin) as [d Hd].
  assert (In u (summary_path s (summary_head s))) as Hu'
    by (unfold Machine.summary_path; rewrite Hd; apply in_or_app; now left).
  destruct (inv_trusted I Hu') as [F|F]; [left|now right]. pose proof (on_path_le I Hu). lia.
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
  - intros n x Hx. destruct (inv_instructions I Hx). split; [assumption|lia].
Qed.

Lemma grow_inv : forall s c s', Inv s -> grow s c = Done s' -> Inv s'.
Proof using same_spec.
  intros s c s' I E. destruct (grow_cases same_spec I E) as [_ [[n [_ [Hn [Hp [_ ->]]]]]|[F ->]]].
  - apply inv_moved; auto; try apply I; try lia; try apply (inv_trusted I);
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

Lemma changed_inv : forall s t f, Inv s -> (forall x, shape (f x) = shape x) ->
  0 < t < next_summary s -> boundary s t = step_head s \/ t = summary_head s ->
  (forall u, In u (summary_path s t) -> u = t \/ trusted (verdict (summary s u)) = true) ->
  (forall g, feedback_of (verdict (f (summary s t))) = Some g -> blank g = false) ->
  Inv (changed_summary s t f).
Proof.
  intros s t f I K Ht Hb Htr Hf. set (s' := changed_summary s t f).
  destruct (same_shapes (s' := s') I (fun u => changed_shape s t u K)) as [P [B [Co [D T]]]].
  assert (next_summary s' = next_summary s) as Nx by apply upd_length.
  constructor; rewrite ?Nx; try apply I; try lia.
  - exact D.
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
  - intros u Hu. rewrite T in Hu. change (summary_head s') with t in *.
    destruct (Nat.eq_dec u t) as [|N]; [now left|right]. destruct (Htr u Hu); [contradiction|].
    unfold s'. now rewrite changed_other.
  - intros u g. destruct (Nat.eq_dec u t) as [->|N]; unfold s'.
    + rewrite changed_same by lia. apply Hf.
    + rewrite changed_other by assumption. apply (inv_feedback I).
  - intros b l Hl. destruct (inv_lessons I Hl) as [Bl [u [Hu E]]]. split; [exact Bl|].
    exists u. now rewrite B.
Qed.

Lemma retexted_inv : forall s t m k, Inv s -> 0 < t < next_summary s ->
  boundary s t = step_head s \/ t = summary_head s ->
  (forall u, In u (summary_path s t) -> u = t \/ trusted (verdict (summary s u)) = true) ->
  Inv (retexted s t m k).
Proof.
  intros s t m k I Ht Hb Htr.
  assert (Inv (changed_summary s t (set_text m k))) as I' by (apply changed_inv; auto; discriminate).
  unfold Machine.retexted, Machine.leave. destruct (feedback_on_steps _) as [g|]; [|exact I'].
  apply inv_with_lesson; [exact I'|].
  destruct (inv_covers I Ht) as [_ [-> _]]. exists (parent_of s t).
  pose proof (inv_parent I (n := t) ltac:(lia)).
  destruct (same_shapes (s' := changed_summary s t (set_text m k)) I) as [_ [B _]];
    [intro; now apply changed_shape|].
  split; [unfold next_summary, changed_summary in *; simpl; rewrite upd_length; lia|apply B].
Qed.

Lemma retext_inv : forall s m k s', Inv s -> retext s m k = Done s' -> Inv s'.
Proof.
  intros s m k s' I E. destruct (retext_cases E) as [P [_ ->]].
  pose proof (head_not_root I P). pose proof (inv_summary_head I).
  apply retexted_inv; auto; try lia. apply (inv_trusted I).
Qed.

Lemma judged_inv : forall s v, Inv s -> phase s <> Active ->
  (forall g, feedback_of v = Some g -> blank g = false) -> Inv (judged s v).
Proof.
  intros s v I P Hv. pose proof (head_not_root I P). pose proof (inv_summary_head I).
  apply changed_inv; auto; try lia. apply (inv_trusted I).
Qed.

Lemma apply_verdict_inv : forall s a d s', Inv s -> apply_verdict s a d = Done s' -> Inv s'.
Proof.
  intros s a d s' I E. unfold Machine.apply_verdict in E. destruct (phase s) eqn:P; try discriminate.
  destruct (negb _); [discriminate|]. destruct a as [|f k].
  - injection E as <-. apply judged_inv; [exact I|congruence|discriminate].
  - destruct (blank f) eqn:B; [discriminate|]. injection E as <-.
    apply judged_inv; [exact I|congruence|]. intros g Eg. now injection Eg as <-.
Qed.

Lemma accept_inv : forall s s', Inv s -> accept s = Done s' -> Inv s'.
Proof.
  intros s s' I E. destruct (accept_cases E) as [P ->]. apply judged_inv; auto.
  intros g Eg. destruct (verdict (summary s (summary_head s))) as [| |f k|d] eqn:V; try discriminate.
  apply (inv_feedback I (t := summary_head s)). now rewrite V.
Qed.

(* ---- one summary more ---- *)
Lemma old_summary : forall s m k t, t < next_summary s -> summary (compressed s m k) t = summary s t.
Proof. intros. now apply app_nth1. Qed.
Lemma new_summary : forall s m k, summary (compressed s m k) (next_summary s) =
  MkSummary (summary_head s) (current_boundary s) (open_segment s) m k Pending.
Proof. intros. apply nth_snoc. Qed.
Lemma next_summary_compressed : forall s m k, next_summary (compressed s m k) = S (next_summary s).
Proof.
  intros. unfold next_summary, Invariants.compressed, with_summary. simpl. rewrite app_length. simpl. lia.
Qed.

Lemma compressed_parent : forall s m k, Inv s -> decreasing (parent_of (compressed s m k)).
Proof.
  intros s m k I n Hn. unfold Machine.parent_of.
  destruct (lt_eq_lt_dec n (next_summary s)) as [[L| ->]|L].
  - rewrite old_summary by assumption. now apply (inv_parent I).
  - rewrite new_summary. apply I.
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
Lemma new_boundary : forall s m k, Inv s -> open_segment s <> [] ->
  boundary (compressed s m k) (next_summary s) = step_head s.
Proof.
  intros s m k I Ne. unfold Machine.boundary. rewrite new_summary. simpl. exact (open_segment_last I Ne).
Qed.

Lemma compressed_covers : forall s m k t, Inv s -> open_segment s <> [] -> 0 < t <= next_summary s ->
  covers_from_parent (compressed s m k) t.
Proof.
  intros s m k t I Ne Ht. pose proof (inv_summary_head I).
  unfold Invariants.covers_from_parent, Machine.parent_of.
  destruct (Nat.eq_dec t (next_summary s)) as [->|D].
  - rewrite new_summary. simpl. rewrite new_boundary, compressed_boundary by assumption.
    repeat split; auto. exact (open_segment_spec I).
  - pose proof (inv_parent I (n := t) ltac:(lia)). rewrite !old_summary by lia.
    rewrite !compressed_boundary by (unfold Machine.parent_of in *; lia).
    apply (inv_covers I). lia.
Qed.

Lemma compressed_siblings : forall s m k, Inv s -> child_covering s (open_segment s) = None ->
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

Lemma compressed_trusted : forall s m k t, Inv s -> phase s = Active ->
  In t (summary_path (compressed s m k) (next_summary s)) ->
  t = next_summary s \/ trusted (verdict (summary (compressed s m k) t)) = true.
Proof.
  intros s m k t I P Ht. pose proof (inv_summary_head I). pose proof (inv_summaries I).
  unfold Machine.summary_path in Ht. rewrite (path_S _ (compressed_parent m k I)) in Ht by assumption.
  apply in_app_or in Ht as [Ht|[<-|[]]]; [right|now left].
  unfold Machine.parent_of at 2 in Ht. rewrite new_summary in Ht. simpl in Ht.
  fold (summary_path (compressed s m k) (summary_head s)) in Ht. rewrite compressed_path in Ht by assumption.
  pose proof (on_path_le I Ht). rewrite old_summary by lia.
  destruct (inv_trusted I Ht) as [->|E]; [now apply trusted_spec|exact E].
Qed.

Lemma compressed_inv : forall s m k, Inv s -> phase s = Active -> open_segment s <> [] ->
  child_covering s (open_segment s) = None -> Inv (compressed s m k).
Proof.
  intros s m k I P Ne F. pose proof (next_summary_compressed s m k) as Nx.
  pose proof (inv_summaries I). pose proof (inv_summary_head I).
  constructor; rewrite ?Nx; try apply I; try lia.
  - now apply compressed_parent.
  - rewrite old_summary by assumption. apply I.
  - intros t Ht. destruct (Nat.eq_dec t (next_summary s)) as [->|D].
    + rewrite new_boundary by assumption. apply I.
    + rewrite compressed_boundary by lia. apply (inv_boundary I). lia.
  - intros t Ht. apply compressed_covers; auto. lia.
  - simpl. lia.
  - unfold Machine.current_boundary. simpl. rewrite new_boundary by assumption. apply path_self, I.
  - intros t u Ht Hu. apply compressed_siblings; auto; lia.
  - intros t Ht. now apply compressed_trusted.
  - intros t f. destruct (lt_eq_lt_dec t (next_summary s)) as [[L| ->]|L].
    + rewrite old_summary by assumption. apply (inv_feedback I).
    + rewrite new_summary. discriminate.
    + unfold Machine.summary. rewrite nth_overflow; [discriminate|].
      unfold next_summary in *. lia.
  - intros b l Hl. destruct (inv_lessons I Hl) as [Bl [t [Ht E]]]. split; [exact Bl|].
    exists t. rewrite compressed_boundary by assumption. split; [lia|exact E].
Qed.

Lemma compress_inv : forall s m k s', Inv s -> compress s m k = Done s' -> Inv s'.
Proof.
  intros s m k s' I E. pose proof (inv_summary_head I).
  destruct (compress_cases I E) as [P [_ [[_ [_ [_ [H0 ->]]]]|[[Ne [t [_ [Ht [Hp [Lt [_ [_ [Hb ->]]]]]]]]]|
    [Ne [F ->]]]]]].
  - apply retexted_inv; auto; try lia. apply (inv_trusted I).
  - apply retexted_inv; auto. intros u Hu. rewrite (path_of_child I) in Hu by lia.
    apply in_app_or in Hu as [Hu|[<-|[]]]; [right|now left]. rewrite Hp in Hu.
    destruct (inv_trusted I Hu) as [->|T]; [now apply trusted_spec|exact T].
  - now apply compressed_inv.
Qed.

(* ---- all of them ---- *)
(* every_operation_keeps_the_invariants: whatever is done to a state that has them *)
Theorem every_operation_keeps_the_invariants : forall s c s', Inv s -> exec s c = Done s' -> Inv s'.
Proof using same_spec.
  intros s c s' I E. destruct c; simpl in E; eauto using grow_inv, compress_inv, retext_inv,
    apply_verdict_inv, accept_inv, revise_inv, instruct_inv.
Qed.

Lemma after_inv : forall s c, Inv s -> Inv (after s c).
Proof using same_spec.
  intros s c I. unfold Machine.after. destruct (exec s c) as [s'|] eqn:E; [|exact I].
  eauto using every_operation_keeps_the_invariants.
Qed.
Lemma run_inv : forall cs s, Inv s -> Inv (run s cs).
Proof using same_spec.
  induction cs as [|c cs IH]; intros s I; [exact I|]. simpl. apply IH. now apply after_inv.
Qed.

Lemma run_snoc : forall s cs c, run s (cs ++ [c]) = after (run s cs) c.
Proof. intros s cs c. unfold Machine.run. now rewrite fold_left_app. Qed.
Lemma after_done : forall s c s', exec s c = Done s' -> after s c = s'.
Proof. intros s c s' E. unfold Machine.after. now rewrite E. Qed.
Lemma after_refused : forall s c why, exec s c = Refused why -> after s c = s.
Proof. intros s c why E. unfold Machine.after. now rewrite E. Qed.
Lemma reachable_run : forall s cs, reachable s -> reachable (run s cs).
Proof. intros s cs [t [ds ->]]. exists t, (ds ++ cs). unfold Machine.run. now rewrite fold_left_app. Qed.
Lemma reachable_after : forall s c, reachable s -> reachable (after s c).
Proof. intros s c Re. exact (reachable_run [c] Re). Qed.

(* reachable_inv: what any commands make of a start, refused ones among them, has the invariant *)
Theorem reachable_inv : forall s, reachable s -> Inv s.
Proof using same_spec. intros s [t [cs ->]]. apply run_inv, start_inv. Qed.
End Kept.
