import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openDaemon } from '../../src/daemon.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { openClient } from '../../wire/link/handshake.ts'
import { serveBriskly } from '../support/brisk-daemon.ts'
import { assert, suite } from '../support/harness.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts'
import { hello, type RawClient } from '../support/raw-client.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'
import { openScreen } from '../support/screen.ts'
import { APPROVE, codeOf, noSeat, openSeatTerminal, openWatch, seatLines } from '../support/watching.ts'
import { dialWeb, rawOverWeb, webOf } from '../support/web-socket.ts'

/** The client protocol over a WebSocket is that of the Unix socket, for one who is a caller and no person. */
const test = suite('the client protocol over a WebSocket', { limitMs: 120_000 })
const rig = openRig({ config: '[web]\nport = 0\n' })
test.before(async () => {
  await rig.serve()
})
test.after(() => rig.close())

async function greeted(changed: Readonly<Record<string, unknown>> = {}): Promise<RawClient> {
  const client = await rawOverWeb(webOf(rig))
  client.send({ hello: { ...hello(rig.project), ...changed } })
  assert.ok((await client.next())?.welcome)
  return client
}

async function linked(
  encoding: 'json' | 'msgpack',
  changed: Readonly<Record<string, unknown>> = {},
  to: Rig = rig,
) {
  const transport = await dialWeb(webOf(to), encoding)
  const greeting = { ...hello(to.project), encodings: ['json', 'msgpack'], ...changed }
  const serve = () => Promise.resolve({ pid: process.pid })
  return await openClient({ transport, hello: greeting as never, serve })
}

const evaluate = (expr: string, more = {}) => ({ tool: 'eval_expr', args: { expr }, ...more })

for (const encoding of ['json', 'msgpack'] as const)
  test(`imago.v2.${encoding} carries calls, their events, cancels and large answers, and decides over the hello`, async () => {
    const { welcome, link } = await linked(encoding, {
      encodings: [encoding === 'json' ? 'msgpack' : 'json'],
    })
    assert.is(welcome.encoding, encoding)
    const events: unknown[] = []
    const params = evaluate("print('hi'); 6 * 7", { follow: true })
    const answer = await link.call('call', params, { on: event => events.push(event) })
    assert.is((answer as { result: { value_repr: string } }).result.value_repr, '42')
    assert.ok(JSON.stringify(events).includes('hi\\n'))
    const many = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        link.call('check_policy', { tool: 'inspect', args: { expr: `${at}` } }),
      ),
    )
    assert.ok(many.every(one => (one as { ok: boolean }).ok))
    const cancel = new AbortController()
    const began = (event: unknown) => JSON.stringify(event).includes('dispatched') && cancel.abort()
    const cut = await link.call('call', evaluate('while True: pass', { follow: true }), {
      on: began,
      signal: cancel.signal,
    })
    assert.is((cut as { ok: boolean }).ok, false)
    const shown = await link.call('show', {
      tool: 'eval_expr',
      envelope: { ok: true, result: { x: 'ö'.repeat(400_000) } },
    })
    assert.ok((shown as { text: string }).text.length > 0)
    await link.close()
  })

for (const options of [{}, { terminal: true }, { terminal: true, session: '1', role: 'seat' }])
  test(`no seat is had over a WebSocket, and nothing that needs one is done, with ${JSON.stringify(options)} (threat 4) (threat 5)`, async () => {
    const { link } = await linked('json', { options })
    const before = seatLines(rig).length
    const failing = async (method: string, params: unknown) =>
      link.call(method, params).then(
        () => ({ code: 'none', message: '' }),
        error => error.remote,
      )
    for (const wanted of [{}, { through: 'Neovim' }]) {
      const sat = await failing('sit', wanted)
      assert.is(sat.code, 'seat_refused')
      assert.match(sat.message, 'No process can be proved over a WebSocket.')
    }
    const plan = 'plan-abcdefgh'
    for (const [method, params] of [
      ['answer', { plan, hash: '0', decision: 'approve' }],
      ['plan', { plan }],
      ['lift', {}],
      ['acknowledge', {}],
      ['take', { kernel: 'project', suspension: 's1' }],
    ] as const)
      assert.is((await failing(method, params)).code, 'no_seat', method)
    const noted = () =>
      seatLines(rig)
        .slice(before)
        .map(line => JSON.parse(line))
    await until(() => noted().length === 7, 'each of them in the journal')
    for (const { what, who } of noted()) assert.match(`${what} ${who}`, /^refused imago test \(client-\d+\)$/)
    await link.close()
  })

test('100 calls that need approval, and arguments that say they have it, are refused and write nothing (threat 6) (threat 36)', async () => {
  const { link } = await linked('msgpack')
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => {
      const args = { path: `a${at}`, content: 'x', ...(at % 2 === 1 && { approved: true }) }
      return link.call('call', { tool: 'create_file', args })
    }),
  )
  const codes = answers.map(answer => (answer as { error?: { code: string } }).error?.code)
  assert.equal([...new Set(codes)].sort(), ['approval_unavailable', 'busy', 'invalid_args'])
  assert.equal(
    readdirSync(rig.project).filter(name => /^a\d+$/.test(name)),
    [],
  )
  await link.close()
})

test('another project’s plans and kernels are not told over a WebSocket to who says that it is at a terminal', async () => {
  const { link } = await linked('json', { root: rig.folder, options: { terminal: true } })
  const { link: own } = await linked('json')
  await own.call('call', evaluate('1'))
  const listed = (await link.call('kernels', {})) as { kernels: readonly unknown[]; others: boolean }
  assert.equal([listed.kernels, listed.others], [[], true])
  await Promise.all([link.close(), own.close()])
})

test('MCP is refused, with the command that speaks it', async () => {
  const client = await rawOverWeb(webOf(rig))
  client.send({ hello: { ...hello(rig.project), role: 'mcp' } })
  const refused = (await client.next())?.refused as { code: string; message: string }
  assert.is(refused.code, 'invalid_hello')
  assert.match(refused.message, 'imago mcp')
  await client.gone
})

test('another version of the protocol is refused with the versions (fault 33)', async () => {
  const client = await rawOverWeb(webOf(rig))
  client.send({ hello: { ...hello(rig.project), protocol: 99 } })
  assert.match(JSON.stringify(await client.next()), /VERSION_MISMATCH.*protocol 2 /)
  await client.gone
})

test('a call outlives its WebSocket, and the same name again, on another one, joins it (fault 15) (fault 29)', async () => {
  const code = [
    'import pathlib, time',
    'n = globals().get("n", 0) + 1',
    'while not pathlib.Path("go").exists(): time.sleep(.01)',
    'n',
  ]
  const params = evaluate(code.join('\n'), { call: 'web-0001', follow: true })
  const first = await greeted()
  first.send({ type: 'call', id: 1, method: 'call', params })
  await first.find(({ event }) => JSON.stringify(event ?? '').includes('dispatched'))
  first.close()
  const { link } = await linked('msgpack')
  const joined = link.call('call', params)
  writeFileSync(join(rig.project, 'go'), '')
  for (const answer of [await joined, await link.call('call', params)])
    assert.match(JSON.stringify(answer), '"value_repr":"1"')
  await link.close()
})

test('of a hostile plan, path and client over a WebSocket a person sees marks, in the seat, the list and the log (threat 16) (threat 17)', async () => {
  const name = 'evil\u001b[2J\u202Ename\u200b'
  const path = 'sh\u200bop\u202Eyp.py'
  const texts = HOSTILE_TEXTS.filter(({ threat }) => threat === 16 || threat === 17)
  const content = texts.map(({ text }) => text.replaceAll('\0', '')).join('')
  const { screen } = await openWatch(rig, { columns: 200, rows: 200 })
  const { link } = await linked('msgpack', { name })
  const asks = (tool: string) => link.call('call', { tool, args: { path, content } }) as Promise<Envelope>
  assert.is(codeOf(await asks('create_file')), 'path_refused')
  writeFileSync(join(rig.project, path), '')
  const answer = asks('write_file')
  await screen.shows(APPROVE)
  const list = openScreen(rig, { args: ['approvals'], columns: 200 })
  await list.ended
  screen.type('y\n')
  assert.is(codeOf(await answer), 'ok')
  // What was approved is what was sent, with all that nobody sees.
  assert.is(readFileSync(join(rig.project, path), 'utf8'), content)
  const log = openScreen(rig, { args: ['log'], columns: 300, rows: 200 })
  await log.ended

  assert.is(screen.written.split('\x07').length, 2)
  const colour = new RegExp(`${'\x1b'}\\[(?:0|1|2|1;31|1;33)m`, 'g')
  const written = [screen, list, log].map(one => one.written.replace('\x07', '').replace(colour, ''))
  for (const text of written) assert.equal(straysIn(text, /(?!)/g), [])
  const shown = screen.text()
  for (const mark of texts.flatMap(({ marks, payload }) => [...marks, payload]))
    if (mark !== '⟦U+0000⟧') assert.ok(shown.includes(mark), mark)
  assert.match(shown, 'LOOK     Letters of different alphabets that look alike stand in one word')
  for (const { text } of [screen, list]) assert.match(text(), 'Write sh⟦U+200B⟧op⟦U+202E⟧yp.py')
  for (const { text } of [screen, list, log]) assert.match(text(), 'evil�[2J�name�')
  assert.match(log.text(), String.raw`Write sh\u200bop\u202eyp.py`)
  const kept = readFileSync(rig.paths.log, 'utf8')
  for (const unseen of ['\u001b', '\u202E', '\u200b']) assert.not.ok(kept.includes(unseen))
  for (const one of [screen, list, log]) one.close()
  await link.close()
  await noSeat(rig)
})

for (const [what, message] of [
  [
    'depth (threat 32)',
    `{"type":"call","id":1,"method":"status","params":${'['.repeat(100)}${']'.repeat(100)}}`,
  ],
  ['a number that is none', '{"type":"call","id":0,"method":"status","params":{}}'],
  ['a call that counts down', '{"type":"call","id":2,"method":"status","params":{}}{"type":"call","id":1}'],
  ['a type that there is not', '{"type":"sit"}'],
] as const)
  test(`a message of ${what} ends the connection with a word (fault 21)`, async () => {
    const client = await greeted()
    client.send(message)
    const words = await client.lastWords()
    assert.is(words.at(-1)?.type, 'bye', JSON.stringify(words))
  })

test('msgpack that repeats, nests or extends without end is refused before it is built (threat 32)', async () => {
  for (const body of [
    Buffer.alloc(10_000, 0x91),
    Buffer.from('ddffffffff', 'hex'),
    Buffer.from('c9ffffffff01', 'hex'),
    Buffer.from('d47278', 'hex'),
  ]) {
    const transport = await dialWeb(webOf(rig), 'msgpack')
    const { link } = await openClient({
      transport,
      hello: { ...hello(rig.project), encodings: ['msgpack'] } as never,
    })
    transport.web.send(body, { binary: true })
    assert.match(String((await link.closed)?.message), /\((FRAME_MALFORMED|LIMIT_EXCEEDED|MESSAGE_INVALID)\)/)
  }
})

test('a client that never reads is cut off, and others are served meanwhile (fault 23)', async () => {
  const transport = await dialWeb(webOf(rig))
  const { link } = await openClient({ transport, hello: hello(rig.project) as never })
  const gone = new Promise(resolve => transport.web.once('close', resolve))
  transport.web.pause()
  const ask = () => link.call('tools', { profile: 'full', format: 'json' }).catch(() => {})
  await using other = await rig.connect()
  const { clients } = await other.request('status', {})
  await until(async () => {
    for (let count = 0; count < 100; count++) void ask()
    return (await other.request('status', {})).clients < clients
  }, 'the end of who never reads')
  transport.web.resume()
  await gone
})

test('16 who read nothing over WebSockets while a topic that they follow floods cost the daemon little; each gets its answers and the rows then (fault 23)', async () => {
  await using unix = await rig.connect()
  const { pid } = await unix.request('status', {})
  const { link } = await linked('msgpack')
  const prints = [
    'def prints(end):',
    '    for n in range(1500): print("x" * 32_000, flush=True); time.sleep(.001)',
    '    print(end, flush=True)',
  ]
  await link.call('call', evaluate(['import threading, time', ...prints].join('\n')))
  let most = 0
  const floods = async (end: string) => {
    await link.call('call', evaluate(`threading.Thread(target=prints, args=["${end}"]).start()`))
    await until(async () => {
      most = Math.max(most, residentBytes(pid))
      return (await outputOf(link)).includes(end)
    }, 'all to be printed')
  }
  await floods('it is warm')
  const all = await Promise.all(Array.from({ length: 16 }, deaf))
  const before = residentBytes(pid)
  most = 0
  await floods('the last words')
  assert.ok(most - before < 128 * 1024 * 1024, `${most - before} bytes more`)
  for (const { transport, answer, rows } of all) {
    transport.web.resume()
    assert.match(JSON.stringify(await answer), '"value_repr":"42"')
    await until(() => JSON.stringify([...rows.values()]).includes('the last words'), 'the rows as they are')
    transport.destroy()
  }
  await link.close()
})

/** Follows what is printed, asks something, and stops to read. */
async function deaf() {
  const transport = await dialWeb(webOf(rig))
  const { link } = await openClient({ transport, hello: hello(rig.project) as never })
  const rows = new Map<string, unknown>()
  await new Promise<void>(resolve => {
    const on = (event: unknown) => {
      const { snapshot, changes = snapshot ?? [] } = event as Partial<Record<'snapshot' | 'changes', Row[]>>
      if (snapshot !== undefined) rows.clear()
      for (const { key, value } of changes) rows.set(key, value)
      resolve()
    }
    void link.call('subscribe', { topics: ['output'] }, { on }).catch(() => {})
  })
  transport.web.pause()
  return { transport, rows, answer: link.call('call', evaluate('6 * 7')) }
}

/** What the topic has now. */
async function outputOf(link: Awaited<ReturnType<typeof linked>>['link']): Promise<string> {
  const enough = new AbortController()
  let text = ''
  const on = (event: unknown) => {
    text += JSON.stringify(event)
    enough.abort()
  }
  await link.call('subscribe', { topics: ['output'] }, { on, signal: enough.signal })
  return text
}

const residentBytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

test('200 WebSockets at once are each answered', async () => {
  const all = await Promise.all(Array.from({ length: 200 }, () => linked('msgpack')))
  const told = await Promise.all(all.map(({ link }) => link.call('status', {})))
  assert.ok(told.every(one => (one as { clients: number }).clients >= 200))
  await Promise.all(all.map(({ link }) => link.close()))
  await using client = await rig.connect()
  await until(async () => (await client.request('status', {})).clients < 100, 'them to be gone')
})

for (const [file, program] of [
  ['websocket.ts', process.execPath],
  ['websocket.py', venvPython],
] as const)
  test(`examples/${file} is of 40 lines: it evaluates, subscribes, and sees a plan come and go`, async () => {
    const text = readFileSync(join(PACKAGE_ROOT, 'examples', file), 'utf8')
    assert.ok(text.split('\n').length <= 41)
    const [, script = ''] = /(?:node|python) (\S+) \[FILE\]/.exec(text) ?? []
    const usual = mkdtempSync(join(rig.folder, 'xdg-'))
    symlinkSync(rig.paths.runtimeDir, join(usual, 'imago'))
    const env = { ...rig.env, XDG_RUNTIME_DIR: usual }
    const { screen } = await openWatch(rig)
    try {
      for (const words of [[], [rig.paths.web]]) {
        const ran = promisify(execFile)(program, [join(PACKAGE_ROOT, script), ...words], {
          cwd: rig.project,
          env,
        })
        const { stdout } = await ran
        for (const expected of [
          /^waits: .*example-\d+\.txt/m,
          /^ended: .*example-\d+\.txt/m,
          '42',
          'withdrawn',
        ])
          assert.match(stdout, expected)
      }
    } finally {
      screen.close()
      await noSeat(rig)
    }
  })

test('the code of a plan is not looked at over a WebSocket, and the plan goes on waiting (threat 5) (threat 20)', async () => {
  const { screen } = await openWatch(rig)
  const { link } = await linked('json')
  const giveUp = new AbortController()
  const { signal } = giveUp
  try {
    const answers = ['one', 'two'].map(name =>
      link.call('call', { tool: 'create_file', args: { path: name, content: 'x' } }, { signal }),
    )
    await screen.shows(/--code [0-9a-z-]{19}/)
    const code = /--code ([0-9a-z-]{19})/.exec(screen.text())?.[1] ?? ''
    const waits = async () =>
      ((await link.call('approvals', {})) as { approvals: readonly { id: string }[] }).approvals
    await until(async () => (await waits()).length === 2, 'both plans')
    for (const { id } of await waits())
      for (const method of ['approve', 'deny']) {
        const refused = link.call(method, { plan: id, code }).catch(error => error.remote?.code)
        assert.is(await refused, 'seat_refused')
      }
    assert.is((await waits()).length, 2)
    giveUp.abort()
    await Promise.all(answers)
    assert.equal(
      ['one', 'two'].filter(name => existsSync(join(rig.project, name))),
      [],
    )
  } finally {
    screen.close()
    await link.close()
    await noSeat(rig)
  }
})

test('a WebSocket that answers no ping of the protocol is closed (fault 15)', async () => {
  const own = openRig()
  const daemon = await openDaemon({ paths: own.paths, limits: { heartbeatMs: 150 }, webPort: 0 })
  try {
    const frozen = await rawOverWeb(webOf(own))
    frozen.send({ hello: hello(own.project) })
    const words = (await frozen.lastWords()).map(({ type }) => type)
    assert.ok(words.includes('ping'))
    assert.is(words.at(-1), 'bye')
  } finally {
    await daemon.close()
    await own.close()
  }
})

/** Creates a file by a call over a WebSocket; the caller also follows plans, and has the states that it heard of each. */
async function proposing(to: Rig = rig) {
  const { link } = await linked('msgpack', {}, to)
  const states = new Map<string, string[]>()
  const on = (event: unknown) => {
    const { snapshot, changes = snapshot ?? [] } = event as Partial<Record<'snapshot' | 'changes', Row[]>>
    for (const { key, value } of changes)
      if (value !== null) states.set(key, [...(states.get(key) ?? []), value.state])
  }
  void link.call('subscribe', { topics: ['approvals'] }, { on }).catch(() => {})
  const create = async (path: string) =>
    codeOf((await link.call('call', { tool: 'create_file', args: { path, content: 'x' } })) as Envelope)
  return { link, states, create }
}

interface Row {
  readonly key: string
  readonly value: { readonly state: string } | null
}

test('of two seats that answer a plan of a WebSocket at once, yes and no, one counts, and its caller and who follows hear of one end (fault 27)', async () => {
  const { screen } = await openWatch(rig)
  const other = await openSeatTerminal(rig)
  other.type('sit')
  await screen.shows(/wants to approve, too[\s\S]*\[y\]es \[n\]o$/m)
  screen.type('y\n')
  await other.hears('seated')
  const { link, states, create } = await proposing()
  for (const [round, path] of ['first', 'second', 'third'].entries()) {
    const answer = create(path)
    const plans = () =>
      other.told().flatMap(({ plan }) => (plan ? [plan as { id: string; hash: string }] : []))
    await until(() => plans().length > round, 'the plan')
    const { id: plan, hash } = plans()[round] ?? { id: '', hash: '' }
    await screen.shows(new RegExp(`end of ${plan}[^]*\\[q\\]uit \\[\\?\\]$`))
    screen.type('y\n')
    const { answer: said } = await other.says('answer', { plan, hash, decision: 'deny', reason: 'no' })
    const outcome = await answer
    assert.is(outcome, (said as { type: string }).type === 'taken' ? 'denied' : 'ok')
    assert.is(existsSync(join(rig.project, path)), outcome === 'ok')
    await until(() => states.get(plan)?.at(-1) === 'ended', 'the end to be told')
    // Its row is told again once it is known how the call ended.
    assert.match(states.get(plan)?.join(' ') ?? '', /^(waits )+(ended ?)+$/)
  }
  screen.close()
  other.screen.close()
  await link.close()
  await noSeat(rig)
})

test('a plan of a WebSocket whose approver is killed with it open waits for the next one (fault 26)', async () => {
  const seat = await openSeatTerminal(rig)
  await seat.says('sit')
  const { link, states, create } = await proposing()
  const answer = create('left')
  const { plan } = (await seat.hears('type', 'plan')) as { plan: { id: string } }
  process.kill(Number((await seat.hears('ready')).ready), 'SIGKILL')
  await noSeat(rig)
  assert.equal([...new Set(states.get(plan.id))], ['waits'])
  const { screen } = await openWatch(rig)
  await screen.shows(APPROVE)
  screen.type('y\n')
  assert.is(await answer, 'ok')
  assert.is(states.get(plan.id)?.at(-1), 'ended')
  seat.screen.close()
  screen.close()
  await link.close()
  await noSeat(rig)
})

test('an approver that hangs with a plan open loses the seat, and the plan waits for the next one (fault 26)', async () => {
  const own = openRig()
  const daemon = await serveBriskly(own, 500, { web: true })
  try {
    const seat = await openSeatTerminal(own)
    await seat.says('sit')
    const { link, create } = await proposing(own)
    const answer = create('left')
    await seat.hears('type', 'plan')
    const pid = Number((await seat.hears('ready')).ready)
    process.kill(pid, 'SIGSTOP')
    await noSeat(own)
    const { screen } = await openWatch(own)
    await screen.shows(APPROVE)
    screen.type('y\n')
    assert.is(await answer, 'ok')
    process.kill(pid, 'SIGCONT')
    seat.screen.close()
    screen.close()
    await link.close()
  } finally {
    daemon.kill()
    await own.close()
  }
})

test('who follows over a WebSocket and takes no more events loses changes, and gets the rows as they are once it does', async () => {
  const { link } = await linked('msgpack', { name: 'reads' })
  await link.call('call', evaluate('import threading, time, pathlib'))
  const client = await greeted()
  client.send({ type: 'call', id: 1, method: 'subscribe', params: { topics: ['output'] } })
  await client.find(({ event }) => event !== undefined)
  // A control character takes six bytes of JSON.
  const prints = [
    'def prints():',
    '    n = 0',
    "    while not pathlib.Path('read').exists(): n += 1; print(chr(1) * 1000, n, flush=True); time.sleep(.001)",
    "    print('the end', flush=True)",
    'threading.Thread(target=prints).start()',
  ]
  let heard = 0
  const on = (event: unknown) => {
    heard += JSON.stringify(event).length
  }
  void link.call('subscribe', { topics: ['output'] }, { on }).catch(() => {})
  await link.call('call', evaluate(prints.join('\n')))
  await until(() => heard > 3 * 1024 * 1024, 'more than is held for one call')
  client.send({ type: 'credit', id: 1, bytes: 100 * 1024 * 1024 })
  writeFileSync(join(rig.project, 'read'), '')
  // A snapshot of so much comes in chunks, and the last lines in it or after it.
  let late = ''
  await client.find(({ event, data }) => {
    late += data ?? JSON.stringify(event ?? '')
    return late.includes('the end')
  })
  assert.match(late, '"snapshot":')
  client.close()
  await link.close()
})

test('when a daemon is started again under all who are there, each is told, comes back, and follows from a snapshot', async () => {
  const own = openRig()
  const serve = async (port: string) => {
    const begun = own.begin(['serve', '--web', port])
    await begun.says(/WebSockets connect to ws:/)
    return begun
  }
  const following = async (since?: string) => {
    const { link, welcome } = await linked('json', {}, own)
    const event = await new Promise(resolve => {
      const params = { topics: ['kernels'], ...(since && { since }) }
      void link.call('subscribe', params, { on: resolve }).catch(() => {})
    })
    return { link, instance: welcome.instance, event: event as { rev: string; snapshot?: readonly Row[] } }
  }
  try {
    const first = await serve('0')
    const { screen } = await openWatch(own)
    const before = await following()
    await before.link.call('call', evaluate('kept = 1'))
    const unix = await own.connect()
    process.kill(first.child.pid ?? 0, 'SIGKILL')
    await Promise.all([before.link.closed, unix.closed, first.ended])
    assert.is(await screen.ended, 1)
    await serve('0')
    const after = await following(before.event.rev)
    assert.is.not(after.instance, before.instance)
    assert.equal(after.event.snapshot, [])
    const fresh = await after.link.call('call', evaluate('"kept" in globals()'))
    assert.match(JSON.stringify(fresh), '"value_repr":"False"')
    const { screen: again } = await openWatch(own)
    again.close()
    await after.link.close()
  } finally {
    await own.close()
  }
})

test('an editor that was started without PATH is told what it lacks, and keeps nobody else from a kernel', async () => {
  const own = openRig({ config: '[web]\nport = 0\n' })
  try {
    await own.serve()
    const { link } = await linked('json', { env: {} }, own)
    const refused = (await link.call('call', evaluate('6 * 7'))) as Envelope
    assert.is(codeOf(refused), 'kernel_unavailable')
    assert.match(JSON.stringify(refused), /No Python 3\.9 or newer was found/)
    const { stdout } = await own.imago(['eval', '6 * 7'])
    assert.match(stdout, '42')
    assert.match(JSON.stringify(await link.call('call', evaluate('6 * 7'))), '"value_repr":"42"')
    await link.close()
  } finally {
    await own.close()
  }
})
