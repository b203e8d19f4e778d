import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { kernelEnvironment, lastWords } from '../../wire/kernels/process.ts'
import { findPython } from '../../wire/kernels/python.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, printed } from '../support/heard.ts'
import { lives, Playground } from '../support/owned.ts'

const test = suite('launch')

let ground: Playground
test.before.each(() => {
  ground = new Playground()
})
test.after.each(() => ground.clear())

const LOOK = { deadlineMs: 5_000 }

const until = async (met: () => boolean) => {
  while (!met()) await new Promise(resolve => setTimeout(resolve, 10))
}

test('the interpreter is the one named, else that of .venv, of $VIRTUAL_ENV, python3, python', async () => {
  const { folder } = ground
  for (const place of ['bin', 'active/bin']) mkdirSync(join(folder, place), { recursive: true })
  const env = { PATH: join(folder, 'bin'), VIRTUAL_ENV: join(folder, 'active') }
  const find = (python?: string) => findPython({ root: folder, env, python, trusted: [folder] })

  const plain = ground.interpreter('bin/python')
  assert.is(await findPython({ root: folder, env: { PATH: env.PATH } }), plain)
  const three = ground.interpreter('bin/python3')
  assert.is(await findPython({ root: folder, env: { PATH: env.PATH } }), three)
  const active = ground.interpreter('active/bin/python')
  assert.is(await find(), active)
  mkdirSync(join(folder, '.venv/bin'), { recursive: true })
  const venv = ground.interpreter('.venv/bin/python')
  assert.is(await find(), venv)
  const named = ground.interpreter('mine')
  assert.is(await find(named), named)
  assert.is(await find('./mine'), named)
  assert.is(await find('python3'), three)
})

test('an interpreter that is too old or broken is said to be, and a chosen one is not replaced by another', async () => {
  const { folder } = ground
  mkdirSync(join(folder, 'bin'))
  const env = { PATH: join(folder, 'bin') }
  ground.interpreter('bin/python3', { version: '3.8.10' })
  const old = await faultOf(findPython({ root: folder, env }))
  assert.is(old.code, 'KERNEL_NOT_FOUND')
  assert.match(old.message, 'is Python 3.8.10, which is too old')
  assert.match(old.message, 'python in PATH')

  const fresh = ground.interpreter('bin/python')
  assert.is(await findPython({ root: folder, env }), fresh)

  mkdirSync(join(folder, '.venv/bin'), { recursive: true })
  ground.write('.venv/bin/python', '#!/bin/sh\necho broken venv >&2\nexit 1\n')
  chmodSync(join(folder, '.venv/bin/python'), 0o755)
  const broken = await faultOf(findPython({ root: folder, env, trusted: [folder] }))
  assert.is(broken.code, 'KERNEL_NOT_FOUND')
  assert.match(broken.message, 'broken venv')
  rmSync(join(folder, '.venv/bin/python'))
  assert.match((await faultOf(findPython({ root: folder, env }))).message, 'the .venv of the project')

  const named = await faultOf(findPython({ root: folder, env, python: '/nowhere/python' }))
  assert.match(named.message, '/nowhere/python is not there')
})

test('stop ends the kernel in order: what it registered for its exit runs', async () => {
  const launched = await ground.launch()
  const source =
    'import atexit, time\natexit.register(lambda: (time.sleep(0.3), open("left", "w").write("bye")))'
  await evaluate(launched.kernel, source).result
  await launched.stop()
  assert.is(readFileSync(join(ground.folder, 'left'), 'utf8'), 'bye')
  assert.is(lives(launched.pid), false)
  assert.equal(await launched.kernel.ended, { reason: 'closed', message: 'python was stopped.' })
})

const CHILD = 'import subprocess\nchild = subprocess.Popen(["sleep", "1000"])\nprint(child.pid, flush=True)\n'

test('a kernel that does not stop in time is killed, and its children with it', async () => {
  const pulse = { quietMs: 100, pongMs: 300, againMs: 50 }
  const launched = await ground.launch({ limits: { stopMs: 500 }, pulse })
  const heard = evaluate(launched.kernel, `${CHILD}import time; time.sleep(0.5)\nsum(range(10**12))`)
  await printed(heard, '\n')
  const child = Number(heard.text())
  assert.is(lives(child), true)
  await until(() => launched.kernel.health === 'unresponsive')
  await launched.kernel.close()
  assert.is((await faultOf(heard.result)).code, 'LINK_CLOSED')
  assert.is(lives(launched.pid), false)
  await until(() => !lives(child))
})

test('the children of a kernel that ends in order end too', async () => {
  const launched = await ground.launch()
  const heard = evaluate(launched.kernel, CHILD)
  await heard.result
  await launched.stop()
  await until(() => !lives(Number(heard.text())))
})

test('a kernel that ends by itself says how, with its last words', async () => {
  const { kernel } = await ground.launch()
  const heard = evaluate(kernel, 'import os\nos.write(2, b"out of cheese\\n")\nos._exit(7)')
  assert.is((await faultOf(heard.result)).code, 'LINK_CLOSED')
  const end = await kernel.ended
  assert.is(end.reason, 'exited')
  assert.match(end.message, 'exit code 7')
  assert.match(end.message, 'out of cheese')
})

test('the end of a kernel that crashed in C is told by its fault and the frames of the user', async () => {
  const { kernel } = await ground.launch()
  const script = 'import ctypes, os\ndef deep(): ctypes.string_at(0)\nos.write(2, b"just before\\n")\ndeep()'
  assert.is((await faultOf(evaluate(kernel, script).result)).code, 'LINK_CLOSED')
  const { reason, message } = await kernel.ended
  assert.is(reason, 'killed')
  assert.match(message, 'was killed by SIGSEGV')
  assert.match(message, 'just before')
  assert.match(message, 'Fatal Python error: Segmentation fault')
  assert.match(message, /line 2 in deep/)
  assert.not.match(message, /wire.peers.python/)
  assert.ok(message.split('\n').length < 30)
  assert.is(message.split('Fatal Python error').length, 2)
})

test('a kernel that exits at boot is KERNEL_START_FAILED, with its last words (fault 6)', async () => {
  const python = ground.interpreter('dies', { body: 'echo no disk, no kernel >&2; exit 3' })
  const error = await faultOf(ground.launch({ python }))
  assert.is(error.code, 'KERNEL_START_FAILED')
  assert.match(error.message, /exit code 3.*no disk, no kernel/s)
})

test('a kernel that never says hello is given up in time, and ended (fault 6)', async () => {
  const python = ground.interpreter('mute', { body: 'exec sleep 1000' })
  const error = await faultOf(ground.launch({ python, limits: { startMs: 500 } }))
  assert.is(error.code, 'KERNEL_START_FAILED')
  assert.match(error.message, 'did not say hello within 500 ms')
  // It may have been too slow to say its number.
  await until(() => !isAnybodyIn(ground.folder))
})

/** Whether a process works in that folder. Linux. */
const isAnybodyIn = (folder: string) =>
  readdirSync('/proc').some(name => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`) === folder
    } catch {
      return false
    }
  })

test('a root that is not there is KERNEL_START_FAILED, and named', async () => {
  const error = await faultOf(ground.launch({ root: join(ground.folder, 'nowhere') }))
  assert.is(error.code, 'KERNEL_START_FAILED')
  assert.match(error.message, 'nowhere is no folder')
})

test('the runtime directory is made private, whatever the umask (threat 28)', async () => {
  const mask = process.umask(0)
  try {
    await ground.launch()
  } finally {
    process.umask(mask)
  }
  assert.is(statSync(ground.runtimeDir).mode & 0o777, 0o700)
})

test('a runtime directory too long for a socket is no hindrance: the kernel connects over TCP', async () => {
  const runtimeDir = join(ground.folder, 'x'.repeat(100))
  assert.is((await ground.launch({ runtimeDir })).kernel.health, 'responsive')
  assert.match((await faultOf(ground.launch({ runtimeDir, address: 'unix' }))).message, '103')
})

test('a runtime directory that is a link, or open to others, is refused (threat 28)', async () => {
  const elsewhere = join(ground.folder, 'elsewhere')
  mkdirSync(elsewhere, { mode: 0o700 })
  symlinkSync(elsewhere, ground.runtimeDir)
  assert.match((await faultOf(ground.launch())).message, 'is a link, or no directory')
  chmodSync(elsewhere, 0o755)
  assert.match((await faultOf(ground.launch({ runtimeDir: elsewhere }))).message, 'can be entered by others')
})

test('a kernel gets the environment of its caller, but nothing named like a secret and nothing of ours', () => {
  const env = {
    PATH: '/bin',
    DJANGO_SETTINGS_MODULE: 'shop',
    SSH_AUTH_SOCK: '/agent',
    KEYBOARD_LAYOUT: 'de',
    MONKEY: 'banana',
    PWD: '/shop',
    AWS_SECRET_ACCESS_KEY: 's',
    API_TOKEN: 's',
    github_token: 's',
    PGPASSWORD: 's',
    DB_PASSWORD_FILE: 's',
    GOOGLE_CREDENTIALS: 's',
    IMAGO_RUNTIME_DIR: '/run',
    absent: undefined,
  }
  const usual = Object.fromEntries(Object.entries(env).slice(0, 6))
  assert.equal(kernelEnvironment(env), usual)
  assert.equal(kernelEnvironment(env, ['API_TOKEN', 'IMAGO_RUNTIME_DIR']), { ...usual, API_TOKEN: 's' })
})

test('a kernel that dumps its environment, arguments and descriptors shows no secret (threat 30)', async () => {
  const source = `
import os, sys
def read(name):
    with open("/proc/self/" + name, "rb") as file:
        return file.read().decode("utf-8", "replace")
def target(fd):
    try:
        return fd + " " + os.readlink("/proc/self/fd/" + fd)
    except OSError:
        return ""
print(sorted(os.environ), read("environ"), read("cmdline"), sys.argv, sys.orig_argv if hasattr(sys, "orig_argv") else "")
print([target(fd) for fd in os.listdir("/proc/self/fd")])
print(repr(sys.stdin.read()) if False else repr(os.read(0, 100)))
`
  const env = {
    PATH: process.env.PATH ?? '',
    API_TOKEN: 'canary-1',
    IMAGO_TOKEN: 'canary-2',
    LANG: 'C.UTF-8',
  }
  const { kernel } = await ground.launch({ env })
  const heard = evaluate(kernel, source)
  assert.is((await heard.result).type, 'done')
  assert.match(heard.text(), 'LANG')
  assert.not.match(heard.text(), /canary|API_TOKEN|IMAGO|[0-9a-f]{64}/)
  assert.match(heard.text(), "b''")
  assert.match(heard.text(), '0 /dev/null')
  const child = evaluate(
    kernel,
    'import subprocess; subprocess.run(["sh", "-c", "env; ls -l /proc/self/fd"])',
  )
  await child.result
  assert.not.match(child.text(), /canary|IMAGO|socket:.*socket:.*socket:/s)
  assert.is((await kernel.status(LOOK)).running, null)
})

const aboutWords = suite('last words')

const OWN = '/opt/imago/wire/peers/python/imago'
const frames = (...places: string[]) => places.map(place => `  File ${place}`).join('\n')

aboutWords(
  'of a crash, the fault, the thread that crashed and other threads of the user are told, in this order',
  () => {
    const report = [
      'before it',
      'Fatal Python error: Segmentation fault',
      '',
      `Thread 0x1 (most recent call first):\n${frames('"/usr/lib/socket.py", line 9 in recv', `"${OWN}/link.py", line 3 in read`)}`,
      '',
      `Thread 0x2 (most recent call first):\n${frames('"/home/shop/worker.py", line 2 in work')}`,
      '',
      `Current thread 0x3 (most recent call first):\n${frames('"/home/shop/app.py", line 7 in deep', `"${OWN}/evaluator.py", line 80 in run`)}`,
      '',
    ].join('\n')
    assert.is(
      lastWords(report, OWN),
      [
        'before it',
        'Fatal Python error: Segmentation fault',
        'Current thread 0x3 (most recent call first):',
        '  File "/home/shop/app.py", line 7 in deep',
        'Thread 0x2 (most recent call first):',
        '  File "/home/shop/worker.py", line 2 in work',
      ].join('\n'),
    )
  },
)

aboutWords('of anything else the last lines are told, and a line without an end is cut', () => {
  assert.is(lastWords('', OWN), '')
  assert.is(lastWords('\n out of cheese \n', OWN), 'out of cheese')
  const many = Array.from({ length: 100 }, (_, number) => `line ${number}`).join('\n')
  assert.match(lastWords(many, OWN), /^line 76\n.*line 99$/s)
  assert.is(lastWords('x'.repeat(16_000), OWN).length, 4_096)
})
