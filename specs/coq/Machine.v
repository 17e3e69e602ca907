(* The four operations of the paper and what goes with them, with the decisions D1 to D18 of
   ../README.md, as total functions. This is the definition that everything else is held against:
   Invariants.v and Laws.v prove what it keeps, Extract.v makes the oracle of it, and the engine in
   mage/engine/machine.py is compared with that oracle, command by command.

   It is written to be read beside Algorithm 1, so nothing here is fast: nodes stand in lists, an id
   is a place in its list, and every question is answered by walking up from a node.

   Texts, the test for a blank one and the digest of a question are given from outside.
   Not here: what needs no model (D11, D13 and D18 are policy, D14 is the world's) and indexes (I10). *)
From Coq Require Import List Arith Bool.
From Mage Require Import Path.
Import ListNotations.
Set Implicit Arguments. Set Contextual Implicit. Set Maximal Implicit Insertion.

Inductive Kind := Subgoal | Fallback.
Inductive Fault := InExecution | InSummary.            (* D16 *)
Inductive Phase := Active | Unverified | Rejected.     (* D6 *)

Section Machine.
Variable Text : Type.
Variable nothing : Text.                               (* what the sentinels hold, never shown *)
Variable same : Text -> Text -> bool.
Variable blank : Text -> bool.                         (* nothing is left by str.strip (D3) *)

(* ---- what the tree is made of ---- *)
Definition Content := (Text * Text)%type.              (* (a, o) *)
Inductive Verdict :=
  | Pending | Passed | Failed (feedback : Text) (fault : Fault)
  | Accepted (despite : option (Text * Fault)).
Record Step := MkStep { above : nat; content : Content }.
Record Summary := MkSummary { parent : nat; label : nat; covers : list nat;
                              text : Text; kind : Kind; verdict : Verdict }.
Record State := MkState {
  task : Text;
  steps : list Step; summaries : list Summary;
  step_head : nat; summary_head : nat;                 (* p_b and p_t *)
  lessons : list (nat * Text);                         (* at a boundary, oldest first *)
  instructions : list (nat * (Text * bool)) }.         (* at a step; whether it is standing *)

Definition root_step := MkStep 0 (nothing, nothing).   (* D2 *)
Definition root_summary := MkSummary 0 0 [0] nothing Subgoal Passed.
Definition start t := MkState t [root_step] [root_summary] 0 0 [] [].

(* ---- one path of it ---- *)
Definition step s n := nth n (steps s) root_step.
Definition summary s t := nth t (summaries s) root_summary.
Definition next_step s := length (steps s).            (* l *)
Definition next_summary s := length (summaries s).
Definition above_of s n := above (step s n).
Definition parent_of s t := parent (summary s t).
Definition boundary s t := last (covers (summary s t)) 0.       (* cover_nodes[-1] *)
Definition current_boundary s := boundary s (summary_head s).
Definition step_path s n := path (above_of s) n.
Definition summary_path s t := path (parent_of s) t.
Definition active_path s := step_path s (step_head s).
Definition steps_after s b n := trace (above_of s) b n.         (* D3: exclusive of b *)
Definition open_segment s := steps_after s (current_boundary s) (step_head s).

(* ids beside what they name, without the sentinel *)
Definition numbered {T} (l : list T) := combine (seq 1 (length l - 1)) (tl l).
Definition step_children s n :=
  map fst (filter (fun c => above (snd c) =? n) (numbered (steps s))).
Definition summary_children s t :=
  map fst (filter (fun c => parent (snd c) =? t) (numbered (summaries s))).

(* ---- S = (C, R, H), derived from one path (D9) ---- *)
Definition C s := tl (summary_path s (summary_head s)).
Definition R s := open_segment s.
Definition lessons_at s b := map snd (filter (fun x => fst x =? b) (lessons s)).
Definition H s := (step_children s (step_head s), summary_children s (summary_head s),
                   lessons_at s (current_boundary s)).
(* the steps that C and R stand for, in execution order *)
Definition told s := flat_map (fun t => covers (summary s t)) (summary_path s (summary_head s)) ++ R s.

(* ---- phases (D6): what the verdict of the summary head says ---- *)
Definition phase_of_verdict v :=
  match v with Pending => Unverified | Failed _ _ => Rejected | Passed | Accepted _ => Active end.
Definition phase s := phase_of_verdict (verdict (summary s (summary_head s))).
Definition trusted v := match v with Passed | Accepted _ => true | _ => false end.

(* ---- instructions in force (D17) ---- *)
Definition instructions_at s n := map snd (filter (fun x => fst x =? n) (instructions s)).
Definition placed s ns := flat_map (fun n => map (pair n) (instructions_at s n)) ns.
(* t or the nearest summary above it that is no fallback; [fuel] is at least the way up *)
Fixpoint no_fallback s (fuel t : nat) : nat :=
  match fuel with
  | 0 => t
  | S more => match kind (summary s t) with
              | Fallback => no_fallback s more (parent_of s t)
              | Subgoal => t
              end
  end.
Definition base s t := boundary s (no_fallback s t t).
Definition not_standing (x : nat * (Text * bool)) := negb (snd (snd x)).
Definition standing (x : nat * (Text * bool)) := snd (snd x).
Definition in_force s (b : nat) (from_base : list nat) : list Text :=
  let higher := placed s (removelast (step_path s b)) in
  let here := placed s from_base in
  let nearest := match filter not_standing here with
                 | [] => Some (last (map fst (filter not_standing higher)) 0)
                 | _ => None end in
  let stays x := standing x || match nearest with Some n => fst x =? n | None => false end in
  map (fun x => fst (snd x)) (filter stays higher ++ here).
Definition instructions_shown s :=
  let b := base s (summary_head s) in in_force s b (b :: steps_after s b (step_head s)).
Definition instructions_judged s t :=
  let b := base s (parent_of s t) in
  in_force s b (b :: removelast (steps_after s b (boundary s t))).

(* ---- what a judge is asked (D5, D12) ---- *)
Fixpoint fallbacks_upwards s (fuel t : nat) : list nat :=      (* oldest first *)
  match fuel with
  | 0 => []
  | S more => match kind (summary s t) with
              | Fallback => fallbacks_upwards s more (parent_of s t) ++ [t]
              | Subgoal => []
              end
  end.
Definition earlier s t :=
  match kind (summary s t) with
  | Subgoal => fallbacks_upwards s t (parent_of s t)
  | Fallback => []
  end.
Definition told_by s t := map (fun n => (n, content (step s n))) (covers (summary s t)).
Record Question := Ask {
  asked_task : Text; asked_instructions : list Text; asked_kind : Kind; asked_summary : nat;
  asked_covers : list (nat * Content);
  asked_earlier : list (Text * list (nat * Content));
  asked_text : Text }.
Definition question s t :=
  Ask (task s) (instructions_judged s t) (kind (summary s t)) t (told_by s t)
      (map (fun u => (text (summary s u), told_by s u)) (earlier s t)) (text (summary s t)).
(* the request itself: labels beside the earlier texts, and the steps in one run *)
Definition steps_judged s t := flat_map (fun u => covers (summary s u)) (earlier s t ++ [t]).
Definition steps_since_root s t := tl (step_path s (boundary s t)).     (* D18 *)

Variable Digest : Type.
Variable same_digest : Digest -> Digest -> bool.
Variable digest_of : Question -> Digest.
Definition digest s := digest_of (question s (summary_head s)).
Definition expected s := match phase s with Unverified => Some (digest s) | _ => None end.

(* ---- answers ---- *)
Inductive Refusal :=
  | IllegalPhase | EmptySegment (current : nat) | BlankSummary | BlankInstruction | BlankFeedback
  | StaleVerdict (wanted : option Digest) | UnknownBoundary (legal : list nat).
Inductive Outcome := Done (s : State) | Refused (why : Refusal).

(* ---- edits ---- *)
Definition at_heads s n t := MkState (task s) (steps s) (summaries s) n t (lessons s) (instructions s).
Definition with_step s c :=
  MkState (task s) (steps s ++ [MkStep (step_head s) c]) (summaries s)
          (next_step s) (summary_head s) (lessons s) (instructions s).
Definition with_summary s new :=
  MkState (task s) (steps s) (summaries s ++ [new])
          (step_head s) (next_summary s) (lessons s) (instructions s).
Definition changed_summary s t f :=
  MkState (task s) (steps s) (upd (summaries s) t f) (step_head s) t (lessons s) (instructions s).
Definition with_lesson s b l :=                                (* a blank one leaves none *)
  if blank l then s else
  MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s)
          (lessons s ++ [(b, l)]) (instructions s).
Definition with_instruction s x :=
  MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s)
          (lessons s) (instructions s ++ [(step_head s, x)]).

(* ---- Grow ---- *)
Definition same_content (c d : Content) := same (fst c) (fst d) && same (snd c) (snd d).
Definition child_with s c :=
  find (fun n => same_content c (content (step s n))) (step_children s (step_head s)).
Definition grow s c : Outcome :=
  match phase s with
  | Rejected => Refused IllegalPhase
  | Active | Unverified =>
      match child_with s c with
      | Some n => Done (at_heads s n (summary_head s))         (* merge node *)
      | None => Done (with_step s c)
      end
  end.

(* ---- Compress ---- *)
(* what a verdict says against the steps outlives the text (D4) *)
Definition feedback_on_steps v :=
  match v with
  | Failed f InExecution | Accepted (Some (f, InExecution)) => Some f
  | _ => None
  end.
Definition leave s b (o : option Text) := match o with Some l => with_lesson s b l | None => s end.
Definition set_text m k u := MkSummary (parent u) (label u) (covers u) m k Pending.
Definition retexted s t m k :=
  leave (changed_summary s t (set_text m k)) (label (summary s t))
        (feedback_on_steps (verdict (summary s t))).

Definition same_ids (x y : list nat) := if list_eq_dec Nat.eq_dec x y then true else false.
Definition child_covering s c :=
  find (fun t => same_ids c (covers (summary s t))) (summary_children s (summary_head s)).
Definition completes s k :=                                    (* D12 *)
  match kind (summary s (summary_head s)), k with Fallback, Subgoal => true | _, _ => false end.
Definition compress s m k : Outcome :=
  match phase s with
  | Unverified | Rejected => Refused IllegalPhase
  | Active =>
      match open_segment s with
      | [] => if negb (completes s k) then Refused (EmptySegment (current_boundary s))
              else if blank m then Refused BlankSummary
              else Done (retexted s (summary_head s) m k)
      | _ => if blank m then Refused BlankSummary
             else match child_covering s (open_segment s) with
                  | Some t => Done (retexted s t m k)          (* merge node, D4 *)
                  | None => Done (with_summary s (MkSummary (summary_head s) (current_boundary s)
                                                            (open_segment s) m k Pending))
                  end
      end
  end.

(* D16; [None] keeps the kind *)
Definition retext s m (k : option Kind) : Outcome :=
  match phase s with
  | Active => Refused IllegalPhase
  | Unverified | Rejected =>
      if blank m then Refused BlankSummary
      else Done (retexted s (summary_head s) m
                   (match k with Some k => k | None => kind (summary s (summary_head s)) end))
  end.

(* ---- Maintain, after the judge has answered (D5, D6) ---- *)
Inductive Answer := Pass | Fail (feedback : Text) (fault : Fault).
Definition set_verdict v u := MkSummary (parent u) (label u) (covers u) (text u) (kind u) v.
Definition judged s v := changed_summary s (summary_head s) (set_verdict v).
Definition apply_verdict s a d : Outcome :=
  match phase s with
  | Active | Rejected => Refused (StaleVerdict None)
  | Unverified =>
      if negb (same_digest d (digest s)) then Refused (StaleVerdict (Some (digest s)))
      else match a with
           | Pass => Done (judged s Passed)
           | Fail f k => if blank f then Refused BlankFeedback else Done (judged s (Failed f k))
           end
  end.
Definition despite v := match v with Failed f k => Some (f, k) | _ => None end.
Definition accept s : Outcome :=
  match phase s with
  | Active => Refused IllegalPhase
  | Unverified | Rejected => Done (judged s (Accepted (despite (verdict (summary s (summary_head s))))))
  end.

(* ---- Revise (D7, D8) ---- *)
Definition targets s :=
  let p := summary_path s (summary_head s) in
  match phase s with Rejected => removelast p | Active | Unverified => p end.
Definition legal_boundaries s := map (boundary s) (targets s).
Definition revise s b lesson : Outcome :=
  match find (fun t => boundary s t =? b) (targets s) with
  | None => Refused (UnknownBoundary (legal_boundaries s))
  | Some t => Done (with_lesson (at_heads s b t) b lesson)
  end.
(* what it leaves behind, newest first (D14), and the instructions there, in path order (D7) *)
Definition abandoned s b := rev (steps_after s b (step_head s)).
Definition left_behind s b := map snd (placed s (steps_after s b (step_head s))).

(* ---- Instruct (D17) ---- *)
Definition same_instruction (x y : Text * bool) := same (fst x) (fst y) && eqb (snd x) (snd y).
Definition instruct s x : Outcome :=
  match phase s with
  | Rejected => Refused IllegalPhase
  | Active | Unverified =>
      if blank (fst x) then Refused BlankInstruction
      else if existsb (same_instruction x) (instructions_at s (step_head s)) then Done s
      else Done (with_instruction s x)
  end.

(* ---- commands ---- *)
Inductive Command :=
  | Instruct (x : Text * bool) | Grow (c : Content) | Compress (m : Text) (k : Kind)
  | Retext (m : Text) (k : option Kind) | ApplyVerdict (a : Answer) (d : Digest) | Accept
  | Revise (b : nat) (lesson : Text).
Definition exec s c : Outcome :=
  match c with
  | Instruct x => instruct s x
  | Grow c => grow s c
  | Compress m k => compress s m k
  | Retext m k => retext s m k
  | ApplyVerdict a d => apply_verdict s a d
  | Accept => accept s
  | Revise b l => revise s b l
  end.
(* a refused command leaves the state as it was (L7) *)
Definition after s c := match exec s c with Done s' => s' | Refused _ => s end.
Definition run s cs := fold_left after cs s.
Definition reachable s := exists t cs, s = run (start t) cs.

(* ---- Algorithm 1's Revise, word for word; [None] is its null dereference ---- *)
Fixpoint while_not s (fuel t b : nat) : option nat :=          (* p_t.id is the label (D1) *)
  match fuel with
  | 0 => None
  | S more => if t =? 0 then None
              else if label (summary s t) =? b then Some (parent_of s t)
              else while_not s more (parent_of s t) b
  end.
Definition paper_revise s b f : option State :=
  match while_not s (S (summary_head s)) (summary_head s) b with
  | Some t => Some (with_lesson (at_heads s (boundary s t) t) (boundary s t) f)
  | None => None
  end.
End Machine.
