(* Reads certificates and says what the extracted checker makes of them.

   usage: check FILE...

   For each file one line, "FILE: accepted" or "FILE: rejected: CONDITION: where". The exit status is 0 if all are
   accepted, 1 if one is rejected, 2 if one cannot be read. A file has a record per line, words apart by blanks:

     declared NUMBER NODE NAME      the predicate is called NAME and belongs to hyper-node NODE
     auxiliary NUMBER NODE NAME     the same for an intermediate result of rules, which has no facts
     select NUMBER min COLUMN...    the predicate shows minima, or with max maxima; of several columns, the first first
     front NUMBER min COLUMN...     the same, but all columns count alike
     choice NUMBER COLUMN...        the predicate has one tuple for each key, of these columns; there may be several
     rule NAME                      the following head, body, not and test lines are its parts
     head PREDICATE TERM...         a term is an integer, a variable (x and a number), or computed: F,TERM,TERM
                                    where F is one of + - min max
     body PREDICATE TERM...
     not PREDICATE TERM...
     test OPERATOR TERM TERM        = != < <=
     fact PREDICATE VALUE...        an asserted fact
     tuple BIRTH PREDICATE VALUE... a tuple of the view *)

open Checker

exception Malformed of string

let malformed format = Printf.ksprintf (fun text -> raise (Malformed text)) format

(* --- numbers: those of the checker are unbounded, so that they are read digit by digit *)

let texts : (z, string) Hashtbl.t = Hashtbl.create 64

let small_z i =
  let rec positive i = if i = 1 then XH else if i land 1 = 0 then XO (positive (i / 2)) else XI (positive (i / 2)) in
  if i = 0 then Z0 else Zpos (positive i)

let digits = Array.init 11 small_z

let read_z text =
  let negative = String.length text > 1 && text.[0] = '-' in
  let magnitude = if negative then String.sub text 1 (String.length text - 1) else text in
  let add value digit =
    if digit < '0' || digit > '9' then malformed "%S is no integer" text;
    Z.add (Z.mul value digits.(10)) digits.(Char.code digit - Char.code '0')
  in
  if magnitude = "" then malformed "an integer is missing";
  let value = Seq.fold_left add Z0 (String.to_seq magnitude) in
  let value = if negative then Z.opp value else value in
  Hashtbl.replace texts value text;
  value

let read_n text = match read_z text with Zneg _ -> malformed "%s is negative" text | value -> Z.to_N value

let rec nat_of_int i = if i = 0 then O else S (nat_of_int (i - 1))

let read_nat text =
  match int_of_string_opt text with
  | Some i when i >= 0 && i < 1_000_000 -> nat_of_int i
  | _ -> malformed "%S is no number of a hyper-node or column" text

(* --- certificates *)

type certificate = { program : program; facts : fact list; tuples : (fact * n) list }

(* The names, for messages. *)
type names = { predicates : (n, string) Hashtbl.t; rules : (rule * string) list }

let functor_named = function "+" -> Some Plus | "-" -> Some Minus | "min" -> Some Least | "max" -> Some Greatest | _ -> None

let term text =
  let rec parsed = function
    | [] -> malformed "a term is missing in %S" text
    | word :: rest -> (
        match functor_named word with
        | Some f ->
            let left, rest = parsed rest in
            let right, rest = parsed rest in
            (Apply (f, left, right), rest)
        | None when word <> "" && word.[0] = 'x' -> (Var (read_n (String.sub word 1 (String.length word - 1))), rest)
        | None -> (Const (read_z word), rest))
  in
  match parsed (String.split_on_char ',' text) with
  | found, [] -> found
  | _ -> malformed "%S is no term" text

let operator = function
  | "=" -> Equal
  | "!=" -> Unequal
  | "<" -> Less
  | "<=" -> AtMost
  | text -> malformed "%S is no operator" text

let read lines =
  let nodes : (n, nat * bool) Hashtbl.t = Hashtbl.create 64 in
  let names : (n, string) Hashtbl.t = Hashtbl.create 64 in
  let known text =
    let number = read_n text in
    if not (Hashtbl.mem nodes number) then malformed "there is no predicate %s" text;
    number
  in
  let atom number terms = { pred = known number; args = List.map term terms } in
  let rec compared = function
    | [] -> []
    | (("min" | "max") as direction) :: column :: rest ->
        ((if direction = "min" then Min else Max), read_nat column) :: compared rest
    | word :: _ -> malformed "%S is no order of a column" word
  in
  let orders : (n, bool * (direction * nat) list) Hashtbl.t = Hashtbl.create 8 in
  let domains : (n, nat list) Hashtbl.t = Hashtbl.create 8 in
  let rules = ref [] and facts = ref [] and tuples = ref [] in
  let change f =
    match !rules with [] -> malformed "no rule has begun" | (rule, name) :: rest -> rules := (f rule, name) :: rest
  in
  let record line =
    match List.filter (( <> ) "") (String.split_on_char ' ' line) with
    | [] -> ()
    | [ (("declared" | "auxiliary") as sort); number; node; name ] ->
        let number = read_n number in
        if Hashtbl.mem nodes number then malformed "predicate %s comes twice" name;
        Hashtbl.replace nodes number (read_nat node, sort = "declared");
        Hashtbl.replace names number name
    | (("select" | "front") as sort) :: number :: columns ->
        Hashtbl.replace orders (known number) (sort = "front", compared columns)
    | "choice" :: number :: columns -> Hashtbl.add domains (known number) (List.map read_nat columns)
    | [ "rule"; name ] -> rules := ((None, [], [], []), name) :: !rules
    | "head" :: number :: terms ->
        change (fun (head, body, negated, tests) ->
            if head <> None then malformed "the rule has a head already";
            (Some (atom number terms), body, negated, tests))
    | "body" :: number :: terms ->
        change (fun (head, body, negated, tests) -> (head, atom number terms :: body, negated, tests))
    | "not" :: number :: terms ->
        change (fun (head, body, negated, tests) -> (head, body, atom number terms :: negated, tests))
    | [ "test"; op; left; right ] ->
        let test = { op = operator op; left = term left; right = term right } in
        change (fun (head, body, negated, tests) -> (head, body, negated, test :: tests))
    | "fact" :: number :: values -> facts := (known number, List.map read_z values) :: !facts
    | "tuple" :: birth :: number :: values ->
        tuples := ((known number, List.map read_z values), read_n birth) :: !tuples
    | word :: _ -> malformed "%S is no record, or has not the right number of words" word
  in
  List.iteri
    (fun index line -> try record line with Malformed text -> malformed "line %d: %s" (index + 1) text)
    lines;
  let finished ((head, body, negated, tests), name) =
    match head with
    | None -> malformed "rule %s has no head" name
    | Some head -> ({ head; body = List.rev body; negated = List.rev negated; tests = List.rev tests }, name)
  in
  let rules = List.rev_map finished !rules in
  let node number = fst (Hashtbl.find nodes number) and declared number = snd (Hashtbl.find nodes number) in
  let selection number = Option.value (Hashtbl.find_opt orders number) ~default:(false, []) in
  let order number = snd (selection number) and front number = fst (selection number) in
  let program = { rules = List.map fst rules; node; declared; order; front; domains = Hashtbl.find_all domains } in
  ({ program; facts = !facts; tuples = !tuples }, { predicates = names; rules })

(* --- verdicts *)

let fact_text names (predicate, values) =
  let values = List.map (Hashtbl.find texts) values in
  Printf.sprintf "%s(%s)" (Hashtbl.find names.predicates predicate) (String.concat ", " values)

let verdict_text names = function
  | Accepted -> "accepted"
  | NotStratified rule -> "rejected: strata: rule " ^ List.assq rule names.rules
  | NotSafe rule -> "rejected: safety: rule " ^ List.assq rule names.rules
  | NotMonotone rule -> "rejected: monotone: rule " ^ List.assq rule names.rules
  | Mixed predicate -> "rejected: mixed: " ^ Hashtbl.find names.predicates predicate
  | Undeclared fact -> "rejected: declared: " ^ fact_text names fact
  | Missing fact -> "rejected: facts: " ^ fact_text names fact
  | NotClosed rule -> "rejected: closed: rule " ^ List.assq rule names.rules
  | Unfounded fact -> "rejected: founded: " ^ fact_text names fact
  | NotSelected fact -> "rejected: selected: " ^ fact_text names fact

let lines_of path =
  let channel = open_in path in
  let rec lines found = match input_line channel with line -> lines (line :: found) | exception End_of_file -> found in
  let found = List.rev (lines []) in
  close_in channel;
  found

let status path =
  match read (lines_of path) with
  | exception Malformed text -> Printf.printf "%s: malformed: %s\n" path text; 2
  | exception Sys_error text -> Printf.printf "%s: malformed: %s\n" path text; 2
  | certificate, names ->
      let verdict = verify certificate.program certificate.facts certificate.tuples in
      Printf.printf "%s: %s\n" path (verdict_text names verdict);
      if verdict = Accepted then 0 else 1

let () =
  let paths = List.tl (Array.to_list Sys.argv) in
  if paths = [] then (prerr_endline "usage: check FILE..."; exit 2);
  exit (List.fold_left (fun worst path -> max worst (status path)) 0 paths)
