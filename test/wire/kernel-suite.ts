import { ABILITIES, type Ability, type Inspected, type Kernel, type Watcher } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate, found, newCall, printed } from '../support/heard.ts'
import type { Snippets } from '../support/snippets.ts'
import { lookFacts } from './kernel-looks.ts'

export interface SuiteOptions {
  readonly title: string
  readonly snippets: Snippets
  /** A kernel of its own each time; the suite closes it. */
  open(): Promise<Kernel>
  /** Whose the descriptors of the process are: read by us, unless it is a program that had them before. */
  readonly descriptors?: 'ours' | "the program's"
}

const LOOK = { deadlineMs: 5_000 }

/** What every kernel must satisfy, whatever its language; proved on the real runtime, and on a fresh one where it ends. */
export const kernelSuite = (options: SuiteOptions): void => facts(options, { inShort: false })

/**
 * The same roads once more, for a kernel that differs from one of the whole suite in its transport, its encoding or by
 * whom it was begun: each kind of message goes there and back, large ones in pieces.
 */
export const kernelSmoke = (options: SuiteOptions): void => facts(options, { inShort: true })

function facts(
  { title, snippets, open, descriptors = 'ours' }: SuiteOptions,
  { inShort }: { readonly inShort: boolean },
): void {
  const all = suite(inShort ? `${title}, in short` : title)
  let kernel: Kernel
  const can = (...needs: readonly Ability[]) => needs.every(one => kernel.identity.abilities.has(one))
  /** What a kernel does not say that it can do it is not asked. */
  const short = (name: string, needs: readonly Ability[], prove: () => Promise<void>) =>
    all(name, async () => {
      if (can(...needs)) await prove()
    })
  /** A fact of the whole suite alone. */
  const test: typeof short = (...fact) => inShort || short(...fact)

  all.before(async () => {
    kernel = await open()
  })
  all.after(async () => {
    await kernel?.close()
  })
  // What a fact that failed has left running would have all others wait.
  all.after.each(async () => {
    const running = (await kernel?.status(LOOK))?.running
    if (running && can('interrupt')) await kernel.interrupt(running.call)
  })

  const run = (source: string, watcher?: Watcher) => evaluate(kernel, source, watcher).result
  const valuesOf = async (source: string) => {
    const evaluated = await run(source)
    return evaluated.type === 'done' ? evaluated.values.map(value => value.repr.text) : [evaluated.type]
  }

  test('it says who it is, and what it can do', [], async () => {
    assert.is(kernel.identity.language, snippets.language)
    assert.match(kernel.identity.epoch, /^[0-9a-f]{8}$/)
    assert.equal(
      ABILITIES.filter(ability => !kernel.identity.abilities.has(ability)),
      snippets.cannot,
    )
    assert.is(kernel.health, 'responsive')
  })

  test('an expression has one value, with its type', ['evaluate'], async () => {
    const { source, repr, type } = snippets.expression
    const evaluated = await run(source)
    if (evaluated.type !== 'done') throw new Error(evaluated.type)
    assert.is(evaluated.values.length, 1)
    assert.is(evaluated.values[0]?.repr.text, repr)
    assert.is(evaluated.values[0]?.repr.truncated, false)
    assert.is(evaluated.values[0]?.type.name, type)
    assert.ok(evaluated.elapsed_ms >= 0)
  })

  short('output of both streams comes in order, and all of it before the result', ['evaluate'], async () => {
    const { print, inOrder } = snippets
    const heard = evaluate(
      kernel,
      inOrder(print('stdout', 'one'), print('stderr', 'two'), print('stdout', 'three')),
    )
    assert.is((await heard.result).type, 'done')
    const before = heard.events.length
    assert.is(heard.text(), 'one\ntwo\nthree\n')
    assert.is(heard.text('stderr'), 'two\n')
    await run(snippets.expression.source)
    assert.is(heard.events.length, before)
  })

  test(
    descriptors === 'ours'
      ? 'what children print belongs to the evaluation, and comes before its result'
      : 'what children print goes where the program’s own output goes, and nowhere else',
    ['evaluate'],
    async () => {
      for (const word of ['below', 'again', 'once more']) {
        const heard = evaluate(kernel, snippets.printBelow(word))
        await heard.result
        assert.is(heard.text().trim(), descriptors === 'ours' ? word : '')
      }
    },
  )

  short('what is larger than one piece arrives whole, both ways', ['evaluate'], async () => {
    const long = 'y'.repeat(200_000)
    const heard = evaluate(kernel, snippets.print('stdout', long))
    assert.is((await heard.result).type, 'done')
    assert.is(heard.text(), `${long}\n`)
  })

  short('an exception keeps its message, its frames and the output before it', ['evaluate'], async () => {
    const { raises, print, inOrder } = snippets
    const heard = evaluate(kernel, inOrder(print('stdout', 'before'), raises.source('boom')))
    const evaluated = await heard.result
    if (evaluated.type !== 'raised') throw new Error(evaluated.type)
    assert.is(evaluated.exception.type.name, raises.type)
    assert.match(evaluated.exception.message, 'boom')
    assert.match(evaluated.exception.traceback, 'boom')
    const functions = evaluated.exception.frames.map(frame => frame.function)
    assert.equal(functions.slice(-raises.functions.length), raises.functions)
    assert.ok(
      evaluated.exception.frames.every(frame => (frame.source === null) === (raises.unplaced ?? false)),
    )
    assert.is(heard.text(), 'before\n')
  })

  test('a long text is cut, and the rest of it can be read', ['evaluate', 'more'], async () => {
    const evaluated = await run(snippets.longText.source(20_000))
    const repr = evaluated.type === 'done' ? evaluated.values[0]?.repr : undefined
    if (!repr?.handle) throw new Error('it has no handle')
    assert.is(repr.truncated, true)
    const total = snippets.longText.reprLength(20_000)
    assert.is(repr.original_len, total)
    const { handle } = repr
    const piece = await found(kernel, 'more', { handle, from: repr.text.length, count: 100 })
    assert.equal(piece.type === 'text' && [piece.text, piece.total], ['x'.repeat(100), total])
    const last = await found(kernel, 'more', { handle, from: total - 10, count: 100 })
    assert.equal(last.type === 'text' && [last.text.length, last.next], [10, null])
  })

  test('a value worth it has a handle that leads to its inspection', ['evaluate', 'inspect'], async () => {
    const { source, kind, length } = snippets.container
    const evaluated = await run(source)
    const handle = evaluated.type === 'done' ? evaluated.values[0]?.handle : undefined
    if (!handle) throw new Error('it has no handle')
    const { kind: its, size } = await found(kernel, 'inspect', { expr: handle })
    assert.equal([its, size && 'len' in size && size.len], [kind, length])
  })

  test(
    'globals are sorted, filtered and paged, and none of them is ours',
    ['evaluate', 'globals'],
    async () => {
      const { assign, inOrder, expression } = snippets
      const names = ['zzpage1', 'zzpage2', 'zzpage3']
      await run(inOrder(...names.map(name => assign(name, expression.source))))
      const query = { filter: 'ZZpage', modules: false, limit: 2 }
      const [one, two, three] = names.map(name => ({ name, type_name: expression.type }))
      const first = await found(kernel, 'globals', query)
      assert.equal([first.globals, first.total], [[one, two], 3])
      const rest = await found(kernel, 'globals', { ...query, after: first.next ?? '' })
      assert.equal([rest.globals, rest.next], [[three], undefined])
      const ours = await found(kernel, 'globals', { filter: 'imago', modules: true, limit: 10 })
      assert.is(ours.total, 0)
    },
  )

  test(
    'inspection tells what is static, what must be evaluated, what is not there and what is no expression',
    ['evaluate', 'inspect'],
    async () => {
      const { call, expression, assign } = snippets
      await run(assign('seenvalue', expression.source))
      const inspect = (expr: string) => kernel.look('inspect', { expr }, LOOK)

      const shown = ({ type, repr }: Inspected) => [type.name, repr && 'text' in repr && repr.text]
      const stored = await found(kernel, 'inspect', { expr: 'seenvalue' })
      assert.equal(shown(stored), [expression.type, expression.repr])
      assert.is((await inspect(call.source)).type, 'needs_evaluation')
      const missing = await inspect('seenvaleu')
      if (missing.type !== 'not_found') throw new Error(missing.type)
      assert.ok(missing.nearest.includes(snippets.qualified('seenvalue')))
      assert.is((await inspect(snippets.malformed)).type, 'malformed')
    },
  )

  short(
    'looking works while an evaluation runs',
    ['evaluate', 'globals', 'inspect', 'interrupt'],
    async () => {
      const { print, forever, inOrder } = snippets
      await run(snippets.assign('seenvalue', snippets.expression.source))
      const heard = evaluate(kernel, inOrder(print('stdout', 'started'), forever))
      await printed(heard, 'started')
      assert.is((await kernel.look('globals', { modules: false, limit: 5 }, LOOK)).type, 'found')
      assert.is((await kernel.look('inspect', { expr: 'seenvalue' }, LOOK)).type, 'found')
      const status = await kernel.status(LOOK)
      assert.is(status.running?.call, heard.call)
      assert.is(status.queued, 0)
      assert.is((await kernel.interrupt(heard.call)).outcome, 'stopped')
      assert.is((await heard.result).type, 'interrupted')
      assert.equal(await kernel.status(LOOK), { running: null, queued: 0 })
    },
  )

  test('an interrupt hits only the call that it names', ['evaluate', 'interrupt'], async () => {
    const { print, forever, inOrder, expression } = snippets
    const first = evaluate(kernel, inOrder(print('stdout', 'started'), forever))
    const second = evaluate(kernel, expression.source)
    const third = evaluate(kernel, inOrder(print('stdout', 'third'), expression.source))
    await printed(first, 'started')
    assert.is((await kernel.status(LOOK)).queued, 2)
    assert.is((await kernel.interrupt(third.call)).outcome, 'withdrawn')
    assert.is((await third.result).type, 'withdrawn')
    assert.is((await kernel.interrupt(newCall())).outcome, 'not_running')
    assert.is((await kernel.interrupt(first.call)).outcome, 'stopped')
    assert.is((await first.result).type, 'interrupted')
    assert.is((await second.result).type, 'done')
    assert.is((await kernel.interrupt(second.call)).outcome, 'not_running')
    assert.is(third.text(), '')
  })

  test(
    'a cancel at the moment of completion ends each call once, and never hits the next one (fault 30)',
    ['evaluate'],
    async () => {
      for (let round = 0; round < 100; round++) {
        const abort = new AbortController()
        const first = evaluate(kernel, snippets.expression.source, { signal: abort.signal })
        const next = evaluate(kernel, snippets.expression.source)
        setTimeout(() => abort.abort(), round % 4)
        const outcome = (await first.result).type
        assert.ok(['done', 'interrupted', 'withdrawn'].includes(outcome), outcome)
        abort.abort()
        assert.is((await next.result).type, 'done')
      }
    },
  )

  short('code that reads a line gets the answer of whoever asked for it', ['evaluate', 'ask'], async () => {
    const { readLine } = snippets
    const questions: unknown[] = []
    const ask = async (question: unknown) => {
      questions.push(question)
      return 'a line'
    }
    const evaluated = await run(readLine.source('who? '), { ask })
    assert.equal(evaluated.type === 'done' && evaluated.values.map(value => value.repr.text), [
      readLine.repr('a line'),
    ])
    assert.equal(questions, [{ type: 'stdin', prompt: 'who? ', secret: false }])
  })

  test(
    'code that reads a line where nobody answers is told, and does not hang',
    ['evaluate', 'ask'],
    async () => {
      const refuse = () => Promise.reject(new Error('nobody is here'))
      for (const watcher of [{}, { ask: refuse }]) {
        assert.is((await run(snippets.readLine.source('who? '), watcher)).type, 'raised')
      }
    },
  )

  test(
    'the same call asked for twice runs once, and both get its result (fault 29)',
    ['evaluate'],
    async () => {
      const { assign, inOrder, print, expression } = snippets
      await run(assign('runs', '0'))
      const source = inOrder(
        assign('runs', snippets.oneMore('runs')),
        print('stdout', 'ran'),
        expression.source,
      )
      const call = newCall()
      const both = [evaluate(kernel, source, { call }), evaluate(kernel, source, { call })]
      for (const heard of both) assert.is((await heard.result).type, 'done')
      assert.is((await evaluate(kernel, source, { call }).result).type, 'done')
      assert.equal(await valuesOf('runs'), ['1'])
    },
  )

  test(
    'up to 64 evaluations wait, in order; one more is BUSY and does not run',
    ['evaluate', 'interrupt'],
    async () => {
      const { assign, inOrder, print, forever } = snippets
      await run(assign('turn', '0'))
      const first = evaluate(kernel, inOrder(print('stdout', 'started'), forever))
      await printed(first, 'started')
      const waiting = Array.from({ length: 63 }, () =>
        evaluate(kernel, inOrder(assign('turn', snippets.oneMore('turn')), print('stdout', 'ran'))),
      )
      assert.is(await codeOf(evaluate(kernel, assign('turn', '1000')).result), 'BUSY')
      await kernel.interrupt(first.call)
      for (const heard of waiting) assert.is((await heard.result).type, 'done')
      assert.equal(await valuesOf('turn'), ['63'])
    },
  )

  if (!inShort) lookFacts(all, { snippets, kernel: () => kernel })

  short(
    'close settles what is pending with LINK_CLOSED, and everything afterwards',
    ['evaluate'],
    async () => {
      const other = await open()
      const health: string[] = []
      other.watchHealth(now => health.push(now))
      const first = evaluate(other, snippets.inOrder(snippets.print('stdout', 'started'), snippets.forever))
      const second = evaluate(other, snippets.expression.source)
      await printed(first, 'started')
      await other.close()
      await Promise.allSettled([first.result, second.result])
      assert.ok(['LINK_CLOSED', 'no fault'].includes(await codeOf(first.result)))
      assert.is((await other.ended).reason, 'closed')
      assert.equal(health, ['ended'])
      assert.is(other.health, 'ended')
      assert.is(await codeOf(evaluate(other, snippets.expression.source).result), 'LINK_CLOSED')
      if (can('globals'))
        assert.is(await codeOf(other.look('globals', { modules: false, limit: 1 }, LOOK)), 'LINK_CLOSED')
      if (can('interrupt')) assert.is(await codeOf(other.interrupt(first.call)), 'LINK_CLOSED')
      await other.close()
    },
  )
}
