(* What a judge's request reads of a state: the summary path, the steps on it, and the instructions above the
   summary's last step. Two states that agree on these ask the same. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants Kept.
Import ListNotations.

Section Reading.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).

(* all that a judge is given: the question, the labels of the earlier texts, and the steps *)
Definition request s t (since_root : bool) :=
  (question s t, map (fun u => label (summary s u)) (earlier s t),
   map (fun n => (n, content (step s n))) (if since_root then steps_since_root s t else steps_judged s t)).

(* ---- reading one path gives the same in two states that agree on it ---- *)
Lemma steps_after_spec : forall s b n, Inv s -> In b (step_path s n) ->
  step_path s n = step_path s b ++ steps_after s b n.
Proof. intros s b n I Hb. apply trace_spec; [apply I|exact Hb]. Qed.

Lemma steps_after_kept : forall s s' b n, Inv s -> Inv s' -> n < next_step s ->
  (exists l, steps s' = steps s ++ l) -> In b (step_path s n) -> steps_after s' b n = steps_after s b n.
Proof.
  intros s s' b n I I' Hn Ex Hb. pose proof (path_le _ (inv_above I) _ _ Hb) as Le.
  apply (app_inv_head (step_path s b)). rewrite <- (steps_after_spec I Hb).
  rewrite <- (step_path_kept I I' Hn Ex).
  rewrite <- (step_path_kept I I' (n := b)) by (assumption || lia).
  symmetry. apply (steps_after_spec I'). now rewrite (step_path_kept I I' Hn Ex).
Qed.

Lemma in_removelast : forall T (l : list T) x, In x (removelast l) -> In x l.
Proof.
  intros T l x Hx. destruct l as [|y l] using rev_ind; [contradiction|].
  rewrite removelast_last in Hx. apply in_or_app. now left.
Qed.

Lemma placed_kept : forall s s' ns, (forall n, In n ns -> instructions_at s' n = instructions_at s n) ->
  placed s' ns = placed s ns.
Proof.
  intros s s' ns K. unfold placed. induction ns as [|n ns IH]; simpl; [reflexivity|].
  rewrite K by now left. f_equal. apply IH. intros m Hm. apply K. now right.
Qed.

Lemma instructions_at_snoc : forall s n x m, m <> n ->
  map snd (filter (fun y => fst y =? m) (instructions s ++ [(n, x)])) = instructions_at s m.
Proof.
  intros s n x m D. rewrite filter_app. simpl. destruct (Nat.eqb_spec n m); [congruence|].
  now rewrite app_nil_r.
Qed.

Lemma in_force_kept : forall s s' b ns, step_path s' b = step_path s b ->
  (forall n, In n (step_path s b ++ ns) -> instructions_at s' n = instructions_at s n) ->
  in_force s' b ns = in_force s b ns.
Proof.
  intros s s' b ns E K. unfold Machine.in_force. rewrite E.
  rewrite (placed_kept (s := s) (s' := s') (ns := removelast (step_path s b))).
  - rewrite (placed_kept (s := s) (s' := s') (ns := ns)); [reflexivity|].
    intros n Hn. apply K, in_or_app. now right.
  - intros n Hn. apply K, in_or_app. left. now apply in_removelast.
Qed.

(* all of a summary but its verdict *)
Definition asked_of (u : Summary Text) := (parent u, label u, covers u, text u, kind u).
Lemma asked_parts : forall u v, asked_of u = asked_of v ->
  parent u = parent v /\ label u = label v /\ covers u = covers v /\ text u = text v /\ kind u = kind v.
Proof. intros u v E. unfold asked_of in E. injection E. auto 6. Qed.

Lemma path_of_parent : forall s t u, Inv s -> t <> 0 -> In u (summary_path s (parent_of s t)) ->
  In u (summary_path s t).
Proof. intros s t u I Ht Hu. rewrite (path_of_child I) by lia. apply in_or_app. now left. Qed.

Lemma no_fallback_on_path : forall s f t, Inv s -> In (no_fallback s f t) (summary_path s t).
Proof.
  intros s f. induction f as [|f IH]; intros t I; simpl; [apply path_self, I|].
  destruct (kind (summary s t)) eqn:K; [apply path_self, I|].
  apply (path_of_parent I); [|now apply IH]. intros ->. rewrite (inv_root I) in K. discriminate.
Qed.

(* the way up is never longer than the id *)
Lemma no_fallback_is : forall s f t, Inv s -> t <= f -> kind (summary s (no_fallback s f t)) = Subgoal.
Proof.
  intros s f. induction f as [|f IH]; intros t I L; simpl.
  - assert (t = 0) as -> by lia. now rewrite (inv_root I).
  - destruct (kind (summary s t)) eqn:K; [exact K|]. apply IH; [exact I|].
    destruct t as [|t]; [rewrite (inv_root I) in K; discriminate|].
    pose proof (inv_parent I (n := S t) ltac:(lia)). unfold Machine.parent_of in *. lia.
Qed.

Lemma no_fallback_fuel : forall s t f, Inv s -> t <= f -> no_fallback s f t = no_fallback s t t.
Proof.
  intros s t f I. revert f. induction t as [t IH] using lt_wf_ind; intros f L.
  destruct t as [|t]; [destruct f; simpl; [reflexivity|now rewrite (inv_root I)]|].
  destruct f as [|f]; [lia|]. simpl. destruct (kind (summary s (S t))); [reflexivity|].
  pose proof (inv_parent I (n := S t) ltac:(lia)) as D.
  rewrite (IH _ D f) by lia. symmetry. apply IH; lia.
Qed.

(* the base of a fallback is that of its parent, of any other its own boundary *)
Lemma base_of : forall s t, Inv s -> base s t =
  match kind (summary s t) with Fallback => base s (parent_of s t) | Subgoal => boundary s t end.
Proof.
  intros s t I. unfold Machine.base. destruct t as [|t]; [now rewrite (inv_root I)|].
  simpl. destruct (kind (summary s (S t))); [reflexivity|].
  pose proof (inv_parent I (n := S t) ltac:(lia)). now rewrite no_fallback_fuel by (assumption || lia).
Qed.

Lemma base_on_path : forall s t, Inv s -> t < next_summary s -> In (base s t) (step_path s (boundary s t)).
Proof. intros s t I Ht. exact (boundary_on_path I Ht (no_fallback_on_path t t I)). Qed.

Lemma no_fallback_kept : forall s s' f t, Inv s ->
  (forall u, In u (summary_path s t) -> asked_of (summary s' u) = asked_of (summary s u)) ->
  no_fallback s' f t = no_fallback s f t.
Proof.
  intros s s' f. induction f as [|f IH]; intros t I K; simpl; [reflexivity|].
  destruct (asked_parts (K t (path_self _ (inv_parent I) t))) as [P [_ [_ [_ ->]]]].
  destruct (kind (summary s t)) eqn:F; [reflexivity|].
  unfold Machine.parent_of at 1. rewrite P. apply IH; [exact I|]. intros u Hu. apply K.
  apply (path_of_parent I); auto. intros ->. rewrite (inv_root I) in F. discriminate.
Qed.

Lemma base_kept : forall s s' t, Inv s ->
  (forall u, In u (summary_path s t) -> asked_of (summary s' u) = asked_of (summary s u)) ->
  base s' t = base s t.
Proof.
  intros s s' t I K. unfold Machine.base, Machine.boundary. rewrite (no_fallback_kept t I K).
  now destruct (asked_parts (K _ (no_fallback_on_path t t I))) as [_ [_ [-> _]]].
Qed.

Lemma fallbacks_on_path : forall s f t u, Inv s -> In u (fallbacks_upwards s f t) -> In u (summary_path s t).
Proof.
  intros s f. induction f as [|f IH]; intros t u I Hu; simpl in Hu; [contradiction|].
  destruct (kind (summary s t)) eqn:K; [contradiction|].
  apply in_app_or in Hu as [Hu|[<-|[]]]; [|apply path_self, I].
  apply (path_of_parent I); auto. intros ->. rewrite (inv_root I) in K. discriminate.
Qed.

Lemma fallbacks_kept : forall s s' f t, Inv s ->
  (forall u, In u (summary_path s t) -> asked_of (summary s' u) = asked_of (summary s u)) ->
  fallbacks_upwards s' f t = fallbacks_upwards s f t.
Proof.
  intros s s' f. induction f as [|f IH]; intros t I K; simpl; [reflexivity|].
  destruct (asked_parts (K t (path_self _ (inv_parent I) t))) as [P [_ [_ [_ ->]]]].
  destruct (kind (summary s t)) eqn:F; [reflexivity|].
  unfold Machine.parent_of at 1. rewrite P. f_equal. apply IH; [exact I|]. intros u Hu. apply K.
  apply (path_of_parent I); auto. intros ->. rewrite (inv_root I) in F. discriminate.
Qed.

Lemma earlier_on_path : forall s t u, Inv s -> 0 < t -> In u (earlier s t) ->
  In u (summary_path s (parent_of s t)).
Proof.
  intros s t u I Ht Hu. unfold Machine.earlier in Hu. destruct (kind (summary s t)); [|contradiction].
  now apply fallbacks_on_path in Hu.
Qed.

Lemma earlier_kept : forall s s' t, Inv s -> 0 < t ->
  (forall u, In u (summary_path s t) -> asked_of (summary s' u) = asked_of (summary s u)) ->
  earlier s' t = earlier s t.
Proof.
  intros s s' t I Ht K. unfold Machine.earlier.
  destruct (asked_parts (K t (path_self _ (inv_parent I) t))) as [P [_ [_ [_ ->]]]].
  destruct (kind (summary s t)); [|reflexivity].
  unfold Machine.parent_of at 1. rewrite P. apply fallbacks_kept; [exact I|].
  intros u Hu. apply K. apply (path_of_parent I); auto. lia.
Qed.

(* ---- the instructions that a judge hears stand strictly above the summary's last step ---- *)
Lemma steps_to_boundary : forall s t, Inv s -> 0 < t < next_summary s -> let b := base s (parent_of s t) in
  step_path s (boundary s t) =
  (step_path s b ++ removelast (steps_after s b (boundary s t))) ++ [boundary s t].
Proof.
  intros s t I Ht b. pose proof (inv_parent I (n := t) ltac:(lia)) as D.
  pose proof (base_on_path I (t := parent_of s t) ltac:(lia)) as Hb. fold b in Hb.
  pose proof (path_le _ (inv_above I) _ _ Hb) as Le. pose proof (boundary_above_parent I Ht) as Lt.
  assert (In b (step_path s (boundary s t))) as Hb'.
  { destruct (inv_covers I Ht) as [_ [_ ->]]. apply in_or_app. now left. }
  assert (steps_after s b (boundary s t) <> []) as Ne.
  { intro E. pose proof (steps_after_spec I Hb') as Sp. rewrite E, app_nil_r in Sp.
    apply (path_inj _ (inv_above I)) in Sp. lia. }
  rewrite (steps_after_spec I Hb') at 1. rewrite <- app_assoc. f_equal.
  rewrite (app_removelast_last 0 Ne) at 1. do 2 f_equal.
  exact (trace_last _ (inv_above I) _ _ Hb' Ne).
Qed.

Lemma heard_above : forall s t n, Inv s -> 0 < t < next_summary s -> let b := base s (parent_of s t) in
  In n (step_path s b ++ b :: removelast (steps_after s b (boundary s t))) -> n < boundary s t.
Proof.
  intros s t n I Ht b Hn. pose proof (steps_to_boundary I Ht) as E. fold b in E.
  pose proof (path_sorted _ (inv_above I) (boundary s t)) as So. unfold Machine.step_path in *.
  rewrite E in So. apply (sorted_app_lt (x := n) So); [|now left].
  apply in_or_app. apply in_app_or in Hn as [Hn|[<-|Hn]]; auto. left. apply path_self, I.
Qed.

(* ---- a request depends on the summary path, the steps and the instructions above the last one only ---- *)
Lemma told_by_kept : forall s s' u, Inv s -> u < next_summary s -> (exists l, steps s' = steps s ++ l) ->
  asked_of (summary s' u) = asked_of (summary s u) -> told_by s' u = told_by s u.
Proof.
  intros s s' u I Hu [l El] E. unfold Machine.told_by. destruct (asked_parts E) as [_ [_ [-> _]]].
  apply map_ext_in. intros n Hn. do 2 f_equal. unfold Machine.step. rewrite El. apply app_nth1.
  destruct u as [|u].
  - rewrite (inv_root I) in Hn. destruct Hn as [<-|[]]. apply I.
  - assert (In n (step_path s (boundary s (S u)))) as Hin.
    { destruct (inv_covers I (t := S u) ltac:(lia)) as [_ [_ ->]]. apply in_or_app. now right. }
    pose proof (path_le _ (inv_above I) _ _ Hin). pose proof (inv_boundary I Hu). unfold next_step in *. lia.
Qed.

Lemma question_kept : forall s s' t, Inv s -> Inv s' -> 0 < t < next_summary s ->
  task s' = task s -> (exists l, steps s' = steps s ++ l) ->
  (forall u, In u (summary_path s t) -> asked_of (summary s' u) = asked_of (summary s u)) ->
  (forall n, n < boundary s t -> instructions_at s' n = instructions_at s n) ->
  question s' t = question s t.
Proof.
  intros s s' t I I' Ht Et Ex K Ki. pose proof (path_self _ (inv_parent I) t) as Hself.
  destruct (asked_parts (K t Hself)) as [P [_ [Co [Tx Ki']]]].
  pose proof (inv_parent I (n := t) ltac:(lia)) as D. pose proof (inv_boundary I (t := t) ltac:(lia)) as Lb.
  assert (forall u, In u (summary_path s (parent_of s t)) -> asked_of (summary s' u) = asked_of (summary s u))
    as K' by (intros u Hu; apply K, (path_of_parent I); auto; lia).
  unfold Machine.question. rewrite Et, Tx, Ki', (earlier_kept I (t := t)) by (assumption || lia). f_equal.
  - unfold Machine.instructions_judged, Machine.boundary. rewrite Co. fold (boundary s t).
    assert (parent_of s' t = parent_of s t) as -> by exact P. rewrite (base_kept I K').
    set (b := base s (parent_of s t)).
    assert (In b (step_path s (boundary s t))) as Hb.
    { rewrite (steps_to_boundary I Ht). apply in_or_app. left. apply in_or_app. left. apply path_self, I. }
    pose proof (path_le _ (inv_above I) _ _ Hb) as Le.
    rewrite (steps_after_kept I I' (n := boundary s t)) by assumption.
    apply in_force_kept; [apply (step_path_kept I I'); auto; lia|].
    intros n Hn. apply Ki, (heard_above I Ht Hn).
  - apply (told_by_kept I); auto. lia.
  - apply map_ext_in. intros u Hu. apply (earlier_on_path I) in Hu; [|lia].
    pose proof (on_path_le I Hu). destruct (asked_parts (K' u Hu)) as [_ [_ [_ [-> _]]]].
    f_equal. apply (told_by_kept I); auto. lia.
Qed.

Lemma steps_judged_on_path : forall s t n, Inv s -> 0 < t < next_summary s -> In n (steps_judged s t) ->
  In n (step_path s (boundary s t)).
Proof.
  intros s t n I Ht Hn. rewrite <- (covers_to I) by lia.
  apply in_flat_map in Hn as [u [Hu Hn]]. apply in_flat_map. exists u. split; [|exact Hn].
  apply in_app_or in Hu as [Hu|[<-|[]]]; [|apply path_self, I].
  apply path_of_parent; auto; [lia|]. apply (earlier_on_path I); [lia|assumption].
Qed.

Lemma request_kept : forall s s' t since_root, Inv s -> Inv s' -> 0 < t < next_summary s ->
  task s' = task s -> (exists l, steps s' = steps s ++ l) ->
  (forall u, In u (summary_path s t) -> asked_of (summary s' u) = asked_of (summary s u)) ->
  (forall n, n < boundary s t -> instructions_at s' n = instructions_at s n) ->
  request s' t since_root = request s t since_root.
Proof.
  intros s s' t since I I' Ht Et Ex K Ki. pose proof (inv_boundary I (t := t) ltac:(lia)) as Lb.
  assert (forall u, In u (earlier s t ++ [t]) -> asked_of (summary s' u) = asked_of (summary s u)) as Ke.
  { intros u Hu. apply K. apply in_app_or in Hu as [Hu|[<-|[]]]; [|apply path_self, I].
    apply path_of_parent; auto; [lia|]. apply (earlier_on_path I); [lia|assumption]. }
  assert (boundary s' t = boundary s t) as Bt.
  { unfold Machine.boundary.
    now destruct (asked_parts (K t (path_self _ (inv_parent I) t))) as [_ [_ [-> _]]]. }
  unfold request. rewrite (question_kept I I') by assumption.
  unfold steps_since_root, steps_judged. rewrite Bt, (earlier_kept I) by (assumption || lia).
  f_equal; [f_equal|].
  - apply map_ext_in. intros u Hu.
    now destruct (asked_parts (Ke u (in_or_app _ _ _ (or_introl Hu)))) as [_ [-> _]].
  - rewrite (step_path_kept I I' Lb Ex).
    assert (flat_map (fun u => covers (summary s' u)) (earlier s t ++ [t]) = steps_judged s t) as ->.
    { unfold Machine.steps_judged. rewrite !flat_map_concat_map. f_equal. apply map_ext_in. intros u Hu.
      now destruct (asked_parts (Ke u Hu)) as [_ [_ [-> _]]]. }
    fold (steps_judged s t). apply map_ext_in. intros n Hn. do 2 f_equal.
    destruct Ex as [l El]. unfold Machine.step. rewrite El. apply app_nth1. fold (next_step s).
    assert (In n (step_path s (boundary s t))) as Hin.
    { destruct since; [|now apply (steps_judged_on_path I)].
      destruct (step_path s (boundary s t)); [contradiction|now right]. }
    pose proof (path_le _ (inv_above I) _ _ Hin). lia.
Qed.
End Reading.
