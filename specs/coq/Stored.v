(* Algorithm 1 keeps C and R as lists of its own and updates them as it goes. Here it does so beside the tree,
   line by line, and the lists come to what is derived from the tree: S need not be stored. *)
From Coq Require Import List Arith Bool Lia.
From Mage Require Import Path Machine Invariants Kept Refusals Lost Laws Phases Changes Detours.
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

Definition new_C k s' c :=
  let p_t := entry (summary s' (summary_head s')) in
  match c : Command with
  | Compress _ _ => match stored_R k with
                    | [] => removelast (stored_C k) ++ [p_t]           (* D12: the head's new text *)
                    | _ => stored_C k ++ [p_t]                         (* C || (p_t.content, p_t.id) *)
                    end
  | Retext _ _ => removelast (stored_C k) ++ [p_t]                     (* D16 *)
  | Revise b _ => if b =? current_boundary (tree k) then stored_C k    (* D7: the target more *)
                  else let p_t := summary_head (tree k) in delete_until (tree k) (S p_t) p_t b (stored_C k)
  | Grow _ | Instruct _ | ApplyVerdict _ _ | Accept => stored_C k
  end.
Definition new_R k c :=
  match c : Command with
  | Grow c => stored_R k ++ [c]                                        (* R || (a, o) *)
  | Compress _ _ | Revise _ _ => []
  | Retext _ _ | Instruct _ | ApplyVerdict _ _ | Accept => stored_R k
  end.
Definition update k c :=
  match exec (tree k) c with
  | Machine.Done s' => Store s' (new_C k s' c) (new_R k c)
  | Machine.Refused _ => k
  end.

(* ---- what they come to ---- *)
Definition derived s :=
  Store s (map (fun t => entry (summary s t)) (C s)) (map (fun n => content (step s n)) (R s)).

Lemma entries : forall s l, map (fun t => entry (summary s t)) l = map entry (map (summary s) l).
Proof. intros. now rewrite map_map. Qed.

Lemma C_ends : forall s, Inv s -> 0 < summary_head s ->
  C s = tl (summary_path s (parent_of s (summary_head s))) ++ [summary_head s].
Proof.
  intros s I L. unfold Machine.C. rewrite (path_of_child I L). apply tl_app, path_not_nil.
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
  C s' = C s -> (forall u, u <> summary_head s -> summary s' u = summary s u) ->
  removelast (map (fun t => entry (summary s t)) (C s)) ++ [entry (summary s' (summary_head s'))] =
  map (fun t => entry (summary s' t)) (C s').
Proof using same_spec.
  intros s s' Re L Eh Ec Old. pose proof (reachable_inv same_spec Re) as I.
  rewrite Ec, Eh, (C_ends I L), !map_app. cbn [map]. rewrite removelast_last. f_equal.
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

Lemma deleted_by_revise : forall s b l s', reachable s -> exec s (Revise b l) = Done s' ->
  new_C (derived s) s' (Revise b l) = stored_C (derived s').
Proof using same_spec.
  intros s b l s' Re G. pose proof (reachable_inv same_spec Re) as I.
  destruct (revise_spec I G) as [t [Hin [<- [_ E]]]]. rewrite with_lesson_is in E.
  assert (Ec : stored_C (derived s') = map (fun u => entry (summary s u)) (tl (summary_path s t)))
    by now subst s'.
  rewrite Ec. simpl. pose proof (inv_summary_head I) as L.
  destruct (Nat.eqb_spec (boundary s t) (current_boundary s)) as [B|B].
  - assert (t = summary_head s) as ->; [|reflexivity].
    apply (target_unique I); auto. apply (path_self _ (inv_parent I)).
  - assert (N : t <> summary_head s) by (intros ->; now apply B).
    destruct (child_on_path I Hin N) as [u [Hu [U0 Pu]]]. pose proof (on_path_le I Hu).
    destruct (inv_covers I (t := u)) as [_ [La _]]; [lia|]. rewrite Pu in La. rewrite <- La, <- Pu.
    exact (deleted _ I L (Nat.lt_succ_diag_r _) Hu U0).
Qed.

Lemma update_is_derived : forall s c, reachable s -> update (derived s) c = derived (after s c).
Proof using same_spec same_digest_spec.
  intros s c Re. pose proof (reachable_inv same_spec Re) as I.
  unfold update, Machine.after. cbn [tree derived]. destruct (exec s c) as [s'|] eqn:G; [|reflexivity].
  pose proof (changes_are_local same_spec same_digest_spec Re G) as Lo.
  pose proof (other_views same_spec same_digest_spec Re G) as Vi.
  change (derived s') with (Store s' (stored_C (derived s')) (stored_R (derived s'))).
  enough (new_C (derived s) s' c = stored_C (derived s') /\ new_R (derived s) c = stored_R (derived s'))
    as [-> ->] by reflexivity.
  destruct c as [x|c|m k|m k|a d| |b l]; cbn [derived stored_C stored_R new_C new_R tree].
  - destruct Vi as [-> ->]. destruct Lo as [more [_ ->]]. split; reflexivity.
  - destruct (grow_views same_spec Re G) as [Er [Ec [E Em]]]. split; [now rewrite !entries, Em|].
    rewrite Er, map_app. simpl. rewrite Ec. f_equal. apply map_ext_in. intros n Hn.
    now rewrite (every_step_stands G (R_known I Hn)).
  - destruct Lo as [[_ [_ [_ [_ [Old _]]]]] _]. destruct (R s) as [|n ns] eqn:O.
    + destruct (Vi eq_refl) as [Er Ec]. rewrite Er. split; [|reflexivity]. cbn [map].
      destruct (compress_cases I G) as [_ [_ [[_ [_ [_ [L0 E]]]]|[[N _]|[N _]]]]]; try contradiction.
      assert (Eh : summary_head s' = summary_head s) by (rewrite E; apply retexted_head).
      apply (head_retexted Re L0 Eh Ec). intros u N. apply Old. congruence.
    + assert (N : R s <> []) by congruence.
      destruct (compress_views same_spec Re N G) as [Er [_ [Ec Em]]]. rewrite Er. split; [|reflexivity].
      cbn [map]. rewrite !entries, Em, map_app. f_equal.
      rewrite Ec, map_app in Em. apply app_inj_tail in Em as [_ Em]. simpl. now rewrite Em.
  - destruct Vi as [Er Ec]. destruct Lo as [[_ [Es [_ [_ [Old _]]]]] [Eh _]]. rewrite Er. split.
    + destruct (retext_cases G) as [P _]. apply (head_retexted Re (head_not_root I P) Eh Ec).
      intros u N. apply Old. congruence.
    + symmetry. now apply contents_kept.
  - destruct Vi as [Er Ec]. destruct Lo as [[_ [Es _]] _]. rewrite Er, Ec.
    split; [|symmetry; now apply contents_kept]. apply map_ext. intro u. 
    destruct (apply_verdict_cases same_digest_spec G) as [_ [_ E]].
    destruct a; [|destruct E as [_ E]]; subst s'; now rewrite judged_entry.
  - destruct Vi as [Er Ec]. destruct Lo as [[_ [Es _]] _]. rewrite Er, Ec.
    split; [|symmetry; now apply contents_kept]. apply map_ext. intro u.
    destruct (accept_cases G) as [_ ->]. now rewrite judged_entry.
  - destruct (revise_restores same_spec Re G) as [_ [_ [Er _]]]. rewrite Er. split; [|reflexivity].
    exact (deleted_by_revise Re G).
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
