(* Definitions as packages have them, each behind an empty line. test_definitions.py reads them back. *)

q[list_List, {m_Integer?Positive, n_: Automatic}, opts : OptionsPattern[]] /; m <= Length[list] && ! MatchQ[n, None] := Take[list, {m, If[n === Automatic, -1, n]}]

q[expr_] := Replace[expr, {HoldPattern[Plus[args__]] :> Total[{args}], (h : Times | Power)[a_, b___] /; FreeQ[a, _Real] :> h[b, a], _ -> $Failed}, {0, Infinity}]

q[s_String] := StringReplace[s, {RegularExpression["(\\d+)\\.(\\d*)"] :> "$1" <> "," <> "$2", "\"" -> "\\\"", WordBoundary ~~ x : LetterCharacter .. :> ToUpperCase[x]}]

q[data_Association] := KeyValueMap[#1 -> Lookup[#2, "id", Missing["NoId"]] &, Select[data, #["n"] > 3 && #n =!= Null &]]

q[x_, y_] := With[{f = Function[{u, v}, Module[{w = u}, w += v; w *= 2; w -= 1; w /= 3; {w, ##} &]]}, f[x, y][#]& /@ Range[3]]

q[m_?MatrixQ] := m[[All, 2 ;; -2 ;; 2]] . Transpose[m][[;; 3, ;;]]; q[v_?VectorQ] := v[[-1]] + v[[{1, 3}]]

q[n_Integer] := q[n] = If[n < 2, n, q[n - 1] + q[n - 2]]

q[a : (_Integer | _Rational), b : {{_, _} ..}, c : Except[_List] : 0] := {a, b, c}

q[f_, x_] := NestWhile[f, x, UnsameQ[##] &, 2, 100] // Chop // N; q[f_] := f @@@ {{1, 2}, {3, 4}} // Flatten

q[x_] := Block[{$RecursionLimit = 100, t}, t = Check[f[x], $Failed, {f::bad, General::stop}]; Switch[t, $Failed, Return[$Failed], _List, First[t], _, t]]

q[x_] := Catch[Scan[Function[e, If[! TrueQ[e > 0], Throw[e, "neg"]]], x]; None, "neg", Failure[#2, <|"MessageTemplate" -> "bad `1`", "MessageParameters" -> {#1}|>] &]

q::arg = "Argument `1` isn't a \"list\" at \\[Alpha]."; q[x___] := (Message[q::arg, HoldForm[q[x]]]; $Failed)

SetAttributes[q, {HoldFirst, Listable}]; q[sym_Symbol, val_: 1] := (sym =.; sym := val; Clear[sym]; sym)

q /: Plus[q[a_], q[b_]] := q[a + b]; q /: Times[c_?NumericQ, q[a_]] := q[c a]; q /: Normal[q[a_]] := a

q /: MakeBoxes[q[x_], form : StandardForm | TraditionalForm] := RowBox[{"q", "[", MakeBoxes[x, form], "]"}]

Options[q] = {Method -> Automatic, "Tolerance" -> 10^-6, Compiled :> $compiled}; q[x_, OptionsPattern[]] := OptionValue[Method] /. Automatic :> OptionValue["Tolerance"]

q[a_, b_] := a^b^c - (a - b) - (-c)^2 + a/b/c - a/(b c) + (a/b)^-1 + Sqrt[a]/2 - 3/4 a

q[x_] := -(x + 1) (x - 1) + 2 (-x) - 3^(-x) + (-2)^x + x!! + (x!)! + (x + 1)!

q[p_] := (p /. x -> 1 /. y -> 2) //. z_ :> w[z]; q[p_, r_] := p /. (x -> 1) -> y

q[x_] := (a; b; c) + (d := e) + (f = g; ) + (h -> i &) + (j & -> k)

q[x_] := Table[i^2 + j, {i, 1, 10, 2}, {j, i}] ~Join~ Array[#^2 &, 5] ~Append~ x

q[u_] := Outer[#1 @* #2 &, {Sin, Cos}, {Log}] /* First; q[u_, w_] := Composition[f, g][u] == RightComposition[f, g][w]

q[x_] := x < 1 || x > 2 && ! (x == 3 || x != 4) && (a && b || c) && Not[Not[x]]; q[x_, y_] := a < b <= c > d; q[x_, y_, z_] := (a < b) < c

q[x_] := (x == y) == z; q[x_, y_] := x == (y == z); q[x_, y_, z_] := x -> (y := z)

q[x_] := <|"a" -> <|"b" -> {1, 2, <||>}, c :> d|>, 3 -> (e -> f)|>["a", "b"]; q[x_, y_] := Association[x -> 1, y]

q[x_] := If[x, Print["a\tb\nc"], Print["\[Alpha]\[Beta]", "\\[Alpha]", "`1` ``", "\[EAcute]\:00e9"]]

q[x_ : 5, y_ : {a, b}, z : _Integer : 7, w : (_ | __) : None] := {x, y, z, w}

q[x__Integer | x__Real, Shortest[y___], Longest[z__], PatternSequence[a_, b_], KeyValuePattern[{"k" -> v_}]] := {x, y}

q[x_][y_][z_] := x + y + z; q[x_, y_][] := {}; q[_][_, __] := 1

q[x_] := Compile[{{u, _Real, 1}, {n, _Integer}}, Sum[u[[i]]^n, {i, Length[u]}]]; q[x_,y_] := Sum[i, {i, 0, Infinity}]

q[x_] := Hold[Evaluate[x], Unevaluated[1 + 1], Sequence @@ {a}, ##2, #0[#1 - 1] &, #name &, #"two words" &]

q[x_] := (#1 + #2 &)[1, 2] + (# &) @ x + f[# &] + (f[#] & /@ #) & [x]

q[x_] := f' + f''[x] + Derivative[1, 2][g][x, y] + Derivative[-1][h]

q[x_] := {x -> y /; x > 1, x :> (y /; z), (x_ /; x > 1) -> y, _?(# > 1 &), x_?(f@*g), __?NumberQ}

q[2] = 1.5*^-7; q[3] = 16^^ff + 2^^101; q[5] = {-1, -x, - - x, 2 - -3 y}; q[6] = 2 + 3 I

q[x_] := (x_ :> x) & @ Hold[Set[a, b], SetDelayed[c, d], Unset[e], TagSet[f, f[g], h], UpSet[i[j], k], UpSetDelayed[l[m], n], AddTo[o, p]]

q[x_] := Quiet[Check[Get["file`"], {}], {Get::noopen}] <> "" <> ToString @ x; q[x_, y_] := (a <> b)[c] + a[b][c] + (a + b)[c] + {a}[[1]][b]

q[x_] := x // f[#, 2] & // g; q[x_, y_] := f @ g @ x + f[g[x]][y] + f[g][x]

q[x_] := While[i < 10 && (i++ < 5 || --j > 0), k = i = j++ + 1; If[k == 3, Continue[], Break[]]]; q[x_, y_] := For[i = 0, i < 3, i++, f[i]; g[i]]

q[x_] := a ** b . c ** (d . e) + a \[CircleTimes] b \[CirclePlus] c

q[x_] := Null; q[x_, y_] := (f[x]; Null); q[x_, y_, z_] := {Null, , f[, a]}

q[{x_, y_}, {}] := x[[y]] = {}; q[x_] := x[[1, 2]] += 3; q[x_, y_] := ({a, b} = {b, a}; {c, {d}} = y)

q[x_] := Module[{}, x]; q[x_, y_] := Module[{a, b = 1, c := 2}, With[{}, Block[{d}, DynamicModule[{e = 1}, e]]]]

q[x:1|2, y:(a|b).., z:{___}|<||>] := 1; q[x:a_|b_] := 2

q[x_] := x = y /; z; q[x_, y_] := (x := y /; z) ; q[x_, y_, z_] := (x /; y) := z

q[x_] := a =!= b === c; q[x_, y_] := !a === b; q[x_, y_, z_] := (!a) === b

q[x_] := a | b .. | c...; q[x_, y_] := (a | b).. ; q[x_, y_, z_] := "a" ~~ ("b" | "c") .. ~~ d__

q[x_] := -a b; q[x_, y_] := -(a b); q[x_, y_, z_] := (-a)(-b) ; q[1] := -1 a; q[2] := a (-1) ; q[3] := (-1) ; q[4] := 2 (-1) a; q[5] := -2 a; q[6] := (-2)^2; q[7] := -2^2; q[8] := (-a)^2; q[9] := 1/-2
