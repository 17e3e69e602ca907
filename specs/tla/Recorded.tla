-------------------------------- MODULE Recorded --------------------------------
(* Are journals that the Python engine wrote behaviours of Mage.tla? Log.tla, which *)
(* specs/recorded.py generates, holds them: for each command what was asked for,    *)
(* what it was refused with ("" where it was taken), and what the engine showed     *)
(* after it. Each journal is followed from its start to the first command that the  *)
(* model answers otherwise; what was found is printed, one line a journal.          *)
EXTENDS Laws, Log

VARIABLES journal,               \* which one
          at,                    \* how many of its commands were followed
          known,                 \* the question behind each digest that was seen
          differs                \* what the engine and the model say differently

Placed(notes) == [i \in DOMAIN notes |-> [text |-> notes[i].text, standing |-> notes[i].standing]]

LinesSaid(s, lines) ==           \* each with all that it says; a chapter has no kind and no verdict
  [i \in DOMAIN lines |->
    LET line    == lines[i]
        summary == s.summaries[line[1]]
        folds   == line[2] > 0
    IN  [first    |-> FirstUnder(s, line),
         last     |-> line[1],
         label    |-> LineLabel(s, line),
         boundary |-> LineBoundary(s, line),
         text     |-> LineText(s, line),
         accepted |-> IF folds THEN Chapter(s, line).accepted ELSE 0,
         kind     |-> IF folds THEN "chapter" ELSE summary.kind,
         verdict  |-> IF folds THEN <<>> ELSE Told(summary.verdict)]]

HintsSaid(s, next_summary, hints) ==
  [continuations |-> InOrder(hints.continuations, s.next_step),
   subgoals      |-> InOrder(hints.subgoals, next_summary),
   lessons       |-> hints.lessons]

JudgeAsked(s) ==                 \* nothing where nothing is pending
  IF s.phase # "Unverified" THEN <<>>
  ELSE LET request == Request(s)
       IN  <<[kind         |-> request.question.kind,
              text         |-> request.question.text,
              steps        |-> request.question.covers,
              earlier      |-> request.question.earlier,
              instructions |-> request.question.instructions,
              before       |-> LinesSaid(s, request.before),
              boundaries   |-> InOrder(request.boundaries, s.next_step),
              hints        |-> HintsSaid(s, Cardinality(DOMAIN s.summaries), request.hints)]>>

Observed(s) ==
  LET next_summary == Cardinality(DOMAIN s.summaries)
      hints        == [continuations |-> Continuations(s), subgoals |-> SubgoalsTried(s), lessons |-> s.H]
  IN  [phase         |-> s.phase,
       step_head     |-> s.step_head,
       way           |-> Way(s, s.summary_head),
       next_step     |-> s.next_step,
       next_summary  |-> next_summary,
       content       |-> s.steps[s.step_head].content,
       C             |-> LinesSaid(s, s.C),
       R             |-> s.R,
       H             |-> HintsSaid(s, next_summary, hints),
       placed        |-> Placed(s.instructions[s.step_head]),
       instructions  |-> InstructionsShown(s),
       asked         |-> JudgeAsked(s)]

(* What a revise has left behind, nothing after any other command. *)
LeftBy(command, refusal) ==
  LET revised == command.op = "revise" /\ refusal = ""
  IN  [abandoned   |-> IF revised THEN Abandoned(state, command.boundary) ELSE <<>>,
       left_behind |-> IF revised THEN Placed(LeftBehind(state, command.boundary)) ELSE <<>>]

(* A digest stands for one question, and a question has one digest (D5, D19).      *)
Fits(digest, question) ==
  \A other \in DOMAIN known : other = digest <=> known[other] = question
DigestFits(s, digest) ==
  IF s.phase = "Unverified" THEN Fits(digest, Question(s)) ELSE digest = "none"

(* Before it is folded, the engine says by which digest that would be.              *)
Folding(command) ==
  IF command.op # "fold" \/ state.phase # "Active" \/ command.text = Blank THEN {}
  ELSE FoldDigest(state, command.first, command.last, command.text)
FoldingFits(command, digest) ==
  IF Folding(command) = {} THEN digest = "none" ELSE Fits(digest, Only(Folding(command)))
Known(command, digest) ==
  IF Folding(command) = {} THEN known ELSE known @@ (digest :> Only(Folding(command)))

Asked(command, heard) ==         \* the command with the question that its digest stands for
  IF command.op \notin {"apply_verdict", "fold"} THEN command
  ELSE [command EXCEPT !.digest = IF @ \in DOMAIN heard THEN {heard[@]} ELSE NoDigest]

Follow(event) ==
  LET heard   == Known(event.command, event.folding)
      command == Asked(event.command, heard)
      refusal == IF command.op = "start" THEN "" ELSE Refusal(state, command)
      after   == IF refusal # "" \/ command.op = "start" THEN state ELSE After(state, command)
      shown   == Observed(after) @@ LeftBy(command, refusal)
  IN  /\ state'   = after
      /\ did'     = command
      /\ known'   = IF after.phase = "Unverified" THEN heard @@ (event.digest :> Question(after)) ELSE heard
      /\ differs' = (IF refusal = event.refusal THEN {} ELSE {"refusal"})
                    \cup (IF DigestFits(after, event.digest) THEN {} ELSE {"digest"})
                    \cup (IF FoldingFits(event.command, event.folding) THEN {} ELSE {"folding"})
                    \cup {part \in DOMAIN shown : shown[part] # event.shown[part]}

TraceInit ==
  /\ journal \in DOMAIN Journals
  /\ state = Start /\ did = [op |-> "nothing"] /\ at = 0 /\ known = <<>> /\ differs = {}
TraceNext ==
  /\ at < Len(Journals[journal]) /\ differs = {}
  /\ Follow(Journals[journal][at + 1])
  /\ at' = at + 1 /\ journal' = journal
  /\ differs' # {} \/ at' = Len(Journals[journal]) => PrintT(<<"journal", journal, "command", at', differs'>>)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, journal, at, known, differs>>
=================================================================================
