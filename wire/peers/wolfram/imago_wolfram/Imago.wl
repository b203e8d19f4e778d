(* The kernel's side of Imago: one package of pure functions, called by a host over WSTP.
   Each request is Imago`call with one text of JSON, and is answered with one text of JSON in ASCII.
   Paragraphs are sent one by one, each is one expression. It keeps to what Mathics3's parser reads, too. *)

BeginPackage["Imago`"]

call::usage = "call[\"json\"] answers a request of the host with a text of JSON."

Begin["`Private`"]

(* Reading evaluates nothing. Unevaluated and HoldAll do not keep upvalues away, HoldAllComplete does (reference, UpValues,
   Properties). So what is held goes only through functions of ours with that attribute, through HoldComplete, which has it,
   and one level deeper than any upvalue reaches; built-in functions are asked about a symbol by its name, as a text. *)

SetAttributes[{encode, fullName, arguments, headOf, kindOf, run, finish, tagged, hooked}, HoldAllComplete]

(* JSON is written here: "RawJSON" writes UTF-8 as bytes (reference, RawJSON), and the answer is ASCII. *)

json[text_String] := "\"" <> If[StringMatchQ[text, unescaped], text, escaped[ToCharacterCode[text]]] <> "\""

unescaped = RegularExpression["[ !#-\\[\\]-~]*"]

json[number_Integer] := IntegerString[number]

json[True] := "true"

json[False] := "false"

json[Null] := "null"

json[list_List] := "[" <> joined[Map[json, list]] <> "]"

json[object[pairs___List]] := "{" <> joined[Map[pair, {pairs}]] <> "}"

pair[{key_String, value_}] := json[key] <> ":" <> json[value]

joined[{}] := ""

joined[texts_List] := StringJoin[First[texts], Map[Function[text, "," <> text], Rest[texts]]]

escaped[{}] := ""

escaped[codes_List] := StringJoin[Map[character, codes]]

character[34] := "\\\""

character[92] := "\\\\"

character[code_Integer] := Which[
  31 < code < 127, FromCharacterCode[code],
  code < 65536, "\\u" <> IntegerString[code, 16, 4],
  True, character[55296 + Quotient[code - 65536, 1024]] <> character[56320 + Mod[code - 65536, 1024]]
]

(* The full name of a symbol, of which nothing is asked but its bytes in WXF (tutorial WXFFormatDescription): a function
   is "f", the number of its arguments, its head and these; a symbol is "s", the number of its bytes, and its name in UTF-8,
   whose context may be left out where it is System`. What stands before that is as long as HoldComplete[] is. *)

before = Length[Normal[BinarySerialize[HoldComplete[]]]]

fullName[symbol_] := inContext[bytesOf[Normal[BinarySerialize[HoldComplete[symbol]]]]]

bytesOf[bytes_List] := FromCharacterCode[Drop[bytes, before + If[bytes[[before + 2]] < 128, 2, 3]], "UTF-8"]

inContext[name_String] := If[StringFreeQ[name, "`"], "System`" <> name, name]

(* An expression as data, as from_json of expressions.py reads it, and not more of it than there is room for. *)

encode[symbol_Symbol, depth_] := (room = room - 1; fullName[symbol])

encode[text_String, depth_] := (room = room - 1; encodedText[text])

encode[number_Integer, depth_] := (room = room - 1; encodedInteger[number])

encode[number_Rational, depth_] := (
  room = room - 1;
  encodedRational[encodedInteger[Numerator[number]], encodedInteger[Denominator[number]]]
)

encode[number_Real, depth_] := (room = room - 1; {"r", ToString[number, InputForm, NumberMarks -> Automatic]})

(* Evaluate does nothing within HoldAllComplete; With does. *)

encode[number_Complex, depth_] := With[{real = Re[number], imaginary = Im[number]},
  room = room - 1;
  {"c", encode[real, depth], encode[imaginary, depth]}
]

encode[other_, depth_] := (room = room - 1; encodedParts[headOf[other], arguments[other], kindOf[other], depth])

encodedText[text_String] :=
  If[StringLength[text] > characters,
    cut = True;
    {"n", "System`StringJoin", {"s", StringTake[text, characters]},
      {"o", ToString[StringLength[text] - characters] <> " characters"}},
    {"s", text}
  ]

encodedInteger[number_Integer] :=
  If[Abs[number] >= largest,
    cut = True; {"o", "about " <> ToString[IntegerLength[number]] <> " digits"},
    {"i", If[number < 0, "-", ""] <> IntegerString[number]}
  ]

encodedRational[{"i", over_}, {"i", under_}] := {"q", over, under}

encodedRational[_, _] := {"o", "Rational"}

(* An atom of another kind, as an image, has no parts; it has a head. *)

encodedParts[HoldComplete[], _, kind_, _] := (cut = True; {"o", kind})

encodedParts[head_HoldComplete, parts_HoldComplete, _, depth_] := If[depth >= levels,
  cut = True; {"o", "deeper"},
  Join[{"n", encodedPart[head, depth]}, taken[parts, Length[parts], depth]]
]

(* Each part takes room, so those that come late may find none: they are counted together. *)

taken[parts_, length_, depth_] := counted[
  Flatten[Table[If[room > 0, {encodedPart[Take[parts, {at}], depth]}, {}], {at, Min[length, Max[room, 0]]}], 1],
  length
]

counted[found_List, length_] := If[Length[found] < length,
  cut = True; Append[found, {"o", ToString[length - Length[found]]}],
  found
]

encodedPart[HoldComplete[part_], depth_] := encodedDeeper[HoldComplete[part], depth + 1]

encodedDeeper[HoldComplete[part_], depth_] := encode[part, depth]

arguments[Association[rules___]] := HoldComplete[rules]

arguments[_[parts___]] := HoldComplete[parts]

arguments[_] := HoldComplete[]

headOf[_Association] := HoldComplete[Association]

headOf[head_[___]] := HoldComplete[head]

kindOf[_[___]] := ""

kindOf[atom_] := With[{head = Head[Unevaluated[atom]]}, named[HoldComplete[head]]]

headOf[_] := HoldComplete[]

(* Bounds, and what is left of them. The limits of recursion are the session's own everywhere else. *)

largest = 10^4000

characters = 262144

levels = 100

bounded[held_HoldComplete, most_Integer] := Block[{room = most, cut = False, $RecursionLimit = 16384, $IterationLimit = 16384},
  With[{data = encodedPart[held, 0]}, {data, Not[cut]}]
]

looked[held_HoldComplete, most_Integer] := lookedAt[bounded[held, most], lengthOf[held]]

lookedAt[{data_, whole_}, length_] := object[{"data", data}, {"whole", whole}, {"length", length}]

lengthOf[HoldComplete[value_]] := Length[arguments[value]]

(* A text is read line by line: a line ends an expression where what was gathered is one (SyntaxQ). Only those lines are
   tried that the host names, counted from 1: in all others a bracket is open at the end. Where SyntaxLength is not beyond
   the end, more lines would not help (reference, SyntaxLength). Places are counted from 0. *)

answer["read", request_] := read[request["text"], request["text"] <> "\n", request["lines"]]

read[text_String, ended_String, lines_List] := Module[{ends = Map[First, StringPosition[ended, "\n"]][[lines]], from = 1, at = 1, pieces = {}, wrong = 0, piece},
  While[at <= Length[ends] && wrong === 0,
    piece = StringTake[ended, {from, ends[[at]] - 1}];
    Which[
      StringTrim[piece] === "", from = ends[[at]] + 1,
      SyntaxQ[piece], pieces = Append[pieces, {from - 1, ends[[at]] - 1}]; from = ends[[at]] + 1,
      SyntaxLength[piece] <= StringLength[piece], wrong = from + SyntaxLength[piece],
      True, Null
    ];
    at = at + 1
  ];
  Which[
    wrong > 0, object[{"wrong", Min[wrong - 1, StringLength[text]]}, {"more", False}],
    from <= StringLength[text], object[{"wrong", from - 1}, {"more", True}],
    True, object[{"pieces", pieces}]
  ]
]

(* A text as data. The symbols that reading it has made are taken out again: $NewSymbol is told of each, by its name and its
   context (reference, $NewSymbol). *)

answer["parse", request_] := Block[{made = {}, $NewSymbol},
  $NewSymbol = Function[{name, context}, made = Append[made, context <> name]; Null];
  parsed[Quiet[ToExpression[request["text"], InputForm, HoldComplete]], request["most"]]
]

parsed[held_, most_] := With[{shown = If[MatchQ[held, HoldComplete[_]], looked[held, most], object[{"unread", True}]]},
  $NewSymbol =.;
  Quiet[Scan[Remove, made]];
  shown
]

(* One expression is evaluated as the main loop does it (tutorial TheMainLoop), for an EvaluatePacket does not pass through
   that: $Line, In, $Pre, $Post, Out, $PrePrint, $HistoryLength. A text that ends in ; has its value in Out and shows none.
   The text of a file does not count as input, as in Get: it has no line. *)

answer["evaluate", request_] := evaluated[ToExpression[request["text"], InputForm, HoldComplete], request["most"], request["counts"]]

evaluated[HoldComplete[], most_, _] := object[{"status", "done"}, {"null", True}]

evaluated[held : HoldComplete[expression_], most_, counts_] := Module[{line},
  If[counts, $Line = $Line + 1];
  line = $Line;
  If[counts, record[In, line, held]];
  status = "thrown";
  tag = HoldComplete[];
  shown = HoldComplete[Null];
  stored = HoldComplete[Null];
  thrown = CheckAbort[outcome[run[expression]], status = "aborted"; HoldComplete[Null]];
  If[counts && status === "done", record[Out, line, stored]];
  If[counts, forget[line]];
  report[line, most, MatchQ[held, HoldComplete[CompoundExpression[___, Null]]]]
]

evaluated[_, _, _] := object[{"status", "misread"}]

run[CompoundExpression[first_, rest___, Null]] := run[CompoundExpression[first, rest]]

run[expression_] := With[{value = Catch[Catch[settled[finish[expression]], _, tagged]]}, HoldComplete[value]]

(* A Return in the expression returns from finished: that is its value. *)

finish[expression_] := finished[If[OwnValues[$Pre] === {}, HoldComplete[expression], HoldComplete[$Pre[expression]]]]

finished[HoldComplete[expression_]] := With[{value = expression},
  stored = hooked[$Post, value];
  shown = shownOf[stored];
  status = "done";
  ended[]
]

settled[ended[]] := ended[]

settled[value_] := (stored = HoldComplete[value]; shown = stored; status = "done"; ended[])

shownOf[HoldComplete[value_]] := hooked[$PrePrint, value]

hooked[hook_, value_] := If[OwnValues[hook] === {}, HoldComplete[value], With[{found = hook[value]}, HoldComplete[found]]]

(* Recursion without end is thrown, with TerminatedEvaluation["RecursionLimit", 50] as its tag, and is no value of a Throw
   that somebody forgot to catch: the main loop shows it without the limit. *)

tagged[_, System`TerminatedEvaluation[why_, ___]] := settled[System`TerminatedEvaluation[why]]

tagged[value_, form_] := (tag = HoldComplete[form]; caught[HoldComplete[value]])

outcome[HoldComplete[caught[held_]]] := held

outcome[held_] := held

record[where_, line_, held_] := If[$HistoryLength > 0, Unprotect[In, Out]; define[where, line, held]; Protect[In, Out]]

define[where_, line_, HoldComplete[value_]] := where[line] := value

forget[line_] := If[IntegerQ[$HistoryLength] && oldest <= line - $HistoryLength,
  Unprotect[In, Out];
  While[oldest <= line - $HistoryLength, dropLine[oldest]; oldest = oldest + 1];
  Protect[In, Out]
]

dropLine[line_] := (Quiet[In[line] =.]; Quiet[Out[line] =.])

oldest = 1

report[line_, most_, silent_] := Switch[status,
  "done", reportValue[line, most, silent || shown === HoldComplete[Null]],
  "thrown", object[{"status", "thrown"}, {"value", looked[thrown, 100]}, {"tag", If[tag === HoldComplete[], Null, looked[tag, 100]]}, place[]],
  _, object[{"status", status}, place[]]
]

reportValue[line_, most_, True] := object[{"status", "done"}, {"null", True}, {"line", line}, place[]]

reportValue[line_, most_, False] := Module[{data = bounded[shown, most]},
  number = number + 1;
  kept[number] = shown;
  If[number > many, Quiet[kept[number - many] =.]];
  object[{"status", "done"}, {"line", line}, {"root", number}, {"value", lookedAt[data, lengthOf[shown]]},
    {"output", If[data[[2]], formatted[shown], Null]}, place[]]
]

number = 0

many = 100

place[] := {"place", {$Context, $ContextPath}}

(* Rules for Format may do anything. Only what is whole within the bounds is formatted. *)

formatted[HoldComplete[value_]] := CheckAbort[
  TimeConstrained[Catch[Catch[ToString[HoldForm[value], OutputForm, PageWidth -> 120], _, Function[{found, form}, Null]]], 2, Null],
  Null
]

(* Looking: a root is the number of a value that an evaluation came to, or the name of a symbol, whose own value it is. A path
   is of the numbers of parts. *)

answer["look", request_] := lookedIn[down[rooted[request["root"]], request["path"]], request["from"], request["count"], request["most"]]

rooted[root_Integer] := If[MatchQ[kept[root], _HoldComplete], kept[root], HoldComplete[]]

rooted[name_String] := ownValue[name]

down[held_HoldComplete, path_List] := Fold[partOf, held, path]

partOf[HoldComplete[value_], at_Integer] := With[{parts = arguments[value]},
  If[0 < at <= Length[parts], Take[parts, {at}], HoldComplete[]]
]

partOf[_, _] := HoldComplete[]

lookedIn[HoldComplete[], _, _, _] := object[{"gone", True}]

lookedIn[HoldComplete[value_], from_, count_, most_] := With[{parts = arguments[value]},
  object[{"parts", Map[looked[Take[parts, {#}], most] &, Range[from, Min[Length[parts], from + count - 1]]]}]
]

answer["stored", request_] := lookedOnce[ownValue[request["name"]], request["most"]]

lookedOnce[held_, most_] := If[held === HoldComplete[], object[{"gone", True}], looked[held, most]]

ownValue[name_String] := If[NameQ[name] && FreeQ[attributesOf[name], ReadProtected],
  firstRight[valuesOf[OwnValues, name]],
  HoldComplete[]
]

firstRight[HoldComplete[rule_, ___]] := partOf[HoldComplete[rule], 2]

firstRight[_] := HoldComplete[]

(* Many functions of symbols also accept symbol names (reference, Symbol); DownValues, OwnValues, UpValues, SubValues and
   ClearAttributes say so of themselves, since 13.2. Where one does not, it is asked about the symbol: all of these hold it,
   but an upvalue of the symbol that matches the question would answer. *)

byName = MatchQ[Quiet[{OwnValues["Imago`Private`before"], DownValues["Imago`Private`json"]}], {{_}, {__}}]

valuesOf[values_, name_String] := listOf[If[byName, held[Quiet[values[name]]], HoldComplete[]], values, name]

listOf[HoldComplete[list_List], _, _] := arguments[list]

listOf[_, values_, name_] := ofSymbol[values, ToExpression[name, InputForm, HoldComplete]]

ofSymbol[values_, HoldComplete[symbol_Symbol]] := listed[held[values[symbol]]]

ofSymbol[_, _] := HoldComplete[]

SetAttributes[held, HoldFirst]

(* What is listed are rules, and RuleDelayed would let upvalues of a symbol that is a right side fire. *)

held[question_] := Internal`InheritedBlock[{RuleDelayed},
  Unprotect[RuleDelayed];
  SetAttributes[RuleDelayed, HoldAllComplete];
  With[{value = question}, HoldComplete[value]]
]

listed[HoldComplete[list_List]] := arguments[list]

listed[_] := HoldComplete[]

attributesOf[name_String] := Apply[List, valuesOf[Attributes, name]]

(* The definition of a symbol, by its full name, as definition_from_json of source.py reads it. What is ReadProtected is read
   within Internal`InheritedBlock, where the symbol has its values and lets go of changes; what is also Locked is not read. *)

answer["definition", request_] := defined[request["name"], request["most"]]

defined[name_String, most_] := If[NameQ[name], definedAs[name, attributesOf[name], most], object[{"missing", True}]]

definedAs[name_, attributes_, most_] := Which[
  FreeQ[attributes, ReadProtected], whole[name, attributes, most],
  MemberQ[attributes, Locked], object[{"attributes", named[attributes]}],
  True, unprotected[ToExpression[name, InputForm, HoldComplete], name, attributes, most]
]

unprotected[HoldComplete[symbol_Symbol], name_, attributes_, most_] :=
  Internal`InheritedBlock[{symbol},
    If[byName, ClearAttributes[name, ReadProtected], ClearAttributes[symbol, ReadProtected]];
    whole[name, attributes, most]
  ]

named[attributes_List] := Map[shortName, Map[Function[one, HoldComplete[one]], attributes]]

named[held : HoldComplete[_Symbol]] := shortName[held]

named[_] := "atom"

shortName[HoldComplete[symbol_]] := Last[StringSplit[fullName[symbol], "`"]]

whole[name_, attributes_, most_] := wholeOf[name, attributes, most, valuesOf[DefaultValues, name]]

wholeOf[name_, attributes_, most_, defaults_] := Block[{room = most, cut = False, $RecursionLimit = 16384, $IterationLimit = 16384},
  object[
    {"attributes", named[attributes]},
    {"rules", Join[
      Map[rule["default", sides[Take[defaults, {#}]]] &, Complement[Range[Length[defaults]], ofOptions[defaults]]],
      rules["own", valuesOf[OwnValues, name]],
      rules["down", valuesOf[DownValues, name]],
      rules["sub", valuesOf[SubValues, name]],
      rules["up", valuesOf[UpValues, name]],
      rules["n", valuesOf[NValues, name]],
      rules["format", valuesOf[FormatValues, name]]
    ]},
    {"options", options[optionsIn[name, defaults, ofOptions[defaults]]]},
    {"messages", messages[valuesOf[Messages, name]]},
    {"code", codes[ToExpression[name, InputForm, HoldComplete], valuesOf[UpValues, name] === HoldComplete[]]}
  ]
]

(* Options[f] is one of the values in DefaultValues[f], where it is held; Options itself evaluates what it is asked about,
   and the values of options with it. So it is asked only about symbols of the engine itself. *)

ofOptions[defaults_HoldComplete] := Select[Range[Length[defaults]], setsOptions[sides[Take[defaults, {#}]]] &]

setsOptions[both_HoldComplete] := And[
  MatchQ[bare[Take[both, 1]], HoldComplete[Options[_]]],
  MatchQ[Take[both, {2}], HoldComplete[_List]]
]

optionsIn[name_, defaults_, {at_, ___}] := listed[Take[sides[Take[defaults, {at}]], {2}]]

(* A symbol that the engine loads when it is first used has an own value until then, which does so. Mathics has none. *)

optionsIn[name_, _, {}] := If[
  StringMatchQ[name, "System`*"] && valuesOf[UpValues, name] === HoldComplete[] && valuesOf[OwnValues, name] === HoldComplete[],
  engineOptions[ToExpression[name, InputForm, HoldComplete]],
  HoldComplete[]
]

engineOptions[HoldComplete[symbol_Symbol]] := listed[held[Quiet[Options[Unevaluated[symbol]]]]]

engineOptions[_] := HoldComplete[]

rules[kind_, list_HoldComplete] := Table[rule[kind, sides[Take[list, {at}]]], {at, Length[list]}]

sides[HoldComplete[rule_]] := arguments[rule]

rule[kind_, both_HoldComplete] := ruled[kind, bare[Take[both, 1]], Take[both, {2}]]

bare[HoldComplete[side_]] := If[headOf[side] === HoldComplete[HoldPattern], arguments[side], HoldComplete[side]]

ruled[kind_, left_, right_] := {kind, If[room > 0, encodedPart[left, 0], {"o", "more"}], If[room > 0, encodedPart[right, 0], {"o", "more"}]}

ruled["format", HoldComplete[left_], right_] := Switch[headOf[left],
  HoldComplete[Format], formatRule[arguments[left], right],
  HoldComplete[MakeBoxes], ruled["up", HoldComplete[left], right],
  _, formatRule[HoldComplete[left], right]
]

formatRule[parts_HoldComplete, right_] := Join[
  {"format", encodedPart[Take[parts, 1], 0], encodedPart[right, 0]},
  If[Length[parts] > 1, {encodedPart[Take[parts, {2}], 0]}, {}]
]

options[list_HoldComplete] := Map[option, Select[Table[sides[Take[list, {at}]], {at, Length[list]}], Length[#] === 2 &]]

option[both_HoldComplete] := {encodedPart[Take[both, 1], 0], encodedPart[Take[both, {2}], 0]}

messages[list_HoldComplete] := Apply[object, Table[message[sides[Take[list, {at}]]], {at, Length[list]}]]

message[both_HoldComplete] := {texted[bare[Take[both, 1]], 2], texted[Take[both, {2}], 0]}

texted[HoldComplete[text_String], _] := text

texted[held_HoldComplete, 0] := ""

texted[held_HoldComplete, at_] := texted[partOf[held, at], 0]

(* These hold what they are asked about but for HasOwnCodeQ, which gets Unevaluated (as AgentTools found), and is not asked
   where the symbol has upvalues, which Unevaluated does not keep away. *)

codes[HoldComplete[symbol_Symbol], plain_] := Select[{
  If[TrueQ[System`Private`HasDownCodeQ[symbol]], "down", ""],
  If[plain && TrueQ[System`Private`HasOwnCodeQ[Unevaluated[symbol]]], "own", ""],
  If[TrueQ[System`Private`HasSubCodeQ[symbol]], "sub", ""],
  If[TrueQ[System`Private`HasUpCodeQ[symbol]], "up", ""],
  If[TrueQ[System`Private`HasPrintCodeQ[symbol]], "print", ""]
}, Function[kind, kind =!= ""]]

codes[_, _] := {}

(* Names come with their contexts where none is on the path. *)

answer["names", request_] := Block[{$Context = "Imago`Nowhere`", $ContextPath = {}},
  object[{"names", inOneText[Union[Names["*`*"], Names["System`*"]]]}]
]

(* There are thousands, and each text of JSON takes its time. No name has a space. *)

inOneText[names_List] := inOneTextOf[names, StringMatchQ[names, unescaped]]

inOneTextOf[names_, plain_] := Append[Pick[names, plain, False], StringRiffle[Pick[names, plain], " "]]

answer["defined", request_] := object[{"defined", Map[isDefined, request["names"]]}]

isDefined[name_String] := NameQ[name] && Or[
  attributesOf[name] =!= {},
  AnyTrue[{OwnValues, DownValues, UpValues, SubValues, NValues, DefaultValues, FormatValues}, valuesOf[#, name] =!= HoldComplete[] &],
  codes[ToExpression[name, InputForm, HoldComplete], valuesOf[UpValues, name] === HoldComplete[]] =!= {}
]

answer["exist", request_] := object[{"exist", Map[Function[name, TrueQ[NameQ[name]]], request["names"]]}]

answer["go", request_] := (
  $Context = request["context"];
  $ContextPath = request["path"];
  object[place[]]
)

(* Who this kernel is. The mark stays in it, so that a host that comes again knows it, with a newer package, too. *)

mark = If[StringQ[mark], mark, ToString[$ProcessID] <> "-" <> ToString[$SessionID] <> "-" <> ToString[Round[1000 AbsoluteTime[]]]]

answer["hello", request_] := object[{"version", $Version}, {"mark", mark}, {"contexts", begun}, place[]]

(* What reading JSON loads is the engine's own, and so it is loaded first. *)

begun = If[ListQ[begun], begun, ImportString["{}", "RawJSON"]; Contexts[]]

answer["settle", request_] := object[place[]]

answer[_, _] := object[{"unknown", True}]

call[text_String] := respond[ImportString[text, "RawJSON"]]

respond[request_] := json[object[{"id", request["id"]}, {"answer", answer[request["call"], request]}]]

End[]

EndPackage[]

If[First[$ContextPath] === "Imago`", $ContextPath = Rest[$ContextPath]]
