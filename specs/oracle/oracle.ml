(* The machine of ../coq/Machine.v as a program, by the protocol of ../conformance/PROTOCOL.md: one request a line, one
   answer a line, states numbered in order of acceptance. What is decided here is spelling alone; every
   answer comes from a function that was extracted from the proofs. *)
open Json
module M = Machine

(* ---- what the machine takes from outside: texts as Json spells them, SHA-256 (D5) ---- *)

let nothing = ""
let sha256 s = Sha256.to_hex (Sha256.string s)
let kind k = Str (match k with M.Subgoal -> "subgoal" | M.Fallback -> "fallback")
let fault f = Str (match f with M.InExecution -> "execution" | M.InSummary -> "summary")
let strings l = List (List.map (fun s -> Str s) l)
let ints l = List (List.map (fun i -> Int i) l)
let told l = List (List.map (fun (n, (a, o)) -> List [Int n; Str a; Str o]) l)

(* [word, feedback, fault, boundary]: those of the failed verdict, also where it was accepted despite it *)
let verdict v =
  let said word (feedback, k, origin) =
    List [Str word; Str feedback; fault k; match origin with None -> Null | Some b -> Int b] in
  let plain word = List [Str word; Str ""; Str ""; Null] in
  match v with
  | M.Pending -> plain "pending"
  | M.Passed -> plain "passed"
  | M.Failed (f, k, o) -> said "failed" (f, k, o)
  | M.Accepted None -> plain "accepted"
  | M.Accepted (Some ((f, k), o)) -> said "accepted" (f, k, o)

let spoken ((label, text), v) = ["label", Int label; "text", Str text; "verdict", verdict v]
let taken_in (boundary, ((label, text), v)) = List [Int label; Int boundary; Str text; verdict v]

(* the running hash of what stands above, oldest first *)
let running_hash =
  List.fold_left (fun above u -> sha256 (Json.text (Obj (("above", Str above) :: spoken u)))) ""

let digest_of (q : string M.question) =
  sha256 (Json.text (Obj [
    "before", Str (running_hash q.asked_before);
    "covers", told q.asked_covers;
    "earlier", List (List.map taken_in q.asked_earlier);
    "instructions", strings q.asked_instructions;
    "kind", kind q.asked_kind;
    "summary", Int q.asked_summary;
    "task", Str q.asked_task;
    "text", Str q.asked_text ]))

let digest_of_fold (q : string M.foldQuestion) =
  let line = function
    | M.SummaryLine (label, boundary, text, v) -> List [Int label; Int boundary; Str text; verdict v]
    | M.ChapterLine (label, boundary, text, accepted) -> List [Int label; Int boundary; Str text; Int accepted] in
  sha256 (Json.text (Obj [
    "instructions", strings q.fold_instructions;
    "lines", List (List.map line q.fold_lines);
    "task", Str q.fold_task;
    "text", Str q.fold_text ]))

let exec s c = M.exec nothing String.equal Blank.blank String.equal digest_of digest_of_fold s c

(* ---- the canonical form of a state ---- *)

let step n (u : string M.step) =
  let action, observation = u.content0 in
  List [Int n; Int u.above; Str action; Str observation]

let summary t (u : string M.summary) =
  List [Int t; Int u.parent; Int u.after; Int u.label; ints u.covers; Str u.text; kind u.kind0; verdict u.verdict0]

let label_and_boundary s l = [Int (M.line_label nothing s l); Int (M.line_boundary nothing s l)]

let chapter s (c : string M.chapter) =
  List (label_and_boundary s (M.OfChapter (c, [])) @
        [Str c.chapter_text; Int c.accepted_under; Int c.first_under; Int c.last_under])

let line s = function
  | M.OfSummary t -> summary t (M.summary0 nothing s t)
  | M.OfChapter (c, _) -> chapter s c

(* every chapter among these lines and inside those, outer before inner *)
let rec insides s lines = List.concat_map (function
  | M.OfSummary _ -> []
  | M.OfChapter _ as l ->
    let inner = M.inside nothing s l in
    List (label_and_boundary s l @ [List (List.map (fun l -> List (label_and_boundary s l)) inner)])
    :: insides s inner) lines

let taught l = List (List.map (fun (b, text) -> List [Int b; Str text]) l)

let asked (s : string M.state) =
  match M.expected nothing digest_of s with
  | None -> Null
  | Some digest ->
    let t = s.summary_head in
    let q = M.question0 nothing s t in
    let steps = List.map (fun n -> step n (M.step0 nothing s n)) in
    let (continuations, subgoals), lessons = M.hints nothing s t in
    let hints = List [
      Int (M.summary0 nothing s t).label; List (steps continuations);
      List (List.map (fun t -> summary t (M.summary0 nothing s t)) subgoals); taught lessons] in
    List [Str q.asked_task; strings q.asked_instructions; kind q.asked_kind;
          List (List.map (line s) (M.lines_before nothing s t));
          List (List.map taken_in q.asked_earlier);
          List (steps (List.map fst q.asked_covers)); Str q.asked_text; Str digest;
          ints (M.steps_since_root nothing s t); hints; ints (M.boundaries nothing s t)]

let phase s = Str (match M.phase0 nothing s with
  | M.Active -> "Active" | M.Unverified -> "Unverified" | M.Rejected -> "Rejected")

let canonical (s : string M.state) =
  let nodes = Array.of_list s.steps and tops = Array.of_list s.summaries in
  let steps_of l = List (List.map (fun n -> step n nodes.(n)) l) in
  let summaries_of l = List (List.map (fun t -> summary t tops.(t)) l) in
  let step_ids = M.seq 0 (M.next_step s) and summary_ids = M.seq 0 (M.next_summary s) in
  let (continuations, subgoals), lessons_here = M.h nothing s in
  let lines = M.c nothing s in
  let chapters t = match M.ending_at s t with
    | [] -> [] | newest_first -> [List [Int t; List (List.rev_map (chapter s) newest_first)]] in
  let lessons n = match M.lessons_at s n with [] -> [] | l -> [List [Int n; strings l]] in
  let placed n = List.map (fun (x, stands) -> List [Int n; Str x; Bool stands]) (M.instructions_at s n) in
  Obj [
    "C", List (List.map (line s) lines);
    "R", steps_of (M.r nothing s);
    "asked", asked s;
    "boundary", Int (M.current_boundary nothing s);
    "chapters", List (List.concat_map chapters summary_ids);
    "continuations", steps_of continuations;
    "heads", ints [s.step_head; s.summary_head; M.current_boundary nothing s; M.next_step s; M.next_summary s];
    "in force", strings (M.instructions_shown nothing s);
    "inside", List (insides s lines);
    "instructions", List (List.concat_map placed step_ids);
    "lessons", List (List.concat_map lessons step_ids);
    "lessons here", taught lessons_here;
    "paths", List [ints (M.step_path nothing s s.step_head); ints (M.summary_path nothing s s.summary_head);
                   ints (M.way nothing s s.summary_head); ints (M.open_segment nothing s)];
    "phase", phase s;
    "step children", List (List.map (fun n -> ints (M.step_children s n)) step_ids);
    "steps", steps_of (List.tl step_ids);
    "subgoals", summaries_of subgoals;
    "summaries", summaries_of (List.tl summary_ids);
    "summary children", List (List.map (fun t -> ints (M.summary_children s t)) summary_ids);
    "task", Str s.task ]

(* ---- requests ---- *)

let get o key = try List.assoc key o with Not_found -> bad "no %s" key
let text_of o key = match get o key with Str s -> s | _ -> bad "%s is no string" key
let int_of o key = match get o key with Int i -> i | _ -> bad "%s is no number" key
let natural o key = let n = int_of o key in if n < 0 then bad "%s is below 0" key else n
let bool_of o key = match get o key with Bool b -> b | _ -> bad "%s is no boolean" key
let kind_of = function
  | Str "subgoal" -> M.Subgoal | Str "fallback" -> M.Fallback | _ -> bad "no kind"
(* these keys and no others *)
let exactly o keys = List.iter (fun (key, _) -> if not (List.mem key keys) then bad "%s is too much" key) o
let answer_of = function
  | Obj o -> (match text_of o "type" with
    | "passed" -> exactly o ["type"]; M.Pass
    | "failed" ->
      exactly o ["type"; "feedback"; "fault"; "boundary"];
      let fault = match text_of o "fault" with
        | "summary" -> M.InSummary | "execution" -> M.InExecution | word -> bad "fault %s" word in
      let origin = match get o "boundary" with Null -> None | _ -> Some (natural o "boundary") in
      M.Fail (text_of o "feedback", fault, origin)
    | word -> bad "verdict %s" word)
  | _ -> bad "no verdict"
let digest_of_answer o =
  let d = text_of o "digest" in
  if String.length d <> 64 then bad "a digest has 64 digits";
  String.iter (function '0' .. '9' | 'a' .. 'f' -> () | c -> bad "a digest with %C" c) d; d

(* a start, which is no command of the machine, or one that is *)
type request = Start of string | Command of (string, string) M.command

let command o = match text_of o "op" with
  | "instruct" -> exactly o ["op"; "text"; "standing"]; M.Instruct (text_of o "text", bool_of o "standing")
  | "grow" -> exactly o ["op"; "action"; "observation"]; M.Grow (text_of o "action", text_of o "observation")
  | "compress" -> exactly o ["op"; "text"; "kind"]; M.Compress (text_of o "text", kind_of (get o "kind"))
  | "retext" -> exactly o ["op"; "text"]; M.Retext (text_of o "text")
  | "apply_verdict" ->
    exactly o ["op"; "verdict"; "digest"];
    M.ApplyVerdict (answer_of (get o "verdict"), digest_of_answer o)
  | "accept" -> exactly o ["op"]; M.Accept
  | "revise" -> exactly o ["op"; "boundary"; "lesson"]; M.Revise (natural o "boundary", text_of o "lesson")
  | "fold" ->
    exactly o ["op"; "first"; "last"; "text"; "digest"];
    M.Fold (natural o "first", natural o "last", text_of o "text", digest_of_answer o)
  | op -> bad "op %s" op

let request o = match get o "op" with
  | Str "start" -> exactly o ["op"; "task"]; Start (text_of o "task")
  | _ -> Command (command o)

(* ---- answers ---- *)

let refusal = function
  | M.IllegalPhase -> ["refused", Str "IllegalPhase"]
  | M.EmptySegment b -> ["refused", Str "EmptySegment"; "boundary", Int b]
  | M.BlankSummary -> ["refused", Str "BlankSummary"]
  | M.BlankInstruction -> ["refused", Str "BlankInstruction"]
  | M.BlankFeedback -> ["refused", Str "BlankFeedback"]
  | M.StaleVerdict None -> ["refused", Str "StaleVerdict"; "expected", Null]
  | M.StaleVerdict (Some d) -> ["refused", Str "StaleVerdict"; "expected", Str d]
  | M.UnknownBoundary legal -> ["refused", Str "UnknownBoundary"; "legal", ints legal]
  | M.UnfoldableRange lines ->
    ["refused", Str "UnfoldableRange"; "lines", List (List.map (fun (label, boundary) -> ints [label; boundary]) lines)]

(* states by number; 0 is before the start *)
let states : string M.state array ref = ref (Array.make 1024 (M.start nothing nothing))
let count = ref 0

let keep s =
  incr count;
  if !count >= Array.length !states then states := Array.append !states !states;
  !states.(!count) <- s;
  ["state", Int !count; "fingerprint", Str (sha256 (Json.text (canonical s)))]

let state n = if n < 1 || n > !count then bad "no state %d" n else !states.(n)

let left s = function
  | M.Revise (b, _) ->
    let placed = List.map (fun (x, stands) -> List [Str x; Bool stands]) (M.left_behind nothing s b) in
    ["abandoned", ints (M.abandoned nothing s b); "instructions", List placed]
  | _ -> []

let carry_out on asked =
  match on, asked with
  | 0, Start task -> keep (M.start nothing task)
  | 0, Command _ -> refusal M.IllegalPhase
  | _, Start _ -> ignore (state on); refusal M.IllegalPhase
  | _, Command c ->
    let before = state on in
    match exec before c with
    | M.Done s -> keep s @ left before c
    | M.Refused why -> refusal why

let answer line = match parse line with
  | Obj ["forget", Bool true] -> count := 0; Obj ["state", Int 0]
  | Obj ["show", Int n] -> canonical (state n)
  | Obj o ->
    exactly o ["on"; "command"];
    (match get o "command" with Obj c -> Obj (carry_out (int_of o "on") (request c)) | _ -> bad "no command")
  | _ -> bad "no request"

let () =
  try while true do
    let line = input_line stdin in
    let said = try answer line with Bad why -> Obj ["error", Str (Json.plain why)] in
    print_string (Json.text said); print_char '\n';
    flush stdout
  done with End_of_file -> ()
