import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Kernel } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import type { SuspendingSnippets } from '../support/snippets-suspending.ts'
import { SuspendingKernel } from '../support/suspended.ts'
import type { Task } from '../support/suspending-alone.ts'

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

/** What becomes of what is suspended in an image when whoever has it suspended goes, however that is. */
export function goneFacts({ title, snippets, start }: GoneOptions): void {
  const test = suite(`${title}: what is suspended when its daemon goes`, { limitMs: 120_000 })
  let image: Image

  test.before(async () => {
    image = await start()
    // What is made once and kept is there from now on.
    await round(image, snippets)
  })

  test('a daemon that is killed leaves none of three in the image, and no thread of theirs (fault 8)', async () => {
    const before = await settled(image)
    const child = await suspendAlone(image.task)
    assert.ok((await image.threads()).length > before.length)
    child.kill('SIGKILL')
    await until(async () => isWithin(await image.threads(), before), 'its threads to end')
    const next = new SuspendingKernel(await image.open())
    assert.equal(await next.live(), [])
    assert.is((await next.run(snippets.expression.source).result).type, 'done')
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

/** Comes, has an evaluation suspended, and goes. */
async function round(image: Image, { world, fails }: SuspendingSnippets): Promise<string> {
  const on = new SuspendingKernel(await image.open())
  await on.run(world, null).result
  const { id } = await on.suspend(fails.source)
  await on.kernel.close()
  assert.equal(on.endsOf(id), ['lost'])
  return id
}

/** A daemon of its own that has three evaluations suspended. */
async function suspendAlone(task: Task): Promise<ChildProcess> {
  const script = join(import.meta.dirname, '../support/suspending-alone.ts')
  const child = spawn(process.execPath, [...process.execArgv, script, JSON.stringify(task)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  alone.push(child)
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', code => reject(new Error(`it ended with ${code}`)))
    child.stdout.on('data', (text: Buffer) => {
      said += text.toString()
      if (said.includes('\n')) resolve()
    })
  })
  assert.is(new Set(JSON.parse(said) as string[]).size, 3)
  return child
}
