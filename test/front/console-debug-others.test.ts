import { atConsole, modelRaises, suspendedNow } from '../support/at-console.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { CTRL_C, CTRL_D } from '../support/terminal.ts'

/** What a person has to do there with errors of models, of scripts and of prompts of their own. */
const test = suite('the debugger at the console, with others', { limitMs: 60_000 })

test('what a model has suspended is told once, above the line that is written; a person takes it, and puts it before the agents', () =>
  atConsole(async ({ rig, screen, enter }) => {
    await enter('6 * 7')
    screen.type('half typed')
    await screen.shows('>>> half typed')
    const { client, id } = await modelRaises(rig)
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
      'taken by seat-1',
      'handed to the agents of its project by seat-1',
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
  atConsole(async ({ rig, screen, enter }) => {
    const { id } = await modelRaises(rig)
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
    await screen.shows(/^It is s1@\w+ now, before the agents of its project\./m)
    await enter(':suspended')
    await screen.shows(/^s1@\w+ .* the agents /m)
    await enter(':in left + 41')
    await screen.shows(/^41$/m)
    await enter(':take s1')
    await enter(':suspended')
    await screen.shows(/^s1@\w+ .* yours /m)
    assert.is(screen.all().filter(row => / in project, of /.test(row)).length, 0, screen.text())
  }))

test('a script that fails leaves nothing suspended, nor does a prompt that can only print lines', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const { code, stderr } = await rig.imago([], { input: 'left = 1\nleft / 0\nprint("never")\n' })
    assert.is(code, 1)
    assert.match(stderr, /ZeroDivisionError: division by zero\s*$/)
    assert.equal(await suspendedNow(rig), [0])
    const screen = openScreen(rig, { env: { TERM: 'dumb' } })
    await screen.shows(/^>>>/m)
    screen.type('1 / 0\r')
    await screen.shows(/division by zero\n>>>/)
    assert.equal(await suspendedNow(rig), [0])
    screen.close()
  } finally {
    await rig.close()
  }
})

test('a command whose code raises ends with 1 and names what is suspended, which other commands go on with', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const args = JSON.stringify({ expr: '1 / 0' })
    const failed = await rig.imago(['call', 'eval_expr', args])
    assert.is(failed.code, 1)
    const [, id = ''] = /^next: It is suspended as (s\d+@\w+)\..*debug_restart/m.exec(failed.stderr) ?? []
    assert.match((await rig.imago(['kernels'])).stdout, 'ready, 1 suspended')
    assert.match((await rig.imago(['call', 'debug_state'])).stdout, `suspended as ${id}`)
    const json = await rig.imago(['call', 'eval_expr', args, '--json'])
    assert.is(json.code, 1)
    const envelope = onlyEnvelope(json)
    assert.ok(!envelope.ok && envelope.error.code === 'exception')
    const { suspension } = envelope.error.details
    assert.match(envelope.error.next ?? '', String(Reflect.get(Object(suspension), 'id')))
    for (const _ of [1, 2]) assert.is((await rig.imago(['call', 'debug_restart', '{"leave":true}'])).code, 0)
    assert.equal(await suspendedNow(rig), [0])
    const ended = await rig.imago(['call', 'eval_expr', JSON.stringify({ expr: '1 / 0', on_error: 'end' })])
    assert.is(ended.code, 1)
    assert.equal(await suspendedNow(rig), [0])
  } finally {
    await rig.close()
  }
})
