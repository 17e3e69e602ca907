---------------------------------- MODULE Laws ----------------------------------
(* The invariants and laws of specs/README.md under their own names, over a state   *)
(* of Mage.tla and over one command: from `state` by `did'` to `state'`.            *)
(*                                                                                  *)
(* Not here: I10 (there are no indexes), L2, L7 and L8 (a function changes nothing  *)
(* and answers the same each time) and L10 (a value has no identity).               *)
EXTENDS Mage

VARIABLES state,                 \* where the agent is
          did                    \* the command that led there

---------------------------------------------------------------------------------
(* I1 to I9, of every reachable state. *)

steps_form_a_tree ==
  /\ DOMAIN state.steps = 0..(state.next_step - 1)
  /\ \A n \in DOMAIN state.steps : state.steps[n].parent < n /\ (state.steps[n].parent < 0 <=> n = 0)

siblings_differ ==
  \A m, n \in DOMAIN state.steps :
    m # n => \/ state.steps[m].parent # state.steps[n].parent
             \/ state.steps[m].content # state.steps[n].content

covers_are_contiguous ==
  /\ state.summaries[0].covers = <<0>>
  /\ \A t \in DOMAIN state.summaries \ {0} :
       LET summary == state.summaries[t]
           run     == <<Boundary(state, summary.parent)>> \o summary.covers
       IN  /\ summary.covers # <<>>
           /\ summary.label = run[1]
           /\ \A i \in 2..Len(run) : state.steps[run[i]].parent = run[i - 1]

sibling_covers_differ ==
  \A t, u \in DOMAIN state.summaries :
    t # u => \/ state.summaries[t].parent # state.summaries[u].parent
             \/ state.summaries[t].covers # state.summaries[u].covers

heads_agree == CurrentBoundary(state) \in Elements(StepPath(state, state.step_head))

RECURSIVE CoversAlong(_, _)
CoversAlong(s, path) ==
  IF path = <<>> THEN <<>> ELSE CoversAlong(s, Front(path)) \o s.summaries[Last(path)].covers

path_is_whole ==
  CoversAlong(state, SummaryPath(state, state.summary_head)) \o OpenSegment(state)
    = StepPath(state, state.step_head)

labels_rise ==
  \A t \in DOMAIN state.summaries \ {0} :
    LET parent == state.summaries[t].parent
    IN  parent # 0 => state.summaries[parent].label < state.summaries[t].label

Fitting(phase) ==
  CASE phase = "Active" -> {"passed", "accepted"} [] phase = "Unverified" -> {"pending"}
    [] phase = "Rejected" -> {"failed"}
summary_path_is_trusted ==
  LET path    == SummaryPath(state, state.summary_head)
      Word(t) == state.summaries[t].verdict.word
  IN  /\ \A t \in Elements(Front(path)) : Word(t) \in {"passed", "accepted"}
      /\ Word(Last(path)) \in Fitting(state.phase)

lessons_stand_at_boundaries ==
  LET boundaries == {Boundary(state, t) : t \in DOMAIN state.summaries}
  IN  /\ DOMAIN state.lessons = DOMAIN state.steps /\ DOMAIN state.instructions = DOMAIN state.steps
      /\ \A n \in DOMAIN state.lessons :
           /\ state.lessons[n] # <<>> => n \in boundaries
           /\ Blank \notin Elements(state.lessons[n])
           /\ \A placed \in Elements(state.instructions[n]) : placed.step = n /\ placed.text # Blank

---------------------------------------------------------------------------------
(* Decisions that read like invariants. *)

(* Algorithm 1 keeps C and R up to date; the engine derives them. Both are one. *)
stored_is_derived ==
  state.C = Tail(SummaryPath(state, state.summary_head)) /\ state.R = OpenSegment(state)

(* D4, D5: no verdict is inherited. Whatever a judge said was said of the text and  *)
(* kind that the summary has now.                                                   *)
trust_is_current ==
  \A t \in DOMAIN state.summaries :
    LET summary == state.summaries[t]
        judged  == summary.verdict.word \in {"passed", "failed"} \/ summary.verdict.feedback # ""
    IN  summary.verdict.of = IF judged THEN <<summary.text, summary.kind>> ELSE <<>>

(* D7: the open segment alone can be dropped, unless the summary above it failed. *)
open_segment_can_be_dropped ==
  state.phase # "Rejected" /\ OpenSegment(state) # <<>> =>
    LET dropping == [op |-> "revise", boundary |-> CurrentBoundary(state), lesson |-> Blank]
    IN  /\ Refusal(state, dropping) = ""
        /\ After(state, dropping).summary_head = state.summary_head

(* D8: a lesson shows in H whenever its boundary is current, however one came back. *)
lessons_are_shown == state.H = state.lessons[CurrentBoundary(state)]

(* D17: the same instruction again at the same step changes nothing. *)
instructions_differ ==
  \A n \in DOMAIN state.instructions :
    Cardinality(Elements(state.instructions[n])) = Len(state.instructions[n])

---------------------------------------------------------------------------------
(* L1 to L11, of one command. *)

vars == <<state, did>>

IsPrefix(shorter, longer) == Len(shorter) <= Len(longer) /\ SubSeq(longer, 1, Len(shorter)) = shorter

NothingIsLost(s, t) ==
  /\ \A n \in DOMAIN s.steps :
       /\ n \in DOMAIN t.steps /\ t.steps[n] = s.steps[n]
       /\ IsPrefix(s.lessons[n], t.lessons[n]) /\ IsPrefix(s.instructions[n], t.instructions[n])
  /\ \A u \in DOMAIN s.summaries :
       /\ u \in DOMAIN t.summaries
       /\ \A field \in {"parent", "label", "covers"} : t.summaries[u][field] = s.summaries[u][field]
nothing_is_lost == [][NothingIsLost(state, state')]_vars

RECURSIVE Grown(_, _, _)
Grown(s, content, path) ==       \* growing these steps again; `content` says what was in them
  IF path = <<>> THEN s
  ELSE After(Grown(s, content, Front(path)), [op |-> "grow", content |-> content[Last(path)].content])
Revised(s, boundary) == After(s, [op |-> "revise", boundary |-> boundary, lesson |-> Blank])
Compressed(s, text, kind) == After(s, [op |-> "compress", text |-> text, kind |-> kind])
CoversAgain(s) ==                \* revise to the label of the head, and grow its covers again
  Grown(Revised(s, HeadSummary(s).label), s.steps, HeadSummary(s).covers)

GrowIsIdempotent(s) == Grown(Revised(s, CurrentBoundary(s)), s.steps, s.R) = s
grow_is_idempotent == [][did'.op = "grow" => GrowIsIdempotent(state')]_vars

CompressReusesSummary(s) ==
  LET again == Compressed(CoversAgain(s), "another text", "subgoal")
  IN  again.summary_head = s.summary_head /\ DOMAIN again.summaries = DOMAIN s.summaries
compress_reuses_summary == [][did'.op = "compress" /\ state.R # <<>> => CompressReusesSummary(state')]_vars

Shown(s) ==                      \* C with texts and verdicts
  LET path == Tail(SummaryPath(s, s.summary_head)) IN [i \in DOMAIN path |-> s.summaries[path[i]]]
ReviseRestores(s, boundary, t) ==
  LET labels == {i \in DOMAIN Shown(s) : Shown(s)[i].label = boundary}
      upto   == IF labels = {} THEN Len(Shown(s)) ELSE (CHOOSE i \in labels : TRUE) - 1
  IN  /\ Shown(t) = SubSeq(Shown(s), 1, upto)
      /\ CurrentBoundary(t) = boundary /\ t.step_head = boundary /\ OpenSegment(t) = <<>>
revise_restores == [][did'.op = "revise" => ReviseRestores(state, did'.boundary, state')]_vars

ErrorsAreIsolated(s, boundary, t) ==
  LET abandoned == {n \in Elements(StepPath(s, s.step_head)) : n > boundary}
      undone    == {u \in Elements(SummaryPath(s, s.summary_head)) : Boundary(s, u) > boundary}
      shown     == Elements(CoversAlong(t, t.C)) \cup Elements(t.R)
  IN  shown \cap abandoned = {} /\ Elements(t.C) \cap undone = {}
errors_are_isolated == [][did'.op = "revise" => ErrorsAreIsolated(state, did'.boundary, state')]_vars

ChangesAreLocal(s, op, t) ==
  LET head     == t.summary_head
      texts    == op \in {"compress", "retext"}
      changed  == IF texts \/ op \in {"apply_verdict", "accept"} THEN {head} ELSE {}
      lesson   == CASE texts -> t.summaries[head].label [] op = "revise" -> CurrentBoundary(t)
                    [] OTHER -> NoStep
      place    == IF op = "instruct" THEN s.step_head ELSE NoStep
      added    == DOMAIN t.steps \ DOMAIN s.steps
      Old(notes, n) == IF n \in DOMAIN notes THEN Len(notes[n]) ELSE 0
  IN  /\ Cardinality(added) <= (IF op = "grow" THEN 1 ELSE 0)
      /\ \A n \in added : t.steps[n].parent = s.step_head
      /\ \A n \in DOMAIN t.lessons :
           /\ Len(t.lessons[n]) - Old(s.lessons, n) <= (IF n = lesson THEN 1 ELSE 0)
           /\ Len(t.instructions[n]) - Old(s.instructions, n) <= (IF n = place THEN 1 ELSE 0)
      /\ DOMAIN t.summaries \ DOMAIN s.summaries \subseteq changed
      /\ \A u \in DOMAIN s.summaries \ changed : t.summaries[u] = s.summaries[u]
changes_are_local == [][ChangesAreLocal(state, did'.op, state')]_vars

RetextIsADetourSaved(s, text, t) ==
  Grown(Compressed(CoversAgain(s), text, HeadSummary(t).kind), s.steps, s.R) = t
retext_is_a_detour_saved == [][did'.op = "retext" => RetextIsADetourSaved(state, did'.text, state')]_vars

---------------------------------------------------------------------------------
(* Decisions that read like laws. *)

(* D4: an old failure of the steps is left at the label, and nothing else is. *)
OldFeedbackIsLeft(s, t) ==
  LET head  == t.summary_head
      label == t.summaries[head].label
      known == head \in DOMAIN s.summaries
      taught == known /\ s.summaries[head].verdict.word \in {"failed", "accepted"}
                      /\ s.summaries[head].verdict.fault = "execution"
  IN  t.lessons[label] = s.lessons[label] \o (IF taught THEN <<s.summaries[head].verdict.feedback>> ELSE <<>>)
old_feedback_is_left == [][did'.op \in {"compress", "retext"} => OldFeedbackIsLeft(state, state')]_vars

(* D5: grow, instruct and dropping the open segment do not change the question. *)
QuestionStands(s, t) ==
  s.phase = "Unverified" /\ t.phase = "Unverified" => Question(t) = Question(s)
question_stands == [][did'.op \in {"grow", "instruct", "revise"} => QuestionStands(state, state')]_vars

(* D6: a phase is left as the machine's table of transitions says. *)
LeadsTo(op, phase) ==
  CASE op = "refused" -> {phase}
    [] op \in {"grow", "instruct"} -> IF phase = "Rejected" THEN {} ELSE {phase}
    [] op = "compress"      -> IF phase = "Active" THEN {"Unverified"} ELSE {}
    [] op = "retext"        -> IF phase = "Active" THEN {} ELSE {"Unverified"}
    [] op = "apply_verdict" -> IF phase = "Unverified" THEN {"Active", "Rejected"} ELSE {}
    [] op = "accept"        -> IF phase = "Active" THEN {} ELSE {"Active"}
    [] op = "revise"        -> IF phase = "Unverified" THEN {"Active", "Unverified"} ELSE {"Active"}
phases_are_as_said == [][state'.phase \in LeadsTo(did'.op, state.phase)]_vars

(* D6: accepting keeps what the judge said, and never looks like a pass. *)
AcceptIsOpen(s, t) == HeadSummary(t).verdict = [HeadSummary(s).verdict EXCEPT !.word = "accepted"]
accept_is_open == [][did'.op = "accept" => AcceptIsOpen(state, state')]_vars

(* D12: a subgoal is judged with the run of fallbacks right above it, oldest first, *)
(* their covers before its own; a fallback is judged alone.                         *)
QuestionIsWhole(s) ==
  LET path  == SummaryPath(s, s.summary_head)
      Kind(i) == s.summaries[path[i]].kind
      first == CHOOSE i \in 2..Len(path) :
                 /\ \A j \in i..(Len(path) - 1) : Kind(j) = "fallback" /\ Kind(Len(path)) = "subgoal"
                 /\ Kind(i - 1) # "fallback" \/ Kind(Len(path)) = "fallback"
      run   == SubSeq(path, first, Len(path) - 1)
  IN  Question(s).earlier = [i \in DOMAIN run |-> [label  |-> s.summaries[run[i]].label,
                                                   text   |-> s.summaries[run[i]].text,
                                                   covers |-> s.summaries[run[i]].covers]]
question_is_whole == [][state'.phase = "Unverified" => QuestionIsWhole(state')]_vars

(* D17: compressing as a fallback takes no instruction out of force, brings none back. *)
FallbackHidesNothing(s, kind, t) == kind = "fallback" => InstructionsShown(t) = InstructionsShown(s)
fallback_hides_nothing ==
  [][did'.op = "compress" => FallbackHidesNothing(state, did'.kind, state')]_vars
=================================================================================
