(* D19: a fold changes only what is shown (L14), and chapters unfold to what they were judged on (I12). *)
From Coq Require Import List Arith Bool Lia.
From Mage Require Import Path Machine Invariants Lines Kept Refusals Lost Laws Phases Changes Reading Questions.
Import ListNotations.

Section Chapters.
Load "Given".
Notation Inv := (Inv nothing blank).
Notation reads := (Lines.reads nothing).

(* ---- L14 ---- *)
Lemma ends_with_chapter : forall s (c : Chapter) u, ending_at (with_chapter s c) u =
  if last_under c =? u then c :: ending_at s u else ending_at s u.
Proof.
  intros s c u. unfold Machine.ending_at. simpl. rewrite filter_app. simpl.
  destruct (last_under c =? u); [|now rewrite app_nil_r]. now rewrite rev_app_distr.
Qed.

(* what a run is named by *)
Lemma run_is_named : forall s n b run, run_to_fold s n b = Some run ->
  line_label s (hd (OfSummary 0) run) = n /\ line_boundary s (last run (OfSummary 0)) = b.
Proof.
  intros s n b run E. unfold Machine.run_to_fold in E.
  assert (forall ls, match from_label nothing s n ls with [] => True | x :: _ => line_label s x = n end) as Fr.
  { induction ls as [|x ls IH]; simpl; [exact Logic.I|]. destruct (Nat.eqb_spec (line_label s x) n); [assumption|exact IH]. }
  assert (forall ls run, to_boundary nothing s b ls = Some run ->
          hd (OfSummary 0) run = hd (OfSummary 0) ls /\ run <> [] /\ line_boundary s (last run (OfSummary 0)) = b) as To.
  { induction ls as [|x ls IH]; simpl; [discriminate|]. intros q Eq.
    destruct (Nat.eqb_spec (line_boundary s x) b); [injection Eq as <-; repeat split; [discriminate|assumption]|].
    destruct (to_boundary nothing s b ls) as [q'|]; [|discriminate]. injection Eq as <-.
    destruct (IH q' eq_refl) as [_ [N B]]. repeat split; [discriminate|]. destruct q'; [contradiction|exact B]. }
  destruct (to_boundary _ _ _ _) as [q|] eqn:Eq; [|discriminate]. destruct (To _ _ Eq) as [Hd [N B]].
  destruct q as [|x [|y q]]; try discriminate. destruct (forallb _ _); [|discriminate]. injection E as <-.
  split; [|exact B]. pose proof (Fr (C s)) as F. destruct (from_label nothing s n (C s)) as [|z zs]; [discriminate|].
  simpl in Hd. simpl. now rewrite Hd.
Qed.

Lemma reads_last : forall s top ls t, reads s top ls t -> ls <> [] -> let l := line_of t (ending_at s t) in
  exists rest, ls = rest ++ [l] /\ reads s top rest (parent_of s (first_of l)).
Proof. intros s top ls t Rd Ne. destruct Rd as [|ls t H0 N l R]; [contradiction|]. exists ls. split; [reflexivity|exact R]. Qed.

Lemma fold_is_shown : forall s n b run m, Inv s -> run_to_fold s n b = Some run ->
  let c := chapter_of s run m in let s' := with_chapter s c in Inv s' ->
  let line := OfChapter c (ending_at s (last_under c)) in
  (exists l r, C s = l ++ run ++ r /\ C s' = l ++ line :: r) /\
  inside s' line = run /\ under s line = flat_map (under s) run.
Proof.
  intros s n b run m I F c s' I' line. destruct (folded m I F) as [[l [r [Ec [Rl [Rr Re]]]]] [F0 [Hl [Hp _]]]].
  fold c in Rl, Rr, Re, F0, Hl, Hp. set (top := parent_of s (first_under c)) in *. set (u := last_under c) in *.
  destruct (run_is_long F) as [[x [y [q Er]]] _]. pose proof (head_path_lt I Hl) as Lu. fold u in Lu.
  assert (run <> []) as Ne by (rewrite Er; discriminate).
  destruct (reads_top I Lu Rr) as [Ht Lo]. specialize (Lo Ne).
  assert (forall v, v <> u -> ending_at s' v = ending_at s v) as Ev.
  { intros v D. unfold s'. rewrite ends_with_chapter. fold u. now destruct (Nat.eqb_spec u v); [congruence|]. }
  assert (ending_at s' u = c :: ending_at s u) as Eu
    by (unfold s'; rewrite ends_with_chapter; fold u; now rewrite Nat.eqb_refl).
  assert (reads s' 0 l top) as Rl'.
  { apply (reads_kept I (t := top)); [lia|exact Rl|reflexivity|]. intros v Hv _. apply Ev.
    pose proof (on_path_le I Hv). lia. }
  assert (reads s' u r (summary_head s')) as Re'.
  { apply (reads_kept I (inv_summary_head I) Re); [reflexivity|]. intros v Hv Lv. apply Ev. lia. }
  assert (reads s' top [line] u) as Rc.
  { change [line] with ([] ++ [line]). replace line with (line_of u (ending_at s' u)) by now rewrite Eu.
    constructor; [lia|lia|]. rewrite Eu. constructor. }
  split; [exists l, r; split; [exact Ec|]|split].
  - assert (reads s' 0 (l ++ [line]) u) as R1 by exact (app_reads I' Lu Rl' Rc).
    pose proof (app_reads I' (inv_summary_head I') R1 Re') as R2. rewrite <- app_assoc in R2.
    exact (reads_read I' (inv_summary_head I') R2 (le_n _)).
  - unfold line, Machine.inside. fold u. set (inner := line_of u (ending_at s u)).
    destruct (reads_last Rr Ne) as [run' [Er' R']]. fold inner in Er', R'. rewrite Er'.
    f_equal. destruct (line_above I (t := u) ltac:(lia)) as [Lp Hpu]. fold inner in Lp, Hpu.
    change (parent_of s' (first_of inner)) with (parent_of s (first_of inner)).
    change (parent_of s' (first_under c)) with top.
    apply (reads_read (t := parent_of s (first_of inner)) I'); [change (next_summary s') with (next_summary s); lia| |lia].
    apply (reads_kept I (t := parent_of s (first_of inner))); [lia|exact R'|reflexivity|].
    intros v Hv _. apply Ev. pose proof (on_path_le I Hv). lia.
  - unfold Machine.under. cbn [first_of last_of line]. fold top u.
    pose proof (reads_under I Lu Rr) as U. pose proof (trace_spec _ (inv_parent I) _ _ Ht) as T.
    fold (summary_path s u) (summary_path s top) in T. rewrite T in U. now apply app_inv_head in U.
Qed.

(* L14, fold_changes_only_what_is_shown: fold adds a chapter and leaves all else alone; C shows it in place of the run
   that it names, which was judged, and which is inside it; R, H and the instructions in force are as they were *)
Theorem fold_changes_only_what_is_shown : forall s n b m d s', reachable s -> exec s (Fold n b m d) = Done s' ->
  exists run c, let line := OfChapter c (ending_at s (last_under c)) in
  run_to_fold s n b = Some run /\ d = digest_of_fold (fold_question s run m) /\
  s' = MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s) (lessons s) (instructions s)
               (chapters s ++ [c]) /\
  phase s' = phase s /\ R s' = R s /\ H s' = H s /\ instructions_shown s' = instructions_shown s /\
  (exists l r, C s = l ++ run ++ r /\ C s' = l ++ line :: r) /\ length (C s') < length (C s) /\
  line_label s' line = n /\ line_boundary s' line = b /\ chapter_text c = m /\
  accepted_under c = length (filter (is_accepted nothing s) (under s' line)) /\
  inside s' line = run /\ under s' line = flat_map (under s) run.
Proof using same_spec same_digest_spec.
  intros s n b m d s' Re G. pose proof (reachable_inv same_spec Re) as I.
  pose proof (kept same_spec I G) as I'. destruct (fold_cases same_digest_spec G) as [P [_ [run [F [D E]]]]].
  exists run, (chapter_of s run m). intro line. rewrite E in I'. destruct (fold_is_shown I F I') as [Cs [In_ Un]].
  destruct (run_is_named F) as [Na Nb]. fold line in Cs, In_, Un.
  split; [exact F|]. split; [exact D|]. split; [exact E|].
  assert (Hs : H s' = H s).
  { rewrite E. unfold Machine.H, Machine.since_base, Machine.lessons_of. 
    rewrite (base_kept (s := s) (s' := with_chapter s (chapter_of s run m))) by (exact I || (intros; split; reflexivity)).
    reflexivity. }
  assert (Is : instructions_shown s' = instructions_shown s).
  { rewrite E. unfold Machine.instructions_shown.
    rewrite (base_kept (s := s) (s' := with_chapter s (chapter_of s run m))) by (exact I || (intros; split; reflexivity)).
    reflexivity. }
  split; [rewrite E; reflexivity|]. split; [rewrite E; reflexivity|]. split; [exact Hs|]. split; [exact Is|].
  rewrite E. split; [exact Cs|]. split.
  - destruct Cs as [l [r [-> ->]]]. destruct (run_is_long F) as [[x [y [q ->]]] _].
    rewrite !app_length. simpl. lia.
  - split; [exact Na|]. split; [exact Nb|]. split; [reflexivity|]. split; [reflexivity|]. split; [exact In_|exact Un].
Qed.

(* ---- I12 ---- *)
(* a chapter that ends on the summary path was there before, where it did so too, or has just been folded; what is
   under it is as it was *)
Lemma chapter_was_there : forall s c s' (h : Chapter), reachable s -> exec s c = Done s' ->
  In h (chapters s') -> In (last_under h) (summary_path s' (summary_head s')) ->
  (In h (chapters s) /\ In (last_under h) (summary_path s (summary_head s)) \/
   exists n b m d run, c = Fold n b m d /\ run_to_fold s n b = Some run /\ h = chapter_of s run m /\
     d = digest_of_fold (fold_question s run m)) /\
  forall t, In t (summary_path s' (last_under h)) -> summary s' t = summary s t.
Proof using same_spec same_digest_spec.
  intros s c s' h Re G Hh Hl. pose proof (reachable_inv same_spec Re) as I. pose proof (kept same_spec I G) as I'.
  pose proof (changes_are_local same_spec same_digest_spec Re G) as Lo.
  pose proof (phases_are_as_said same_spec same_digest_spec Re G) as Ph.
  destruct (inv_chapters I' Hh) as [_ [_ [_ [_ Tr]]]].
  (* it does not end at what was made pending *)
  assert (phase s' = Unverified -> last_under h <> summary_head s') as Np.
  { intros P E. rewrite E in Tr. apply trusted_spec in Tr. unfold Machine.phase in P. congruence. }
  assert (In h (chapters s) -> In (last_under h) (summary_path s (summary_head s))) as Was.
  { intro Hc. destruct (way_was_there same_spec same_digest_spec Re G (path_in_way Hl)) as [Hw|[E P]];
      [|now destruct (Np P)].
    destruct (inv_chapters I Hc) as [_ [_ [_ [K _]]]]. apply in_way in Hw as [v [Hv [Hw| ->]]]; [exfalso|exact Hv].
    destruct (taken_in_by I Hv Hw) as [V0 [Lv Tv]]. destruct (taken_in I Lv Tv V0 Hw) as [Kt _]. congruence. }
  assert (forall t, In t (summary_path s' (last_under h)) -> t = summary_head s' -> last_under h = summary_head s') as Top.
  { intros t Ht ->. pose proof (on_path_le I' Ht). pose proof (on_path_le I' Hl). lia. }
  destruct c as [x|c|m k|m|a d| |b l|n b m d].
  - destruct Lo as [more [_ W]]. rewrite W in Hh |- *. split; [left; split; [exact Hh|now apply Was]|reflexivity].
  - destruct Lo as [more [_ W]]. rewrite W in Hh |- *. split; [left; split; [exact Hh|now apply Was]|reflexivity].
  - simpl in Ph. pose proof (Np Ph) as N. destruct Lo as [[_ [_ [_ [_ [Old [Ch _]]]]]] _].
    assert (In h (chapters s)) as Hc.
    { assert (In h (ending_at s' (last_under h))) as Ha by now apply in_ending_at.
      rewrite (Ch _ N) in Ha. now apply in_ending_at in Ha as [Ha _]. }
    split; [left; auto|]. intros t Ht. apply Old. intro E. now apply N, (Top t).
  - simpl in Ph. pose proof (Np Ph) as N. destruct Lo as [[_ [_ [_ [_ [Old [Ch _]]]]]] _].
    assert (In h (chapters s)) as Hc.
    { assert (In h (ending_at s' (last_under h))) as Ha by now apply in_ending_at.
      rewrite (Ch _ N) in Ha. now apply in_ending_at in Ha as [Ha _]. }
    split; [left; auto|]. intros t Ht. apply Old. intro E. now apply N, (Top t).
  - destruct Lo as [[_ [_ [_ [_ [Old _]]]]] [Eh [_ Ec]]]. rewrite Ec in Hh. split; [left; auto|].
    intros t Ht. apply Old. intro E. destruct (inv_chapters I Hh) as [_ [_ [_ [_ T]]]].
    rewrite (Top t Ht E), Eh in T. apply trusted_spec in T.
    destruct (apply_verdict_cases same_digest_spec G) as [P _]. unfold Machine.phase in P. congruence.
  - destruct Lo as [[_ [_ [_ [_ [Old _]]]]] [Eh [_ Ec]]]. rewrite Ec in Hh. split; [left; auto|].
    intros t Ht. apply Old. intro E. destruct (inv_chapters I Hh) as [_ [_ [_ [_ T]]]].
    rewrite (Top t Ht E), Eh in T. apply trusted_spec in T. destruct (accept_cases G) as [P _]. contradiction.
  - destruct Lo as [more [_ W]]. rewrite W in Hh |- *. split; [left; split; [exact Hh|now apply Was]|reflexivity].
  - destruct (fold_cases same_digest_spec G) as [_ [_ [run [F [D W]]]]]. rewrite W in Hh |- *.
    split; [|reflexivity]. apply in_app_or in Hh as [Hh|[<-|[]]]; [left; auto|].
    right. exists n, b, m, d, run. auto.
Qed.

Lemma chapter_under : forall s (c : Chapter) t, Inv s -> In c (chapters s) -> In t (under s (OfChapter c [])) ->
  In t (summary_path s (last_under c)).
Proof.
  intros s c t I Hc Ht. destruct (inv_chapters I Hc) as [F0 [_ [P _]]].
  assert (In (parent_of s (first_under c)) (summary_path s (last_under c))) as Hp by (apply (parent_on_path I P); lia).
  unfold Machine.summary_path. rewrite (trace_spec _ (inv_parent I) _ _ Hp). apply in_or_app. now right.
Qed.
Lemma under_kept : forall s s' (c : Chapter), Inv s -> Inv s' -> extends s s' -> In c (chapters s) ->
  under s' (OfChapter c []) = under s (OfChapter c []).
Proof.
  intros s s' c I I' X Hc. destruct (inv_chapters I Hc) as [F0 [L [P _]]].
  pose proof (inv_parent I F0) as D. pose proof (on_path_le I P) as Le.
  assert (In (parent_of s (first_under c)) (summary_path s (last_under c))) as Hp by (apply (parent_on_path I P); lia).
  assert (parent_of s' (first_under c) = parent_of s (first_under c)) as Ep.
  { assert (first_under c < next_summary s) as Lf by lia. now apply (shape_parts (extends_shape nothing X Lf)). }
  unfold Machine.under. cbn [first_of last_of]. rewrite Ep. set (p := parent_of s (first_under c)) in *.
  pose proof (trace_spec _ (inv_parent I) _ _ Hp) as T. fold (summary_path s p) (summary_path s (last_under c)) in T.
  assert (p < next_summary s) as Lp by lia.
  assert (In p (summary_path s' (last_under c))) as Hp' by (rewrite (extends_summary_path I I' X L); exact Hp).
  pose proof (trace_spec _ (inv_parent I') _ _ Hp') as T'. fold (summary_path s' p) (summary_path s' (last_under c)) in T'.
  rewrite (extends_summary_path I I' X L), (extends_summary_path I I' X Lp), T in T'.
  symmetry. now apply app_inv_head in T'.
Qed.

(* I12, chapters_unfold: the lines of C, unfolded, are the summary path; a chapter that C shows is the newest that ends
   there; and whatever ends on the path (so every chapter that C shows, and each inside one) was folded by a command
   that answered the request over exactly its lines, and all that is under it is trusted and is what it was then *)
Theorem chapters_unfold : forall task cs, let now := run (start task) cs in
  flat_map (under now) (C now) = tl (summary_path now (summary_head now)) /\
  (forall c older, In (OfChapter c older) (C now) ->
     In (last_under c) (summary_path now (summary_head now)) /\ ending_at now (last_under c) = c :: older) /\
  forall c, In c (chapters now) -> In (last_under c) (summary_path now (summary_head now)) ->
  exists before n b m d later, cs = before ++ Fold n b m d :: later /\ let was := run (start task) before in
    exists lines, run_to_fold was n b = Some lines /\ c = chapter_of was lines m /\
      d = digest_of_fold (fold_question was lines m) /\
      flat_map (under was) lines = under now (OfChapter c []) /\
      forall t, In t (under now (OfChapter c [])) ->
        summary now t = summary was t /\ trusted (verdict (summary now t)) = true.
Proof using same_spec same_digest_spec.
  intros task0 cs now. assert (reachable now) as Re by (exists task0, cs; reflexivity).
  pose proof (reachable_inv same_spec Re) as I. split; [|split].
  - rewrite (reads_under I (inv_summary_head I) (C_reads I)). reflexivity.
  - intros c older Hin. destruct (reads_line I (inv_summary_head I) (C_reads I) Hin) as [E [Hl _]].
    cbn [last_of] in E, Hl. split; [exact Hl|]. destruct (ending_at now (last_under c)) as [|d l]; [discriminate|].
    simpl in E. now injection E as -> ->.
  - clear Re I. subst now. induction cs as [|x cs IH] using rev_ind; intros c Hc Hl; [contradiction|].
    rewrite run_snoc in *. set (s := run (start task0) cs) in *.
    assert (reachable s) as Re by (exists task0, cs; reflexivity). pose proof (reachable_inv same_spec Re) as I.
    destruct (exec s x) as [s'|why] eqn:G.
    2: { rewrite (after_refused G) in *. destruct (IH c Hc Hl) as [be [n [b [m [d [la [-> W]]]]]]].
         exists be, n, b, m, d, (la ++ [x]). rewrite <- app_assoc. now split. }
    rewrite (after_done G) in *. pose proof (kept same_spec I G) as I'.
    destruct (chapter_was_there Re G Hc Hl) as [[[Hc' Hl']|[n [b [m [d [lines [-> [F [-> ->]]]]]]]]] Same].
    + destruct (IH c Hc' Hl') as [be [n [b [m [d [la [-> W]]]]]]].
      exists be, n, b, m, d, (la ++ [x]). rewrite <- app_assoc. split; [reflexivity|].
      destruct W as [lines [F [Ec [Ed [Eu St]]]]]. exists lines. repeat (split; [assumption|]).
      rewrite (under_kept I I' (nothing_is_lost G) Hc'). split; [exact Eu|].
      intros t Ht. pose proof (chapter_under I Hc' Ht) as Hp.
      assert (last_under c < next_summary s) as L by apply (inv_chapters I Hc').
      rewrite <- (extends_summary_path I I' (nothing_is_lost G) L) in Hp. rewrite (Same t Hp). now apply St.
    + exists cs, n, b, m, (digest_of_fold (fold_question s lines m)), []. split; [reflexivity|]. fold s. exists lines.
      split; [exact F|]. split; [reflexivity|]. split; [reflexivity|].
      destruct (fold_makes G) as [P [run [F' E]]]. rewrite F in F'. injection F' as <-.
      rewrite E in I'. destruct (fold_is_shown I F I') as [_ [_ Un]].
      split; [rewrite E; symmetry; exact Un|]. intros t Ht. rewrite E in *. split; [reflexivity|].
      destruct (folded m I F) as [_ [_ [Hl' _]]].
      assert (In t (summary_path s (last_under (chapter_of s lines m)))) as Hp by exact (chapter_under I' Hc Ht).
      apply (active_way_trusted I P), path_in_way. destruct (path_prefix _ (inv_parent I) _ _ Hl') as [q Hq].
      unfold Machine.summary_path. rewrite Hq. apply in_or_app. now left.
Qed.
End Chapters.
