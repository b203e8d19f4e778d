import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Kernel } from '../../wire/kernel.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { textOf } from '../../wire/swank/connection.ts'
import { symbol } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { attachedTo, pythonProgram } from '../support/real-kernels.ts'
import { until } from '../support/rig.ts'
import {
  SUSPENDING_LISP,
  SUSPENDING_PYTHON,
  type SuspendingSnippets,
} from '../support/snippets-suspending.ts'
import { SuspendingKernel } from '../support/suspended.ts'
import type { Task } from '../support/suspending-alone.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'

/** An image in which a person works, and nothing of ours may be left behind. */
interface Image {
  readonly task: Task
  open(): Promise<Kernel>
  /** Its threads, in a form that can be compared. */
  threads(): Promise<unknown>
}

const IMAGES: readonly (readonly [string, SuspendingSnippets, () => Promise<Image>])[] = [
  ['SBCL, attached', SUSPENDING_LISP, lispImage],
  ['Python, attached', SUSPENDING_PYTHON, pythonImage],
]

const alone: ChildProcess[] = []
process.on('exit', () => {
  for (const child of alone) child.kill('SIGKILL')
})

for (const [title, snippets, start] of IMAGES) {
  const test = suite(`${title}: what is suspended when its daemon goes`, { limitMs: 120_000 })
  let image: Image

  test.before(async () => {
    image = await start()
    // What is made once and kept is there from now on.
    await round(image, snippets)
  })

  test('a daemon that is killed leaves none of three in the image, and no thread of theirs (fault 8)', async () => {
    const before = await image.threads()
    const child = await suspendAlone(image.task)
    assert.not.equal(await image.threads(), before)
    child.kill('SIGKILL')
    await until(
      async () => JSON.stringify(await image.threads()) === JSON.stringify(before),
      'its threads to end',
    )
    const next = new SuspendingKernel(await image.open())
    assert.equal(await next.live(), [])
    assert.is((await next.run(snippets.expression.source).result).type, 'done')
    await next.kernel.close()
  })

  test('whoever comes and goes ten times, each time with one that waits, leaves nothing behind', async () => {
    const before = await image.threads()
    const ids = new Set<string>()
    for (let number = 0; number < 10; number++) ids.add(await round(image, snippets))
    assert.is(ids.size, 10)
    await until(
      async () => JSON.stringify(await image.threads()) === JSON.stringify(before),
      'its threads to end',
    )
  })
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
  const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(task)], {
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
  }, 'three suspensions')
  assert.is(new Set(JSON.parse(said) as string[]).size, 3)
  return child
}

async function lispImage(): Promise<Image> {
  const swank = await startSwank()
  const person = await connectSwank({ host: '127.0.0.1', port: swank.port, secret: null })
  const names =
    '(format nil "~{~A~^, ~}" (sort (mapcar (function sb-thread:thread-name) (sb-thread:list-all-threads)) (function string<)))'
  return {
    task: { language: 'lisp', port: swank.port },
    open: () => openSwankKernel(swank),
    async threads() {
      const answer = await person.connection.rex([symbol('swank:eval-and-grab-output'), names])
      if ('abort' in answer) throw new Error(answer.abort)
      return Array.isArray(answer.ok) ? textOf(answer.ok[1]) : ''
    },
  }
}

async function pythonImage(): Promise<Image> {
  const program = await pythonProgram()
  return {
    task: { language: 'python', ...program },
    open: () => attachedTo(program),
    threads: async () => readdirSync(`/proc/${program.pid}/task`).length,
  }
}
