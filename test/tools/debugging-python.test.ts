import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import { TOOLS } from '../../tools/index.ts'
import { showEnvelope } from '../../tools/show.ts'
import { type CallsRig, errorOf, openCallsRig, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { ownedPython } from '../support/real-kernels.ts'

const test = suite('a suspended evaluation in a real Python, by its tools', { limitMs: 60_000 })

const PROGRAM = `
PRICES = {'tea': 3}

def price(item):
    return PRICES[item]

def total(items):
    sum = 0
    for item in items:
        sum += price(item)
    return sum
`

const BUY = { expr: "total(['tea', 'milk'])", on_error: 'suspend' }

let rig: CallsRig
const folder = mkdtempSync(join(tmpdir(), 'imago-debugging-'))

test.before(async () => {
  const kernel = await ownedPython()
  const kernels = { resolve: async () => ({ name: 'python', kernel }) }
  rig = openCallsRig({ options: { kernels, clock: SYSTEM_CLOCK, lookMs: 15_000 } })
  resultOf(await rig.run('eval_expr', { expr: PROGRAM }))
})

test.after(() => {
  rig?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function said(name: string, args: object = {}): Promise<string> {
  return showEnvelope(
    await rig.run(name, args),
    TOOLS.find(tool => tool.name === name),
  )
}

const value = async (name: string, args: object) => resultOf(await rig.run(name, args)).value_repr

async function stopped(more: object = {}): Promise<{ id: string; how: string }> {
  const { code, details } = errorOf(await rig.run('eval_expr', { ...BUY, ...more }))
  assert.is(code, 'exception')
  return details.suspension as { id: string; how: string }
}

const leave = async () => assert.is(resultOf(await rig.run('debug_restart', { leave: true })).status, 'left')

test('frames and variables of an error are there post mortem, and code runs in them', async () => {
  const { id, how } = await stopped()
  assert.is(how, 'post_mortem')
  const text = await said('debug_state')
  assert.match(text, /^KeyError: 'milk'\nsuspended as s\d+@\S+: its stack has unwound/)
  assert.match(text, /\n {2}1: .*in total\n.*\n? {2}0: .*in price/s)
  assert.match(await said('debug_frame', { frame: 1 }), /\n {2}sum = 3\n/)
  assert.is(await value('debug_eval', { frame: 1, expr: 'sum, item' }), "(3, 'milk')")
  assert.match(await said('debug_state', { suspension: id }), /KeyError/)
  await leave()
})

test('after the cause is mended, retry runs the same code again, from its beginning', async () => {
  await stopped()
  resultOf(await rig.run('eval_expr', { expr: "PRICES['milk'] = 1" }))
  assert.is(await value('debug_restart', { restart: 'retry' }), '4')
  resultOf(await rig.run('eval_expr', { expr: "del PRICES['milk']" }))
})

const suspendedNow = async () => resultOf(await rig.run('debug_state')).suspension as { id: string }

test('an error ends the evaluation, and its frames with their locals are there to be looked at', async () => {
  const text = await said('eval_expr', { expr: BUY.expr })
  assert.is(text.split("KeyError: 'milk'").length, 2, text)
  assert.is(text.split('Traceback').length, 1, text)
  assert.match(text, /\nnext: get_last_error .* shows its frames and locals; on_error: "suspend" keeps/)
  assert.match(text, /\nlocals of price, .*:\n {2}item = 'milk'$/)
  assert.is(errorOf(await rig.run('debug_state')).code, 'not_found')
  const shown = await said('get_last_error', { whose: 'callers' })
  assert.match(shown, /in total\n[\s\S]* sum = 3\n/)
  assert.match(shown, "item = 'milk'")
})

test('a client that is shown no debugger is told of no tool that looks at the error', async () => {
  const caller = { profile: 'core' } as const
  const { next, details } = errorOf(await rig.run('eval_expr', { expr: '1 / 0' }, { caller }))
  assert.equal([next, details.suspension], [null, undefined])
})

test('code that fails in a frame is answered with its error, and retry runs what was suspended', async () => {
  const { id } = await stopped()
  const { code, message, next, details } = errorOf(await rig.run('debug_eval', { expr: 'itme' }))
  assert.equal([code, details.suspension, details.acted_on], ['exception', undefined, id])
  assert.match(message, "name 'itme' is not defined")
  assert.is(next, `get_last_error {"whose":"callers"} shows its frames and locals; ${id} waits as before.`)
  assert.is((await suspendedNow()).id, id)
  resultOf(await rig.run('eval_expr', { expr: "PRICES['milk'] = 1" }))
  assert.is(await value('debug_restart', { restart: 0 }), '4')
  resultOf(await rig.run('eval_expr', { expr: "del PRICES['milk']" }))
})

test('code that fails in a frame is suspended one level deeper where that is asked for', async () => {
  const { id } = await stopped()
  const { details } = errorOf(await rig.run('debug_eval', { expr: 'itme', on_error: 'suspend' }))
  const inner = details.suspension as { level: number; within: string }
  assert.equal([inner.level, inner.within], [2, id])
  await leave()
  assert.is((await suspendedNow()).id, id)
  await leave()
})

test('a retry that fails again is suspended again', async () => {
  await stopped()
  const { details } = errorOf(await rig.run('debug_restart', { restart: 'retry' }))
  assert.is((details.suspension as { level: number }).level, 1)
  await leave()
})

test('a file that fails to load ends as an evaluation does, and says what to do and how to look', async () => {
  const file = join(folder, 'broken.py')
  writeFileSync(file, 'def half(n):\n    return 10 / n\n\nhalf(0)\n')
  const { next, details } = errorOf(await rig.run('load_file', { path: file }))
  assert.is(details.suspension, undefined)
  assert.match(next ?? '', 'Correct the file, and load it again. get_last_error {"whose":"callers"} shows')
})
