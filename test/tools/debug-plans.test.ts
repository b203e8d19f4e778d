import { sha256 } from '../../src/sha256.ts'
import type { PlanContext, Planned, Proposal } from '../../tools/contract.ts'
import { debugEval, debugRestart } from '../../tools/debug-act.ts'
import type { Tool } from '../../tools/define.ts'
import { assert, suite } from '../support/harness.ts'
import { context } from './context.ts'
import { FRAMES, type Image, lispImage, RESTARTS, STOPPED } from './suspended-image.ts'

const test = suite('what a person approves of a suspended evaluation')

function planned(tool: Tool, args: object, image: Image): Promise<Planned> {
  const { files, pathOf, kernel, kernelName, leases, lookMs, signal, jobs, others } = context(image.script)
  const given: PlanContext = {
    files,
    pathOf,
    image: {
      ...{ kernel, kernelName, leases, lookMs, signal, jobs, others },
      seen: ({ what, text, moved }) => ({ what, hash: sha256(text), moved }),
    },
  }
  return tool.plan(tool.parameters.parse(args) as Record<string, unknown>, given)
}

async function proposalOf(tool: Tool, args: object, image: Image): Promise<Proposal> {
  const plan = await planned(tool, args, image)
  if (plan.type !== 'proposal') throw new Error(`expected a proposal, got ${JSON.stringify(plan)}`)
  return plan
}

const movedOf = async (plan: Proposal) => (await plan.evidence[0]?.moved()) ?? 'nothing'

test('a restart is shown with its meaning, its value and the error, a frame by what it is, and code to the last character', async () => {
  const code = '(setf n 3)\n;; \\n stays\n'
  const shop = 'frame 1 (shop::ship, /srv/shop.lisp:12)'
  for (const [tool, args, title, body] of [
    [debugEval, { frame: 1, expr: code }, `Run this code in ${shop} of s3@ab12`, code],
    [
      debugRestart,
      { restart: 'use-value', value: '(fallback)' },
      'Resume s3@ab12, which was suspended by simple-error: Cannot ship 3., by the restart use-value',
      'restart 0: [USE-VALUE] Use another value. (takes a value)\nwith the values of this code:\n(fallback)',
    ],
    [
      debugRestart,
      { return_from: 1, value: '7' },
      'Resume',
      `${shop} returns to its caller\nwith the values of this code:\n7`,
    ],
    [
      debugRestart,
      { restart_frame: 2 },
      'Resume',
      'the function of frame 2 (shop::checkout) is called again',
    ],
    [debugRestart, { leave: true }, 'Give up s3@ab12, which was suspended by simple-error', ''],
  ] as const) {
    const { preview } = await proposalOf(tool, args, lispImage())
    assert.ok(preview.title.startsWith(title), preview.title)
    assert.ok(preview.body.includes(body), preview.body)
  }
})

test('a number that has come to mean another restart is out of date, and nothing else is', async () => {
  const image = lispImage()
  const plan = await proposalOf(debugRestart, { restart: '1' }, image)
  assert.is(await movedOf(plan), 'nothing')
  image.suspensions = [{ ...STOPPED, busy: true }]
  assert.is(await movedOf(plan), 'nothing')
  image.restarts = RESTARTS.slice(1)
  assert.match(await movedOf(plan), 'by now it would be: ')
  image.restarts = []
  assert.match(await movedOf(plan), 's3@ab12 has no restart "1"')
})

test('one that has ended, or was handed to another, or is not the newest any more, is out of date', async () => {
  for (const args of [{ restart: '1' }, { leave: true }, { restart_frame: 1 }]) {
    const image = lispImage()
    const plan = await proposalOf(debugRestart, args, image)
    const newer = { ...STOPPED, id: 's4@ab12' }
    image.suspensions = [newer, STOPPED]
    image.holders = { [newer.id]: { type: 'you' }, [STOPPED.id]: { type: 'you' } }
    assert.match(await movedOf(plan), 'by now it would be: ')
    image.suspensions = [STOPPED]
    image.holders = { [STOPPED.id]: { type: 'other', who: 'ann', person: true } }
    assert.match(await movedOf(plan), 'owned by ann, a person')
    image.suspensions = []
    assert.match(await movedOf(plan), 'Nothing is suspended in demo')
  }
})

test('a frame that stands for another function by now is out of date', async () => {
  const image = lispImage()
  const plan = await proposalOf(debugEval, { frame: 1, expr: 'n' }, image)
  image.frames = FRAMES.map(frame => ({ ...frame, function: `other-${frame.number}` }))
  assert.match(await movedOf(plan), 'by now it would be: Run this code in frame 1 (other-1')
})

test('nobody is asked about what is another’s, is not there, or is no way to go on', async () => {
  const others = lispImage({ holders: { [STOPPED.id]: { type: 'other', who: 'cursor', person: false } } })
  for (const [tool, args, image, code] of [
    [debugRestart, { suspension: STOPPED.id, restart: '0' }, others, 'held_by_other'],
    [debugEval, { suspension: STOPPED.id, expr: 'n' }, others, 'held_by_other'],
    [debugRestart, { restart: 'nope' }, lispImage(), 'not_found'],
    [debugRestart, { restart: '0', leave: true }, lispImage(), 'invalid_args'],
    [debugRestart, { restart_frame: 7 }, lispImage(), 'invalid_args'],
    [debugEval, { frame: 7, expr: 'n' }, lispImage(), 'invalid_args'],
    [debugEval, { suspension: 's9@ab12', expr: 'n' }, lispImage(), 'not_found'],
  ] as const) {
    const plan = await planned(tool, args, image)
    assert.is(plan.type === 'failed' ? plan.error.code : plan.type, code, JSON.stringify(args))
  }
})
