import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until, within } from '../support/rig.ts'
import { openScreen, type ScreenOf, sharedConsole } from '../support/screen.ts'

/** The console has a seat: what waits is said there, and answered without losing the line that is being written. */
const test = suite('approvals in the console', { limitMs: 60_000 })

const CTRL_T = '\x14'
const SHOP = 'def price(item):\n    return 1\n'

const rig = openRig({ files: { 'shop.py': SHOP } })
test.before(async () => void (await rig.serve()))
/** A console that has a seat, which each test takes over from the one before. */
const consoles = sharedConsole(async () => {
  const screen = await openSeated(rig)
  return { screen, close: () => screen.close() }
})

async function openSeated(on: Rig) {
  const screen = openScreen(on)
  await screen.shows(/^>>>/m)
  await until(async () => (await looks(on)).seats.length === 1, 'a seat')
  return screen
}

test.after(async () => {
  await consoles.close()
  await rig.close()
})

const withConsole = (use: (screen: ScreenOf) => Promise<void>) =>
  consoles.use({}, async ({ screen }) => {
    writeFileSync(join(rig.project, 'shop.py'), SHOP)
    rmSync(join(rig.project, 'other.py'), { force: true })
    await use(screen)
  })

/** A model's edit of the shop, which waits for a person. */
async function proposes({ path = 'shop.py', signal }: { path?: string; signal?: AbortSignal } = {}) {
  const client = await rig.connect({ name: 'a model' })
  const args =
    path === 'shop.py' ? { path, old_str: 'return 1', new_str: 'return 2' } : { path, content: 'x = 1\n' }
  const call = { tool: path === 'shop.py' ? 'edit_file' : 'write_file', args }
  return within<Envelope>(client.call({ ...call, ...(signal && { signal }) }), 'the answer to an edit')
}

/** What is known of seats and plans. */
const looks = async (on = rig) => {
  const client = await on.connect()
  return client.request('approvals', {}).finally(() => client.close())
}
const waiting = async () => (await looks()).approvals.length
const shop = ({ project }: Rig) => readFileSync(join(project, 'shop.py'), 'utf8')

/** That the desk is shown, and that keys answer it by now. */
const READY = /^ y approve/m

test('half a line is typed, a plan arrives, is looked at and is answered, and the half line still runs', () =>
  withConsole(async screen => {
    screen.type('first = 1\r')
    await screen.shows(/^>>>$/m)
    screen.type('40 +')
    await screen.shows('>>> 40 +')
    const answer = proposes()
    await screen.shows('1 plan waits: Edit shop.py, for a model · Ctrl-T answers')
    assert.is(screen.rows().at(-1), '>>> 40 +')
    screen.type('\x1b[D\x1b[D')
    await until(() => screen.cursor().column === 6, 'the cursor to go back')
    const before = screen.all()
    screen.type(CTRL_T)
    await screen.shows(READY)
    screen.type('q')
    await screen.shows(/^>>> 40 \+$/m)
    await until(() => screen.cursor().column === 6, 'the cursor where it was')
    assert.is(await waiting(), 1)
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
    await until(() => screen.cursor().column === 6, 'the cursor where it was')
    screen.type('\x05 2\r')
    await screen.shows(/^42$/m)
    screen.type('fir\x1b[A')
    await screen.shows(/^>>> first = 1$/m)
  }))

test('nothing that was typed or pasted before a plan is shown approves it', () =>
  withConsole(async screen => {
    const answer = proposes()
    await screen.shows('1 plan waits')
    // In one piece with the key that shows it, and as a paste at the moment when it is shown.
    screen.type(`${CTRL_T}y`)
    await screen.shows('+    return 2')
    screen.paste('y', 'y')
    await screen.shows(READY)
    assert.is(await waiting(), 1)
    screen.paste('y')
    screen.type('q')
    await screen.shows(/^>>>/m)
    screen.paste('x = "y"', 'y')
    await screen.shows(/^\.\.\. y$/m)
    assert.equal([await waiting(), shop(rig)], [1, SHOP])
    screen.type(`\x03${CTRL_T}`)
    await screen.shows(READY)
    screen.type('n')
    screen.type('not now\r')
    assert.match(JSON.stringify(await answer), /not now/)
    assert.is(shop(rig), SHOP)
  }))

test('a plan that is withdrawn says so below its notice, with the cause; and over it, keys hit nothing else', () =>
  withConsole(async screen => {
    const cancel = [new AbortController(), new AbortController()] as const
    const first = proposes({ signal: cancel[0].signal })
    await screen.shows('1 plan waits')
    screen.type('half')
    cancel[0].abort()
    await first
    await screen.shows(/1 plan waits.*\n+plan-\w+ .*gave up.*: Edit shop.py\n+>>> half$/m)
    const second = proposes({ signal: cancel[1].signal })
    await screen.shows(/gave up[\s\S]*1 plan waits/)
    const third = proposes({ path: 'other.py' })
    await screen.shows('2 plans wait')
    screen.type(CTRL_T)
    await screen.shows(READY)
    await screen.shows('+    return 2')
    cancel[1].abort()
    await second
    await screen.shows('gave up')
    screen.type('yy')
    await screen.shows('gave up')
    assert.is(existsSync(join(rig.project, 'other.py')), false)
    screen.type('\r')
    await screen.shows('+x = 1')
    await screen.shows(READY)
    screen.type('y')
    assert.is((await third).ok, true)
    assert.is(shop(rig), SHOP)
  }))

const OWN_CALL = ':edit_file {"path":"shop.py","old_str":"return 1","new_str":"return 3"}\r'

test('a call of the console itself shows what waits by itself, and goes on with the answer', async () => {
  const hasty = openRig({ files: { 'shop.py': SHOP }, config: '[calls]\npatience_seconds = 1\n' })
  try {
    await hasty.serve()
    const screen = await openSeated(hasty)
    screen.type(OWN_CALL)
    await screen.shows(READY)
    await screen.shows('+    return 3')
    // Beyond the patience of the call, of which nobody hears.
    const client = await hasty.connect()
    const job = () => client.call({ tool: 'job', args: { job: 'job-1' } })
    await until(async () => !JSON.stringify(await job()).includes('not_found'), 'a job that waits')
    screen.type('y')
    await screen.shows(/edited shop.py: 1 line added, 1 removed/)
    assert.is(shop(hasty), SHOP.replace('1', '3'))
    await screen.shows(/^>>>$/m)
    screen.close()
  } finally {
    await hasty.close()
  }
})

test('where something was typed ahead it only says what waits, and Ctrl-C withdraws the call', () =>
  withConsole(async screen => {
    screen.type(`${OWN_CALL}1 + 1`)
    await screen.shows(/plan-\w+ waits for you · Ctrl-T answers/)
    assert.not.match(screen.text(), 'y approve')
    screen.type(CTRL_T)
    await screen.shows(READY)
    screen.type(CTRL_T)
    await screen.shows(/plan-\w+ waits for you/)
    screen.type('\x03')
    await screen.shows(/^withdrawn:/m)
    assert.equal([await waiting(), shop(rig)], [0, SHOP])
  }))

test('resized and stopped while it is shown, the screen is as it should be, and so is the line behind it', () =>
  withConsole(async screen => {
    screen.type('half')
    const answer = proposes()
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
    await screen.resize(80, 24)
    screen.type('\x156 * 7\r')
    await screen.shows(/^42$/m)
  }))

test('somebody else who wants a seat is let in at the console', () =>
  withConsole(async screen => {
    const other = openScreen(rig, { args: ['watch', '--plain'] })
    try {
      await other.shows('Waiting up to a minute to be let in')
      await screen.shows(/^Somebody else wants to approve, too: .* · Ctrl-T answers/m)
      screen.type(CTRL_T)
      await screen.shows('watch --plain')
      await screen.shows(/^ y let it/m)
      screen.type('y')
      await other.shows(/seat-\d+, terminal/)
      await screen.shows(/^>>>/m)
      assert.is((await looks()).seats.length, 2)
    } finally {
      other.close()
    }
    await until(async () => (await looks()).seats.length === 1, 'the seat to end')
  }))

test('where somebody sits a console has no seat, says why when asked, and leaves theirs alone; in a pipe it takes none', () =>
  withConsole(async screen => {
    const other = openScreen(rig, {})
    try {
      await other.shows(/^>>>/m)
      other.type('6 * 7\r')
      await other.shows(/^42$/m)
      assert.not.match(other.text(), 'seat')
      other.type(':approvals\r')
      await other.shows(/There is no seat here: There is a seat already: .*seat-\d/)
      screen.type('\x04')
      assert.is(await screen.ended, 0)
      await until(async () => (await looks()).seats.length === 0, 'no seat')
      const { stdout, code } = await rig.imago([], { input: 'print(6 * 7)\n' })
      assert.equal([stdout.trim(), code, (await looks()).seats], ['42', 0, []])
      other.type(':approvals\r')
      await other.shows('Nothing waits for you')
      assert.is((await looks()).seats.length, 1)
    } finally {
      other.close()
    }
  }))
