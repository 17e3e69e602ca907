(* I12, at every depth: chapters that end on the summary path are nested, so what is read inside one stands for exactly
   what the chapter itself stands for. *)
From Coq Require Import List Arith Bool Lia.
From Mage Require Import Path Machine Invariants Cases Lines Kept Refusals Lost Laws Phases Changes Reading Questions.
From Mage Require Import Chapters.
Import ListNotations.

Section Nested.
Load "Given".
Notation Inv := (Inv nothing blank).
Notation reads := (Lines.reads nothing).

Definition on_path s t := In t (summary_path s (summary_head s)).
(* no line that is read ends inside a chapter that ends above; of two chapters the one that ends first does not cross
   the other; of two with one end the older is inside the newer *)
Record nested s : Prop := MkNested {
  lines_end_outside : forall t (c : Chapter) l, on_path s t -> In c (chapters s) ->
    In (last_under c) (summary_path s t) -> In l (lines s t) -> ~ (first_under c <= last_of l < last_under c);
  none_crosses : forall c e : Chapter, In c (chapters s) -> In e (chapters s) -> on_path s (last_under c) ->
    on_path s (last_under e) -> last_under e < last_under c -> first_under c <= last_under e ->
    first_under c <= first_under e;
  older_is_inside : forall u l1 (c : Chapter) l2 d, on_path s u -> ending_at s u = l1 ++ c :: l2 -> In d l2 ->
    first_under c <= first_under d }.

Lemma lines_step : forall s t, Inv s -> 0 < t < next_summary s -> let l := line_of t (ending_at s t) in
  lines s t = lines s (parent_of s (first_of l)) ++ [l].
Proof.
  intros s t I Ht l. destruct (line_above I Ht) as [Lp _]. fold l in Lp.
  assert (parent_of s (first_of l) < next_summary s) as Lq by lia.
  apply (reads_read (top := 0) I (proj2 Ht)); [|auto]. constructor; [apply Ht|lia|].
  exact (read_reads I Lq (le_n _)).
Qed.
Lemma lines_0 : forall s, lines s 0 = [].
Proof. reflexivity. Qed.
Lemma line_bounds : forall s t l, Inv s -> t < next_summary s -> In l (lines s t) ->
  In (last_of l) (summary_path s t) /\ 0 < last_of l /\ last_of l <= t.
Proof.
  intros s t l I Lt Hl. destruct (reads_line I Lt (read_reads I Lt (le_n t)) Hl) as [_ [Hp [H0 _]]].
  split; [exact Hp|]. split; [exact H0|exact (on_path_le I Hp)].
Qed.
(* on one path, what is above f, and not f, is above the parent of f *)
Lemma above_parent : forall s n f x, Inv s -> In f (summary_path s n) -> In x (summary_path s n) -> 0 < f -> x < f ->
  In x (summary_path s (parent_of s f)).
Proof.
  intros s n f x I Hf Hx F0 L. pose proof (smaller_is_above I Hx Hf L) as Hin. rewrite (path_of_child I F0) in Hin.
  apply in_app_or in Hin as [Hin|[E|[]]]; [exact Hin|lia].
Qed.
Lemma path_up : forall s n t u, Inv s -> In t (summary_path s n) -> In u (summary_path s t) -> In u (summary_path s n).
Proof.
  intros s n t u I Ht Hu. destruct (path_prefix _ (inv_parent I) _ _ Ht) as [d Hd]. unfold Machine.summary_path.
  rewrite Hd. apply in_or_app. now left.
Qed.

(* ---- all operations but fold only take chapters away, or leave their ends ---- *)
Lemma nested_kept : forall s c s', reachable s -> nested s -> exec s c = Done s' ->
  match c with Fold _ _ _ _ => False | _ => True end -> nested s'.
Proof using same_spec same_digest_spec.
  intros s c s' Re N G Nf. pose proof (reachable_inv same_spec Re) as I. pose proof (kept same_spec I G) as I'.
  pose proof (changes_are_local same_spec same_digest_spec Re G) as Lo.
  pose proof (phases_are_as_said same_spec same_digest_spec Re G) as Ph.
  assert (Was : forall h : Chapter, In h (chapters s') -> on_path s' (last_under h) ->
            In h (chapters s) /\ on_path s (last_under h)).
  { intros h Hh Hl. destruct (chapter_was_there same_spec same_digest_spec Re G Hh Hl) as [[W|[n [b [m [d [run [-> _]]]]]]] _];
      [exact W|contradiction]. }
  assert (Un : phase s' = Unverified -> ending_at s' (summary_head s') = []).
  { intro P. apply (no_chapter_ends I'). destruct (trusted _) eqn:T; [|reflexivity]. apply trusted_spec in T.
    unfold Machine.phase in P. congruence. }
  assert (En : forall u, ending_at s' u <> [] -> ending_at s' u = ending_at s u).
  { intros u Ne. destruct c as [x|c|m k|m|a d| |b l|n b m d]; try contradiction;
      try (destruct Lo as [more [_ ->]]; reflexivity);
      try (destruct Lo as [_ [_ [_ Ec]]]; unfold Machine.ending_at; now rewrite Ec).
    - destruct (Nat.eq_dec u (summary_head s')) as [->|D]; [now rewrite (Un Ph) in Ne|].
      destruct Lo as [[_ [_ [_ [_ [_ [Ch _]]]]]] _]. now apply Ch.
    - destruct (Nat.eq_dec u (summary_head s')) as [->|D]; [now rewrite (Un Ph) in Ne|].
      destruct Lo as [[_ [_ [_ [_ [_ [Ch _]]]]]] _]. now apply Ch. }
  assert (Ee : forall u t, In u (summary_path s' t) -> on_path s' t -> ending_at s' t <> [] ->
            ending_at s' u = ending_at s u).
  { intros u t Hu Ht Ne. destruct c as [x|c|m k|m|a d| |b l|n b m d]; try contradiction;
      try (destruct Lo as [more [_ ->]]; reflexivity);
      try (destruct Lo as [_ [_ [_ Ec]]]; unfold Machine.ending_at; now rewrite Ec).
    - destruct Lo as [[_ [_ [_ [_ [_ [Ch _]]]]]] _]. apply Ch. intros ->.
      pose proof (on_path_le I' Hu). pose proof (on_path_le I' Ht).
      replace t with (summary_head s') in Ne by lia. now rewrite (Un Ph) in Ne.
    - destruct Lo as [[_ [_ [_ [_ [_ [Ch _]]]]]] _]. apply Ch. intros ->.
      pose proof (on_path_le I' Hu). pose proof (on_path_le I' Ht).
      replace t with (summary_head s') in Ne by lia. now rewrite (Un Ph) in Ne. }
  constructor.
  - intros t. induction t as [t IH] using lt_wf_ind. intros h l Ht Hh Hl Hin.
    pose proof (head_path_lt I' Ht) as Lt. destruct (Nat.eq_dec t 0) as [->|N0]; [rewrite lines_0 in Hin; contradiction|].
    destruct (ending_at s' t) as [|e older] eqn:E.
    + assert (0 < t < next_summary s') as Lt0 by lia. pose proof (lines_step I' Lt0) as Ls. rewrite E in Ls.
      cbn [line_of first_of] in Ls. rewrite Ls in Hin. rewrite (path_of_child I') in Hl by lia.
      apply in_app_or in Hl as [Hl|[Hl|[]]].
      * apply in_app_or in Hin as [Hin|[<-|[]]].
        -- pose proof (inv_parent I' (proj1 Lt0)). apply (IH (parent_of s' t)); auto.
           apply (parent_on_path I' Ht). lia.
        -- cbn [last_of]. pose proof (on_path_le I' Hl). pose proof (inv_parent I' (proj1 Lt0)). lia.
      * exfalso. assert (In h (ending_at s' t)) as Ha by now apply in_ending_at. rewrite E in Ha. contradiction.
    + assert (ending_at s' t <> []) as Ne by (rewrite E; discriminate).
      assert (In e (ending_at s' t)) as He by (rewrite E; now left). apply in_ending_at in He as [He Le].
      destruct (Was e He) as [He' Hp']; [rewrite Le; exact Ht|]. rewrite Le in Hp'.
      pose proof (head_path_lt I Hp') as Lts.
      assert (forall u, u < next_summary s -> parent_of s' u = parent_of s u) as Pa.
      { intros u Lu. pose proof (extends_shape nothing (nothing_is_lost G) Lu) as Sh. now apply shape_parts in Sh. }
      pose proof (extends_summary_path I I' (nothing_is_lost G) Lts) as Pt.
      assert (lines s' t = lines s t) as El.
      { apply (lines_kept I I' Lts); [apply extends_summaries, (nothing_is_lost G)|exact Pa|].
        intros u Hu. apply (Ee u t); [now rewrite Pt|exact Ht|exact Ne]. }
      rewrite El in Hin. rewrite Pt in Hl.
      destruct (Was h Hh) as [Hh' _]; [apply (path_up I' Ht); now rewrite Pt|].
      exact (lines_end_outside N Hp' Hh' Hl Hin).
  - intros h e Hh He Ph' Pe'. destruct (Was h Hh Ph') as [H1 H2], (Was e He Pe') as [H3 H4].
    now apply (none_crosses N).
  - intros u l1 h l2 d Hu E Hd. assert (ending_at s' u <> []) as Ne by (rewrite E; now destruct l1).
    assert (In h (ending_at s' u)) as Hh by (rewrite E; apply in_or_app; right; now left).
    apply in_ending_at in Hh as [Hh Le]. destruct (Was h Hh) as [_ Hp]; [now rewrite Le|]. rewrite Le in Hp.
    rewrite (En u Ne) in E. exact (older_is_inside N Hp E Hd).
Qed.

(* ---- a fold takes ends away, and puts one chapter where none crosses it ---- *)
Lemma nested_folded : forall s n b m d s', reachable s -> nested s -> exec s (Fold n b m d) = Done s' -> nested s'.
Proof using same_spec same_digest_spec.
  intros s n b m d s' Re N G. pose proof (reachable_inv same_spec Re) as I. pose proof (kept same_spec I G) as I'.
  destruct (fold_makes G) as [P [run [F ->]]]. set (h := chapter_of s run m) in *. set (s' := with_chapter s h) in *.
  destruct (folded m I F) as [[l [r [Ec [Rl [Rr Rh]]]]] [F0 [Hu [Hf _]]]]. fold h in Rl, Rr, Rh, F0, Hu, Hf.
  set (u := last_under h) in *. set (f := first_under h) in *. set (top := parent_of s f) in *.
  destruct (run_is_long F) as [[x [y [q Er]]] _]. assert (run <> []) as Ne by (rewrite Er; discriminate).
  pose proof (head_path_lt I Hu) as Lu. pose proof (inv_summary_head I) as Lh.
  destruct (reads_top I Lu Rr) as [Ht Lo]. specialize (Lo Ne). pose proof (inv_parent I F0) as Df. fold top in Df.
  pose proof (on_path_le I Hf) as Lf. assert (top < next_summary s) as Ltop by lia.
  assert (Lu0 : 0 < u < next_summary s) by lia.
  assert (El : lines s top = l) by exact (reads_read I Ltop Rl (le_n _)).
  assert (Elu : lines s u = l ++ run) by exact (reads_read I Lu (app_reads I Lu Rl Rr) (le_n _)).
  assert (In (last run (OfSummary 0)) (C s)) as Hz
    by (rewrite Ec; apply in_or_app; right; apply in_or_app; left; now apply last_in).
  assert (last_of (last run (OfSummary 0)) = u) as Ez by exact (reads_ends (OfSummary 0) Rr Ne).
  assert (Hh0 : on_path s (summary_head s)) by apply path_self, I.
  (* no chapter that ends on the path has u, or top, strictly inside *)
  assert (Nu : forall e : Chapter, In e (chapters s) -> on_path s (last_under e) -> ~ (first_under e <= u < last_under e)).
  { intros e He Hp. rewrite <- Ez. exact (lines_end_outside N Hh0 He Hp Hz). }
  assert (Ntop : forall e : Chapter, In e (chapters s) -> on_path s (last_under e) ->
            ~ (first_under e <= top < last_under e)).
  { intros e He Hp Hb. destruct (inv_chapters I He) as [E0 _].
    assert (l <> []) as Nl.
    { intros El0. rewrite El0 in Rl. inversion Rl as [Et|ls t ? ? ? ? Es]; [lia|now destruct ls]. }
    apply (lines_end_outside N Hh0 He Hp (l := last l (OfSummary 0))).
    - change (lines s (summary_head s)) with (C s). rewrite Ec. apply in_or_app. left. now apply last_in.
    - now rewrite (reads_ends (OfSummary 0) Rl Nl). }
  assert (Below : forall v, In v (summary_path s u) -> top < v -> f <= v).
  { intros v Hv Lv. destruct (le_lt_dec f v) as [|L]; [assumption|exfalso].
    pose proof (above_parent I Hf Hv F0 L) as Hin. fold top in Hin. pose proof (on_path_le I Hin). lia. }
  assert (Ev : forall v, ending_at s' v = if u =? v then h :: ending_at s v else ending_at s v)
    by (intro v; unfold s'; apply ends_with_chapter).
  assert (Lt' : lines s' top = lines s top).
  { apply (lines_kept I I' Ltop); auto. intros v Hv. rewrite Ev. pose proof (on_path_le I Hv).
    destruct (Nat.eqb_spec u v); [lia|reflexivity]. }
  assert (Lu' : lines s' u = l ++ [OfChapter h (ending_at s u)]).
  { pose proof (lines_step I' (t := u) Lu0) as Ls. rewrite Ev, Nat.eqb_refl in Ls. cbn [line_of first_of] in Ls.
    rewrite Ls. change (parent_of s' (first_under h)) with top. now rewrite Lt', El. }
  assert (Other : forall t, 0 < t < next_summary s -> t <> u -> let z := line_of t (ending_at s t) in
            lines s' t = lines s' (parent_of s (first_of z)) ++ [z]).
  { intros t Lt D z. pose proof (lines_step I' (t := t) Lt) as Ls. rewrite Ev in Ls.
    destruct (Nat.eqb_spec u t); [congruence|]. exact Ls. }
  (* the ends that are read are some of those that were *)
  assert (Ends : forall t, t < next_summary s -> forall z, In z (lines s' t) ->
            exists w, In w (lines s t) /\ last_of w = last_of z).
  { intros t. induction t as [t IH] using lt_wf_ind. intros Lt z Hz'.
    destruct (Nat.eq_dec t 0) as [->|N0]; [rewrite lines_0 in Hz'; contradiction|].
    destruct (Nat.eq_dec t u) as [->|D].
    - rewrite Lu' in Hz'. rewrite Elu. apply in_app_or in Hz' as [Hz'|[<-|[]]].
      + exists z. split; [apply in_or_app; now left|reflexivity].
      + exists (last run (OfSummary 0)). split; [apply in_or_app; right; now apply last_in|]. rewrite Ez. reflexivity.
    - assert (0 < t < next_summary s) as Lt0 by lia. pose proof (Other t Lt0 D) as Ls. cbv zeta in Ls.
      destruct (line_above I Lt0) as [Lp _]. rewrite Ls in Hz'. rewrite (lines_step I Lt0).
      apply in_app_or in Hz' as [Hz'|[<-|[]]].
      + destruct (IH _ Lp ltac:(lia) z Hz') as [w [Hw Ew]]. exists w. split; [apply in_or_app; now left|exact Ew].
      + eexists. split; [apply in_or_app; right; now left|reflexivity]. }
  (* what is read inside the new chapter from below it does not end inside *)
  assert (Inside : forall t, on_path s t -> In u (summary_path s t) -> forall z, In z (lines s' t) ->
            ~ (f <= last_of z < u)).
  { intros t. induction t as [t IH] using lt_wf_ind. intros Hpt Hut z Hz'. pose proof (head_path_lt I Hpt) as Lt.
    destruct (Nat.eq_dec t u) as [->|D].
    - rewrite Lu' in Hz'. apply in_app_or in Hz' as [Hz'|[<-|[]]]; [|cbn [last_of]; fold u; lia].
      rewrite <- El in Hz'. destruct (line_bounds I Ltop Hz') as [_ [_ B]]. lia.
    - pose proof (on_path_le I Hut) as Le. assert (0 < t < next_summary s) as Lt0 by lia.
      pose proof (Other t Lt0 D) as Ls. cbv zeta in Ls. destruct (line_above I Lt0) as [Lp Hp].
      destruct (line_stands I Lt0) as [G0 Gp]. pose proof (last_of_line s t) as La.
      set (w := line_of t (ending_at s t)) in *. rewrite Ls in Hz'.
      apply in_app_or in Hz' as [Hz'|[<-|[]]]; [|rewrite La; lia].
      assert (In u (summary_path s (parent_of s (first_of w)))) as Huq.
      { destruct (le_lt_dec (first_of w) u) as [Lw|Lw]; [exfalso|exact (above_parent I Gp Hut G0 Lw)].
        unfold w in Lw. destruct (ending_at s t) as [|e older] eqn:E; simpl in Lw; [lia|].
        assert (In e (ending_at s t)) as He by (rewrite E; now left). apply in_ending_at in He as [He Et].
        apply (Nu e He); rewrite Et; [exact Hpt|lia]. }
      apply (IH _ Lp); auto. exact (path_up I Hpt Hp). }
  assert (Old : forall e : Chapter, In e (chapters s') -> In e (chapters s) \/ e = h).
  { intros e He. apply in_app_or in He as [He|[<-|[]]]; auto. }
  constructor.
  - intros t e z Hpt He Hle Hz'. change (on_path s t) in Hpt. pose proof (head_path_lt I Hpt) as Lt.
    destruct (Old e He) as [He'| ->]; [|exact (Inside t Hpt Hle z Hz')].
    destruct (Ends t Lt z Hz') as [w [Hw Ew]]. rewrite <- Ew. exact (lines_end_outside N Hpt He' Hle Hw).
  - intros c e Hc He Pc Pe Lce Fle. change (on_path s (last_under c)) in Pc. change (on_path s (last_under e)) in Pe.
    destruct (Old c Hc) as [Hc'| ->], (Old e He) as [He'| ->].
    + now apply (none_crosses N).
    + exfalso. apply (Nu c Hc' Pc). fold u in Lce, Fle. lia.
    + fold u in Lce. fold f in Fle |- *. destruct (le_lt_dec f (first_under e)) as [|L]; [assumption|exfalso].
      apply (Ntop e He' Pe). destruct (inv_chapters I He') as [E0 [_ [Ep _]]].
      assert (on_path s f) as Hpf by exact (path_up I Hu Hf).
      assert (on_path s (first_under e)) as Hpe by exact (path_up I Pe Ep).
      pose proof (on_path_le I (above_parent I Hpf Hpe F0 L)). fold top in H. lia.
    + lia.
  - intros v l1 c l2 e Hv E He. change (on_path s v) in Hv. rewrite Ev in E.
    destruct (Nat.eqb_spec u v) as [<-|D]; [|exact (older_is_inside N Hv E He)].
    destruct l1 as [|z l1]; simpl in E; injection E as E1 E; [|exact (older_is_inside N Hv E He)]. subst c.
    fold f. destruct (ending_at s u) as [|d0 rest] eqn:Eu; [subst l2; contradiction|]. subst l2.
    destruct (reads_last Rr Ne) as [run' [_ R']]. rewrite Eu in R'. cbn [line_of first_of] in R'.
    assert (In d0 (ending_at s u)) as H0 by (rewrite Eu; now left). apply in_ending_at in H0 as [H0 Eu0].
    destruct (inv_chapters I H0) as [G0 [_ [Gp _]]]. rewrite Eu0 in Gp. pose proof (inv_parent I G0) as Dg.
    pose proof (on_path_le I Gp) as Lg.
    assert (parent_of s (first_under d0) < next_summary s) as Lq by lia.
    destruct (reads_top I Lq R') as [Htq _]. pose proof (on_path_le I Htq) as Lq'.
    assert (f <= first_under d0) as Lf0 by (apply Below; [exact Gp|lia]).
    destruct He as [<-|He]; [exact Lf0|].
    pose proof (older_is_inside N (l1 := []) Hv Eu He). lia.
Qed.

Lemma nested_reachable : forall s, reachable s -> nested s.
Proof using same_spec same_digest_spec.
  intros s [t [cs ->]]. induction cs as [|c cs IH] using rev_ind.
  - constructor; intros; simpl in *; contradiction || (destruct l1; discriminate).
  - rewrite run_snoc. set (r := run (start t) cs) in *. assert (reachable r) as Re by (exists t, cs; reflexivity).
    unfold Machine.next. destruct (exec r c) as [s'|] eqn:G; [|exact IH].
    destruct c as [x|c|m k|m|a d| |b l|n b m d]; try exact (nested_kept Re IH G Logic.I).
    exact (nested_folded Re IH G).
Qed.

(* I12, inside_stands_for_the_chapter: at every depth, what is inside a chapter that ends on the summary path stands for
   exactly what the chapter itself stands for *)
Theorem inside_stands_for_the_chapter : forall s u newer (c : Chapter) older, reachable s ->
  In u (summary_path s (summary_head s)) -> ending_at s u = newer ++ c :: older ->
  flat_map (under s) (inside s (OfChapter c older)) = under s (OfChapter c older) /\ inside s (OfChapter c older) <> [].
Proof using same_spec same_digest_spec.
  intros s u newer c older Re Hu E. pose proof (reachable_inv same_spec Re) as I. pose proof (nested_reachable Re) as N.
  assert (In c (ending_at s u)) as Hc by (rewrite E; apply in_or_app; right; now left).
  apply in_ending_at in Hc as [Hc Eu]. destruct (inv_chapters I Hc) as [F0 [Lu [Fp _]]]. rewrite Eu in Lu, Fp.
  set (f := first_under c) in *. set (top := parent_of s f) in *. pose proof (inv_parent I F0) as Df. fold top in Df.
  pose proof (on_path_le I Fp) as Lf. assert (on_path s f) as Hpf by exact (path_up I Hu Fp).
  assert (In top (summary_path s u)) as Htu by (apply (parent_on_path I Fp); lia).
  (* from any summary above u, down to top *)
  assert (Rd : forall v, In v (summary_path s u) -> v < u -> top <= v -> exists ls, reads s top ls v).
  { intros v. induction v as [v IH] using lt_wf_ind. intros Hv Lv Lt.
    destruct (Nat.eq_dec v top) as [->|D]; [exists []; constructor|].
    assert (0 < v < next_summary s) as Lv0 by lia. destruct (line_above I Lv0) as [Lp Hp].
    destruct (line_stands I Lv0) as [G0 Gp]. set (z := line_of v (ending_at s v)) in *.
    assert (f <= v) as Lfv.
    { destruct (le_lt_dec f v) as [|L]; [assumption|exfalso].
      pose proof (on_path_le I (above_parent I Fp Hv F0 L)). fold top in H. lia. }
    assert (f <= first_of z) as Lz.
    { unfold z in *. destruct (ending_at s v) as [|e l] eqn:Ez; simpl; [exact Lfv|].
      assert (In e (ending_at s v)) as He by (rewrite Ez; now left). apply in_ending_at in He as [He Ev].
      apply (none_crosses N Hc He); rewrite ?Eu, ?Ev; auto. exact (path_up I Hu Hv). }
    assert (In top (summary_path s (parent_of s (first_of z)))) as Htz.
    { apply (above_parent I (path_up I Hv Gp) Htu G0). lia. }
    destruct (IH _ Lp) as [ls Rs]; [exact (path_up I Hv Hp)|lia|exact (on_path_le I Htz)|].
    exists (ls ++ [z]). constructor; [apply Lv0|exact D|exact Rs]. }
  unfold Machine.inside. rewrite Eu. fold f top. set (z := line_of u older).
  assert (0 < first_of z /\ In (first_of z) (summary_path s u) /\ f <= first_of z /\ last_of z = u) as [G0 [Gp [Lz La]]].
  { unfold z. destruct older as [|e l]; simpl; [repeat split; [lia|apply path_self, I|exact Lf]|].
    assert (In e (ending_at s u)) as He by (rewrite E; apply in_or_app; right; right; now left).
    apply in_ending_at in He as [He Ev]. destruct (inv_chapters I He) as [E0 [_ [Ep _]]]. rewrite Ev in Ep.
    repeat split; auto. apply (older_is_inside N Hu E). now left. }
  pose proof (inv_parent I G0) as Dz. set (v := parent_of s (first_of z)) in *. pose proof (on_path_le I Gp) as Lg.
  assert (In top (summary_path s v)) as Htv by (apply (above_parent I Gp Htu G0); lia).
  assert (In v (summary_path s u)) as Hv by (apply (parent_on_path I Gp); lia).
  destruct (Rd v Hv ltac:(lia) (on_path_le I Htv)) as [ls Rs]. assert (v < next_summary s) as Lv by lia.
  assert (v <= u) as Le by lia.
  rewrite (reads_read I Lv Rs Le). split; [|intro X; symmetry in X; now apply app_cons_not_nil in X].
  pose proof (reads_under I Lv Rs) as U. rewrite flat_map_app. cbn [flat_map]. rewrite app_nil_r.
  unfold Machine.under at 2 3. fold v. rewrite La. cbn [first_of last_of]. rewrite Eu. fold f top.
  apply (app_inv_head (summary_path s top)). rewrite app_assoc, <- U.
  unfold Machine.summary_path. rewrite <- !trace_spec; auto; apply I.
Qed.
End Nested.
