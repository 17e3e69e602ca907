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
(* I1 to I9, I11 and I12, of every reachable state. *)

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
IsPrefix(shorter, longer) == Len(shorter) <= Len(longer) /\ SubSeq(longer, 1, Len(shorter)) = shorter

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
way_is_trusted ==
  LET way     == Way(state, state.summary_head)
      Word(u) == state.summaries[u].verdict.word
  IN  /\ \A u \in Elements(Front(way)) : Word(u) \in {"passed", "accepted"}
      /\ Word(Last(way)) \in Fitting(state.phase)

lessons_stand_at_boundaries ==
  LET boundaries == {Boundary(state, t) : t \in DOMAIN state.summaries}
  IN  /\ DOMAIN state.lessons = DOMAIN state.steps /\ DOMAIN state.instructions = DOMAIN state.steps
      /\ \A n \in DOMAIN state.lessons :
           /\ state.lessons[n] # <<>> => n \in boundaries
           /\ Blank \notin Elements(state.lessons[n])
           /\ \A placed \in Elements(state.instructions[n]) : placed.step = n /\ placed.text # Blank

(* Between a subgoal and its parent stand fallbacks alone, whose covers tile a      *)
(* prefix of its own; above a fallback stands its parent. On the summary path       *)
(* fallbacks stand at the end only.                                                 *)
taken_in_are_fallbacks ==
  LET path    == SummaryPath(state, state.summary_head)
      Kind(u) == state.summaries[u].kind
      Taken(u) == TakenIn(state, u)
  IN  /\ \A i \in 2..Len(path) : Kind(path[i - 1]) = "fallback" => Kind(path[i]) = "fallback"
      /\ \A u \in Elements(Tail(path)) :
           /\ Kind(u) = "fallback" => Taken(u) = <<>>
           /\ \A v \in Elements(Taken(u)) : Kind(v) = "fallback"
           /\ IsPrefix(CoversAlong(state, Taken(u)), state.summaries[u].covers)
           /\ Taken(u) # <<>> =>
                SummaryPath(state, Last(Taken(u))) = SummaryPath(state, state.summaries[u].parent) \o Taken(u)

(* The lines that are shown, unfolded, are the summary path; what is under a        *)
(* chapter is a finished subgoal, trusted, and accepted where the chapter says so.  *)
Folds(s) == \E u \in DOMAIN s.chapters : s.chapters[u] # <<>>

RECURSIVE ChaptersIn(_, _)
ChaptersIn(s, lines) ==          \* those that are shown, and those inside of them
  IF lines = <<>> THEN {}
  ELSE ChaptersIn(s, Front(lines))
       \cup (IF Last(lines)[2] = 0 THEN {} ELSE {Last(lines)} \cup ChaptersIn(s, Inside(s, Last(lines))))
chapters_unfold ==
  LET lines   == Lines(state, state.summary_head)
      Word(u) == state.summaries[u].verdict.word
      Accepted(line) == {u \in Elements(Under(state, line)) : Word(u) = "accepted"}
  IN  /\ Unfolded(state, lines) = Tail(SummaryPath(state, state.summary_head))
      /\ \A line \in ChaptersIn(state, lines) :
           /\ \A u \in Elements(Under(state, line)) :
                Word(u) \in {"passed", "accepted"} /\ state.summaries[u].kind = "subgoal"
           /\ Unfolded(state, Inside(state, line)) = Under(state, line)
           /\ Len(Inside(state, line)) > 1
           /\ Chapter(state, line).accepted = Cardinality(Accepted(line))
           /\ Chapter(state, line).label = LineLabel(state, line)
           /\ Chapter(state, line).boundary = LineBoundary(state, line)

---------------------------------------------------------------------------------
(* Decisions that read like invariants. *)

(* Algorithm 1 keeps C and R up to date; the engine derives them. Both are one. *)
stored_is_derived ==
  state.C = Lines(state, state.summary_head) /\ state.R = OpenSegment(state)

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

(* D5, D7: each boundary of the way can be gone back to, if what failed ends below  *)
(* it; so can the one where a verdict says that the mistake began.                  *)
way_can_be_gone_back ==
  LET legal == LegalBoundaries(state)
  IN  \A u \in Elements(Way(state, state.summary_head)) :
        state.phase # "Rejected" \/ Boundary(state, u) < CurrentBoundary(state) => Boundary(state, u) \in legal
origin_can_be_gone_back_to ==
  state.phase = "Rejected" /\ HeadSummary(state).verdict.boundary # NoStep =>
    HeadSummary(state).verdict.boundary \in LegalBoundaries(state)

(* D8: a lesson shows in H wherever its boundary lies between the base's and the    *)
(* current one, however one came there.                                             *)
lessons_are_shown ==
  LET path    == StepPath(state, CurrentBoundary(state))
      base    == Boundary(state, Base(state, state.summary_head))
      Since_base(n) == n >= base
      Left(n) == [i \in DOMAIN state.lessons[n] |-> [boundary |-> n, text |-> state.lessons[n][i]]]
      at      == [n \in Elements(path) |-> Left(n)]
      ends    == {Boundary(state, u) : u \in Elements(SummaryPath(state, state.summary_head))}
      Ends(n) == n \in ends /\ Since_base(n)
  IN  state.H = Joint(at, SelectSeq(path, Ends))

(* D5: the judge sees what C shows above the summary, and an answer depends on what *)
(* that stands for.                                                                 *)
judge_sees_what_is_above ==
  state.phase = "Unverified" =>
    /\ Before(state) = Front(state.C)
    /\ Said(state, Above(state)) = Said(state, Front(Unfolded(state, state.C)))

(* D17: the same instruction again at the same step changes nothing. *)
instructions_differ ==
  \A n \in DOMAIN state.instructions :
    Cardinality(Elements(state.instructions[n])) = Len(state.instructions[n])

---------------------------------------------------------------------------------
(* L1 to L14, of one command. *)

vars  == <<state, did>>
Taken == did.op # "refused"      \* what was refused has left everything as it was

NothingIsLost(s, t) ==
  /\ \A n \in DOMAIN s.steps :
       /\ n \in DOMAIN t.steps /\ t.steps[n] = s.steps[n]
       /\ IsPrefix(s.lessons[n], t.lessons[n]) /\ IsPrefix(s.instructions[n], t.instructions[n])
  /\ \A u \in DOMAIN s.summaries :
       /\ u \in DOMAIN t.summaries
       /\ \A field \in {"parent", "label", "covers"} : t.summaries[u][field] = s.summaries[u][field]
nothing_is_lost == [][Taken' => NothingIsLost(state, state')]_vars

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
  LET again == Compressed(CoversAgain(s), "another text", HeadSummary(s).kind)
  IN  again.summary_head = s.summary_head /\ DOMAIN again.summaries = DOMAIN s.summaries
compress_reuses_summary == [][did'.op = "compress" => CompressReusesSummary(state')]_vars

ReviseRestores(s, boundary, t) ==
  LET way    == Way(s, s.summary_head)
      path   == SummaryPath(s, s.summary_head)
      onpath == {i \in DOMAIN path : Boundary(s, path[i]) = boundary}
      target == t.summary_head
      after  == SummaryPath(t, target)
  IN  /\ target \in Elements(way)
      /\ after = SummaryPath(s, target)
      /\ \A u \in Elements(after) : t.summaries[u] = s.summaries[u]
      /\ onpath # {} => after = SubSeq(path, 1, Only(onpath))
      /\ CurrentBoundary(t) = boundary /\ t.step_head = boundary /\ OpenSegment(t) = <<>>
revise_restores == [][did'.op = "revise" => ReviseRestores(state, did'.boundary, state')]_vars

ErrorsAreIsolated(s, boundary, t) ==
  LET abandoned == {n \in Elements(StepPath(s, s.step_head)) : n > boundary}
      undone    == {u \in Elements(Way(s, s.summary_head)) : Boundary(s, u) > boundary}
      shown     == Unfolded(t, t.C)
  IN  /\ (Elements(CoversAlong(t, shown)) \cup Elements(t.R)) \cap abandoned = {}
      /\ Elements(shown) \cap undone = {}
errors_are_isolated == [][did'.op = "revise" => ErrorsAreIsolated(state, did'.boundary, state')]_vars

ChangesAreLocal(s, op, t) ==
  LET head     == t.summary_head
      texts    == op \in {"compress", "retext"}
      changed  == IF texts \/ op \in {"apply_verdict", "accept"} THEN {head} ELSE {}
      lesson   == CASE texts -> t.summaries[head].label [] op = "revise" -> CurrentBoundary(t)
                    [] OTHER -> NoStep
      place    == IF op = "instruct" THEN s.step_head ELSE NoStep
      ends     == CASE op = "fold" -> {u \in DOMAIN s.chapters : IsPrefix(s.chapters[u], t.chapters[u])}
                    [] OTHER       -> changed
      added    == DOMAIN t.steps \ DOMAIN s.steps
      Old(notes, n) == IF n \in DOMAIN notes THEN Len(notes[n]) ELSE 0
  IN  /\ Cardinality(added) <= (IF op = "grow" THEN 1 ELSE 0)
      /\ \A n \in added : t.steps[n].parent = s.step_head
      /\ \A n \in DOMAIN t.lessons :
           /\ Len(t.lessons[n]) - Old(s.lessons, n) <= (IF n = lesson THEN 1 ELSE 0)
           /\ Len(t.instructions[n]) - Old(s.instructions, n) <= (IF n = place THEN 1 ELSE 0)
      /\ DOMAIN t.summaries \ DOMAIN s.summaries \subseteq changed
      /\ \A u \in DOMAIN s.summaries \ changed : t.summaries[u] = s.summaries[u]
      /\ \A u \in DOMAIN s.summaries \ ends : t.chapters[u] = s.chapters[u]
changes_are_local == [][Taken' => ChangesAreLocal(state, did'.op, state')]_vars

(* A detour comes to a subgoal from its parent, so what it took in is not known. *)
ButForAfter(s) == [s EXCEPT !.summaries[s.summary_head].after = NoSummary]
RetextIsADetourSaved(s, text, t) ==
  LET detour == Grown(Compressed(CoversAgain(s), text, HeadSummary(s).kind), s.steps, s.R)
  IN  ButForAfter(detour) = ButForAfter(t)
retext_is_a_detour_saved == [][did'.op = "retext" => RetextIsADetourSaved(state, did'.text, state')]_vars

(* A subgoal that was cut by fallbacks is, once complete, the summary that it would *)
(* be uncut, and its judge is asked the same but for what was tried and learned at  *)
(* the boundaries of the fallbacks.                                                 *)
FallbacksLeaveNoTrace(s, text, t) ==
  LET base   == Boundary(s, Base(s, s.summary_head))
      uncut  == Compressed(Grown(Revised(s, base), s.steps, Trace(s, base, s.step_head)), text, "subgoal")
      cut    == HeadSummary(t)
      Same(field) == cut[field] = HeadSummary(uncut)[field]
      asked  == Request(t)
      would  == Request(uncut)
      AtBase(lesson) == lesson.boundary <= base
      Beside(r) == {u \in r.hints.subgoals : t.summaries[u].parent = cut.parent}
      Tried(r) == {u \in Beside(r) : t.summaries[u].kind = "subgoal"}
      Onwards(r, u) == {n \in r.hints.continuations : u.steps[n].parent = base}
  IN  /\ t.summary_head = uncut.summary_head
      /\ \A field \in {"parent", "label", "covers", "text", "kind"} : Same(field)
      /\ [asked.question EXCEPT !.earlier = <<>>] = [would.question EXCEPT !.earlier = <<>>]
      /\ asked.before = would.before
      /\ Tried(asked) = Tried(would) /\ Beside(asked) \subseteq Beside(would)
      /\ \A u \in Beside(would) \ Beside(asked) :   \* a part of what was tried further on
           Boundary(t, u) \in Covered(t, asked.hints.subgoals)
      /\ Onwards(asked, t) = Onwards(would, uncut)
      /\ SelectSeq(asked.hints.lessons, AtBase) = would.hints.lessons
fallbacks_leave_no_trace ==
  [][did'.op = "compress" /\ did'.kind = "subgoal" /\ HeadSummary(state).kind = "fallback"
       => FallbacksLeaveNoTrace(state, did'.text, state')]_vars

(* L13, D17: compressing as a fallback takes no instruction out of force and no     *)
(* lesson out of H, and brings no instruction back.                                 *)
FallbackHidesNothing(s, kind, t) ==
  kind = "fallback" =>
    /\ InstructionsShown(t) = InstructionsShown(s)
    /\ Elements(s.H) \subseteq Elements(t.H)
fallback_hides_nothing ==
  [][did'.op = "compress" => FallbackHidesNothing(state, did'.kind, state')]_vars

FoldChangesOnlyWhatIsShown(s, t) ==
  /\ [t EXCEPT !.chapters = s.chapters, !.C = s.C] = s
  /\ Len(t.C) < Len(s.C)
  /\ Cardinality({u \in DOMAIN s.chapters : t.chapters[u] # s.chapters[u]}) = 1
  /\ \A u \in DOMAIN s.chapters :
       \/ t.chapters[u] = s.chapters[u]
       \/ IsPrefix(s.chapters[u], t.chapters[u]) /\ Len(t.chapters[u]) = Len(s.chapters[u]) + 1
  /\ \E i \in DOMAIN t.C, j \in DOMAIN s.C :
       /\ i < j /\ t.C[i][2] > 0
       /\ Inside(t, t.C[i]) = SubSeq(s.C, i, j)
       /\ [t.C EXCEPT ![i] = 0] = SubSeq(s.C, 1, i - 1) \o <<0>> \o SubSeq(s.C, j + 1, Len(s.C))
fold_changes_only_what_is_shown == [][did'.op = "fold" => FoldChangesOnlyWhatIsShown(state, state')]_vars

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

(* I12: a chapter that is shown was shown before, or has just been judged, and what *)
(* is under it says what it said then.                                              *)
ChaptersStand(s, op, t) ==
  Folds(t) => \A line \in ChaptersIn(t, Lines(t, t.summary_head)) :
    \/ op = "fold" /\ line \notin ChaptersIn(s, Lines(s, s.summary_head))
    \/ /\ line \in ChaptersIn(s, Lines(s, s.summary_head))
       /\ Chapter(t, line) = Chapter(s, line)
       /\ Said(t, Under(t, line)) = Said(s, Under(s, line))
chapters_stand == [][Taken' => ChaptersStand(state, did'.op, state')]_vars

(* D5: grow, instruct and dropping the open segment do not change what the judge is *)
(* asked, nor what it is shown beside that.                                         *)
QuestionStands(s, t) ==
  s.phase = "Unverified" /\ t.phase = "Unverified" => Request(t) = Request(s)
question_stands == [][did'.op \in {"grow", "instruct", "revise"} => QuestionStands(state, state')]_vars

(* D6: a phase is left as the machine's table of transitions says. *)
LeadsTo(op, phase) ==
  CASE op = "refused" -> {phase}
    [] op \in {"grow", "instruct"} -> IF phase = "Rejected" THEN {} ELSE {phase}
    [] op = "compress"      -> IF phase = "Active" THEN {"Unverified"} ELSE {}
    [] op = "retext"        -> IF phase = "Active" THEN {} ELSE {"Unverified"}
    [] op = "apply_verdict" -> IF phase = "Unverified" THEN {"Active", "Rejected"} ELSE {}
    [] op = "accept"        -> IF phase = "Active" THEN {} ELSE {"Active"}
    [] op = "fold"          -> IF phase = "Active" THEN {"Active"} ELSE {}
    [] op = "revise"        -> IF phase = "Unverified" THEN {"Active", "Unverified"} ELSE {"Active"}
phases_are_as_said == [][state'.phase \in LeadsTo(did'.op, state.phase)]_vars

(* D6: accepting keeps what the judge said, and never looks like a pass. *)
AcceptIsOpen(s, t) == HeadSummary(t).verdict = [HeadSummary(s).verdict EXCEPT !.word = "accepted"]
accept_is_open == [][did'.op = "accept" => AcceptIsOpen(state, state')]_vars

(* D12: a subgoal is judged on all steps since its base, and beside them stand the  *)
(* fallbacks that it took in, which tile a prefix of them; a fallback is judged on  *)
(* its own steps, alone. A subgoal takes in all the fallbacks since its base.       *)
QuestionIsWhole(s) ==
  LET head     == HeadSummary(s)
      question == Question(s)
      taken    == TakenIn(s, s.summary_head)
  IN  /\ question.covers = Trace(s, Boundary(s, head.parent), CurrentBoundary(s))
      /\ question.earlier = Said(s, taken)
      /\ IsPrefix(CoversAlong(s, taken), head.covers)
      /\ head.kind = "subgoal" => s.summaries[head.parent].kind = "subgoal"
      /\ head.kind = "fallback" => question.earlier = <<>>
TakesAllIn(s, t) ==
  LET run == Since(s, Base(s, s.summary_head), s.summary_head)
      Other(u) == u # t.summary_head
  IN  HeadSummary(t).kind = "subgoal" => Earlier(t) = SelectSeq(run, Other)
question_is_whole ==
  [][/\ did'.op \in {"compress", "retext"} => QuestionIsWhole(state')
     /\ did'.op = "compress" => TakesAllIn(state, state')]_vars
=================================================================================
