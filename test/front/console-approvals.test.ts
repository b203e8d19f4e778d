import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until, within } from '../support/rig.ts'
import { openScreen, type ScreenOf, type ScreenOptions, sharedConsole } from '../support/screen.ts'

/** The console has a seat: what waits is said there, and answered without losing the line that is being written. */
const test = suite('approvals in the console', { limitMs: 60_000 })

const CTRL_T = '\x14'
const SHOP = 'def price(item):\n    return 1\n'

/** A daemon, and a console that has a seat; shared where no options are given. */
const consoles = sharedConsole(async ({ config, ...shown }: ScreenOptions & { config?: string }) => {
  const rig = openRig({ files: { 'shop.py': SHOP }, ...(config !== undefined && { config }) })
  await rig.serve()
  const screen = openScreen(rig, shown)
  await screen.shows(/^>>>/m)
  await until(async () => (await waiting(rig)).includes('seat-1'), 'a seat')
  const close = () => {
    screen.close()
    return rig.close()
  }
  return { rig, screen, close }
})
test.after(() => consoles.close())

const withConsole = (
  use: (parts: { readonly rig: Rig; readonly screen: ScreenOf }) => Promise<void>,
  options: ScreenOptions & { config?: string } = {},
) =>
  consoles.use(options, async parts => {
    writeFileSync(join(parts.rig.project, 'shop.py'), SHOP)
    rmSync(join(parts.rig.project, 'other.py'), { force: true })
    await use(parts)
  })

/** A model's edit of the shop, which waits for a person. */
async function proposes(
  rig: Rig,
  { path = 'shop.py', to = 'return 2', as = 'a model', signal }: Proposing = {},
) {
  const client = await rig.connect({ name: as })
  const args = path === 'shop.py' ? { path, old_str: 'return 1', new_str: to } : { path, content: to }
  const call = { tool: path === 'shop.py' ? 'edit_file' : 'write_file', args }
  return within<Envelope>(client.call({ ...call, ...(signal && { signal }) }), 'the answer to an edit')
}

interface Proposing {
  readonly path?: string
  readonly to?: string
  readonly as?: string
  readonly signal?: AbortSignal
}

const shop = ({ project }: Rig) => readFileSync(join(project, 'shop.py'), 'utf8')
const waiting = async (rig: Rig) => (await rig.imago(['approvals'])).stdout

/** That the desk is shown, and that keys answer it by now. */
const READY = /^ y approve/m

test('half a line is typed, a plan arrives and is answered, and the half line is still there and runs', () =>
  withConsole(async ({ rig, screen }) => {
    screen.type('40 +')
    await screen.shows('>>> 40 +')
    const answer = proposes(rig)
    await screen.shows('1 plan waits: Edit shop.py, for a model · Ctrl-T answers')
    assert.is(screen.rows().at(-1), '>>> 40 +')
    const before = screen.all()
    const cursor = screen.cursor()
    screen.type(CTRL_T)
    await screen.shows(READY)
    await screen.shows('+    return 2')
    screen.type('y')
    assert.is((await answer).ok, true)
    await screen.shows(/^plan-\w+ approved: Edit shop.py/m)
    assert.is(shop(rig), SHOP.replace('1', '2'))
    await screen.shows(/^>>> 40 \+$/m)
    // What had been on the screen is there again, and what became of the plan stands above the line.
    assert.equal(screen.all().slice(0, before.length - 1), before.slice(0, -1))
    assert.is(screen.cursor().column, cursor.column)
    screen.type(' 2\r')
    await screen.shows(/^42$/m)
  }))

test('the cursor, a menu and what was entered before are as they were after a look', () =>
  withConsole(async ({ rig, screen }) => {
    screen.type('first = 1\r')
    await screen.shows(/^>>>$/m)
    const answer = proposes(rig)
    await screen.shows('1 plan waits')
    screen.type('prin')
    screen.type('\x1b[D\x1b[D')
    await until(() => screen.cursor().column === 6, 'the cursor to go back')
    screen.type(CTRL_T)
    await screen.shows(READY)
    screen.type('q')
    await screen.shows(/^>>> prin$/m)
    assert.is(screen.cursor().column, 6)
    screen.type('\x05t(')
    await screen.shows(/^>>> print\($/m)
    screen.type('\x15')
    await screen.shows(/^>>>$/m)
    screen.type('\x1b[A')
    await screen.shows(/^>>> first = 1$/m)
    assert.match(await waiting(rig), /^plan-/m)
    screen.type(`${CTRL_T}`)
    await screen.shows(READY)
    screen.type('n')
    screen.type('not now\r')
    const refused = await answer
    assert.match(JSON.stringify(refused), /not now/)
    assert.is(shop(rig), SHOP)
  }))

test('nothing that was typed or pasted before a plan is shown approves it', () =>
  withConsole(async ({ rig, screen }) => {
    const answer = proposes(rig)
    await screen.shows('1 plan waits')
    // In one piece with the key that shows it, and as a paste at the moment when it is shown.
    screen.type(`${CTRL_T}y`)
    await screen.shows('+    return 2')
    screen.paste('y', 'y')
    await screen.shows(READY)
    assert.match(await waiting(rig), /^plan-/m)
    screen.paste('y')
    screen.type('q')
    await screen.shows(/^>>>/m)
    assert.match(await waiting(rig), /^plan-/m)
    screen.paste('x = "y"', 'y')
    await screen.shows(/^\.\.\. y$/m)
    assert.match(await waiting(rig), /^plan-/m)
    assert.is(shop(rig), SHOP)
    screen.type(`\x03${CTRL_T}`)
    await screen.shows(READY)
    screen.type('y')
    assert.is((await answer).ok, true)
  }))

test('a plan that is withdrawn says so below its notice, with the cause', () =>
  withConsole(async ({ rig, screen }) => {
    const cancel = new AbortController()
    const answer = proposes(rig, { signal: cancel.signal })
    await screen.shows('1 plan waits')
    screen.type('half')
    cancel.abort()
    await answer
    await screen.shows(/1 plan waits.*\n+plan-\w+ .*gave up.*: Edit shop.py\n+>>> half$/m)
  }))

test('a plan that is withdrawn while it is looked at can be answered no more, and keys hit nothing else', () =>
  withConsole(async ({ rig, screen }) => {
    const cancel = new AbortController()
    const first = proposes(rig, { signal: cancel.signal })
    await screen.shows('1 plan waits')
    const second = proposes(rig, { path: 'other.py', to: 'x = 1\n' })
    await screen.shows('2 plans wait')
    screen.type(CTRL_T)
    await screen.shows(READY)
    await screen.shows('+    return 2')
    cancel.abort()
    await first
    await screen.shows('gave up')
    screen.type('yy')
    await screen.shows('gave up')
    assert.is(existsSync(join(rig.project, 'other.py')), false)
    screen.type('\r')
    await screen.shows('+x = 1')
    await screen.shows(READY)
    screen.type('y')
    assert.is((await second).ok, true)
    assert.is(shop(rig), SHOP)
  }))

test('a call of the console itself that waits shows what waits by itself, and goes on with the answer', () =>
  withConsole(
    async ({ rig, screen }) => {
      screen.type(':edit_file {"path":"shop.py","old_str":"return 1","new_str":"return 3"}\r')
      await screen.shows(READY)
      await screen.shows('+    return 3')
      // Beyond the patience of the call, of which nobody hears.
      await until(
        async () => (await rig.imago(['call', 'job', '{"job":"job-1"}', '--json'])).code === 5,
        'a job that waits',
      )
      screen.type('y')
      await screen.shows(/edited shop.py: 1 line added, 1 removed/)
      assert.is(shop(rig), SHOP.replace('1', '3'))
      await screen.shows(/^>>>$/m)
    },
    { config: '[calls]\npatience_seconds = 1\n' },
  ))

test('where something was typed ahead it only says what waits, and Ctrl-C withdraws the call', () =>
  withConsole(async ({ rig, screen }) => {
    screen.type(':edit_file {"path":"shop.py","old_str":"return 1","new_str":"return 3"}\r1 + 1')
    await screen.shows(/plan-\w+ waits for you · Ctrl-T answers/)
    assert.not.match(screen.text(), 'y approve')
    screen.type(CTRL_T)
    await screen.shows(READY)
    screen.type(CTRL_T)
    await screen.shows(/plan-\w+ waits for you/)
    screen.type('\x03')
    await screen.shows(/^withdrawn:/m)
    assert.match(await waiting(rig), 'No plan waits')
    assert.is(shop(rig), SHOP)
  }))

const NAMES: readonly (readonly [what: string, name: string, threat: number])[] = [
  ['a name that looks like a notice of ours', `x\r\n1 plan waits: nothing, for you${'x'.repeat(150)}`, 14],
  ['a name that would command the terminal', 'a\x1b]0;owned\x07\x1b[2J\x1b[1;1H\x9b2Jx', 16],
  ['a name that would turn what follows it', 'a\u202egnp.\u2066x\u200bz', 17],
]

for (const [what, name, threat] of NAMES)
  test(`${what} moves nothing, and stays in the one row of its notice (threat ${threat})`, () =>
    withConsole(async ({ rig, screen }) => {
      screen.type('half')
      await screen.shows('>>> half')
      const before = screen.rows()
      const [from] = [screen.written.length]
      const cancel = new AbortController()
      const answer = proposes(rig, { as: name, signal: cancel.signal })
      await screen.shows(/^1 plan waits: .* · Ctrl-T answers$/m)
      const rows = screen.rows()
      assert.equal(rows.slice(0, before.length - 1), before.slice(0, -1))
      assert.is(rows.length, before.length + 1)
      assert.is(rows.at(-1), '>>> half')
      const written = screen.written.slice(from)
      for (const sign of ['\x1b]', '\x1b[2J', '\x1b[1;1H', '\x9b', '\u202e', '\u2066', '\u200b'])
        assert.is(written.includes(sign), false, JSON.stringify(written))
      cancel.abort()
      await answer
    }))

test('resized and suspended while it is shown, the screen is as it should be, and so is the line behind it', () =>
  withConsole(
    async ({ rig, screen }) => {
      screen.type('half')
      const answer = proposes(rig)
      await screen.shows('1 plan waits')
      screen.type(CTRL_T)
      await screen.shows(READY)
      await screen.resize(60, 16)
      await screen.shows(/^ y approve.{0,50}$/m)
      screen.type('\x1a')
      const shown = () => screen.written.split('\x1b[?1049h').length - 1
      await until(() => shown() === 2, 'the desk to be shown again')
      await screen.shows(READY)
      screen.type('y')
      assert.is((await answer).ok, true)
      await screen.shows(/^>>> half$/m)
      screen.type('\x15')
      screen.type('6 * 7\r')
      await screen.shows(/^42$/m)
    },
    { columns: 80 },
  ))

test('somebody else who wants a seat is let in, or turned away, at the console', () =>
  withConsole(async ({ rig, screen }) => {
    const other = openScreen(rig, { args: ['watch', '--plain'] })
    try {
      await other.shows('Waiting up to a minute to be let in')
      await screen.shows(/^Somebody else wants to approve, too: .* · Ctrl-T answers/m)
      screen.type(CTRL_T)
      await screen.shows('watch --plain')
      await screen.shows(/^ y let it/m)
      screen.type('y')
      await other.shows(/seat-2, terminal/)
      await screen.shows(/^>>>/m)
      assert.match(await waiting(rig), /seat-2/)
    } finally {
      other.close()
    }
  }))

test('a console where somebody sits already has no seat, says why when it is asked, and leaves theirs alone', () =>
  withConsole(
    async ({ rig, screen }) => {
      const other = openScreen(rig, {})
      try {
        await other.shows(/^>>>/m)
        other.type('6 * 7\r')
        await other.shows(/^42$/m)
        assert.not.match(other.text(), 'seat')
        other.type(':approvals\r')
        await other.shows(/There is no seat here: There is a seat already: .*seat-1/)
        screen.type('\x04')
        assert.is(await screen.ended, 0)
        await until(async () => (await waiting(rig)).includes('Nobody has a seat'), 'no seat')
        other.type(':approvals\r')
        await other.shows('Nothing waits for you')
        assert.match(await waiting(rig), /seat-2/)
      } finally {
        other.close()
      }
    },
    { columns: 80 },
  ))

test('a console that reads from a pipe takes no seat', async () => {
  const rig = openRig({ files: { 'shop.py': SHOP } })
  try {
    await rig.serve()
    const { stdout, code } = await rig.imago([], { input: 'print(6 * 7)\n' })
    assert.equal([stdout.trim(), code], ['42', 0])
    const log = await rig.imago(['log', '--json'])
    assert.not.match(log.stdout, '"type":"seat"')
  } finally {
    await rig.close()
  }
})
