import { Notices } from '../../src/core/notices.ts'
import { errorOf, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import {
  ADA,
  CLAUDE,
  CODEX,
  client,
  kernelOf,
  leasesRigsOf,
  noticeOf,
  S1,
  stops,
} from '../support/leases-rig.ts'

const test = suite('what is told of ended suspensions')
const rigOf = leasesRigsOf(test)

const STOPS = { evaluate: { boom: stops(S1), bang: stops('s2@ab12') } }
const ONE = { expr: '1' }

test('that a lease has expired is told to its holder with the next answer, once, and stands in the journal', async () => {
  const rig = rigOf(STOPS)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  kernelOf(rig).suspended.end(S1, 'expired', 'Nobody came within 600 s.')
  assert.is(noticeOf(await rig.call(CODEX, 'eval_expr', ONE)), undefined)
  const anew = client('claude-code', { connection: 'second' })
  const told = noticeOf(await rig.call(anew, 'eval_expr', ONE))
  assert.is(
    told,
    's1@ab12 in main (ValueError: no stock) is suspended no more. Nobody came in time, and it was aborted. Nobody came within 600 s.',
  )
  assert.is(noticeOf(await rig.call(CLAUDE, 'eval_expr', ONE)), undefined)
  const { what, holder, by } = rig.noted.at(-1) ?? {}
  assert.equal([what, holder, by], ['expired', 'claude-code', null])
  assert.equal(
    rig.heard.map(({ type }) => type),
    ['suspended', 'ended'],
  )
})

test('an error says it in its details, and several ends are one text, the oldest first', async () => {
  const rig = rigOf(STOPS)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'bang' })
  for (const id of [S1, 's2@ab12']) kernelOf(rig).suspended.end(id, 'expired')
  const { details, code } = errorOf(await rig.call(CLAUDE, 'inspect', { expr: 'nothing' }))
  assert.is(code, 'not_found')
  assert.match(String(details.notice), /^s1@ab12 .*\ns2@ab12 .*$/)
})

test('nothing is told with what completes while somebody types: it waits for an answer that is read', async () => {
  const rig = rigOf({
    ...STOPS,
    looks: { complete: { type: 'found', value: { completions: [], omitted: 0 } as never } },
  })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  kernelOf(rig).suspended.end(S1, 'expired')
  assert.is(noticeOf(await rig.call(CLAUDE, 'complete', { code: 'bo' })), undefined)
  const gone = AbortSignal.abort()
  const unread = await rig.calls.run({ tool: 'eval_expr', args: ONE, caller: CLAUDE, gone })
  assert.is(noticeOf(unread), undefined)
  assert.match(noticeOf(await rig.call(CLAUDE, 'eval_expr', ONE)) ?? '', /s1@ab12/)
})

test('whoever ends their own is told nothing of it', async () => {
  const rig = rigOf(STOPS)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  assert.is(noticeOf(await rig.call(CLAUDE, 'debug_restart', { suspension: S1, leave: true })), undefined)
  assert.is(noticeOf(await rig.call(CLAUDE, 'eval_expr', ONE)), undefined)
})

test('whoever held what stood on another one’s is told when that ends', async () => {
  const inner = 's2@ab12'
  const rig = rigOf({
    evaluate: { boom: stops(S1), [`${S1} frame 0: x`]: stops(inner, { within: S1, level: 2 }) },
  })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.call(CLAUDE, 'debug_eval', { suspension: S1, expr: 'x' })
  await rig.call(CODEX, 'eval_expr', ONE)
  await rig.desk.hand(ADA, { kernel: 'main', suspension: inner, to: 'codex' })
  await rig.call(CODEX, 'eval_expr', ONE)
  await rig.call(CLAUDE, 'eval_expr', ONE)
  await rig.call(CLAUDE, 'debug_restart', { suspension: S1, leave: true })
  assert.match(
    noticeOf(await rig.call(CODEX, 'eval_expr', ONE)) ?? '',
    /^s2@ab12 .* What it stood on has ended\./,
  )
  assert.is(noticeOf(await rig.call(CLAUDE, 'eval_expr', ONE)), undefined)
})

test('an error with marks in it is told in one line, with the marks shown', async () => {
  const rig = rigOf({ evaluate: { boom: stops(S1, { message: 'a\n\u001b[31mb\u202ec' }) } })
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  kernelOf(rig).suspended.end(S1, 'lost', '')
  const told = String(resultOf(await rig.call(CLAUDE, 'eval_expr', ONE)).notice)
  assert.is(told.split('\n').length, 1)
  assert.ok(!told.includes('\u001b') && !told.includes('\u202e'))
  assert.match(told, /U\+202E/)
})

test('what is to be told is bounded by callers and sentences, and says what was dropped', () => {
  const notices = new Notices()
  assert.ok(notices.empty)
  for (let number = 1; number <= 20; number++) notices.add('one', { about: `s${number}`, text: `${number}` })
  const told = notices.take(['none', 'one'])
  assert.is(told[0], '(4 earlier notices were dropped.)')
  assert.equal(told.slice(1, 3), ['5', '6'])
  assert.ok(notices.empty)
  for (let key = 0; key < 100; key++) notices.add(`${key}`, { about: 's1', text: 'text' })
  assert.equal(notices.take(['35']), [])
  assert.equal(notices.take(['36']), ['text'])
})

test('one that expires while a person reads it is gone by name when they act, and they hear of it as it happens', async () => {
  const rig = rigOf(STOPS)
  await rig.call(CLAUDE, 'eval_expr', { expr: 'boom' })
  await rig.desk.take(ADA, { kernel: 'main', suspension: S1 })
  await rig.call(ADA.caller, 'debug_state', { suspension: S1 })
  // A look of theirs reaches the image, which is what keeps it.
  assert.ok(kernelOf(rig).asked.some(one => one.method === 'suspension'))
  kernelOf(rig).suspended.end(S1, 'expired')
  assert.is(rig.heard.at(-1)?.type, 'ended')
  const { code, details } = errorOf(
    await rig.call(ADA.caller, 'debug_restart', { suspension: S1, leave: true }),
  )
  assert.is(code, 'not_found')
  assert.match(String(details.notice), /Nobody came in time/)
  assert.match(
    noticeOf(await rig.call(CLAUDE, 'eval_expr', ONE)) ?? '',
    /^s1@ab12 in main .* Nobody came in time[^\n]*$/,
  )
})
