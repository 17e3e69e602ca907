(* Blank: what Python's str.strip leaves empty (D3), of a string as Json spells it. *)

let is_space u =
  (u >= 9 && u <= 13) || (u >= 28 && u <= 32) || u = 0x85 || u = 0xa0 || u = 0x1680
  || (u >= 0x2000 && u <= 0x200a) || u = 0x2028 || u = 0x2029 || u = 0x202f || u = 0x205f || u = 0x3000

(* the code point at [i], and where the next begins *)
let code_at s i =
  if s.[i] <> '\\' then Json.code_point s i
  else match s.[i + 1] with
    | 't' -> (9, i + 2) | 'n' -> (10, i + 2) | 'f' -> (12, i + 2) | 'r' -> (13, i + 2) | 'b' -> (8, i + 2)
    | 'u' -> (int_of_string ("0x" ^ String.sub s (i + 2) 4), i + 6)
    | c -> (Char.code c, i + 2)

let blank s =
  let rec spaces i =
    i >= String.length s || (let code, next = code_at s i in is_space code && spaces next) in
  spaces 0
