import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { type Program, startProgram } from '../../test/support/program.ts'
import { openScriptedModel, type ScriptedModel } from '../../test/support/scripted-model.ts'
import { type BenchDaemon, benchDaemon, pause } from '../daemon.ts'
import { median, type Row } from '../row.ts'

const MAIN = join(import.meta.dirname, '../../dist/src/main.cjs')
const EACH = 3

/** Each error is of a type of its own, so that each wakes a run, and says when it was raised. */
const SOURCE = `import threading, time
def fail(number):
    raise type('Wrong%d' % number, (Exception,), {})(repr(time.time()))
def fails(number):
    thread = threading.Thread(target=fail, args=(number,))
    thread.start()
    thread.join()`

let model: ScriptedModel
let daemon: BenchDaemon
let waiting: ChildProcess
let program: Program
let raised = 0
/** When each request came, in milliseconds since 1970, and what it says. */
const asked: { readonly at: number; readonly text: string }[] = []

/** Milliseconds from the moment at which the program raises to the request of the run that it wakes. */
async function wakes(): Promise<number> {
  const before = asked.length
  await daemon.call('eval_expr', { expr: `fails(${++raised})`, kernel: 'shop' })
  while (asked.length === before) await pause(5)
  const { at, text } = asked.at(-1) ?? { at: Number.NaN, text: '' }
  // The run comes to its end.
  await pause(500)
  const [, seconds] = new RegExp(`Wrong${raised}: (\\d+\\.\\d+)`).exec(text) ?? []
  return at - Number(seconds) * 1_000
}

export const errorToRun: Row = {
  what: 'an error of a program to the first request of the run that it wakes',
  how: `\`imago ask --when\` waits, a Python program raises in a thread, a server in this process is asked; from \`time.time()\` at the \`raise\` to the whole request; median of ${EACH}`,
  bar: { relation: '≤', limit: 1_000, unit: 'ms' },
  async setUp() {
    model = await openScriptedModel(({ user }) => {
      asked.push({ at: Date.now(), text: user.join('') })
      return { text: 'I have read it.' }
    })
    daemon = await benchDaemon(`[agent]\nurl = "${model.url}"\nmodel = "scripted"\nwoken_a_day = 1000\n`)
    const { folder, env } = daemon
    waiting = spawn(process.execPath, [MAIN, 'ask', '--when', 'shop raises', 'Find the cause.'], {
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await new Promise(resolve => waiting.stderr?.once('data', resolve))
    program = await startProgram({ folder, runtimeDir: join(folder, 'run'), name: 'shop', source: SOURCE })
    const joined = () => daemon.call('inspect', { expr: 'fails', kernel: 'shop' }).catch(() => undefined)
    while ((await joined()) === undefined) await pause(50)
    await wakes()
  },
  async tearDown() {
    waiting?.kill('SIGKILL')
    program?.signal('SIGKILL')
    await daemon?.close()
    await model?.close()
  },
  async measure() {
    const times: number[] = []
    while (times.length < EACH) times.push(await wakes())
    return { figure: median(times), parts: { median_ms: median(times), longest_ms: Math.max(...times) } }
  },
}
