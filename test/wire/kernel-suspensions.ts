import type { Kernel } from '../../wire/kernel.ts'
import { assert, type Suite, suite } from '../support/harness.ts'
import { codeOf } from '../support/heard.ts'
import type { SuspendingSnippets } from '../support/snippets-suspending.ts'
import { LOOK, SuspendingKernel, shownIn, suspensionIn } from '../support/suspended.ts'
import { resumeFacts } from './kernel-resumes.ts'

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
  leaseFacts(test, on, snippets)
  resumeFacts(test, on, snippets)
  endFacts(test, options)
}

type On = () => SuspendingKernel

function lookFacts(test: Suite, on: On, { fails, how, expression, deep, frame }: SuspendingSnippets): void {
  test('an error suspends an evaluation that asks for it, and no other', async () => {
    assert.is((await on().run(fails.source, null).result).type, 'raised')
    const before = on().news.length
    const { call, result } = on().run(fails.source)
    const outcome = await result
    const suspension = suspensionIn(outcome)
    assert.match(suspension.id, /^s\d+@[0-9a-f]{4}$/)
    const { type, message, expires_in_ms, at, ...rest } = suspension
    assert.equal(rest, { id: suspension.id, call, who: 'test', how, level: 1, within: null, busy: false })
    assert.equal([type.name, message], [fails.type, fails.message])
    assert.ok(expires_in_ms > 0 && expires_in_ms <= 600_000)
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

  test('a deep stack is told page by page, and each frame of it once', async () => {
    const { source, function: name } = deep(400)
    const { id } = await on().suspend(source)
    const numbers: number[] = []
    let deepest = 0
    for (let from: number | null = 0; from !== null; ) {
      const page: Awaited<ReturnType<SuspendingKernel['state']>> = await on().state(id, from, 100)
      assert.ok(page.frames.length <= 100)
      numbers.push(...page.frames.map(frame => frame.number))
      deepest += page.frames.filter(frame => frame.function === name).length
      from = page.next
      if (page.frames_total !== null && from === null) assert.is(page.frames_total, numbers.length)
    }
    assert.equal(
      numbers,
      numbers.map((_, number) => number),
    )
    assert.ok(deepest >= 400, `${deepest} frames`)
    assert.equal(
      (await on().state(id, 5, 1)).frames.map(frame => frame.number),
      [5],
    )
    assert.equal((await on().state(id, 100_000, 5)).frames, [])
  })

  test('a frame shows its locals, and one worth it has a handle that leads on', async () => {
    const { id } = await on().suspend(fails.source)
    const number = await on().frameOf(id, fails.inner)
    const found = await on().kernel.look('frame', { suspension: id, frame: number }, LOOK)
    if (found.type !== 'found') throw new Error(found.type)
    const { locals, can, around } = found.value
    assert.is(can.includes('evaluate'), frame !== undefined)
    assert.ok(around === null || around.lines.length > 0)
    if (frame === undefined) return
    const argument = locals.find(one => one.name === fails.argument.name)
    assert.equal([argument?.argument, argument?.value.repr.text], [true, fails.argument.repr])
    const handle = locals.find(one => one.name === fails.list)?.value.handle
    if (handle === undefined) throw new Error(`no handle among ${JSON.stringify(locals)}`)
    const inspected = await on().kernel.look('inspect', { expr: handle, evaluate: false }, LOOK)
    assert.is(inspected.type, 'found')
  })

  test('what is not there is not found, and what lives is named beside it', async () => {
    const { id } = await on().suspend(fails.source)
    const wrong = id.replace(/^s\d+/, 's99999')
    for (const suspension of [wrong, 's1@ffff', 'nonsense', '']) {
      const missing = await on().kernel.look('suspension', { suspension, from: 0, count: 5 }, LOOK)
      assert.equal(missing, { type: 'not_found', what: suspension, nearest: [id] })
      assert.is((await on().kernel.look('frame', { suspension, frame: 0 }, LOOK)).type, 'not_found')
      assert.is((await on().kernel.look('lease', { suspension, lease_ms: 5_000 }, LOOK)).type, 'not_found')
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

function leaseFacts(test: Suite, on: On, { fails, frame }: SuspendingSnippets): void {
  test('a lease that nobody renews is ended by the image itself, and told so once', async () => {
    const { id } = await on().suspend(fails.source, { leaseMs: 60 })
    assert.equal(await on().end(id), ['expired'])
    assert.equal(await on().live(), [])
    const refused = await on().leave(id)
    assert.is(refused.type === 'refused' && refused.reason, 'not_found')
    const kept = await on().suspend(fails.source)
    const lease = await on().kernel.look('lease', { suspension: kept.id, lease_ms: 60 }, LOOK)
    assert.is(lease.type === 'found' && lease.value.expires_in_ms <= 60, true)
    assert.equal(await on().end(kept.id), ['expired'])
    assert.equal(on().endsOf(id), ['expired'])
  })

  /** What is left of the time of the only one that is suspended. */
  async function left(): Promise<number> {
    const found = await on().kernel.look('suspensions', {}, LOOK)
    return found.type === 'found' ? (found.value.suspensions[0]?.expires_in_ms ?? 0) : 0
  }

  test('whoever looks to renew one, or works with it, has its time begin anew', async () => {
    const { id } = await on().suspend(fails.source)
    const look = { suspension: id, renew: true } as const
    const comers: readonly (() => Promise<unknown>)[] = [
      () => on().kernel.look('suspension', { ...look, from: 0, count: 5 }, LOOK),
      () => on().kernel.look('frame', { ...look, frame: 0 }, LOOK),
      ...(frame ? [() => on().inFrame(id, 0, fails.argument.name).result] : []),
    ]
    for (const come of comers) {
      const before = await left()
      let low = before
      while (low > before - 1_000) low = await left()
      // However slow the machine, at some time it is asked soon enough after somebody came.
      do await come()
      while ((await left()) <= low)
    }
  })

  test('a look that does not renew, and whatever is refused or not found, leaves one the time that it has', async () => {
    const { id } = await on().suspend(fails.source)
    const look = { suspension: id, renew: true } as const
    const comers: readonly (() => Promise<unknown>)[] = [
      () => on().state(id),
      () => on().kernel.look('frame', { suspension: id, frame: 0 }, LOOK),
      () => on().kernel.look('frame', { ...look, frame: 99_999 }, LOOK),
      () => on().inFrame(id, 99_999, '1').result,
      () => on().resume(id, { type: 'restart', restart: 99 }).result,
      () => on().resume(id, { type: 'return', frame: 99_999, value: '1' }).result,
    ]
    let low = await left()
    for (const come of comers) {
      // So much later that a time which had begun anew would be told from this one.
      for (const begun = low; low > begun - 50; ) low = await left()
      await come()
      const now = await left()
      assert.ok(now <= low, `${come}: ${low} ms, then ${now} ms`)
    }
  })

  test('the ninth error at a time ends its evaluation, and says why', async () => {
    const ids: string[] = []
    for (let number = 0; number < 8; number++) ids.push((await on().suspend(fails.source)).id)
    assert.is(new Set(ids).size, 8)
    assert.equal(await on().live(), ids.toReversed())
    const ninth = await on().run(fails.source).result
    if (ninth.type !== 'raised') throw new Error(ninth.type)
    assert.match((ninth.exception.notes ?? []).join('\n'), '8')
    assert.is((await on().leave(ids[3] ?? '')).type, 'left')
    const next = await on().suspend(fails.source)
    assert.is(ids.includes(next.id), false)
  })
}

function endFacts(test: Suite, { snippets, open }: SuspensionOptions): void {
  test('letting go of a kernel loses all that waits there, once each, and waits for none of it', async () => {
    const other = new SuspendingKernel(await open())
    await other.run(snippets.world, null).result
    const hold = other.kernel.identity.abilities.has('hold') ? { hold: true } : {}
    const ids: string[] = []
    for (let number = 0; number < 3; number++)
      ids.push((await other.suspend(snippets.fails.source, { leaseMs: 600_000, ...hold })).id)
    await other.kernel.close()
    await other.kernel.ended
    assert.equal(
      ids.map(id => other.endsOf(id)),
      ids.map(() => ['lost']),
    )
    assert.is(await codeOf(other.leave(ids[0] ?? '')), 'LINK_CLOSED')
  })
}
