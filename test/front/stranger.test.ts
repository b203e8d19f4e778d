import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** A client in plain Python that knows docs/editor-protocol.md and nothing else: test/support/stranger.py. */
const test = suite('stranger', { limitMs: 60_000 })
const rig = openRig()
const SOURCE = `DISCOUNTS = {'sale': 10}
ORDERS = [{'items': 1, 'discount': 'sale'}, {'items': 2, 'discount': None}]
def total(order):
    price = 500 * order['items']
    return price - price * DISCOUNTS[order['discount']] // 100`
let shop: Program

test.before(async () => {
  await rig.serve()
  shop = await startProgram({
    folder: rig.project,
    runtimeDir: rig.paths.runtimeDir,
    name: 'shop',
    source: SOURCE,
  })
})

test.after(async () => {
  shop.signal('SIGKILL')
  await shop.ended
  await rig.close()
})

/** What it saw. It has no terminal, and an input that nobody writes to. */
async function saw(scene: string) {
  const script = join(PACKAGE_ROOT, 'test/support/stranger.py')
  const stranger = spawn(venvPython, [script, scene], {
    cwd: rig.project,
    env: rig.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [printed, failed] = await Promise.all([text(stranger.stdout), text(stranger.stderr)])
  assert.is(failed, '')
  return JSON.parse(printed)
}

test('it looks, follows what it runs, is asked for input, and misses no row by a break', async () => {
  const { repr, error, ...rest } = await saw('looks')
  assert.match(repr, "'discount': None")
  assert.match(JSON.stringify(error), '"what":"KeyError: None"')
  assert.equal(rest, {
    kernel: 'shop',
    asked: "'Ada'",
    printed: 5 * (400_000 + '\nname? '.length),
    how: ['changes'],
    events: ['call', 'sit', 'subscribe'],
    described: [['anyone'], ['project', 'person', 'model']],
  })
})

test('it sits through itself, takes one hunk of a plan and refuses another, and undoes the change', async () => {
  const { changed, now, ...rest } = await saw('answers')
  assert.match(changed, "'sale': 20")
  assert.match(changed, '500 *')
  assert.match(now, "'sale': 10")
  assert.equal(rest, {
    type: 'seated',
    hunks: [
      ["DISCOUNTS = {'sale': 10}\n", "DISCOUNTS = {'sale': 20}\n"],
      ["    price = 500 * order['items']\n", "    price = 600 * order['items']\n"],
    ],
    unfit: { type: 'unfit', why: 'Not every hunk is decided: hunk 2 is not.' },
    taken: 'taken',
    outcome: 'approved_in_part',
    undone: true,
  })
})

test('it takes a suspended evaluation from its owner, mends a variable, and has it go on', async () => {
  assert.equal(await saw('resumes'), {
    holder: 'you',
    barred: 'held_by_other',
    value: '900',
    news: 'resumed',
    own: true,
  })
})

test('what it does wrong is answered with what to do instead', async () => {
  const { tool, missing, seat, terminal, display, bye } = await saw('errs')
  assert.match(tool.message, 'a tool is run by call.')
  assert.is(missing.message, 'take does not take that. "suspension": It is missing.')
  assert.match(seat.data.next, 'in an editor, with: sit')
  assert.match(terminal.data.next, 'An editor asks with "through".')
  assert.is(display.code, 'no_such_display')
  assert.equal([bye.type, bye.code], ['bye', 'FRAME_MALFORMED'])
})
