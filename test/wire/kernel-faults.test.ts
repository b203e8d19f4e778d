import { type ChildProcess, spawn } from 'node:child_process'
import { watch } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect } from '../../wire/link/transport.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { codeOf, evaluate, printed } from '../support/heard.ts'
import type { Task } from '../support/launch-alone.ts'
import { lives, Playground } from '../support/owned.ts'

const test = suite('faults of kernels', { limitMs: 60_000 })

let ground: Playground

test.before.each(() => {
  ground = new Playground()
})

test.after.each(() => ground.clear())

const PULSE = { quietMs: 100, pongMs: 300, againMs: 50 }

const until = async (met: () => boolean) => {
  while (!met()) await new Promise(resolve => setTimeout(resolve, 10))
}

test('a forked child that keeps the link open does not keep a dead kernel alive (fault 1)', async () => {
  const { kernel, pid } = await ground.launch()
  const source =
    'import os, time\nif os.fork() == 0:\n    time.sleep(600)\n    os._exit(0)\nprint("forked", flush=True)'
  const heard = evaluate(kernel, `${source}\ntime.sleep(600)`)
  await printed(heard, 'forked')
  process.kill(pid, 'SIGKILL')
  assert.is(await codeOf(heard.result), 'LINK_CLOSED')
})

test('an interrupt reaches code in C that holds the interpreter but looks at signals', async () => {
  const { kernel } = await ground.launch()
  const heard = evaluate(
    kernel,
    'print("go")\nimport re, time; time.sleep(0.2)\nre.match(r"(a+)+$", "a" * 60 + "b")',
  )
  await printed(heard, 'go')
  await new Promise(resolve => setTimeout(resolve, 400))
  assert.is((await kernel.interrupt(heard.call)).outcome, 'stopped')
  assert.is((await heard.result).type, 'interrupted')
  const abort = new AbortController()
  const again = evaluate(kernel, 'print("go")\ntime.sleep(0.2)\nre.match(r"(a+)+$", "a" * 60 + "b")', {
    signal: abort.signal,
  })
  await printed(again, 'go')
  setTimeout(() => abort.abort(), 400)
  assert.is((await again.result).type, 'interrupted')
})

test('a link that breaks under a living kernel is made anew, and its evaluation is neither lost nor run twice', async () => {
  const { kernel, pid } = await ground.launch()
  await evaluate(kernel, 'runs = []').result
  const source = `
import os, socket, time
for fd in os.listdir("/proc/self/fd"):
    try:
        line = socket.socket(fileno=os.dup(int(fd)))
        if line.family == socket.AF_UNIX and line.getpeername():
            line.shutdown(socket.SHUT_RDWR)
        line.close()
    except OSError:
        pass
time.sleep(1)
runs.append(1)
"through"`
  const heard = await evaluate(kernel, source).result
  assert.is(heard.type === 'done' && heard.values[0]?.repr.text, "'through'")
  const runs = await evaluate(kernel, 'runs').result
  assert.is(runs.type === 'done' && runs.values[0]?.repr.text, '[1]')
  assert.is(lives(pid), true)
})

/** A process that starts kernels of its own; see `launch-alone.ts`. */
function alone(task: Partial<Task>, { wrap = [], flags = [] }: { wrap?: string[]; flags?: string[] } = {}) {
  const file = join(import.meta.dirname, '../support/launch-alone.ts')
  const request = JSON.stringify({ root: ground.folder, runtimeDir: ground.runtimeDir, kernels: 1, ...task })
  const [program = '', ...args] = [...wrap, process.execPath, ...flags, ...process.execArgv, file, request]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  let complaint = ''
  child.stderr.on('data', data => {
    complaint += data
  })
  return { child, lines: linesOf(child), complaint: () => complaint }
}

type Line = { pid?: number; type?: string; text?: string; code?: string; ready?: boolean; terminal?: boolean }

/** What it says, up to the line that says that it is ready. */
async function linesOf(child: ChildProcess): Promise<Line[]> {
  const lines: Line[] = []
  if (!child.stdout) return lines
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue
    const said: Line = JSON.parse(line)
    lines.push(said)
    if (said.ready) break
  }
  return lines
}

const exited = (child: ChildProcess) =>
  new Promise<number | null>(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode)
    else child.once('exit', resolve)
  })

test('the kernels of a daemon that is killed end by themselves (fault 8)', async () => {
  const { child, lines } = alone({ kernels: 2, source: '1' })
  const pids = (await lines).flatMap(line => line.pid ?? [])
  assert.is(pids.length, 2)
  assert.is(pids.every(lives), true)
  child.kill('SIGKILL')
  await until(() => !pids.some(lives))
})

test('without descriptors left, starts fail clearly, and what runs goes on (fault 13)', async () => {
  const { child, lines, complaint } = alone({ kernels: 12, source: '"fine"', descriptors: 64 })
  const said = await lines
  assert.is(said.at(-1)?.ready, true, complaint())
  const failed = said.filter(line => line.code)
  assert.ok(said.some(line => line.type === 'done'))
  assert.ok(failed.length > 0)
  for (const line of failed)
    assert.match(line.code ?? '', /^(KERNEL_START_FAILED|KERNEL_NOT_FOUND|LINK_REFUSED)$/)
  child.stdin.end()
  assert.is(await exited(child), 0)
})

test('with a small heap, huge results are cut where they are made (fault 14)', async () => {
  const source = '["x" * 200_000_000, list(range(5_000_000)), "é" * 50_000_000]'
  const { child, lines, complaint } = alone({ source }, { flags: ['--max-old-space-size=48'] })
  const said = await lines
  assert.is(said[0]?.type, 'done', complaint())
  child.stdin.end()
  assert.is(await exited(child), 0)
})

const FLOODS: readonly [string, string][] = [
  ['print', 'for _ in range(200): print("x" * 999_999)'],
  ['the descriptor', 'import os\nfor _ in range(3_200): os.write(1, b"x" * 62_500)'],
  [
    'a child',
    'import subprocess\nsubprocess.run("head -c 200000000 /dev/zero | tr \\"\\\\0\\" x", shell=True)',
  ],
]

for (const [what, source] of FLOODS) {
  test(`of 200 MB printed through ${what}, all is heard or counted, in bounded memory (fault 24)`, async () => {
    const { kernel, pid } = await ground.launch({ pulse: PULSE })
    let characters = 0
    let dropped = 0
    const on = (event: { type: string; text?: string; characters?: number }) => {
      characters += event.text?.length ?? 0
      dropped += event.characters ?? 0
    }
    const before = process.memoryUsage().rss
    const call = `flood-${what}` as never
    const result = kernel.evaluate(
      { call, who: 'test', work: { type: 'source', source: `${source}\nNone` } },
      { on },
    )
    let most = 0
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss)
    }, 20)
    assert.is((await result).type, 'done')
    clearInterval(timer)
    assert.is(characters + dropped, 200_000_000)
    assert.ok(most - before < 96 * 2 ** 20, `grew by ${(most - before) / 2 ** 20} MiB`)
    assert.is(lives(pid), true)
    assert.is((await evaluate(kernel, '1').result).type, 'done')
    assert.is(kernel.health, 'responsive')
  })
}

const FIVES = isLong ? 10 : 1
test('in many starts, any other program that connects is turned away, and each kernel is the one that was started (threat 27)', async () => {
  await mkdir(ground.runtimeDir, { mode: 0o700 })
  let squatters = 0
  const heard: Promise<number>[] = []
  const watcher = watch(ground.runtimeDir, (_event, name) => {
    if (!name?.endsWith('.sock')) return
    squatters++
    heard.push(squat(`unix:${join(ground.runtimeDir, name)}`))
  })
  for (let round = 0; round < FIVES; round++) {
    const five = await Promise.all(Array.from({ length: 5 }, () => ground.launch()))
    for (const { kernel, pid } of five) assert.is(kernel.identity.pid, pid)
    await Promise.all(five.map(one => one.stop()))
  }
  watcher.close()
  assert.ok(squatters >= 5 * FIVES, `${squatters} squatters`)
  for (const bytes of await Promise.all(heard))
    assert.ok(bytes < 200, `${bytes} bytes were told to a stranger`)
})

/** Connects, talks nonsense, and counts what it is told until it is thrown out. */
async function squat(address: string): Promise<number> {
  try {
    const transport = await connect(address)
    let bytes = 0
    transport.on('data', (data: Buffer) => {
      bytes += data.length
    })
    transport.on('error', () => {})
    transport.write(Buffer.from('\0\0\0\x0dGET / HTTP/1.'))
    await new Promise(resolve => transport.once('close', resolve))
    return bytes
  } catch {
    return 0
  }
}

test('a kernel has no terminal to write to, or to type into (threat 31)', async () => {
  const source = `
import fcntl, os, termios
def attempt(name, act):
    try:
        act()
        print(name, "worked")
    except OSError as error:
        print(name, "failed")
attempt("tty", lambda: os.open("/dev/tty", os.O_RDWR))
for fd in (0, 1, 2):
    attempt("ioctl", lambda: fcntl.ioctl(fd, termios.TIOCSTI, b"x"))
attempt("console", lambda: os.write(os.open(os.ctermid(), os.O_RDWR), b"x"))`
  const python = ['import pty, sys', 'sys.exit(pty.spawn(sys.argv[1:]) >> 8)'].join('\n')
  const { child, lines } = alone({ source }, { wrap: ['python3', '-c', python] })
  const said = await lines
  assert.is(said.at(-1)?.terminal, true)
  assert.is(said[0]?.type, 'done')
  assert.is(said[0]?.text, 'tty failed\nioctl failed\nioctl failed\nioctl failed\nconsole failed\n')
  const pid = said[0]?.pid
  child.kill('SIGKILL')
  await until(() => !lives(pid ?? 0))
})
