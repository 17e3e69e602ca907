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

Told(placed) == [i \in DOMAIN placed |-> [text |-> placed[i].text, standing |-> placed[i].standing]]
InOrder(ids, next) == LET In(id) == id \in ids IN SelectSeq([i \in 1..next |-> i - 1], In)

Observed(s) ==
  LET next_summary == Cardinality(DOMAIN s.summaries)
  IN  [phase         |-> s.phase,
       step_head     |-> s.step_head,
       summary_head  |-> s.summary_head,
       next_step     |-> s.next_step,
       next_summary  |-> next_summary,
       content       |-> s.steps[s.step_head].content,
       C             |-> [i \in DOMAIN s.C |->
                           LET summary == s.summaries[s.C[i]]
                           IN  [id       |-> s.C[i],
                                label    |-> summary.label,
                                text     |-> summary.text,
                                kind     |-> summary.kind,
                                verdict  |-> summary.verdict.word,
                                feedback |-> summary.verdict.feedback,
                                fault    |-> summary.verdict.fault]],
       R             |-> s.R,
       lessons       |-> s.H,
       continuations |-> InOrder(StepChildren(s, s.step_head), s.next_step),
       subgoals      |-> InOrder(SummaryChildren(s, s.summary_head), next_summary),
       placed        |-> Told(s.instructions[s.step_head]),
       instructions  |-> InstructionsShown(s)]

(* What a revise has left behind, nothing after any other command. *)
LeftBy(command, refusal) ==
  LET revised == command.op = "revise" /\ refusal = ""
  IN  [abandoned   |-> IF revised THEN Abandoned(state, command.boundary) ELSE <<>>,
       left_behind |-> IF revised THEN Told(LeftBehind(state, command.boundary)) ELSE <<>>]

(* A digest stands for one question, and a question has one digest (D5). *)
DigestFits(s, digest) ==
  IF s.phase = "Unverified"
  THEN \A other \in DOMAIN known : other = digest <=> known[other] = Question(s)
  ELSE digest = "none"

Asked(command) ==                \* the command with the question that its digest stands for
  IF command.op # "apply_verdict" THEN command
  ELSE [command EXCEPT !.digest = IF @ \in DOMAIN known THEN {known[@]} ELSE NoDigest]

Follow(event) ==
  LET command == Asked(event.command)
      refusal == IF command.op = "start" THEN "" ELSE Refusal(state, command)
      after   == IF refusal # "" \/ command.op = "start" THEN state ELSE After(state, command)
      shown   == Observed(after) @@ LeftBy(command, refusal)
  IN  /\ state'   = after
      /\ did'     = command
      /\ known'   = IF after.phase = "Unverified" THEN known @@ (event.digest :> Question(after)) ELSE known
      /\ differs' = (IF refusal = event.refusal THEN {} ELSE {"refusal"})
                    \cup (IF DigestFits(after, event.digest) THEN {} ELSE {"digest"})
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
