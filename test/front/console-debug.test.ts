import type { DaemonClient } from '../../src/front/client.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { CTRL_C, CTRL_D } from '../support/terminal.ts'

/** What a person has at the console of what an error has suspended, in a real Python. */
const test = suite('the debugger at the console', { limitMs: 60_000 })

interface Parts {
  readonly rig: Rig
  readonly screen: ScreenOf
  /** Enters a line, and waits until the prompt is that one. */
  enter(line: string, prompt?: string): Promise<void>
}

/** A daemon, and a console that has a seat. */
async function atConsole(use: (parts: Parts) => Promise<void>) {
  const rig = openRig()
  let screen: ScreenOf | undefined
  try {
    await rig.serve()
    const shown = openScreen(rig, { columns: 100, rows: 60 })
    screen = shown
    await shown.shows(/^>>>/m)
    await until(async () => (await rig.imago(['approvals'])).stdout.includes('seat-1'), 'a seat')
    const prompts = () => shown.all().filter(row => /^(\[\d+\] )?>>>/.test(row)).length
    await use({
      rig,
      screen: shown,
      async enter(line, prompt = '>>>') {
        const before = prompts()
        shown.type(`${line}\r`)
        await until(
          () => prompts() > before && shown.rows().at(-1) === prompt,
          `${prompt} after ${line}: ${shown.text()}`,
        ).catch(error => {
          throw new Error(`${error.message}\n${shown.text()}`)
        })
      },
    })
  } finally {
    screen?.close()
    await rig.close()
  }
}

/** A model of another program, which has evaluated something that raised. */
async function modelRaises(rig: Rig): Promise<{ readonly client: DaemonClient; readonly id: string }> {
  const client = await rig.connect({ name: 'claude-code', root: rig.folder })
  const args = { expr: 'stock = 0\n1 / stock', kernel: 'project' }
  const raised = await client.call({ tool: 'eval_expr', args })
  if (raised.ok) throw new Error('it did not raise')
  const { id } = raised.error.details.suspension as { readonly id: string }
  return { client, id }
}

const suspendedNow = async (rig: Rig) => {
  const { kernels } = await (await rig.connect()).request('kernels', {})
  return kernels.map(({ suspended }) => suspended)
}

test('the frames of an error are kept, looked at, evaluated in, and the code runs again once it is mended', () =>
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
    await enter(':in x + 41')
    await screen.shows(/^41$/m)
    await enter(':in nonsense')
    await screen.shows("NameError: name 'nonsense' is not defined")
    await enter(':in x + 42')
    await screen.shows(/^42$/m)
    await enter('def half(x): return "mended"\r')
    await enter(':resume retry')
    await screen.shows(/:resume retry\n'mended'\n>>>$/)
    await enter(':resume retry')
    await screen.shows('Nothing of this console is suspended.')
  }))

test('the next calls of a function are taken down, shown, and no more once the tracepoint is removed', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('def half(x): return x / 2\r')
    await enter(':trace')
    await screen.shows('Of which function? :trace NAME [COUNT]')
    await enter(':trace half 3')
    const [, id = ''] = /^(t1@\w+) __main__\.half: on, 0 calls of 3 /m.exec(screen.text()) ?? []
    assert.is.not(id, '', screen.text())
    const shown = async (command: string) => {
      await enter(command)
      return screen.text().split(`>>> ${command}\n`).at(-1) ?? ''
    }
    await enter('half(84)')
    assert.match(await shown(':calls'), new RegExp(`^${id} __main__\\.half: on, 1 call of 3 `))
    assert.match(await shown(`:calls ${id}`), /^#1 __main__\.half\(x=84\) → 42\.0, /m)
    assert.match(await shown(':untrace t1'), new RegExp(`^${id} __main__\\.half: removed, 1 call of 3 `))
    await enter('half(86)')
    const after = await shown(`:calls ${id}`)
    assert.match(after, /: removed, 1 call of 3 /)
    assert.match(after, /^#1 __main__\.half\(x=84\)/m)
    assert.not.match(after, /x=86/)
  }))

test('code whose stack is held waits at the raise: its restarts are numbered, the prompt says so, a number takes one', () =>
  atConsole(async ({ screen, enter, rig }) => {
    await enter('def half(x): return 10 / x\r')
    await enter(':hold half(0)', '[1] >>>')
    await screen.shows(/^ {2}0: \[CONTINUE\] /m)
    await screen.shows(/^suspended as s1@\w+ · :0 takes restart 0, /m)
    await enter('6 * 7', '[1] >>>')
    await screen.shows(/^42$/m)
    await enter('1', '[1] >>>')
    assert.equal(await suspendedNow(rig), [1])
    await enter(':restart 0', '[1] >>>')
    await screen.shows('There is no kernel 0. :resume 0 takes a restart of that name or number.')
    screen.type(':resume \t')
    await screen.shows(/^continue +retry +abort/im)
    screen.type(CTRL_C)
    await enter(':0')
    assert.match(screen.text().split(':0\n').at(-1) ?? '', 'ZeroDivisionError')
    assert.equal(await suspendedNow(rig), [0])
    await enter(':hold half(0)', '[1] >>>')
    await enter(':leave')
    assert.equal(await suspendedNow(rig), [0])
  }))

test('where several are suspended, each answer says which was meant, and what is left, which is the newest now', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('def half(x): return 10 / x\r')
    await enter(':hold half(0)', '[1] >>>')
    const [, held = ''] = /^suspended as (s1@\w+) · /m.exec(screen.text()) ?? []
    await enter('1 / 0', '[1] >>>')
    await screen.shows(/frames kept as s2@\w+ · .*\n?.*:leave\s+drops them. Commands are about it now/)
    await enter(':leave', '[1] >>>')
    await screen.shows(new RegExp(`^s2@\\w+ was given up\\. ${held} is the newest now\\.$`, 'm'))
    await enter(':hold await __import__("asyncio").sleep(half(0))', '[1] >>>')
    await screen.shows('It could not be held alive at the raise')
    await enter(':debug s1', '[1] >>>')
    await enter(':in x + 41', '[1] >>>')
    await screen.shows(new RegExp(`^${held}, frame 0:\n41$`, 'm'))
    await enter(':debug 0 30', '[1] >>>')
    await screen.shows('It is :debug [ID] [FROM]')
    await enter(':in 9 x', '[1] >>>')
    await screen.shows('Nothing was run. :frame 9 turns to that frame')
    await enter(':continue', '[1] >>>')
    await screen.shows(/A restart is\s+taken by :resume NAME\./)
    await enter(':leave all')
    await enter(':leave all')
    await screen.shows('Nothing of this console is suspended here.')
  }))

test('what a model has suspended is told once, above the line that is written; a person takes it, and hands it back', () =>
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
    await enter(`:hand ${id} claude-code`)
    await screen.shows(`${id} is before claude-code`)
    assert.ok((await client.call(leave)).ok)
    await screen.shows(`${id} in project, of claude-code: claude-code gave it up`)
    const told = screen.all().filter(row => row.startsWith(`${id} in project`))
    assert.is(told.length, 2, told.join('\n'))
    await enter(':log 20')
    for (const what of [
      'suspended',
      'taken by seat-1',
      'handed to claude-code by seat-1',
      'left by claude-code',
    ])
      await screen.shows(new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${id} in project, of claude-code: ${what}`, 'm'))
  }))

test('what goes on after a restart is interrupted by Ctrl-C, and the image lives on', () =>
  atConsole(async ({ screen, enter }) => {
    await enter('def work(): raise ValueError("later")\r')
    await enter('work()')
    await enter('import time')
    screen.type('def work():\rprint("o" + "n")\rtime.sleep(600)\r\r')
    await screen.shows(/sleep\(600\)\n>>>$/)
    screen.type(':resume retry\r')
    await screen.shows(/^on$/m)
    screen.type(CTRL_C)
    await screen.shows(/on request\. What it did before is done\.\n>>>$/)
    await enter('"al" + "ive"')
    await screen.shows("'alive'")
  }))

test('a console that is left gives up what waits for it, and puts what it took before whoever comes first', () =>
  atConsole(async ({ rig, screen, enter }) => {
    const { client, id } = await modelRaises(rig)
    await screen.shows(`${id} in project`)
    await enter(`:take ${id}`)
    await enter(':hold 1 / 0', '[1] >>>')
    screen.type(CTRL_D)
    assert.is(await screen.ended, 0)
    assert.match(
      screen.text(),
      new RegExp(`Given up, with this console: s\\d+@\\w+\\. Before whoever comes first: ${id}\\.`),
    )
    const { suspensions } = await client.request('suspensions', {})
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
    await screen.shows(/^It is s1@\w+ now, before whoever comes first\./m)
    await enter(':suspended')
    await screen.shows(/^s1@\w+ .* for anyone /m)
    await enter(':in left + 41')
    await screen.shows(/^41$/m)
    await enter(':suspended')
    await screen.shows(/^s1@\w+ .* yours /m)
    assert.is(screen.all().filter(row => / in project, of /.test(row)).length, 0, screen.text())
  }))

test('of errors at the prompt the frames of the last few are kept, and an exit keeps none', () =>
  atConsole(async ({ rig, screen, enter }) => {
    for (let number = 0; number < 5; number++) await enter(`1 / 0 # ${number}`)
    await until(async () => (await suspendedNow(rig))[0] === 3, 'three to be kept')
    screen.type('exit()\r')
    assert.is(await screen.ended, 0)
    assert.not.match(screen.text(), 'Given up')
    assert.equal(await suspendedNow(rig), [0])
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
