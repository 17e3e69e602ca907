(* The invariant, what follows from it at once, and what each operation does, case by case.
   Kept.v proves that every operation keeps it. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine.
Import ListNotations.

Section Invariants.
Load "Given".

(* ---- the invariant ---- *)
Definition feedback_of (v : Verdict Text) :=
  match v with Failed f _ _ => Some f | Accepted (Some (f, _, _)) => Some f | _ => None end.
Definition covers_from_parent s t :=
  covers (summary s t) <> [] /\
  label (summary s t) = boundary s (parent_of s t) /\
  step_path s (boundary s t) = step_path s (boundary s (parent_of s t)) ++ covers (summary s t).

(* E is what t took in: between its parent and the head that it was made from stand fallbacks alone *)
Definition took_in s t E :=
  summary_path s (after_of s t) = summary_path s (parent_of s t) ++ E /\
  (forall u, In u E -> kind (summary s u) = Fallback /\ after_of s u = parent_of s u) /\
  (kind (summary s t) = Fallback -> E = []) /\
  after_of s t < next_summary s /\
  In (boundary s (after_of s t)) (step_path s (boundary s t)).
Definition chapter_stands s (c : Chapter) :=
  0 < first_under c /\ last_under c < next_summary s /\
  In (first_under c) (summary_path s (last_under c)) /\
  kind (summary s (last_under c)) = Subgoal /\ trusted (verdict (summary s (last_under c))) = true.

Record Inv s : Prop := MkInv {
  inv_above : decreasing (above_of s);
  inv_parent : decreasing (parent_of s);
  inv_steps : 0 < next_step s;
  inv_summaries : 0 < next_summary s;
  inv_root_step : step s 0 = root_step;
  inv_root : summary s 0 = root_summary;
  inv_boundary : forall t, t < next_summary s -> boundary s t < next_step s;
  inv_covers : forall t, 0 < t < next_summary s -> covers_from_parent s t;
  inv_step_head : step_head s < next_step s;
  inv_summary_head : summary_head s < next_summary s;
  inv_heads : In (current_boundary s) (active_path s);
  inv_siblings : forall m n, 0 < m < next_step s -> 0 < n < next_step s ->
    above_of s m = above_of s n -> content (step s m) = content (step s n) -> m = n;
  inv_sibling_covers : forall t u, 0 < t < next_summary s -> 0 < u < next_summary s ->
    parent_of s t = parent_of s u -> covers (summary s t) = covers (summary s u) -> t = u;
  inv_way : forall t, In t (summary_path s (summary_head s)) -> 0 < t -> exists E, took_in s t E;
  inv_ends : forall t, In t (summary_path s (summary_head s)) -> 0 < t ->
    kind (summary s t) = Subgoal -> kind (summary s (parent_of s t)) = Subgoal;
  inv_trusted : forall t, In t (way s (summary_head s)) ->
    t = summary_head s \/ trusted (verdict (summary s t)) = true;
  inv_chapters : forall c, In c (chapters s) -> chapter_stands s c;
  inv_feedback : forall t f, feedback_of (verdict (summary s t)) = Some f -> blank f = false;
  inv_lessons : forall b l, In (b, l) (lessons s) ->
    blank l = false /\ exists t, t < next_summary s /\ boundary s t = b;
  inv_instructions : forall n x, In (n, x) (instructions s) -> blank (fst x) = false /\ n < next_step s
}.

(* ---- small facts ---- *)
Lemma same_ids_spec : forall x y, same_ids x y = true <-> x = y.
Proof.
  intros x y. unfold same_ids. destruct (list_eq_dec Nat.eq_dec x y); split; congruence.
Qed.
Lemma same_content_spec : forall c d, same_content c d = true <-> c = d.
Proof using same_spec.
  intros [a o] [a' o']. unfold Machine.same_content. simpl. rewrite andb_true_iff, !same_spec.
  split; [intros [-> ->]; reflexivity|intro E; now injection E].
Qed.
Lemma same_instruction_spec : forall x y, same_instruction x y = true <-> x = y.
Proof using same_spec.
  intros [x b] [y b']. unfold Machine.same_instruction. simpl. rewrite andb_true_iff, same_spec, eqb_true_iff.
  split; [intros [-> ->]; reflexivity|intro E; now injection E].
Qed.

Lemma in_numbered : forall T (d : T) l n x,
  In (n, x) (numbered l) <-> 0 < n < length l /\ nth n l d = x.
Proof.
  intros T d l n x. unfold numbered. destruct l as [|r l]; simpl; [split; [contradiction|lia]|].
  rewrite Nat.sub_0_r. split.
  - intro Hin. apply (In_nth _ _ (0, d)) in Hin as [i [Hi E]].
    rewrite combine_length, seq_length, Nat.min_id in Hi.
    rewrite combine_nth in E by apply seq_length. rewrite seq_nth in E by assumption.
    injection E as <- <-. split; [lia|reflexivity].
  - intros [Hn <-]. destruct n as [|n]; [lia|].
    replace (S n, nth n l d) with (nth n (combine (seq 1 (length l)) l) (0, d)).
    + apply nth_In. rewrite combine_length, seq_length, Nat.min_id. lia.
    + rewrite combine_nth by apply seq_length. now rewrite seq_nth by lia.
Qed.
Lemma in_step_children : forall s p n,
  In n (step_children s p) <-> 0 < n < next_step s /\ above_of s n = p.
Proof.
  intros s p n. unfold step_children. rewrite in_map_iff. split.
  - intros [[m x] [<- Hin]]. apply filter_In in Hin as [Hin Hp]. apply Nat.eqb_eq in Hp. simpl in *.
    apply (in_numbered root_step) in Hin as [Hm <-]. now split.
  - intros [Hn <-]. exists (n, step s n). split; [reflexivity|]. apply filter_In. split.
    + apply (in_numbered root_step). now split.
    + apply Nat.eqb_refl.
Qed.
Lemma in_summary_children : forall s p t,
  In t (summary_children s p) <-> 0 < t < next_summary s /\ parent_of s t = p.
Proof.
  intros s p t. unfold summary_children. rewrite in_map_iff. split.
  - intros [[m x] [<- Hin]]. apply filter_In in Hin as [Hin Hp]. apply Nat.eqb_eq in Hp. simpl in *.
    apply (in_numbered root_summary) in Hin as [Hm <-]. now split.
  - intros [Hn <-]. exists (t, summary s t). split; [reflexivity|]. apply filter_In. split.
    + apply (in_numbered root_summary). now split.
    + apply Nat.eqb_refl.
Qed.

Lemma child_with_some : forall s c n, child_with s c = Some n ->
  0 < n < next_step s /\ above_of s n = step_head s /\ content (step s n) = c.
Proof using same_spec.
  intros s c n E. apply find_some in E as [Hin E]. apply in_step_children in Hin as [Hn Hp].
  apply same_content_spec in E. auto.
Qed.
Lemma child_with_none : forall s c n, child_with s c = None -> 0 < n < next_step s ->
  above_of s n = step_head s -> content (step s n) <> c.
Proof using same_spec.
  intros s c n E Hn Hp <-.
  apply find_none with (x := n) in E; [|now apply in_step_children].
  assert (same_content (content (step s n)) (content (step s n)) = true) by now apply same_content_spec.
  congruence.
Qed.
Lemma child_covering_some : forall s p c t, child_covering s p c = Some t ->
  0 < t < next_summary s /\ parent_of s t = p /\ covers (summary s t) = c.
Proof.
  intros s p c t E. apply find_some in E as [Hin E]. apply in_summary_children in Hin as [Ht Hp].
  apply same_ids_spec in E. auto.
Qed.
Lemma child_covering_none : forall s p c t, child_covering s p c = None -> 0 < t < next_summary s ->
  parent_of s t = p -> covers (summary s t) <> c.
Proof.
  intros s p c t E Ht Hp <-.
  apply find_none with (x := t) in E; [|now apply in_summary_children].
  assert (same_ids (covers (summary s t)) (covers (summary s t)) = true) by now apply same_ids_spec.
  congruence.
Qed.

Lemma trusted_spec : forall v : Verdict Text, trusted v = true <-> phase_of_verdict v = Active.
Proof.
  intros [| |f k o|d]; simpl; split; intro E; congruence.
Qed.
Lemma head_not_root : forall s, Inv s -> phase s <> Active -> 0 < summary_head s.
Proof.
  intros s I P. destruct (summary_head s) eqn:E; [|lia]. exfalso. apply P.
  unfold Machine.phase. now rewrite E, (inv_root I).
Qed.

Lemma open_segment_spec : forall s, Inv s ->
  active_path s = step_path s (current_boundary s) ++ open_segment s.
Proof.
  intros s I. apply trace_spec; [apply I|exact (inv_heads I)].
Qed.
Lemma open_segment_nil : forall s, Inv s -> (open_segment s = [] <-> step_head s = current_boundary s).
Proof.
  intros s I. split; intro E.
  - pose proof (open_segment_spec I) as Sp. rewrite E, app_nil_r in Sp.
    eapply path_inj; [|exact Sp]. apply I.
  - unfold Machine.open_segment, Machine.steps_after. rewrite E. apply trace_nil. apply I.
Qed.
Lemma open_segment_last : forall s, Inv s -> open_segment s <> [] -> last (open_segment s) 0 = step_head s.
Proof.
  intros s I E. apply trace_last; [apply I|exact (inv_heads I)|exact E].
Qed.

Lemma covers_to : forall s t, Inv s -> t < next_summary s ->
  flat_map (fun u => covers (summary s u)) (summary_path s t) = step_path s (boundary s t).
Proof.
  intros s t I. induction t as [t IH] using lt_wf_ind; intro Ht. destruct t as [|t].
  - unfold Machine.summary_path, Machine.boundary. simpl. rewrite (inv_root I). reflexivity.
  - pose proof (inv_parent I (n := S t) ltac:(lia)) as D.
    unfold Machine.summary_path. rewrite path_S by (try apply I; lia).
    rewrite flat_map_app. simpl. rewrite app_nil_r.
    destruct (inv_covers I (t := S t) ltac:(lia)) as [_ [_ ->]]. f_equal. apply IH; lia.
Qed.
Lemma told_is_active_path : forall s, Inv s -> told s = active_path s.
Proof.
  intros s I. unfold Machine.told. rewrite covers_to by (try apply I; assumption).
  symmetry. now apply open_segment_spec.
Qed.

Lemma sorted_app_lt : forall l r x y, StronglySorted lt (l ++ r) -> In x l -> In y r -> x < y.
Proof.
  induction l as [|a l IH]; intros r x y So Hx Hy; [contradiction|].
  inversion So as [|? ? So' All]; subst. destruct Hx as [<-|Hx].
  - rewrite Forall_forall in All. apply All, in_or_app. now right.
  - eapply IH; eauto.
Qed.
Lemma on_path_le : forall s n t, Inv s -> In t (summary_path s n) -> t <= n.
Proof.
  intros s n t I E. exact (path_le _ (inv_parent I) _ _ E).
Qed.
Lemma path_of_child : forall s t, Inv s -> 0 < t -> summary_path s t = summary_path s (parent_of s t) ++ [t].
Proof.
  intros s t I Ht. apply path_S; [apply I|exact Ht].
Qed.
Lemma parent_on_path : forall s n t, Inv s -> In t (summary_path s n) -> t <> 0 ->
  In (parent_of s t) (summary_path s n).
Proof.
  intros s n t I Hin H0. destruct (path_prefix _ (inv_parent I) _ _ Hin) as [d Hd].
  unfold Machine.summary_path. rewrite Hd. apply in_or_app. left.
  rewrite path_S by (try apply I; lia). apply in_or_app. left. apply path_self. apply I.
Qed.
(* of two summaries on one path, the one with the smaller id is above the other *)
Lemma smaller_is_above : forall s n t u, Inv s ->
  In t (summary_path s n) -> In u (summary_path s n) -> t < u -> In t (summary_path s u).
Proof.
  intros s n t u I Ht Hu L. destruct (path_prefix _ (inv_parent I) _ _ Hu) as [d Hd].
  unfold Machine.summary_path in *. rewrite Hd in Ht. apply in_app_or in Ht as [Ht|Ht]; [assumption|exfalso].
  pose proof (path_sorted _ (inv_parent I) n) as So. rewrite Hd in So.
  pose proof (sorted_app_lt So (path_self _ (inv_parent I) u) Ht). lia.
Qed.

Lemma boundary_above_parent : forall s t, Inv s -> 0 < t < next_summary s ->
  boundary s (parent_of s t) < boundary s t.
Proof.
  intros s t I Ht. destruct (inv_covers I Ht) as [Hne [_ E]].
  pose proof (path_sorted (above_of s) (inv_above I) (boundary s t)) as So.
  unfold Machine.step_path in E. rewrite E in So.
  eapply sorted_app_lt; [exact So|apply path_self; apply I|].
  destruct (exists_last Hne) as [l [x Hx]]. unfold Machine.boundary. rewrite Hx, last_last.
  apply in_or_app. right. now left.
Qed.
Lemma boundaries_rise : forall s n t, Inv s -> n < next_summary s -> In t (summary_path s n) -> t <> n ->
  boundary s t < boundary s n.
Proof.
  intros s n t I. induction n as [n IH] using lt_wf_ind; intros Hn Hin Hne.
  destruct n as [|n]; [destruct Hin as [<-|[]]; congruence|].
  pose proof (inv_parent I (n := S n) ltac:(lia)) as D.
  pose proof (boundary_above_parent I (t := S n) ltac:(lia)) as L.
  rewrite path_of_child in Hin by (assumption || lia).
  apply in_app_or in Hin as [Hin|[<-|[]]]; [|congruence].
  destruct (Nat.eq_dec t (parent_of s (S n))) as [->|Hd]; [exact L|].
  specialize (IH _ D ltac:(lia) Hin Hd). lia.
Qed.
Lemma target_unique : forall s t u, Inv s ->
  In t (summary_path s (summary_head s)) -> In u (summary_path s (summary_head s)) ->
  boundary s t = boundary s u -> t = u.
Proof.
  intros s t u I Ht Hu E. pose proof (inv_summary_head I) as Lh.
  destruct (lt_eq_lt_dec t u) as [[L|?]|L]; auto; exfalso.
  - pose proof (on_path_le I Hu). pose proof (smaller_is_above I Ht Hu L) as Hin.
    pose proof (boundaries_rise I (n := u) ltac:(lia) Hin ltac:(lia)). lia.
  - pose proof (on_path_le I Ht). pose proof (smaller_is_above I Hu Ht L) as Hin.
    pose proof (boundaries_rise I (n := t) ltac:(lia) Hin ltac:(lia)). lia.
Qed.

Lemma boundary_on_path : forall s n t, Inv s -> n < next_summary s -> In t (summary_path s n) ->
  In (boundary s t) (step_path s (boundary s n)).
Proof.
  intros s n t I. induction n as [n IH] using lt_wf_ind; intros Hn Hin.
  destruct n as [|n]; [destruct Hin as [<-|[]]; apply path_self, I|].
  pose proof (inv_parent I (n := S n) ltac:(lia)) as D.
  rewrite path_of_child in Hin by (assumption || lia).
  apply in_app_or in Hin as [Hin|[<-|[]]]; [|apply path_self, I].
  destruct (inv_covers I (t := S n) ltac:(lia)) as [_ [_ ->]].
  apply in_or_app. left. apply IH; assumption || lia.
Qed.

(* ---- the base ---- *)
Lemma root_on_path : forall s t, Inv s -> In 0 (summary_path s t).
Proof.
  intros s t I. unfold Machine.summary_path. induction t as [t IH] using lt_wf_ind.
  destruct t as [|t]; [now left|]. rewrite path_S by (try apply (inv_parent I); lia).
  apply in_or_app. left. apply IH. apply (inv_parent I). lia.
Qed.

Lemma path_of_parent : forall s t u, Inv s -> t <> 0 -> In u (summary_path s (parent_of s t)) ->
  In u (summary_path s t).
Proof. intros s t u I Ht Hu. rewrite (path_of_child I) by lia. apply in_or_app. now left. Qed.

(* the way up is never longer than the id *)
Lemma no_fallback_is : forall s f t, Inv s -> t <= f -> let b := no_fallback s f t in
  kind (summary s b) = Subgoal /\ b <= t /\
  exists F, summary_path s t = summary_path s b ++ F /\ forall u, In u F -> kind (summary s u) = Fallback.
Proof.
  intros s f. induction f as [|f IH]; intros t I L; simpl.
  - assert (t = 0) as -> by lia. rewrite (inv_root I). split; [reflexivity|]. split; [lia|]. exists [].
    split; [now rewrite app_nil_r|contradiction].
  - destruct (kind (summary s t)) eqn:K.
    + split; [exact K|]. split; [lia|]. exists []. split; [now rewrite app_nil_r|contradiction].
    + destruct t as [|t]; [rewrite (inv_root I) in K; discriminate|].
      pose proof (inv_parent I (n := S t) ltac:(lia)).
      destruct (IH (parent_of s (S t)) I ltac:(lia)) as [K' [Le [F [P Fa]]]]. split; [exact K'|].
      split; [lia|]. exists (F ++ [S t]).
      split; [rewrite (path_of_child I) by lia; now rewrite P, app_assoc|].
      intros u Hu. apply in_app_or in Hu as [Hu|[<-|[]]]; auto.
Qed.
Lemma base_is : forall s t, Inv s -> let b := base s t in
  kind (summary s b) = Subgoal /\ b <= t /\
  exists F, summary_path s t = summary_path s b ++ F /\ forall u, In u F -> kind (summary s u) = Fallback.
Proof. intros s t I. exact (no_fallback_is I (le_n t)). Qed.
Lemma base_on_path : forall s t, Inv s -> In (base s t) (summary_path s t).
Proof.
  intros s t I. destruct (base_is t I) as [_ [_ [F [-> _]]]]. apply in_or_app. left. apply path_self, I.
Qed.
Lemma no_fallback_fuel : forall s t f, Inv s -> t <= f -> no_fallback s f t = base s t.
Proof.
  intros s t f I. unfold Machine.base. revert f. induction t as [t IH] using lt_wf_ind; intros f L.
  destruct t as [|t]; [destruct f; simpl; [reflexivity|now rewrite (inv_root I)]|].
  destruct f as [|f]; [lia|]. simpl. destruct (kind (summary s (S t))); [reflexivity|].
  pose proof (inv_parent I (n := S t) ltac:(lia)) as D.
  rewrite (IH _ D f) by lia. symmetry. apply IH; lia.
Qed.
(* the base of a fallback is that of its parent, of any other itself *)
Lemma base_of : forall s t, Inv s -> base s t =
  match kind (summary s t) with Fallback => base s (parent_of s t) | Subgoal => t end.
Proof.
  intros s t I. unfold Machine.base at 1. destruct t as [|t]; [now rewrite (inv_root I)|].
  simpl. destruct (kind (summary s (S t))); [reflexivity|].
  pose proof (inv_parent I (n := S t) ltac:(lia)). now rewrite no_fallback_fuel by (assumption || lia).
Qed.
Lemma base_unique : forall s t b F, Inv s -> summary_path s t = summary_path s b ++ F ->
  kind (summary s b) = Subgoal -> (forall u, In u F -> kind (summary s u) = Fallback) -> b = base s t.
Proof.
  intros s t b F I. revert t. induction F as [|x F IH] using rev_ind; intros t P K Fa.
  - rewrite app_nil_r in P. apply (path_inj _ (inv_parent I)) in P. subst t. now rewrite (base_of b I), K.
  - destruct (path_end _ (inv_parent I) t) as [l Hl]. pose proof P as P'. unfold Machine.summary_path in P'.
    rewrite Hl, app_assoc in P'. apply app_inj_tail in P' as [_ <-].
    assert (Kt : kind (summary s t) = Fallback) by (apply Fa, in_or_app; right; now left).
    rewrite (base_of t I), Kt. destruct t as [|t]; [rewrite (inv_root I) in Kt; discriminate|].
    rewrite (path_of_child I), app_assoc in P by lia. apply app_inj_tail in P as [P _].
    apply IH; auto. intros u Hu. apply Fa, in_or_app. now left.
Qed.

(* ---- the way ---- *)
Lemma earlier_walked : forall s t E, decreasing (parent_of s) -> took_in s t E -> earlier s t = E.
Proof.
  intros s t E D [P [Fa [_ [L _]]]]. apply (walk_is_trace (parent_of s)); [exact D|exact P| |].
  - intros u Hu. now apply Fa.
  - pose proof (path_length (parent_of s) (after_of s t) D) as Le. unfold Machine.summary_path in P.
    rewrite P, app_length in Le. destruct (path_starts _ D (parent_of s t)) as [l Hl].
    rewrite Hl in Le. simpl in Le. lia.
Qed.
Lemma earlier_is : forall s t E, Inv s -> took_in s t E -> earlier s t = E.
Proof. intros s t E I. apply earlier_walked, I. Qed.
Lemma earlier_0 : forall s, Inv s -> earlier s 0 = [].
Proof.
  intros s I. unfold Machine.earlier, Machine.after_of, Machine.parent_of. rewrite (inv_root I). simpl.
  destruct (next_summary s); reflexivity.
Qed.
Lemma in_way : forall s n u, In u (way s n) <-> exists t, In t (summary_path s n) /\ (In u (earlier s t) \/ u = t).
Proof.
  intros s n u. unfold Machine.way. rewrite in_flat_map. split.
  - intros [t [Ht Hu]]. exists t. split; [exact Ht|]. apply in_app_or in Hu as [Hu|[Hu|[]]]; auto.
  - intros [t [Ht Hu]]. exists t. split; [exact Ht|]. apply in_or_app. destruct Hu as [Hu|Hu]; simpl; auto.
Qed.
Lemma path_in_way : forall s n t, In t (summary_path s n) -> In t (way s n).
Proof. intros s n t Ht. apply in_way. exists t. auto. Qed.
Lemma way_walked : forall s t, decreasing (parent_of s) -> 0 < t ->
  way s t = way s (parent_of s t) ++ earlier s t ++ [t].
Proof.
  intros s t D Ht. unfold Machine.way, Machine.summary_path at 1. rewrite (path_S _ D) by exact Ht.
  rewrite flat_map_app. simpl. now rewrite app_nil_r.
Qed.
Lemma way_of_child : forall s t, Inv s -> 0 < t -> way s t = way s (parent_of s t) ++ earlier s t ++ [t].
Proof. intros s t I. apply way_walked, I. Qed.
Lemma way_0 : forall s, Inv s -> way s 0 = [0].
Proof. intros s I. unfold Machine.way. simpl. now rewrite (earlier_0 I). Qed.

Lemma nodup_split : forall T (l m : list T) x r q, NoDup (l ++ x :: r) -> l ++ x :: r = m ++ x :: q -> l = m.
Proof.
  intros T l. induction l as [|a l IH]; intros [|b m] x r q N E; simpl in *; auto.
  - injection E as <- E. inversion N as [|? ? Na _]; subst. destruct Na. apply in_or_app. right. now left.
  - injection E as -> E. inversion N as [|? ? Na _]; subst. destruct Na. apply in_or_app. right. now left.
  - injection E as -> E. inversion N as [|? ? Na N']; subst. f_equal. eapply IH; eassumption.
Qed.

(* all of what was taken in *)
Lemma taken_in : forall s t u, Inv s -> t < next_summary s -> (exists E, took_in s t E) -> 0 < t ->
  In u (earlier s t) ->
  kind (summary s u) = Fallback /\ after_of s u = parent_of s u /\ kind (summary s t) = Subgoal /\
  0 < u < next_summary s /\ u <> t /\ boundary s (parent_of s t) < boundary s u <= boundary s t /\
  In (boundary s u) (step_path s (boundary s t)) /\ took_in s u [] /\
  exists E1 E2, earlier s t = E1 ++ u :: E2 /\ summary_path s u = summary_path s (parent_of s t) ++ E1 ++ [u].
Proof.
  intros s t u I Lt [E T] H0 Hu. rewrite (earlier_is I T) in *. pose proof T as [P [Fa [K [L B]]]].
  destruct (Fa u Hu) as [Ku Au]. destruct (kind (summary s t)) eqn:Kt; [|rewrite (K eq_refl) in Hu; contradiction].
  assert (In u (summary_path s (after_of s t))) as Hp by (rewrite P; apply in_or_app; now right).
  pose proof (on_path_le I Hp) as Le.
  assert (u <> 0) as U0 by (intros ->; rewrite (inv_root I) in Ku; discriminate).
  pose proof (boundary_on_path I L Hp) as Bu.
  assert (In (boundary s u) (step_path s (boundary s t))) as But.
  { destruct (path_prefix _ (inv_above I) _ _ B) as [d Hd]. unfold Machine.step_path. rewrite Hd.
    apply in_or_app. now left. }
  destruct (in_split _ _ Hu) as [E1 [E2 Es]].
  destruct (path_prefix _ (inv_parent I) _ _ Hp) as [d Hd]. destruct (path_end _ (inv_parent I) u) as [l Hl].
  assert (summary_path s u = summary_path s (parent_of s t) ++ E1 ++ [u]) as Pu.
  { pose proof (path_nodup _ (inv_parent I) (after_of s t)) as N. unfold Machine.summary_path in *.
    rewrite P, Es in Hd, N. rewrite Hl in Hd |- *.
    rewrite <- app_assoc in Hd. simpl in Hd. rewrite app_assoc in Hd, N |- *. f_equal.
    symmetry. exact (nodup_split N Hd). }
  assert (u <> parent_of s t) as Up.
  { intros ->. pose proof (path_nodup _ (inv_parent I) (parent_of s t)) as N. unfold Machine.summary_path in Pu.
    rewrite Pu, app_assoc in N. apply NoDup_remove_2 in N. rewrite app_nil_r in N.
    apply N, in_or_app. left. apply path_self, I. }
  repeat (split; [assumption || lia || reflexivity|]). split.
  { intros ->. destruct E1 as [|x E1].
    - rewrite Kt in Ku. discriminate.
    - congruence. }
  split; [split|].
  - apply (boundaries_rise I); [lia| |congruence]. rewrite Pu. apply in_or_app. left. apply path_self, I.
  - exact (path_le _ (inv_above I) _ _ But).
  - split; [exact But|]. split; [|exists E1, E2; split; assumption].
    unfold took_in. rewrite Au. pose proof (inv_parent I (n := u) ltac:(lia)) as D.
    repeat split; auto; try contradiction; [now rewrite app_nil_r|lia|].
    destruct (inv_covers I (t := u) ltac:(lia)) as [_ [_ ->]]. apply in_or_app. left. apply path_self, I.
Qed.

Lemma head_path_lt : forall s t, Inv s -> In t (summary_path s (summary_head s)) -> t < next_summary s.
Proof. intros s t I Ht. pose proof (on_path_le I Ht). pose proof (inv_summary_head I). lia. Qed.
Lemma taken_in_by : forall s t u, Inv s -> In t (summary_path s (summary_head s)) -> In u (earlier s t) ->
  0 < t /\ t < next_summary s /\ exists E, took_in s t E.
Proof.
  intros s t u I Ht Hu. destruct t as [|t]; [rewrite (earlier_0 I) in Hu; contradiction|].
  split; [lia|]. split; [now apply head_path_lt|]. apply (inv_way I Ht). lia.
Qed.
Lemma way_lt : forall s t, Inv s -> In t (way s (summary_head s)) -> t < next_summary s.
Proof.
  intros s t I Ht. apply in_way in Ht as [u [Hu [Ht| ->]]]; [|now apply head_path_lt].
  destruct (taken_in_by I Hu Ht) as [U0 [Lu T]].
  destruct (taken_in I Lu T U0 Ht) as [_ [_ [_ [[_ L] _]]]]. exact L.
Qed.
Lemma took_in_on_way : forall s t, Inv s -> In t (way s (summary_head s)) -> 0 < t -> exists E, took_in s t E.
Proof.
  intros s t I Ht H0. apply in_way in Ht as [u [Hu [Ht| ->]]]; [|now apply (inv_way I)].
  destruct (taken_in_by I Hu Ht) as [U0 [Lu T]]. exists [].
  now destruct (taken_in I Lu T U0 Ht) as [_ [_ [_ [_ [_ [_ [_ [Tt _]]]]]]]].
Qed.
(* the way of what is on the way *)
Lemma way_on_way : forall s t u, Inv s -> In t (way s (summary_head s)) -> In u (way s t) ->
  In u (way s (summary_head s)).
Proof.
  intros s t u I Ht Hu. apply in_way in Ht as [v [Hv Ht]].
  assert (forall w, In w (summary_path s v) -> In w (summary_path s (summary_head s))) as Up.
  { intros w Hw. destruct (path_prefix _ (inv_parent I) _ _ Hv) as [d Hd]. unfold Machine.summary_path.
    rewrite Hd. apply in_or_app. now left. }
  destruct Ht as [Ht| ->].
  - destruct (taken_in_by I Hv Ht) as [V0 [Lv T]].
    destruct (taken_in I Lv T V0 Ht) as [_ [_ [_ [_ [_ [_ [_ [_ [E1 [E2 [Ee Pt]]]]]]]]]]].
    apply in_way in Hu as [w [Hw Hu]]. rewrite Pt, app_assoc in Hw.
    apply in_app_or in Hw as [Hw|Hw].
    + apply in_app_or in Hw as [Hw|Hw].
      * apply in_way. exists w. split; [|exact Hu]. apply Up, (path_of_parent I); [lia|exact Hw].
      * assert (In w (earlier s v)) as Hwe by (rewrite Ee; apply in_or_app; now left).
        destruct (taken_in I Lv T V0 Hwe) as [_ [_ [_ [_ [_ [_ [_ [Tw _]]]]]]]].
        rewrite (earlier_is I Tw) in Hu. destruct Hu as [[]| ->]. apply in_way. exists v. auto.
    + destruct Hw as [<-|[]]. destruct (taken_in I Lv T V0 Ht) as [_ [_ [_ [_ [_ [_ [_ [Tw _]]]]]]]].
      rewrite (earlier_is I Tw) in Hu. destruct Hu as [[]| ->]. apply in_way. exists v. auto.
  - apply in_way in Hu as [w [Hw Hu]]. apply in_way. exists w. auto.
Qed.
Lemma path_on_way : forall s t u, Inv s -> In t (way s (summary_head s)) -> In u (summary_path s t) ->
  In u (way s (summary_head s)).
Proof. intros s t u I Ht Hu. apply (way_on_way I Ht), path_in_way, Hu. Qed.

(* below a summary of the path the way goes on behind its boundary *)
Lemma way_below : forall s n t, Inv s -> In n (summary_path s (summary_head s)) -> In t (summary_path s n) ->
  exists d, way s n = way s t ++ d /\ forall u, In u d -> boundary s t < boundary s u <= boundary s n.
Proof.
  intros s n t I. induction n as [n IH] using lt_wf_ind; intros Hn Ht.
  destruct (Nat.eq_dec t n) as [->|D]; [exists []; split; [now rewrite app_nil_r|contradiction]|].
  pose proof (on_path_le I Ht). assert (0 < n) as N0 by lia. pose proof (inv_parent I N0) as Dp.
  pose proof (head_path_lt I Hn) as Ln.
  rewrite (path_of_child I N0) in Ht. apply in_app_or in Ht as [Ht|[Ht|[]]]; [|congruence].
  destruct (IH _ Dp ltac:(apply (parent_on_path I Hn); lia) Ht) as [d [Ed Hd]].
  exists (d ++ earlier s n ++ [n]). rewrite (way_of_child I N0), Ed, <- app_assoc. split; [reflexivity|].
  pose proof (boundary_above_parent I (conj N0 Ln)) as Lp.
  assert (boundary s t <= boundary s (parent_of s n)) as Le.
  { pose proof (boundary_on_path I (n := parent_of s n) ltac:(lia) Ht) as Hb.
    exact (path_le _ (inv_above I) _ _ Hb). }
  intros u Hu. apply in_app_or in Hu as [Hu|Hu]; [pose proof (Hd u Hu); lia|].
  apply in_app_or in Hu as [Hu|[<-|[]]]; [|lia].
  destruct (taken_in I Ln (inv_way I Hn N0) N0 Hu) as [_ [_ [_ [_ [_ [B _]]]]]]. lia.
Qed.
Lemma way_ends : forall s t, exists l, way s t = l ++ [t].
Proof.
  intros s t. unfold Machine.way. enough (exists l, summary_path s t = l ++ [t]) as [l ->].
  - rewrite flat_map_app. simpl. rewrite app_nil_r, app_assoc. eexists. reflexivity.
  - unfold Machine.summary_path, path. destruct t as [|t]; [now exists []|]. simpl. eexists. reflexivity.
Qed.
Lemma way_boundary : forall s t, Inv s -> In t (way s (summary_head s)) ->
  In (boundary s t) (step_path s (current_boundary s)).
Proof.
  intros s t I Ht. apply in_way in Ht as [u [Hu Ht]].
  pose proof (boundary_on_path I (inv_summary_head I) Hu) as Bu. destruct Ht as [Ht| ->]; [|exact Bu].
  destruct (taken_in_by I Hu Ht) as [U0 [Lu T]].
  destruct (taken_in I Lu T U0 Ht) as [_ [_ [_ [_ [_ [_ [B _]]]]]]].
  destruct (path_prefix _ (inv_above I) _ _ Bu) as [d Hd]. unfold Machine.step_path, Machine.current_boundary.
  rewrite Hd. apply in_or_app. now left.
Qed.
(* the head stands on its way once, at its end *)
Lemma head_once : forall s l, Inv s -> way s (summary_head s) = l ++ [summary_head s] -> ~ In (summary_head s) l.
Proof.
  intros s l I E Hin. set (h := summary_head s) in *. destruct (Nat.eq_dec h 0) as [Z|N0].
  { rewrite Z, (way_0 I) in E. destruct l as [|x [|y l]]; try discriminate. rewrite Z in Hin. contradiction. }
  assert (0 < h) as H0 by lia. rewrite (way_of_child I H0), app_assoc in E.
  apply app_inj_tail in E as [<- _]. pose proof (inv_summary_head I) as L. fold h in L.
  assert (In h (summary_path s h)) as Hh by apply path_self, I.
  apply in_app_or in Hin as [Hin|Hin].
  - apply in_way in Hin as [u [Hu Hin]].
    assert (In u (summary_path s h)) as Hu' by (apply (path_of_parent I); auto).
    pose proof (on_path_le I Hu). pose proof (inv_parent I H0). destruct Hin as [Hin| ->]; [|lia].
    destruct (taken_in_by I Hu' Hin) as [U0 [Lu T]].
    destruct (taken_in I Lu T U0 Hin) as [_ [_ [_ [_ [_ [B _]]]]]].
    pose proof (boundaries_rise I L Hu' ltac:(lia)). lia.
  - destruct (taken_in I L (inv_way I Hh H0) H0 Hin) as [_ [_ [_ [_ [Ne _]]]]]. congruence.
Qed.

(* ... and what else is on it stands above it *)
Lemma head_not_above : forall s t, Inv s -> In t (way s (summary_head s)) -> t <> summary_head s ->
  ~ In (summary_head s) (way s t).
Proof.
  intros s t I Ht D. destruct (way_ends s (summary_head s)) as [l El]. pose proof (head_once I El) as No.
  assert (forall v, In v (summary_path s (summary_head s)) -> v <> summary_head s -> ~ In (summary_head s) (way s v))
    as Up.
  { intros v Hv Dv Hin. destruct (way_below I (path_self _ (inv_parent I) _) Hv) as [d [Ed Bd]].
    rewrite Ed in El. destruct d as [|x d _] using rev_ind.
    - rewrite app_nil_r in El. destruct (way_ends s v) as [w Ew]. rewrite Ew in El.
      apply app_inj_tail in El as [_ El]. contradiction.
    - rewrite app_assoc in El. apply app_inj_tail in El as [<- _]. apply No, in_or_app. now left. }
  apply in_way in Ht as [v [Hv [Ht| ->]]]; [|now apply Up].
  destruct (taken_in_by I Hv Ht) as [V0 [Lv T]].
  destruct (taken_in I Lv T V0 Ht) as [_ [_ [_ [Lt [_ [_ [_ [_ [E1 [E2 [Ee Pt]]]]]]]]]]].
  assert (forall u, In u (earlier s v) -> u <> summary_head s) as Ne.
  { intros u Hu ->. destruct (Nat.eq_dec v (summary_head s)) as [->|Dv].
    - destruct (taken_in I Lv T V0 Hu) as [_ [_ [_ [_ [Ne _]]]]]. congruence.
    - apply (Up v Hv Dv), in_way. exists v. split; [apply path_self, I|now left]. }
  intro Hin. apply in_way in Hin as [w [Hw Hin]]. rewrite Pt in Hw. apply in_app_or in Hw as [Hw|Hw].
  - pose proof (inv_parent I V0). assert (parent_of s v <> summary_head s) as Dp.
    { pose proof (on_path_le I Hv). lia. }
    apply (Up _ (parent_on_path I Hv ltac:(lia)) Dp), in_way. exists w. auto.
  - assert (In w (earlier s v)) as Hwe.
    { rewrite Ee. apply in_app_or in Hw as [Hw|[<-|[]]]; apply in_or_app; [now left|right; now left]. }
    destruct (taken_in I Lv T V0 Hwe) as [_ [_ [_ [_ [_ [_ [_ [Tw _]]]]]]]].
    rewrite (earlier_is I Tw) in Hin. destruct Hin as [[]|Hin]. now apply (Ne w Hwe).
Qed.

(* targets: all of the way, but in Rejected what ends where the failed head does *)
Lemma in_targets : forall s t, (In t (targets s) <->
  In t (way s (summary_head s)) /\ (phase s = Rejected -> boundary s t < current_boundary s)).
Proof.
  intros s t. unfold Machine.targets. destruct (phase s);
    try (split; [intro A; split; [exact A|discriminate]|intros [A _]; exact A]).
  rewrite filter_In, Nat.ltb_lt. split; intros [A B]; auto.
Qed.

(* ---- states are read through their fields: what does not change, does not change what is read ---- *)
(* what a summary keeps for ever *)
Definition shape (u : Summary Text) := (parent u, label u, covers u).
Lemma shape_parts : forall u v, shape u = shape v ->
  parent u = parent v /\ label u = label v /\ covers u = covers v.
Proof. intros u v E. unfold shape in E. now injection E as -> -> ->. Qed.
Lemma same_shapes : forall s s', Inv s -> (forall t, shape (summary s' t) = shape (summary s t)) ->
  (forall t, parent_of s' t = parent_of s t) /\ (forall t, boundary s' t = boundary s t) /\
  (forall t, covers (summary s' t) = covers (summary s t)) /\ decreasing (parent_of s') /\
  (forall t, summary_path s' t = summary_path s t).
Proof.
  intros s s' I E.
  assert (forall t, parent_of s' t = parent_of s t) as P by (intro t; now apply shape_parts).
  assert (decreasing (parent_of s')) as D by (intros t Ht; rewrite P; now apply (inv_parent I)).
  repeat split; auto.
  - intro t. unfold Machine.boundary. now destruct (shape_parts (E t)) as [_ [_ ->]].
  - intro t. now apply shape_parts.
  - intro t. apply path_ext; auto. apply I.
Qed.
Lemma step_path_kept : forall s s' n, Inv s -> Inv s' -> n < next_step s ->
  (exists l, steps s' = steps s ++ l) -> step_path s' n = step_path s n.
Proof.
  intros s s' n I I' Hn [l El]. apply path_ext; [apply I'|apply I|]. intros m Hm.
  unfold Machine.above_of, Machine.step. rewrite El. unfold next_step in Hn. now rewrite app_nth1 by lia.
Qed.
Lemma summary_path_kept : forall s s' t, Inv s -> Inv s' -> t < next_summary s ->
  (forall u, u < next_summary s -> parent_of s' u = parent_of s u) -> summary_path s' t = summary_path s t.
Proof.
  intros s s' t I I' Ht E. apply path_ext; [apply I'|apply I|]. intros u Hu. apply E. lia.
Qed.

(* what retexted gives, field by field: a lesson where there was feedback on the steps *)
Definition lessons_left s t :=
  match feedback_on_steps (verdict (summary s t)) with
  | Some f => lessons s ++ [(label (summary s t), f)]
  | None => lessons s
  end.
Lemma feedback_is_said : forall v f, feedback_on_steps v = Some f -> feedback_of v = Some f.
Proof. intros [| |g [] o|[[[g []] o]|]] f E; simpl in *; congruence. Qed.
Definition new_after s t := if t =? summary_head s then after_of s t else summary_head s.
Definition chapters_left s t := filter (fun c : Chapter => negb (last_under c =? t)) (chapters s).
Lemma retexted_is : forall s t m k, Inv s -> retexted s t m k =
  MkState (task s) (steps s) (upd (summaries s) t (set_text m k (new_after s t))) (step_head s) t
          (lessons_left s t) (instructions s) (chapters_left s t).
Proof.
  intros s t m k I. unfold Machine.retexted, lessons_left, Machine.leave.
  destruct (feedback_on_steps (verdict (summary s t))) as [f|] eqn:E; [|reflexivity].
  apply feedback_is_said in E. apply (inv_feedback I) in E.
  unfold Machine.with_lesson. now rewrite E.
Qed.
(* what with_lesson gives *)
Definition lessons_with s b l := if blank l then lessons s else lessons s ++ [(b, l)].
Lemma with_lesson_is : forall s b l, with_lesson s b l =
  MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s)
          (lessons_with s b l) (instructions s) (chapters s).
Proof.
  intros s b l. unfold Machine.with_lesson, lessons_with. destruct (blank l); [now destruct s|reflexivity].
Qed.

(* ---- what each operation does, case by case: all else is proved from these ---- *)
Lemma new_parent_on_path : forall s k, Inv s -> In (new_parent s k) (summary_path s (summary_head s)).
Proof. intros s [] I; [now apply base_on_path|apply path_self, I]. Qed.
Lemma on_active_path : forall s t, Inv s -> In t (summary_path s (summary_head s)) ->
  In (boundary s t) (active_path s).
Proof.
  intros s t I Hin. rewrite (open_segment_spec I). apply in_or_app. left.
  exact (boundary_on_path I (inv_summary_head I) Hin).
Qed.
Lemma to_cover_spec : forall s k, Inv s ->
  active_path s = step_path s (boundary s (new_parent s k)) ++ to_cover s k.
Proof.
  intros s k I. apply trace_spec; [apply I|]. apply (on_active_path I), (new_parent_on_path k I).
Qed.
Lemma to_cover_last : forall s k, Inv s -> to_cover s k <> [] -> last (to_cover s k) 0 = step_head s.
Proof.
  intros s k I Ne. apply trace_last; [apply I| |exact Ne]. apply (on_active_path I), (new_parent_on_path k I).
Qed.
Lemma to_cover_fallback : forall s, to_cover s Fallback = open_segment s.
Proof. reflexivity. Qed.

Lemma grow_cases : forall s c s', Inv s -> grow s c = Done s' -> phase s <> Rejected /\
  ((exists n, child_with s c = Some n /\ 0 < n < next_step s /\ above_of s n = step_head s /\
              content (step s n) = c /\ s' = at_heads s n (summary_head s)) \/
   (child_with s c = None /\ s' = with_step s c)).
Proof using same_spec.
  intros s c s' I E. unfold Machine.grow in E.
  assert (match child_with s c with
          | Some n => Done (at_heads s n (summary_head s))
          | None => Done (with_step s c) end = Done s' /\ phase s <> Rejected) as [G P]
    by (destruct (phase s); [split; [exact E|discriminate]|split; [exact E|discriminate]|discriminate]).
  split; [exact P|]. destruct (child_with s c) as [n|] eqn:F; injection G as <-.
  - left. exists n. destruct (child_with_some F) as [? [? ?]]. auto.
  - now right.
Qed.

Lemma compress_cases : forall s m k s', Inv s -> compress s m k = Done s' ->
  phase s = Active /\ blank m = false /\ to_cover s k <> [] /\
  ((exists t, child_covering s (new_parent s k) (to_cover s k) = Some t /\
    0 < t < next_summary s /\ parent_of s t = new_parent s k /\
    label (summary s t) = boundary s (new_parent s k) /\ covers (summary s t) = to_cover s k /\
    boundary s t = step_head s /\ s' = retexted s t m k) \/
   (child_covering s (new_parent s k) (to_cover s k) = None /\ s' = compressed s m k)).
Proof.
  intros s m k s' I E. unfold Machine.compress in E.
  destruct (phase s) eqn:P; try discriminate. split; [reflexivity|].
  destruct (to_cover s k) as [|x r] eqn:Seg; [discriminate|].
  rewrite <- Seg in E. assert (to_cover s k <> []) as Ne by (rewrite Seg; discriminate).
  rewrite <- Seg. clear Seg. destruct (blank m) eqn:B; [discriminate|]. split; [reflexivity|].
  split; [exact Ne|].
  destruct (child_covering s (new_parent s k) (to_cover s k)) as [t|] eqn:F; injection E as <-; [left|right; auto].
  exists t. destruct (child_covering_some F) as [Ht [Hp Hc]].
  destruct (inv_covers I Ht) as [_ [Hl _]]. rewrite Hp in Hl.
  assert (boundary s t = step_head s) by (unfold Machine.boundary; rewrite Hc; now apply to_cover_last).
  repeat (split; [assumption || reflexivity|]). reflexivity.
Qed.

Lemma retext_cases : forall s m s', retext s m = Done s' ->
  phase s <> Active /\ blank m = false /\
  s' = retexted s (summary_head s) m (kind (summary s (summary_head s))).
Proof.
  intros s m s' E. unfold Machine.retext in E.
  destruct (phase s) eqn:P; try discriminate; destruct (blank m) eqn:B; try discriminate;
    injection E as <-; repeat split; discriminate.
Qed.

Lemma apply_verdict_cases : forall s a d s', apply_verdict s a d = Done s' ->
  phase s = Unverified /\ d = digest s /\
  match a with
  | Pass => s' = judged s Passed
  | Fail f k o => known_origin s k o = true /\ blank f = false /\ s' = judged s (Failed f k o)
  end.
Proof using same_digest_spec.
  intros s a d s' E. unfold Machine.apply_verdict in E. destruct (phase s) eqn:P; try discriminate.
  destruct (same_digest d (digest s)) eqn:D; [|discriminate]. apply same_digest_spec in D.
  split; [reflexivity|]. split; [exact D|]. simpl in E. destruct a as [|f k o].
  - now injection E as <-.
  - destruct (known_origin s k o) eqn:O; [|discriminate]. split; [reflexivity|]. simpl in E.
    destruct (blank f) eqn:B; [discriminate|]. now injection E as <-.
Qed.

Lemma accept_cases : forall s s', accept s = Done s' ->
  phase s <> Active /\ s' = judged s (Accepted (despite (verdict (summary s (summary_head s))))).
Proof.
  intros s s' E. unfold Machine.accept in E.
  destruct (phase s) eqn:P; try discriminate; injection E as <-; split; (discriminate || reflexivity).
Qed.

Lemma revise_spec : forall s b l s', Inv s -> revise s b l = Done s' ->
  exists t, In t (way s (summary_head s)) /\ boundary s t = b /\
            (phase s = Rejected -> b < current_boundary s) /\
            s' = with_lesson (at_heads s b t) b l.
Proof.
  intros s b l s' I E. unfold Machine.revise in E.
  destruct (find _ (rev (targets s))) as [t|] eqn:F; [|discriminate]. injection E as <-.
  apply find_some in F as [Hin Hb]. apply Nat.eqb_eq in Hb. rewrite <- in_rev in Hin.
  apply in_targets in Hin as [Hin Hr]. rewrite Hb in Hr. exists t. repeat split; assumption.
Qed.
Lemma find_app : forall T (p : T -> bool) l r, (forall x, In x l -> p x = false) -> find p (l ++ r) = find p r.
Proof.
  intros T p l r. induction l as [|x l IH]; intro N; simpl; [reflexivity|].
  rewrite (N x) by now left. apply IH. intros y Hy. apply N. now right.
Qed.
(* what stands on the summary path is the nearest to the head that has its boundary *)
Lemma revise_to : forall s l t, Inv s -> In t (summary_path s (summary_head s)) ->
  (phase s = Rejected -> t <> summary_head s) ->
  revise s (boundary s t) l = Done (with_lesson (at_heads s (boundary s t) t) (boundary s t) l).
Proof.
  intros s l t I Hin Hr. unfold Machine.revise.
  assert (find (fun u => boundary s u =? boundary s t) (rev (targets s)) = Some t) as ->; [|reflexivity].
  destruct (way_below I (path_self _ (inv_parent I) _) Hin) as [d [Ed Hd]]. destruct (way_ends s t) as [w Ew].
  assert (exists w' d', targets s = (w' ++ [t]) ++ d' /\ incl d' d) as [w' [d' [-> Id]]].
  { unfold Machine.targets. rewrite Ed, Ew. destruct (phase s) eqn:P;
      try (exists w, d; split; [reflexivity|apply incl_refl]).
    assert (boundary s t < current_boundary s) as Lb
      by (apply (boundaries_rise I (inv_summary_head I) Hin); auto).
    rewrite !filter_app. simpl. apply Nat.ltb_lt in Lb. rewrite Lb. eexists _, _. split; [reflexivity|].
    intros x Hx. now apply filter_In in Hx. }
  rewrite !rev_app_distr. rewrite find_app.
  - simpl. now rewrite Nat.eqb_refl.
  - intros u Hu. rewrite <- in_rev in Hu. apply Id in Hu. pose proof (Hd u Hu). apply Nat.eqb_neq. lia.
Qed.

Lemma fold_makes : forall s n b m d s', fold s n b m d = Done s' ->
  phase s = Active /\ exists run, run_to_fold s n b = Some run /\ s' = with_chapter s (chapter_of s run m).
Proof.
  intros s n b m d s' E. unfold Machine.fold in E. destruct (phase s); try discriminate.
  split; [reflexivity|]. destruct (run_to_fold s n b) as [run|]; [|discriminate].
  destruct (blank m); [discriminate|]. destruct (negb _); [discriminate|]. injection E as <-. now exists run.
Qed.
Lemma fold_cases : forall s n b m d s', fold s n b m d = Done s' ->
  phase s = Active /\ blank m = false /\ exists run, run_to_fold s n b = Some run /\
  d = digest_of_fold (fold_question s run m) /\ s' = with_chapter s (chapter_of s run m).
Proof using same_digest_spec.
  intros s n b m d s' E. unfold Machine.fold in E. destruct (phase s); try discriminate.
  split; [reflexivity|]. destruct (run_to_fold s n b) as [run|]; [|discriminate].
  destruct (blank m); [discriminate|]. split; [reflexivity|].
  destruct (same_digest _ _) eqn:D; [|discriminate]. apply same_digest_spec in D. simpl in E.
  injection E as <-. exists run. auto.
Qed.

Lemma instruct_cases : forall s x s', instruct s x = Done s' ->
  phase s <> Rejected /\ blank (fst x) = false /\
  ((In x (instructions_at s (step_head s)) /\ s' = s) \/
   (~ In x (instructions_at s (step_head s)) /\ s' = with_instruction s x)).
Proof using same_spec.
  intros s x s' E. unfold Machine.instruct in E.
  assert (phase s <> Rejected) as P by (destruct (phase s); discriminate).
  assert ((if blank (fst x) then Refused BlankInstruction
           else if existsb (same_instruction x) (instructions_at s (step_head s)) then Done s
           else Done (with_instruction s x)) = Done s') as G
    by (destruct (phase s); assumption || discriminate).
  split; [exact P|]. destruct (blank (fst x)); [discriminate|]. split; [reflexivity|].
  destruct (existsb _ _) eqn:F; injection G as <-; [left|right]; (split; [|reflexivity]).
  - apply existsb_exists in F as [y [Hy F]]. apply same_instruction_spec in F. now subst y.
  - intro Hin. enough (existsb (same_instruction x) (instructions_at s (step_head s)) = true) by congruence.
    apply existsb_exists. exists x. split; [exact Hin|now apply same_instruction_spec].
Qed.
End Invariants.
