import { duplexPair } from 'node:stream'
import { z } from 'zod'
import { codecOf } from '../../wire/codec/codec.ts'
import {
  Assembler,
  type Encoding,
  FAILURES,
  FrameDecoder,
  LIMITS,
  parseMessage,
  STREAMS,
} from '../../wire/codec/messages.ts'
import * as shapes from '../../wire/contract/evaluation.ts'
import { LOOK_ANSWERS, LOOK_NAMES, LOOKS } from '../../wire/contract/looks.ts'
import { suspensionEnded } from '../../wire/contract/suspensions.ts'
import { WIRE_ERRORS } from '../../wire/errors.ts'
import { ABILITIES } from '../../wire/kernel.ts'
import {
  acceptClient,
  acceptKernel,
  openClient,
  proofOf,
  readFrame,
  sendFrame,
} from '../../wire/link/handshake.ts'
import { fakeKernelPeer } from '../support/fake-peer.ts'
import { assert, suite } from '../support/harness.ts'
import { filesIn, textOf } from '../support/imports.ts'

const test = suite('docs/wire.md')

const page = textOf('docs/wire.md')

/** A fenced block: the words after the fence, and what is in it. */
interface Block {
  readonly words: string
  readonly text: string
}

/** The bytes of messages stand on a page of their own. */
const both = page + textOf('docs/wire-bytes.md')

const blocks: readonly Block[] = [...both.matchAll(/^```(\S.*)\n([\s\S]*?)^```$/gm)].map(
  ([, words = '', text = '']) => ({
    words,
    text,
  }),
)

/** The bytes of a dump: everything before the column of text. */
const bytesOf = (dump: string) => Buffer.from(dump.replaceAll(/\|.*$/gm, '').replaceAll(/\s/g, ''), 'hex')

const jsonBlocks = (words: string): unknown[] =>
  blocks.filter(one => one.words === words).map(one => JSON.parse(one.text))

const named = (prefix: string) => blocks.filter(one => one.words.startsWith(prefix))

function bodiesOf(frames: Buffer): Buffer[] {
  const bodies: Buffer[] = []
  new FrameDecoder({ limit: LIMITS.frameBytes, take: body => void bodies.push(body) }).push(frames)
  return bodies
}

/** Rows of the table whose head begins with these cells, without the marks around code. */
function table(...head: string[]): string[][] {
  const lines = page.split('\n')
  const start = lines.findIndex(line => line.startsWith(`| ${head.join(' | ')} |`))
  assert.ok(start >= 0, `there is a table ${head.join(', ')}`)
  const length = lines.slice(start).findIndex(line => !line.startsWith('|'))
  return lines.slice(start + 2, start + length).map(line =>
    line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('`', '')),
  )
}

// Bytes

let message: unknown

let shown = 0

for (const { words, text } of blocks) {
  if (words === 'json frame') message = JSON.parse(text)
  const encoding = /^hex (json|msgpack)$/.exec(words)?.[1] as Encoding | undefined
  if (encoding === undefined) continue
  const value = message
  const type = parseMessage(value).type
  test(`the bytes of a ${type} in ${encoding} (${++shown}) are what the codec writes, and read as that message`, () => {
    const frame = bytesOf(text)
    assert.is(codecOf(encoding).frame(value, LIMITS).toString('hex'), frame.toString('hex'))
    assert.equal(
      bodiesOf(frame).map(body => codecOf(encoding).decode(body, LIMITS)),
      [value],
    )
  })
}

test('every type of message has its bytes in both encodings, and the table of messages names them all', () => {
  const types = table('`type`', 'Fields').map(([type]) => type)
  const examples = jsonBlocks('json frame').map(value => parseMessage(value).type)
  assert.equal(
    types.filter(type => !examples.some(one => one === type)),
    ['chunk'],
  )
  for (const type of types) assert.not.match(messageFault({ type }), 'no known type')
  assert.is(named('hex json chunk').length, 2)
})

function messageFault(value: unknown): string {
  try {
    parseMessage(value)
    return ''
  } catch (error) {
    return String(error)
  }
}

for (const encoding of ['json', 'msgpack'] as const)
  test(`the chunks in ${encoding} make the message that the page says they make`, () => {
    const whole = new Assembler({ encoding, messageBytes: LIMITS.messageBytes })
    const frames = Buffer.concat(named(`hex ${encoding} chunk`).map(one => bytesOf(one.text)))
    const bodies = bodiesOf(frames).map(body => {
      const chunk = parseMessage(codecOf(encoding).decode(body, LIMITS))
      return chunk.type === 'chunk' ? whole.add(chunk) : assert.unreachable('not a chunk')
    })
    assert.is(bodies[0], undefined)
    const last = bodies[1] ?? assert.unreachable('the last chunk completes nothing')
    assert.equal(codecOf(encoding).decode(last as Buffer, LIMITS), { type: 'ping', n: 8 })
  })

// Handshake

const VECTORS = table('Secret', "Opener's nonce", "Acceptor's nonce")

test('the proofs of the table are those that the code makes', () => {
  assert.ok(VECTORS.length >= 2)
  for (const [secret = '', opener = '', acceptor = '', ...proofs] of VECTORS) {
    const nonces = { opener, acceptor }
    assert.equal(
      (['opener', 'acceptor'] as const).map(side => proofOf({ secret, side, nonces })),
      proofs,
    )
  }
})

test('the hellos are ones that the code takes, the welcomes are what it says, and the limits those that it keeps', async () => {
  const only = <Frame>(words: string): Frame => {
    const [frame, ...others] = jsonBlocks(`json ${words}`)
    assert.equal(others, [])
    return frame as Frame
  }
  const { creditBytes: credit, chunkBytes: chunk, frameBytes, messageBytes } = LIMITS
  const limits = { credit, chunk, frame: frameBytes, message: messageBytes }
  assert.equal(only('welcome kernel'), { welcome: { encoding: 'msgpack', ...limits } })

  const [daemon, far] = duplexPair()
  const { hello } = only<{ hello: Record<string, unknown> }>('hello kernel')
  const accepted = acceptKernel({ transport: daemon, secret: 'secret' })
  await fakeKernelPeer(far, { secret: 'secret', hello })
  assert.equal((await accepted).hello, hello)
  const abilities = hello.abilities as readonly string[]
  assert.ok(abilities.length > 0 && abilities.every(one => ABILITIES.some(known => known === one)))

  const [server, client] = duplexPair()
  const welcoming = acceptClient({ transport: server, welcome: {}, judge: () => undefined })
  sendFrame(client, only('hello client'))
  assert.equal({ hello: (await welcoming).hello }, only('hello client'))
  for (const words of ['welcome client', 'refused']) {
    const [near, end] = duplexPair()
    const opening = openClient({ transport: near, hello: (await welcoming).hello })
    await readFrame(end, LIMITS.helloFrameBytes)
    const said = only<{ welcome?: unknown; refused?: { code: string; message: string } }>(words)
    sendFrame(end, said)
    const outcome = await opening.then(
      ({ welcome }) => welcome,
      ({ code, message }) => ({ code, message }),
    )
    assert.equal(outcome, said.welcome ?? said.refused)
  }
})

// Methods

const RESULTS: Readonly<Record<string, z.ZodType>> = {
  evaluate: shapes.evaluated,
  ...LOOK_ANSWERS,
  interrupt: shapes.interruptReport,
  status: shapes.kernelStatus,
}

const EXAMPLES: Readonly<Record<string, z.ZodType>> = {
  ...Object.fromEntries(Object.entries(RESULTS).map(([method, shape]) => [`json result ${method}`, shape])),
  'json event evaluate': shapes.evalEvent,
  'json params ask': shapes.askParams,
  'json note suspension': suspensionEnded,
}

for (const [words, shape] of Object.entries(EXAMPLES))
  test(`every \`${words}\` is of the form that the adapter takes, with nothing that it would leave out`, () => {
    const examples = jsonBlocks(words)
    assert.ok(examples.length > 0)
    for (const example of examples) assert.equal(shape.parse(example), example)
  })

test('the table of methods names their abilities, and the params in the examples are those of the table', () => {
  const methods = table('Method', 'Ability', 'Params')
  assert.equal(
    methods.map(([method]) => method),
    ['evaluate', ...Array(8).fill(''), 'recall', ...LOOK_NAMES, 'interrupt', 'status', 'detach', 'stop'],
  )
  const abilities = methods.map(([, ability]) => ability).filter(ability => ability !== '')
  // A row without a method is another way to call the one above it.
  const rowsOf = (wanted: string) => {
    const first = methods.findIndex(([method]) => method === wanted)
    const end = methods.findIndex(([method], index) => index > first && method !== '')
    return first < 0
      ? []
      : methods
          .slice(first, end)
          .map(([, , params = '']) => [...params.matchAll(/\w+/g)].map(([name]) => name))
  }
  for (const ability of abilities) assert.ok(ABILITIES.some(one => one === ability))
  for (const { words, text } of named('json params')) {
    const rows = rowsOf(words.split(' ').at(-1) ?? '')
    const given = Object.keys(JSON.parse(text))
    if (rows.length === 0) continue
    assert.ok(
      rows.some(fields => given.every(name => fields.includes(name))),
      text,
    )
  }
})

test('the params of a look in the table are those of its shape, and its result is named by it', () => {
  const rows = table('Method', 'Ability', 'Params')
  for (const [name, { query }] of Object.entries(LOOKS)) {
    const [, ability, params = ''] = rows.find(([method]) => method === name) ?? []
    assert.is(ability, name)
    const fields = Object.entries(query.shape).map(([field, shape]) =>
      shape.safeParse(undefined).success || shape instanceof z.ZodExactOptional ? `${field}?` : field,
    )
    assert.equal(
      [...params.matchAll(/\w+\??/g)].map(([field]) => field).sort(),
      [...fields, 'deadline_ms'].sort(),
    )
  }
})

// Tables

test('the table of limits has the numbers of the code', () => {
  const numbers = Object.fromEntries(
    table('Limit', 'Value').map(([name = '', value]) => [name, Number(value)]),
  )
  assert.equal(numbers, {
    frame: LIMITS.frameBytes,
    chunk: LIMITS.chunkBytes,
    message: LIMITS.messageBytes,
    credit: LIMITS.creditBytes,
    'challenge frame': LIMITS.handshakeFrameBytes,
    'hello frame': LIMITS.helloFrameBytes,
    handshake: LIMITS.handshakeMs,
    depth: LIMITS.depth,
    items: LIMITS.items,
    streams: STREAMS,
    'pending calls': LIMITS.pendingCalls,
    'unread, high': LIMITS.sendHighBytes,
    'unread, cut': LIMITS.sendCutBytes,
  })
})

test('the failures are those of the code, in its words', () => {
  assert.equal(
    table('Code', 'Meaning'),
    Object.entries(FAILURES).map(([code, meaning]) => [code, meaning]),
  )
})

test('every fault of a link has its row, and no row has a code that does not exist', () => {
  const codes = new Set(table('What is seen', 'Code').map(([, code = '']) => code))
  const processes = ['LINK_REFUSED', 'KERNEL_START_FAILED', 'KERNEL_NOT_FOUND', 'CRASH_LOOP', 'BUSY']
  assert.equal(
    [...codes].sort(),
    Object.keys(WIRE_ERRORS)
      .filter(code => !processes.includes(code))
      .sort(),
  )
})

test('every place of the page that code or the page itself refers to is there', () => {
  const places = new Set([...page.matchAll(/<a id="([\w-]+)">/g)].map(([, place]) => place))
  const sources = filesIn(['wire', 'src', 'tools'], ['.ts', '.py']).map(textOf)
  const wanted = [
    ...sources.flatMap(text => [...text.matchAll(/docs\/wire\.md#([\w-]+)/g)]),
    ...page.matchAll(/\]\(#([\w-]+)\)/g),
  ].map(([, place = '']) => place)
  assert.ok(wanted.length > 20)
  assert.equal(
    wanted.filter(place => !places.has(place)),
    [],
  )
})
