import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Kernel } from '../../wire/kernel.ts'
import type { Task } from '../support/daemon-alone.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import type { SuspendingSnippets } from '../support/snippets-suspending.ts'
import { TRACING_LISP, TRACING_PYTHON } from '../support/snippets-tracing.ts'
import { LOOK, SuspendingKernel, shownIn } from '../support/suspended.ts'

interface GoneOptions {
  readonly title: string
  readonly snippets: SuspendingSnippets
  start(): Promise<Image>
}

/** An image in which a person works, and nothing of ours may be left behind. */
export interface Image {
  readonly task: Task
  open(): Promise<Kernel>
  /** The names of its threads, sorted. */
  threads(): Promise<readonly string[]>
}

const alone: ChildProcess[] = []
process.on('exit', () => {
  for (const child of alone) child.kill('SIGKILL')
})

/** What becomes of what is suspended and traced in an image when whoever has it so goes, however that is. */
export function goneFacts({ title, snippets, start }: GoneOptions): void {
  const test = suite(`${title}: what is suspended and traced when its daemon goes`, { limitMs: 120_000 })
  let image: Image

  test.before(async () => {
    image = await start()
    const { world, beat } = tracingOf(image)
    const on = new SuspendingKernel(await image.open())
    for (const source of [snippets.world, world, beat.start(2)])
      assert.is((await on.run(source, null).result).type, 'done')
    await on.kernel.close()
    // What is made once and kept is there from now on.
    await round(image, snippets)
  })

  test('a daemon that is killed leaves none of three in the image, no thread of theirs, and every function as it was while it is called (fault 8) (fault 15)', async () => {
    const before = await settled(image)
    const child = await daemonAlone(image.task)
    assert.ok((await image.threads()).length > before.length)
    child.kill('SIGKILL')
    await until(async () => isWithin(await image.threads(), before), 'its threads to end')
    const next = new SuspendingKernel(await image.open())
    assert.equal(await next.live(), [])
    assert.is((await next.run(snippets.expression.source).result).type, 'done')
    const { source, value } = tracingOf(image).untouched
    await until(
      async () => shownIn(await next.run(source, null).result)[0] === value,
      'the functions to be as they were',
    )
    await next.kernel.close()
  })

  test('whoever comes and goes ten times, each time with one that waits, leaves nothing behind', async () => {
    const before = await settled(image)
    const ids = new Set<string>()
    for (let number = 0; number < 10; number++) ids.add(await round(image, snippets))
    assert.is(ids.size, 10)
    await until(async () => isWithin(await image.threads(), before), 'its threads to end')
  })
}

const tracingOf = ({ task }: Image) => (task.language === 'lisp' ? TRACING_LISP : TRACING_PYTHON)

/** Its threads once none has come or gone for a while: some of them end a little after what they were for. */
async function settled(image: Image): Promise<readonly string[]> {
  let before = await image.threads()
  for (let same = 0; same < 5; ) {
    await new Promise(resolve => setTimeout(resolve, 100))
    const now = await image.threads()
    same = isWithin(now, before) && isWithin(before, now) ? same + 1 : 0
    before = now
  }
  return before
}

/** Whether each of the names is among the others as often. */
function isWithin(names: readonly string[], others: readonly string[]): boolean {
  const left = [...others]
  return names.every(name => left.includes(name) && left.splice(left.indexOf(name), 1).length === 1)
}

/** Comes to functions that are as they were, has one traced and an evaluation suspended, and goes. */
async function round(image: Image, { fails }: SuspendingSnippets): Promise<string> {
  const on = new SuspendingKernel(await image.open())
  const { area, untouched } = tracingOf(image)
  const seen = async () => shownIn(await on.run(untouched.source, null).result)[0]
  assert.is(await seen(), untouched.value)
  const query = { name: area.name, calls: 10, expires_ms: 600_000, who: 'test' }
  assert.is((await on.kernel.look('trace', query, LOOK)).type, 'found')
  assert.is.not(await seen(), untouched.value)
  const { id } = await on.suspend(fails.source)
  await on.kernel.close()
  assert.equal(on.endsOf(id), ['lost'])
  return id
}

/** A daemon of its own that has three evaluations suspended, and two functions traced. */
async function daemonAlone(task: Task): Promise<ChildProcess> {
  const script = join(import.meta.dirname, '../support/daemon-alone.ts')
  const child = spawn(process.execPath, [...process.execArgv, script, JSON.stringify(task)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  alone.push(child)
  let said = ''
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString()
  })
  await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
    return said.includes('\n')
  }, 'what it has suspended and traced')
  const { ids, states } = JSON.parse(said) as { ids: string[]; states: string[] }
  assert.equal([new Set(ids).size, states], [3, ['on', 'on']])
  return child
}
