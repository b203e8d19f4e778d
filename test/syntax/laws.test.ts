import fc from 'fast-check'
import type { Call } from '../../src/syntax/syntax.ts'
import { SYNTAXES } from '../../src/syntax/syntaxes.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { callsOf, readCut, reasoningOf, registry, TOOL_NAMES, textOf } from '../support/syntaxes.ts'

const test = suite('laws of text syntaxes')
const numRuns = isLong ? 10_000 : 1_000

const SIGN = '\u{1F6E0}\u{FE0F}'

/** What a syntax means something by, and what a reader of lines may stumble on. */
const MARKS = [
  ...[
    SIGN,
    '\u{1F6E0}',
    '\u{1F51A}',
    `${SIGN}\u{1F51A}`,
    '\u{FE0F}',
    `${SIGN} none ${SIGN}\u{1F51A}`,
    `${SIGN} b:`,
  ],
  ...['\n', '\r', '\r\n', '\u2028', ' ', '\t', '\\', '"', "'", '"""', "'''", '`', '```', '~~~', '> ', '- '],
  ...['<think>', '</think>', '\n</think>\n', '<thinking>', '</thinking>'],
  ...[
    '<function=none>',
    '</function>',
    '<parameter=b>',
    '\n</parameter>\n',
    '\\</parameter>',
    '</parameter>',
  ],
  ...['<tool_call>', '</tool_call>', '<|tool_call_start|>', '<|tool_call_end|>', '<|python_end|>'],
  ...[
    '[',
    ']',
    '(',
    ')',
    '{',
    '}',
    ',',
    ':',
    '=',
    '[none()]',
    'a=',
    'true',
    'None',
    '12',
    '-0',
    '1e5',
    '\\n',
    '\\u0041',
  ],
  ...['x', 'none', 'ü', '\ud83d', '\udee0', '\0', '\u00a0', '__proto__'],
]
const hostile = fc.array(fc.constantFrom(...MARKS), { maxLength: 12 }).map(parts => parts.join(''))
const word = fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 12 }), fc.constantFrom(...MARKS))
const value = fc.oneof(
  { weight: 3, arbitrary: word },
  {
    weight: 1,
    arbitrary: fc
      .jsonValue({ noUnicodeString: false })
      .map(one => JSON.parse(JSON.stringify(one)) as unknown),
  },
)
/** Any value for any parameter; but what is a text is one, as all tools want it. */
const call: fc.Arbitrary<Call> = fc.constantFrom(...TOOL_NAMES).chain(tool =>
  fc.record(
    {
      tool: fc.constant(tool),
      args: fc.record(valuesOf(tool), { requiredKeys: [], noNullPrototype: true }),
    },
    { noNullPrototype: true },
  ),
)
const valuesOf = (tool: string) =>
  Object.fromEntries(
    Object.keys(registry.find(tool)?.parameters.shape ?? {}).map(name => [
      name,
      name === 'count' ? value : word,
    ]),
  )
/** Names that no tool has, and values of no right type. */
const odd: fc.Arbitrary<Call> = fc.record(
  {
    tool: fc.constantFrom(...TOOL_NAMES),
    args: fc.dictionary(
      fc.oneof(
        fc.constantFrom('a', 'b', 'count', 'a=1, b', 'a b', 'x-y', 'True'),
        word,
        fc.stringMatching(/^[a-z_]\w{0,6}$/),
      ),
      value,
      { maxKeys: 4, noNullPrototype: true },
    ),
  },
  { noNullPrototype: true },
)
const cuts = fc.array(fc.nat(400), { maxLength: 30 })
/** Lines that no syntax takes for anything. */
const prose = fc
  .array(fc.constantFrom('so', 'it', 'is', 'ü', 'b', `${SIGN}s`, 'x)', '\r', '"', "'", '\\'), {
    minLength: 1,
    maxLength: 6,
  })
  .map(words => `Well, ${words.join(' ')}\n`)

/** Lines that end no fence of the top level: CommonMark's marks for that are bare, and indented by three blanks at most. */
const nested = fc.array(
  fc.oneof(
    fc
      .tuple(
        fc.constantFrom('    ', '\t', '      ', '> ', '>', ' > > ', '- ', '* ', '1. ', '- > '),
        fc.constantFrom('```', '`````', '~~~', '~~~~~', '```js', 'x', ''),
      )
      .map(([within, mark]) => within + mark),
    fc.constantFrom('```python', '  ```js', '~~~ x', '``', '~~', '', 'x', '  x', '```a`b'),
  ),
  { maxLength: 8 },
)

/** What in a text that is not escaped can end a string or a bracket around it. */
const slip = fc.constantFrom(
  'text',
  "it's",
  'a 5" pipe',
  '"',
  "'",
  ')]',
  '}',
  '{"',
  '[x](y)',
  '```',
  '',
  ' \\',
)
const unescaped = {
  emoji: (body: string) => `${SIGN} body x\n${body}\n${SIGN}\u{1F51A}\n`,
  hermes: (body: string) =>
    `<tool_call>\n{"name":"body","arguments":{"a":"x","b":"${body}"}}\n</tool_call>\n`,
  pythonic: (body: string) => `[body(a="x", b="${body}")]\n`,
  'qwen3-xml': (body: string) =>
    '<tool_call>\n<function=body>\n<parameter=a>\nx\n</parameter>\n' +
    `<parameter=b>\n${body}\n</parameter>\n</function>\n</tool_call>\n`,
}

/** The arguments as data: in which order they were written is no part of a call. */
const same = (one: readonly Call[], other: readonly Call[], said: string) => assert.equal(one, other, said)

for (const syntax of Object.values(SYNTAXES)) {
  const render = (one: Call) => syntax.renderCall(one, registry)
  const law = <Ts>(name: string, property: fc.IProperty<Ts>) =>
    test(`${syntax.name}: ${name}`, () => fc.assert(property, { numRuns }))

  law(
    'what is rendered parses to the same, whatever its arguments hold, under any cut into pieces',
    fc.property(call, cuts, (one, at) => {
      const text = render(one)
      const pieces = readCut(syntax, text, at)
      assert.is(pieces.length, 1, text)
      same(callsOf(pieces), [one], text)
    }),
  )

  law(
    'arguments of any name and value read back as they are, or are refused by a sentence when they are rendered',
    fc.property(odd, one => {
      let text: string
      try {
        text = render(one)
      } catch (error) {
        assert.match((error as Error).message, /^[^\n]+\.$/)
        assert.ok(error instanceof TypeError && syntax.name !== 'hermes')
        return
      }
      same(callsOf(readCut(syntax, text)), [one], text)
    }),
  )

  law(
    'a call that is cut short never runs, and is told with the place where it begins',
    fc.property(call, prose, fc.double({ min: 0, max: 1, noNaN: true }), cuts, (one, before, share, at) => {
      const text = render(one)
      const cut = text.slice(0, Math.min(text.length - 1, Math.floor(share * text.length)))
      const pieces = readCut(syntax, before + cut, at)
      same(callsOf(pieces), [], cut)
      const [bad, ...others] = pieces.filter(({ type }) => type === 'bad')
      assert.equal(others, [])
      // Less than its name is no call yet.
      if (cut.length > text.indexOf(one.tool) + one.tool.length + 1)
        assert.equal(bad && 'at' in bad && [bad.at, bad.line], [before.length, 2], cut)
    }),
  )

  law(
    'what is fenced, quoted, or part of a sentence never runs',
    fc.property(call, fc.constantFrom('', '> ', '- ', '1. ', '      '), (one, within) => {
      const text = render(one)
      const ticks = '`'.repeat(3 + Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length)))
      const tildes = '~'.repeat(3 + Math.max(0, ...[...text.matchAll(/~+/g)].map(([run]) => run.length)))
      const quoted = (before: string) => text.replaceAll(/^/gm, before)
      for (const sentence of [
        `So:\n${within}${ticks}text\n${text}\n${within}${ticks}\nOr not.\n`,
        `So:\n${within}${tildes}\n${text}\n${within}${tildes}\nOr not.\n`,
        `As it said:\n${quoted('> ')}\n`,
        `\`${text}\`\n`,
        `"${text}"\n`,
      ]) {
        const pieces = readCut(syntax, sentence)
        same(callsOf(pieces), [], sentence)
        // In a list, a mark of a fence may end the fence that is around it. Nothing runs there, but marks are told.
        if (within === '' || !/```|~~~/.test(text)) assert.is(textOf(pieces), sentence)
      }
      assert.equal(callsOf(readCut(syntax, `${text} would do it.\n`)), [], text)
      const [write, bad, ...others] = readCut(syntax, `Write ${text}\n`).filter(
        ({ type }) => type !== 'reasoning',
      )
      assert.ok(bad === undefined || (write?.type === 'text' && bad.type === 'bad' && bad.at === 6), text)
      same(callsOf([...others]), [], text)
      // And the fence ends where it ends.
      const fenced = [ticks, text, ticks].join('\n').replaceAll(/^/gm, within)
      if (!/[-.]/.test(within)) same(callsOf(readCut(syntax, `${fenced}\n${text}\n`)), [one], text)
    }),
  )

  law(
    'no call runs that stands in reasoning, and the one behind it runs, also where the reply begins within reasoning',
    fc.property(
      fc.array(fc.oneof(call.map(render), prose, word), { maxLength: 6 }),
      call,
      fc.constantFrom('think', 'thinking'),
      cuts,
      (thoughts, one, mark, at) => {
        const inner = thoughts.join('\n').replaceAll(/<(\/?)think/g, '<$1thought')
        const behind = `</${mark}>\n\nSo.\n${render(one)}\n`
        const marked = readCut(syntax, `<${mark}>\n${inner}${behind}`, at)
        same(callsOf(marked), [one], inner)
        assert.is(reasoningOf(marked), `<${mark}>\n${inner}</${mark}>\n\n`)
        assert.is(textOf(marked), 'So.\n')
        const open = `<${mark}>\n${inner}\n${render(one).replaceAll('</think', '</thought')}`
        same(callsOf(readCut(syntax, open, at)), [], open)
        // A fence or a call that is open there may keep what follows from running.
        const ran = callsOf(readCut(syntax, `${inner}\n${behind}`, at))
        if (ran.length > 0) same(ran, [one], inner)
        const plain = thoughts.length === 0 ? '' : `Well.\n${render(one)}\n`
        const begun = readCut(syntax, plain + behind, at)
        same(callsOf(begun), [one], plain)
        assert.is(reasoningOf(begun), `${plain}</${mark}>\n\n`)
      },
    ),
  )

  law(
    'what stands in a fence does not run, whatever marks of fences stand before it, in quotations and lists too',
    fc.property(call, fc.constantFrom('```', '~~~~'), nested, nested, (one, sign, before, after) => {
      const text = [`${sign}markdown`, ...before, '', '[none()]', render(one), ...after].join('\n')
      same(callsOf(readCut(syntax, text)), [], text)
    }),
  )

  law(
    'a call that quotes calls runs alone, or not at all',
    fc.property(call, call, (outer, inner) => {
      const quoting = {
        tool: 'body',
        args: { a: 'x', b: `${render(outer)}\n${render(inner)}\n${render(inner)}` },
      }
      same(callsOf(readCut(syntax, render(quoting))), [quoting], 'rendered')
      // As a model writes it that escapes nothing.
      const raw = unescaped[syntax.name](
        ['emoji', 'qwen3-xml'].includes(syntax.name)
          ? quoting.args.b
          : quoting.args.b.replaceAll(/["\\]/g, '\\$&'),
      )
      const ran = callsOf(readCut(syntax, raw))
      assert.ok(ran.length === 0 || (ran.length === 1 && ran[0]?.tool === 'body'), JSON.stringify(ran))
    }),
  )

  law(
    'where a call could not be read since a text in it was not escaped, nothing that the text quotes runs',
    fc.property(fc.array(fc.oneof(call.map(render), slip), { maxLength: 8 }), cuts, (lines, at) => {
      const text = unescaped[syntax.name](lines.join('\n'))
      const pieces = readCut(syntax, text, at)
      if (pieces[0]?.type === 'bad') same(callsOf(pieces), [], text)
    }),
  )

  law(
    'an unknown tool takes no other call with it, and the text before, between and after survives',
    fc.property(
      fc.array(fc.tuple(prose, call, fc.boolean()), { minLength: 1, maxLength: 5 }),
      prose,
      cuts,
      (parts, after, at) => {
        const text = parts.map(
          ([before, one, known]) => `${before}${render(known ? one : { ...one, tool: 'unknown' })}\n`,
        )
        const pieces = readCut(syntax, text.join('') + after, at)
        same(
          callsOf(pieces),
          parts.flatMap(([, one, known]) => (known ? [one] : [])),
          text.join(''),
        )
        assert.is(textOf(pieces), parts.map(([before]) => before).join('') + after)
        const bad = pieces.flatMap(piece => (piece.type === 'bad' ? [piece.why] : []))
        assert.equal(
          bad,
          parts.flatMap(([, , known]) => (known ? [] : ['There is no tool unknown.'])),
        )
      },
    ),
  )

  law(
    'no text makes it throw, none of it is lost, and how it is cut makes no difference',
    fc.property(
      fc.array(
        fc.oneof(
          word,
          call.map(one => `\n${render(one)}\n`),
          prose,
        ),
        { maxLength: 12 },
      ),
      cuts,
      (parts, at) => {
        const text = parts.join('')
        const whole = readCut(syntax, text)
        const joined = (pieces: typeof whole) =>
          pieces.filter(({ type }) => type === 'call' || type === 'bad')
        assert.equal(joined(readCut(syntax, text, at)), joined(whole))
        assert.is(textOf(readCut(syntax, text, at)), textOf(whole))
        assert.is(reasoningOf(readCut(syntax, text, at)), reasoningOf(whole))
        let from = 0
        for (const piece of whole) {
          if (piece.type === 'text' || piece.type === 'reasoning') {
            assert.ok(text.indexOf(piece.text, from) >= from)
            from = text.indexOf(piece.text, from) + piece.text.length
          } else {
            assert.is(piece.line, text.slice(0, piece.at).split('\n').length)
            if (piece.type === 'bad') assert.is(text.slice(piece.at, piece.at + piece.raw.length), piece.raw)
          }
        }
      },
    ),
  )

  /** What grows without an end, each as a text of about this length. */
  const GROWING: Readonly<Record<string, (length: number) => string>> = {
    'calls in prose': length =>
      'Well.\n'.repeat(length / 12) +
      `${render({ tool: 'body', args: { a: 'x', b: 'y\nz' } })}\n`.repeat(length / 60),
    'calls that are only begun': length =>
      `${render({ tool: 'one', args: { a: 'y' } }).slice(0, -1)}\n`.repeat(length / 30),
    'one long text': length =>
      render({ tool: 'body', args: { a: 'x', b: '\\"\'\u{1F6E0}`'.repeat(length / 8) } }),
    'many lines in a text': length => render({ tool: 'body', args: { a: 'x', b: '"\n'.repeat(length / 3) } }),
    'many arguments in a list': length =>
      render({ tool: 'one', args: { count: Array(length >> 2).fill([1]) } }),
    'marks without an end': length => '<tool_call>"[none(\'"""\\'.repeat(length / 22),
    'tags without an end': length =>
      '<tool_call><function=one><parameter=a><parameter=count>'.repeat(length / 56),
    'arguments on one line': length =>
      `<tool_call><function=one>${'<parameter=a>x</parameter>'.repeat(length / 26)}`,
    'lines of reasoning': length => 'x\n</think>\n<think>\n'.repeat(length / 19),
    'reasoning that ends again and again': length => '`x`</think>`<tool_call>` </think>'.repeat(length / 33),
    'lines of marks': length =>
      `<tool_call>"\n[none(a="\n${SIGN} one "\n${SIGN}\u{1F51A} \n`.repeat(length / 44),
    'one line of signs': length => `${SIGN} one ${'\u{1F6E0}'.repeat(length / 4)}${'"\\'.repeat(length / 4)}`,
    'one line of blanks': length => `${SIGN} one${' '.repeat(length)}x${`\u{1F51A} `.repeat(9)}`,
    'a line of ticks': length => `${'`'.repeat(length / 2)} ${'~'.repeat(length / 2)}`,
    'a line of bullets': length => '- '.repeat(length / 2),
    'lines in a fence that is far indented': length =>
      `${' '.repeat(length / 2)}\`\`\`\n${'x\n'.repeat(length / 4)}`,
    'one call behind the other': length => render({ tool: 'none', args: {} }).repeat(length / 20),
  }
  for (const [what, text] of Object.entries(GROWING))
    test(`${syntax.name}: four times as much of ${what} is four times the work, in one piece and in many`, () => {
      const [short, long] = [text(4_000), text(16_000)]
      for (const step of [Number.POSITIVE_INFINITY, 7]) {
        const ends = (whole: string) =>
          step > whole.length ? [] : [...whole].map((_, index) => index * step)
        const [little, much] = [short, long].map(whole => workOf(() => readCut(syntax, whole, ends(whole))))
        assert.ok((much ?? 0) <= 4.3 * (little ?? 0) + 200, `${little} and ${much} characters looked at`)
        assert.ok((much ?? 0) <= 60 * long.length, `${much} characters looked at, of ${long.length}`)
      }
    })
}

/** How many characters are looked at by patterns and searches while this runs: all that a reader does to find anything. */
function workOf(run: () => unknown): number {
  const { exec } = RegExp.prototype
  const { indexOf } = String.prototype
  let work = 0
  RegExp.prototype.exec = function (this: RegExp, text: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0
    const found = exec.call(this, text)
    const isBound = this.sticky || this.source.startsWith('^')
    work +=
      1 +
      (found !== null ? found.index + found[0].length - from : isBound ? 1 : Math.max(0, text.length - from))
    return found
  }
  String.prototype.indexOf = function (this: string, sought: string, from = 0) {
    const found: number = indexOf.call(this, sought, from)
    work += 1 + (found < 0 ? this.length : found) - from
    return found
  }
  try {
    run()
  } finally {
    RegExp.prototype.exec = exec
    String.prototype.indexOf = indexOf
  }
  return work
}

test('the work that is counted tells a reader that searches from the beginning again and again', () => {
  const again = (text: string) => {
    for (let at = 0; at < text.length; at++) text.slice(0, at).indexOf('\n')
  }
  assert.ok(workOf(() => again('x'.repeat(400))) > 10 * workOf(() => again('x'.repeat(100))))
})
