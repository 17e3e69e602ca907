---------------------------------- MODULE Shell ----------------------------------
(* What is around the machine: sessions in processes of their own, which write one  *)
(* journal and its forks in one store, ask judges and summarizers while others      *)
(* write, and die at any point. See mage/session/core.py and mage/stores.           *)
(*                                                                                  *)
(* Of a state only what decides who may write what is left: the phase, whether a    *)
(* step is open, and which record made the summary that is pending. What can be     *)
(* done wrong stands here too, behind a name: `Wrongly("RetryInDoubt")` is true     *)
(* where the constant Wrong holds it. Each breaks a property below by name.         *)
(*                                                                                  *)
(* Nothing counts crashes: a session or the store's machine may fall at any point   *)
(* and as often as it likes, and an await may be cancelled at any point. TLC's own  *)
(* search for deadlocks says nothing here (who is down can always be opened again); *)
(* resumed_asks_again says that nobody is stuck.                                    *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Wrong,                 \* what is done wrong
          Writers,               \* sessions, one a process
          Commands,              \* what they do: grow, batch, compress, pass, fail, retext, revise
          Begun,                 \* steps that stand in the journal from the beginning
          Forks,                 \* names for forks
          MaxVersion,            \* records in a journal
          MaxTaken               \* records that an operator takes away by putting a backup back

VARIABLES log,                   \* what the store has on disk: commits, in order
          limbo,                 \* the commit that is being made: kept or lost, whatever happens now
          writers,               \* the sessions
          acknowledged,          \* digests of records that a session was told are there
          taken,                 \* digests of records that a backup put back does not have
          did                    \* the last step, by name

vars == <<log, limbo, writers, acknowledged, taken, did>>
View == <<log, limbo, writers, acknowledged, taken>>
Alike == Permutations(Writers)

Wrongly(name) == name \in Wrong

None == [to |-> "nowhere"]
Main == "main"

Last(sequence)     == sequence[Len(sequence)]
Elements(sequence) == {sequence[i] : i \in DOMAIN sequence}
IsPrefix(part, whole) == Len(part) <= Len(whole) /\ SubSeq(whole, 1, Len(part)) = part

---------------------------------------------------------------------------------
(* Records. A digest is chained to that of the record before, `before`, so it stands *)
(* for all that led to it: here it is just that, by operation and writer. An intent *)
(* is what a caller wants done once: the digest that the command had when it was    *)
(* first sealed. `made_for` is what the command answers: of a verdict the record    *)
(* that made the summary, of others the head.                                       *)

NoDigest == <<>>
Beginning ==
  [digest |-> <<"start">>, before |-> NoDigest, version |-> 1, op |-> "start", place |-> 1, of |-> 1,
   intent |-> <<"start">>, made_for |-> NoDigest]

Digests(records) == {record.digest : record \in Elements(records)}
HeadOf(journal) ==
  [version |-> Len(journal), digest |-> IF journal = <<>> THEN NoDigest ELSE Last(journal).digest]

(* A commit puts records behind a journal, or makes a fork of `from` at a version.  *)
Commit(to, from, expected, records) ==
  [to |-> to, from |-> from, expected |-> expected, records |-> records]

Made(name) == {i \in DOMAIN log : log[i].to = name /\ log[i].from # ""}
Exists(name) == name = Main \/ Made(name) # {}
Names == {name \in {Main} \cup Forks : Exists(name)}

RECURSIVE OwnIn(_, _)
OwnIn(commits, name) ==
  IF commits = <<>> THEN <<>>
  ELSE (IF commits[1].to = name THEN commits[1].records ELSE <<>>) \o OwnIn(Tail(commits), name)
Own(name) == OwnIn(log, name)

(* A fork copies nothing: it reads through what it was made of.                     *)
RECURSIVE Journal(_)
Journal(name) ==
  IF Made(name) = {} THEN Own(name)
  ELSE LET made  == log[CHOOSE i \in Made(name) : TRUE]
           above == Journal(made.from)
       IN  (IF Wrongly("ForkFollowsItsParent") THEN above ELSE SubSeq(above, 1, made.expected.version))
           \o Own(name)

(* What a journal leads to, as far as it matters here. (To accept is to pass, here.) *)
At(phase, open, pending) == [phase |-> phase, open |-> open, pending |-> pending]
RECURSIVE Fold(_)
Fold(journal) ==
  IF Len(journal) = 1 THEN At("Active", FALSE, NoDigest)
  ELSE LET record == Last(journal)
           before == Fold(SubSeq(journal, 1, Len(journal) - 1))
       IN  CASE record.op = "grow"     -> [before EXCEPT !.open = TRUE]
             [] record.op = "compress" -> At("Unverified", FALSE, record.digest)
             [] record.op = "retext"   -> At("Unverified", before.open, record.digest)
             [] record.op = "pass"     -> At("Active", before.open, NoDigest)
             [] record.op = "fail"     -> At("Rejected", before.open, NoDigest)
             [] record.op = "revise"   -> At("Active", FALSE, NoDigest)

(* What the machine takes: it is specs/README.md's, without targets and texts. A    *)
(* revise that changes nothing is not recorded.                                     *)
Legal(state, op) ==
  CASE op \in {"grow", "batch"}  -> state.phase # "Rejected"
    [] op = "compress"           -> state.phase = "Active" /\ state.open
    [] op = "retext"             -> state.phase # "Active"
    [] op \in {"pass", "fail"}   -> state.phase = "Unverified"
    [] op = "revise"             -> state.phase # "Active" \/ state.open

---------------------------------------------------------------------------------
(* Sessions. The one slot is what a session has read or knows to be durable.        *)

Down == [doing |-> "down", on |-> Main, slot |-> <<>>, held |-> NoDigest, sent |-> None]
IdleOn(name, slot) == [Down EXCEPT !.doing = "idle", !.on = name, !.slot = slot]

Change(w, writer) == writers' = [writers EXCEPT ![w] = writer]
Step(name) == did' = [op |-> name]
StoreStands == UNCHANGED <<log, limbo, acknowledged, taken>>

(* Seal commands behind a journal. One that is wanted again brings its intent.      *)
RECURSIVE Sealed(_, _, _, _, _, _)
Sealed(w, journal, ops, made_for, intent, first) ==
  IF Len(first) = Len(ops) THEN first
  ELSE LET head   == HeadOf(journal \o first)
           place  == Len(first) + 1
           digest == Append(head.digest, <<ops[place], w, Len(ops)>>)
           wanted == IF intent = NoDigest THEN digest ELSE intent
           record == [digest |-> digest, before |-> head.digest, version |-> head.version + 1,
                      op |-> ops[place], place |-> place, of |-> Len(ops), intent |-> wanted,
                      made_for |-> IF made_for = NoDigest THEN head.digest ELSE made_for]
       IN  Sealed(w, journal, ops, made_for, wanted, Append(first, record))

Ops(records) == [i \in DOMAIN records |-> records[i].op]
Room(slot, ops) == Len(slot) + Len(ops) <= MaxVersion

(* Carry out commands on the slot's state, seal them, and give them to the store.   *)
(* The slot stays: it moves when the store has said that they are durable.          *)
Sending(w, ops, made_for) ==
  LET writer  == writers[w]
      records == Sealed(w, writer.slot, ops, made_for, NoDigest, <<>>)
      sent    == Commit(writer.on, "", HeadOf(writer.slot), records)
  IN  /\ Room(writer.slot, ops)
      /\ Change(w, [writer EXCEPT !.doing = "appending", !.sent = sent, !.held = NoDigest,
                                  !.slot = IF Wrongly("SlotBeforeAck") THEN @ \o records ELSE @])
      /\ StoreStands

Wanted(op) == IF op = "batch" THEN <<"grow", "grow">> ELSE <<op>>

Open(w) ==                       \* a process begins, or begins again
  /\ writers[w].doing = "down"
  /\ \E name \in Names :
       /\ Change(w, IdleOn(name, Journal(name)))
       /\ acknowledged' = acknowledged \cup Digests(Journal(name))
  /\ Step("open") /\ UNCHANGED <<log, limbo, taken>>

Crash(w) ==                      \* what is being committed for it goes on, or does not
  /\ writers[w].doing # "down"
  /\ Change(w, Down) /\ Step("crash") /\ StoreStands

Operate(w) ==
  /\ writers[w].doing = "idle"
  /\ \E op \in Commands \cap {"grow", "batch", "retext", "revise"} :
       /\ Legal(Fold(writers[w].slot), op)
       /\ Sending(w, Wanted(op), NoDigest)
       /\ Step(op)

(* A process has threads: while one waits, another may take what others wrote.      *)
Refresh(w) ==
  LET writer == writers[w]
  IN  /\ writer.doing \in {"idle", "asking", "summarizing"}
      /\ Exists(writer.on) /\ writer.slot # Journal(writer.on)
      /\ Change(w, [writer EXCEPT !.slot = Journal(writer.on)])
      /\ acknowledged' = acknowledged \cup Digests(Journal(writer.on))
      /\ Step("refresh") /\ UNCHANGED <<log, limbo, taken>>

---------------------------------------------------------------------------------
(* Effects: a question goes out, and while it is thought about everybody writes.    *)

Summarize(w) ==                  \* ask for the text of the open segment
  LET writer == writers[w]
  IN  /\ "compress" \in Commands /\ writer.doing = "idle"
      /\ Legal(Fold(writer.slot), "compress")
      /\ Change(w, [writer EXCEPT !.doing = "summarizing", !.held = HeadOf(writer.slot).digest])
      /\ Step("summarize") /\ StoreStands

Stopped(w) == Change(w, [writers[w] EXCEPT !.doing = "idle", !.held = NoDigest])

Summarized(w) ==                 \* it fits the very head that it was made for, and no other
  LET writer == writers[w]
      fits   == HeadOf(writer.slot).digest = writer.held \/ Wrongly("SummaryAfterRefresh")
  IN  /\ writer.doing = "summarizing"
      /\ IF fits /\ Legal(Fold(writer.slot), "compress")
         THEN Sending(w, <<"compress">>, writer.held) /\ Step("compress")
         ELSE Stopped(w) /\ Step("conflict") /\ StoreStands

Judges == Commands \cap {"pass", "fail"}
CanAsk(writer) ==                \* also about what was left pending when it was opened
  /\ Judges # {} /\ writer.doing = "idle" /\ Fold(writer.slot).phase = "Unverified"
  /\ ~Wrongly("NeverAskedAgain")
Asking(writer, slot) ==
  [writer EXCEPT !.doing = "asking", !.slot = slot, !.held = Fold(slot).pending, !.sent = None]

Ask(w) ==
  /\ CanAsk(writers[w])
  /\ Change(w, Asking(writers[w], writers[w].slot))
  /\ Step("ask") /\ StoreStands

Judged(w) ==                     \* it answers the question that is still the pending one, and no other
  LET writer == writers[w]
      state  == Fold(writer.slot)
      fits   == state.pending = writer.held \/ Wrongly("VerdictWithoutHead")
  IN  /\ writer.doing = "asking"
      /\ \/ /\ fits /\ state.phase = "Unverified"
            /\ \E word \in Judges : Sending(w, <<word>>, writer.held) /\ Step(word)
         \/ /\ ~(fits /\ state.phase = "Unverified")
            /\ Stopped(w) /\ Step("conflict") /\ StoreStands

(* A cancellation while the store writes waits for it to end.                       *)
Cancel(w) ==                     \* or what was asked raises
  /\ \/ writers[w].doing \in {"asking", "summarizing"}
     \/ writers[w].doing \in {"appending", "committing"} /\ Wrongly("CancelDoesNotWait")
  /\ Change(w, [writers[w] EXCEPT !.doing = "idle", !.held = NoDigest, !.sent = None])
  /\ Step("cancel") /\ StoreStands

---------------------------------------------------------------------------------
(* The store. It compares and writes in one transaction, which nobody else enters;  *)
(* a COMMIT that is on its way lands or is lost, whoever still listens.             *)

Fits(commit) ==                  \* what is compared: version and digest
  LET from  == IF commit.from = "" THEN commit.to ELSE commit.from
      there == Journal(from)
      at    == commit.expected.version
      Same(found) == found = commit.expected \/ (Wrongly("SwapOnVersionOnly") /\ found.version = at)
  IN  /\ Exists(from) /\ at <= Len(there)
      /\ IF commit.from = "" THEN Same(HeadOf(there)) ELSE Same(HeadOf(SubSeq(there, 1, at)))
      /\ commit.from # "" => ~Exists(commit.to)

Enters(w) ==                     \* in what state it can come to write
  \/ writers[w].doing = "appending" /\ ~Wrongly("ReadThenWrite")
  \/ writers[w].doing = "compared"
Passes(commit) == Wrongly("NoCompareAndSwap") \/ Fits(commit)

Compare(w) ==                    \* as a transaction of its own
  /\ Wrongly("ReadThenWrite") /\ writers[w].doing = "appending" /\ Fits(writers[w].sent)
  /\ Change(w, [writers[w] EXCEPT !.doing = "compared"])
  /\ Step("compare") /\ StoreStands

Begin(w) ==
  /\ Enters(w) /\ limbo = None
  /\ writers[w].doing = "compared" \/ Passes(writers[w].sent)
  /\ limbo' = writers[w].sent
  /\ Change(w, [writers[w] EXCEPT !.doing = "committing"])
  /\ Step("begin") /\ UNCHANGED <<log, acknowledged, taken>>

Merged(w) ==                     \* wrongly: seal it anew behind whatever is there, and tell nobody
  LET writer  == writers[w]
      journal == Journal(writer.on)
      ops     == Ops(writer.sent.records)
      records == Sealed(w, journal, ops, HeadOf(writer.slot).digest, NoDigest, <<>>)
  IN  /\ Legal(Fold(journal), ops[1]) /\ Room(journal, ops)
      /\ Change(w, [writer EXCEPT !.slot = journal,
                                  !.sent = Commit(writer.on, "", HeadOf(journal), records)])
      /\ Step("merge") /\ StoreStands

Refused(writer) ==               \* a verdict is held on to: it may fit behind what others wrote
  LET back == IdleOn(writer.on, writer.slot)
  IN  IF Ops(writer.sent.records) \in {<<"pass">>, <<"fail">>}
      THEN [back EXCEPT !.doing = "asking", !.held = writer.sent.records[1].made_for]
      ELSE back

Refuse(w) ==                     \* with the head that is there: Conflict
  /\ writers[w].doing = "appending" /\ limbo = None /\ ~Passes(writers[w].sent)
  /\ IF Wrongly("MergeOnConflict") /\ writers[w].sent.from = ""
     THEN Merged(w)
     ELSE /\ Change(w, Refused(writers[w]))
          /\ Step("conflict") /\ StoreStands

Fail(w) ==                       \* lost, busy or full before COMMIT: nothing was written
  /\ writers[w].doing = "appending"
  /\ Change(w, IdleOn(writers[w].on, writers[w].slot))
  /\ Step("not_written") /\ StoreStands

Land ==                          \* it is on disk, and from now on others see it
  /\ limbo # None
  /\ IF Wrongly("BatchInTwo") /\ Len(limbo.records) > 1
     THEN /\ log' = Append(log, [limbo EXCEPT !.records = <<limbo.records[1]>>])
          /\ limbo' = [limbo EXCEPT !.records = Tail(@)]
     ELSE log' = Append(log, limbo) /\ limbo' = None
  /\ Step("land") /\ UNCHANGED <<writers, acknowledged, taken>>

Lose ==                          \* the store's machine fell, or the process that committed
  /\ limbo # None /\ limbo' = None
  /\ Step("lose") /\ UNCHANGED <<log, writers, acknowledged, taken>>

LandedIn(commits, sent) ==
  IF sent.records = <<>> THEN sent \in Elements(commits)
  ELSE Digests(sent.records) \subseteq Digests(OwnIn(commits, sent.to))
Landed(sent) == LandedIn(log, sent)

After(w) ==                      \* the slot moves, and a new summary is judged
  LET writer == writers[w]
      slot   == CASE writer.sent.from # ""    -> SubSeq(writer.slot, 1, writer.sent.expected.version)
                  [] Wrongly("SlotBeforeAck") -> writer.slot
                  [] OTHER                    -> writer.slot \o writer.sent.records
      moved  == IdleOn(writer.sent.to, slot)
      asks   == writer.sent.records # <<>> /\ Last(writer.sent.records).op \in {"compress", "retext"}
  IN  IF asks /\ Judges # {} THEN Asking(moved, slot) ELSE moved

Again(w) ==                      \* wrongly: whatever became of it, append it again
  LET writer  == writers[w]
      journal == Journal(writer.on)
      wanted  == writer.sent.records
      records == Sealed(w, journal, Ops(wanted), NoDigest, wanted[1].intent, <<>>)
  IN  /\ Room(journal, wanted)
      /\ Change(w, [writer EXCEPT !.doing = "appending", !.slot = journal,
                                  !.sent = Commit(writer.on, "", HeadOf(journal), records)])
      /\ StoreStands

Acknowledged(w) ==
  /\ Change(w, After(w))
  /\ acknowledged' = acknowledged \cup Digests(After(w).slot)
  /\ UNCHANGED <<log, limbo, taken>>

Ack(w) ==
  /\ writers[w].doing = "committing"
  /\ Landed(writers[w].sent) \/ (Wrongly("AckBeforeDurable") /\ limbo = writers[w].sent)
  /\ Acknowledged(w) /\ Step("ack")

Doubt(w) ==                      \* the connection is lost during COMMIT
  /\ writers[w].doing = "committing"
  /\ Change(w, [writers[w] EXCEPT !.doing = "doubting"])
  /\ Step("doubt") /\ StoreStands

(* Settle it: look at the records, under the lock that a COMMIT on its way holds.   *)
Settle(w) ==
  LET writer == writers[w]
      sent   == writer.sent
      there  == IF Exists(writer.on) THEN Journal(writer.on) ELSE <<>>
      landed == Landed(sent) \/ (Wrongly("SettledByVersion") /\ Len(there) > sent.expected.version)
      Back   == Change(w, IdleOn(writer.on, writer.slot)) /\ StoreStands
  IN  /\ writer.doing = "doubting"
      /\ limbo # sent \/ Wrongly("SettledWithoutWaiting")
      /\ CASE Wrongly("RetryInDoubt")       -> Again(w) /\ Step("conflict")
           [] landed                        -> Acknowledged(w) /\ Step("settled")
           [] HeadOf(there) = sent.expected -> Back /\ Step("not_written")
           [] OTHER                         -> Back /\ Step("conflict")

Fork(w) ==                       \* at any version that the session has read
  LET writer == writers[w]
  IN  /\ writer.doing = "idle"
      /\ \E name \in Forks, at \in 1..Len(writer.slot) :
           /\ name # writer.on
           /\ Change(w, [writer EXCEPT !.doing = "appending",
                           !.sent = Commit(name, writer.on, HeadOf(SubSeq(writer.slot, 1, at)), <<>>)])
      /\ Step("fork") /\ StoreStands

Restore ==                       \* an operator puts an older copy of the store in its place
  /\ \E k \in 1..(Len(log) - 1) :
       LET gone == UNION {Digests(log[i].records) : i \in (k + 1)..Len(log)}
       IN  /\ gone # {} /\ Cardinality(taken \cup gone) <= MaxTaken
           /\ log' = SubSeq(log, 1, k) /\ taken' = taken \cup gone
  /\ limbo' = None
  /\ Step("restore") /\ UNCHANGED <<writers, acknowledged>>

---------------------------------------------------------------------------------

Begins ==
  LET ops == [i \in 1..Begun |-> "grow"]
  IN  <<Beginning>> \o Sealed("nobody", <<Beginning>>, ops, NoDigest, NoDigest, <<>>)

Init ==
  /\ log = <<Commit(Main, "", HeadOf(<<>>), Begins)>>
  /\ limbo = None
  /\ writers = [w \in Writers |-> Down]
  /\ acknowledged = {} /\ taken = {} /\ did = [op |-> "create"]

Next ==
  \/ \E w \in Writers :
       \/ Open(w) \/ Crash(w) \/ Operate(w) \/ Refresh(w)
       \/ Summarize(w) \/ Summarized(w) \/ Ask(w) \/ Judged(w) \/ Cancel(w)
       \/ Compare(w) \/ Begin(w) \/ Refuse(w) \/ Fail(w) \/ Ack(w) \/ Doubt(w) \/ Settle(w)
       \/ Fork(w)
  \/ Land \/ Lose \/ Restore

Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------------
(* What is promised. *)

Journals == {Journal(name) : name \in Names}

acknowledged_is_kept ==
  acknowledged \ taken \subseteq UNION {Digests(log[i].records) : i \in DOMAIN log}

one_command_a_version ==
  \A journal \in Journals : \A i, j \in DOMAIN journal : journal[i].version = journal[j].version => i = j

records_form_a_chain ==
  \A journal \in Journals : \A i \in 2..Len(journal) : journal[i].before = journal[i - 1].digest

verdict_meets_its_summary ==
  \A journal \in Journals : \A i \in DOMAIN journal :
    journal[i].op \in {"pass", "fail"} => Fold(SubSeq(journal, 1, i - 1)).pending = journal[i].made_for

summary_covers_its_head ==
  \A journal \in Journals : \A i \in DOMAIN journal :
    journal[i].op = "compress" => journal[i - 1].digest = journal[i].made_for

slot_is_a_prefix ==
  \A w \in Writers :
    LET writer == writers[w]
        stands == Exists(writer.on) /\ Digests(writer.slot) \cap taken = {}
    IN  stands => IsPrefix(writer.slot, Journal(writer.on))

batch_is_whole ==
  \A own \in {Elements(Own(name)) : name \in Names} : \A record \in own : \A place \in 1..record.of :
    \E other \in own : other.intent = record.intent /\ other.place = place

nothing_is_written_twice ==
  \A journal \in Journals : \A i, j \in DOMAIN journal :
    journal[i].intent = journal[j].intent /\ journal[i].place = journal[j].place => i = j

resumed_asks_again ==
  \A w \in Writers :
    LET waits == writers[w].doing = "idle" /\ Judges # {} /\ Fold(writers[w].slot).phase = "Unverified"
    IN  waits => ENABLED Ask(w)

(* Of a step. Who is through with what it sent has either landed it, or is told.    *)
loser_is_told ==
  [][\A w \in Writers :
       LET sent == writers[w].sent
       IN  (sent # None /\ writers'[w].sent # sent)
             => LandedIn(log', sent) \/ did'.op \in {"conflict", "not_written", "crash"}]_vars

not_written_stays_so ==
  [][\A w \in Writers :
       LET sent == writers[w].sent
       IN  (writers[w].doing = "doubting" /\ sent.records # <<>> /\ did'.op = "not_written"
            /\ writers'[w] # writers[w])
             => ~LandedIn(log', sent) /\ limbo' # sent]_vars

fork_stands ==
  [][\A name \in Names :
       (did'.op # "restore" /\ name \in Names') =>
         /\ IsPrefix(Journal(name), Journal(name)')
         /\ Own(name)' = Own(name) => Journal(name)' = Journal(name)]_vars
=================================================================================
