import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until, within } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { codeOf } from '../support/watching.ts'

/** What a person is shown of a plan that goes out of date while they look at it. */
const test = suite('plans that go stale before a person', { limitMs: 60_000 })

const SHOP = 'def price(item):\n    return 1\n'
const ELSEWHERE = 'def price(item):\n    return 7\n'
const CAUSE = 'It is out of date: shop.py was changed'

interface Parts {
  readonly rig: Rig
  readonly screen: ScreenOf
  /** A model's edit, which waits for a person. */
  readonly answer: Promise<Envelope>
}

async function withEdit(use: (parts: Parts) => Promise<void>) {
  const rig = openRig({ files: { 'shop.py': SHOP } })
  let screen: ScreenOf | undefined
  try {
    await rig.serve()
    screen = await inConsole(rig)
    const client = await rig.connect({ name: 'a model' })
    const args = { path: 'shop.py', old_str: 'return 1', new_str: 'return 2' }
    const answer = within<Envelope>(client.call({ tool: 'edit_file', args }), 'the answer to an edit')
    await use({ rig, screen, answer })
  } finally {
    screen?.close()
    await rig.close()
  }
}

async function inConsole(rig: Rig) {
  const screen = openScreen(rig, { columns: 160 })
  await screen.shows(/^>>>/m)
  await until(async () => (await rig.imago(['approvals'])).stdout.includes('seat-1'), 'a seat')
  return screen
}

const path = ({ project }: Rig) => join(project, 'shop.py')

/** That the caller is told so, and the file is as somebody else left it. */
async function isStale({ rig, answer }: Parts) {
  const envelope = await answer
  assert.is(codeOf(envelope), 'stale_plan')
  assert.match(JSON.stringify(envelope), 'shop.py was changed')
  assert.is(readFileSync(path(rig), 'utf8'), ELSEWHERE)
}

test('in the console it is said above the line that is being written, with the cause (fault 28)', () =>
  withEdit(async parts => {
    const { rig, screen } = parts
    await screen.shows('1 plan waits')
    screen.type('half')
    await screen.shows('>>> half')
    writeFileSync(path(rig), ELSEWHERE)
    await screen.shows(new RegExp(`^plan-\\w+ ${CAUSE}`, 'm'))
    await screen.shows(/^>>> half$/m)
    await isStale(parts)
  }))

test('on the screen of the console the cause stands in its place, and y answers nothing (fault 28)', () =>
  withEdit(async parts => {
    const { rig, screen } = parts
    await screen.shows('1 plan waits')
    screen.type('\x14')
    await screen.shows(/^ y approve/m)
    writeFileSync(path(rig), ELSEWHERE)
    await screen.shows(CAUSE)
    screen.type('yy')
    await isStale(parts)
  }))
