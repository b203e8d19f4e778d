import { assert, type Suite } from '../support/harness.ts'
import type { Resumes, SuspendingSnippets } from '../support/snippets-suspending.ts'
import { type Doing, LOOK, type SuspendingKernel, shownIn, suspensionIn } from '../support/suspended.ts'

type On = () => SuspendingKernel

/** How suspended evaluations go on, in every kernel that declares `suspend`. */
export function resumeFacts(test: Suite, on: On, snippets: SuspendingSnippets): void {
  const { fails, frame, holds, expression } = snippets
  if (frame !== undefined) {
    frameFacts(test, on, { fails, frame })
    nestedFacts(test, on, { fails, frame })
  }
  restartFacts(test, on, snippets)
  if (frame !== undefined && holds !== undefined) holdFacts(test, on, { fails, frame, holds, expression })
  if (snippets.value !== undefined) valueFacts(test, on, snippets.value)
  if (snippets.returns !== undefined && snippets.again !== undefined)
    frameWayFacts(test, on, { fails: snippets.fails, returns: snippets.returns, again: snippets.again })
}

async function printed({ text }: Doing, what: string): Promise<void> {
  while (!text().includes(what)) await new Promise(resolve => setTimeout(resolve, 5))
}

/** What is suspended once nothing has been mended, and has been mended since. */
async function mended(on: On, { source, mend, unmend }: Resumes) {
  await on().run(unmend, null).result
  const doing = on().run(source)
  const { id } = suspensionIn(await doing.result)
  await on().run(mend, null).result
  return { ...doing, id }
}

type InFrames = Pick<Required<SuspendingSnippets>, 'fails' | 'frame'>

function frameFacts(test: Suite, on: On, { fails, frame }: InFrames): void {
  test('code in a frame sees its variables, and what it sets is seen there afterwards', async () => {
    const { id } = await on().suspend(fails.source)
    const number = await on().frameOf(id, fails.inner)
    assert.equal(shownIn(await on().inFrame(id, number, frame.reads).result), [frame.repr])
    assert.is((await on().inFrame(id, number, frame.sets).result).type, 'done')
    assert.equal(shownIn(await on().inFrame(id, number, frame.reads).result), [frame.reprAfter])
    const refused = await on().inFrame(id, 99_999, frame.reads).result
    assert.is(refused.type === 'refused' && refused.reason, 'malformed')
    assert.equal(await on().live(), [id])
  })
}

function nestedFacts(test: Suite, on: On, { fails, frame }: InFrames): void {
  const nest = async () => {
    const outer = await on().suspend(fails.source)
    const number = await on().frameOf(outer.id, fails.inner)
    const doing = on().inFrame(outer.id, number, frame.fails)
    return { outer, inner: suspensionIn(await doing.result), call: doing.call }
  }

  test('an error of code in a frame suspends one level deeper, and ends by itself', async () => {
    const { outer, inner, call } = await nest()
    assert.equal([inner.level, inner.within, inner.call], [2, outer.id, call])
    assert.equal(await on().live(), [inner.id, outer.id])
    assert.is((await on().leave(inner.id)).type, 'left')
    assert.equal(await on().live(), [outer.id])
    const number = await on().frameOf(outer.id, fails.inner)
    assert.equal(shownIn(await on().inFrame(outer.id, number, frame.reads).result), [frame.repr])
    assert.equal([on().endsOf(inner.id), on().endsOf(outer.id)], [['left'], []])
  })

  test('the outer one can be looked at while another stands on it, and takes that with it when it ends', async () => {
    const { outer, inner } = await nest()
    assert.is((await on().state(outer.id)).suspension.id, outer.id)
    assert.is((await on().leave(outer.id)).type, 'left')
    assert.equal(await on().live(), [])
    assert.equal(await on().end(inner.id), ['within'])
    assert.equal(await on().end(outer.id), ['left'])
  })
}

function restartFacts(test: Suite, on: On, { fails, resumes, loops, expression }: SuspendingSnippets): void {
  test('a restart goes on with what was mended, and whoever took it has the output and the value', async () => {
    const first = await mended(on, resumes)
    const going = await on().restart(first.id, resumes.restart)
    assert.equal(shownIn(await going.result), [resumes.repr])
    assert.equal([first.text(), going.text()], ['before\n', resumes.prints])
    assert.equal(await on().end(first.id), ['resumed'])
    assert.equal(await on().live(), [])
  })

  test('what is left has no value, and is there no more', async () => {
    const { id } = await on().suspend(fails.source)
    assert.is((await on().leave(id)).type, 'left')
    assert.equal(await on().end(id), ['left'])
    const missing = await on().kernel.look('suspension', { suspension: id, from: 0, count: 5 }, LOOK)
    assert.is(missing.type, 'not_found')
    const refused = await on().resume(id, { type: 'restart', restart: 0 }).result
    assert.is(refused.type === 'refused' && refused.reason, 'not_found')
    assert.equal(on().endsOf(id), ['left'])
  })

  test('a restart or frame that is not there is refused, and nothing has happened', async () => {
    const { id } = await on().suspend(fails.source)
    const { restarts } = await on().state(id)
    for (const restart of [restarts.length, 99_999]) {
      const refused = await on().resume(id, { type: 'restart', restart }).result
      assert.equal(refused.type === 'refused' && [refused.reason, refused.what, refused.nearest], [
        'not_found',
        String(restart),
        restarts.map(({ name }, number) => `${number} ${name}`),
      ])
    }
    for (const way of [
      { type: 'return', frame: 99_999, value: expression.source },
      { type: 'again', frame: 99_999 },
    ] as const) {
      const refused = await on().resume(id, way).result
      assert.is(refused.type === 'refused' && refused.reason, 'malformed')
    }
    assert.equal((await on().state(id)).restarts, restarts)
    assert.equal(on().endsOf(id), [])
  })

  test('two that wait are resumed in either order', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const both = [await mended(on, resumes), await mended(on, resumes)]
      for (const which of order) {
        const going = await on().restart(both[which]?.id ?? '', resumes.restart)
        assert.equal(shownIn(await going.result), [resumes.repr])
      }
      for (const { id } of both) assert.equal(await on().end(id), ['resumed'])
    }
  })

  test('what was resumed is interrupted by the call that resumed it, and by no other', async () => {
    const first = await mended(on, loops)
    const going = await on().restart(first.id, loops.restart)
    await printed(going, 'looping')
    assert.is((await on().kernel.status(LOOK)).running?.call, going.call)
    assert.is((await on().kernel.interrupt(first.call)).outcome, 'not_running')
    assert.is((await on().kernel.interrupt(going.call)).outcome, 'stopped')
    assert.is((await going.result).type, 'interrupted')
    assert.equal(shownIn(await on().run(expression.source).result), [expression.repr])
    assert.equal(await on().live(), [])
  })
}

function valueFacts(test: Suite, on: On, value: NonNullable<SuspendingSnippets['value']>): void {
  test('a restart that reads is given a value; one that cannot be read is refused, and one that fails waits in turn', async () => {
    const { id } = await on().suspend(value.source)
    const { restarts } = await on().state(id)
    assert.is(restarts.find(({ name }) => name === value.restart)?.reads, true)
    const refused = await (await on().restart(id, value.restart, value.unreadable)).result
    assert.is(refused.type === 'refused' && refused.reason, 'malformed')
    const inner = suspensionIn(await (await on().restart(id, value.restart, value.fails)).result)
    assert.is(inner.within, id)
    assert.is((await on().leave(inner.id)).type, 'left')
    assert.equal(await on().live(), [id])
    const going = await on().restart(id, value.restart, value.value)
    assert.equal(shownIn(await going.result), [value.repr])
  })
}

type Holding = InFrames & Pick<Required<SuspendingSnippets>, 'holds' | 'expression'>

function holdFacts(test: Suite, on: On, { fails, holds, frame, expression }: Holding): void {
  const hold = { leaseMs: 600_000, hold: true }

  test('a stack that is held has not unwound, and does so when its error is let go on', async () => {
    const doing = on().run(holds.source, hold)
    const suspension = suspensionIn(await doing.result)
    assert.is(suspension.how, 'held')
    assert.is(doing.text(), '')
    assert.equal(shownIn(await on().run(expression.source).result), [expression.repr])
    const number = await on().frameOf(suspension.id, fails.inner)
    assert.equal(shownIn(await on().inFrame(suspension.id, number, frame.reads).result), [frame.repr])
    const going = await on().restart(suspension.id, holds.goesOn)
    const ended = await going.result
    assert.is(ended.type === 'raised' && ended.exception.message, fails.message)
    assert.equal([doing.text(), going.text()], ['', 'unwound\n'])
    assert.equal(await on().end(suspension.id), ['resumed'])
  })

  test('of stacks that are held the newest goes on, is left or expires, and then the one before it', async () => {
    const ids: string[] = []
    for (let number = 0; number < 3; number++) ids.push((await on().suspend(holds.source, hold)).id)
    const [first = '', second = '', third = ''] = ids
    assert.is((await on().leave(third)).type, 'left')
    assert.is((await on().kernel.look('lease', { suspension: second, lease_ms: 60 }, LOOK)).type, 'found')
    assert.equal(await on().end(second), ['expired'])
    assert.is((await (await on().restart(first, holds.goesOn)).result).type, 'raised')
    assert.equal(
      ids.map(id => on().endsOf(id)),
      [['resumed'], ['expired'], ['left']],
    )
    assert.equal(shownIn(await on().run(expression.source).result), [expression.repr])
  })

  test('where an older one goes on, those that are held above it end once, and nothing hangs', async () => {
    const older = await on().suspend(holds.source, hold)
    const newer = await on().suspend(holds.source, hold)
    const going = await on().restart(older.id, holds.goesOn)
    assert.is((await going.result).type, 'raised')
    assert.equal([await on().end(older.id), await on().end(newer.id)], [['resumed'], ['within']])
    assert.equal(await on().live(), [])
    assert.equal(shownIn(await on().run(expression.source).result), [expression.repr])
  })
}

type Ways = Pick<Required<SuspendingSnippets>, 'fails' | 'returns' | 'again'>

function frameWayFacts(test: Suite, on: On, { fails, returns, again }: Ways): void {
  test('a frame returns a value that it never came to', async () => {
    const { id } = await on().suspend(fails.source)
    const frame = await on().frameOf(id, fails.inner)
    const going = on().resume(id, { type: 'return', frame, value: returns.value })
    assert.equal(shownIn(await going.result), [returns.repr])
    assert.equal(await on().end(id), ['resumed'])
  })

  test('a function that was defined anew is called again in the place of the old one', async () => {
    const { id } = await on().suspend(fails.source)
    const frame = await on().frameOf(id, fails.inner)
    await on().run(again.mend, null).result
    const going = on().resume(id, { type: 'again', frame })
    const ended = await going.result
    await on().run(again.unmend, null).result
    assert.equal(shownIn(ended), [again.repr])
  })
}
