import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ability, Evaluated, Kernel, Loaded, LookName, Looks, Work } from '../../wire/kernel.ts'
import { assert, type Suite } from '../support/harness.ts'
import { evaluate, found, newCall } from '../support/heard.ts'
import { until } from '../support/rig.ts'
import type { Snippets } from '../support/snippets.ts'

const LOOK = { deadlineMs: 5_000 }

/** What every kernel must find that says it can look at names, at classes, at what runs, and can load. */
export function lookFacts(
  test: Suite,
  { snippets, kernel }: { snippets: Snippets; kernel: () => Kernel },
): void {
  const { world, module, waiter } = snippets
  let folder = ''
  let prepared = false

  test.before(() => {
    folder = mkdtempSync(join(tmpdir(), 'imago-looks-'))
  })
  test.after(() => rmSync(folder, { recursive: true, force: true }))

  const look = <Name extends LookName>(name: Name, query: Looks[Name]['query']) =>
    kernel().look(name, query, LOOK)
  async function run(source: string): Promise<Evaluated> {
    const evaluated = await evaluate(kernel(), source).result
    if (evaluated.type === 'raised') throw new Error(evaluated.exception.traceback)
    return evaluated
  }
  const work = (what: Work) => kernel().evaluate({ call: newCall(), who: 'test', work: what }, {})
  async function loadedBy(what: Work): Promise<Loaded> {
    const evaluated = await work(what)
    if (evaluated.type !== 'done' || !evaluated.loaded) throw new Error(JSON.stringify(evaluated))
    return evaluated.loaded
  }
  const reprOf = async (source: string) => {
    const evaluated = await run(source)
    return evaluated.type === 'done' ? evaluated.values[0]?.repr.text : evaluated.type
  }
  const written = (text: string) => {
    const file = join(folder, module.file)
    writeFileSync(file, text)
    return file
  }

  /** The names that all of these are tried on are there before the first of them. */
  async function prepare(): Promise<void> {
    if (prepared) return
    prepared = true
    await run(world.source)
    written(module.before)
    await run(module.load(folder))
  }
  /** What a kernel does not say that it can do it is not asked. */
  const fact = (ability: Ability, title: string, prove: () => Promise<void>) =>
    test(title, async () => {
      const { abilities } = kernel().identity
      if (!abilities.has(ability) || !abilities.has('evaluate')) return
      await prepare()
      await prove()
    })

  fact(
    'definition',
    'a definition that was typed in has its source, and one of a file has its place',
    async () => {
      const query = { name: world.function.name, max_length: 10_000 }
      const typed = await found(kernel(), 'definition', query)
      assert.is(typed.kind, 'function')
      assert.match(typed.source?.text ?? '', world.function.text)
      assert.is(typed.language, snippets.language)
      const filed = await found(kernel(), 'definition', { ...query, name: module.named(module.offers) })
      if (module.unplaced) assert.is(filed.file, null)
      else {
        assert.is(filed.file, join(folder, module.file))
        assert.ok(filed.current === true || filed.running?.functions.length === 1)
        assert.ok((filed.line ?? 0) >= 1 && (filed.end_line ?? 0) > (filed.line ?? 0))
      }
      if (world.class === undefined) return
      const method = await found(kernel(), 'definition', { ...query, name: world.class.method })
      assert.is(method.kind, world.class.methodKind)
    },
  )

  for (const name of ['definition', 'describe', 'arglist', 'slots', 'hierarchy', 'references'] as const)
    fact(
      name,
      `${name} tells a name that is not there, with what is like it, from code that would have to run`,
      async () => {
        const query = (name: string) => ({ name, max_length: 1_000, limit: 10 })
        const ofClasses = name === 'slots' || name === 'hierarchy'
        const near = (ofClasses ? world.class?.name : undefined) ?? world.function.name
        const missing = await look(name, query(`${near.slice(0, -2)}${near.at(-1)}${near.at(-2)}`))
        if (missing.type !== 'not_found') throw new Error(JSON.stringify(missing))
        assert.ok(missing.nearest.includes(snippets.qualified(near)), missing.nearest.join())
        assert.is.not((await look(name, query(snippets.call.source))).type, 'found')
        assert.is.not((await look(name, query(snippets.malformed))).type, 'found')
      },
    )

  fact(
    'references',
    'who uses a function and who holds it are found, and where was looked is said',
    async () => {
      const { references, searched } = await found(kernel(), 'references', {
        name: world.function.name,
        limit: 100,
      })
      const is = (name: string, kind: string) =>
        references.some(one => one.from.includes(name) && one.kind === kind)
      const told = JSON.stringify(references)
      assert.ok(is(world.user, kernel().identity.abilities.has('callers') ? 'calls' : 'uses'), told)
      assert.ok(is(world.holder, 'holds'), told)
      assert.ok(searched.length > 0)
    },
  )

  fact('threads', 'every stack is there, with where it stands, and a filter finds one of them', async () => {
    const query = { limit: 50, frames: 20, locals: true }
    await run(waiter.source)
    if (waiter.seen)
      await until(async () => {
        const [thread] = (await found(kernel(), 'threads', { ...query, filter: waiter.function })).threads
        return thread?.state === 'waiting' && thread.names.includes(waiter.thread)
      }, 'the thread to wait')
    const all = await found(kernel(), 'threads', query)
    assert.ok(all.threads_total >= 2)
    assert.ok(all.threads.some(({ role }) => role === 'main' || role === 'evaluating'))
    const { threads, tasks } = await found(kernel(), 'threads', { ...query, filter: waiter.thread })
    assert.is(tasks.length, 0)
    assert.equal(
      threads.map(({ names, count }) => [names, count]),
      [[[waiter.thread], 1]],
    )
    if (!waiter.seen) {
      assert.equal(threads[0]?.frames, [])
      assert.ok(all.notes.length > 0)
      return
    }
    assert.is(threads[0]?.state, 'waiting')
    const frame = threads[0]?.frames.find(one => one.function.includes(waiter.function))
    assert.ok(frame?.line !== null && (frame?.locals.length ?? 0) > 0, JSON.stringify(threads))
    const bare = await found(kernel(), 'threads', {
      ...query,
      filter: waiter.function,
      locals: false,
      limit: 1,
    })
    assert.ok(bare.threads[0]?.frames.every(({ locals }) => locals.length === 0))
  })

  fact('history', 'what was evaluated is told newest first, with who asked and what came of it', async () => {
    await run(snippets.expression.source)
    await evaluate(kernel(), snippets.raises.source('in history')).result
    const { entries, total } = await found(kernel(), 'history', { limit: 2 })
    assert.equal(
      entries.map(({ who, source, outcome }) => [who, source, outcome]),
      [
        ['test', snippets.raises.source('in history'), 'raised'],
        ['test', snippets.expression.source, 'done'],
      ],
    )
    assert.match(entries[0]?.result ?? '', 'in history')
    assert.is(entries[1]?.result, snippets.expression.repr)
    assert.is(total, entries[0]?.number)
    const older = await found(kernel(), 'history', { limit: 1, before: entries[1]?.number ?? 0 })
    assert.is(older.entries[0]?.number, total - 2)
  })

  fact('last_error', 'the last error is kept with its frames, until the next one', async () => {
    for (const message of ['one', 'another']) {
      const heard = evaluate(kernel(), snippets.raises.source(message))
      await heard.result
      const { error, who, call } = await found(kernel(), 'last_error', {})
      assert.match(error?.message ?? '', message)
      assert.equal([who, call], ['test', heard.call])
      const functions = error?.frames.map(frame => frame.function) ?? []
      assert.equal(functions.slice(-snippets.raises.functions.length), snippets.raises.functions)
    }
  })

  fact('errors', 'what a caller evaluates is none of the errors of the program', async () => {
    const { total } = await found(kernel(), 'errors', { count: 20 })
    await evaluate(kernel(), snippets.raises.source('of a caller')).result
    assert.is((await found(kernel(), 'errors', { count: 20 })).total, total)
  })

  fact(
    'reload',
    'a module that was edited is reloaded in place, and what of the old lives on is told',
    async () => {
      await run(module.lives)
      assert.is(await reprOf(module.call), module.reprs[0])
      written(module.after)
      const loaded = await loadedBy({ type: 'reload', module: module.name })
      assert.is(await reprOf(module.call), module.reprs[1])
      assert.ok(loaded.added.includes(module.loaded(module.comes)), JSON.stringify(loaded))
      assert.ok(loaded.replaced.includes(module.loaded(module.offers)))
      assert.ok(loaded.kept.includes(module.loaded(module.internal)))
      const old = loaded.survivors.find(({ name }) => name.includes(module.class))
      assert.equal([old?.kind, old?.instances], ['class', 1])
    },
  )

  fact(
    'load',
    'a file is loaded into the module that it is the source of, or only some of its names',
    async () => {
      const file = written(module.before)
      const some = await loadedBy({ type: 'load', file, names: [module.offers] })
      // A language that keeps texts of definitions knows that this one is as it was.
      const again = [...some.replaced, ...(some.unchanged ?? [])]
      assert.equal([some.module, some.added, again], [module.into, [], [module.loaded(module.offers)]])
      assert.is(await reprOf(module.call), module.reprs[0])
      written(module.after)
      const all = await loadedBy({ type: 'load', file })
      assert.ok(all.replaced.includes(module.loaded(module.class)), JSON.stringify(all))
      assert.is(await reprOf(module.call), module.reprs[1])
    },
  )
}
