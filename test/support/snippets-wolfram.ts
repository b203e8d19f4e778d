import type { Snippets } from './snippets.ts'

/** A text as Wolfram Language writes it. */
const literal = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`

export const WOLFRAM: Snippets = {
  language: 'wolfram',
  qualified: name => name,
  cannot: [
    'reload',
    'compile',
    'expand',
    'system',
    'tests',
    'packages',
    'live_frames',
    'suspend',
    'hold',
    'threads',
    'errors',
    'kept_text',
    'slots',
    'hierarchy',
    'suspensions',
    'suspension',
    'frame',
    'theirs',
    'adopt',
    'trace',
    'untrace',
    'traces',
  ],
  expression: { source: '1 + 2', repr: '3', type: 'Integer' },
  assign: (name, expression) => `${name} = ${expression};`,
  oneMore: name => `${name} + 1`,
  print: (stream, text) => `WriteString[${literal(stream)}, ${literal(`${text}\n`)}];`,
  // Mathics puts quotes around the whole.
  printBelow: text => `Run[${literal(`echo" "${text}`)}];`,
  inOrder: (...sources) => sources.join('\n'),
  raises: {
    source: message => `outer[] := inner[]\ninner[] := Throw[${literal(message)}]\nouter[]`,
    type: 'Throw::nocatch',
    // The stack of what ran is the engine's own: the expression of the text is what is known.
    functions: ['top level'],
  },
  malformed: '1 +',
  forever: 'While[True, Pause[0.01]]',
  readLine: { source: prompt => `InputString[${literal(prompt)}]`, repr: literal },
  longText: { source: length => `StringJoin[Table["x", {${length}}]]`, reprLength: length => length + 2 },
  call: { source: 'Sort[{3, 1, 2}]', repr: '{1, 2, 3}' },
  container: { source: 'Range[1000]', kind: 'sequence', length: 1000 },
  world: {
    source: `
suiteTotal::usage = "suiteTotal[orders, rate] adds up what orders cost."
suiteTotal[orders_List, rate_: 19] := Quotient[Total[orders] * (100 + rate), 100]
suiteReport[orders_] := suiteTotal[orders, 7]
suiteHandlers = {"total" -> suiteTotal};
`,
    function: { name: 'suiteTotal', text: 'Quotient[Total[orders] * (100 + rate), 100]' },
    user: 'suiteReport',
    holder: 'suiteHandlers',
  },
  module: {
    name: 'suiteShop`',
    named: member => `suiteShop\`${member}`,
    unplaced: true,
    into: 'suiteShop`',
    loaded: member => `suiteShop\`${member}`,
    file: 'suiteShop.wl',
    before: `BeginPackage["suiteShop\`"]
fee::usage = "fee[] is what it costs.";
parcel::usage = "parcel[x] holds x.";
Begin["\`Private\`"]
fee[] := 1
hidden[] := 0
parcel[x_] := {x}
End[]
EndPackage[]
`,
    after: `BeginPackage["suiteShop\`"]
fee::usage = "fee[] is what it costs.";
extra::usage = "extra[] comes besides.";
parcel::usage = "parcel[x] holds x.";
Begin["\`Private\`"]
fee[] := 2 + 0
extra[] := 3
parcel[x_] := {x, 4}
End[]
EndPackage[]
`,
    load: folder => `Get[${literal(`${folder}/suiteShop.wl`)}];`,
    offers: 'fee',
    internal: 'Private`hidden',
    comes: 'extra',
    class: 'parcel',
    lives: 'suiteParcel = suiteShop`parcel[1];',
    call: 'suiteShop`fee[]',
    reprs: ['1', '2'],
  },
  waiter: { source: '', thread: '', function: '', seen: false },
}
