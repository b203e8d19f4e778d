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

const BUY = { expr: "total(['tea', 'milk'])" }

let rig: CallsRig

test.before(async () => {
  const kernel = await ownedPython()
  const kernels = { resolve: async () => ({ name: 'python', kernel }) }
  rig = openCallsRig({ options: { kernels, clock: SYSTEM_CLOCK, lookMs: 15_000 } })
  resultOf(await rig.run('eval_expr', { expr: PROGRAM }))
})

test.after(() => rig?.close())

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

test('wrong numbers, names, frames and values are told, and it waits on unharmed', async () => {
  const { id } = await stopped()
  for (const [tool, args, code] of [
    ['debug_restart', { restart: '99' }, 'not_found'],
    ['debug_restart', { restart: 'no-such' }, 'not_found'],
    ['debug_restart', { return_from: 99_999, value: '1' }, 'invalid_args'],
    ['debug_restart', { restart_frame: 0 }, 'invalid_args'],
    ['debug_frame', { frame: 99_999 }, 'invalid_args'],
    ['debug_eval', { frame: 99_999, expr: '1' }, 'invalid_args'],
    ['debug_state', { suspension: 's99@zz' }, 'not_found'],
  ] as const) {
    const error = errorOf(await rig.run(tool, args))
    assert.is(error.code, code, `${tool} ${JSON.stringify(args)}: ${error.message}`)
    assert.ok(error.next, `${tool} ${JSON.stringify(args)} was told no next step`)
  }
  assert.match(await said('debug_state'), `suspended as ${id}`)
  await leave()
})
