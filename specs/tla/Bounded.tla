--------------------------------- MODULE Bounded ---------------------------------
(* Every history of Mage.tla over an alphabet, within bounds. The configurations    *)
(* beside this file name both; specs/tlc.py runs them.                              *)
EXTENDS Laws

CONSTANTS Contents,              \* of steps, as they are spelled
          Texts, Kinds,          \* of a compress
          Retexts,               \* of a retext
          Faults,                \* of a failed verdict
          Origins,               \* whether a failed verdict says where the mistake began
          WrongOrigins,          \* whether it says so, too, where it may not
          Lessons,               \* of a revise, "" leaving none
          Instructions, Standing,
          Accepts,               \* whether a summary can be accepted
          Chapters,              \* texts of a fold
          Tries,                 \* whether commands are tried that are refused
          MaxDepth,              \* commands in a row; 0 for any number
          MaxSteps, MaxSummaries, MaxLessons, MaxInstructions   \* beside the root, at one step

VARIABLES asked,                 \* every question that a judge was asked so far, where old answers are taken
          depth                  \* how many commands led here, at least

Init == state = Start /\ did = [op |-> "start"] /\ asked = {} /\ depth = 0

Do(command) ==
  IF Refusal(state, command) = ""
  THEN /\ state' = After(state, command)
       /\ did'   = command
       /\ asked' = IF Literally("StaleAnswerTaken") /\ state'.phase = "Unverified"
                   THEN asked \cup {Digest(state')} ELSE asked
       /\ depth' = depth + 1
  ELSE /\ Tries                  \* a refused command changes nothing (L7)
       /\ did'   = [op |-> "refused", command |-> command]
       /\ depth' = depth + 1
       /\ UNCHANGED <<state, asked>>

Answer(word, feedback, fault, boundary, digest) ==
  Do([op |-> "apply_verdict", word |-> word, feedback |-> feedback, fault |-> fault, boundary |-> boundary,
      digest |-> digest])
Folded(first, last, text, digest) ==
  Do([op |-> "fold", first |-> first, last |-> last, text |-> text, digest |-> digest])

Answers ==                       \* a judge may be asked by one state and answer in a later one
  CASE Literally("StaleAnswerTaken")  -> asked
    [] state.phase = "Unverified"     -> {Digest(state)}
    [] OTHER                          -> {NoDigest}

Named ==                         \* where a mistake is said to have begun
  CASE ~Origins \/ state.phase # "Unverified" -> {}
    [] Literally("AnyBoundaryNamed")          -> DOMAIN state.steps
    [] OTHER                                  -> Boundaries(state)

Ends == {Boundary(state, t) : t \in Elements(Way(state, state.summary_head))}

Refused ==                       \* what is refused wherever it is tried
  \/ Do([op |-> "instruct", text |-> Blank, standing |-> FALSE])
  \/ Do([op |-> "compress", text |-> Blank, kind |-> "subgoal"])
  \/ Do([op |-> "retext", text |-> Blank])
  \/ \E digest \in Answers : Answer("failed", Blank, "execution", NoStep, digest)
  \/ Answer("passed", "", "", NoStep, NoDigest)
  \/ \E digest \in Answers : WrongOrigins /\ Answer("failed", "f", "execution", CurrentBoundary(state), digest)
  \/ \E digest \in Answers : WrongOrigins /\ Answer("failed", "f", "summary", 0, digest)
  \/ \E text \in Chapters : Folded(0, 0, text, NoDigest)

Next ==
  /\ MaxDepth = 0 \/ depth < MaxDepth
  /\ \/ \E content \in Contents : Do([op |-> "grow", content |-> content])
     \/ \E text \in Instructions, standing \in Standing :
          Do([op |-> "instruct", text |-> text, standing |-> standing])
     \/ \E text \in Texts, kind \in Kinds : Do([op |-> "compress", text |-> text, kind |-> kind])
     \/ \E text \in Retexts : Do([op |-> "retext", text |-> text])
     \/ \E digest \in Answers :
          \/ Answer("passed", "", "", NoStep, digest)
          \/ \E fault \in Faults : Answer("failed", "f", fault, NoStep, digest)
          \/ \E boundary \in Named : Answer("failed", "f", "execution", boundary, digest)
     \/ Accepts /\ Do([op |-> "accept"])
     \/ LET ends == Ends
        IN  \E boundary \in IF Tries THEN 0..state.next_step ELSE LegalBoundaries(state) :
              \E lesson \in IF boundary \in ends THEN Lessons ELSE {"l"} :
                Do([op |-> "revise", boundary |-> boundary, lesson |-> lesson])
     \/ \E text \in Chapters : state.phase = "Active" /\ \E run \in Runs(state) :
          LET first == LineLabel(state, state.C[run[1]])
              last  == LineBoundary(state, state.C[run[2]])
          IN  Folded(first, last, text, FoldDigest(state, first, last, text))
     \/ Tries /\ Refused

Spec == Init /\ [][Next]_<<vars, asked, depth>>

WithinBounds ==
  /\ Cardinality(DOMAIN state.steps) - 1 <= MaxSteps
  /\ Cardinality(DOMAIN state.summaries) - 1 <= MaxSummaries
  /\ \A n \in DOMAIN state.steps :
       Len(state.lessons[n]) <= MaxLessons /\ Len(state.instructions[n]) <= MaxInstructions

(* States are told apart as the explorer tells them apart: by value, however they   *)
(* were reached. A stale answer needs to know what was asked.                       *)
View  == state
Asked == <<state, asked>>
=================================================================================
