(* L1: nothing is ever lost. *)
From Coq Require Import List Arith Bool Lia.
From Mage Require Import Path Machine Invariants Kept Refusals.
Import ListNotations.

Definition prefix {T} (l l' : list T) := exists more, l' = l ++ more.

Lemma prefix_refl : forall T (l : list T), prefix l l.
Proof. intros. exists []. now rewrite app_nil_r. Qed.
Lemma prefix_trans : forall T (a b c : list T), prefix a b -> prefix b c -> prefix a c.
Proof. intros T a b c [d ->] [e ->]. exists (d ++ e). now rewrite app_assoc. Qed.
Lemma prefix_app : forall T (l m : list T), prefix l (l ++ m).
Proof. intros. now exists m. Qed.
Lemma prefix_length : forall T (l l' : list T), prefix l l' -> length l <= length l'.
Proof. intros T l l' [m ->]. rewrite app_length. lia. Qed.
Lemma prefix_nth : forall T (l l' : list T) n d, prefix l l' -> n < length l -> nth n l' d = nth n l d.
Proof. intros T l l' n d [m ->] L. now apply app_nth1. Qed.
Global Hint Resolve prefix_refl prefix_app : core.

Section Lost.
Load "Given".
Notation shape := (@Invariants.shape Text).

(* ---- L1 ---- *)
(* an id is a place in its list, so what is listed keeps its id; the shape of a summary is its parent,
   label and covers *)
Record extends s s' : Prop := {
  task_kept : task s' = task s;
  steps_kept : prefix (steps s) (steps s');
  summaries_kept : prefix (map shape (summaries s)) (map shape (summaries s'));
  lessons_kept : prefix (lessons s) (lessons s');
  instructions_kept : prefix (instructions s) (instructions s') }.

Lemma extends_refl : forall s, extends s s.
Proof. constructor; auto. Qed.
Lemma extends_trans : forall a b c, extends a b -> extends b c -> extends a c.
Proof. intros a b c [] []. constructor; try congruence; eauto using prefix_trans. Qed.
Hint Resolve extends_refl : core.

Lemma shape_upd : forall (l : list (Summary Text)) t f, (forall u, shape (f u) = shape u) ->
  map shape (upd l t f) = map shape l.
Proof. induction l as [|u l IH]; intros [|t] f H; simpl; f_equal; auto. Qed.

Lemma changed_extends : forall s t f, (forall u, shape (f u) = shape u) -> extends s (changed_summary s t f).
Proof. intros s t f H. constructor; simpl; auto. rewrite shape_upd; auto. Qed.
Lemma lesson_extends : forall s b l, extends s (with_lesson s b l).
Proof. intros s b l. unfold Machine.with_lesson. destruct (blank l); constructor; simpl; auto. Qed.
Lemma leave_extends : forall s b o, extends s (leave s b o).
Proof. intros s b [l|]; simpl; auto using lesson_extends. Qed.
Lemma retexted_extends : forall s t m k, extends s (retexted s t m k).
Proof.
  intros. unfold Machine.retexted. eapply extends_trans; [|apply leave_extends].
  eapply extends_trans; [|now apply changed_extends]. constructor; simpl; auto.
Qed.
Lemma judged_extends : forall s v, extends s (judged s v).
Proof. intros. now apply changed_extends. Qed.

Lemma extends_shape : forall s s' t, extends s s' -> t < next_summary s ->
  shape (summary s' t) = shape (summary s t).
Proof.
  intros s s' t [_ _ K _ _] L.
  assert (N : forall u, shape (summary u t) = nth t (map shape (summaries u)) (shape root_summary))
    by (intro; symmetry; apply map_nth).
  rewrite !N. apply prefix_nth; [exact K|]. now rewrite map_length.
Qed.
Lemma extends_summaries : forall s s', extends s s' -> next_summary s <= next_summary s'.
Proof.
  intros s s' [_ _ K _ _]. apply prefix_length in K. now rewrite !map_length in K.
Qed.

(* L1: every step keeps its parent and content; every summary its id, parent, label and covers;
   lessons and instructions before are a prefix of those after *)
Theorem nothing_is_lost : forall s c s', exec s c = Done s' -> extends s s'.
Proof.
  intros s [x|c|m k|m|a d| |b l|n b m d] s' H; simpl in H.
  - unfold Machine.instruct in H. by_cases; auto; constructor; simpl; auto.
  - unfold Machine.grow in H. by_cases; constructor; simpl; auto.
  - unfold Machine.compress in H. by_cases; auto using retexted_extends; constructor; simpl; auto.
    all: rewrite map_app; auto.
  - unfold Machine.retext in H. by_cases; apply retexted_extends.
  - unfold Machine.apply_verdict in H. by_cases; apply judged_extends.
  - unfold Machine.accept in H. by_cases; apply judged_extends.
  - unfold Machine.revise in H. by_cases. eapply extends_trans; [|apply lesson_extends].
    constructor; simpl; auto.
  - unfold Machine.fold in H. by_cases; constructor; simpl; auto.
Qed.

(* L1, over any run, refused commands and all *)
Theorem nothing_is_ever_lost : forall cs s, extends s (run s cs).
Proof.
  unfold Machine.run. induction cs as [|c cs IH]; intro s; simpl; auto.
  eapply extends_trans; [|apply IH]. unfold Machine.next.
  destruct (exec s c) eqn:H; auto. eapply nothing_is_lost, H.
Qed.

(* the same, node by node *)
Corollary every_step_stands : forall s c s' n, exec s c = Done s' -> n < next_step s -> step s' n = step s n.
Proof. intros s c s' n H. apply prefix_nth. apply (nothing_is_lost H). Qed.
Corollary every_summary_keeps_its_place : forall s c s' t, exec s c = Done s' -> t < next_summary s ->
  shape (summary s' t) = shape (summary s t).
Proof. intros s c s' t H. exact (extends_shape (nothing_is_lost H)). Qed.
End Lost.
