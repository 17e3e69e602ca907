(* How C is read: from the head upwards, by lines that are summaries or chapters (D19). *)
From Coq Require Import List Arith Lia Bool.
From Mage Require Import Path Machine Invariants.
Import ListNotations.

Section Lines.
Load "Given".
Notation Inv := (Invariants.Inv nothing blank).

(* from t up to top these lines are read, oldest first *)
Inductive reads s (top : nat) : list Line -> nat -> Prop :=
  | read_nothing : reads s top [] top
  | read_one_more : forall ls t, 0 < t -> t <> top -> let l := line_of t (ending_at s t) in
      reads s top ls (parent_of s (first_of l)) -> reads s top (ls ++ [l]) t.

Lemma in_ending_at : forall s t (c : Chapter), In c (ending_at s t) <-> In c (chapters s) /\ last_under c = t.
Proof. intros s t c. unfold Machine.ending_at. now rewrite <- in_rev, filter_In, Nat.eqb_eq. Qed.
Lemma last_of_line : forall s t, last_of (line_of t (ending_at s t)) = t.
Proof.
  intros s t. destruct (ending_at s t) as [|c older] eqn:E; [reflexivity|]. simpl.
  apply (in_ending_at s t c). rewrite E. now left.
Qed.
Lemma line_stands : forall s t, Inv s -> 0 < t < next_summary s -> let l := line_of t (ending_at s t) in
  0 < first_of l /\ In (first_of l) (summary_path s t).
Proof.
  intros s t I Ht. destruct (ending_at s t) as [|c older] eqn:E; simpl.
  - split; [apply Ht|]. apply path_self, I.
  - assert (In c (ending_at s t)) as Hc by (rewrite E; now left). apply in_ending_at in Hc as [Hc <-].
    destruct (inv_chapters I Hc) as [F [_ [P _]]]. now split.
Qed.
Lemma line_above : forall s t, Inv s -> 0 < t < next_summary s ->
  let p := parent_of s (first_of (line_of t (ending_at s t))) in p < t /\ In p (summary_path s t).
Proof.
  intros s t I Ht. destruct (line_stands I Ht) as [F P]. pose proof (on_path_le I P).
  pose proof (inv_parent I F). split; [simpl; lia|]. apply (parent_on_path I P). lia.
Qed.

Lemma read_reads : forall s fuel t, Inv s -> t < next_summary s -> t <= fuel -> reads s 0 (read s fuel 0 t) t.
Proof.
  intros s fuel. induction fuel as [|fuel IH]; intros t I Lt Le; simpl.
  - assert (t = 0) as -> by lia. constructor.
  - destruct (Nat.eqb_spec t 0) as [->|N]; [constructor|].
    destruct (line_above I (t := t) ltac:(lia)) as [Lp _]. constructor; [lia|exact N|]. apply IH; auto; lia.
Qed.
Lemma reads_read : forall s top ls t fuel, Inv s -> t < next_summary s -> reads s top ls t -> t <= fuel ->
  read s fuel top t = ls.
Proof.
  intros s top ls t fuel I Lt Rd. revert fuel Lt. induction Rd as [|ls t H0 N l Rd IH]; intros fuel Lt Le.
  - destruct fuel; simpl; [reflexivity|]. now rewrite Nat.eqb_refl.
  - destruct fuel as [|fuel]; [lia|]. simpl. destruct (Nat.eqb_spec t top); [contradiction|]. fold l.
    destruct (line_above I (t := t) ltac:(lia)) as [Lp _]. fold l in Lp. f_equal. apply IH; lia.
Qed.
Lemma C_reads : forall s, Inv s -> reads s 0 (C s) (summary_head s).
Proof. intros s I. apply (read_reads I (inv_summary_head I)). auto. Qed.

Lemma reads_top : forall s top ls t, Inv s -> t < next_summary s -> reads s top ls t -> In top (summary_path s t) /\
  (ls <> [] -> top < t).
Proof.
  intros s top ls t I Lt Rd. induction Rd as [|ls t H0 N l Rd IH].
  - split; [apply path_self, I|congruence].
  - destruct (line_above I (t := t) ltac:(lia)) as [Lp Hp]. fold l in Lp, Hp. destruct (IH ltac:(lia)) as [Ht _].
    assert (In top (summary_path s t)) as Hin.
    { destruct (path_prefix _ (inv_parent I) _ _ Hp) as [d Hd]. unfold Machine.summary_path. rewrite Hd.
      apply in_or_app. now left. }
    split; [exact Hin|]. intros _. pose proof (on_path_le I Hin). lia.
Qed.
Lemma reads_app : forall s top l r t, Inv s -> t < next_summary s -> reads s top (l ++ r) t ->
  exists mid, reads s top l mid /\ reads s mid r t.
Proof.
  intros s top l r. induction r as [|x r IH] using rev_ind; intros t I Lt Rd.
  - rewrite app_nil_r in Rd. exists t. split; [exact Rd|constructor].
  - rewrite app_assoc in Rd. inversion Rd as [E|ls u H0 N y Rd' E Eu]; [destruct (app_cons_not_nil _ _ _ E)|].
    apply app_inj_tail in E as [-> <-]. subst u.
    destruct (line_above I (t := t) ltac:(lia)) as [Lp Hp]. fold y in Lp.
    assert (parent_of s (first_of y) < next_summary s) as Lx by lia. destruct (IH _ I Lx Rd') as [mid [Rl Rr]].
    exists mid. split; [exact Rl|]. constructor; auto.
    destruct (reads_top I Lx Rr) as [Hm _]. pose proof (on_path_le I Hm). lia.
Qed.
Lemma app_reads : forall s top l mid r t, Inv s -> t < next_summary s -> reads s top l mid -> reads s mid r t ->
  reads s top (l ++ r) t.
Proof.
  intros s top l mid r t I Lt Rl Rr. induction Rr as [|r t H0 N x Rr IH]; [now rewrite app_nil_r|].
  rewrite app_assoc. destruct (line_above I (t := t) ltac:(lia)) as [Lp Hp]. fold x in Lp.
  assert (parent_of s (first_of x) < next_summary s) as Lx by lia. pose proof (IH Lx) as Rx.
  constructor; auto. intros ->.
  destruct (reads_top I Lx Rx) as [Ht _]. pose proof (on_path_le I Ht). lia.
Qed.

(* what stands under the lines is the path *)
Lemma reads_under : forall s top ls t, Inv s -> t < next_summary s -> reads s top ls t ->
  summary_path s t = summary_path s top ++ flat_map (under s) ls.
Proof.
  intros s top ls t I Lt Rd. induction Rd as [|ls t H0 N l Rd IH]; [now rewrite app_nil_r|].
  destruct (line_above I (t := t) ltac:(lia)) as [Lp Hp]. fold l in Lp, Hp.
  rewrite flat_map_app. simpl. rewrite app_nil_r, app_assoc, <- IH by lia. unfold Machine.under.
  replace (last_of l) with t by (symmetry; apply last_of_line). apply trace_spec; [apply I|exact Hp].
Qed.
Lemma reads_line : forall s top ls t x, Inv s -> t < next_summary s -> reads s top ls t -> In x ls ->
  let u := last_of x in x = line_of u (ending_at s u) /\ In u (summary_path s t) /\ 0 < u /\ top < u.
Proof.
  intros s top ls t x I Lt Rd. induction Rd as [|ls t H0 N l Rd IH]; intros Hx; [contradiction|].
  destruct (line_above I (t := t) ltac:(lia)) as [Lp Hp]. fold l in Lp, Hp.
  apply in_app_or in Hx as [Hx|[<-|[]]].
  - destruct (IH ltac:(lia) Hx) as [E [Hu Rest]]. split; [exact E|]. split; [|exact Rest].
    destruct (path_prefix _ (inv_parent I) _ _ Hp) as [d Hd]. unfold Machine.summary_path. rewrite Hd.
    apply in_or_app. now left.
  - unfold l. rewrite last_of_line. split; [reflexivity|]. split; [apply path_self, I|]. split; [exact H0|].
    apply (reads_top I Lt (read_one_more H0 N Rd)). intro E. symmetry in E. now apply app_cons_not_nil in E.
Qed.

(* two states that agree on the way up and on the chapters that end there read the same *)
Lemma reads_kept : forall s s' top ls t, Inv s -> t < next_summary s -> reads s top ls t ->
  (forall u, u < next_summary s -> parent_of s' u = parent_of s u) ->
  (forall u, In u (summary_path s t) -> top < u -> ending_at s' u = ending_at s u) -> reads s' top ls t.
Proof.
  intros s s' top ls t I Lt Rd Pa Ea. induction Rd as [|ls t H0 N l Rd IH]; [constructor|].
  destruct (line_above I (t := t) ltac:(lia)) as [Lp Hp]. fold l in Lp, Hp.
  destruct (line_stands I (t := t) ltac:(lia)) as [_ Fp]. fold l in Fp. pose proof (on_path_le I Fp).
  destruct (reads_top I Lt (read_one_more H0 N Rd)) as [_ Ht].
  assert (top < t) as Lo by (apply Ht; intro E; symmetry in E; now apply app_cons_not_nil in E).
  pose proof (Ea t (path_self _ (inv_parent I) t) Lo) as Et.
  assert (reads s' top ls (parent_of s (first_of l))) as Rd'.
  { apply IH; [lia|]. intros u Hu Lu. apply Ea; [|exact Lu].
    destruct (path_prefix _ (inv_parent I) _ _ Hp) as [d Hd]. unfold Machine.summary_path. rewrite Hd.
    apply in_or_app. now left. }
  rewrite <- (Pa (first_of l)) in Rd' by lia. unfold l in *. rewrite <- Et in Rd' |- *. now constructor.
Qed.
Lemma lines_kept : forall s s' t, Inv s -> Inv s' -> t < next_summary s -> next_summary s <= next_summary s' ->
  (forall u, u < next_summary s -> parent_of s' u = parent_of s u) ->
  (forall u, In u (summary_path s t) -> ending_at s' u = ending_at s u) -> lines s' t = lines s t.
Proof.
  intros s s' t I I' Lt Ln Pa Ea. apply (reads_read (top := 0) I' (t := t)); [lia| |auto].
  apply (reads_kept I Lt (read_reads I Lt (le_n t)) Pa). intros u Hu _. now apply Ea.
Qed.

(* ---- the run that is folded ---- *)
Lemma run_is_shown : forall s n b run, run_to_fold s n b = Some run -> exists l r, C s = l ++ run ++ r.
Proof.
  intros s n b run E. unfold Machine.run_to_fold in E.
  assert (forall ls, exists l, ls = l ++ from_label nothing s n ls) as Fr.
  { induction ls as [|x ls [l IH]]; [now exists []|]. simpl. destruct (_ =? _); [now exists []|].
    exists (x :: l). simpl. now rewrite <- IH. }
  assert (forall ls run, to_boundary nothing s b ls = Some run -> exists r, ls = run ++ r) as To.
  { induction ls as [|x ls IH]; simpl; [discriminate|]. intros q Eq. destruct (_ =? _).
    - injection Eq as <-. now exists ls.
    - destruct (to_boundary nothing s b ls) as [q'|]; [|discriminate]. injection Eq as <-.
      destruct (IH q' eq_refl) as [r ->]. now exists r. }
  destruct (Fr (C s)) as [l El]. destruct (to_boundary _ _ _ _) as [q|] eqn:Eq; [|discriminate].
  destruct (To _ _ Eq) as [r Er]. exists l, r. rewrite El at 1. f_equal. rewrite Er. f_equal.
  destruct q as [|x [|y q]]; try discriminate. destruct (forallb _ _); [|discriminate]. now injection E as <-.
Qed.
Lemma run_is_long : forall s n b run, run_to_fold s n b = Some run ->
  (exists x y r, run = x :: y :: r) /\ (forall l, In l run -> foldable nothing s l = true).
Proof.
  intros s n b run E. unfold Machine.run_to_fold in E. destruct (to_boundary _ _ _ _) as [q|]; [|discriminate].
  destruct q as [|x [|y q]]; try discriminate. destruct (forallb _ _) eqn:F; [|discriminate]. injection E as <-.
  split; [eauto|]. now apply forallb_forall.
Qed.
Lemma last_in : forall T (l : list T) d, l <> [] -> In (last l d) l.
Proof.
  intros T l d N. destruct (exists_last N) as [l' [x ->]]. rewrite last_last. apply in_or_app. right. now left.
Qed.
Lemma reads_ends : forall s top ls t d, reads s top ls t -> ls <> [] -> last_of (last ls d) = t.
Proof.
  intros s top ls t d Rd N. destruct Rd; [contradiction|]. rewrite last_last. apply last_of_line.
Qed.

Lemma reads_starts : forall s top x ls t, reads s top (x :: ls) t -> top = parent_of s (first_of x).
Proof.
  intros s top x ls t Rd. remember (x :: ls) as xs eqn:E. revert x ls E.
  induction Rd as [|ls' t H0 N l Rd IH]; intros x ls E; [discriminate|].
  destruct ls' as [|y ls']; simpl in E; injection E as <- E; [|now apply (IH y ls')].
  now inversion Rd as [|? ? ? ? ? ? En]; [|destruct (app_cons_not_nil _ _ _ (eq_sym En))].
Qed.

(* where it stands, and what its chapter is *)
Lemma folded : forall s n b run m, Inv s -> run_to_fold s n b = Some run ->
  let c := chapter_of s run m in
  (exists l r, C s = l ++ run ++ r /\ reads s 0 l (parent_of s (first_under c)) /\
     reads s (parent_of s (first_under c)) run (last_under c) /\ reads s (last_under c) r (summary_head s)) /\
  0 < first_under c /\ In (last_under c) (summary_path s (summary_head s)) /\
  In (first_under c) (summary_path s (last_under c)) /\ kind (summary s (last_under c)) = Subgoal.
Proof.
  intros s n b run m I E c. destruct (run_is_shown E) as [l [r Ec]].
  destruct (run_is_long E) as [[x [y [q Er]]] Fo]. pose proof (inv_summary_head I) as Lh.
  pose proof (C_reads I) as Rd. rewrite Ec in Rd. destruct (reads_app I Lh Rd) as [m1 [Rl Rm]].
  destruct (reads_app I Lh Rm) as [m2 [Rr Re]].
  destruct (reads_top I Lh Re) as [Hm2 _]. pose proof (head_path_lt I Hm2) as L2.
  assert (run <> []) as Ne by (rewrite Er; discriminate).
  assert (last_under c = m2) as -> by (apply (reads_ends (OfSummary 0) Rr Ne)).
  assert (first_under c = first_of x) as -> by (unfold c; rewrite Er; reflexivity).
  assert (m1 = parent_of s (first_of x)) as <- by (rewrite Er in Rr; exact (reads_starts Rr)).
  split; [exists l, r; auto|].
  assert (In x run) as Hx by (rewrite Er; now left).
  destruct (reads_line I L2 Rr Hx) as [Ex [Hu [U0 _]]]. pose proof (on_path_le I Hu) as Lu.
  destruct (line_stands I (t := last_of x) ltac:(lia)) as [F0 Fp]. rewrite <- Ex in F0, Fp.
  split; [exact F0|]. split; [exact Hm2|]. split.
  - destruct (path_prefix _ (inv_parent I) _ _ Hu) as [d Hd]. unfold Machine.summary_path. rewrite Hd.
    apply in_or_app. now left.
  - pose proof (last_in (OfSummary 0) Ne) as Hla. destruct (reads_line I L2 Rr Hla) as [El _].
    rewrite (reads_ends (OfSummary 0) Rr Ne) in El. pose proof (Fo _ Hla) as Fl. rewrite El in Fl.
    destruct (ending_at s m2) as [|d older] eqn:Ed; simpl in Fl.
    + unfold Machine.is_fallback in Fl. now destruct (kind (summary s m2)).
    + assert (In d (ending_at s m2)) as Hd by (rewrite Ed; now left). apply in_ending_at in Hd as [Hd <-].
      now destruct (inv_chapters I Hd) as [_ [_ [_ [K _]]]].
Qed.
End Lines.
