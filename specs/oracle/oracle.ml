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

let digest_of (q : string M.question) =
  let before (text, covers) = Obj ["covers", told covers; "text", Str text] in
  sha256 (Json.text (Obj [
    "covers", told q.asked_covers;
    "earlier", List (List.map before q.asked_earlier);
    "instructions", strings q.asked_instructions;
    "kind", kind q.asked_kind;
    "summary", Int q.asked_summary;
    "task", Str q.asked_task;
    "text", Str q.asked_text ]))

let exec s c = M.exec nothing String.equal Blank.blank String.equal digest_of s c

(* ---- the canonical form of a state ---- *)

let verdict = function
  | M.Pending -> strings ["pending"; ""; ""]
  | M.Passed -> strings ["passed"; ""; ""]
  | M.Failed (f, k) -> List [Str "failed"; Str f; fault k]
  | M.Accepted None -> strings ["accepted"; ""; ""]
  | M.Accepted (Some (f, k)) -> List [Str "accepted"; Str f; fault k]

let step n (u : string M.step) =
  let action, observation = u.content0 in
  List [Int n; Int u.above; Str action; Str observation]

let summary t (u : string M.summary) =
  List [Int t; Int u.parent; Int u.label; ints u.covers; Str u.text; kind u.kind0; verdict u.verdict0]

let asked (s : string M.state) =
  match M.expected nothing digest_of s with
  | None -> Null
  | Some digest ->
    let t = s.summary_head in
    let q = M.question0 nothing s t in
    let above u = let u = M.summary0 nothing s u in List [Int u.label; Str u.text] in
    let steps = List.map (fun n -> step n (M.step0 nothing s n)) (M.steps_judged nothing s t) in
    List [Str q.asked_task; strings q.asked_instructions; kind q.asked_kind;
          List (List.map above (M.earlier nothing s t)); List steps; Str q.asked_text; Str digest;
          ints (M.steps_since_root nothing s t)]

let phase s = Str (match M.phase0 nothing s with
  | M.Active -> "Active" | M.Unverified -> "Unverified" | M.Rejected -> "Rejected")

let canonical (s : string M.state) =
  let nodes = Array.of_list s.steps and tops = Array.of_list s.summaries in
  let steps_of l = List (List.map (fun n -> step n nodes.(n)) l) in
  let summaries_of l = List (List.map (fun t -> summary t tops.(t)) l) in
  let step_ids = M.seq 0 (M.next_step s) and summary_ids = M.seq 0 (M.next_summary s) in
  let (continuations, subgoals), lessons_here = M.h nothing s in
  let lessons n = match M.lessons_at s n with [] -> [] | l -> [List [Int n; strings l]] in
  let placed n = List.map (fun (x, stands) -> List [Int n; Str x; Bool stands]) (M.instructions_at s n) in
  Obj [
    "C", summaries_of (M.c nothing s);
    "R", steps_of (M.r nothing s);
    "asked", asked s;
    "boundary", Int (M.current_boundary nothing s);
    "continuations", steps_of continuations;
    "heads", ints [s.step_head; s.summary_head; M.current_boundary nothing s; M.next_step s; M.next_summary s];
    "in force", strings (M.instructions_shown nothing s);
    "instructions", List (List.concat_map placed step_ids);
    "lessons", List (List.concat_map lessons step_ids);
    "lessons here", strings lessons_here;
    "paths", List [ints (M.step_path nothing s s.step_head); ints (M.summary_path nothing s s.summary_head);
                   ints (M.open_segment nothing s)];
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
let bool_of o key = match get o key with Bool b -> b | _ -> bad "%s is no boolean" key
let kind_of = function
  | Str "subgoal" -> M.Subgoal | Str "fallback" -> M.Fallback | _ -> bad "no kind"
(* these keys and no others *)
let exactly o keys = List.iter (fun (key, _) -> if not (List.mem key keys) then bad "%s is too much" key) o
let answer_of = function
  | Obj o -> (match text_of o "type" with
    | "passed" -> exactly o ["type"]; M.Pass
    | "failed" ->
      exactly o ["type"; "feedback"; "fault"];
      M.Fail (text_of o "feedback", match text_of o "fault" with
        | "summary" -> M.InSummary | "execution" -> M.InExecution | word -> bad "fault %s" word)
    | word -> bad "verdict %s" word)
  | _ -> bad "no verdict"
let digest_of_answer o =
  let d = text_of o "digest" in
  if String.length d <> 64 then bad "a digest has 64 digits";
  String.iter (function '0' .. '9' | 'a' .. 'f' -> () | c -> bad "a digest with %C" c) d; d
let natural o key = let n = int_of o key in if n < 0 then bad "%s is below 0" key else n

(* a start, which is no command of the machine, or one that is *)
type request = Start of string | Command of (string, string) M.command

let command o = match text_of o "op" with
  | "instruct" -> exactly o ["op"; "text"; "standing"]; M.Instruct (text_of o "text", bool_of o "standing")
  | "grow" -> exactly o ["op"; "action"; "observation"]; M.Grow (text_of o "action", text_of o "observation")
  | "compress" -> exactly o ["op"; "text"; "kind"]; M.Compress (text_of o "text", kind_of (get o "kind"))
  | "retext" ->
    exactly o ["op"; "text"; "kind"];
    M.Retext (text_of o "text", match get o "kind" with Null -> None | k -> Some (kind_of k))
  | "apply_verdict" ->
    exactly o ["op"; "verdict"; "digest"];
    M.ApplyVerdict (answer_of (get o "verdict"), digest_of_answer o)
  | "accept" -> exactly o ["op"]; M.Accept
  | "revise" -> exactly o ["op"; "boundary"; "lesson"]; M.Revise (natural o "boundary", text_of o "lesson")
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
