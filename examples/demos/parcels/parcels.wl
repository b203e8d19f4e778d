BeginPackage["parcels`"]

postage::usage = "postage[weight] is what a parcel of so many grams costs, in cents.";
quote::usage = "quote[weights] is what parcels cost together.";

Begin["`Private`"]

rates = {{500, 290}, {1000, 390}, {2000, 550}};

(* The first rate that the weight is within. *)
postage[weight_Integer /; 0 < weight <= 2000] :=
  Last[Last[Select[rates, First[#] >= weight &]]]

postage[weight_Integer] := Throw["no parcel: " <> ToString[weight]]

quote[weights_List] := Total[Map[postage, weights]]

End[]
EndPackage[]
