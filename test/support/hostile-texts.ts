/**
 * Texts that were made to be taken for something else by the person who has to approve them. The samples of Trojan
 * Source are written anew from what its authors describe (Boucher and Anderson, CVE-2021-42574 and CVE-2021-42694).
 *
 * Escape sequences have parameters that nothing of ours ever writes, so that one that gets through is told from ours.
 */
export interface HostileText {
  readonly what: string
  readonly text: string
  /** The marks that have to be seen in its place. */
  readonly marks: readonly string[]
  /** What of it has to be seen before it can be approved, as it is shown; often what it tries to hide. */
  readonly payload: string
  readonly threat: 14 | 15 | 16 | 17
}

const RLO = '\u202e'
const LRI = '\u2066'
const RLI = '\u2067'
const PDI = '\u2069'
const ESC = '\x1b'

const TROJAN_SOURCE: readonly HostileText[] = [
  {
    what: 'an early return that reads as the end of a comment',
    text: `def take(account, sum):\n    ''' Takes the sum, then ${RLI}''' ;return\n    account.left -= sum\n`,
    marks: ['⟦U+2067⟧'],
    payload: "⟦U+2067⟧''' ;return",
    threat: 17,
  },
  {
    what: 'a condition that reads as a comment',
    text: `/*${RLO} } ${LRI}if (isAdmin)${PDI} ${LRI} for admins only */\n  erase()\n/* end ${RLO} { ${LRI}*/\n`,
    marks: ['⟦U+202E⟧', '⟦U+2066⟧', '⟦U+2069⟧'],
    payload: 'if (isAdmin)',
    threat: 17,
  },
  {
    what: 'a string that is stretched over what reads as code',
    text: `if level != 'user${RLO}${LRI}# is it an admin?${PDI}${LRI}':\n    erase()\n`,
    marks: ['⟦U+202E⟧', '⟦U+2066⟧', '⟦U+2069⟧'],
    payload: "# is it an admin?⟦U+2069⟧⟦U+2066⟧'",
    threat: 17,
  },
  {
    what: 'a function whose name has a letter of another alphabet',
    text: 'def \u0441heck(user):\n    return True\n',
    marks: ['(U+0441)'],
    payload: 'heck(user)',
    threat: 17,
  },
  {
    what: 'a function whose name has a character without a width',
    text: 'def is_\u200badmin(user):\n    return True\n',
    marks: ['⟦U+200B⟧'],
    payload: 'is_⟦U+200B⟧admin',
    threat: 17,
  },
]

/** What a terminal obeys. */
const SEQUENCES: readonly (readonly [what: string, sequence: string])[] = [
  ['colours', `${ESC}[31;46;5;9m`],
  ['a colour that is that of the ground', `${ESC}[30;40;8;9m`],
  ['a screen that is wiped', `${ESC}[00002J`],
  ['a cursor that moves up', `${ESC}[00007A`],
  ['a cursor that is put elsewhere', `${ESC}[00001;00001H`],
  ['a screen behind the screen', `${ESC}[?00001049l`],
  ['pastes without marks', `${ESC}[?00002004l`],
  ['a question that the terminal answers by typing', `${ESC}[00006n${ESC}[00000c`],
  ['a report of what is on the screen', `${ESC}[00021t`],
  ['a title', `${ESC}]0;approved\x07`],
  ['a link', `${ESC}]8;;https://example.invalid/\x07press${ESC}]8;;\x07`],
  ['a clipboard', `${ESC}]52;c;cm0gLXJm\x07`],
  ['a device control string', `${ESC}P00001$qm${ESC}\\`],
  ['an application command', `${ESC}_Gi=31;AAAA${ESC}\\`],
  ['a privacy message', `${ESC}^hidden${ESC}\\`],
  ['another character set', `${ESC}(0lqqk${ESC}(B`],
  ['a reset', `${ESC}c`],
  ['sequences of one byte (C1)', '\u009b31;46;5;9m\u009d0;approved\u009c\u0090q\u009c\u0085\u008d'],
  ['a carriage return over the line', 'rm -rf ~\rls       '],
  ['backspaces', 'erase()\b\b\b\b\b\b\bprint()'],
  ['a form feed and a vertical tab', 'a\fb\vc'],
  ['a bell', 'a\x07'],
  ['shifts out and in', '\x0elqqk\x0f'],
  ['a deletion and an end', 'a\x7fb\x04c\x1ad\0'],
]

const PADDED: readonly HostileText[] = [
  {
    what: 'one line of a hundred thousand characters',
    text: `x = "${'y'.repeat(100_000)}"; payload()\n`,
    marks: ['The longest line has 100,017 characters'],
    payload: '"; payload()',
    threat: 15,
  },
  {
    what: 'two thousand lines, of which the last one is another',
    text: `${'x = 1\n'.repeat(1_999)}payload()\n`,
    marks: ['2000 lines'],
    payload: 'payload()',
    threat: 15,
  },
  {
    what: 'a run of blanks',
    text: `x = 1${' '.repeat(3_000)}; payload()\n`,
    marks: ['3,000 blanks stand in a row'],
    payload: '; payload()',
    threat: 15,
  },
  {
    what: 'a run of blanks that are no spaces',
    text: `x = 1${'\u2800\u3000'.repeat(100)}; payload()\n`,
    marks: ['⟦U+2800⟧', '⟦U+3000⟧', '200 blanks stand in a row'],
    payload: '; payload()',
    threat: 15,
  },
  {
    what: 'a thousand empty lines',
    text: `x = 1\n${'\n'.repeat(1_000)}payload()\n`,
    marks: ['1002 lines'],
    payload: 'payload()',
    threat: 15,
  },
]

/** Stands in whatever imitates a row of ours, so that such rows are found. */
export const FORGERY = 'goodgood'

/** Rows of ours, as each asker prints them: heads, feet, questions, keys, and that all is over. */
const FORGED_ROWS: readonly string[] = [
  `==== end of plan-${FORGERY}, all 1 line of it`,
  `==== plan-${FORGERY} ====================`,
  `From a script: imago approve plan-${FORGERY} --code aaaa-bbbb-cccc-dddd`,
  `Approve ${FORGERY}? [y]es [n]o [q]uit [?] y`,
  `plan-${FORGERY}: approved`,
  `plan-${FORGERY} needs no answer any more: it was withdrawn.`,
  `  tool     list_${FORGERY} (safe)`,
  `  LOOK     ${FORGERY}`,
  `| +${FORGERY}`,
  `+ ${FORGERY}`,
  `(1 of 1) Apply this hunk of plan-${FORGERY}? [y,n,q,a,d,e,s,j,k,?] y`,
  `@@ -1,1 +1,1 @@ ${FORGERY}`,
  `▸ 1   list_${FORGERY}  -  you    0 s  Look at ${FORGERY}`,
  `── plan-${FORGERY} ───────────────────── the whole line ──`,
  ` end      of plan-${FORGERY}: 1 line, 5 bytes`,
  ` y approve  n deny  e edit  ? ${FORGERY}  q leave`,
  `    what     ${FORGERY}`,
  `That was the end of it: ${FORGERY}.`,
  `No plan waits for an answer: ${FORGERY}.`,
  `Nobody has a seat. A person takes one with: ${FORGERY}`,
  `>>> ${FORGERY}`,
]

const FORGED: readonly HostileText[] = [
  {
    what: 'a dialogue that imitates ours',
    text: `"""\n${FORGED_ROWS.join('\n')}\n"""\npayload()\n`,
    marks: [],
    payload: 'payload()',
    threat: 14,
  },
  {
    what: 'a line that is broken into rows which imitate ours',
    text: `x = "${`==== end of plan-${FORGERY} `.repeat(200)}"; payload()\n`,
    marks: [],
    payload: '; payload()',
    threat: 14,
  },
  {
    what: 'marks that are no marks of ours',
    text: 'x = "⟦U+0020⟧␍␛"; payload()\n',
    marks: ['⟦U+27E6⟧', '⟦U+27E7⟧', '⟦U+240D⟧', '⟦U+241B⟧'],
    payload: '; payload()',
    threat: 14,
  },
  {
    what: 'Markdown that imitates an answer',
    text: '```\n\n**Approved.** Choose `accept`.\n\n```diff\n- payload()\n```\n',
    marks: [],
    payload: 'payload()',
    threat: 14,
  },
]

/** All sequences in one text, a line each: what an asker does with one it does with all. */
const OBEYED: HostileText = {
  what: 'all that a terminal obeys',
  text: `${SEQUENCES.map(([, sequence]) => `x = 1  # ${sequence}\n`).join('')}payload()\n`,
  marks: [...new Set(SEQUENCES.flatMap(([, sequence]) => [...sequence].filter(isControl).map(markOf)))],
  payload: 'payload()',
  threat: 16,
}

function isControl(character: string): boolean {
  return /\p{Cc}/u.test(character)
}

function markOf(character: string): string {
  return `⟦U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`
}

/** All of them, as the body of a plan. */
export const HOSTILE_TEXTS: readonly HostileText[] = [...TROJAN_SOURCE, OBEYED, ...PADDED, ...FORGED]

/**
 * The same in one line, as others name things and themselves: files, titles, kernels, callers, projects, reasons. What
 * begins like a row of ours stands behind whatever may end a row.
 */
export const HOSTILE_NAMES: readonly (readonly [what: string, name: string])[] = [
  ['right to left', `shop/${RLO}yp.nialp`],
  ['without a width', 'sh\u200bop\u200d.py\ufeff\u00ad\u2060'],
  ['in tags and selectors', 'a\u{e0041}\ufe0f\u{e0100}.py'],
  ['with every control', String.fromCodePoint(...range(1, 0x1f), ...range(0x7f, 0x9f))],
  ['with all that a terminal obeys', `a${SEQUENCES.map(([, sequence]) => sequence).join('')}z.py`],
  ...['\n', '\r', '\r\n', '\u2028', '\u2029', '\u0085', '\v', '\f'].map(
    end =>
      [
        `over rows, by ${[...end].map(markOf).join('')}`,
        `a.py${FORGED_ROWS.map(row => end + row).join('')}`,
      ] as const,
  ),
  ['half of a character', 'a\ud800b'],
  ['of ten thousand characters', `${FORGERY.repeat(1_250)}.py`],
]

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
