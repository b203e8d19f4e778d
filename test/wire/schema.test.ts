import { Ajv2020 } from 'ajv/dist/2020.js'
import { wireSchema } from '../../docs/pages/wire-schema.ts'
import { LOOK_NAMES } from '../../wire/contract/looks.ts'
import type { LookName } from '../../wire/kernel.ts'
import { readAnnouncements, secretOf } from '../../wire/kernels/programs.ts'
import { openKernel } from '../../wire/link/handshake.ts'
import { connect } from '../../wire/link/transport.ts'
import { textOf as swankText } from '../../wire/swank/connection.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { pythonProgram } from '../support/real-kernels.ts'
import { until } from '../support/rig.ts'
import { openPeer, startSwank } from '../support/swank.ts'

/**
 * What the real peers answer, before our side has read it, against the JSON Schema of the contract: every look that a
 * peer has, and evaluations that end, fail and are suspended. The schema is strict here: a peer of ours sends no field that
 * the contract does not name.
 */
interface Peer {
  readonly abilities: readonly string[]
  call(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown>
  /** Evaluates code; `suspend`: an error suspends it. */
  evaluate(source: string, suspend?: boolean): Promise<unknown>
  close(): void
}

/** How each language writes what is asked about. */
interface Words {
  readonly world: string
  readonly function: string
  readonly class: string
  readonly value: string
  readonly module: string
  readonly raises: string
  readonly half: string
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema({ ...wireSchema({ strict: true }), $id: 'wire' })

/** What of `answer` is not of the shape of that name, a line each. */
function faultsOf(shape: string, answer: unknown): string[] {
  const check = ajv.getSchema(`wire#/$defs/${shape}`)
  if (check === undefined) throw new Error(`there is no shape ${shape}`)
  if (check(answer)) return []
  return (check.errors ?? []).map(({ instancePath, message, params }) =>
    [shape, instancePath, message, JSON.stringify(params)].join(' '),
  )
}

const PYTHON: Words = {
  world:
    'class Shop:\n    """Sells."""\n    rate: int = 2\n    def total(self, order): return order * self.rate\nmine = Shop()\ndef price(order, *, rate=2): return order * rate\n' +
    // What a thread ends with is an error of the program.
    'import threading\nended = threading.Thread(target=price, args=(None,))\nended.start()\nended.join()\n',
  function: 'price',
  class: 'Shop',
  value: 'mine',
  module: 'json',
  raises: 'price(None, rate=None)',
  half: 'pri',
}
const LISP: Words = {
  world:
    '(progn (defclass shop () ((rate :initarg :rate :initform 2 :accessor rate))) (defvar *mine* (make-instance (quote shop))) (defun price (order &key (rate 2)) "Sells." (* order rate)))',
  function: 'price',
  class: 'shop',
  value: '*mine*',
  module: 'asdf',
  raises: '(price nil)',
  half: '(pri',
}

for (const [title, words, open] of [
  ['Python', PYTHON, python],
  ['SBCL', LISP, lisp],
] as const) {
  const test = suite(`what the peer in ${title} answers`)
  const asked = new Set<LookName>()
  let peer: Peer
  test.before(async () => {
    peer = await open()
    assert.equal(faultsOf('evaluated', await peer.evaluate(words.world)), [])
  })
  test.after(() => peer?.close())

  const look = async (name: LookName, query: Readonly<Record<string, unknown>> = {}) => {
    asked.add(name)
    const params = { ...query, deadline_ms: 10_000 }
    assert.equal(faultsOf(`${name}.params`, params), [])
    const answer = await peer.call(name, params)
    assert.equal(faultsOf(`${name}.result`, answer), [], JSON.stringify(answer))
    return answer as { type: string; value?: { id: string; handle?: string; suspensions: { id: string }[] } }
  }
  const found = async (name: LookName, query?: Readonly<Record<string, unknown>>) => {
    const answer = await look(name, query)
    assert.is(answer.type, 'found', `${name}: ${JSON.stringify(answer)}`)
    if (answer.value === undefined) throw new Error(name)
    return answer.value
  }

  test('names, values and activity are of their shapes', async () => {
    await found('globals', { modules: false, limit: 20 })
    if (peer.abilities.includes('scope')) await found('scope', { file: '/nowhere.py' })
    const { handle } = await found('inspect', { expr: words.value })
    assert.equal((await look('more', { handle, from: 0, count: 5 })).type, 'found')
    for (const name of [words.function, words.class]) {
      await found('definition', { name, max_length: 40, contexts: true })
      await found('describe', { name })
      if (peer.abilities.includes('kept_text')) await found('kept_text', { file: name })
      await found('references', { name, limit: 10 })
    }
    await found('arglist', { name: words.function })
    await found('apropos', { pattern: words.function, limit: 10 })
    await found('slots', { name: words.class, limit: 10 })
    await found('hierarchy', { name: words.class, limit: 10 })
    await found('symbols', { module: words.module, internal: true, limit: 10 })
    await found('complete', { text: words.half, cursor: words.half.length, limit: 10 })
    await found('threads', { limit: 20, frames: 10, locals: true })
  })

  test('what is not found, malformed or stale is of its shape', async () => {
    assert.is((await look('describe', { name: `${words.function}x` })).type, 'not_found')
    assert.is((await look('inspect', { expr: ')' })).type, 'malformed')
    assert.is((await look('inspect', { expr: words.raises })).type, 'needs_evaluation')
    assert.is((await look('more', { handle: 'h1@0000', from: 0, count: 1 })).type, 'stale_handle')
  })

  test('errors, suspensions and tracepoints are of their shapes', async () => {
    const raised = await peer.evaluate(words.raises)
    assert.equal(faultsOf('evaluated', raised), [], JSON.stringify(raised))
    await found('last_error')
    if (peer.abilities.includes('errors')) await found('errors', { count: 5 })
    await found('history', { limit: 10 })
    const ended = (await peer.evaluate(words.raises, true)) as { type: string; suspension: { id: string } }
    assert.equal(faultsOf('evaluated', ended), [])
    assert.is(ended.type, 'suspended')
    const { id: suspension } = ended.suspension
    assert.is((await found('suspensions')).suspensions.length, 1)
    await found('suspension', { suspension, from: 0, count: 10 })
    await found('frame', { suspension, frame: 0 })
    await found('theirs')
    assert.is((await look('adopt', { id: 'none' })).type, 'not_found')
    const { id: tracepoint } = await found('trace', {
      name: words.function,
      calls: 5,
      expires_ms: 60_000,
      who: 'test',
    })
    await peer.evaluate(words.raises)
    await found('traces', { tracepoint, from: 1, count: 10 })
    await found('untrace', { tracepoint })
  })

  test('it was asked every look of the contract that it has', () => {
    assert.equal(
      LOOK_NAMES.filter(name => peer.abilities.includes(name) && !asked.has(name)),
      [],
    )
    assert.ok(asked.size > 20)
  })
}

async function python(): Promise<Peer> {
  const { pid, runtimeDir } = await pythonProgram()
  const program = readAnnouncements(runtimeDir).programs.find(one => one.pid === pid)
  if (program === undefined) throw new Error('it has not announced itself')
  assert.is(program.parent, process.pid)
  const { hello, link } = await openKernel({
    transport: await connect(program.address),
    secret: secretOf(program),
    serve: async () => null,
    note: () => {},
  })
  const call: Peer['call'] = (method, params) => link.call(method, params)
  let calls = 0
  return {
    abilities: hello.abilities,
    call,
    evaluate: (source, suspend) =>
      call('evaluate', {
        call: `schema-${++calls}`,
        who: 'test',
        source,
        ...(suspend && { suspend: {} }),
      }),
    close: () => void link.close(),
  }
}

async function lisp(): Promise<Peer> {
  const swank = await startSwank()
  const { peer, heard } = await openPeer(swank)
  let calls = 0
  const { abilities } = (await peer.call('identity', {})) as { abilities: readonly string[] }
  return {
    abilities,
    call: (method, params) => peer.call(method, params as never),
    async evaluate(source, suspend = false) {
      const args = { call: `schema-${++calls}`, who: 'test', work: 'source', source }
      const request = peer.call('evaluate', { ...args, ...(suspend && { suspend: 60_000 }) })
      if (!suspend) return request
      request.catch(() => {})
      // An evaluation that is suspended is told of in a message; its request is answered once it has gone on.
      let outcome: unknown
      await until(() => {
        outcome = heard.map(jsonOf).find(said => said?.call === args.call && said.suspended)?.suspended
        return outcome !== undefined
      }, 'the suspension to be told of')
      return outcome
    },
    close: () => swank.kill(),
  }
}

function jsonOf(message: Sexp): Readonly<Record<string, unknown>> | undefined {
  const json = Array.isArray(message) ? swankText((message as readonly Sexp[])[2]) : ''
  return json.startsWith('{') ? JSON.parse(json) : undefined
}
