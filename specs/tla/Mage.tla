---------------------------------- MODULE Mage ----------------------------------
(* Algorithm 1 of the paper with the decisions D1 to D17 of specs/README.md, as     *)
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
(* despite (D6): its feedback, its fault, and what they were said of.               *)

Verdict(word, feedback, fault, of) == [word |-> word, feedback |-> feedback, fault |-> fault, of |-> of]
Pending == Verdict("pending", "", "", <<>>)

(* Both layers start with a root sentinel (D2). *)
Start ==
  [phase        |-> "Active",
   steps        |-> (0 :> [parent |-> NoStep, content |-> ""]),
   summaries    |-> (0 :> [parent |-> NoSummary, label |-> NoStep, covers |-> <<0>>, text |-> "",
                           kind |-> "subgoal", verdict |-> Verdict("passed", "", "", <<"", "subgoal">>)]),
   step_head    |-> 0,           \* p_b
   summary_head |-> 0,           \* p_t
   next_step    |-> 1,           \* l
   C            |-> <<>>,        \* summaries, as Algorithm 1 keeps them up to date
   R            |-> <<>>,        \* steps, likewise
   H            |-> <<>>,        \* the lessons that are shown
   lessons      |-> (0 :> <<>>), \* by boundary, oldest first (D8)
   instructions |-> (0 :> <<>>)] \* by step, oldest first (D17)

---------------------------------------------------------------------------------
(* Reading a state. *)

RECURSIVE StepPath(_, _), SummaryPath(_, _), Trace(_, _, _)
StepPath(s, step) ==             \* from the root down, both included
  IF step = NoStep THEN <<>> ELSE Append(StepPath(s, s.steps[step].parent), step)
SummaryPath(s, summary) ==
  IF summary = NoSummary THEN <<>> ELSE Append(SummaryPath(s, s.summaries[summary].parent), summary)
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

---------------------------------------------------------------------------------
(* Instructions in force, counted from the base: the boundary of the nearest        *)
(* summary that is no fallback (D17).                                               *)

RECURSIVE Base(_, _), Joint(_, _)
Base(s, summary) ==
  IF s.summaries[summary].kind = "fallback" /\ ~Literally("InstructionsFromTheBoundary")
  THEN Base(s, s.summaries[summary].parent)
  ELSE Boundary(s, summary)
Joint(s, path) ==
  IF path = <<>> THEN <<>> ELSE Joint(s, Front(path)) \o s.instructions[Last(path)]
PlacedAt(s, path) ==
  LET Noted(step) == s.instructions[step] # <<>> IN Joint(s, SelectSeq(path, Noted))

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
  LET base == Base(s, s.summary_head) IN InForce(s, base, Trace(s, base, s.step_head))
InstructionsJudged(s) ==         \* those before the last step of the summary
  LET base == Base(s, HeadSummary(s).parent)
  IN  InForce(s, base, Front(Trace(s, base, CurrentBoundary(s))))

---------------------------------------------------------------------------------
(* What the judge is asked, and its digest (D5). The engine hashes all that an      *)
(* answer depends on; here the question stands for its own hash.                    *)

RECURSIVE FallbacksUpFrom(_, _)
FallbacksUpFrom(s, summary) ==   \* the run of fallbacks that ends here, oldest first
  IF s.summaries[summary].kind = "fallback"
  THEN Append(FallbacksUpFrom(s, s.summaries[summary].parent), summary)
  ELSE <<>>
Earlier(s) ==                    \* a subgoal is judged with the fallbacks right above it (D12)
  IF HeadSummary(s).kind = "subgoal" /\ ~Literally("EarlierForgotten")
  THEN FallbacksUpFrom(s, HeadSummary(s).parent)
  ELSE <<>>
Question(s) ==
  LET head == HeadSummary(s)
      run  == Earlier(s)
  IN  [summary      |-> s.summary_head,
       text         |-> head.text,
       kind         |-> head.kind,
       covers       |-> head.covers,
       earlier      |-> [i \in DOMAIN run |-> [label  |-> s.summaries[run[i]].label,
                                               text   |-> s.summaries[run[i]].text,
                                               covers |-> s.summaries[run[i]].covers]],
       instructions |-> IF Literally("QuestionFollowsTheHead")
                        THEN InstructionsShown(s) ELSE InstructionsJudged(s)]
Digest(s) == {Question(s)}
NoDigest  == {}

---------------------------------------------------------------------------------
(* What is refused, and as what: phase, then target, then blank (D3). Blank: taken. *)

LegalBoundaries(s) ==            \* of the summaries on the summary path, not of a failed head (D7)
  LET path    == SummaryPath(s, s.summary_head)
      targets == IF s.phase = "Rejected" /\ ~Literally("RevisedToFailedBoundary") THEN Front(path) ELSE path
  IN  CASE Literally("UncheckedTarget") -> DOMAIN s.steps
        [] Literally("NoOpenTarget")    -> {s.summaries[path[i]].label : i \in 2..Len(path)}
        [] OTHER                        -> {Boundary(s, t) : t \in Elements(targets)}

Completes(s, kind) == HeadSummary(s).kind = "fallback" /\ kind = "subgoal"   \* D12

Refusal(s, command) ==
  CASE command.op = "grow" ->
         IF s.phase = "Rejected" /\ ~Literally("NoGate") THEN "IllegalPhase" ELSE ""   \* D6
    [] command.op = "instruct" ->
         CASE s.phase = "Rejected"  -> "IllegalPhase"
           [] command.text = Blank  -> "BlankInstruction"
           [] OTHER                 -> ""
    [] command.op = "compress" ->
         CASE s.phase # "Active" /\ ~Literally("NoGate") -> "IllegalPhase"             \* D6
           [] /\ OpenSegment(s) = <<>>
              /\ ~Completes(s, command.kind)
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
           [] command.word = "failed" /\ command.feedback = Blank -> "BlankFeedback"
           [] OTHER -> ""
    [] command.op = "accept" ->
         IF s.phase = "Active" THEN "IllegalPhase" ELSE ""                             \* D6
    [] command.op = "revise" ->
         IF command.boundary \in LegalBoundaries(s) THEN "" ELSE "UnknownBoundary"     \* D7

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
                   !.phase                      = "Unverified"]

Compress(s, text, kind) ==           \* Algorithm 1, Compress
  LET boundary == CurrentBoundary(s)
      segment  == IF Literally("InclusiveTrace") THEN <<boundary>> \o OpenSegment(s) ELSE OpenSegment(s)
      beside   == IF Literally("CompressMergesAcrossParents") THEN DOMAIN s.summaries \ {0}
                  ELSE SummaryChildren(s, s.summary_head)
      same     == IF Literally("CompressNeverMerges") THEN {}
                  ELSE {t \in beside : s.summaries[t].covers = segment}
      new      == IF Literally("StepIdIsUnique") THEN boundary + 1                     \* D1
                  ELSE Cardinality(DOMAIN s.summaries)
      summary  == IF same = {} THEN new ELSE Only(same)
      label    == IF Literally("LabelOneBack") /\ s.summary_head # 0 THEN HeadSummary(s).label ELSE boundary
      node     == [parent |-> s.summary_head, label |-> label, covers |-> segment,
                   text |-> text, kind |-> kind, verdict |-> Pending]
      with     == IF same = {} THEN [s EXCEPT !.summaries = (new :> node) @@ @] ELSE s
  IN  IF segment = <<>> /\ Completes(s, kind)
      THEN ReplaceText(s, s.summary_head, text, kind, FALSE)                           \* D12
      ELSE [ReplaceText(with, summary, text, kind, same # {}) EXCEPT
              !.summary_head = summary, !.R = <<>>, !.C = Append(@, summary)]

Retext(s, text, kind) ==             \* the kind is named, or kept where none is (D16)
  ReplaceText(s, s.summary_head, text, IF kind = "" THEN HeadSummary(s).kind ELSE kind, FALSE)

ApplyVerdict(s, word, feedback, fault, digest) ==   \* Algorithm 1, Maintain; the open segment stays (D6)
  LET of == <<Only(digest).text, Only(digest).kind>>
  IN  [s EXCEPT !.summaries[s.summary_head].verdict = Verdict(word, feedback, fault, of),
                !.phase = IF word = "passed" THEN "Active" ELSE "Rejected"]

Accept(s) ==                         \* openly, and despite what (D6)
  [s EXCEPT !.summaries[s.summary_head].verdict =
              CASE Literally("AcceptLooksLikeAPass") -> Verdict("passed", "", "", @.of)
                [] Literally("AcceptForgets")        -> Verdict("accepted", "", "", <<>>)
                [] OTHER                             -> [@ EXCEPT !.word = "accepted"],
            !.phase = "Active"]

RECURSIVE Undone(_, _)
Undone(s, boundary) ==               \* Algorithm 1, Revise: up to the summary with this label, and one more
  IF s.summary_head = NoSummary THEN s                     \* past the root: the target was not checked
  ELSE LET above == [s EXCEPT !.summary_head = HeadSummary(s).parent,
                              !.C            = IF @ = <<>> \/ Literally("ReviseKeepsC") THEN @ ELSE Front(@)]
       IN  IF HeadSummary(s).label = boundary
           THEN (IF Literally("ReviseStopsAtTheLabel") THEN s ELSE above)
           ELSE Undone(above, boundary)

Revise(s, boundary, lesson) ==       \* and one target more: the current boundary (D7)
  LET back  == IF boundary = CurrentBoundary(s) /\ ~Literally("NoOpenTarget") THEN s ELSE Undone(s, boundary)
      place == IF Literally("LessonWhereItFailed") THEN s.step_head ELSE boundary
      left  == WithLesson(back, place, lesson)             \* in the tree, at the boundary (D8)
      stays == back.summary_head = s.summary_head /\ s.phase = "Unverified"
      kept  == [n \in {m \in DOMAIN s.steps : m <= boundary} |-> s.steps[n]]
  IN  IF back.summary_head = NoSummary THEN back
      ELSE [left EXCEPT !.step_head = CurrentBoundary(back),
                        !.R         = <<>>,
                        !.phase     = IF stays THEN "Unverified" ELSE "Active",
                        !.steps     = IF Literally("ReviseDiscards") THEN kept ELSE @]

(* What a revise leaves behind: the abandoned steps, newest first (D14), and the    *)
(* instructions placed at them, in path order (D7).                                 *)
Abandoned(s, boundary) ==
  LET left == Trace(s, boundary, s.step_head) IN [i \in DOMAIN left |-> left[Len(left) + 1 - i]]
LeftBehind(s, boundary) == PlacedAt(s, Trace(s, boundary, s.step_head))

(* H is a function of the tree (D9): the lessons at the current boundary. Children  *)
(* of the heads are shown too; they are read off the tree and need no keeping.      *)
Hinted(s, command) ==
  IF s.summary_head = NoSummary \/ CurrentBoundary(s) = NoStep THEN s
  ELSE [s EXCEPT !.H = IF ~Literally("HintsReplaced") THEN s.lessons[CurrentBoundary(s)]
                       ELSE IF command.op = "revise" /\ command.lesson # Blank
                            THEN <<command.lesson>> ELSE <<>>]

After(s, command) ==
  Hinted(CASE command.op = "grow"     -> Grow(s, Joined(command.content))
           [] command.op = "instruct" -> Instruct(s, command.text, command.standing)
           [] command.op = "compress" -> Compress(s, command.text, command.kind)
           [] command.op = "retext"   -> Retext(s, command.text, command.kind)
           [] command.op = "apply_verdict" ->
                ApplyVerdict(s, command.word, command.feedback, command.fault, command.digest)
           [] command.op = "accept"   -> Accept(s)
           [] command.op = "revise"   -> Revise(s, command.boundary, command.lesson),
         command)
=================================================================================
