(* What a judge's question reads of a state: the summary's way, the steps on it, and the instructions above the
   summary's last step. Two states that agree on these ask the same. *)
From Coq Require Import List Arith Lia Bool Sorted.
From Mage Require Import Path Machine Invariants Lines Kept.
Import ListNotations.

Section Reading.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).

(* all that a judge is given: the question; C above the summary; what else was tried, and learned; where a mistake
   may have begun; and the steps, its own or all (D18) *)
Definition telling s n := (n, content (step s n)).
Definition request s t (since_root : bool) :=
  let '(continuations, subgoals, taught) := hints s t in
  (question s t, map (replaced nothing s) (lines_before s t),
   (map (telling s) continuations, map (fun u => (u, summary s u)) subgoals, taught),
   boundaries s t,
   map (telling s) (if since_root then steps_since_root s t else covers (summary s t))).

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
Definition asked_of (u : Summary Text) := (parent u, label u, covers u, text u, kind u, after u).
Lemma asked_parts : forall u v, asked_of u = asked_of v ->
  parent u = parent v /\ label u = label v /\ covers u = covers v /\ text u = text v /\ kind u = kind v /\
  after u = after v.
Proof. intros u v E. unfold asked_of in E. injection E. auto 7. Qed.

Lemma no_fallback_kept : forall s s' f t, Inv s ->
  (forall u, In u (summary_path s t) -> parent_of s' u = parent_of s u /\ kind (summary s' u) = kind (summary s u)) ->
  no_fallback s' f t = no_fallback s f t.
Proof.
  intros s s' f. induction f as [|f IH]; intros t I K; simpl; [reflexivity|].
  destruct (K t (path_self _ (inv_parent I) t)) as [P ->].
  destruct (kind (summary s t)) eqn:F; [reflexivity|]. rewrite P. apply IH; [exact I|]. intros u Hu. apply K.
  apply (path_of_parent I); auto. intros ->. rewrite (inv_root I) in F. discriminate.
Qed.
Lemma base_kept : forall s s' t, Inv s ->
  (forall u, In u (summary_path s t) -> parent_of s' u = parent_of s u /\ kind (summary s' u) = kind (summary s u)) ->
  base s' t = base s t.
Proof. intros s s' t I K. now apply no_fallback_kept. Qed.

Lemma base_boundary_on_path : forall s t, Inv s -> t < next_summary s ->
  In (boundary s (base s t)) (step_path s (boundary s t)).
Proof. intros s t I Ht. exact (boundary_on_path I Ht (base_on_path t I)). Qed.

(* what t took in stays so where t, and what it took in, keep what they were made from *)
Lemma earlier_kept : forall s s' t, Inv s -> Inv s' -> t < next_summary s -> (exists E, took_in nothing s t E) ->
  next_summary s <= next_summary s' ->
  (forall u, u < next_summary s -> parent_of s' u = parent_of s u) ->
  after_of s' t = after_of s t -> (forall u, In u (earlier s t) -> after_of s' u = after_of s u) ->
  earlier s' t = earlier s t.
Proof.
  intros s s' t I I' Lt [E T] Ln Pa At Ae. rewrite (earlier_is I T) in *. destruct T as [P [Fa [_ [La _]]]].
  assert (forall v, v < next_summary s -> summary_path s' v = summary_path s v) as Sp.
  { intros v Lv. apply path_ext; [apply I'|apply I|]. intros w Hw. apply Pa. lia. }
  assert (parent_of s t < next_summary s) as Lp.
  { destruct t as [|t]; [unfold Machine.parent_of; rewrite (inv_root I); simpl; exact Lt|].
    pose proof (inv_parent I (n := S t) ltac:(lia)). lia. }
  unfold Machine.earlier. rewrite At, (Pa t Lt). apply (walk_is_trace (parent_of s')); [apply I'| | |].
  - rewrite <- (Sp _ La), <- (Sp _ Lp) in P. exact P.
  - intros u Hu. rewrite (Ae u Hu). destruct (Fa u Hu) as [_ ->]. symmetry. apply Pa.
    assert (In u (summary_path s (after_of s t))) as Hp by (rewrite P; apply in_or_app; now right).
    pose proof (on_path_le I Hp). lia.
  - pose proof (path_length (parent_of s) (after_of s t) (inv_parent I)) as Le. unfold Machine.summary_path in P.
    rewrite P, app_length in Le. destruct (path_starts _ (inv_parent I) (parent_of s t)) as [l Hl].
    rewrite Hl in Le. simpl in Le. lia.
Qed.

(* ---- the instructions that a judge hears stand strictly above the summary's last step ---- *)
Lemma steps_to_boundary : forall s t, Inv s -> 0 < t < next_summary s ->
  let b := boundary s (base s (parent_of s t)) in
  step_path s (boundary s t) =
  (step_path s b ++ removelast (steps_after s b (boundary s t))) ++ [boundary s t].
Proof.
  intros s t I Ht b. pose proof (inv_parent I (n := t) ltac:(lia)) as D.
  pose proof (base_boundary_on_path I (t := parent_of s t) ltac:(lia)) as Hb. fold b in Hb.
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

Lemma heard_above : forall s t n, Inv s -> 0 < t < next_summary s ->
  let b := boundary s (base s (parent_of s t)) in
  In n (step_path s b ++ b :: removelast (steps_after s b (boundary s t))) -> n < boundary s t.
Proof.
  intros s t n I Ht b Hn. pose proof (steps_to_boundary I Ht) as E. fold b in E.
  pose proof (path_sorted _ (inv_above I) (boundary s t)) as So. unfold Machine.step_path in *.
  rewrite E in So. apply (sorted_app_lt (x := n) So); [|now left].
  apply in_or_app. apply in_app_or in Hn as [Hn|[<-|Hn]]; auto. left. apply path_self, I.
Qed.

(* ---- a question depends on the way, the steps and the instructions above the last one only ---- *)
Lemma known_steps : forall s u n, Inv s -> u < next_summary s -> In n (covers (summary s u)) -> n < next_step s.
Proof.
  intros s u n I Hu Hn. destruct u as [|u].
  - rewrite (inv_root I) in Hn. destruct Hn as [<-|[]]. apply I.
  - assert (In n (step_path s (boundary s (S u)))) as Hin.
    { destruct (inv_covers I (t := S u) ltac:(lia)) as [_ [_ ->]]. apply in_or_app. now right. }
    pose proof (path_le _ (inv_above I) _ _ Hin). pose proof (inv_boundary I Hu). unfold next_step in *. lia.
Qed.
Lemma told_by_kept : forall s s' u, Inv s -> u < next_summary s -> (exists l, steps s' = steps s ++ l) ->
  covers (summary s' u) = covers (summary s u) -> told_by s' u = told_by s u.
Proof.
  intros s s' u I Hu [l El] E. unfold Machine.told_by. rewrite E.
  apply map_ext_in. intros n Hn. do 2 f_equal. unfold Machine.step. rewrite El. apply app_nth1.
  exact (known_steps I Hu Hn).
Qed.

(* what stands above a summary on the way, and what it took in, is not that summary *)
Lemma above_on_way : forall s t u, Inv s -> In t (way s (summary_head s)) -> 0 < t ->
  In u (summary_path s (parent_of s t)) \/ In u (earlier s t) -> In u (way s t) /\ u <> t /\ u < next_summary s.
Proof.
  intros s t u I Ht H0 Hu. pose proof (way_lt I Ht) as Lt. destruct Hu as [Hu|Hu].
  - pose proof (on_path_le I Hu). pose proof (inv_parent I H0). split; [|lia].
    apply path_in_way, (path_of_parent I); [lia|exact Hu].
  - destruct (taken_in I Lt (took_in_on_way I Ht H0) H0 Hu) as [_ [_ [_ [Lu [Ne _]]]]].
    split; [|split; [exact Ne|apply Lu]]. apply in_way. exists t. split; [apply path_self, I|now left].
Qed.

Lemma question_kept : forall s s' t, Inv s -> Inv s' -> In t (way s (summary_head s)) -> 0 < t ->
  task s' = task s -> (exists l, steps s' = steps s ++ l) -> next_summary s <= next_summary s' ->
  (forall u, u < next_summary s -> shape (summary s' u) = shape (summary s u)) ->
  (forall u, In u (way s t) -> u <> t -> summary s' u = summary s u) ->
  asked_of (summary s' t) = asked_of (summary s t) ->
  (forall n, n < boundary s t -> instructions_at s' n = instructions_at s n) ->
  question s' t = question s t /\ earlier s' t = earlier s t /\ steps_since_root s' t = steps_since_root s t.
Proof.
  intros s s' t I I' Hw H0 Et Ex Ln Sh K Ka Ki. pose proof (way_lt I Hw) as Lt.
  destruct (asked_parts Ka) as [P [La [Co [Tx [Ki' Af]]]]].
  pose proof (inv_parent I H0) as D. pose proof (inv_boundary I Lt) as Lb.
  assert (forall u, In u (summary_path s (parent_of s t)) \/ In u (earlier s t) -> summary s' u = summary s u) as Ku.
  { intros u Hu. destruct (above_on_way I Hw H0 Hu) as [Huw [Ne _]]. now apply K. }
  assert (forall u, u < next_summary s -> parent_of s' u = parent_of s u) as Pa
    by (intros u Lu; now apply (shape_parts (Sh u Lu))).
  assert (earlier s' t = earlier s t) as Ee.
  { apply (earlier_kept I I' Lt (took_in_on_way I Hw H0) Ln Pa Af). intros u Hu.
    unfold Machine.after_of. now rewrite Ku by now right. }
  assert (summary_path s' (parent_of s t) = summary_path s (parent_of s t)) as Pp.
  { apply path_ext; [apply I'|apply I|]. intros w Hw'. apply Pa. lia. }
  assert (parent_of s' t = parent_of s t) as Pt by exact P.
  assert (boundary s' t = boundary s t) as Bt by (unfold Machine.boundary; now rewrite Co).
  split; [|split; [exact Ee|]].
  2: { unfold Machine.steps_since_root. rewrite Bt. now rewrite (step_path_kept I I' Lb Ex). }
  unfold Machine.question. rewrite Et, Tx, Ki', Ee. f_equal.
  - unfold Machine.instructions_judged. rewrite Bt, Pt.
    assert (base s' (parent_of s t) = base s (parent_of s t)) as ->.
    { apply (base_kept I). intros u Hu. unfold Machine.parent_of. now rewrite Ku by now left. }
    set (c := base s (parent_of s t)).
    assert (boundary s' c = boundary s c) as ->.
    { unfold Machine.boundary. rewrite Ku; [reflexivity|]. left. exact (base_on_path (parent_of s t) I). }
    set (b := boundary s c).
    assert (In b (step_path s (boundary s t))) as Hb.
    { rewrite (steps_to_boundary I (conj H0 Lt)). apply in_or_app. left. apply in_or_app. left. apply path_self, I. }
    pose proof (path_le _ (inv_above I) _ _ Hb) as Le.
    rewrite (steps_after_kept I I' (n := boundary s t)) by assumption.
    apply in_force_kept; [apply (step_path_kept I I'); auto; lia|].
    intros n Hn. apply Ki, (heard_above I (conj H0 Lt) Hn).
  - unfold Machine.before. rewrite Pt, Pp. apply map_ext_in. intros u Hu. unfold Machine.said.
    rewrite Ku; [reflexivity|]. left. destruct (summary_path s (parent_of s t)); [contradiction|now right].
  - apply (told_by_kept I); auto.
  - apply map_ext_in. intros u Hu. unfold Machine.boundary, Machine.said. now rewrite Ku by now right.
Qed.

(* where nothing of the summaries changed, nothing that is read of them alone did *)
Lemma same_way : forall s s' t, summaries s' = summaries s -> way s' t = way s t.
Proof.
  intros s s' t E. unfold Machine.way, Machine.earlier, Machine.summary_path, Machine.after_of, Machine.parent_of.
  unfold Machine.summary, Machine.next_summary. now rewrite E.
Qed.
Lemma way_kept : forall s s', Inv s -> Inv s' -> next_summary s <= next_summary s' ->
  (forall u, u < next_summary s -> parent_of s' u = parent_of s u) ->
  (forall u, In u (way s (summary_head s)) -> after_of s' u = after_of s u) ->
  way s' (summary_head s) = way s (summary_head s).
Proof.
  intros s s' I I' Ln Pa Aa. unfold Machine.way.
  assert (summary_path s' (summary_head s) = summary_path s (summary_head s)) as ->.
  { apply path_ext; [apply I'|apply I|]. intros w Hw. apply Pa. pose proof (inv_summary_head I). lia. }
  rewrite !flat_map_concat_map. f_equal. apply map_ext_in. intros u Hu. f_equal.
  destruct u as [|u]; [now rewrite (earlier_0 I), (earlier_0 I')|].
  apply (earlier_kept I I' (head_path_lt I Hu)); auto.
  - apply (inv_way I Hu). lia.
  - apply Aa, path_in_way, Hu.
  - intros v Hv. apply Aa, in_way. exists (S u). auto.
Qed.
Lemma since_base_on_path : forall s t u, Inv s -> In u (since_base s t) -> In u (summary_path s t).
Proof.
  intros s t u I Hu. pose proof (base_on_path t I) as Hb. unfold Machine.summary_path.
  rewrite (trace_spec _ (inv_parent I) _ _ Hb). apply in_or_app.
  destruct Hu as [<-|Hu]; [left; apply path_self, I|now right].
Qed.
End Reading.
