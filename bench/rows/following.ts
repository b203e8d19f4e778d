import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type BenchDaemon, pause } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import type { Row } from '../row.ts'

const NAME = 'bench-web'
const PROGRAM = `import imago, threading\nimago.listen(${JSON.stringify(NAME)})\nthreading.Event().wait()\n`
const PARENT = 'import subprocess, sys\nwhile True: subprocess.call([sys.executable, "web.py"])\n'

const ground = sharedGround(async daemon => {
  writeFileSync(join(daemon.folder, 'web.py'), PROGRAM)
  writeFileSync(join(daemon.folder, 'parent.py'), PARENT)
  const env = { ...daemon.env, PYTHONPATH: join(PACKAGE_ROOT, 'wire/peers/python') }
  const parent = spawn('python3', ['parent.py'], { cwd: daemon.folder, env, stdio: 'ignore' })
  await processAfter(daemon, 0)
  return () => {
    parent.kill('SIGKILL')
    for (const { pid } of announced(daemon)) kill(pid)
  }
})

interface Announced {
  readonly pid: number
  readonly announced_at: string
}

function announced({ folder }: BenchDaemon): readonly Announced[] {
  const programs = join(folder, 'run', 'programs')
  const files = readdirSync(programs).filter(name => name.endsWith('.json'))
  return files.map(name => JSON.parse(readFileSync(join(programs, name), 'utf8')) as Announced)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // What was killed in a round before has left its announcement.
  }
}

/** The process that answers, once it is another one than before. */
async function processAfter(daemon: BenchDaemon, before: number): Promise<number> {
  const asked = { kernel: NAME, expr: '__import__("os").getpid()' }
  for (;;) {
    const result = await daemon.call('eval_expr', asked).catch(() => undefined)
    const pid = Number((result as { value_repr?: string } | undefined)?.value_repr ?? before)
    if (pid !== before) return pid
    await pause(5)
  }
}

export const successorAnswers: Row = {
  what: 'a program that is started anew: from the announcement of its successor to the first answer of that',
  how: 'a Python that listens is killed, and its parent starts it again; calls under its name go on meanwhile. From the time in the announcement of the new process to the first value that it has answered with',
  bar: { relation: '≤', limit: 1, unit: 's' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const before = await processAfter(daemon, 0)
    kill(before)
    const pid = await processAfter(daemon, before)
    const answered = Date.now()
    const began = announced(daemon).find(one => one.pid === pid)?.announced_at ?? ''
    return { figure: (answered - Date.parse(began)) / 1_000, parts: {} }
  },
}
