import { readdirSync, readFileSync } from 'node:fs'
import { swankKernel } from '../../wire/kernels/swank.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { type SwankConnection, textOf } from '../../wire/swank/connection.ts'
import { type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { evaluate } from '../support/heard.ts'
import { lispCache } from '../support/runtimes.ts'
import { openSlimeEmacs } from '../support/slime-emacs.ts'
import { startSwank } from '../support/swank.ts'

/**
 * `node --import tsx test/slime/rounds.ts [N]`: SLIME, in a real Emacs, and Imago come to one image and go again, N
 * times (200 unless given), each while the other is there and while it is not. Prints what the image has of threads,
 * descriptors and memory on the way, and exits 1 where an evaluation came to something else than it should.
 */
const rounds = Number(process.argv[2] ?? 200)
process.env.XDG_CACHE_HOME = lispCache
const swank = await startSwank({ debugger: true })
const place = { host: '127.0.0.1', port: swank.port, secret: null }
const observer = (await connectSwank(place)).connection
const emacs = await openSlimeEmacs()

console.log('round\tthreads\tdescriptors\tresident MB\tlive MB\tconnections\tTLS words')
await tell(0)
for (let round = 1; round <= rounds; round++) {
  await emacs.connect(swank.port)
  const kernel = await attach()
  expect(round, ['SLIME', await emacs.repl('(+ 1 2)')], ['Imago', await value(kernel, '(+ 1 2)')])
  await emacs.disconnect()
  expect(round, ['Imago alone', await value(kernel, '(+ 1 2)')])
  await emacs.connect(swank.port)
  await kernel.close()
  expect(round, ['SLIME alone', await emacs.repl('(+ 1 2)')])
  await emacs.disconnect()
  if (round === 10 || round % 25 === 0 || round === rounds) await tell(round)
}
await emacs.kill()
swank.kill()
process.exit()

async function attach() {
  const { connection, info } = await connectSwank(place)
  return swankKernel({ name: 'lisp', connection, info, attached: true })
}

async function value(kernel: Awaited<ReturnType<typeof attach>>, source: string): Promise<string> {
  const ended = await evaluate(kernel, source).result
  return ended.type === 'done' ? (ended.values[0]?.repr.text ?? '') : ended.type
}

function expect(round: number, ...seen: readonly (readonly [string, string])[]): void {
  for (const [who, what] of seen) {
    if (what === '3') continue
    console.log(`round ${round}: ${who}: (+ 1 2) came to ${what}`)
    process.exitCode = 1
  }
}

async function tell(round: number): Promise<void> {
  const threads = '(length (sb-thread:list-all-threads))'
  // The threads of whoever has left end a moment later.
  const few = await settled(() => ask(observer, threads))
  const [live, connections, words] = await Promise.all([
    ask(observer, '(progn (sb-ext:gc :full t) (sb-kernel:dynamic-usage))'),
    ask(observer, '(length swank::*connections*)'),
    ask(observer, 'sb-vm::*free-tls-index*'),
  ])
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${swank.pid}/status`, 'utf8'))?.[1]
  const descriptors = readdirSync(`/proc/${swank.pid}/fd`).length
  const row = [round, few, descriptors, megabytes(Number(resident) * 1024), megabytes(Number(live))]
  console.log([...row, connections, words].join('\t'))
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}

/** What it comes to once it has come to the same for a second. */
async function settled(look: () => Promise<string>): Promise<string> {
  let [last, same] = ['', 0]
  while (same < 10) {
    const now = await look()
    same = now === last ? same + 1 : 0
    last = now
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  return last
}

async function ask(connection: SwankConnection, form: string): Promise<string> {
  const answer = await connection.rex([symbol('swank:eval-and-grab-output'), form])
  if ('abort' in answer) throw new Error(`${form}: ${answer.abort}`)
  const [, values] = Array.isArray(answer.ok) ? (answer.ok as readonly Sexp[]) : []
  return textOf(values)
}
