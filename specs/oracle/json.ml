(* Reading and writing JSON. Strings are held as canonical JSON spells them (D5): UTF-8 as it is, what
   must be escaped escaped in lower case, surrogate pairs joined (D15), lone surrogates as \udxxx. One
   spelling for each string, so equality is equality of bytes. Our own, because the libraries at hand
   refuse lone surrogates. *)

type t = Str of string | Int of int | Bool of bool | Null | List of t list | Obj of (string * t) list
exception Bad of string

let bad fmt = Printf.ksprintf (fun why -> raise (Bad why)) fmt

(* ---- one code point ---- *)

(* the code point that begins at [i] in UTF-8, and where the next begins *)
let code_point s i =
  let first = Char.code s.[i] in
  let length = if first < 0x80 then 1 else if first < 0xe0 then 2 else if first < 0xf0 then 3 else 4 in
  if i + length > String.length s || first > 0xf4 then bad "no UTF-8 at %d" i;
  let u = ref (if length = 1 then first else first land (0xff lsr (length + 1))) in
  for k = i + 1 to i + length - 1 do
    if Char.code s.[k] land 0xc0 <> 0x80 then bad "no UTF-8 at %d" k;
    u := (!u lsl 6) lor (Char.code s.[k] land 0x3f)
  done;
  let least = [| 0; 0; 0x80; 0x800; 0x10000 |].(length) in        (* what is spelled longer than it need be *)
  if !u < least || not (Uchar.is_valid !u) then bad "no UTF-8 at %d" i;
  (!u, i + length)

let is_high u = u >= 0xd800 && u < 0xdc00
let is_low u = u >= 0xdc00 && u < 0xe000
let pair high low = 0x10000 + ((high - 0xd800) lsl 10) + (low - 0xdc00)

let spell out u =
  match u with
  | 8 -> Buffer.add_string out "\\b" | 9 -> Buffer.add_string out "\\t"
  | 10 -> Buffer.add_string out "\\n" | 12 -> Buffer.add_string out "\\f"
  | 13 -> Buffer.add_string out "\\r" | 34 -> Buffer.add_string out "\\\""
  | 92 -> Buffer.add_string out "\\\\"
  | _ when u < 32 || is_high u || is_low u -> Printf.bprintf out "\\u%04x" u
  | _ -> Buffer.add_utf_8_uchar out (Uchar.of_int u)

let rec spell_all out = function
  | high :: low :: rest when is_high high && is_low low -> spell out (pair high low); spell_all out rest
  | u :: rest -> spell out u; spell_all out rest
  | [] -> ()

(* ---- reading ---- *)

type reader = { line : string; mutable at : int; mutable depth : int }
let deepest = 1000                                      (* requests have three levels; reading recurses *)

let peek r = if r.at < String.length r.line then r.line.[r.at] else '\000'
let next r =
  if r.at >= String.length r.line then bad "the line ends at %d" r.at;
  r.at <- r.at + 1; r.line.[r.at - 1]
let expect r c = if next r <> c then bad "expected %c at %d" c (r.at - 1)
let rec skip_spaces r = match peek r with ' ' | '\t' | '\r' | '\n' -> ignore (next r); skip_spaces r | _ -> ()

let four_digits r =
  let digits = String.init 4 (fun _ -> next r) in
  String.iter (function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> () | c -> bad "\\u with %C" c) digits;
  try int_of_string ("0x" ^ digits) with Failure _ -> bad "\\u%s" digits

let escaped r =
  match next r with
  | 'n' -> 10 | 't' -> 9 | 'r' -> 13 | 'b' -> 8 | 'f' -> 12
  | 'u' -> four_digits r
  | ('"' | '\\' | '/') as c -> Char.code c
  | c -> bad "escape \\%c" c

let character r =
  if peek r < ' ' then bad "a control character in a string, at %d" r.at;
  let u, after = code_point r.line r.at in r.at <- after; u

let read_string r =
  expect r '"';
  let rec units found =
    match peek r with
    | '"' -> ignore (next r); List.rev found
    | '\\' -> ignore (next r); units (escaped r :: found)
    | _ -> if r.at >= String.length r.line then bad "a string has no end" else units (character r :: found) in
  let out = Buffer.create 64 in
  spell_all out (units []); Buffer.contents out

let read_number r =
  let began = r.at in
  let rec digits () = match peek r with '0' .. '9' | '-' -> ignore (next r); digits () | _ -> () in
  digits ();
  let written = String.sub r.line began (r.at - began) in
  let first = if String.starts_with ~prefix:"-" written then 1 else 0 in
  if String.length written > first + 1 && written.[first] = '0' then bad "a number begins with 0, at %d" began;
  try Int (int_of_string written) with Failure _ -> bad "no value at %d" began

let word r spelling value = String.iter (expect r) spelling; value

(* no key stands twice *)
let once fields =
  let keys = List.map fst fields in
  if List.length (List.sort_uniq compare keys) < List.length keys then bad "a key stands twice";
  fields

let rec read_value r =
  skip_spaces r;
  let value = match peek r with
    | '"' -> Str (read_string r)
    | '{' -> ignore (next r); Obj (once (items r '}' field))
    | '[' -> ignore (next r); List (items r ']' read_value)
    | 't' -> word r "true" (Bool true)
    | 'f' -> word r "false" (Bool false)
    | 'n' -> word r "null" Null
    | _ -> read_number r in
  skip_spaces r; value

and items : 'a. reader -> char -> (reader -> 'a) -> 'a list = fun r close item ->
  r.depth <- r.depth + 1;
  if r.depth > deepest then bad "nested deeper than %d" deepest;
  skip_spaces r;
  let rec more found =
    let found = item r :: found in
    match next r with
    | ',' -> more found
    | c when c = close -> List.rev found
    | c -> bad "%c at %d" c (r.at - 1) in
  let all = if peek r = close then (ignore (next r); []) else more [] in
  r.depth <- r.depth - 1; all

and field r =
  skip_spaces r;
  let key = read_string r in
  skip_spaces r; expect r ':';
  (key, read_value r)

let parse line =
  let r = { line; at = 0; depth = 0 } in
  let value = read_value r in
  if r.at < String.length line then bad "something after the value, at %d" r.at;
  value

(* ---- writing: keys in the order given, which must be that of their bytes ---- *)

let rec write out = function
  | Str s -> Buffer.add_char out '"'; Buffer.add_string out s; Buffer.add_char out '"'
  | Int i -> Buffer.add_string out (string_of_int i)
  | Bool b -> Buffer.add_string out (string_of_bool b)
  | Null -> Buffer.add_string out "null"
  | List l -> between out '[' ']' (write out) l
  | Obj l -> between out '{' '}' (fun (k, v) -> write out (Str k); Buffer.add_char out ':'; write out v) l

and between : 'a. Buffer.t -> char -> char -> ('a -> unit) -> 'a list -> unit = fun out opening closing item l ->
  Buffer.add_char out opening;
  List.iteri (fun i x -> if i > 0 then Buffer.add_char out ','; item x) l;
  Buffer.add_char out closing

(* our own words, as a string: what is not plain ASCII is left out *)
let plain words =
  String.map (fun c -> if c >= ' ' && c < '\127' && c <> '"' && c <> '\\' then c else '?') words

let text value = let out = Buffer.create 4096 in write out value; Buffer.contents out
