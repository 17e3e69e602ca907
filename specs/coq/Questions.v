(* D5: what is asked of the judge stands while it thinks, an answer meets its own question, and no verdict is
   inherited by what has changed since. *)
From Coq Require Import List Arith Lia Bool.
From Mage Require Import Path Machine Invariants Lines Kept Refusals Lost Laws Phases Changes Reading.
Import ListNotations.

Section Questions.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).
Notation request := (Reading.request nothing).
Notation telling := (Reading.telling nothing).
Notation new_after := (Invariants.new_after nothing).

(* ---- what an operation leaves alone ---- *)
Definition grows_from s s' := task s' = task s /\ (exists l, steps s' = steps s ++ l) /\
  (forall n, n <> step_head s -> instructions_at s' n = instructions_at s n).
Lemma every_operation_grows : forall s c s', reachable s -> exec s c = Done s' -> grows_from s s'.
Proof using same_spec same_digest_spec.
  intros s c s' Re E. pose proof (changes_are_local same_spec same_digest_spec Re E) as Lo.
  assert (forall s', task s' = task s -> steps s' = steps s ->
    instructions s' = instructions s -> grows_from s s') as Easy.
  { intros r Et Es Ei. split; [exact Et|]. split; [exists []; now rewrite app_nil_r|].
    intros n _. unfold instructions_at. now rewrite Ei. }
  destruct c as [x|c|m k|m|a d| |b l|n b m d];
    try (destruct Lo as [[Et [Es [_ [Ei _]]]] _]; now apply Easy).
  - destruct Lo as [more [[->| ->] ->]]; [now apply Easy; try rewrite app_nil_r|].
    split; [reflexivity|]. split; [exists []; now rewrite app_nil_r|].
    intros n D. now apply instructions_at_snoc.
  - destruct Lo as [more [_ ->]]. split; [reflexivity|]. split; [exists more; reflexivity|reflexivity].
  - destruct Lo as [more [_ ->]]. now apply Easy.
  - destruct Lo as [h [_ [_ ->]]]. now apply Easy.
Qed.

(* ---- D5 ---- *)
Lemma numbered_snoc : forall T (x y : T) l, numbered (x :: l ++ [y]) = numbered (x :: l) ++ [(S (length l), y)].
Proof.
  intros T x y l. unfold numbered. simpl. rewrite app_length, !Nat.sub_0_r. simpl.
  rewrite Nat.add_1_r. rewrite seq_S.
  enough (forall l i, combine (seq i (length l) ++ [i + length l]) (l ++ [y]) =
          combine (seq i (length l)) l ++ [(i + length l, y)]) as G by apply (G l 1).
  clear. induction l as [|a l IH]; intro i; simpl; [now rewrite Nat.add_0_r|]. f_equal.
  replace (i + S (length l)) with (S i + length l) by lia. apply IH.
Qed.

(* the places that hints tell of lie above the summary's own boundary *)
Lemma hints_are_above : forall s t b, Inv s -> In t (way s (summary_head s)) -> 0 < t ->
  b = label (summary s t) \/ In b (map (boundary s) (other_earlier s t)) \/
  In b (map (boundary s) (since_base s (parent_of s t))) -> b < boundary s t.
Proof.
  intros s t b I Hw H0 Hb. pose proof (way_lt I Hw) as Lt. pose proof (inv_parent I H0) as D.
  pose proof (boundary_above_parent I (conj H0 Lt)) as Lp.
  destruct Hb as [->|[Hb|Hb]].
  - destruct (inv_covers I (conj H0 Lt)) as [_ [-> _]]. exact Lp.
  - apply in_map_iff in Hb as [u [<- Hu]]. apply filter_In in Hu as [Hu N].
    apply negb_true_iff, Nat.eqb_neq in N.
    destruct (taken_in I Lt (took_in_on_way I Hw H0) H0 Hu) as [_ [_ [_ [_ [_ [B _]]]]]]. lia.
  - apply in_map_iff in Hb as [u [<- Hu]]. apply (since_base_on_path I) in Hu.
    pose proof (boundary_on_path I (n := parent_of s t) ltac:(lia) Hu) as Hp.
    pose proof (path_le _ (inv_above I) _ _ Hp). lia.
Qed.

Lemma lessons_of_kept : forall s s' bs, (forall b, In b bs -> lessons_at s' b = lessons_at s b) ->
  lessons_of s' bs = lessons_of s bs.
Proof.
  intros s s' bs K. unfold Machine.lessons_of. induction bs as [|b bs IH]; simpl; [reflexivity|].
  rewrite K by now left. f_equal. apply IH. intros c Hc. apply K. now right.
Qed.

(* question_stands: grow, instruct and dropping the open segment do not change what the judge is asked: neither
   the question nor what goes with it *)
Theorem question_stands : forall s c s', reachable s -> phase s = Unverified -> exec s c = Done s' ->
  match c with Grow _ | Instruct _ => True | Revise b _ => b = current_boundary s | _ => False end ->
  phase s' = Unverified /\ summary_head s' = summary_head s /\ digest s' = digest s /\
  forall since_root, request s' (summary_head s') since_root = request s (summary_head s) since_root.
Proof using same_spec same_digest_spec.
  intros s c s' Re P E Hc. pose proof (reachable_inv same_spec Re) as I.
  pose proof (every_operation_keeps_the_invariants same_spec I E) as I'.
  destruct (every_operation_grows Re E) as [Et [Ex Ki]]. pose proof (inv_summary_head I) as Lh.
  pose proof (phases_are_as_said same_spec same_digest_spec Re E) as Ph.
  pose proof (changes_are_local same_spec same_digest_spec Re E) as Lo.
  set (t := summary_head s) in *.
  assert (phase s <> Active) as Na by congruence. pose proof (head_not_root I Na) as H0. fold t in H0.
  assert (In t (way s (summary_head s))) as Hw by (apply path_in_way, path_self, I).
  pose proof (path_le _ (inv_above I) _ _ (inv_heads I)) as Lb. unfold Machine.current_boundary in Lb. fold t in Lb.
  assert (summaries s' = summaries s /\ summary_head s' = t /\ chapters s' = chapters s /\
          (exists more, steps s' = steps s ++ more /\ (more = [] \/ exists c, more = [MkStep (step_head s) c])) /\
          (forall b, b < boundary s t -> lessons_at s' b = lessons_at s b)) as [Eu [Eh [Ech [[more [Es Em]] Le]]]].
  { destruct c as [x|c|m k|m|a d| |b l|n b m d]; try contradiction.
    - destruct Lo as [more [_ ->]]. repeat split. exists []. rewrite app_nil_r. auto.
    - destruct Lo as [more [Em ->]]. repeat split. exists more. split; [reflexivity|]. destruct Em; eauto.
    - destruct (revise_restores same_spec (b := b) (l := l) Re E) as [_ [_ [_ [_ [_ [_ [_ [_ Ta]]]]]]]].
      destruct (Ta t (path_self _ (inv_parent I) _) (eq_sym Hc)) as [Eh _].
      destruct Lo as [more [Em W]]. split; [now rewrite W|]. split; [exact Eh|]. split; [now rewrite W|].
      split; [exists []; rewrite app_nil_r; split; [now rewrite W|now left]|].
      intros b' Hb'. rewrite W. unfold Machine.lessons_at. simpl.
      destruct Em as [->| ->]; [now rewrite app_nil_r|]. rewrite filter_app. simpl.
      destruct (Nat.eqb_spec b b'); [unfold Machine.current_boundary in Hc; fold t in Hc; lia|now rewrite app_nil_r]. }
  assert (forall u, summary s' u = summary s u) as Su by (intro; unfold Machine.summary; now rewrite Eu).
  assert (next_summary s' = next_summary s) as Nx by (unfold next_summary; now rewrite Eu).
  destruct (question_kept I I' Hw H0 Et Ex) as [Q [Ee Sr]]; auto; try (rewrite Nx; auto; fail).
  { intros u _. now rewrite Su. }
  { now rewrite Su. }
  { intros n Hn. apply Ki. fold t in Hn. lia. }
  fold t in Q, Ee, Sr. rewrite Eh.
  split; [unfold Machine.phase; rewrite Eh, Su; exact P|]. split; [reflexivity|].
  split; [unfold Machine.digest; rewrite Eh; fold t; now rewrite Q|].
  assert (forall u, boundary s' u = boundary s u) as Bu by (intro; unfold Machine.boundary; now rewrite Su).
  assert (forall u, parent_of s' u = parent_of s u) as Pu by (intro; unfold Machine.parent_of; now rewrite Su).
  assert (lines_before s' t = lines_before s t) as Eb.
  { unfold Machine.lines_before. rewrite Pu. pose proof (inv_parent I H0). apply (lines_kept I I'); auto; try lia.
    intros u _. unfold Machine.ending_at. now rewrite Ech. }
  assert (other_earlier s' t = other_earlier s t) as Eo.
  { unfold Machine.other_earlier. rewrite Ee. apply filter_ext. intro u. now rewrite !Bu. }
  assert (since_base s' (parent_of s t) = since_base s (parent_of s t)) as Esb.
  { unfold Machine.since_base.
    assert (base s' (parent_of s t) = base s (parent_of s t)) as -> by (apply (base_kept I); intros u _; split; [apply Pu|now rewrite Su]).
    f_equal. unfold Machine.parent_of, Machine.summary. now rewrite Eu. }
  assert (hints s' t = hints s t) as Ehi.
  { unfold Machine.hints. rewrite Eo, Ee, Pu, Esb, Su. f_equal; [f_equal|].
    - assert (map (boundary s') (other_earlier s t) = map (boundary s) (other_earlier s t)) as ->
        by (apply map_ext; exact Bu).
      destruct Em as [->|[c' ->]]; [now rewrite Es, app_nil_r|]. rewrite Es.
      pose proof (inv_steps I) as L0. unfold next_step in L0. destruct (steps s) as [|s0 ss] eqn:E0; [simpl in L0; lia|].
      set (places := label (summary s t) :: map (boundary s) (other_earlier s t)).
      assert (mem (step_head s) places = false) as Nm.
      { apply mem_is_not. intro Hin. pose proof (hints_are_above (b := step_head s) I Hw H0) as Lt.
        fold t in Lt. destruct Hin as [Hin|Hin]; [specialize (Lt (or_introl (eq_sym Hin)))|
          specialize (Lt (or_intror (or_introl Hin)))]; lia. }
      rewrite <- app_comm_cons, numbered_snoc, filter_app, map_app. cbn [filter snd above]. rewrite Nm.
      simpl. now rewrite app_nil_r.
    - f_equal. unfold Machine.tried, Machine.is_fallback, Machine.boundary, Machine.parent_of, Machine.summary.
      now rewrite Eu.
    - rewrite (map_ext _ _ Bu). apply lessons_of_kept. intros b Hb. apply Le. rewrite map_app in Hb.
      apply (hints_are_above (t := t) I Hw H0). apply in_app_or in Hb as [Hb|Hb]; auto. }
  intro since. unfold Reading.request. rewrite Ehi. destruct (hints s t) as [[cs ts] ls] eqn:Eht.
  rewrite Q, Eb, Sr, Su. f_equal; [f_equal; [f_equal; [f_equal|f_equal; f_equal]|]|].
  - apply map_ext. intros [u|d older]; unfold replaced, Machine.line_label, Machine.line_boundary;
      cbn [first_of last_of]; now rewrite ?Su, ?Bu.
  - apply map_ext_in. intros n Hn. unfold Reading.telling. do 2 f_equal. unfold Machine.step. rewrite Es. apply app_nth1.
    assert (In n cs) as Hn' by exact Hn. unfold Machine.hints in Eht. injection Eht as <- _ _.
    apply filter_In in Hn' as [Hn' _]. apply in_map_iff in Hn' as [[m y] [<- Hn']].
    apply filter_In in Hn' as [Hn' _]. apply (in_numbered root_step) in Hn' as [Lm _]. exact (proj2 Lm).
  - apply map_ext. intro u. now rewrite Su.
  - unfold Machine.boundaries. rewrite (same_way nothing _ Eu), (map_ext _ _ Bu), Bu. reflexivity.
  - apply map_ext_in. intros n Hn. unfold Reading.telling. do 2 f_equal. unfold Machine.step. rewrite Es. apply app_nth1.
    fold (next_step s). destruct since; [|exact (known_steps I Lh Hn)].
    assert (In n (step_path s (boundary s t))) as Hp
      by (unfold Machine.steps_since_root in Hn; destruct (step_path s (boundary s t)); [contradiction|now right]).
    pose proof (path_le _ (inv_above I) _ _ Hp). pose proof (inv_boundary I Lh). unfold t in *. lia.
Qed.

(* question_says_all: what the digest is over says all that the judge is given to judge, however C is folded: before
   stands for every summary under the lines of C above. Hints and boundaries are beside it *)
Theorem question_says_all : forall s t, reachable s -> 0 < t < next_summary s -> let q := question s t in
  asked_task q = task s /\ asked_instructions q = instructions_judged s t /\
  asked_kind q = kind (summary s t) /\ asked_summary q = t /\ asked_text q = text (summary s t) /\
  asked_covers q = map (telling s) (covers (summary s t)) /\
  asked_before q = map (said s) (flat_map (under s) (lines_before s t)) /\
  asked_earlier q = map (fun u => (boundary s u, said s u)) (earlier s t).
Proof using same_spec.
  intros s t Re Ht q. do 6 (split; [reflexivity|]). split; [|reflexivity].
  pose proof (reachable_inv same_spec Re) as I. pose proof (inv_parent I (proj1 Ht)).
  assert (parent_of s t < next_summary s) as Lp by lia.
  pose proof (reads_under I Lp (read_reads I Lp (le_n _))) as U.
  unfold q, Machine.question. simpl. unfold Machine.before. now rewrite U.
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
  - destruct a; [|destruct Cs as [_ [_ Cs]]]; now rewrite Cs.
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

(* a_new_text_overtakes: once a summary has another text, an answer to the old question is refused (where the old
   and the new one do not collide) *)
Theorem a_new_text_overtakes : forall s m s' a, reachable s -> retext s m = Done s' ->
  no_collision (question s (summary_head s)) (question s' (summary_head s')) ->
  m <> text (summary s (summary_head s)) ->
  apply_verdict s' a (digest s) = Refused (StaleVerdict (Some (digest s'))).
Proof using same_spec same_digest_spec.
  intros s m s' a Re E No D. pose proof (reachable_inv same_spec Re) as I.
  pose proof (inv_summary_head I) as Lh. assert (exec s (Retext m) = Done s') as E' by exact E.
  pose proof (phases_are_as_said same_spec same_digest_spec Re E') as P. simpl in P.
  assert (expected s' = Some (digest s')) as <- by (unfold Machine.expected; now rewrite P).
  apply an_overtaken_answer_is_refused; [exact No|]. right. intro Eq.
  apply (f_equal (@asked_text Text)) in Eq. simpl in Eq. destruct (retext_cases E) as [_ [_ W]].
  rewrite W in Eq. rewrite retexted_head, retexted_at in Eq by exact Lh. simpl in Eq. congruence.
Qed.

(* ---- no verdict is inherited ---- *)
Lemma summary_elsewhere : forall s c s' u, reachable s -> exec s c = Done s' -> u <> summary_head s' ->
  summary s' u = summary s u.
Proof using same_spec same_digest_spec.
  intros s c s' u Re E D. pose proof (changes_are_local same_spec same_digest_spec Re E) as Lo.
  destruct c as [x|c|m k|m|a d| |b l|n b m d]; try (destruct Lo as [more [_ ->]]; reflexivity);
    try (destruct Lo as [h [_ [_ ->]]]; reflexivity);
    destruct Lo as [[_ [_ [_ [_ [Old _]]]]] _]; now apply Old.
Qed.
Lemma leave_summaries : forall s b o, summaries (leave s b o) = summaries s.
Proof. intros s b [l|]; simpl; [|reflexivity]. unfold Machine.with_lesson. now destruct (blank l). Qed.

(* whatever is on the way after an operation and is not its head was on it before *)
Lemma way_was_there : forall s c s' t, reachable s -> exec s c = Done s' ->
  In t (way s' (summary_head s')) ->
  In t (way s (summary_head s)) \/ (t = summary_head s' /\ phase s' = Unverified).
Proof using same_spec same_digest_spec.
  intros s c s' t Re E Hin. pose proof (reachable_inv same_spec Re) as I.
  pose proof (every_operation_keeps_the_invariants same_spec I E) as I'.
  pose proof (inv_summary_head I) as Lh. pose proof (phases_are_as_said same_spec same_digest_spec Re E) as Ph.
  pose proof (what_the_head_becomes same_spec same_digest_spec Re E) as Be.
  pose proof (changes_are_local same_spec same_digest_spec Re E) as Lo.
  assert (summary_head s' = summary_head s -> after_of s' (summary_head s') = after_of s (summary_head s) ->
          In t (way s (summary_head s))) as Same.
  { intros Eh Ea. rewrite Eh in Hin. rewrite <- (way_kept I I'); [exact Hin| | |].
    - apply extends_summaries, (nothing_is_lost E).
    - intros u Lu. pose proof (extends_shape nothing (nothing_is_lost E) Lu) as Sh. now apply shape_parts in Sh.
    - intros u _. destruct (Nat.eq_dec u (summary_head s')) as [->|D]; [now rewrite Ea, Eh|].
      unfold Machine.after_of. now rewrite (summary_elsewhere Re E D). }
  destruct c as [x|c|m k|m|a d| |b l|n b m d].
  - left. destruct Lo as [more [_ W]]. assert (Es : summaries s' = summaries s) by now rewrite W.
    rewrite (same_way nothing _ Es) in Hin. now replace (summary_head s') with (summary_head s) in Hin by now rewrite W.
  - left. destruct Lo as [more [_ W]]. assert (Es : summaries s' = summaries s) by now rewrite W.
    rewrite (same_way nothing _ Es) in Hin. now replace (summary_head s') with (summary_head s) in Hin by now rewrite W.
  - destruct (compress_cases I E) as [P [_ [Ne [[u [_ [Hu [Hp [Hl [Hc [_ W]]]]]]]|[_ W]]]]].
    + destruct (taken_again_stands m I P Ne Hu Hp Hl Hc) as [_ In_].
      assert (summary_head s' = u) as Eh by (rewrite W; apply retexted_head). rewrite Eh in *.
      assert (Es : summaries s' = summaries (changed_summary (without_chapters s u) u (set_text m k (new_after s u))))
        by (rewrite W; apply leave_summaries).
      rewrite (same_way nothing _ Es) in Hin.
      destruct (In_ t Hin) as [<-|Ht]; auto.
    + destruct (compressed_stands m I P Ne) as [_ In_]. rewrite W in Hin.
      destruct (In_ t Hin) as [<-|Ht]; auto. right. split; [now rewrite W|exact Ph].
  - left. destruct Lo as [_ [Eh _]]. apply Same; [exact Eh|]. unfold Machine.after_of. now rewrite Be, Eh.
  - left. destruct Lo as [_ [Eh _]]. apply Same; [exact Eh|]. unfold Machine.after_of. now rewrite Be, Eh.
  - left. destruct Lo as [_ [Eh _]]. apply Same; [exact Eh|]. destruct Be as [v Be]. unfold Machine.after_of.
    now rewrite Be, Eh.
  - left. destruct (revise_restores same_spec (b := b) (l := l) Re E) as [_ [_ [_ [Ht [_ [_ [Es _]]]]]]].
    rewrite (same_way nothing _ Es) in Hin. exact (way_on_way I Ht Hin).
  - left. destruct Lo as [h [_ [_ W]]]. assert (Es : summaries s' = summaries s) by now rewrite W.
    rewrite (same_way nothing _ Es) in Hin. now replace (summary_head s') with (summary_head s) in Hin by now rewrite W.
Qed.

(* what compress makes its head was not on the way, but where it was the head *)
Lemma new_on_the_way : forall s k h, Inv s -> to_cover s k <> [] -> boundary s h = step_head s ->
  In h (way s (summary_head s)) -> h = summary_head s.
Proof.
  intros s k h I Ne B Hin. pose proof (path_le _ (inv_above I) _ _ (inv_heads I)) as Le.
  pose proof (inv_summary_head I) as Lh. unfold Machine.current_boundary in Le.
  apply in_way in Hin as [v [Hv Hin]].
  assert (v <> summary_head s -> boundary s v < step_head s) as Up.
  { intro D. pose proof (boundaries_rise I Lh Hv D). lia. }
  destruct (Nat.eq_dec v (summary_head s)) as [->|D].
  - destruct Hin as [Hin| ->]; [exfalso|reflexivity].
    destruct (taken_in_by I Hv Hin) as [V0 [_ T]].
    destruct (taken_in I Lh T V0 Hin) as [_ [_ [Kv [_ [_ [Bv _]]]]]]. apply Ne.
    assert (new_parent s k = summary_head s) as Ep
      by (destruct k; simpl; [rewrite (base_of (summary_head s) I), Kv|]; reflexivity).
    unfold Machine.to_cover. rewrite Ep. apply (open_segment_nil I). unfold Machine.current_boundary. lia.
  - specialize (Up D). exfalso. destruct Hin as [Hin| ->]; [|lia].
    destruct (taken_in_by I Hv Hin) as [V0 [Lv T]].
    destruct (taken_in I Lv T V0 Hin) as [_ [_ [_ [_ [_ [Bv _]]]]]]. lia.
Qed.

(* trust_is_current: what is trusted on the way was on it before, is asked about in the same words as before, and is
   what it was, unless this very operation passed or accepted it *)
Theorem trust_is_current : forall s c s' t, reachable s -> exec s c = Done s' ->
  In t (way s' (summary_head s')) -> t <> 0 -> trusted (verdict (summary s' t)) = true ->
  In t (way s (summary_head s)) /\
  question s' t = question s t /\ steps_since_root s' t = steps_since_root s t /\
  (summary s' t = summary s t \/
   t = summary_head s /\ (c = Accept \/ c = ApplyVerdict Pass (digest s))).
Proof using same_spec same_digest_spec.
  intros s c s' t Re E Hin H0 Tr. pose proof (reachable_inv same_spec Re) as I.
  pose proof (every_operation_keeps_the_invariants same_spec I E) as I'.
  destruct (every_operation_grows Re E) as [Et [Ex Ki]]. pose proof (inv_summary_head I) as Lh.
  pose proof (phases_are_as_said same_spec same_digest_spec Re E) as Ph.
  pose proof (what_the_head_becomes same_spec same_digest_spec Re E) as Be.
  pose proof (changes_are_local same_spec same_digest_spec Re E) as Lo.
  assert (t = summary_head s' -> phase s' = Active) as Pt.
  { intros Eq. apply trusted_spec in Tr. unfold Machine.phase. now rewrite <- Eq. }
  assert (In t (way s (summary_head s))) as Hold.
  { destruct (way_was_there Re E Hin) as [|[Eq P]]; [assumption|]. rewrite (Pt Eq) in P. discriminate. }
  (* what the operation changed of the head, and where it stands to t *)
  assert (asked_of (summary s' t) = asked_of (summary s t) /\ (summary s' t = summary s t \/
          t = summary_head s /\ (c = Accept \/ c = ApplyVerdict Pass (digest s)))) as [Ask St].
  { destruct (Nat.eq_dec t (summary_head s')) as [Eq|D]; [|rewrite (summary_elsewhere Re E D); auto].
    pose proof (Pt Eq) as P. destruct c as [x|c|m k|m|a d| |b l|n b m d]; simpl in Ph; try congruence;
      try (rewrite <- Eq in Be; rewrite Be; auto; fail).
    - destruct (apply_verdict_cases same_digest_spec E) as [_ [-> _]].
      destruct a; [|congruence]. destruct Lo as [_ [Eh _]]. rewrite <- Eq in Be. rewrite Be. split; [reflexivity|].
      right. split; [congruence|auto].
    - destruct Be as [v Be]. destruct Lo as [_ [Eh _]]. rewrite <- Eq in Be. rewrite Be. split; [reflexivity|].
      right. split; [congruence|auto]. }
  assert (forall u, In u (way s t) -> u <> t -> summary s' u = summary s u) as Up.
  { intros u Hu Du. destruct (Nat.eq_dec u (summary_head s')) as [Eq|D]; [|exact (summary_elsewhere Re E D)].
    assert (t <> summary_head s') as Dt by congruence.
    assert (summary_head s' = summary_head s -> False) as Ab.
    { intro Eh. rewrite Eq, Eh in Hu. rewrite Eh in Dt. exact (head_not_above I Hold Dt Hu). }
    destruct c as [x|c|m k|m|a d| |b l|n b m d]; try (destruct Lo as [more [_ ->]]; reflexivity);
      try (destruct Lo as [h [_ [_ ->]]]; reflexivity); try (destruct Lo as [_ [Eh _]]; now destruct (Ab Eh)).
    exfalso. apply Ab. destruct (compress_cases I E) as [_ [_ [Ne [[v [_ [Lv [_ [_ [_ [Bv W]]]]]]]|[_ W]]]]].
    - assert (summary_head s' = v) as Ev by (rewrite W; apply retexted_head). rewrite Ev.
      apply (new_on_the_way I Ne Bv). rewrite <- Ev, <- Eq. exact (way_on_way I Hold Hu).
    - exfalso. pose proof (way_lt I (way_on_way I Hold Hu)) as Lu. rewrite Eq, W in Lu. simpl in Lu. lia. }
  destruct (question_kept I I' Hold ltac:(lia) Et Ex) as [Q [_ Sr]]; auto.
  - apply extends_summaries, (nothing_is_lost E).
  - intros u Lu. exact (extends_shape nothing (nothing_is_lost E) Lu).
  - intros n Hn. apply Ki. pose proof (path_le _ (inv_above I) _ _ (way_boundary I Hold)).
    pose proof (path_le _ (inv_above I) _ _ (inv_heads I)). lia.
Qed.

(* no_verdict_is_inherited: over a whole history, what is trusted on the way was itself passed or accepted there, by
   a command that answered exactly what would be asked of it now *)
Theorem no_verdict_is_inherited : forall task cs t, let now := run (start task) cs in
  In t (way now (summary_head now)) -> t <> 0 -> trusted (verdict (summary now t)) = true ->
  exists before c later, cs = before ++ c :: later /\ let was := run (start task) before in
    summary_head was = t /\ phase was <> Active /\
    (c = ApplyVerdict Pass (digest was) \/ c = Accept) /\
    summary now t = summary (next was c) t /\ question now t = question was t.
Proof using same_spec same_digest_spec.
  intros task0 cs t. induction cs as [|c cs IH] using rev_ind; intros now Hin H0 Tr; subst now.
  - exfalso. apply H0. apply in_way in Hin as [u [Hu Hin]].
    assert (u = 0) as -> by (destruct Hu as [E|[]]; now symmetry).
    destruct Hin as [Hin|Hin]; [destruct Hin|exact Hin].
  - rewrite run_snoc in *. set (s := run (start task0) cs) in *.
    assert (reachable s) as Re by (exists task0, cs; reflexivity).
    destruct (exec s c) as [s'|why] eqn:E.
    + pose proof (after_done E) as Af. rewrite Af in *.
      destruct (trust_is_current Re E Hin H0 Tr) as [Hold [Rq [_ [Su|[Eq C]]]]].
      * rewrite Su in Tr. destruct (IH Hold H0 Tr) as [b [c' [l [-> [Eh [P [C [Su' Rq']]]]]]]].
        exists b, c', (l ++ [c]). rewrite <- app_assoc. repeat split; auto; congruence.
      * exists cs, c, []. cbv zeta. fold s. rewrite Af. repeat split; auto; [|tauto].
        intro P. destruct C as [->| ->]; simpl in E; unfold Machine.accept, Machine.apply_verdict in E;
          rewrite P in E; discriminate.
    + rewrite (after_refused E) in *. destruct (IH Hin H0 Tr) as [b [c' [l [-> Rest]]]].
      exists b, c', (l ++ [c]). rewrite <- app_assoc. now split.
Qed.
End Questions.
