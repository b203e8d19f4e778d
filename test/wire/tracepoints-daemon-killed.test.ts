import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Kernel } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate } from '../support/heard.ts'
import { attachedTo, pythonProgram } from '../support/real-kernels.ts'
import { until } from '../support/rig.ts'
import { TRACING_LISP, TRACING_PYTHON, type TracingSnippets } from '../support/snippets-tracing.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import type { Traced } from '../support/tracing-alone.ts'

/** A program that a daemon of its own may trace. */
interface Image {
  readonly traced: Traced
  open(): Promise<Kernel>
}

const IMAGES: readonly (readonly [string, TracingSnippets, () => Promise<Image>])[] = [
  ['SBCL, attached', TRACING_LISP, lispImage],
  ['Python, attached', TRACING_PYTHON, pythonImage],
]

const alone: ChildProcess[] = []
process.on('exit', () => {
  for (const child of alone) child.kill('SIGKILL')
})

for (const [title, snippets, start] of IMAGES) {
  const test = suite(`${title}: what is traced when its daemon goes`)

  test('a daemon that is killed, or leaves, leaves every function as it was, while it is called (fault 15)', async () => {
    const image = await start()
    const first = await image.open()
    await resultOf(first, snippets.world)
    await resultOf(first, snippets.beat.start(2))
    const query = { name: snippets.area.name, calls: 10, expires_ms: 600_000, who: 'test' }
    assert.is((await first.look('trace', query, { deadlineMs: 10_000 })).type, 'found')
    assert.not.equal(await resultOf(first, snippets.untouched.source), snippets.untouched.value)
    await first.close()
    await untouchedIn(image, snippets)
    const child = await traceAlone(image.traced)
    child.kill('SIGKILL')
    await untouchedIn(image, snippets)
  })
}

async function resultOf(kernel: Kernel, source: string): Promise<string | undefined> {
  const evaluated = await evaluate(kernel, source).result
  if (evaluated.type !== 'done') throw new Error(JSON.stringify(evaluated))
  return evaluated.values[0]?.repr.text
}

/** Asked over connections that trace nothing. A program has only one daemon, so the dead one is gone by then. */
async function untouchedIn(image: Image, { untouched }: TracingSnippets): Promise<void> {
  const kernel = await image.open()
  await until(
    async () => (await resultOf(kernel, untouched.source)) === untouched.value,
    'the functions to be as they were',
  )
  await kernel.close()
}

async function traceAlone(image: Traced): Promise<ChildProcess> {
  const script = join(import.meta.dirname, '../support/tracing-alone.ts')
  const child = spawn(process.execPath, [...process.execArgv, script, JSON.stringify(image)], {
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
  }, 'two tracepoints')
  assert.equal(JSON.parse(said), ['on', 'on'])
  return child
}

async function lispImage(): Promise<Image> {
  const swank = await startSwank()
  return { traced: { language: 'lisp', port: swank.port }, open: () => openSwankKernel(swank) }
}

async function pythonImage(): Promise<Image> {
  const program = await pythonProgram()
  return { traced: { language: 'python', ...program }, open: () => attachedTo(program) }
}
