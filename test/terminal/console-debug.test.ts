import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { LETS_OTHERS_IN, openRig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { openOwner } from '../support/slime-owner.ts'
import { startSwank } from '../support/swank.ts'
import { CTRL_C, CTRL_D } from '../support/terminal.ts'

/** What a person has at the console of what an error has suspended: in a real Python, and in a real Lisp. */
const test = suite('the debugger at the console', { limitMs: 60_000 })

const rig = openRig({ policy: LETS_OTHERS_IN })
test.before(async () => {
  await rig.serve()
  await rig.imago(['call', 'eval_expr', '{"expr":"0"}'])
})
test.after(() => rig.close())

interface AtConsole {
  readonly screen: ScreenOf
  /** Enters a line, and waits until the prompt is that one. */
  enter(line: string, prompt?: string): Promise<void>
}

/** A console that has the seat, with nothing suspended that is known of. */
async function atConsole(use: (parts: AtConsole) => Promise<void>) {
  const client = await rig.connect()
  const sitting = async () => (await client.request('approvals', {})).seats.length
  await until(async () => (await sitting()) === 0, 'no seat')
  const screen = openScreen(rig, { columns: 100, rows: 60 })
  const prompts = () => screen.all().filter(row => /^(\[\d+\] )?>>>/.test(row)).length
  try {
    await screen.shows(/^>>>/m)
    await until(async () => (await sitting()) === 1, 'a seat')
    await use({
      screen,
      async enter(line, prompt = '>>>') {
        const before = prompts()
        screen.type(`${line}\r`)
        const isBack = () => prompts() > before && screen.rows().at(-1) === prompt
        await until(isBack, `${prompt} after ${line}`).catch(error => {
          throw new Error(`${error.message}\n${screen.text()}`)
        })
      },
    })
  } finally {
    screen.close()
    await client.close()
  }
}

/** A model of another program, which has evaluated something that raised. */
async function modelRaises() {
  const client = await rig.connect({ name: 'claude-code', root: rig.folder })
  const args = { expr: 'stock = 0\n1 / stock', on_error: 'suspend', kernel: 'project' }
  const raised = await client.call({ tool: 'eval_expr', args })
  if (raised.ok) throw new Error('it did not raise')
  const { id } = raised.error.details.suspension as { readonly id: string }
  return { client, id }
}

/** How many evaluations are suspended. */
const suspendedNow = async () => {
  const { kernels } = await (await rig.connect()).request('kernels', {})
  return kernels.reduce((sum, { suspended }) => sum + suspended, 0)
}

test('frames of an error are looked at and evaluated in, code runs again once mended, and its calls are taken down', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('def half(x): return 10 / x\r')
    await enter('half(0)')
    assert.match(screen.text(), /ZeroDivisionError: division by zero\nframes kept as s1@\w+ · :debug shows/)
    await enter(':debug')
    await screen.shows(/0: \[RETRY\] Run the same code again/)
    await screen.shows(/^> 0: File .*, in half$/m)
    await enter(':frame')
    await screen.shows(/^ {2}x \(argument\) = 0$/m)
    await enter(':up')
    await screen.shows(/^1: File .*in <module>$/m)
    await enter(':down')
    await enter(':down')
    await screen.shows('That is the innermost frame.')
    await enter(':in nonsense')
    await screen.shows("NameError: name 'nonsense' is not defined")
    assert.is(await suspendedNow(), 1)
    await enter(':in x + 42')
    await screen.shows(/^42$/m)
    await enter('def half(x): return "mended"\r')
    await enter(':resume retry')
    await screen.shows(/:resume retry\n'mended'\n>>>$/)
    await enter(':resume retry')
    await screen.shows('Nothing of this console is suspended.')
    // The next calls of a function are taken down, and no more once the tracepoint is removed.
    await enter('def half(x): return x / 2\r')
    await enter(':trace')
    await screen.shows('Of which function? :trace NAME [COUNT]')
    await enter(':trace half 3')
    const [, id = ''] = /^(t1@\w+) __main__\.half: on, 0 calls of 3 /m.exec(screen.text()) ?? []
    const shown = async (command: string) => {
      await enter(command)
      return screen.text().split(`>>> ${command}\n`).at(-1) ?? ''
    }
    await enter('half(84)')
    assert.match(await shown(':calls'), new RegExp(`^${id} __main__\\.half: on, 1 call of 3 `))
    assert.match(await shown(`:calls ${id}`), /^#1 __main__\.half\(x=84\) → 42\.0, /m)
    assert.match(await shown(':untrace t1'), new RegExp(`^${id} __main__\\.half: removed, 1 call of 3 `))
    await enter('half(86)')
    assert.not.match(await shown(`:calls ${id}`), /x=86/)
  }))

test('code whose stack is held waits at the raise: the prompt says so, and a number takes a restart', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('def half(x): return 10 / x\r')
    await enter(':hold half(0)', '[1] >>>')
    await screen.shows(/^ {2}0: \[CONTINUE\] /m)
    await screen.shows(/^suspended as s\d+@\w+ · :0 takes restart 0, /m)
    await enter('6 * 7', '[1] >>>')
    await screen.shows(/^42$/m)
    await enter(':restart 0', '[1] >>>')
    await screen.shows('There is no kernel 0. :resume 0 takes a restart of that name or number.')
    screen.type(':resume \t')
    await screen.shows(/^continue +retry +abort/im)
    screen.type(CTRL_C)
    assert.is(await suspendedNow(), 1)
    await enter(':0')
    assert.match(screen.text().split(':0\n').at(-1) ?? '', 'ZeroDivisionError')
    assert.is(await suspendedNow(), 0)
  }))

test('where several are suspended, each answer says which was meant, and what is left, which is the newest now', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('def half(x): return 10 / x\r')
    await enter(':hold half(0)', '[1] >>>')
    const [, held = ''] = /^suspended as (s\d+@\w+) · /m.exec(screen.text()) ?? []
    await enter('1 / 0', '[1] >>>')
    await screen.shows(/frames kept as s\d+@\w+ · .*\n?.*:leave\s+drops them. Commands are about it now/)
    await enter(':leave', '[1] >>>')
    await screen.shows(new RegExp(`^s\\d+@\\w+ was given up\\. ${held} is the newest now\\.$`, 'm'))
    await enter(':hold await __import__("asyncio").sleep(half(0))', '[1] >>>')
    await screen.shows('It could not be held alive at the raise')
    await enter(`:debug ${held.split('@')[0]}`, '[1] >>>')
    await enter(':in x + 41', '[1] >>>')
    await screen.shows(new RegExp(`^${held}, frame 0:\n41$`, 'm'))
    for (const [line, said] of [
      [':debug 0 30', 'It is :debug [ID] [FROM]'],
      [':in 9 x', 'Nothing was run. :frame 9 turns to that frame'],
      [':continue', /A restart is\s+taken by :resume NAME\./],
    ] as const) {
      await enter(line, '[1] >>>')
      await screen.shows(said)
    }
    await enter(':leave all')
    await enter(':leave all')
    await screen.shows('Nothing of this console is suspended here.')
    // Of errors at the prompt the frames of the last one are kept, and an exit keeps none.
    for (let number = 0; number < 5; number++) await enter(`1 / 0 # ${number}`)
    await until(async () => (await suspendedNow()) === 1, 'one to be kept')
    screen.type('exit()\r')
    assert.is(await screen.ended, 0)
    assert.not.match(screen.text(), 'Given up, with')
    assert.is(await suspendedNow(), 0)
  }))

test('what a model has suspended is told once, above the line that is written; a person takes it, and puts it before the agents', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('6 * 7')
    screen.type('half typed')
    await screen.shows('>>> half typed')
    const { client, id } = await modelRaises()
    const line = `${id} in project, of claude-code: suspended by ZeroDivisionError: division by zero`
    await screen.shows(new RegExp(`^${line}\n>>> half typed$`, 'm'))
    screen.type(CTRL_C)
    await enter(':suspended')
    await screen.shows(new RegExp(`^${id} +project +frames kept .*claude-code`, 'm'))
    await enter(`:leave ${id.split('@')[0]}`)
    await screen.shows(/^held_by_other: /m)
    await enter(`:take ${id.split('@')[0]}`)
    await screen.shows(`${id} is yours now, for 30 min`)
    await enter(':in stock')
    await screen.shows(/^0$/m)
    const leave = { tool: 'debug_restart', args: { suspension: id, leave: true, kernel: 'project' } }
    const refused = await client.call(leave)
    assert.ok(!refused.ok && refused.error.code === 'held_by_other')
    await enter(`:hand ${id}`)
    await screen.shows(`${id} is before the agents of its project`)
    const codex = await rig.connect({ name: 'codex' })
    assert.ok((await codex.call(leave)).ok)
    await screen.shows(`${id} in project, of claude-code: codex gave it up`)
    const told = screen.all().filter(row => row.startsWith(`${id} in project`))
    assert.is(told.length, 2, told.join('\n'))
    // The journal may be written a moment after what it tells of.
    const whats = [
      'suspended',
      'taken by seat-\\d+',
      'handed to the agents of its project by seat-\\d+',
      'left by codex',
    ]
    const lines = whats.map(what => new RegExp(`^[\\d:]{8} ${id} in project, of claude-code: ${what}`, 'm'))
    await until(async () => {
      await enter(':log 20')
      const text = screen.text().split(':log 20\n').at(-1) ?? ''
      return lines.every(line => line.test(text))
    }, 'all of it in the log')
  }))

test('a console that is left gives up what waits for it, and puts what it took before the agents', () =>
  atConsole(async ({ screen, enter }) => {
    const { id } = await modelRaises()
    await screen.shows(`${id} in project`)
    await enter(`:take ${id}`)
    await enter(':hold 1 / 0', '[1] >>>')
    screen.type(CTRL_D)
    assert.is(await screen.ended, 0)
    assert.match(
      screen.text(),
      new RegExp(`Given up, with this console: s\\d+@\\w+\\. Before the agents of the project: ${id}\\.`),
    )
    const { suspensions } = await (await rig.connect()).request('suspensions', {})
    assert.equal(
      suspensions.map(row => [row.id, row.holder]),
      [[id, { type: 'anyone' }]],
    )
    const leave = { tool: 'debug_restart', args: { suspension: id, leave: true, kernel: 'project' } }
    assert.ok((await (await rig.connect({ name: 'codex' })).call(leave)).ok)
  }))

test('an error that a prompt of the person’s own was left with is put before others, and taken', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('import code, threading')
    const source = '{"left": 0}).runsource("1 / left")'
    await enter(`threading.Thread(target=lambda: code.InteractiveInterpreter(${source}).start()`)
    await screen.shows('ZeroDivisionError: division by zero')
    await enter(':theirs')
    await screen.shows(/^e1@\w+ {2}sys\.last_\w+: ZeroDivisionError: division by zero$/m)
    await enter(':adopt e1')
    await screen.shows(/^It is s\d+@\w+ now, before the agents of its project\./m)
    const [, id = ''] = /^It is (s\d+@\w+) now/m.exec(screen.text()) ?? []
    await enter(':suspended')
    await screen.shows(new RegExp(`^${id} .* the agents `, 'm'))
    await enter(':in left + 41')
    await screen.shows(/^41$/m)
    await enter(`:take ${id}`)
    await enter(':suspended')
    await screen.shows(new RegExp(`^${id} .* yours `, 'm'))
    assert.is(screen.all().filter(row => / in project, of /.test(row)).length, 0, screen.text())
    await enter(':leave')
  }))

test('a script that fails leaves nothing suspended, nor does a prompt that can only print lines', async () => {
  const { code, stderr } = await rig.imago([], { input: 'left = 1\nleft / 0\nprint("never")\n' })
  assert.is(code, 1)
  assert.match(stderr, /ZeroDivisionError: division by zero\s*$/)
  assert.is(await suspendedNow(), 0)
  const screen = openScreen(rig, { env: { TERM: 'dumb' } })
  await screen.shows(/^>>>/m)
  screen.type('1 / 0\r')
  await screen.shows(/division by zero\n>>>/)
  assert.is(await suspendedNow(), 0)
  screen.close()
})

test('a command whose code raises ends with 1, leaves nothing, and says in one line how to look at it', async () => {
  const { code, stdout, stderr } = await rig.imago(['call', 'eval_expr', '{"expr":"import nothing_there"}'])
  assert.equal([code, stdout], [1, ''])
  assert.equal(
    stderr
      .trimEnd()
      .replace(/imago-\d+/g, 'imago-N')
      .split('\n'),
    [
      "exception: ModuleNotFoundError: No module named 'nothing_there' (in <module>, <imago-N>:1)",
      'next: get_last_error {"whose":"callers"} shows its frames and locals; ' +
        'on_error: "suspend" keeps such an evaluation open.',
      '    File "<imago-N>", line 1, in <module>',
      '      import nothing_there',
    ],
  )
  assert.not.match((await rig.imago(['kernels'])).stdout, 'suspended')
  const nothing = await rig.imago(['call', 'debug_state'])
  assert.match(nothing.stderr, /^not_found: Nothing is suspended in project\.\nnext: .* on_error "suspend"/)
  const shown = await rig.imago(['call', 'get_last_error', '{"whose":"callers"}'])
  assert.match(shown.stdout, "ModuleNotFoundError: No module named 'nothing_there'")
})

test('a command that asks for it leaves an error suspended, which others count and go on with', async () => {
  const args = '{"expr":"1 / 0","on_error":"suspend"}'
  const json = await rig.imago(['call', 'eval_expr', args, '--json'])
  assert.is(json.code, 1)
  const envelope = onlyEnvelope(json)
  assert.ok(!envelope.ok && envelope.error.code === 'exception')
  const id = String(Reflect.get(Object(envelope.error.details.suspension), 'id'))
  assert.match(envelope.error.next ?? '', id)
  assert.match((await rig.imago(['kernels'])).stdout, 'ready, 1 suspended')
  assert.match((await rig.imago(['call', 'debug_state'])).stdout, `suspended as ${id}`)
  assert.is((await rig.imago(['call', 'debug_restart', '{"leave":true}'])).code, 0)
  const ended = await rig.imago(['call', 'eval_expr', '{"expr":"1 / 0","on_error":"end"}'])
  assert.equal([ended.code, await suspendedNow()], [1, 0])
})

const CHECKED =
  '(defun checked (x) (restart-case (if x (error "no ~a" x) :fine) ' +
  '(use-value (v) :report "Use another value." ' +
  ':interactive (lambda () (format *query-io* "which? ") (list (read *query-io*))) v)))'

test('in Lisp the restarts of an error stand numbered, one is taken with a value, and a frame is called again', async () => {
  // A console speaks to the one kernel that there is.
  await rig.imago(['stop', 'project'])
  const { code, stderr } = await rig.begin(['start', 'lisp']).ended
  assert.is(code, 0, stderr)
  await atConsole(async ({ screen, enter }) => {
    await enter(CHECKED)
    await enter('(* 2 (checked 1))', '[1] >>>')
    await screen.shows(
      /^ {2}Backtrace:\n[\s\S]*\n {2}0: \[USE-VALUE\] Use another value\. \(takes a value\)\nsuspended as/m,
    )
    assert.is(screen.all().filter(row => row.includes('[USE-VALUE]')).length, 1)
    await enter(':0 21')
    await screen.shows(/:0 21\n42\n>>>$/)
    await enter('(* 2 (checked 1))', '[1] >>>')
    screen.type(':resume use-value\r')
    await screen.shows(/^which\?/m)
    screen.type('50\r')
    await screen.shows(/^100\n>>>$/m)
    // A function is mended while its call waits, and its frame called again goes on with the new one.
    await enter('(defun price (x) (declare (optimize debug)) (/ 84 x))')
    await enter('(list (price 0))', '[1] >>>')
    await enter(':debug', '[1] >>>')
    const [, number = ''] = /^ {2}(\d+): \(price 0\)/m.exec(screen.text()) ?? []
    await enter(`:frame ${number}`, '[1] >>>')
    await screen.shows(/^ {2}x \(argument\) = 0$/m)
    await enter(':in (list x x)', '[1] >>>')
    await screen.shows(/^\(0 0\)$/m)
    await enter('(defun price (x) (declare (optimize debug)) (if (zerop x) :free (/ 84 x)))', '[1] >>>')
    await enter(':again')
    await screen.shows(/^\(:free\)\n>>>$/m)
    await enter('(list (price "x"))', '[1] >>>')
    await enter(':debug', '[1] >>>')
    const [, at = ''] = /^ {2}(\d+): \(price "x"\)/m.exec(screen.text()) ?? []
    await enter(`:frame ${at}`, '[1] >>>')
    await enter(':return (* 6 7)')
    await screen.shows(/^\(42\)\n>>>$/m)
    // An error in a frame is only told, or a level deeper on request, and leaving all leaves none.
    await enter('(error "outer")', '[1] >>>')
    await enter(':in (error "only tried")', '[1] >>>')
    await screen.shows(/^ {2}only tried$/m)
    await enter(':hold :in (error "inner")', '[2] >>>')
    await screen.shows(/^suspended as s\d+@\w+, level 2, within s\d+@\w+ ·/m)
    await enter(':leave', '[1] >>>')
    await enter(':hold :in (error "inner")', '[2] >>>')
    await enter(':leave all')
    assert.is(await suspendedNow(), 0)
  })
})

test('an error that waits in one’s own SLIME is listed, put before agents, who need not name it, taken, and goes on from the console', async () => {
  const home = rig.env.HOME ?? ''
  writeFileSync(join(home, '.slime-secret'), 'of a test\n', { mode: 0o600 })
  await rig.imago(['stop', 'lisp'])
  const swank = await startSwank({ home, debugger: true })
  try {
    const owner = await openOwner(swank, 'of a test')
    const { code, stderr } = await rig.imago(['attach', `swank://127.0.0.1:${swank.port}`, '--name', 'tea'])
    assert.is(code, 0, stderr)
    await atConsole(async ({ screen, enter }) => {
      await enter(':theirs')
      await screen.shows('No error waits in a debugger of yours in tea.')
      const form =
        '(restart-case (error "no tea for ~D" 3) (use-value (value) :report "Use another." (* 2 value)))'
      const { answer } = await owner.err(form)
      await enter(':theirs')
      await screen.shows(/^(thread-\d+) {2}thread ".*", in SLIME: .*no tea for/m)
      const [, id = ''] = /^(thread-\d+) {2}/m.exec(screen.text()) ?? []
      await enter(`:adopt ${id}`)
      await screen.shows(/^It is s\d+@\w+ now, before the agents of its project\./m)
      const [, suspension = ''] = /^It is (s\d+@\w+) now/m.exec(screen.text()) ?? []
      const agent = await rig.connect({ name: 'codex' })
      assert.match(JSON.stringify(await agent.call({ tool: 'get_last_error', args: {} })), 'no tea for 3')
      const within = await agent.call({ tool: 'debug_eval', args: { expr: '(+ 40 2)' } })
      assert.match(JSON.stringify(within), `"acted_on":"${suspension}"`)
      await enter(`:take ${suspension}`, '[1] >>>')
      await screen.shows(`${suspension} is yours now`)
      await enter(':0 21')
      assert.match(JSON.stringify(await answer), '=> 42')
      await screen.shows(/^s\d+@\w+ goes on where it was called; what it comes to is shown there\.$/m)
      await enter(':theirs')
      await screen.shows('No error waits in a debugger of yours in tea.')
    })
  } finally {
    swank.kill()
  }
})
