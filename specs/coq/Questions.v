(* D5: what is asked of the judge stands while it thinks, an answer meets its own question, and no verdict is
   inherited by what has changed since. *)
From Coq Require Import List Arith Lia Bool.
From Mage Require Import Path Machine Invariants Kept Reading.
Import ListNotations.

Section Questions.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).
Notation request := (Reading.request nothing).

(* ---- what an operation leaves alone ---- *)
Definition grows_from s s' := task s' = task s /\ (exists l, steps s' = steps s ++ l) /\
  (forall n, n <> step_head s -> instructions_at s' n = instructions_at s n).
Lemma every_operation_grows : forall s c s', Inv s -> exec s c = Done s' -> grows_from s s'.
Proof using same_spec.
  intros s c s' I E. assert (forall s', task s' = task s -> steps s' = steps s ->
    instructions s' = instructions s -> grows_from s s') as Easy.
  { intros r Et Es Ei. split; [exact Et|]. split; [exists []; now rewrite app_nil_r|].
    intros n _. unfold instructions_at. now rewrite Ei. }
  destruct c; simpl in E.
  - destruct (instruct_cases same_spec E) as [_ [_ [[_ ->]|[_ ->]]]]; [now apply Easy|].
    split; [reflexivity|]. split; [exists []; now rewrite app_nil_r|].
    intros n D. now apply instructions_at_snoc.
  - destruct (grow_cases same_spec I E) as [_ [[n [_ [_ [_ [_ ->]]]]]|[_ ->]]]; [now apply Easy|].
    split; [reflexivity|]. split; [eexists; reflexivity|reflexivity].
  - destruct (compress_cases I E) as [_ [_ [[_ [_ [_ [_ ->]]]]|[[_ [t [_ [_ [_ [_ [_ [_ [_ ->]]]]]]]]]|
      [_ [_ ->]]]]]]; try rewrite retexted_is by exact I; now apply Easy.
  - destruct (retext_cases E) as [_ [_ ->]]. rewrite retexted_is by exact I. now apply Easy.
  - unfold Machine.apply_verdict in E. destruct (phase s); try discriminate.
    destruct (negb _); [discriminate|]. destruct a as [|f k]; [|destruct (blank f); [discriminate|]];
      injection E as <-; now apply Easy.
  - destruct (accept_cases E) as [_ ->]. now apply Easy.
  - destruct (revise_spec I E) as [t [_ [_ [_ ->]]]]. rewrite with_lesson_is. now apply Easy.
Qed.

Lemma retexted_phase : forall s t m k, Inv s -> t < next_summary s -> phase (retexted s t m k) = Unverified.
Proof.
  intros s t m k I Lt. rewrite retexted_is by exact I.
  unfold Machine.phase, Machine.summary. simpl. now rewrite nth_upd_same.
Qed.
Lemma compressed_phase : forall s m k, phase (Invariants.compressed nothing s m k) = Unverified.
Proof. intros s m k. unfold Machine.phase. simpl. now rewrite new_summary. Qed.

(* ---- D5 ---- *)
(* question_stands: grow, instruct and dropping the open segment do not change what the judge is asked *)
Theorem question_stands : forall s c s', reachable s -> phase s = Unverified -> exec s c = Done s' ->
  match c with Grow _ | Instruct _ => True | Revise b _ => b = current_boundary s | _ => False end ->
  phase s' = Unverified /\ summary_head s' = summary_head s /\ digest s' = digest s /\
  forall since_root, request s' (summary_head s') since_root = request s (summary_head s) since_root.
Proof using same_spec.
  intros s c s' Re P E Hc. pose proof (reachable_inv same_spec Re) as I.
  pose proof (every_operation_keeps_the_invariants same_spec I E) as I'.
  destruct (every_operation_grows I E) as [Et [Ex Ki]]. pose proof (inv_summary_head I) as Lh.
  assert (summaries s' = summaries s /\ summary_head s' = summary_head s) as [Eu Eh].
  { destruct c; try contradiction; simpl in E.
    - destruct (instruct_cases same_spec E) as [_ [_ [[_ ->]|[_ ->]]]]; now split.
    - destruct (grow_cases same_spec I E) as [_ [[n [_ [_ [_ [_ ->]]]]]|[_ ->]]]; now split.
    - destruct (revise_spec I E) as [t [Hin [Hb [_ ->]]]]. rewrite with_lesson_is. simpl.
      split; [reflexivity|].
      apply (target_unique I Hin); [apply path_self, I|]. now rewrite Hb. }
  assert (0 < summary_head s) as H0 by (apply (head_not_root I); congruence).
  assert (forall t, summary s' t = summary s t) as Su by (intro; unfold Machine.summary; now rewrite Eu).
  assert (forall n, n < boundary s (summary_head s) -> instructions_at s' n = instructions_at s n) as Ki'.
  { intros n Hn. apply Ki. pose proof (path_le _ (inv_above I) _ _ (inv_heads I)).
    unfold Machine.current_boundary in *. lia. }
  rewrite Eh. split; [unfold Machine.phase; now rewrite Eh, Su|]. split; [reflexivity|]. split.
  - unfold Machine.digest. rewrite Eh. f_equal. apply (question_kept I I'); auto. intros u _. now rewrite Su.
  - intro since. apply (request_kept since I I'); auto. intros u _. now rewrite Su.
Qed.

(* question_says_all: what the digest is over says all that the judge is given, but for labels (which are in
   the ids of the covers) and, for D18, the steps since the root *)
Theorem question_says_all : forall s t, let q := question s t in
  asked_task q = task s /\ asked_instructions q = instructions_judged s t /\
  asked_kind q = kind (summary s t) /\ asked_summary q = t /\ asked_text q = text (summary s t) /\
  map fst (asked_earlier q) = map (fun u => text (summary s u)) (earlier s t) /\
  concat (map snd (asked_earlier q)) ++ asked_covers q =
    map (fun n => (n, content (step s n))) (steps_judged s t).
Proof.
  intros s t q. do 5 (split; [reflexivity|]). unfold q, Machine.question. simpl. rewrite !map_map. split.
  - now apply map_ext.
  - unfold Machine.steps_judged. rewrite flat_map_app, map_app. simpl. rewrite app_nil_r. f_equal.
    rewrite flat_map_concat_map, concat_map, map_map. now f_equal.
Qed.

(* these two questions do not share a digest. That no two of all questions do would be too much to ask: there are
   more questions than digests of 256 bits, so what is proved from it would say nothing of SHA-256 *)
Definition no_collision (p q : Question Text) := digest_of p = digest_of q -> p = q.

(* an_answer_meets_its_question: a verdict is taken only with the digest of what is asked now. So an answer to
   another question is never taken, unless these two collide *)
Theorem an_answer_meets_its_question : forall s a d s', apply_verdict s a d = Done s' ->
  phase s = Unverified /\ d = digest s /\ summary_head s' = summary_head s /\
  forall asked, d = digest_of asked -> no_collision asked (question s (summary_head s)) ->
  asked = question s (summary_head s).
Proof using same_digest_spec.
  intros s a d s' E. destruct (apply_verdict_cases same_digest_spec E) as [P [D Cs]].
  split; [exact P|]. split; [exact D|]. split.
  - destruct a; [|destruct Cs as [_ Cs]]; now rewrite Cs.
  - intros asked Ea No. apply No. rewrite <- Ea. exact D.
Qed.

(* an_overtaken_answer_is_refused: one to another question, in whatever phase (where these two do not collide) *)
Theorem an_overtaken_answer_is_refused : forall s a asked,
  no_collision asked (question s (summary_head s)) ->
  phase s <> Unverified \/ asked <> question s (summary_head s) ->
  apply_verdict s a (digest_of asked) = Refused (StaleVerdict (expected s)).
Proof using same_digest_spec.
  intros s a asked No Hs. unfold Machine.apply_verdict, Machine.expected.
  destruct (phase s) eqn:P; try reflexivity. destruct Hs as [Hs|Hs]; [congruence|].
  destruct (same_digest (digest_of asked) (digest s)) eqn:E; [|reflexivity].
  apply same_digest_spec, No in E. contradiction.
Qed.

(* a_new_text_overtakes: once a summary has another text, or was made a subgoal (D12), an answer to the old
   question is refused (where the old and the new one do not collide) *)
Theorem a_new_text_overtakes : forall s m k s' a, reachable s -> retext s m k = Done s' ->
  no_collision (question s (summary_head s)) (question s' (summary_head s')) ->
  text (summary s' (summary_head s')) <> text (summary s (summary_head s)) \/
  kind (summary s' (summary_head s')) <> kind (summary s (summary_head s)) ->
  apply_verdict s' a (digest s) = Refused (StaleVerdict (Some (digest s'))).
Proof using same_spec same_digest_spec.
  intros s m k s' a Re E No D. pose proof (reachable_inv same_spec Re) as I.
  pose proof (inv_summary_head I) as Lh.
  assert (phase s' = Unverified) as P by (destruct (retext_cases E) as [_ [_ ->]]; now apply retexted_phase).
  assert (expected s' = Some (digest s')) as <- by (unfold Machine.expected; now rewrite P).
  apply an_overtaken_answer_is_refused; [exact No|]. right. intro Eq.
  pose proof (f_equal (@asked_text Text) Eq). pose proof (f_equal (@asked_kind Text) Eq). simpl in *.
  destruct D; congruence.
Qed.

(* ---- no verdict is inherited ---- *)
(* whatever is on the summary path after an operation and is not its head was on it before *)
Lemma path_was_there : forall s c s' t, Inv s -> exec s c = Done s' ->
  In t (summary_path s' (summary_head s')) ->
  In t (summary_path s (summary_head s)) \/ (t = summary_head s' /\ phase s' = Unverified).
Proof using same_spec.
  intros s c s' t I E Hin. pose proof (every_operation_keeps_the_invariants same_spec I E) as I'.
  pose proof (inv_summary_head I) as Lh.
  assert (forall f u, (forall x, shape (f x) = shape x) -> summary_head s' = u -> u < next_summary s ->
          summaries s' = upd (summaries s) u f -> summary_path s' u = summary_path s u) as Upd.
  { intros f u K Eu Lu Es.
    assert (forall v, summary s' v = summary (changed_summary s u f) v) as Su
      by (intro v; unfold Machine.summary; now rewrite Es).
    apply (same_shapes I). intro v. rewrite Su. now apply changed_shape. }
  assert (forall u m k, s' = retexted s u m k -> u < next_summary s ->
          summary_path s' u = summary_path s u /\ summary_head s' = u /\ phase s' = Unverified) as Ret.
  { intros u m k Er Lu. rewrite (retexted_is u m k I) in Er. split; [|split; [now rewrite Er|]].
    - apply (Upd (set_text m k)); auto; now rewrite Er.
    - unfold Machine.phase. rewrite Er. unfold Machine.summary. simpl. now rewrite nth_upd_same. }
  assert (forall v, s' = judged s v ->
          summary_path s' (summary_head s') = summary_path s (summary_head s)) as Ju.
  { intros v Ej. assert (summary_head s' = summary_head s) as Eh by now rewrite Ej.
    rewrite Eh. apply (Upd (set_verdict v)); auto; now rewrite Ej. }
  destruct c; simpl in E.
  - left. destruct (instruct_cases same_spec E) as [_ [_ [[_ ->]|[_ ->]]]]; exact Hin.
  - left. destruct (grow_cases same_spec I E) as [_ [[n [_ [_ [_ [_ ->]]]]]|[_ ->]]]; exact Hin.
  - destruct (compress_cases I E) as [_ [_ [[_ [_ [_ [_ Er]]]]|[[_ [u [_ [Hu [Hp [_ [_ [_ [_ Er]]]]]]]]]|
      [_ [_ Er]]]]]].
    + destruct (Ret _ _ _ Er Lh) as [Ep [Eh _]]. left. now rewrite Eh, Ep in Hin.
    + destruct (Ret _ _ _ Er ltac:(lia)) as [Ep [Eh Ph]]. rewrite Eh, Ep, (path_of_child I), Hp in Hin by lia.
      apply in_app_or in Hin as [Hin|[<-|[]]]; auto.
    + pose proof (new_summary nothing s m k) as New.
      pose proof (compressed_path m k (t := summary_head s) I Lh) as Ep.
      rewrite <- Er in *. assert (summary_head s' = next_summary s) as Eh by (now rewrite Er).
      rewrite Eh in *. rewrite (path_of_child I') in Hin by lia. unfold Machine.parent_of in Hin.
      rewrite New in Hin. simpl in Hin. rewrite Ep in Hin.
      apply in_app_or in Hin as [Hin|[<-|[]]]; [now left|right]. split; [reflexivity|].
      unfold Machine.phase. now rewrite Eh, New.
  - destruct (retext_cases E) as [_ [_ Er]]. destruct (Ret _ _ _ Er Lh) as [Ep [Eh _]].
    left. now rewrite Eh, Ep in Hin.
  - left. unfold Machine.apply_verdict in E. destruct (phase s); try discriminate.
    destruct (negb _); [discriminate|]. destruct a as [|f k]; [|destruct (blank f); [discriminate|]];
      injection E as E; now rewrite (Ju _ (eq_sym E)) in Hin.
  - left. destruct (accept_cases E) as [_ Ej]. now rewrite (Ju _ Ej) in Hin.
  - left. destruct (revise_spec I E) as [u [Hu [_ [_ Er]]]]. rewrite with_lesson_is in Er. rewrite Er in Hin.
    simpl in Hin. destruct (path_prefix _ (inv_parent I) _ _ Hu) as [d Hd].
    unfold Machine.summary_path. rewrite Hd. apply in_or_app. now left.
Qed.

Lemma other_summaries_stand : forall s c s' u, Inv s -> exec s c = Done s' ->
  u < next_summary s -> u <> summary_head s' -> summary s' u = summary s u.
Proof using same_spec.
  intros s c s' u I E Lu.
  assert (forall t m k, s' = retexted s t m k -> u <> summary_head s' -> summary s' u = summary s u) as Ret.
  { intros t m k Er. rewrite (retexted_is t m k I) in Er. rewrite Er. simpl. intro D.
    change (summary (changed_summary s t (set_text m k)) u = summary s u). now apply changed_other. }
  assert (forall v, s' = judged s v -> u <> summary_head s' -> summary s' u = summary s u) as Ju.
  { intros v -> D. now apply changed_other. }
  destruct c; simpl in E.
  - destruct (instruct_cases same_spec E) as [_ [_ [[_ ->]|[_ ->]]]]; reflexivity.
  - destruct (grow_cases same_spec I E) as [_ [[n [_ [_ [_ [_ ->]]]]]|[_ ->]]]; reflexivity.
  - destruct (compress_cases I E) as [_ [_ [[_ [_ [_ [_ Er]]]]|[[_ [t [_ [_ [_ [_ [_ [_ [_ Er]]]]]]]]]|
      [_ [_ ->]]]]]]; [eauto|eauto|]. intros _. now apply old_summary.
  - destruct (retext_cases E) as [_ [_ Er]]. eauto.
  - unfold Machine.apply_verdict in E. destruct (phase s); try discriminate.
    destruct (negb _); [discriminate|]. destruct a as [|f k]; [|destruct (blank f); [discriminate|]];
      injection E as E; eauto.
  - destruct (accept_cases E) as [_ Er]. eauto.
  - destruct (revise_spec I E) as [t [_ [_ [_ ->]]]]. rewrite with_lesson_is. reflexivity.
Qed.

Lemma active_after : forall s c s' u, Inv s -> exec s c = Done s' -> phase s' = Active ->
  summary s' u = summary s u \/
  (u = summary_head s /\ asked_of (summary s' u) = asked_of (summary s u) /\
   (c = Accept \/ c = ApplyVerdict Pass (digest s))).
Proof using same_spec same_digest_spec.
  intros s c s' u I E P. pose proof (inv_summary_head I) as Lh.
  assert (forall v, s' = judged s v -> summary s' u = summary s u \/
          u = summary_head s /\ asked_of (summary s' u) = asked_of (summary s u)) as Ju.
  { intros v ->. destruct (Nat.eq_dec u (summary_head s)) as [->|D];
      [right|left; now apply changed_other]. split; [reflexivity|]. unfold judged. now rewrite changed_same. }
  destruct c; simpl in E.
  - left. destruct (instruct_cases same_spec E) as [_ [_ [[_ ->]|[_ ->]]]]; reflexivity.
  - left. destruct (grow_cases same_spec I E) as [_ [[n [_ [_ [_ [_ ->]]]]]|[_ ->]]]; reflexivity.
  - exfalso. destruct (compress_cases I E) as [_ [_ [[_ [_ [_ [_ ->]]]]|
      [[_ [t [_ [Ht [_ [_ [_ [_ [_ ->]]]]]]]]]|[_ [_ ->]]]]]];
      rewrite ?retexted_phase, ?compressed_phase in P by (assumption || lia); discriminate.
  - exfalso. destruct (retext_cases E) as [_ [_ ->]]. rewrite retexted_phase in P by assumption. discriminate.
  - destruct (apply_verdict_cases same_digest_spec E) as [_ [-> Cs]]. destruct a as [|f k].
    + destruct (Ju _ Cs) as [|[-> Eq]]; auto 6.
    + exfalso. destruct Cs as [_ ->]. unfold Machine.phase, judged in P. simpl in P.
      now rewrite changed_same in P.
  - destruct (accept_cases E) as [_ Cs]. destruct (Ju _ Cs) as [|[-> Eq]]; auto 6.
  - left. destruct (revise_spec I E) as [t [_ [_ [_ ->]]]]. rewrite with_lesson_is. reflexivity.
Qed.

(* trust_is_current: what is trusted on the summary path was on it before, is asked about in the same words
   as before, and is what it was, unless this very operation passed or accepted it *)
Theorem trust_is_current : forall s c s' t, reachable s -> exec s c = Done s' ->
  In t (summary_path s' (summary_head s')) -> t <> 0 -> trusted (verdict (summary s' t)) = true ->
  In t (summary_path s (summary_head s)) /\
  (forall since_root, request s' t since_root = request s t since_root) /\
  (summary s' t = summary s t \/
   t = summary_head s /\ (c = Accept \/ c = ApplyVerdict Pass (digest s))).
Proof using same_spec same_digest_spec.
  intros s c s' t Re E Hin H0 Tr. pose proof (reachable_inv same_spec Re) as I.
  pose proof (every_operation_keeps_the_invariants same_spec I E) as I'.
  destruct (every_operation_grows I E) as [Et [Ex Ki]]. pose proof (inv_summary_head I) as Lh.
  assert (t = summary_head s' -> phase s' = Active) as Ph.
  { intros Eq. apply trusted_spec in Tr. unfold Machine.phase. now rewrite <- Eq. }
  assert (In t (summary_path s (summary_head s))) as Hold.
  { destruct (path_was_there I E Hin) as [|[Eq P]]; [assumption|]. rewrite (Ph Eq) in P. discriminate. }
  pose proof (on_path_le I Hold) as Lt. pose proof (on_path_le I' Hin) as Lt'.
  split; [exact Hold|]. split.
  - intro since. apply (request_kept since I I'); auto; [lia| |].
    + intros u Hu. pose proof (on_path_le I Hu) as Le.
      destruct (Nat.eq_dec u (summary_head s')) as [Eq|D].
      * destruct (active_after u I E) as [->|[_ [A _]]]; [apply Ph; lia|reflexivity|exact A].
      * now rewrite (other_summaries_stand I E (u := u)) by (assumption || lia).
    + intros n Hn. apply Ki. pose proof (boundary_on_path I Lh Hold) as Hb.
      pose proof (path_le _ (inv_above I) _ _ Hb). pose proof (path_le _ (inv_above I) _ _ (inv_heads I)).
      unfold Machine.current_boundary in *. lia.
  - destruct (Nat.eq_dec t (summary_head s')) as [Eq|D].
    + destruct (active_after t I E (Ph Eq)) as [|[A [_ B]]]; auto.
    + left. apply (other_summaries_stand I E); [lia|exact D].
Qed.

(* no_verdict_is_inherited: over a whole history, what is trusted on the summary path was itself passed or
   accepted there, by a command that answered exactly what would be asked of it now *)
Theorem no_verdict_is_inherited : forall task cs t, let now := run (start task) cs in
  In t (summary_path now (summary_head now)) -> t <> 0 -> trusted (verdict (summary now t)) = true ->
  exists before c later, cs = before ++ c :: later /\ let was := run (start task) before in
    summary_head was = t /\ phase was <> Active /\
    (c = ApplyVerdict Pass (digest was) \/ c = Accept) /\
    summary now t = summary (after was c) t /\
    forall since_root, request now t since_root = request was t since_root.
Proof using same_spec same_digest_spec.
  intros task0 cs t. induction cs as [|c cs IH] using rev_ind; intros now Hin H0 Tr; subst now.
  - exfalso. destruct Hin as [E|[]]. now apply H0.
  - rewrite run_snoc in *. set (s := run (start task0) cs) in *.
    assert (reachable s) as Re by (exists task0, cs; reflexivity).
    destruct (exec s c) as [s'|why] eqn:E.
    + pose proof (after_done E) as Af. rewrite Af in *.
      destruct (trust_is_current Re E Hin H0 Tr) as [Hold [Rq [Su|[Eq C]]]].
      * rewrite Su in Tr. destruct (IH Hold H0 Tr) as [b [c' [l [-> [Eh [P [C [Su' Rq']]]]]]]].
        exists b, c', (l ++ [c]). rewrite <- app_assoc. repeat split; auto; [congruence|].
        intro since. now rewrite Rq, Rq'.
      * exists cs, c, []. cbv zeta. fold s. rewrite Af. repeat split; auto; [|tauto].
        intro P. destruct C as [->| ->]; simpl in E; unfold Machine.accept, Machine.apply_verdict in E;
          rewrite P in E; discriminate.
    + rewrite (after_refused E) in *. destruct (IH Hin H0 Tr) as [b [c' [l [-> Rest]]]].
      exists b, c', (l ++ [c]). rewrite <- app_assoc. now split.
Qed.
End Questions.
