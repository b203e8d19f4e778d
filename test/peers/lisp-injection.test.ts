import { z } from 'zod'
import { RESERVED_PARAMETERS } from '../../src/registry/registry.ts'
import type { Tool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import type { Envelope } from '../../tools/outcome.ts'
import type { Ability } from '../../wire/kernel.ts'
import { type AttachedLisp, openAttachedLisp } from '../support/attached-lisp.ts'
import { assert, isLong, suite } from '../support/harness.ts'

const test = suite('attacks in what an attached Lisp is told', { limitMs: 60_000 })

let lisp: AttachedLisp
let traces: Traces

test.before(async () => {
  lisp = await openAttachedLisp()
  traces = new Traces(lisp)
  lisp.put('attacked.lisp', '(defun cl-user::attacked () 1)\n')
})
test.after(() => lisp?.close())

/** What any of the texts below does where it is run. */
const RUN = '(setf cl-user::*pwned* t)'

const OUT = '(cl:setf cl-user::*pwned* cl:t)'

/**
 * Texts that become code, or a symbol, for whoever pastes them into a form, reads them, or takes them for a format, a
 * file name with wildcards, or a message of the protocol.
 */
const ATTACKS: readonly string[] = [
  // What the reader runs, and what leads out of a string, a symbol or a list.
  `#.${RUN}`,
  `#.${OUT}`,
  `|a| #.${RUN}`,
  `foo::#.${RUN}`,
  `cl-user::#.${RUN}`,
  `#.${RUN}::foo`,
  `:#.${RUN}`,
  `") ${RUN} ("`,
  `\\") ${RUN} (\\"`,
  `\\\\") ${RUN} ("`,
  `" #.${RUN} "`,
  `")) ${RUN} (("`,
  `) ${RUN} (`,
  `|) ${RUN} (|`,
  `|# ${RUN} #|`,
  `\n;"\n${RUN}\n`,
  `car") (cl:eval (cl:read-from-string "${OUT}`,
  `car ${RUN}`,
  `(setf ${RUN})`,
  `(method ${RUN} (t))`,
  `#'(lambda () ${RUN})`,
  `'${RUN}`,
  `\`(,${RUN})`,
  `\`(,@${RUN})`,
  `#+#.${RUN} a b`,
  `#s(${RUN})`,
  `#S(foo :bar #.${RUN})`,
  `#p"#.${RUN}"`,
  `#*#.${RUN}`,
  `#n#.${RUN}`,
  `@0.0 #.${RUN}`,
  // What it does not run, and must not choke on.
  "'",
  '`',
  ',',
  ',@',
  '"',
  '\\',
  '|',
  '#',
  '(',
  ')',
  '#<unreadable>',
  '#1=(#1#)',
  '#1=#1#',
  '((((((((((((((((((((',
  '::::',
  // What becomes a symbol for whoever reads it.
  'cl-user::never-seen-before-1',
  ':never-seen-before-2',
  'never-seen-before-3',
  '#:never-seen-before-4',
  '|never seen before 5|',
  '(never-seen-before-6 :never-seen-before-7)',
  "'never-seen-before-8",
  'cl-user::|never\\|seen|-9',
  // Swank's own calls and messages.
  'cl:quote',
  '(quote x)',
  `(swank:eval-and-grab-output "${RUN.replaceAll('"', '\\"')}")`,
  `(:emacs-rex (swank:eval-and-grab-output "${RUN}") "COMMON-LISP-USER" t 1)`,
  `000052(:emacs-rex (swank:interactive-eval "${RUN}") nil t 1)`,
  '(:emacs-interrupt t)',
  '(:emacs-return-string 1 1 "x")',
  'ffffff',
  '00000a',
  // Characters.
  `a\n${RUN}`,
  `a\r\n${RUN}`,
  `car\0#.${RUN}`,
  '\0',
  '\u001b]0;x\u0007\u001b[2J',
  '\u202ecar\u2066',
  '\u200bcar',
  '\u{1f600}\u{10ffff}',
  '\ud800',
  'car\udfff',
  '\ufeff\ufffe\uffff',
  'ſ\u0131\u212a',
  // Formats, and file names.
  '~A~S~*~?',
  '~:@(~{~^~}~1000000A~/cl:eval/',
  '~{~:*~}',
  '/tmp/*?[abc].lisp',
  '**/*.lisp',
  '~/x',
  '~root/x',
  '../../etc/passwd',
  'foo;bar:baz',
  'sys:**;*.lisp',
  `${'a/'.repeat(400)}b`,
  // Handles that are none.
  '@',
  '@....',
  '@.1',
  '@abc.',
  '@abc.1e9',
  '@0.00000000000000000000000000001',
  `@zz.1 #.${RUN}`,
  '@ab12.3/4',
  // Length.
  'x'.repeat(100_000),
  `${'('.repeat(50_000)}${')'.repeat(50_000)}`,
  `#.${RUN} `.repeat(3_000),
]

/** In the long run each parameter is given every attack; else every third, and those next to it the others. */
const SHARE = isLong ? 1 : 3

/** Whether a parameter is code that its tool runs, or anything else; `kernel` is that of every tool. */
type Meaning = 'code' | 'data'

/** A tool that texts can be given to: a call of it that is fine, and what each of its parameters with texts is. */
interface Judged {
  readonly args: Readonly<Record<string, unknown>>
  readonly texts: Readonly<Record<string, Meaning>>
  /** Code that is suspended before each call, and nothing else is: what the call is about. */
  readonly suspended?: string
}

const STOPPED = '(restart-case (error "attacked") (attacked (&rest values) values))'

const NAME = { name: 'car' }

const NAMED = { name: 'data', package: 'data' } as const

/** Somebody has looked at each of these. What is missing here, or has gone, fails the tests. */
const JUDGED: Readonly<Record<string, Judged>> = {
  list_globals: { args: {}, texts: { filter: 'data', after: 'data', package: 'data', detail: 'data' } },
  // As `eval_expr` where it may run code, which its level then says; not where it may not.
  inspect: {
    args: { expr: 'car' },
    texts: { file: 'data', expr: 'code', package: 'data', frame: 'data', detail: 'data' },
  },
  symbol_definition: {
    args: { symbols: ['car'] },
    texts: { file: 'data', symbols: 'data', package: 'data', include: 'data' },
  },
  describe_symbol: {
    args: { expr: 'car' },
    texts: { file: 'data', expr: 'data', package: 'data', frame: 'data' },
  },
  function_arglist: {
    args: { expr: 'car' },
    texts: { file: 'data', expr: 'data', package: 'data', frame: 'data' },
  },
  apropos_search: { args: { filter: 'car' }, texts: { filter: 'data', package: 'data', after: 'data' } },
  list_package_symbols: {
    args: { package: 'cl' },
    texts: { package: 'data', filter: 'data', after: 'data' },
  },
  class_slots: { args: { name: 'condition' }, texts: NAMED },
  class_hierarchy: { args: { name: 'condition' }, texts: NAMED },
  who_calls: { args: NAME, texts: NAMED },
  who_references: { args: NAME, texts: { ...NAMED, relation: 'data' } },
  threads: { args: {}, texts: { filter: 'data' } },
  get_last_error: { args: {}, texts: { whose: 'data' } },
  get_repl_history: { args: {}, texts: {} },
  complete: { args: { text: '(ca' }, texts: { file: 'data', text: 'data', package: 'data' } },
  eval_expr: {
    args: { expr: '(+ 1 2)' },
    texts: { expr: 'code', file: 'data', package: 'data', on_error: 'data' },
  },
  compile_form: { args: { expr: '(+ 1 2)' }, texts: { expr: 'code', file: 'data', package: 'data' } },
  macroexpand_form: { args: { expr: '(when 1 2)' }, texts: { expr: 'code', package: 'data' } },
  load_file: { args: { path: 'attacked.lisp' }, texts: { path: 'data', names: 'data' } },
  load_system: { args: { system: 'no-such-system' }, texts: { system: 'data' } },
  run_tests: { args: { target: 'no-such-test' }, texts: { target: 'data', framework: 'data' } },
  debug_state: { args: {}, texts: { suspension: 'data' } },
  debug_frame: { args: {}, texts: { suspension: 'data' } },
  debug_eval: {
    args: { expr: '(+ 1 2)' },
    texts: { suspension: 'data', expr: 'code', on_error: 'data' },
    suspended: STOPPED,
  },
  debug_restart: {
    args: { restart: 'attacked' },
    texts: { suspension: 'data', restart: 'data', value: 'code' },
    suspended: STOPPED,
  },
  trace_function: { args: { name: 'no-such-function' }, texts: { name: 'data', package: 'data' } },
  untrace_function: { args: { tracepoint: 't1@zz' }, texts: { tracepoint: 'data' } },
  trace_calls: { args: {}, texts: { tracepoint: 'data' } },
  read_more: { args: { handle: '@zz.1' }, texts: { handle: 'data' } },
}

/** A parameter whose values are texts, or hold some. */
interface TextParameter {
  /** The tool by its name, or by an older one that presets arguments. */
  readonly tool: string
  readonly name: string
  /** Undefined where nobody has judged it. */
  readonly meaning: Meaning | undefined
  /** The value that has this text in it. */
  holding(text: string): unknown
}

/** All of them that reach an image which can do that much. Throws for a schema that this test does not know. */
function textParameters(abilities: ReadonlySet<Ability>): TextParameter[] {
  return TOOLS.filter(({ needs }) => needs.length > 0 && needs.every(need => abilities.has(need))).flatMap(
    ({ name: own, presets, parameters: { shape } }) =>
      [own, ...Object.keys(presets)].flatMap(tool =>
        Object.entries({ ...shape, ...RESERVED_PARAMETERS.shape })
          .filter(([name]) => presets[tool]?.[name] === undefined)
          .flatMap(([name, schema]) => {
            const holding = holderOf(schema as z.ZodType, `${tool}.${name}`)
            return holding === undefined ? [] : [{ tool, name, meaning: meaningOf(tool, name), holding }]
          }),
      ),
  )
}

/** The tools of such levels that texts can be given to, by all the names that they were judged by. */
const judgedNames = (isMeant: (level: Tool['level']) => boolean): string[] =>
  TOOLS.filter(({ level }) => isMeant(level))
    .flatMap(({ name, presets }) => [name, ...Object.keys(presets)])
    .filter(name => name in JUDGED)

const meaningOf = (tool: string, name: string): Meaning | undefined =>
  name === 'kernel' ? 'data' : JUDGED[tool]?.texts[name]

/** How a text is put into a value of that schema; undefined where none has a place in it. */
function holderOf(schema: z.ZodType, where: string): TextParameter['holding'] | undefined {
  const inner = (of: unknown) => holderOf(of as z.ZodType, where)
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return text => text
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return inner(schema.unwrap())
  // What is made of the text before it is judged is the affair of the schema.
  if (schema instanceof z.ZodPipe) return inner(schema.out)
  if (schema instanceof z.ZodNumber || schema instanceof z.ZodBoolean) return undefined
  if (schema instanceof z.ZodUnion) {
    const holdings = schema.options.map(inner).filter(holding => holding !== undefined)
    if (holdings.length > 1) throw new Error(`${where} has texts in several places of a union`)
    return holdings[0]
  }
  if (schema instanceof z.ZodArray) {
    const holding = inner(schema.element)
    return holding && (text => [holding(text)])
  }
  throw new Error(`${where} has a schema in which nobody has looked for texts: ${schema.def.type}`)
}

/** How an answer may say that it is none. */
const CLEAR = [
  'invalid_args',
  'not_found',
  'needs_evaluation',
  'stale_handle',
  'exception',
  'path_refused',
  'no_such_kernel',
]

/** That it is a result, or a failure that says what is wrong. */
function assertClear(envelope: Envelope, { meaning }: TextParameter, asked: string): void {
  if (envelope.ok) return
  const { code, message, details } = envelope.error
  const said = `${asked} was answered ${JSON.stringify(envelope.error).slice(0, 2_000)}`
  assert.ok(CLEAR.includes(code), said)
  assert.ok(message.length > 10 && message.length < 8_000, said)
  // What is wrong with an argument is said in words of ours; whatever may go wrong in code.
  const raised = details.exception as { type: { name: string } } | undefined
  if (meaning === 'data' && raised !== undefined) assert.is(raised.type.name, 'simple-error', said)
}

/** The parameters that were attacked so far: each has another share of the attacks than the one before it. */
let attacked = 0

/** Calls a tool with the attacks in one parameter; of one caller 32 calls may be under way. */
async function attack(
  lisp: AttachedLisp,
  parameter: TextParameter,
  { atOnce, readOnly = false }: { readonly atOnce: number; readonly readOnly?: boolean },
): Promise<void> {
  const { tool, name, holding } = parameter
  const caller = { readOnlyPromised: readOnly }
  const first = attacked++ % SHARE
  const texts = ATTACKS.filter((_, at) => at % SHARE === first)
  for (let at = 0; at < texts.length; at += atOnce) {
    await prepare(lisp, tool)
    await Promise.all(
      texts.slice(at, at + atOnce).map(async text => {
        const args = { ...JUDGED[tool]?.args, [name]: holding(text) }
        const asked = `${tool} with ${name} ${JSON.stringify(text.slice(0, 100))}`
        assertClear(await lisp.run(tool, args, { caller }), parameter, asked)
      }),
    )
  }
}

/** Has nothing suspended but what calls of that tool are about. */
async function prepare(lisp: AttachedLisp, tool: string): Promise<void> {
  const { suspended } = JUDGED[tool] ?? {}
  if (suspended === undefined) return
  while ((await lisp.run('debug_restart', { leave: true })).ok);
  const stopped = await lisp.run('eval_expr', { expr: suspended })
  assert.ok(!stopped.ok && stopped.error.details.suspension, JSON.stringify(stopped))
}

/** What a person finds in the image that was not there before: that something ran, and symbols. */
class Traces {
  readonly #lisp: AttachedLisp
  #before: readonly string[] = []

  constructor(lisp: AttachedLisp) {
    this.#lisp = lisp
  }

  /** Remembers what is there by now, what it takes to look included. */
  async look(): Promise<void> {
    await this.forget()
    await this.ran()
    await this.#symbols()
    this.#before = await this.#symbols()
  }

  /** Asserts that there is nothing new, and that all was said over one connection, which is well. */
  async none(what: string): Promise<void> {
    assert.is(await this.ran(), false, `${what} has run something`)
    assert.equal(await this.newSymbols(), [], `${what} has left symbols`)
    assert.equal(this.#lisp.news(), [], `${what} broke the connection`)
  }

  async ran(): Promise<boolean> {
    return (await this.#lisp.ask("(boundp 'cl-user::*pwned*)")) !== 'NIL'
  }

  async forget(): Promise<void> {
    await this.#lisp.ask("(makunbound 'cl-user::*pwned*)")
  }

  /** The packages that have more symbols than before, or fewer, with how many. */
  async newSymbols(): Promise<readonly string[]> {
    return (await this.#symbols()).filter(line => !this.#before.includes(line))
  }

  async #symbols(): Promise<readonly string[]> {
    const counted = await this.#lisp.ask(`
      (format nil "~{~A~%~}"
              (loop for package in (list-all-packages)
                    collect (let ((count 0))
                              (do-symbols (symbol package)
                                (when (eq (symbol-package symbol) package) (incf count)))
                              (format nil "~A has ~D symbols" (package-name package) count))))`)
    return counted.replaceAll('"', '').split('\n')
  }
}

const parameters = (tool?: string) =>
  textParameters(lisp.kernel.identity.abilities).filter(one => tool === undefined || one.tool === tool)
const named = (list: ReturnType<typeof parameters>) => list.map(({ tool, name }) => `${tool}.${name}`)

test('each parameter that takes texts, of each tool that a Lisp has, was judged (threat 25)', () => {
  assert.equal(named(parameters().filter(({ meaning }) => meaning === undefined)), [])
  const judged = Object.entries(JUDGED).flatMap(([tool, { texts }]) =>
    Object.keys(texts).map(name => `${tool}.${name}`),
  )
  const known = named(parameters())
  assert.equal(
    judged.filter(one => !known.includes(one)),
    [],
  )
  assert.ok(known.length > 50)
})

test('what runs is seen, and so is a symbol that is made', async () => {
  await traces.look()
  await lisp.ask('(setf cl-user::*pwned* (intern "NEVER SEEN BEFORE" :keyword))')
  assert.is(await traces.ran(), true)
  assert.is((await traces.newSymbols()).length, 1)
  await traces.forget()
  assert.is(await traces.ran(), false)
})

for (const tool of judgedNames(level => level === 'safe'))
  test(`${tool} runs nothing and makes no symbol, whatever text it is given (threat 25)`, async () => {
    await lisp.run(tool, JUDGED[tool]?.args)
    await traces.look()
    for (const parameter of parameters(tool)) {
      await attack(lisp, parameter, { atOnce: 8, readOnly: true })
      await traces.none(`${tool}.${parameter.name}`)
    }
  })

test('inspect evaluates an expression for nobody, whether it was promised that it only reads or not (threat 25)', async () => {
  const expr = '#.(setf cl-user::*pwned* t)'
  for (const readOnlyPromised of [true, false]) {
    const looked = await lisp.run('inspect', { expr }, { caller: { readOnlyPromised } })
    assert.is(looked.ok ? 'done' : looked.error.code, 'needs_evaluation')
  }
  assert.is(await traces.ran(), false)
  assert.equal(
    (await lisp.rig.journal()).filter(({ type }) => type === 'dispatched'),
    [],
  )
})

const running = judgedNames(level => level !== 'safe')

for (const tool of running)
  test(`${tool} runs nothing of what is no code, and makes no symbol of it (threat 25)`, async () => {
    await prepare(lisp, tool)
    await lisp.run(tool, JUDGED[tool]?.args)
    await traces.look()
    for (const parameter of parameters(tool).filter(({ meaning }) => meaning === 'data')) {
      await attack(lisp, parameter, { atOnce: 8 })
      await traces.none(`${tool}.${parameter.name}`)
    }
  })

for (const tool of running.filter(name => Object.values(JUDGED[name]?.texts ?? {}).includes('code')))
  test(`${tool} runs the one parameter that is code, answers whatever it is given, and the image lives on`, async () => {
    const code = parameters(tool).filter(({ meaning }) => meaning === 'code')
    assert.is(code.length, 1)
    for (const parameter of code) {
      await traces.forget()
      await prepare(lisp, tool)
      const text = '#.(setf cl-user::*pwned* t)'
      await lisp.run(tool, { ...JUDGED[tool]?.args, [parameter.name]: parameter.holding(text) })
      assert.is(await traces.ran(), true)
      await attack(lisp, parameter, { atOnce: 1 })
    }
    assert.equal(lisp.news(), [])
    const sum = await lisp.run('eval_expr', { expr: '(+ 1 2)' })
    assert.is(sum.ok && (sum.result as { value_repr: string }).value_repr, '3')
  })
