(* L9 and L10 of ../README.md: what a command changes, and which change nothing. *)
From Coq Require Import List Arith Bool Lia.
From Mage Require Import Path Machine Invariants Lines Kept Refusals Lost Laws Phases.
Import ListNotations.

Section Changes.
Load "Given".
Notation Inv := (Inv nothing blank).
Notation new_after := (Invariants.new_after nothing).

(* ---- L9 ---- *)
(* the summary head of s' may be new or changed, and lose the chapters that end at it; all else that there was
   stands, but for the lessons *)
Definition only_the_head s s' := let t := summary_head s' in
  task s' = task s /\ steps s' = steps s /\ step_head s' = step_head s /\ instructions s' = instructions s /\
  (forall u, u <> t -> summary s' u = summary s u) /\
  (forall u, u <> t -> ending_at s' u = ending_at s u) /\
  (next_summary s' = next_summary s \/ t = next_summary s /\ next_summary s' = S (next_summary s)).
Definition at_most_one_lesson s s' b :=
  lessons s' = lessons s \/ exists l, lessons s' = lessons s ++ [(b, l)].

Lemma retexted_local : forall s t m k, Inv s -> t < next_summary s -> let s' := retexted s t m k in
  only_the_head s s' /\ at_most_one_lesson s s' (label (summary s' (summary_head s'))).
Proof.
  intros s t m k I L s'. unfold only_the_head, at_most_one_lesson. unfold s'.
  rewrite retexted_head, retexted_at by exact L.
  split; [|rewrite retexted_is by exact I; simpl; unfold lessons_left; destruct (feedback_on_steps _); eauto].
  repeat split; try (rewrite retexted_is by exact I; reflexivity).
  - intros u N. now apply retexted_elsewhere.
  - intros u N. rewrite retexted_is by exact I. unfold Machine.ending_at at 1. simpl.
    rewrite (ending_left (s := s) (t := t)) by reflexivity. now destruct (Nat.eqb_spec u t).
  - left. rewrite retexted_is by exact I. unfold next_summary. simpl. apply upd_length.
Qed.

Lemma judged_local : forall s v, let s' := judged s v in
  only_the_head s s' /\ summary_head s' = summary_head s /\ lessons s' = lessons s /\ chapters s' = chapters s.
Proof.
  intros s v s'. unfold only_the_head, s'. repeat split.
  - intros u N. unfold judged. now apply changed_other.
  - left. unfold next_summary. simpl. apply upd_length.
Qed.

(* L9: grow adds at most one child, at the old step head; compress, retext, verdict and accept change only the
   resulting head summary (compress and retext leave at most one lesson at its label, verdict and accept
   none, nor do these two touch a chapter); revise adds at most one lesson at b, instruct one instruction at the
   step head, fold one chapter that ends on the summary path *)
Theorem changes_are_local : forall s c s', reachable s -> exec s c = Done s' ->
  match c with
  | Grow c => exists more, (more = [] \/ more = [MkStep (step_head s) c]) /\
      s' = MkState (task s) (steps s ++ more) (summaries s) (step_head s') (summary_head s)
                   (lessons s) (instructions s) (chapters s)
  | Compress _ _ => only_the_head s s' /\
      at_most_one_lesson s s' (label (summary s' (summary_head s')))
  | Retext _ => only_the_head s s' /\ summary_head s' = summary_head s /\
      at_most_one_lesson s s' (label (summary s' (summary_head s')))
  | ApplyVerdict _ _ | Accept => only_the_head s s' /\ summary_head s' = summary_head s /\
      lessons s' = lessons s /\ chapters s' = chapters s
  | Revise b l => exists more, (more = [] \/ more = [(b, l)]) /\
      s' = MkState (task s) (steps s) (summaries s) b (summary_head s') (lessons s ++ more)
                   (instructions s) (chapters s)
  | Instruct x => exists more, (more = [] \/ more = [(step_head s, x)]) /\
      s' = MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s)
                   (lessons s) (instructions s ++ more) (chapters s)
  | Fold _ _ m _ => exists c, chapter_text c = m /\ In (last_under c) (summary_path s (summary_head s)) /\
      s' = MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s)
                   (lessons s) (instructions s) (chapters s ++ [c])
  end.
Proof using same_spec same_digest_spec.
  intros s c s' I G. apply (reachable_inv same_spec) in I.
  pose proof (inv_summary_head I) as L. destruct c as [x|c|m k|m|a d| |b l|n b m d]; simpl in G.
  - destruct (instruct_cases same_spec G) as [_ [_ [[_ ->]|[_ ->]]]].
    + exists []. rewrite app_nil_r. split; [auto|]. now destruct s.
    + exists [(step_head s, x)]. split; [auto|reflexivity].
  - destruct (grow_cases same_spec I G) as [_ [[n [_ [_ [_ [_ ->]]]]]|[_ ->]]].
    + exists []. rewrite app_nil_r. split; [auto|reflexivity].
    + exists [MkStep (step_head s) c]. split; [auto|reflexivity].
  - destruct (compress_cases I G) as [_ [_ [_ [[u [_ [Lu W]]]|[_ E]]]]].
    + destruct W as [_ [_ [_ [_ ->]]]]. now apply retexted_local.
    + split; [|left; now subst s'].
      destruct (compress_fresh I G) as [Lt [_ [_ [_ [_ [Old [Ch _]]]]]]].
      repeat split; auto; try (subst s'; reflexivity).
      * intros u N. destruct (lt_dec u (next_summary s)) as [Lo|Hi]; [now apply Old|].
        unfold Machine.summary. subst s'. simpl in *. unfold next_summary in *.
        rewrite !nth_overflow; [reflexivity|lia|rewrite app_length; simpl; lia].
      * right. subst s'. split; [reflexivity|]. apply next_summary_compressed.
  - destruct (retext_cases G) as [_ [_ ->]].
    pose proof (fun k => retexted_local m k I L) as Re. split; [apply Re|]. split; [|apply Re].
    apply retexted_head.
  - destruct (apply_verdict_cases same_digest_spec G) as [_ [_ E]].
    destruct a; [|destruct E as [_ [_ E]]]; subst s'; apply judged_local.
  - destruct (accept_cases G) as [_ ->]. apply judged_local.
  - destruct (revise_spec I G) as [t [_ [_ [_ ->]]]]. rewrite with_lesson_is. unfold lessons_with. simpl.
    destruct (blank l).
    + exists []. rewrite app_nil_r. split; [auto|reflexivity].
    + exists [(b, l)]. split; [auto|reflexivity].
  - destruct (fold_makes G) as [_ [run [F ->]]]. destruct (folded m I F) as [_ [_ [Hl _]]].
    exists (chapter_of s run m). split; [reflexivity|]. split; [exact Hl|reflexivity].
Qed.

(* L9, D4, D6, D12, D16: ... and what the head becomes; what it was is found at its id, or it is new *)
Theorem what_the_head_becomes : forall s c s', reachable s -> exec s c = Done s' ->
  let t := summary_head s' in let old := summary s t in
  match c with
  | Compress m k => summary s' t =
      if t <? next_summary s
      then MkSummary (parent old) (label old) (covers old) m k Pending
             (if t =? summary_head s then after old else summary_head s)
      else MkSummary (new_parent s k) (boundary s (new_parent s k)) (to_cover s k) m k Pending (summary_head s)
  | Retext m => summary s' t = MkSummary (parent old) (label old) (covers old) m (kind old) Pending (after old)
  | ApplyVerdict a _ => summary s' t = MkSummary (parent old) (label old) (covers old) (text old) (kind old)
                          (match a with Pass => Passed | Fail f k o => Failed f k o end) (after old)
  | Accept => exists v, summary s' t = MkSummary (parent old) (label old) (covers old) (text old) (kind old)
                                         (Accepted v) (after old)
  | Grow _ | Instruct _ | Revise _ _ | Fold _ _ _ _ => summary s' t = old
  end.
Proof using same_spec same_digest_spec.
  intros s c s' Re G t old. pose proof (reachable_inv same_spec Re) as I.
  pose proof (inv_summary_head I) as L. pose proof (changes_are_local Re G) as Lo.
  destruct c as [x|c|m k|m|a d| |b l|n b m d]; subst t old; simpl in G;
    try (destruct Lo as [more [_ ->]]; reflexivity).
  - destruct (compress_cases I G) as [_ [_ [_ [[u [_ [Lu W]]]|[_ E]]]]].
    + destruct W as [_ [_ [_ [_ ->]]]]. rewrite retexted_head, retexted_at by apply Lu.
      destruct Lu as [_ Lu]. apply Nat.ltb_lt in Lu. now rewrite Lu.
    + assert (N : summary_head s' = next_summary s) by (rewrite E; reflexivity).
      rewrite N, Nat.ltb_irrefl, E. apply new_summary.
  - destruct (retext_cases G) as [_ [_ ->]]. rewrite retexted_head, retexted_at by exact L.
    unfold set_text, Invariants.new_after. now rewrite Nat.eqb_refl.
  - destruct (apply_verdict_cases same_digest_spec G) as [_ [_ E]].
    destruct a; [|destruct E as [_ [_ E]]]; subst s'; unfold judged; cbn [summary_head changed_summary];
      now rewrite changed_same.
  - destruct (accept_cases G) as [_ ->]. unfold judged; cbn [summary_head changed_summary].
    rewrite changed_same by exact L. eexists. reflexivity.
  - destruct Lo as [h [_ [_ ->]]]. reflexivity.
Qed.

(* L9: so a summary path that does not go through that head has the same C; grow, revise and instruct leave
   every one as it is, fold what stands on it and what C stands for (L14) *)
Theorem other_paths_stand : forall s c s' t, reachable s -> exec s c = Done s' -> t < next_summary s ->
  match c with
  | Grow _ | Revise _ _ | Instruct _ | Fold _ _ _ _ => True
  | _ => ~ In (summary_head s') (summary_path s t)
  end ->
  summary_path s' t = summary_path s t /\
  map (summary s') (summary_path s' t) = map (summary s) (summary_path s t) /\
  match c with Fold _ _ _ _ => True | _ => lines s' t = lines s t end.
Proof using same_spec same_digest_spec.
  intros s c s' t Re G L Hc. pose proof (reachable_inv same_spec Re) as I.
  pose proof (kept same_spec I G) as I'.
  pose proof (changes_are_local Re G) as Lo.
  assert (P : summary_path s' t = summary_path s t)
    by exact (extends_summary_path I I' (nothing_is_lost G) L).
  assert (Li : (forall u, In u (summary_path s t) -> ending_at s' u = ending_at s u) -> lines s' t = lines s t).
  { apply (lines_kept I I' L); [apply extends_summaries, (nothing_is_lost G)|].
    intros u Lu. pose proof (extends_shape nothing (nothing_is_lost G) Lu) as Sh. now apply shape_parts in Sh. }
  split; [exact P|]. rewrite P. split.
  - apply map_ext_in. intros u Hu.
    destruct c as [x|c|m k|m|a d| |b l|n b m d]; try (destruct Lo as [more [_ ->]]; reflexivity);
      try (destruct Lo as [h [_ [_ ->]]]; reflexivity);
      destruct Lo as [[_ [_ [_ [_ [Old _]]]]] _]; apply Old; congruence.
  - destruct c as [x|c|m k|m|a d| |b l|n b m d]; auto; apply Li; intros u Hu;
      try (destruct Lo as [more [_ ->]]; reflexivity);
      destruct Lo as [[_ [_ [_ [_ [_ [Ch _]]]]]] _]; apply Ch; congruence.
Qed.

(* ---- L10 ---- *)
Lemma upd_fixed : forall T (l : list T) i f d, i < length l -> upd l i f = l -> f (nth i l d) = nth i l d.
Proof. intros T l i f d L E. rewrite <- (nth_upd_same _ l i f d L). now rewrite E. Qed.
Lemma snoc_grows : forall T (l : list T) x, l <> l ++ [x].
Proof. intros T l x E. apply (f_equal (@length T)) in E. rewrite app_length in E. simpl in E. lia. Qed.

(* L10: the accepted commands that change nothing are these: the same instruction again at the same step,
   the pending text again, and a revise to where the agent stands, with nothing open and no lesson *)
Theorem what_changes_nothing : forall s c, reachable s -> (exec s c = Done s <->
  match c with
  | Instruct x => phase s <> Rejected /\ blank (fst x) = false /\ In x (instructions_at s (step_head s))
  | Retext m => phase s = Unverified /\ blank m = false /\ m = text (summary s (summary_head s))
  | Revise b l => phase s <> Rejected /\ b = step_head s /\ R s = [] /\ blank l = true
  | Grow _ | Compress _ _ | ApplyVerdict _ _ | Accept | Fold _ _ _ _ => False
  end).
Proof using same_spec same_digest_spec.
  intros s c Re. pose proof (reachable_inv same_spec Re) as I. pose proof (inv_summary_head I) as L.
  pose proof (fun s' => phases_are_as_said same_spec same_digest_spec (c := c) (s' := s') Re) as Ph.
  destruct c as [x|c|m k|m|a d| |b l|n b m d]; simpl.
  - split; intro G.
    + destruct (instruct_cases same_spec G) as [P [B [[Hin _]|[_ E]]]]; auto.
      apply (f_equal (@instructions _)) in E. now apply snoc_grows in E.
    + destruct G as [P [B Hin]]. unfold Machine.instruct. rewrite B.
      assert (existsb (same_instruction x) (instructions_at s (step_head s)) = true) as ->.
      { apply existsb_exists. exists x. split; [exact Hin|]. now apply same_instruction_spec. }
      now destruct (phase s).
  - split; [|contradiction]. intro G.
    destruct (grow_leads same_spec I G) as [L' [A _]]. pose proof (inv_above I (proj1 L')). lia.
  - split; [|contradiction]. intro G. pose proof (Ph _ G) as P. simpl in P.
    destruct (compress_cases I G) as [P' _]. congruence.
  - split; intro G.
    + pose proof (Ph _ G) as P. simpl in P. split; [exact P|].
      destruct (retext_cases G) as [_ [B E]]. split; [exact B|]. rewrite retexted_is in E by exact I.
      apply (f_equal (@summaries _)) in E. simpl in E. symmetry in E.
      apply (upd_fixed root_summary L) in E. change (nth _ _ _) with (summary s (summary_head s)) in E.
      destruct (summary s (summary_head s)). unfold set_text in E. simpl in *. now injection E.
    + destruct G as [P [B ->]]. unfold Machine.retext. rewrite P, B. f_equal.
      rewrite retexted_is by exact I.
      unfold Machine.phase, phase_of_verdict in P. unfold lessons_left.
      destruct (verdict (summary s (summary_head s))) eqn:V; try discriminate. simpl.
      assert (chapters_left s (summary_head s) = chapters s) as ->.
      { assert (forall c, In c (chapters s) -> last_under c <> summary_head s) as No.
        { intros c Hc E. destruct (inv_chapters I Hc) as [_ [_ [_ [_ T]]]]. rewrite E, V in T. discriminate. }
        unfold chapters_left. induction (chapters s) as [|c r IH]; simpl; [reflexivity|].
        destruct (Nat.eqb_spec (last_under c) (summary_head s)) as [E|_]; [now destruct (No c (or_introl eq_refl))|].
        simpl. f_equal. apply IH. intros d Hd. apply No. now right. }
      rewrite upd_id_at with (d := root_summary); [now destruct s|].
      change (nth _ _ _) with (summary s (summary_head s)). unfold Invariants.new_after, Machine.after_of.
      rewrite Nat.eqb_refl. destruct (summary s (summary_head s)); simpl in *. unfold set_text; simpl. congruence.
  - split; [|contradiction]. intro G. pose proof (Ph _ G) as P.
    destruct (apply_verdict_cases same_digest_spec G) as [P' _]. rewrite P' in P. destruct a; discriminate.
  - split; [|contradiction]. intro G. pose proof (Ph _ G) as P.
    destruct (accept_cases G) as [P' _]. contradiction.
  - split; intro G.
    + destruct (revise_restores same_spec (b := b) (l := l) Re G) as [E [_ [O _]]].
      split; [|split; [now symmetry|split; [exact O|]]].
      * intro P. destruct (revise_spec I G) as [t [_ [_ [Rj _]]]]. pose proof (Rj P) as Lb.
        pose proof (path_le _ (inv_above I) _ _ (inv_heads I)). lia.
      * destruct (revise_spec I G) as [t [_ [_ [_ W]]]]. rewrite with_lesson_is in W.
        unfold lessons_with in W. destruct (blank l); [reflexivity|].
        apply (f_equal (@lessons _)) in W. now apply snoc_grows in W.
    + destruct G as [P [-> [O B]]]. apply (open_segment_nil I) in O. rewrite O.
      unfold Machine.current_boundary.
      rewrite (revise_to _ _ I); [|apply (path_self _ (inv_parent I))|contradiction].
      f_equal. unfold Machine.with_lesson. rewrite B. unfold Machine.current_boundary in O. rewrite <- O.
      now destruct s.
  - split; [|contradiction]. intro G. destruct (fold_makes G) as [_ [run [_ E]]].
    apply (f_equal (@chapters _)) in E. now apply snoc_grows in E.
Qed.
End Changes.
