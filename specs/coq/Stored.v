(* Algorithm 1 keeps C and R as lists of its own and updates them as it goes. Here it does so beside the tree,
   line by line, and the lists come to what is derived from the tree: S need not be stored. Algorithm 1 knows no
   chapters: its C is what the lines of C stand for (I12). And one thing no list of lines can give back: the
   fallbacks that a subgoal took in, where the agent goes back to one of them (D7). They are read from the tree. *)
From Coq Require Import List Arith Bool Lia.
From Mage Require Import Path Machine Invariants Lines Kept Refusals Lost Laws Phases Changes Detours.
Import ListNotations.

Section Stored.
Load "Given".
Notation Inv := (Inv nothing blank).

(* ---- the lists of Algorithm 1 ---- *)
Definition entry (u : Summary Text) := (text u, label u).              (* (p_t.content, p_t.id), see D1 *)
Record Stored := Store { tree : State; stored_C : list (Text * nat); stored_R : list (Content Text) }.

(* the loop of Revise: while p_t.id <> b: C.Delete(p_t), p_t <- p_t.parent; then once more *)
Fixpoint delete_until s (fuel t b : nat) (l : list (Text * nat)) :=
  match fuel with
  | 0 => l
  | S more => if label (summary s t) =? b then removelast l
              else delete_until s more (parent_of s t) b (removelast l)
  end.

(* while p_t is a fallback: C.Delete(p_t), p_t <- p_t.parent: a subgoal takes them in (D12) *)
Fixpoint delete_fallbacks s (fuel t : nat) (l : list (Text * nat)) :=
  match fuel with
  | 0 => l
  | S more => match kind (summary s t) with
              | Fallback => delete_fallbacks s more (parent_of s t) (removelast l)
              | Subgoal => l
              end
  end.

Definition shown s := tl (summary_path s (summary_head s)).
Definition entries s := map (fun t => entry (summary s t)) (shown s).
Definition new_C k s' c :=
  let p_t := entry (summary s' (summary_head s')) in let head := summary_head (tree k) in
  match c : Command with
  | Compress _ Subgoal => delete_fallbacks (tree k) (S head) head (stored_C k) ++ [p_t]
  | Compress _ Fallback => stored_C k ++ [p_t]                         (* C || (p_t.content, p_t.id) *)
  | Retext _ => removelast (stored_C k) ++ [p_t]                       (* D16 *)
  | Revise b _ => if b =? current_boundary (tree k) then stored_C k    (* D7: the target more *)
                  else if existsb (fun t => label (summary (tree k) t) =? b) (shown (tree k))
                  then delete_until (tree k) (S head) head b (stored_C k)
                  else entries s'                                      (* D7: a fallback that was taken in *)
  | Grow _ | Instruct _ | ApplyVerdict _ _ | Accept | Fold _ _ _ _ => stored_C k
  end.
Definition new_R k c :=
  match c : Command with
  | Grow c => stored_R k ++ [c]                                        (* R || (a, o) *)
  | Compress _ _ | Revise _ _ => []
  | Retext _ | Instruct _ | ApplyVerdict _ _ | Accept | Fold _ _ _ _ => stored_R k
  end.
Definition update k c :=
  match exec (tree k) c with
  | Machine.Done s' => Store s' (new_C k s' c) (new_R k c)
  | Machine.Refused _ => k
  end.

(* ---- what they come to ---- *)
Definition derived s := Store s (entries s) (map (fun n => content (step s n)) (R s)).

Lemma shown_ends : forall s, Inv s -> 0 < summary_head s ->
  shown s = tl (summary_path s (parent_of s (summary_head s))) ++ [summary_head s].
Proof.
  intros s I L. unfold shown. rewrite (path_of_child I L). apply tl_app, path_not_nil.
Qed.

Lemma R_known : forall s n, Inv s -> In n (R s) -> n < next_step s.
Proof.
  intros s n I Hn. pose proof (inv_step_head I).
  assert (Hp : In n (active_path s)) by (rewrite (open_segment_spec I); apply in_or_app; now right).
  apply (path_le _ (inv_above I)) in Hp. lia.
Qed.

Lemma contents_kept : forall s s' l, steps s' = steps s ->
  map (fun n => content (step s' n)) l = map (fun n => content (step s n)) l.
Proof. intros s s' l E. apply map_ext. intro n. unfold Machine.step. now rewrite E. Qed.

(* a new text for the head changes the last entry only *)
Lemma head_retexted : forall s s', reachable s -> 0 < summary_head s -> summary_head s' = summary_head s ->
  shown s' = shown s -> (forall u, u <> summary_head s -> summary s' u = summary s u) ->
  removelast (entries s) ++ [entry (summary s' (summary_head s'))] = entries s'.
Proof using same_spec.
  intros s s' Re L Eh Ec Old. pose proof (reachable_inv same_spec Re) as I. unfold entries.
  rewrite Ec, Eh, (shown_ends I L), !map_app. cbn [map]. rewrite removelast_last. f_equal.
  apply map_ext_in. intros u Hu. rewrite Old; [reflexivity|]. intros ->.
  assert (Hp : In (summary_head s) (summary_path s (parent_of s (summary_head s))))
    by (destruct (summary_path s _); [contradiction|now right]).
  pose proof (on_path_le I Hp). pose proof (inv_parent I L). lia.
Qed.

Lemma judged_entry : forall s v u, entry (summary (judged s v) u) = entry (summary s u).
Proof.
  intros s v u. unfold judged. destruct (Nat.eq_dec u (summary_head s)) as [->|N].
  - rewrite changed_summary_is, Nat.eqb_refl. destruct (_ <? _); reflexivity.
  - now rewrite changed_other.
Qed.

Lemma deleted : forall s (f : nat -> Text * nat) fuel n t, Inv s -> n < next_summary s -> n < fuel ->
  In t (summary_path s n) -> t <> 0 ->
  delete_until s fuel n (label (summary s t)) (map f (tl (summary_path s n))) =
  map f (tl (summary_path s (parent_of s t))).
Proof.
  intros s f. induction fuel as [|fuel IH]; intros n t I L F Hin T0; [lia|].
  pose proof (on_path_le I Hin). assert (L0 : 0 < n) by lia. pose proof (inv_parent I L0) as D.
  assert (E : removelast (map f (tl (summary_path s n))) = map f (tl (summary_path s (parent_of s n)))).
  { rewrite (path_of_child I L0), tl_app by apply path_not_nil. rewrite map_app. apply removelast_last. }
  cbn [delete_until]. rewrite E. destruct (Nat.eq_dec t n) as [->|Tn]; [now rewrite Nat.eqb_refl|].
  pose proof (labels_differ I L Hin T0 Tn) as Dl. apply Nat.eqb_neq in Dl. rewrite Dl.
  rewrite (path_of_child I L0) in Hin. apply in_app_or in Hin as [Hin|[Et|[]]]; [|congruence].
  apply IH; auto; lia.
Qed.

Lemma fallbacks_deleted : forall s (f : nat -> Text * nat) fuel n, Inv s -> n < fuel ->
  delete_fallbacks s fuel n (map f (tl (summary_path s n))) = map f (tl (summary_path s (base s n))).
Proof.
  intros s f. induction fuel as [|fuel IH]; intros n I F; [lia|]. simpl. rewrite (base_of n I).
  destruct (kind (summary s n)) eqn:K; [reflexivity|].
  destruct n as [|n]; [rewrite (inv_root I) in K; discriminate|].
  pose proof (inv_parent I (n := S n) ltac:(lia)) as D. rewrite <- (IH (parent_of s (S n)) I) by lia.
  f_equal. rewrite (path_of_child I), tl_app by (lia || apply path_not_nil). rewrite map_app. apply removelast_last.
Qed.

Lemma deleted_by_revise : forall s b l s', reachable s -> exec s (Revise b l) = Done s' ->
  new_C (derived s) s' (Revise b l) = entries s'.
Proof using same_spec.
  intros s b l s' Re G. pose proof (reachable_inv same_spec Re) as I. pose proof (inv_summary_head I) as L.
  destruct (revise_restores same_spec (b := b) (l := l) Re G) as [_ [_ [_ [_ [_ [Pa [Es [_ Ta]]]]]]]].
  assert (Ec : entries s' = map (fun u => entry (summary s u)) (tl (summary_path s (summary_head s')))).
  { unfold entries, shown. rewrite Pa. apply map_ext. intro u. unfold Machine.summary. now rewrite Es. }
  unfold new_C. cbn [tree stored_C derived].
  destruct (Nat.eqb_spec b (current_boundary s)) as [B|B].
  - destruct (Ta (summary_head s) (path_self _ (inv_parent I) _) (eq_sym B)) as [Eh _]. rewrite Ec, Eh. reflexivity.
  - destruct (existsb _ _) eqn:X; [|reflexivity]. apply existsb_exists in X as [u [Hu E]]. apply Nat.eqb_eq in E.
    assert (U0 : u <> 0).
    { intros ->. pose proof (path_nodup _ (inv_parent I) (summary_head s)) as N. unfold shown, Machine.summary_path in Hu.
      rewrite (path_from_root (summary_head s) (inv_parent I)) in N. inversion N. contradiction. }
    assert (Hp : In u (summary_path s (summary_head s)))
      by (unfold shown in Hu; destruct (summary_path s (summary_head s)); [contradiction|now right]).
    pose proof (head_path_lt I Hp). destruct (inv_covers I (t := u)) as [_ [La _]]; [lia|].
    destruct (Ta (parent_of s u) (parent_on_path I Hp U0) ltac:(congruence)) as [Eh _].
    rewrite Ec, Eh, <- E. exact (deleted _ I L (Nat.lt_succ_diag_r _) Hp U0).
Qed.

Lemma update_is_derived : forall s c, reachable s -> update (derived s) c = derived (next s c).
Proof using same_spec same_digest_spec.
  intros s c Re. pose proof (reachable_inv same_spec Re) as I.
  unfold update, Machine.next. cbn [tree derived]. destruct (exec s c) as [s'|] eqn:G; [|reflexivity].
  pose proof (changes_are_local same_spec same_digest_spec Re G) as Lo.
  pose proof (other_views same_spec same_digest_spec Re G) as Vi.
  change (derived s') with (Store s' (entries s') (stored_R (derived s'))).
  enough (new_C (derived s) s' c = entries s' /\ new_R (derived s) c = stored_R (derived s'))
    as [-> ->] by reflexivity.
  assert (Same : (forall u, entry (summary s' u) = entry (summary s u)) -> shown s' = shown s -> entries s = entries s').
  { intros Ee Es. unfold entries. rewrite Es. apply map_ext. intro u. now rewrite Ee. }
  assert (Judged : forall v u, s' = judged s v -> entry (summary s' u) = entry (summary s u))
    by (intros v u ->; apply judged_entry).
  destruct c as [x|c|m k|m|a d| |b l|n b m d]; cbn [derived stored_C stored_R new_C new_R tree].
  - destruct Vi as [-> [_ Vs]]. destruct Lo as [more [_ E]]. split; [|now rewrite E].
    apply Same; [now rewrite E|unfold shown; now rewrite Vs].
  - destruct (grow_views same_spec Re G) as [Er [Ec [_ [Es Em]]]]. split.
    + apply Same; [intro u; unfold Machine.summary; now rewrite Em|unfold shown; now rewrite Es].
    + rewrite Er, map_app. simpl. rewrite Ec. f_equal. apply map_ext_in. intros n Hn.
      now rewrite (every_step_stands G (R_known I Hn)).
  - destruct (compress_views same_spec Re G) as [Er [_ [_ [Pa [_ [Old _]]]]]]. rewrite Er. split; [|reflexivity].
    assert (E : entries s' = map (fun u => entry (summary s u)) (tl (summary_path s (new_parent s k))) ++
                             [entry (summary s' (summary_head s'))]).
    { unfold entries, shown. rewrite Pa, tl_app by apply path_not_nil. rewrite map_app. f_equal.
      apply map_ext_in. intros u Hu. rewrite Old; [reflexivity|]. destruct (summary_path s _); [contradiction|now right]. }
    rewrite E. destruct k; [|reflexivity]. f_equal. exact (fallbacks_deleted _ I (Nat.lt_succ_diag_r _)).
  - destruct Vi as [Er [_ Vs]]. destruct Lo as [[_ [Es [_ [_ [Old _]]]]] [Eh _]]. rewrite Er. split.
    + destruct (retext_cases G) as [P _].
      apply (head_retexted Re (head_not_root I P) Eh); [unfold shown; now rewrite Vs|].
      intros u N. apply Old. congruence.
    + symmetry. now apply contents_kept.
  - destruct Vi as [Er [_ Vs]]. destruct Lo as [[_ [Es _]] _]. rewrite Er.
    split; [|symmetry; now apply contents_kept]. apply Same; [|unfold shown; now rewrite Vs]. intro u.
    destruct (apply_verdict_cases same_digest_spec G) as [_ [_ E]].
    destruct a; [|destruct E as [_ [_ E]]]; exact (Judged _ u E).
  - destruct Vi as [Er [_ Vs]]. destruct Lo as [[_ [Es _]] _]. rewrite Er.
    split; [|symmetry; now apply contents_kept]. apply Same; [|unfold shown; now rewrite Vs]. intro u.
    destruct (accept_cases G) as [_ E]. exact (Judged _ u E).
  - destruct (revise_restores same_spec (b := b) (l := l) Re G) as [_ [_ [Er _]]]. rewrite Er. split; [|reflexivity].
    exact (deleted_by_revise Re G).
  - destruct Vi as [Er Vs]. destruct Lo as [h [_ [_ E]]]. rewrite Er. split; [|now rewrite E].
    apply Same; [now rewrite E|unfold shown; now rewrite Vs].
Qed.

(* S is derived, never stored: C and R as Algorithm 1 keeps them are what the tree says, after any run *)
Theorem stored_is_derived : forall t cs,
  fold_left update cs (Store (start t) [] []) = derived (run (start t) cs).
Proof using same_spec same_digest_spec.
  intros t cs. induction cs as [|c cs IH] using rev_ind; [reflexivity|].
  unfold Machine.run in *. rewrite !fold_left_app, IH. simpl.
  apply update_is_derived. now exists t, cs.
Qed.
End Stored.
