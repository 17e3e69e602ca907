(* The four operations of the paper and what goes with them, with the decisions D1 to D19 of
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
  | Pending | Passed | Failed (feedback : Text) (fault : Fault) (origin : option nat)   (* D5: where it began *)
  | Accepted (despite : option (Text * Fault * option nat)).
Record Step := MkStep { above : nat; content : Content }.
(* [after]: the head that it was made from, where that is not its parent the last fallback that it took in *)
Record Summary := MkSummary { parent : nat; label : nat; covers : list nat;
                              text : Text; kind : Kind; verdict : Verdict; after : nat }.
(* D19: a text in place of the run of summaries from [first_under] to [last_under], of which so many were
   accepted without a pass *)
Record Chapter := MkChapter { chapter_text : Text; accepted_under : nat;
                              first_under : nat; last_under : nat }.
Record State := MkState {
  task : Text;
  steps : list Step; summaries : list Summary;
  step_head : nat; summary_head : nat;                 (* p_b and p_t *)
  lessons : list (nat * Text);                         (* at a boundary, oldest first *)
  instructions : list (nat * (Text * bool));           (* at a step; whether it is standing *)
  chapters : list Chapter }.                           (* in the order in which they were folded *)

Definition root_step := MkStep 0 (nothing, nothing).   (* D2 *)
Definition root_summary := MkSummary 0 0 [0] nothing Subgoal Passed 0.
Definition start t := MkState t [root_step] [root_summary] 0 0 [] [] [].

(* ---- one path of it ---- *)
Definition step s n := nth n (steps s) root_step.
Definition summary s t := nth t (summaries s) root_summary.
Definition next_step s := length (steps s).            (* l *)
Definition next_summary s := length (summaries s).
Definition above_of s n := above (step s n).
Definition parent_of s t := parent (summary s t).
Definition after_of s t := after (summary s t).
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

(* the nearest summary that is no fallback, t or above it; [fuel] is at least the way up *)
Fixpoint no_fallback s (fuel t : nat) : nat :=
  match fuel with
  | 0 => t
  | S more => match kind (summary s t) with
              | Fallback => no_fallback s more (parent_of s t)
              | Subgoal => t
              end
  end.
Definition base s t := no_fallback s t t.
Definition since_base s t := base s t :: trace (parent_of s) (base s t) t.       (* down to t, by parent *)

(* the fallbacks that t took in, oldest first (D12); the heads that led to t, from the root *)
Definition earlier s t := tr (after_of s) (next_summary s) (parent_of s t) (after_of s t).
Definition way s t := flat_map (fun u => earlier s u ++ [u]) (summary_path s t).

(* ---- chapters (D19) ---- *)
(* a line of C is a summary, or a chapter beside the older ones that end where it does, newest first *)
Inductive Line := OfSummary (t : nat) | OfChapter (c : Chapter) (older : list Chapter).
Definition ending_at s t := rev (filter (fun c => last_under c =? t) (chapters s)).   (* newest first *)
Definition line_of t (ends : list Chapter) :=
  match ends with [] => OfSummary t | c :: older => OfChapter c older end.
Definition first_of l := match l with OfSummary t => t | OfChapter c _ => first_under c end.
Definition last_of l := match l with OfSummary t => t | OfChapter c _ => last_under c end.
(* from t upwards, down to which [top] is not passed *)
Fixpoint read s (fuel top t : nat) : list Line :=
  match fuel with
  | 0 => []
  | S more => if t =? top then []
              else let l := line_of t (ending_at s t) in
                   read s more top (parent_of s (first_of l)) ++ [l]
  end.
Definition lines s t := read s t 0 t.
Definition line_label s l := label (summary s (first_of l)).
Definition line_boundary s l := boundary s (last_of l).
(* the summaries that a line stands for *)
Definition under s l := trace (parent_of s) (parent_of s (first_of l)) (last_of l).

(* ---- S = (C, R, H), derived from one path (D9) ---- *)
Definition C s := lines s (summary_head s).
Definition R s := open_segment s.
Definition lessons_at s b := map snd (filter (fun x => fst x =? b) (lessons s)).
Definition lessons_of s bs := flat_map (fun b => map (pair b) (lessons_at s b)) bs.
Definition mem n (ns : list nat) := existsb (Nat.eqb n) ns.
Definition is_fallback s t := match kind (summary s t) with Fallback => true | Subgoal => false end.
(* those summaries, in order of ids, that are children of one of [ps]: all subgoals, and fallbacks of one of
   [qs] whose steps neither one of these subgoals covers nor [own] *)
Definition tried s ps qs (own : list nat) :=
  let among us t := mem (parent_of s t) us in
  let all := map fst (numbered (summaries s)) in
  let subgoals := filter (fun t => among ps t && negb (is_fallback s t)) all in
  let covered t := mem (boundary s t) (own ++ flat_map (fun u => covers (summary s u)) subgoals) in
  filter (fun t => if is_fallback s t then among qs t && negb (covered t) else among ps t) all.
Definition H s :=
  let h := summary_head s in
  (step_children s (step_head s), tried s (since_base s h) [h] [],
   lessons_of s (map (boundary s) (since_base s h))).
(* what a line stands for, as often as one asks: the lines that a chapter replaced; a summary's steps *)
Definition inside s l :=
  match l with
  | OfSummary _ => []
  | OfChapter c older =>
      let inner := line_of (last_under c) older in
      read s (last_under c) (parent_of s (first_under c)) (parent_of s (first_of inner)) ++ [inner]
  end.
(* the steps that C and R stand for, in execution order *)
Definition told s := flat_map (fun t => covers (summary s t)) (summary_path s (summary_head s)) ++ R s.

(* ---- phases (D6): what the verdict of the summary head says ---- *)
Definition phase_of_verdict v :=
  match v with Pending => Unverified | Failed _ _ _ => Rejected | Passed | Accepted _ => Active end.
Definition phase s := phase_of_verdict (verdict (summary s (summary_head s))).
Definition trusted v := match v with Passed | Accepted _ => true | _ => false end.

(* ---- instructions in force (D17) ---- *)
Definition instructions_at s n := map snd (filter (fun x => fst x =? n) (instructions s)).
Definition placed s ns := flat_map (fun n => map (pair n) (instructions_at s n)) ns.
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
  let b := boundary s (base s (summary_head s)) in in_force s b (b :: steps_after s b (step_head s)).
Definition instructions_judged s t :=
  let b := boundary s (base s (parent_of s t)) in
  in_force s b (b :: removelast (steps_after s b (boundary s t))).

(* ---- what a judge is asked (D5, D12) ---- *)
Definition told_by s t := map (fun n => (n, content (step s n))) (covers (summary s t)).
(* label, text and verdict of what stands above, chapters unfolded: the engine's running hash stands for it *)
Definition said s t := let u := summary s t in (label u, text u, verdict u).
Definition before s t := map (said s) (tl (summary_path s (parent_of s t))).
Record Question := Ask {
  asked_task : Text; asked_instructions : list Text; asked_kind : Kind; asked_summary : nat;
  asked_before : list (nat * Text * Verdict);
  asked_covers : list (nat * Content);
  asked_earlier : list (nat * (nat * Text * Verdict));         (* the boundary, then what it says *)
  asked_text : Text }.
Definition question s t :=
  Ask (task s) (instructions_judged s t) (kind (summary s t)) t (before s t) (told_by s t)
      (map (fun u => (boundary s u, said s u)) (earlier s t)) (text (summary s t)).

(* beside it, and no part of the digest: C above it, what else was tried on its way, where a mistake may be
   said to have begun, and every step since the root (D18) *)
Definition lines_before s t := lines s (parent_of s t).
Definition other_earlier s t := filter (fun u => negb (boundary s u =? boundary s t)) (earlier s t).
Definition hints s t :=
  let places := label (summary s t) :: map (boundary s) (other_earlier s t) in
  let tops := parent_of s t :: other_earlier s t in
  let not_own ns n := negb (mem n ns) in
  (filter (not_own (covers (summary s t)))
     (map fst (filter (fun c => mem (above (snd c)) places) (numbered (steps s)))),
   filter (not_own (t :: earlier s t)) (tried s tops tops (covers (summary s t))),
   lessons_of s (map (boundary s) (since_base s (parent_of s t) ++ other_earlier s t))).
Definition distinct := nodup Nat.eq_dec.
Definition boundaries s t :=
  distinct (filter (fun b => b <? boundary s t) (map (boundary s) (way s t))).
Definition steps_since_root s t := tl (step_path s (boundary s t)).

(* ---- what the judge of a chapter is asked (D19) ---- *)
Inductive Replaced :=
  | SummaryLine (label boundary : nat) (text : Text) (v : Verdict)
  | ChapterLine (label boundary : nat) (text : Text) (accepted : nat).
Definition replaced s l :=
  match l with
  | OfSummary t => SummaryLine (line_label s l) (line_boundary s l) (text (summary s t)) (verdict (summary s t))
  | OfChapter c _ => ChapterLine (line_label s l) (line_boundary s l) (chapter_text c) (accepted_under c)
  end.
Record FoldQuestion := AskFold {
  fold_task : Text; fold_instructions : list Text; fold_lines : list Replaced; fold_text : Text }.
(* from the line with that label to the one with that boundary: two or more, none a fallback *)
Fixpoint from_label s n ls :=
  match ls with [] => [] | l :: more => if line_label s l =? n then ls else from_label s n more end.
Fixpoint to_boundary s b ls :=
  match ls with
  | [] => None
  | l :: more => if line_boundary s l =? b then Some [l] else option_map (cons l) (to_boundary s b more)
  end.
Definition foldable s l := match l with OfSummary t => negb (is_fallback s t) | OfChapter _ _ => true end.
Definition run_to_fold s n b :=
  match to_boundary s b (from_label s n (C s)) with
  | Some (l :: k :: more) => if forallb (foldable s) (l :: k :: more) then Some (l :: k :: more) else None
  | _ => None
  end.
Definition fold_question s run m :=
  AskFold (task s) (instructions_shown s) (map (replaced s) run) m.
Definition may_be_folded s :=
  map (fun l => (line_label s l, line_boundary s l)) (filter (foldable s) (C s)).

Variable Digest : Type.
Variable same_digest : Digest -> Digest -> bool.
Variable digest_of : Question -> Digest.
Variable digest_of_fold : FoldQuestion -> Digest.
Definition digest s := digest_of (question s (summary_head s)).
Definition expected s := match phase s with Unverified => Some (digest s) | _ => None end.

(* ---- answers ---- *)
Inductive Refusal :=
  | IllegalPhase | EmptySegment (current : nat) | BlankSummary | BlankInstruction | BlankFeedback
  | StaleVerdict (wanted : option Digest) | UnknownBoundary (legal : list nat)
  | UnfoldableRange (lines : list (nat * nat)).
Inductive Outcome := Done (s : State) | Refused (why : Refusal).

(* ---- edits ---- *)
Definition at_heads s n t :=
  MkState (task s) (steps s) (summaries s) n t (lessons s) (instructions s) (chapters s).
Definition with_step s c :=
  MkState (task s) (steps s ++ [MkStep (step_head s) c]) (summaries s)
          (next_step s) (summary_head s) (lessons s) (instructions s) (chapters s).
Definition with_summary s new :=
  MkState (task s) (steps s) (summaries s ++ [new])
          (step_head s) (next_summary s) (lessons s) (instructions s) (chapters s).
Definition changed_summary s t f :=
  MkState (task s) (steps s) (upd (summaries s) t f) (step_head s) t
          (lessons s) (instructions s) (chapters s).
Definition without_chapters s t :=                             (* those that end at t *)
  MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s) (lessons s) (instructions s)
          (filter (fun c => negb (last_under c =? t)) (chapters s)).
Definition with_chapter s c :=
  MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s) (lessons s) (instructions s)
          (chapters s ++ [c]).
Definition with_lesson s b l :=                                (* a blank one leaves none *)
  if blank l then s else
  MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s)
          (lessons s ++ [(b, l)]) (instructions s) (chapters s).
Definition with_instruction s x :=
  MkState (task s) (steps s) (summaries s) (step_head s) (summary_head s)
          (lessons s) (instructions s ++ [(step_head s, x)]) (chapters s).

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
  | Failed f InExecution _ | Accepted (Some (f, InExecution, _)) => Some f
  | _ => None
  end.
Definition leave s b (o : option Text) := match o with Some l => with_lesson s b l | None => s end.
Definition set_text m k a u := MkSummary (parent u) (label u) (covers u) m k Pending a.
(* D4, D19: pending anew; made from the head, if it is not that itself *)
Definition retexted s t m k :=
  let a := if t =? summary_head s then after_of s t else summary_head s in
  leave (changed_summary (without_chapters s t) t (set_text m k a)) (label (summary s t))
        (feedback_on_steps (verdict (summary s t))).

Definition same_ids (x y : list nat) := if list_eq_dec Nat.eq_dec x y then true else false.
Definition child_covering s p c :=
  find (fun t => same_ids c (covers (summary s t))) (summary_children s p).
(* D12: a fallback goes on from the head; a subgoal from the base, and takes the fallbacks in *)
Definition new_parent s k :=
  match k with Fallback => summary_head s | Subgoal => base s (summary_head s) end.
Definition to_cover s k := steps_after s (boundary s (new_parent s k)) (step_head s).
Definition compressed s m k :=
  with_summary s (MkSummary (new_parent s k) (boundary s (new_parent s k)) (to_cover s k) m k
                            Pending (summary_head s)).
Definition compress s m k : Outcome :=
  match phase s with
  | Unverified | Rejected => Refused IllegalPhase
  | Active =>
      match to_cover s k with
      | [] => Refused (EmptySegment (current_boundary s))
      | _ => if blank m then Refused BlankSummary
             else match child_covering s (new_parent s k) (to_cover s k) with
                  | Some t => Done (retexted s t m k)          (* merge node, D4 *)
                  | None => Done (compressed s m k)
                  end
      end
  end.

(* D16 *)
Definition retext s m : Outcome :=
  match phase s with
  | Active => Refused IllegalPhase
  | Unverified | Rejected =>
      if blank m then Refused BlankSummary
      else Done (retexted s (summary_head s) m (kind (summary s (summary_head s))))
  end.

(* ---- Maintain, after the judge has answered (D5, D6) ---- *)
Inductive Answer := Pass | Fail (feedback : Text) (fault : Fault) (origin : option nat).
Definition set_verdict v u := MkSummary (parent u) (label u) (covers u) (text u) (kind u) v (after u).
Definition judged s v := changed_summary s (summary_head s) (set_verdict v).
(* what a mistake may be said to have begun at: only one of the steps began anywhere *)
Definition origins s k :=
  match k with InExecution => boundaries s (summary_head s) | InSummary => [] end.
Definition known_origin s k (o : option nat) :=
  match o with None => true | Some b => mem b (origins s k) end.
Definition apply_verdict s a d : Outcome :=
  match phase s with
  | Active | Rejected => Refused (StaleVerdict None)
  | Unverified =>
      if negb (same_digest d (digest s)) then Refused (StaleVerdict (Some (digest s)))
      else match a with
           | Pass => Done (judged s Passed)
           | Fail f k o => if negb (known_origin s k o) then Refused (UnknownBoundary (origins s k))
                           else if blank f then Refused BlankFeedback
                           else Done (judged s (Failed f k o))
           end
  end.
Definition despite v := match v with Failed f k o => Some (f, k, o) | _ => None end.
Definition accept s : Outcome :=
  match phase s with
  | Active => Refused IllegalPhase
  | Unverified | Rejected => Done (judged s (Accepted (despite (verdict (summary s (summary_head s))))))
  end.

(* ---- Revise (D7, D8) ---- *)
(* from the root; of two with one boundary the nearer to the head is meant *)
Definition targets s :=
  let p := way s (summary_head s) in
  match phase s with
  | Rejected => filter (fun t => boundary s t <? current_boundary s) p
  | Active | Unverified => p
  end.
Definition legal_boundaries s := distinct (map (boundary s) (targets s)).
Definition revise s b lesson : Outcome :=
  match find (fun t => boundary s t =? b) (rev (targets s)) with
  | None => Refused (UnknownBoundary (legal_boundaries s))
  | Some t => Done (with_lesson (at_heads s b t) b lesson)
  end.
(* what it leaves behind, newest first (D14), and the instructions there, in path order (D7) *)
Definition abandoned s b := rev (steps_after s b (step_head s)).
Definition left_behind s b := map snd (placed s (steps_after s b (step_head s))).

(* ---- fold (D19), after the judge has passed it ---- *)
Definition is_accepted s t := match verdict (summary s t) with Accepted _ => true | _ => false end.
Definition chapter_of s run m :=
  let c := MkChapter m 0 (first_of (hd (OfSummary 0) run)) (last_of (last run (OfSummary 0))) in
  MkChapter m (length (filter (is_accepted s) (under s (OfChapter c [])))) (first_under c) (last_under c).
Definition fold s n b m d : Outcome :=
  match phase s with
  | Unverified | Rejected => Refused IllegalPhase
  | Active =>
      match run_to_fold s n b with
      | None => Refused (UnfoldableRange (may_be_folded s))
      | Some run =>
          let asked := digest_of_fold (fold_question s run m) in
          if blank m then Refused BlankSummary
          else if negb (same_digest d asked) then Refused (StaleVerdict (Some asked))
          else Done (with_chapter s (chapter_of s run m))
      end
  end.

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
  | Retext (m : Text) | ApplyVerdict (a : Answer) (d : Digest) | Accept
  | Revise (b : nat) (lesson : Text) | Fold (n b : nat) (m : Text) (d : Digest).
Definition exec s c : Outcome :=
  match c with
  | Instruct x => instruct s x
  | Grow c => grow s c
  | Compress m k => compress s m k
  | Retext m => retext s m
  | ApplyVerdict a d => apply_verdict s a d
  | Accept => accept s
  | Revise b l => revise s b l
  | Fold n b m d => fold s n b m d
  end.
(* a refused command leaves the state as it was (L7) *)
Definition next s c := match exec s c with Done s' => s' | Refused _ => s end.
Definition run s cs := fold_left next cs s.
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
