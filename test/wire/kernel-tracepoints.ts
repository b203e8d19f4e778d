import type { Kernel, Looked, LookName, Looks, TracedCall, Tracepoint } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, found } from '../support/heard.ts'
import { until } from '../support/rig.ts'
import type { TracingSnippets } from '../support/snippets-tracing.ts'

export interface TracingOptions {
  readonly title: string
  readonly snippets: TracingSnippets
  /** A kernel of its own; the suite closes it. */
  open(): Promise<Kernel>
}

const LOOK = { deadlineMs: 10_000 }
const LONG_MS = 600_000

/** What every kernel must keep that can trace functions, proved on the real runtime. */
export function tracepointFacts({ title, snippets, open }: TracingOptions): void {
  const test = suite(`${title}: tracepoints`)
  const { area, beat } = snippets
  let kernel: Kernel

  test.before(async () => {
    kernel = await open()
    await resultOf(snippets.world)
  })
  test.after(async () => {
    await resultOf(beat.stop)
    await kernel.close()
  })
  test.after.each(async () => {
    for (const { id } of (await traces()).tracepoints) await found(kernel, 'untrace', { tracepoint: id })
  })

  async function resultOf(source: string): Promise<string | undefined> {
    const evaluated = await evaluate(kernel, source).result
    if (evaluated.type === 'raised') throw new Error(evaluated.exception.traceback)
    return evaluated.type === 'done' ? evaluated.values[0]?.repr.text : evaluated.type
  }
  const look = <Name extends LookName>(
    name: Name,
    query: Looks[Name]['query'],
  ): Promise<Looked<Looks[Name]['found']>> => kernel.look(name, query, LOOK)
  const trace = (name: string, calls = 10, expires_ms = LONG_MS, who = 'test'): Promise<Tracepoint> =>
    found(kernel, 'trace', { name, calls, expires_ms, who })
  const traces = (tracepoint?: Tracepoint, from = 1, count = 100) =>
    found(kernel, 'traces', { ...(tracepoint && { tracepoint: tracepoint.id }), from, count })
  const callsOf = async (tracepoint: Tracepoint) => (await traces(tracepoint)).calls
  const stateOf = async (tracepoint: Tracepoint) => (await traces(tracepoint)).tracepoints[0]?.state
  const { source: asked, value: answer } = snippets.untouched
  const untilUntouched = () =>
    until(async () => (await resultOf(asked)) === answer, 'the functions to be as they were')
  const textsOf = (call: TracedCall | undefined) => call?.arguments.map(({ value }) => value.repr.text)

  test('the next calls are told with their arguments, value, time, thread and caller', async () => {
    const on = await trace(area.name)
    assert.equal([on.name, on.state, on.wanted, on.seen, on.who], [area.told, 'on', 10, 0, 'test'])
    await resultOf(area.within)
    const [call, ...others] = await callsOf(on)
    if (call?.outcome.type !== 'returned') throw new Error(JSON.stringify(call))
    assert.equal(others, [])
    assert.is(call.arguments[0]?.name, area.parameters[0])
    assert.is(textsOf(call)?.[0], '3')
    assert.equal(
      call.outcome.values.map(value => value.repr.text),
      [area.returned],
    )
    assert.equal([call.number, call.depth, call.arguments_omitted], [1, 0, 0])
    assert.ok((call.elapsed_ms ?? -1) >= 0)
    assert.ok(call.thread !== '')
    assert.match(call.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    assert.is(call.caller?.function, area.caller)
  })

  test('it ends by itself once it has as many calls as were wanted', async () => {
    const on = await trace(area.name, 2)
    for (const width of [1, 2, 3]) await resultOf(area.call(width))
    assert.equal(await stateOf(on), 'full')
    assert.equal((await callsOf(on)).map(textsOf), [
      ['1', '2'],
      ['2', '2'],
    ])
    await untilUntouched()
  })

  test('it ends by itself when its time is over, whether anybody looks or not', async () => {
    const on = await trace(area.name, 10, 100)
    assert.ok((on.expires_in_ms ?? 0) > 0)
    await untilUntouched()
    const { tracepoints } = await traces(on)
    assert.equal([tracepoints[0]?.state, tracepoints[0]?.expires_in_ms], ['expired', null])
  })

  test('it ends when it is told to, and what it has taken down is kept', async () => {
    const on = await trace(area.name)
    await resultOf(area.call(4))
    assert.is((await found(kernel, 'untrace', { tracepoint: on.id })).state, 'removed')
    await untilUntouched()
    await resultOf(area.call(5))
    assert.equal((await callsOf(on)).map(textsOf), [['4', '2']])
    assert.is((await found(kernel, 'untrace', { tracepoint: on.id })).state, 'removed')
  })

  test('a call that fails is told with its error, and one that is left otherwise as left', async () => {
    const failing = await trace(snippets.fails.name)
    const leaving = await trace(snippets.leaves.name)
    await resultOf(snippets.fails.call)
    await resultOf(snippets.leaves.call)
    const [failed] = await callsOf(failing)
    if (failed?.outcome.type !== 'raised') throw new Error(JSON.stringify(failed))
    assert.is(failed.outcome.exception.type.name, snippets.fails.type)
    assert.is(failed.outcome.exception.message, 'no luck')
    assert.is((await callsOf(leaving))[0]?.outcome.type, 'left')
  })

  test('threads at once lose no call, and take none twice', async () => {
    const on = await trace(area.name, 1000)
    const { source, value } = snippets.crowd
    assert.is(await resultOf(source), value)
    const { tracepoints } = await traces(on)
    assert.is(tracepoints[0]?.state, 'full')
    assert.ok((tracepoints[0]?.seen ?? 0) >= 1000)
    await untilUntouched()
  })

  /** The states of a tracepoint as they are seen by somebody who looks when the kernel tells of news, and never else. */
  function seenWhenTold(on: Tracepoint) {
    const seen: (string | undefined)[] = []
    const forget = kernel.watchNews?.('traces', async () => void seen.push(await stateOf(on)))
    if (forget === undefined) throw new Error('the kernel does not tell of tracepoints')
    return { seen, forget }
  }

  test('a thousand calls are told in few notes, and after the last of these there are all', async () => {
    const on = await trace(area.name, 1000)
    const { seen, forget } = seenWhenTold(on)
    assert.is(await resultOf(snippets.crowd.source), snippets.crowd.value)
    await until(() => seen.includes('full'), 'a note of the last call')
    forget()
    assert.ok(seen.length < 100, `${seen.length}`)
  })

  test('a note tells that a tracepoint has ended, by its time or by somebody else', async () => {
    for (const [state, expires] of [
      ['expired', 100],
      ['removed', LONG_MS],
    ] as const) {
      const on = await trace(area.name, 10, expires)
      const { seen, forget } = seenWhenTold(on)
      if (state === 'removed') await found(kernel, 'untrace', { tracepoint: on.id })
      await until(() => seen.includes(state), state)
      forget()
    }
  })

  test('coming and going while the function is called never breaks a call', async () => {
    const running = evaluate(kernel, snippets.crowd.source).result
    let rounds = 0
    let over = false
    void running.finally(() => {
      over = true
    })
    do {
      const on = await trace(area.name, 1000)
      await found(kernel, 'untrace', { tracepoint: on.id })
      rounds++
    } while (!over)
    const evaluated = await running
    assert.is(evaluated.type === 'done' && evaluated.values[0]?.repr.text, snippets.crowd.value)
    assert.ok(rounds > 0)
    await untilUntouched()
  })

  test('no printer of the program runs, and a handle leads to what was passed', async () => {
    const { name, call, type } = snippets.trapped
    const on = await trace(name)
    assert.is(await resultOf(call), snippets.untouched.value)
    const [made] = await callsOf(on)
    const passed = made?.arguments[0]?.value
    assert.is(passed?.type.name, type)
    assert.match(passed?.repr.text ?? '', /kept.*7/)
    const inspected = await found(kernel, 'inspect', { expr: passed?.handle ?? '' })
    assert.is(inspected.type.name, type)
    assert.is(await resultOf(snippets.fired), '0')
  })

  test('what cannot be traced is refused with the reason, and what is not there with what is near', async () => {
    const query = { calls: 1, expires_ms: LONG_MS, who: 'test' }
    for (const name of snippets.refused) {
      const refused = await look('trace', { ...query, name })
      assert.is(refused.type, 'malformed', name)
    }
    const missing = await look('trace', { ...query, name: snippets.missing })
    if (missing.type !== 'not_found') throw new Error(missing.type)
    assert.ok(missing.nearest.some(name => name.endsWith('area')))
    for (const [calls, expires_ms] of [
      [0, 1000],
      [1001, 1000],
      [1, 0],
      [1, 86_400_001],
    ] as const)
      assert.is((await look('trace', { ...query, name: area.name, calls, expires_ms })).type, 'malformed')
    await untilUntouched()
  })

  test('names are never used twice, and no more than 16 are on', async () => {
    const ons: Tracepoint[] = []
    for (let number = 0; number < 16; number++) ons.push(await trace(area.name, 1))
    assert.is(new Set(ons.map(on => on.id)).size, 16)
    assert.ok(ons.every(on => /^t\d+@[0-9a-z]+$/.test(on.id)))
    const refused = await look('trace', { name: area.name, calls: 1, expires_ms: LONG_MS, who: 'test' })
    assert.is(refused.type, 'malformed')
    await resultOf(area.call(7))
    for (const on of ons) assert.is((await callsOf(on)).length, 1)
    assert.not((await trace(area.name, 1, LONG_MS, 'someone')).id === ons[0]?.id)
    assert.is((await traces()).tracepoints.at(-1)?.who, 'someone')
  })

  test('all of them want no more calls than are kept', async () => {
    for (let number = 0; number < 4; number++) await trace(area.name, 1000)
    const refused = await look('trace', { name: area.name, calls: 1, expires_ms: LONG_MS, who: 'test' })
    assert.is(refused.type, 'malformed')
  })
}
