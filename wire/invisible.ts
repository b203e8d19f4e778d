/** Characters that have ink by their category and none on the screen: empty Braille, null notes, fillers, objects. */
export const BLANK = String.raw`\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}`

/**
 * The one table of what cannot be seen, for every place that prints, as the source of a regular expression with the flag `u`: control characters (C0, DEL, C1), formats
 * (bidirectional and zero-width ones, tags), fillers and variation selectors, lone surrogates, private and unassigned
 * characters, separators of lines, and every space but the plain one. Tab and newline are not in it. The plain space is
 * told by a look ahead, because most of any text is spaces.
 */
export const INVISIBLE = String.raw`(?![ \t\n])[\p{C}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}${BLANK}]`
