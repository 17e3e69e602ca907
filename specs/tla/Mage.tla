---------------------------------- MODULE Mage ----------------------------------
(* Algorithm 1 of the paper with the decisions D1 to D19 of specs/README.md, as     *)
(* functions from a state and a command to a state. `reference.py` says the same as *)
(* naive code; the names here are those of README, C, R and H those of the paper.   *)
(*                                                                                  *)
(* Where the paper leaves a hole, the literal reading of it stands here too, behind *)
(* a name: `Literally("NoGate")` is true where the constant Literal holds "NoGate". *)
(* Each such reading breaks a property of Laws.tla by name; `python -m specs.tlc`   *)
(* shows it. With Literal = {} this is what the engine does.                        *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANT Literal                 \* the literal readings that are switched on

Literally(reading) == reading \in Literal

NoStep    == -1                  \* what the parent of the root is
NoSummary == -1
Blank     == ""                  \* the text of which `str.strip` leaves nothing (D3)

Last(sequence)     == sequence[Len(sequence)]
Front(sequence)    == SubSeq(sequence, 1, Len(sequence) - 1)
Elements(sequence) == {sequence[i] : i \in DOMAIN sequence}
Only(set)          == CHOOSE element \in set : TRUE

---------------------------------------------------------------------------------
(* Verdicts: the paper's note. `of` is a ghost: the text and kind that the judge    *)
(* was asked about. An accepted one keeps the failed verdict it was accepted        *)
(* despite (D6): its feedback, its fault, where it says the mistake began, and what *)
(* they were said of.                                                               *)

Verdict(word, feedback, fault, boundary, of) ==
  [word |-> word, feedback |-> feedback, fault |-> fault, boundary |-> boundary, of |-> of]
Pending == Verdict("pending", "", "", NoStep, <<>>)
Told(verdict) == <<verdict.word, verdict.feedback, verdict.fault, verdict.boundary>>

(* Both layers start with a root sentinel (D2). *)
Start ==
  [phase        |-> "Active",
   steps        |-> (0 :> [parent |-> NoStep, content |-> ""]),
   summaries    |-> (0 :> [parent |-> NoSummary, after |-> NoSummary, label |-> NoStep, covers |-> <<0>>,
                           text |-> "", kind |-> "subgoal",
                           verdict |-> Verdict("passed", "", "", NoStep, <<"", "subgoal">>)]),
   step_head    |-> 0,           \* p_b
   summary_head |-> 0,           \* p_t
   next_step    |-> 1,           \* l
   C            |-> <<>>,        \* lines, as Algorithm 1 keeps its summaries up to date
   R            |-> <<>>,        \* steps, likewise
   H            |-> <<>>,        \* the lessons that are shown, each with its boundary
   chapters     |-> (0 :> <<>>), \* by the summary that they end at, oldest first (D19)
   lessons      |-> (0 :> <<>>), \* by boundary, oldest first (D8)
   instructions |-> (0 :> <<>>)] \* by step, oldest first (D17)

---------------------------------------------------------------------------------
(* Reading a state. *)

RECURSIVE StepPath(_, _), SummaryPath(_, _), Way(_, _), Trace(_, _, _), Base(_, _)
StepPath(s, step) ==             \* from the root down, both included
  IF step = NoStep THEN <<>> ELSE Append(StepPath(s, s.steps[step].parent), step)
SummaryPath(s, summary) ==
  IF summary = NoSummary THEN <<>> ELSE Append(SummaryPath(s, s.summaries[summary].parent), summary)
Way(s, summary) ==               \* the heads that led here, from the root
  IF summary = NoSummary THEN <<>> ELSE Append(Way(s, s.summaries[summary].after), summary)
Base(s, summary) ==              \* where its subgoal began: the nearest on its path that is no fallback
  IF s.summaries[summary].kind = "fallback" THEN Base(s, s.summaries[summary].parent) ELSE summary
Trace(s, above, step) ==         \* exclusive of `above`, inclusive of `step`, in execution order (D3)
  IF step \in {above, NoStep} THEN <<>> ELSE Append(Trace(s, above, s.steps[step].parent), step)

StepChildren(s, step)       == {n \in DOMAIN s.steps : s.steps[n].parent = step}
SummaryChildren(s, summary) == {t \in DOMAIN s.summaries : s.summaries[t].parent = summary}

Boundary(s, summary) ==          \* cover_nodes[-1]; a literal reading may have none
  LET covers == IF summary = NoSummary THEN <<>> ELSE s.summaries[summary].covers
  IN  IF covers = <<>> THEN NoStep ELSE Last(covers)
CurrentBoundary(s) == Boundary(s, s.summary_head)
HeadSummary(s)     == s.summaries[s.summary_head]
OpenSegment(s)     == Trace(s, CurrentBoundary(s), s.step_head)


RECURSIVE Since(_, _, _), FromBase(_, _), WaySince(_, _, _)
Since(s, above, summary) ==      \* the part of the summary path of one below the other
  IF summary \in {above, NoSummary} THEN <<>>
  ELSE Append(Since(s, above, s.summaries[summary].parent), summary)
FromBase(s, summary) ==
  IF s.summaries[summary].kind # "fallback" THEN <<summary>>
  ELSE Append(FromBase(s, s.summaries[summary].parent), summary)
WaySince(s, above, summary) ==
  IF summary \in {above, NoSummary} THEN <<>>
  ELSE Append(WaySince(s, above, s.summaries[summary].after), summary)
TakenIn(s, summary) ==           \* of the way, what stands between it and its parent (D12)
  WaySince(s, s.summaries[summary].parent, s.summaries[summary].after)

---------------------------------------------------------------------------------
(* The lines of C: <<summary, 0>> is a summary, <<summary, n>> the nth chapter that *)
(* ends at it. Read upwards from the head, the newest chapter hides what it is of,  *)
(* and in its place stand, seen from inside, the lines that it replaced (D19).      *)

Chapter(s, line)      == s.chapters[line[1]][line[2]]
FirstUnder(s, line)   == IF line[2] = 0 THEN line[1] ELSE Chapter(s, line).first
LineLabel(s, line)    == s.summaries[FirstUnder(s, line)].label
LineBoundary(s, line) == Boundary(s, line[1])
LineText(s, line)     == IF line[2] = 0 THEN s.summaries[line[1]].text ELSE Chapter(s, line).text
OpenLine(s, line)     == line[2] = 0 /\ s.summaries[line[1]].kind = "fallback"   \* its subgoal is not over

NewestLine(s, summary) == <<summary, Len(s.chapters[summary])>>
AboveLine(s, line)     == s.summaries[FirstUnder(s, line)].parent

RECURSIVE Lines(_, _), LinesDownTo(_, _, _)
Lines(s, summary) ==
  IF summary \in {0, NoSummary} THEN <<>>
  ELSE Append(Lines(s, AboveLine(s, NewestLine(s, summary))), NewestLine(s, summary))
LinesDownTo(s, first, line) ==
  IF FirstUnder(s, line) = first \/ AboveLine(s, line) \in {0, NoSummary} THEN <<line>>
  ELSE Append(LinesDownTo(s, first, NewestLine(s, AboveLine(s, line))), line)
Inside(s, line) ==               \* of a chapter
  LinesDownTo(s, FirstUnder(s, line), <<line[1], line[2] - 1>>)
Under(s, line) ==                \* the summaries that a line stands for
  Since(s, AboveLine(s, line), line[1])

RECURSIVE Unfolded(_, _)
Unfolded(s, lines) == IF lines = <<>> THEN <<>> ELSE Unfolded(s, Front(lines)) \o Under(s, Last(lines))

---------------------------------------------------------------------------------
(* Instructions in force, counted from the base (D17).                              *)

InstructionsBase(s, summary) ==
  Boundary(s, IF Literally("InstructionsFromTheBoundary") THEN summary ELSE Base(s, summary))

RECURSIVE Joint(_, _)
Joint(notes, path) == IF path = <<>> THEN <<>> ELSE Joint(notes, Front(path)) \o notes[Last(path)]
PlacedAt(s, path) ==
  LET Noted(step) == s.instructions[step] # <<>> IN Joint(s.instructions, SelectSeq(path, Noted))

InForce(s, base, below) ==       \* `below`: the steps after the base that count
  LET here    == PlacedAt(s, <<base>> \o below)
      before  == PlacedAt(s, Front(StepPath(s, base)))
      once    == {i \in DOMAIN before : ~before[i].standing}
      nearest == IF once # {} /\ \A i \in DOMAIN here : here[i].standing
                 THEN before[CHOOSE i \in once : \A j \in once : j <= i].step
                 ELSE NoStep
      Kept(instruction) == instruction.standing \/ instruction.step = nearest
      all     == SelectSeq(before, Kept) \o here
  IN  [i \in DOMAIN all |-> all[i].text]

InstructionsShown(s) ==
  LET base == InstructionsBase(s, s.summary_head) IN InForce(s, base, Trace(s, base, s.step_head))
InstructionsJudged(s) ==         \* those before the last step of the summary
  LET base == InstructionsBase(s, HeadSummary(s).parent)
  IN  InForce(s, base, Front(Trace(s, base, CurrentBoundary(s))))

---------------------------------------------------------------------------------
(* H is a function of the tree (D9). A lesson shows wherever its boundary lies      *)
(* between the base's and the current one (D8), so a fallback hides none.           *)

InOrder(set, next) == LET In(id) == id \in set IN SelectSeq([i \in 1..next |-> i - 1], In)
Covered(s, summaries) == UNION {Elements(s.summaries[t].covers) : t \in summaries}
RECURSIVE LessonsAt(_, _)
LessonsAt(s, summaries) ==       \* of the boundaries of these, in their order
  IF summaries = <<>> THEN <<>>
  ELSE LET boundary == Boundary(s, Last(summaries))
           here     == s.lessons[boundary]
       IN  LessonsAt(s, Front(summaries)) \o [i \in DOMAIN here |-> [boundary |-> boundary, text |-> here[i]]]

LessonsShown(s) ==
  LessonsAt(s, IF Literally("LessonsOfTheBoundaryAlone") THEN <<s.summary_head>> ELSE FromBase(s, s.summary_head))
Continuations(s) == StepChildren(s, s.step_head)
ChildrenOfKind(s, kind, parents) ==
  {t \in DOMAIN s.summaries : s.summaries[t].kind = kind /\ s.summaries[t].parent \in parents}
SubgoalsTried(s) ==
  LET subgoals == ChildrenOfKind(s, "subgoal", Elements(FromBase(s, s.summary_head)))
      parts    == ChildrenOfKind(s, "fallback", {s.summary_head})
  IN  subgoals \cup {t \in parts : Boundary(s, t) \notin Covered(s, subgoals)}

---------------------------------------------------------------------------------
(* What the judge is asked, and its digest (D5). The engine hashes all that an      *)
(* answer depends on; here the question stands for its own hash. Beside it the      *)
(* judge is shown what else was tried, and where a mistake may have begun.          *)

Earlier(s) ==                    \* a subgoal is judged with the fallbacks that it took in (D12)
  IF Literally("EarlierForgotten") THEN <<>> ELSE TakenIn(s, s.summary_head)
Said(s, summaries) ==
  [i \in DOMAIN summaries |->
    LET summary == s.summaries[summaries[i]]
    IN  [label   |-> summary.label, boundary |-> Last(summary.covers),
         text    |-> summary.text,  verdict  |-> Told(summary.verdict)]]
Above(s) ==                      \* the summary path above the head, which is what `before` unfolds to
  IF Literally("JudgedByItsStepsAlone") THEN <<>> ELSE Tail(SummaryPath(s, HeadSummary(s).parent))
Before(s) ==
  IF Literally("JudgedByItsStepsAlone") THEN <<>> ELSE Lines(s, HeadSummary(s).parent)
Question(s) ==
  LET head == HeadSummary(s)
  IN  [summary      |-> s.summary_head,
       text         |-> head.text,
       kind         |-> head.kind,
       covers       |-> head.covers,
       earlier      |-> Said(s, Earlier(s)),
       before       |-> Said(s, Above(s)),
       instructions |-> IF Literally("QuestionFollowsTheHead")
                        THEN InstructionsShown(s) ELSE InstructionsJudged(s)]
Digest(s) == {Question(s)}
NoDigest  == {}

Boundaries(s) ==                 \* where a mistake may be said to have begun
  {b \in {Boundary(s, t) : t \in Elements(Way(s, s.summary_head))} : b < CurrentBoundary(s)}

JudgedHints(s) ==                \* what else was tried on the way of this subgoal
  LET head     == HeadSummary(s)
      Passed(t) == Boundary(s, t) # CurrentBoundary(s)
      between  == SelectSeq(Earlier(s), Passed)
      places   == {head.label} \cup {Boundary(s, t) : t \in Elements(between)}
      from     == {head.parent} \cup Elements(between)
      subgoals == ChildrenOfKind(s, "subgoal", from) \ {s.summary_head}
      parts    == ChildrenOfKind(s, "fallback", from) \ ({s.summary_head} \cup Elements(Earlier(s)))
      covered  == Covered(s, subgoals) \cup Elements(head.covers)
  IN  [places        |-> places,
       continuations |-> {n \in DOMAIN s.steps : s.steps[n].parent \in places} \ Elements(head.covers),
       subgoals      |-> subgoals \cup {t \in parts : Boundary(s, t) \notin covered},
       lessons       |-> LessonsAt(s, FromBase(s, head.parent) \o between)]

Request(s) ==                    \* all that the judge is shown
  [question |-> Question(s), before |-> Before(s), hints |-> JudgedHints(s), boundaries |-> Boundaries(s)]

---------------------------------------------------------------------------------
(* What is folded, and by which digest (D19).                                       *)

Runs(s) ==                       \* from line to line of C: two or more, of finished subgoals
  {run \in (DOMAIN s.C) \X (DOMAIN s.C) :
     /\ run[1] < run[2]
     /\ \A i \in run[1]..run[2] : ~OpenLine(s, s.C[i]) \/ Literally("FallbacksFolded")}
Foldable(s, first, last) ==
  {run \in Runs(s) : LineLabel(s, s.C[run[1]]) = first /\ LineBoundary(s, s.C[run[2]]) = last}
LineSaid(s, line) ==
  [label    |-> LineLabel(s, line), boundary |-> LineBoundary(s, line),
   text     |-> LineText(s, line),
   verdict  |-> IF line[2] = 0 THEN Told(s.summaries[line[1]].verdict) ELSE <<>>,
   accepted |-> IF line[2] = 0 THEN 0 ELSE Chapter(s, line).accepted]
FoldQuestion(s, run, text) ==
  [text         |-> text,
   lines        |-> [i \in 1..(run[2] - run[1] + 1) |-> LineSaid(s, s.C[run[1] + i - 1])],
   instructions |-> InstructionsShown(s)]
FoldDigest(s, first, last, text) == {FoldQuestion(s, run, text) : run \in Foldable(s, first, last)}

---------------------------------------------------------------------------------
(* What is refused, and as what: phase, then target, then blank (D3). Blank: taken. *)

LegalBoundaries(s) ==            \* of the summaries on the way, in Rejected below the failed head's (D7)
  LET way     == Elements(IF Literally("RevisedByThePathAlone")
                          THEN SummaryPath(s, s.summary_head) ELSE Way(s, s.summary_head))
      ends    == {Boundary(s, t) : t \in way}
      undoes  == s.phase = "Rejected" /\ ~Literally("RevisedToFailedBoundary")
  IN  CASE Literally("UncheckedTarget") -> DOMAIN s.steps
        [] Literally("NoOpenTarget")    -> {s.summaries[t].label : t \in way \ {0}}
        [] OTHER                        -> {b \in ends : undoes => b < CurrentBoundary(s)}

(* What a compress covers, and under which summary: the open segment under the      *)
(* head, or all steps since the base, so that a subgoal takes its fallbacks in (D12) *)
CompressParent(s, kind) ==
  IF kind = "subgoal" /\ ~Literally("FallbacksStay") THEN Base(s, s.summary_head) ELSE s.summary_head
CompressCovers(s, kind) == Trace(s, Boundary(s, CompressParent(s, kind)), s.step_head)

WrongBoundary(s, command) ==     \* of a failed verdict (D5)
  /\ command.word = "failed" /\ command.boundary # NoStep
  /\ command.boundary \notin Boundaries(s) \/ command.fault = "summary"
  /\ ~Literally("AnyBoundaryNamed")

Refusal(s, command) ==
  CASE command.op = "grow" ->
         IF s.phase = "Rejected" /\ ~Literally("NoGate") THEN "IllegalPhase" ELSE ""   \* D6
    [] command.op = "instruct" ->
         CASE s.phase = "Rejected"  -> "IllegalPhase"
           [] command.text = Blank  -> "BlankInstruction"
           [] OTHER                 -> ""
    [] command.op = "compress" ->
         CASE s.phase # "Active" /\ ~Literally("NoGate") -> "IllegalPhase"             \* D6
           [] /\ CompressCovers(s, command.kind) = <<>>
              /\ ~Literally("EmptySegment")              -> "EmptySegment"             \* D3
           [] command.text = Blank                       -> "BlankSummary"
           [] OTHER                                      -> ""
    [] command.op = "retext" ->
         CASE s.phase = "Active"    -> "IllegalPhase"                                  \* D16
           [] command.text = Blank  -> "BlankSummary"
           [] OTHER                 -> ""
    [] command.op = "apply_verdict" ->
         CASE s.phase # "Unverified" -> "StaleVerdict"                                 \* D5
           [] command.digest # Digest(s) /\ ~Literally("StaleAnswerTaken") -> "StaleVerdict"
           [] WrongBoundary(s, command) -> "UnknownBoundary"
           [] command.word = "failed" /\ command.feedback = Blank -> "BlankFeedback"
           [] OTHER -> ""
    [] command.op = "accept" ->
         IF s.phase = "Active" THEN "IllegalPhase" ELSE ""                             \* D6
    [] command.op = "revise" ->
         IF command.boundary \in LegalBoundaries(s) THEN "" ELSE "UnknownBoundary"     \* D7
    [] command.op = "fold" ->
         CASE s.phase # "Active"                              -> "IllegalPhase"
           [] Foldable(s, command.first, command.last) = {}   -> "UnfoldableRange"     \* D19
           [] command.text = Blank                            -> "BlankSummary"
           [] command.digest # FoldDigest(s, command.first, command.last, command.text) -> "StaleVerdict"
           [] OTHER                                           -> ""

---------------------------------------------------------------------------------
(* The operations, for a command that is not refused. *)

WithLesson(s, boundary, lesson) ==   \* a blank one leaves none (D7)
  IF lesson = Blank THEN s ELSE [s EXCEPT !.lessons[boundary] = Append(@, lesson)]

Instruct(s, text, standing) ==       \* the same one there again changes nothing (D17)
  LET instruction == [step |-> s.step_head, text |-> text, standing |-> standing]
  IN  IF instruction \in Elements(s.instructions[s.step_head]) /\ ~Literally("InstructedTwice")
      THEN s
      ELSE [s EXCEPT !.instructions[s.step_head] = Append(@, instruction)]

(* Surrogate pairs are joined on entry: two spellings are one content (D15). *)
Joined(content) == IF content = "b in halves" THEN "b" ELSE content

Grow(s, content) ==                  \* Algorithm 1, Grow
  LET known == {n \in StepChildren(s, s.step_head) : s.steps[n].content = content}
      alike == IF Literally("GrowMergesAcrossParents")
               THEN {n \in DOMAIN s.steps \ {0} : s.steps[n].content = content} ELSE known
  IN  IF alike # {} /\ ~Literally("GrowNeverMerges")
      THEN [s EXCEPT !.step_head = Only(alike), !.R = Append(@, Only(alike))]          \* merge node (D10)
      ELSE [s EXCEPT !.steps        = @ @@ (s.next_step :> [parent |-> s.step_head, content |-> content]),
                     !.lessons      = @ @@ (s.next_step :> <<>>),
                     !.instructions = @ @@ (s.next_step :> <<>>),
                     !.step_head    = s.next_step,
                     !.R            = Append(@, s.next_step),
                     !.next_step    = @ + 1]

(* A new text is judged anew. What an old failure said of the steps, overruled or   *)
(* not, is left as a lesson; what it said of the text goes with the text (D4).      *)
OldFeedback(verdict) ==
  IF verdict.fault = "execution" \/ Literally("TextFeedbackKept") THEN verdict.feedback ELSE Blank
ReplaceText(s, summary, text, kind, merged) ==
  LET old  == s.summaries[summary]
      left == IF Literally("FeedbackLostOnRetext") THEN s
              ELSE WithLesson(s, old.label, OldFeedback(old.verdict))
  IN  [left EXCEPT !.summaries[summary].text    = text,
                   !.summaries[summary].kind    = kind,
                   !.summaries[summary].verdict = IF merged /\ Literally("StaleNote") THEN @ ELSE Pending,
                   !.chapters[summary]          = IF Literally("ChapterKept") THEN @ ELSE <<>>,   \* D19
                   !.phase                      = "Unverified"]

Compress(s, text, kind) ==           \* Algorithm 1, Compress
  LET parent   == CompressParent(s, kind)
      boundary == Boundary(s, parent)
      segment  == IF Literally("InclusiveTrace") THEN <<boundary>> \o CompressCovers(s, kind)
                  ELSE CompressCovers(s, kind)
      beside   == IF Literally("CompressMergesAcrossParents") THEN DOMAIN s.summaries \ {0}
                  ELSE SummaryChildren(s, parent)
      same     == IF Literally("CompressNeverMerges") THEN {}
                  ELSE {t \in beside : s.summaries[t].covers = segment}
      new      == IF Literally("StepIdIsUnique") THEN boundary + 1                     \* D1
                  ELSE Cardinality(DOMAIN s.summaries)
      summary  == IF same = {} THEN new ELSE Only(same)
      label    == IF Literally("LabelOneBack") /\ parent # 0 THEN s.summaries[parent].label ELSE boundary
      after    == IF Literally("AfterItsParent") THEN parent ELSE s.summary_head
      node     == [parent |-> parent, after |-> after, label |-> label, covers |-> segment,
                   text |-> text, kind |-> kind, verdict |-> Pending]
      with     == CASE same = {}                -> [s EXCEPT !.summaries = (new :> node) @@ @,
                                                             !.chapters  = (new :> <<>>) @@ @]
                    [] summary = s.summary_head -> s
                    [] OTHER                    -> [s EXCEPT !.summaries[summary].after = after]
      kept     == Len(s.C) - Len(Since(s, parent, s.summary_head))   \* what is taken in shows no more (D12)
  IN  [ReplaceText(with, summary, text, kind, same # {}) EXCEPT
         !.summary_head = summary, !.R = <<>>, !.C = Append(SubSeq(@, 1, kept), <<summary, 0>>)]

Retext(s, text) ==                   \* the kind stays (D16)
  ReplaceText(s, s.summary_head, text, HeadSummary(s).kind, FALSE)

ApplyVerdict(s, command) ==          \* Algorithm 1, Maintain; the open segment stays (D6)
  LET asked == Only(command.digest)
      of    == <<asked.text, asked.kind>>
  IN  [s EXCEPT !.summaries[s.summary_head].verdict =
                  Verdict(command.word, command.feedback, command.fault, command.boundary, of),
                !.phase = IF command.word = "passed" THEN "Active" ELSE "Rejected"]

Accept(s) ==                         \* openly, and despite what (D6)
  [s EXCEPT !.summaries[s.summary_head].verdict =
              CASE Literally("AcceptLooksLikeAPass") -> Verdict("passed", "", "", NoStep, @.of)
                [] Literally("AcceptForgets")        -> Verdict("accepted", "", "", NoStep, <<>>)
                [] OTHER                             -> [@ EXCEPT !.word = "accepted"],
            !.phase = "Active"]

(* The last summary goes out of C. Where it is under a chapter, what else was under *)
(* that one shows again; what it had taken in shows again, too.                     *)
RECURSIVE WithoutLast(_, _)
WithoutLast(s, lines) ==
  CASE lines = <<>>        -> <<>>
    [] Last(lines)[2] = 0  -> Front(lines)
    [] OTHER               -> WithoutLast(s, Front(lines) \o Inside(s, Last(lines)))
GoneUp(s, lines) ==
  LET taken == TakenIn(s, s.summary_head)
  IN  WithoutLast(s, lines) \o [i \in DOMAIN taken |-> <<taken[i], 0>>]

RECURSIVE Undone(_, _)
Undone(s, boundary) ==               \* Algorithm 1, Revise: up the way to the summary that ends there (D7)
  IF \/ s.summary_head = NoSummary                         \* past the root: the target was not checked
     \/ CurrentBoundary(s) = boundary
     \/ Literally("ReviseStopsAtTheLabel") /\ HeadSummary(s).label = boundary
  THEN s
  ELSE Undone([s EXCEPT !.summary_head = HeadSummary(s).after,
                        !.C = IF s.summary_head = 0 \/ Literally("ReviseKeepsC") THEN @ ELSE GoneUp(s, @)],
              boundary)

Revise(s, boundary, lesson) ==
  LET back  == Undone(s, boundary)
      place == IF Literally("LessonWhereItFailed") THEN s.step_head ELSE boundary
      left  == WithLesson(back, place, lesson)             \* in the tree, at the boundary (D8)
      stays == back.summary_head = s.summary_head /\ s.phase = "Unverified"
      kept  == [n \in {m \in DOMAIN s.steps : m <= boundary} |-> s.steps[n]]
  IN  IF back.summary_head = NoSummary THEN back
      ELSE [left EXCEPT !.step_head = CurrentBoundary(back),
                        !.R         = <<>>,
                        !.phase     = IF stays THEN "Unverified" ELSE "Active",
                        !.steps     = IF Literally("ReviseDiscards") THEN kept ELSE @]

Fold(s, first, last, text) ==        \* one line in place of a run of them (D19)
  LET run     == Only(Foldable(s, first, last))
      end     == s.C[run[2]][1]
      under   == Unfolded(s, SubSeq(s.C, run[1], run[2]))
      opened  == {t \in Elements(under) : s.summaries[t].verdict.word = "accepted"}
      chapter == [label |-> first, boundary |-> last, text |-> text, accepted |-> Cardinality(opened),
                  first |-> Head(under), last |-> end]
      line    == <<end, Len(s.chapters[end]) + 1>>
      told    == IF Literally("FoldedIntoASummary") THEN text ELSE s.summaries[end].text
  IN  [s EXCEPT !.chapters[end]       = Append(@, chapter),
                !.summaries[end].text = told,
                !.C = SubSeq(@, 1, run[1] - 1) \o <<line>> \o SubSeq(@, run[2] + 1, Len(@))]

(* What a revise leaves behind: the abandoned steps, newest first (D14), and the    *)
(* instructions placed at them, in path order (D7).                                 *)
Abandoned(s, boundary) ==
  LET left == Trace(s, boundary, s.step_head) IN [i \in DOMAIN left |-> left[Len(left) + 1 - i]]
LeftBehind(s, boundary) == PlacedAt(s, Trace(s, boundary, s.step_head))

(* Of H the lessons are kept, as Algorithm 1 updates them. What was tried needs no  *)
(* keeping: it is read off the tree.                                                *)
Hinted(s, command) ==
  IF s.summary_head = NoSummary \/ CurrentBoundary(s) = NoStep THEN s
  ELSE [s EXCEPT !.H = IF ~Literally("HintsReplaced") THEN LessonsShown(s)
                       ELSE IF command.op = "revise" /\ command.lesson # Blank
                            THEN <<[boundary |-> command.boundary, text |-> command.lesson]>> ELSE <<>>]

After(s, command) ==
  Hinted(CASE command.op = "grow"     -> Grow(s, Joined(command.content))
           [] command.op = "instruct" -> Instruct(s, command.text, command.standing)
           [] command.op = "compress" -> Compress(s, command.text, command.kind)
           [] command.op = "retext"   -> Retext(s, command.text)
           [] command.op = "apply_verdict" -> ApplyVerdict(s, command)
           [] command.op = "accept"   -> Accept(s)
           [] command.op = "revise"   -> Revise(s, command.boundary, command.lesson)
           [] command.op = "fold"     -> Fold(s, command.first, command.last, command.text),
         command)
=================================================================================
