import type { Kernel } from '../../wire/kernel.ts'
import { assert, type Suite, suite } from '../support/harness.ts'
import { codeOf } from '../support/heard.ts'
import type { Resumes, SuspendingSnippets } from '../support/snippets-suspending.ts'
import { type Doing, LOOK, SuspendingKernel, shownIn, suspensionIn } from '../support/suspended.ts'

export interface SuspensionOptions {
  readonly title: string
  readonly snippets: SuspendingSnippets
  /** A kernel of its own each time; the suite closes it. */
  open(): Promise<Kernel>
}

/** What every kernel must satisfy that declares `suspend`, whatever its language; proved on the real runtime. */
export function suspensionSuite(options: SuspensionOptions): void {
  const { title, snippets, open } = options
  const test = suite(`${title}: suspensions`)
  const begun: { now?: SuspendingKernel } = {}
  const on = () => {
    if (begun.now === undefined) throw new Error('the kernel was not opened')
    return begun.now
  }

  test.before(async () => {
    begun.now = new SuspendingKernel(await open())
    await on().run(snippets.world, null).result
  })
  test.after(async () => {
    await begun.now?.kernel.close()
  })
  test.after.each(async () => {
    await begun.now?.clear()
  })

  lookFacts(test, on, snippets)
  resumeFacts(test, on, snippets)
  endFacts(test, options)
}

type On = () => SuspendingKernel

function lookFacts(test: Suite, on: On, { fails, how, expression, frame }: SuspendingSnippets): void {
  test('an error suspends an evaluation that asks for it, and no other', async () => {
    assert.is((await on().run(fails.source, null).result).type, 'raised')
    const before = on().news.length
    const { call, result } = on().run(fails.source)
    const outcome = await result
    const suspension = suspensionIn(outcome)
    assert.match(suspension.id, /^s\d+@[0-9a-f]{4}$/)
    const { type, message, at, ...rest } = suspension
    assert.equal(rest, { id: suspension.id, call, who: 'test', how, level: 1, within: null, busy: false })
    assert.equal([type.name, message], [fails.type, fails.message])
    assert.match(at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    assert.is(outcome.type === 'suspended' && outcome.exception.type.name, fails.type)
    assert.equal(on().news.slice(before), [{ type: 'suspended', suspension }])
    assert.equal(await on().live(), [suspension.id])
  })

  test('what waits suspended occupies nothing: evaluations and looks go on', async () => {
    const { call, result } = on().run(fails.source)
    const { id } = suspensionIn(await result)
    assert.equal(shownIn(await on().run(expression.source).result), [expression.repr])
    assert.equal(await on().kernel.status(LOOK), { running: null, queued: 0 })
    const report = await on().kernel.interrupt(call)
    assert.is(report.outcome, 'not_running')
    assert.match(report.message, id)
    const source = { type: 'source', source: fails.source } as const
    const again = await on().kernel.evaluate({ call, who: 'test', work: source, again: true }, {})
    assert.is(suspensionIn(again).id, id)
    assert.equal(await on().live(), [id])
  })

  test('its stack is told from where the error happened, with what it was called with', async () => {
    const outcome = await on().run(fails.source).result
    const { id } = suspensionIn(outcome)
    const { suspension, restarts, frames } = await on().state(id)
    assert.is(suspension.id, id)
    assert.equal(outcome.type === 'suspended' && outcome.exception.restarts, restarts)
    assert.ok(restarts.length > 0)
    assert.equal(
      frames.map(frame => frame.number),
      frames.map((_, number) => number),
    )
    const [inner, outer] = [await on().frameOf(id, fails.inner), await on().frameOf(id, fails.outer)]
    assert.ok(inner < outer)
    if (frame !== undefined) assert.match(frames[inner]?.call ?? '', fails.argument.repr)
  })

  test('what is not there is not found, and what lives is named beside it', async () => {
    const { id } = await on().suspend(fails.source)
    const wrong = id.replace(/^s\d+/, 's99999')
    for (const suspension of [wrong, 's1@ffff', 'nonsense', '']) {
      const missing = await on().kernel.look('suspension', { suspension, from: 0, count: 5 }, LOOK)
      assert.equal(missing, { type: 'not_found', what: suspension, nearest: [id] })
      assert.is((await on().kernel.look('frame', { suspension, frame: 0 }, LOOK)).type, 'not_found')
      for (const doing of [on().inFrame(suspension, 0, '1'), on().resume(suspension, { type: 'leave' })]) {
        const refused = await doing.result
        assert.is(refused.type === 'refused' && refused.reason, 'not_found')
        assert.equal(refused.type === 'refused' && [refused.what, refused.nearest], [suspension, [id]])
      }
    }
    const far = await on().kernel.look('frame', { suspension: id, frame: 99_999 }, LOOK)
    assert.is(far.type, 'malformed')
    assert.equal(await on().live(), [id])
  })
}

function endFacts(test: Suite, { snippets, open }: SuspensionOptions): void {
  test('letting go of a kernel loses all that waits there, once each, and waits for none of it', async () => {
    const other = new SuspendingKernel(await open())
    await other.run(snippets.world, null).result
    const hold = other.kernel.identity.abilities.has('hold') ? { hold: true } : {}
    const ids: string[] = []
    for (let number = 0; number < 3; number++) ids.push((await other.suspend(snippets.fails.source, hold)).id)
    await other.kernel.close()
    await other.kernel.ended
    assert.equal(
      ids.map(id => other.endsOf(id)),
      ids.map(() => ['lost']),
    )
    assert.is(await codeOf(other.leave(ids[0] ?? '')), 'LINK_CLOSED')
  })
}

/** How suspended evaluations go on, in every kernel that declares `suspend`. */
function resumeFacts(test: Suite, on: On, snippets: SuspendingSnippets): void {
  const { fails, frame, holds, expression } = snippets
  if (frame !== undefined) {
    frameFacts(test, on, { fails, frame })
    nestedFacts(test, on, { fails, frame })
  }
  restartFacts(test, on, snippets)
  if (frame !== undefined && holds !== undefined) holdFacts(test, on, { fails, frame, holds, expression })
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

type Holding = InFrames & Pick<Required<SuspendingSnippets>, 'holds' | 'expression'>

function holdFacts(test: Suite, on: On, { fails, holds, frame, expression }: Holding): void {
  const hold = { hold: true }

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

  test('of stacks that are held the newest goes on or is left, and then the one before it', async () => {
    const ids: string[] = []
    for (let number = 0; number < 3; number++) ids.push((await on().suspend(holds.source, hold)).id)
    const [first = '', second = '', third = ''] = ids
    assert.is((await on().leave(third)).type, 'left')
    assert.is((await on().leave(second)).type, 'left')
    assert.is((await (await on().restart(first, holds.goesOn)).result).type, 'raised')
    assert.equal(
      ids.map(id => on().endsOf(id)),
      [['resumed'], ['left'], ['left']],
    )
    assert.equal(shownIn(await on().run(expression.source).result), [expression.repr])
  })
}
