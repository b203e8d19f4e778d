import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Ran } from '../support/rig.ts'

const test = suite('commands of kernels', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())

test('a kernel is started with a script and its arguments, listed, interrupted, restarted and stopped', async () => {
  writeFileSync(join(rig.project, 'app.py'), 'import sys\nloaded = sys.argv[1:]\n')
  const start = ['start', 'python', '--name', 'app', '--script', 'app.py', '--json', '--', '--fast', 'x']
  const started = rowOf(await rig.imago(start))
  assert.is(started.name, 'app')
  const loaded = await rig.imago(['call', 'eval_expr', '{"expr":"loaded"}', '--kernel', 'app'])
  assert.match(loaded.stdout, "['--fast', 'x']")

  const endless = '{"expr":"import time\\nprint(\'on\')\\nwhile True: time.sleep(0.01)"}'
  const call = rig.begin(['call', 'eval_expr', endless, '--kernel', 'app'])
  await call.says(/on/)
  assert.match((await rig.imago(['kernels'])).stdout, /^app +busy /m)
  const interrupted = await rig.imago(['interrupt', 'app'])
  assert.equal([interrupted.code, (await call.ended).code], [0, 1])
  assert.match(interrupted.stdout, /^stopped: /)

  const restarted = rowOf(await rig.imago(['restart', 'app', '--json']))
  assert.is.not(restarted.epoch, started.epoch)
  assert.is(rowOf(await rig.imago(['stop', 'app', '--json'])).state, 'ended')
  assert.is((await rig.imago(['stop', 'nobody'])).code, 4)
})

test('code in C that nothing can stop is told of, with the command that ends the image, which is usable then (fault 3)', async () => {
  await rig.imago(['start', 'python', '--name', 'held'])
  const endless = '{"expr":"print(\'on\', flush=True)\\nsum(range(10**12))"}'
  const call = rig.begin(['call', 'eval_expr', endless, '--kernel', 'held'])
  await call.says(/on/)
  const interrupted = await rig.imago(['interrupt', 'held'])
  assert.is(interrupted.code, 5)
  assert.match(
    interrupted.stdout,
    /^still_running: .*held by code in C.*\nimago restart held ends its process/,
  )
  assert.is((await rig.imago(['restart', 'held'])).code, 0)
  assert.is((await call.ended).code, 1)
  const after = await rig.imago(['call', 'eval_expr', '{"expr":"6 * 7"}', '--kernel', 'held'])
  assert.match(after.stdout, '42')
})

test('a script that ran when its kernel was stopped is not listed as returned', async () => {
  writeFileSync(join(rig.project, 'runs.py'), 'import time\nwhile True: time.sleep(0.01)\n')
  const started = rowOf(
    await rig.imago(['start', 'python', '--name', 'runs', '--script', 'runs.py', '--json']),
  )
  assert.is(started.script_state, 'running')
  const stopped = rowOf(await rig.imago(['stop', 'runs', '--json']))
  assert.equal([stopped.state, stopped.script_state], ['ended', null])
})

test('a script that fails is told with its message and the way to its output, and its kernel lives', async () => {
  writeFileSync(join(rig.project, 'bad.py'), 'kept = 1\nprint("so far")\n1 / 0\n')
  const started = await rig.imago(['start', 'python', '--name', 'bad', '--script', 'bad.py'])
  assert.is(started.code, 1)
  assert.is(started.stdout, '')
  assert.match(
    started.stderr,
    /^imago: bad\.py failed in kernel bad: ZeroDivisionError: division by zero.*\n/,
  )
  const [, handle = ''] = /imago call read_more '(.*)'\n$/.exec(started.stderr) ?? []
  const printed = await rig.imago(['call', 'read_more', handle])
  assert.match(printed.stdout, /so far\n(.*\n)*ZeroDivisionError/)
  assert.is((await rig.imago(['call', 'eval_expr', '{"expr":"kept"}', '--kernel', 'bad'])).code, 0)
  const listed = (await rig.imago(['kernels'])).stdout
  assert.match(
    listed,
    /^bad +ready .*bad\.py \(failed\)\n {4}.*ZeroDivisionError.*\n {4}What it printed by itself: imago call read_more '\{"handle":"@out\.\d+"\}'$/m,
  )

  const again = onlyEnvelope(await rig.imago(['restart', 'bad', '--json']))
  assert.is(again.ok ? '' : again.error.code, 'exception')
  assert.match(JSON.stringify(again), /"script_state":"failed"/)
  await rig.imago(['stop', 'bad'])
})

test('a script that still runs keeps the daemon from being shut down without force', async () => {
  writeFileSync(join(rig.project, 'served.py'), 'import time\nwhile True: time.sleep(0.05)\n')
  await rig.imago(['start', 'python', '--name', 'served', '--script', 'served.py'])
  const refused = await rig.imago(['shutdown'])
  assert.is(refused.code, 1)
  assert.match(refused.stderr, /The kernel served still runs .*served\.py\.\nimago shutdown --force/)
  await rig.imago(['stop', 'served'])
})

test('a script that is not there is a usage error, and nothing starts', async () => {
  const ran = await rig.imago(['start', 'python', '--name', 'none', '--script', 'absent.py', '--json'])
  assert.is(ran.code, 2)
  assert.match(JSON.stringify(onlyEnvelope(ran)), /invalid_args.*absent\.py/)
  assert.not.match((await rig.imago(['kernels'])).stdout, /^none /m)
})

test('a second kernel of one name, and a language that there is not, are refused', async () => {
  assert.is((await rig.imago(['start', 'python', '--name', 'project'])).code, 0)
  const twice = await rig.imago(['start', 'python', '--name', 'project'])
  assert.is(twice.code, 1)
  assert.match(twice.stderr, /lives already/)
  const cobol = await rig.imago(['start', 'cobol', '--json'])
  assert.is(cobol.code, 2)
  assert.equal(onlyEnvelope(cobol), {
    ok: false,
    error: {
      code: 'invalid_args',
      message: 'There are no kernels for "cobol".',
      details: { reason: 'unknown_language', languages: ['python', 'lisp'] },
      retryable: false,
      next: 'Languages: python, lisp. Wolfram Language comes in a later version.',
    },
  })
})

test('what the daemon refuses is said in its own words, with details and the next step', async () => {
  const stop = onlyEnvelope(await rig.imago(['stop', 'projct', '--json']))
  if (stop.ok) return assert.unreachable('a kernel that there is not was stopped')
  assert.match(stop.error.message, /^No kernel is named "projct"\./)
  assert.match(JSON.stringify(stop.error.details), '"nearest":["project"]')
  assert.is(stop.error.next, 'Did you mean project?')
  const spoken = await rig.imago(['stop', 'projct'])
  assert.match(spoken.stderr, /^imago: No kernel is named "projct"\. .*\nDid you mean project\?\n$/)
  const nameless = await rig.imago(['start', 'python', '--name', ''])
  assert.is(nameless.code, 2)
  assert.match(nameless.stderr, /^imago: "" cannot be the name of a kernel\.\nUse up to 64/)
  const tool = await rig.imago(['tools', 'evl_expr'])
  assert.is(tool.stderr, 'imago: There is no tool evl_expr. Did you mean eval_expr?\n')
  const long = await rig.imago(['stop', 'x'.repeat(2_000)])
  assert.is(long.code, 2)
  assert.match(long.stderr, /^imago: stop does not take that\. "name": [^✖→]*\.\n$/)
})

function rowOf(ran: Ran): Readonly<Record<string, unknown>> {
  const envelope = onlyEnvelope(ran)
  assert.ok(envelope.ok, ran.stdout)
  return (envelope.ok ? envelope.result : {}) as Readonly<Record<string, unknown>>
}
