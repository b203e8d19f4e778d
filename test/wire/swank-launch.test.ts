import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { ScriptNews } from '../../wire/contract/evaluation.ts'
import { WireError } from '../../wire/errors.ts'
import type { Evaluated, Kernel } from '../../wire/kernel.ts'
import { findLisp, swankFolders } from '../../wire/kernels/lisp.ts'
import { StartNewsReader } from '../../wire/kernels/swank-launch.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, printed } from '../support/heard.ts'
import { lives } from '../support/owned.ts'
import { LispGround } from '../support/owned-lisp.ts'
import { startSwank, swankCore } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { makeFolder } from '../support/temporary.ts'

const test = suite('launching a Lisp', { limitMs: 60_000 })

let ground: LispGround
/** An SBCL in which Swank is there from the start: to load it takes as long as all the rest. */
let withSwank: { readonly lisp: string }

test.before(async () => {
  const lisp = join(makeFolder(), 'sbcl')
  writeFileSync(lisp, `#!/bin/sh\nexec sbcl --core '${await swankCore()}' "$@"\n`, { mode: 0o755 })
  withSwank = { lisp }
})

test.before.each(() => {
  ground = new LispGround()
})

test.after.each(() => ground.clear())

const until = async (met: () => boolean) => {
  while (!met()) await new Promise(resolve => setTimeout(resolve, 10))
}

async function faultOf(work: Promise<unknown>): Promise<WireError> {
  try {
    await work
  } catch (error) {
    if (error instanceof WireError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** What code prints. */
async function said(kernel: Kernel, source: string): Promise<string> {
  const heard = evaluate(kernel, source)
  const { type } = await heard.result
  assert.is(type, 'done', `${source}: ${heard.text()}`)
  return heard.text('stdout')
}

test('the Lisp is the one named, else the first of sbcl and ecl in PATH, by what it says of itself', async () => {
  const { folder } = ground
  mkdirSync(join(folder, 'bin'))
  const env = { PATH: join(folder, 'bin') }
  const posing = (name: string, says: string) => ground.script(name, `#!/bin/sh\necho '${says}'\n`)
  const ecl = posing('bin/ecl', 'ECL 21.2.1')
  assert.equal(await findLisp({ root: folder, env }), { kind: 'ecl', program: ecl })
  const sbcl = posing('bin/sbcl', 'SBCL 2.2.9.debian')
  assert.equal(await findLisp({ root: folder, env }), { kind: 'sbcl', program: sbcl })
  assert.equal(await findLisp({ root: folder, env, lisp: 'ecl' }), { kind: 'ecl', program: ecl })
  const wrapper = posing('mine', 'SBCL 2.5.0')
  assert.equal(await findLisp({ root: folder, env, lisp: './mine' }), { kind: 'sbcl', program: wrapper })
})

test('where there is no Lisp, each place is named, and how to get one; a chosen one is not replaced', async () => {
  const { folder } = ground
  const none = await faultOf(findLisp({ root: folder, env: { PATH: folder } }))
  assert.is(none.code, 'KERNEL_NOT_FOUND')
  for (const part of ['sbcl in PATH', 'ecl in PATH', 'apt install sbcl cl-swank', 'config.toml'])
    assert.match(none.message, part)
  const real = { PATH: process.env.PATH ?? '' }
  assert.match(
    (await faultOf(findLisp({ root: folder, env: real, lisp: '/nowhere/sbcl' }))).message,
    '/nowhere/sbcl',
  )
  const clisp = ground.script('clisp', '#!/bin/sh\necho GNU CLISP 2.49\n')
  assert.match(
    (await faultOf(findLisp({ root: folder, env: real, lisp: clisp }))).message,
    'says: GNU CLISP 2.49',
  )
})

test('it runs in the project with the init file of the user, whose Lisp it is', async () => {
  ground.write('.sbclrc', '(defvar cl-user::*mine* (list :init (read-line *standard-input* nil :nothing)))\n')
  const { kernel, pid } = await ground.lisp()
  assert.is(kernel.identity.language, 'lisp')
  assert.match(kernel.identity.implementation, /^SBCL /)
  assert.is(kernel.identity.pid, pid)
  const seen = await said(kernel, '(format t "~S ~A ~A" *mine* *default-pathname-defaults* (truename "."))')
  assert.is(seen, `(:INIT :NOTHING) ${ground.folder}/ ${ground.folder}/`)
})

test('of its start nothing is left that a program could see but Swank', async () => {
  const { kernel } = await ground.lisp()
  const seen = '(format t "~S ~S ~S" (find-package "IMAGO-START") *package* (find-symbol "START"))'
  assert.is(await said(kernel, seen), 'NIL #<PACKAGE "COMMON-LISP-USER"> NIL')
})

test('the secret is in no argument, no variable and no file, and it alone opens the port (threat 30)', async () => {
  const secrets: string[] = []
  const env = { DEPLOY_TOKEN: 'hush-hush', IMAGO_KEY: 'hush-too', PLAIN: 'seen' }
  const { kernel, pid } = await ground.lisp({
    ...withSwank,
    env,
    secret: value => {
      secrets.push(value)
      return () => {}
    },
  })
  const [secret = ''] = secrets
  assert.match(secret, /^[0-9a-f]{64}$/)
  const outside = ['cmdline', 'environ'].map(name => readFileSync(`/proc/${pid}/${name}`, 'utf8')).join('\n')
  assert.match(outside, 'PLAIN=seen')
  for (const hidden of [secret, 'hush-hush', 'hush-too']) assert.not.match(outside, hidden)
  const files = readdirSync(ground.folder, { recursive: true, encoding: 'utf8' })
  assert.equal(files, [])
  const told = await said(
    kernel,
    '(format t "~S" (list (sb-posix:getenv "PLAIN") (sb-posix:getenv "DEPLOY_TOKEN")))',
  )
  assert.is(told, '("seen" NIL)')
})

test('strangers who knock are turned away, one after the other, and keep nobody out (threat 27)', async () => {
  const { kernel, pid } = await ground.lisp(withSwank)
  const port = portOf(pid)
  const wrong = [
    '000003"x"',
    '000005nope!',
    'GET / HTTP/1.1\r\n\r\n',
    'ffffff',
    '',
    '00001b(:emacs-rex (cl:+ 1 2) nil t 1)',
  ]
  const answers = await Promise.all(wrong.map(text => knock(port, text)))
  assert.equal(
    answers,
    wrong.map(() => ''),
  )
  assert.is(await said(kernel, '(princ (+ 1 2))'), '3')
  assert.is(lives(pid), true)
})

test('an error in a thread of its own is printed with its frames, and ends that thread and nothing else', async () => {
  let printed = ''
  const { kernel, pid } = await ground.lisp({
    ...withSwank,
    background: (stream, text) => (printed += `${stream}:${text}`),
  })
  const thread = (body: string) => `(sb-thread:make-thread (lambda () ${body}) :name "my worker")`
  await said(kernel, `(defun fall () (error "out of ~A" :cheese))`)
  await said(kernel, thread('(format t "begun~%") (fall)'))
  // Each descriptor has a reader of its own.
  await until(() => /out of CHEESE[\s\S]*\(FALL\)/.test(printed) && printed.includes('stdout:begun'))
  assert.match(printed, 'stderr:')
  assert.match(printed, 'in thread my worker')
  await said(kernel, thread('(break "here")'))
  await until(() => printed.includes('here'))
  const workers =
    '(find "my worker" (sb-thread:list-all-threads) :key #\'sb-thread:thread-name :test #\'equal)'
  assert.is(await said(kernel, `(progn (loop while ${workers} do (sleep 0.01)) (princ :gone))`), 'GONE')
  assert.is(lives(pid), true)
})

test('stop ends it in order: its exit hooks run, once', async () => {
  const { kernel, stop, pid } = await ground.lisp(withSwank)
  const hook =
    '(with-open-file (s "left" :direction :output :if-exists :append :if-does-not-exist :create) (princ "bye " s))'
  await said(kernel, `(push (lambda () (sleep 0.2) ${hook}) sb-ext:*exit-hooks*)`)
  await stop()
  assert.is(readFileSync(join(ground.folder, 'left'), 'utf8'), 'bye ')
  assert.is(lives(pid), false)
  assert.equal(await kernel.ended, { reason: 'closed', message: 'lisp was stopped.' })
})

test('one that does not stop in time is killed', async () => {
  const { kernel, pid, stop } = await ground.lisp({ ...withSwank, limits: { stopMs: 300 } })
  await said(kernel, '(push (lambda () (loop (sleep 1))) sb-ext:*exit-hooks*)')
  await stop()
  assert.is(lives(pid), false)
})

test('one that ends by itself says how, with its last words, and what ran is not known', async () => {
  const { kernel } = await ground.lisp(withSwank)
  const heard = evaluate(
    kernel,
    '(progn (write-line "out of cheese" sb-sys:*stderr*) (finish-output sb-sys:*stderr*) (sb-ext:exit :code 7 :abort t))',
  )
  assert.is((await faultOf(heard.result)).code, 'LINK_CLOSED')
  const end = await kernel.ended
  assert.is(end.reason, 'exited')
  assert.match(end.message, 'exit code 7')
  assert.match(end.message, 'out of cheese')
})

test('one that ends by itself without a word has none of its start, nor of ours, for its last words', async () => {
  ground.write('.sbclrc', '(format *error-output* "~&said at the start~%") (finish-output *error-output*)\n')
  const { kernel } = await ground.lisp(withSwank)
  await evaluate(kernel, '(sb-ext:exit :code 3 :abort t)').result.catch(() => {})
  const { message } = await kernel.ended
  assert.is(message, 'lisp ended by itself with exit code 3.')
})

test('a program is loaded in the main thread with its arguments, and its image lives on', async () => {
  ground.write(
    'app.lisp',
    '(defvar *args* (list sb-ext:*posix-argv* (sb-thread:main-thread-p)))\n(defun twice (x) (* 2 x))\n',
  )
  const news: ScriptNews[] = []
  const { kernel } = await ground.lisp({
    ...withSwank,
    script: 'app.lisp',
    args: ['-v', 'x y'],
    scripted: one => news.push(one),
  })
  await until(() => news.at(-1)?.state === 'returned')
  assert.equal(news, [{ state: 'returned', message: null }])
  const seen = await said(kernel, '(let ((*print-pretty* nil)) (format t "~S ~A" *args* (twice 21)))')
  assert.is(seen, `(("sbcl" "--script" "${ground.folder}/app.lisp" "-v" "x y") T) 42`)
})

test('a program that fails says why, what it had defined is there, and one that goes on is spoken to beside', async () => {
  ground.write('bad.lisp', '(defvar *there* 1)\n(car (list-length 3))\n(defvar *not* 2)\n')
  const news: ScriptNews[] = []
  let printed = ''
  const bad = await ground.lisp({
    ...withSwank,
    script: 'bad.lisp',
    scripted: one => news.push(one),
    background: (_stream, text) => (printed += text),
  })
  await until(() => news.at(-1)?.state === 'failed')
  assert.match(news.at(-1)?.message ?? '', /3 .*LIST/s)
  assert.match(printed, 'TYPE-ERROR')
  assert.is(await said(bad.kernel, '(format t "~S" (mapcar #\'boundp \'(*there* *not*)))'), '(T NIL)')

  ground.write('serve.lisp', '(defvar *beats* 0)\n(loop (incf *beats*) (sleep 0.01))\n')
  const states: string[] = []
  const good = await ground.lisp({
    ...withSwank,
    script: 'serve.lisp',
    scripted: ({ state }) => states.push(state),
  })
  await until(() => states.includes('running'))
  assert.is(
    await said(good.kernel, '(progn (loop until (> *beats* 3) do (sleep 0.01)) (princ :beats))'),
    'BEATS',
  )
  assert.equal(states, ['running'])
})

test('an init file that fails is named, with the error and its frames', async () => {
  ground.write('.sbclrc', '(defun unlucky () (error "no luck today"))\n(unlucky)\n')
  const fault = await faultOf(ground.lisp())
  assert.is(fault.code, 'KERNEL_START_FAILED')
  assert.match(fault.message, `while loading ${ground.folder}/.sbclrc: no luck today`)
  assert.match(fault.message, 'UNLUCKY')
})

test('a Swank that was named has to be one, and of those that a person has put somewhere the newest comes first', async () => {
  const fault = await faultOf(ground.lisp({ swank: join(ground.folder, 'slime') }))
  assert.is(fault.code, 'KERNEL_START_FAILED')
  assert.match(fault.message, 'slime, which config.toml names as swank, is no folder')
  const folders = [
    'quicklisp/dists/quicklisp/software/slime-v2.30',
    'quicklisp/dists/quicklisp/software/slime-v2.9.1',
    '.emacs.d/elpa/slime-20240101.1',
  ].map(name => join(ground.folder, name))
  for (const folder of [...folders, join(ground.folder, 'quicklisp/dists/quicklisp/software/slimer-1')]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'swank-loader.lisp'), '')
  }
  assert.equal(swankFolders(ground.folder).slice(0, 3), folders)
})

test('its news are told from what it prints, however both are cut', () => {
  const told = '\x1eword doing loading x\n'
  const text = `a\x1eb${told}c\x1eother doing y\n\x1eword listening 4005 77\n\x1eword failed It: no.\nd`
  for (let size = 1; size <= text.length; size++) {
    const reader = new StartNewsReader('word')
    let printed = ''
    const news: unknown[] = []
    for (let at = 0; at < text.length; at += size) {
      const read = reader.read(text.slice(at, at + size))
      printed += read.printed
      news.push(...read.news)
    }
    assert.is(printed, 'a\x1ebc\x1eother doing y\nd')
    assert.equal(news, [
      { type: 'doing', what: 'loading x' },
      { type: 'listening', port: 4005, pid: 77 },
      { type: 'script', news: { state: 'failed', message: 'It: no.' } },
    ])
  }
})

async function number(kernel: Kernel, source: string): Promise<number> {
  const evaluated = await evaluate(kernel, source).result
  if (evaluated.type !== 'done') throw new Error(JSON.stringify(evaluated))
  return Number(evaluated.values[0]?.repr.text)
}

test('strangers who announce long messages take up no memory, and keep nobody out (threat 25)', async () => {
  const { kernel, pid } = await ground.lisp(withSwank)
  const port = portOf(pid)
  const before = await number(kernel, '(sb-ext:get-bytes-consed)')
  const strangers: Socket[] = []
  for (let count = 0; count < 30; count++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    // Sixteen megabytes, and the length of the secret with another.
    socket.write(count % 2 === 0 ? `ffffff${'a'.repeat(100)}` : `000040${'a'.repeat(64)}`)
    strangers.push(socket)
  }
  await until(() => strangers.every(socket => socket.closed))
  const taken = (await number(kernel, '(sb-ext:get-bytes-consed)')) - before
  assert.ok(taken < 100_000_000, `${taken} bytes were taken`)
})

test('code that ends all other threads does not cut the lifeline: its image still ends in order', async () => {
  const { kernel, stop } = await ground.lisp(withSwank)
  const left = join(ground.folder, 'left')
  const hook = `(with-open-file (s ${JSON.stringify(left)} :direction :output) (princ "bye" s))`
  await number(kernel, `(progn (push (lambda () ${hook}) sb-ext:*exit-hooks*) 1)`)
  const lifeline =
    '(find "imago: lifeline" (sb-thread:list-all-threads) :key (function sb-thread:thread-name) :test (function equal))'
  for (let time = 0; time < 40; time++)
    assert.is(
      await number(
        kernel,
        `(let ((it ${lifeline})) (sb-thread:terminate-thread it) (sb-thread:join-thread it :default nil) 1)`,
      ),
      1,
    )
  await stop()
  assert.is(readFileSync(left, 'utf8'), 'bye')
})

test('the threads by which Imago holds it are told as its own', async () => {
  const { kernel } = await ground.lisp(withSwank)
  const look = await kernel.look('threads', { limit: 50, frames: 0, locals: false }, { deadlineMs: 10_000 })
  if (look.type !== 'found') throw new Error(look.type)
  const ours = look.value.threads.filter(({ names }) => names[0]?.startsWith('imago: '))
  assert.ok(ours.length >= 2)
  assert.ok(ours.every(({ role }) => role === 'imago'))
})

/** What an evaluation came to, or the fault that it ended with. */
const outcomeOf = (result: Promise<Evaluated>): Promise<object> => result.catch(error => error)

for (const [source, how] of [
  ['(sb-ext:exit :code 3)', 'exit code 3'],
  ['(unwind-protect (sb-ext:exit :code 5) (print 1))', 'exit code 5'],
  ['(sb-ext:exit :code 4 :abort t)', 'exit code 4'],
  ['(progn (sb-thread:make-thread (lambda () (sb-ext:exit :code 6))) (loop (sleep 0.01)))', 'exit code 6'],
] as const) {
  test(`an image of ours that ends by ${source} leaves its outcome unknown, and says how it ended`, async () => {
    const { kernel } = await ground.lisp(withSwank)
    const fault = await outcomeOf(evaluate(kernel, source).result)
    const end = await kernel.ended
    assert.equal([Reflect.get(fault, 'code'), Reflect.get(fault, 'message')], ['LINK_CLOSED', end.message])
    assert.match(end.message, how)
  })
}

test('what an image says of its end is heard although the thread that reads from us has ended first', async () => {
  const { kernel } = await ground.lisp(withSwank)
  const source = `(let ((reader (swank::mconn.reader-thread swank::*emacs-connection*)))
    (sb-thread:terminate-thread reader)
    (sb-thread:join-thread reader :default nil)
    (sb-ext:exit :code 7))`
  const fault = await outcomeOf(evaluate(kernel, source).result)
  assert.equal([Reflect.get(fault, 'code'), Reflect.get(fault, 'type')], ['LINK_CLOSED', undefined])
  assert.match((await kernel.ended).message, 'exit code 7')
})

test('an image of ours that is killed while code runs leaves its outcome unknown (fault 3)', async () => {
  const { kernel, pid } = await ground.lisp(withSwank)
  const heard = evaluate(kernel, '(progn (print :on) (finish-output) (loop (sleep 0.01)))')
  await printed(heard, 'ON')
  process.kill(pid, 'SIGKILL')
  const fault = await outcomeOf(heard.result)
  assert.equal([Reflect.get(fault, 'code'), (await kernel.ended).reason], ['LINK_CLOSED', 'killed'])
})

test('an image that we are attached to says that it was told to end, and ends when that was heard', async () => {
  const kernel = await openSwankKernel(await startSwank())
  const fault = await outcomeOf(evaluate(kernel, '(sb-ext:exit :code 3)').result)
  assert.equal(Reflect.get(fault, 'code'), 'LINK_CLOSED')
  assert.match(Reflect.get(fault, 'message'), /told lisp to end with exit code 3/)
})

test('code that leaves by ABORT or with its thread has left, and is no error', async () => {
  const image = await startSwank()
  const kernel: Kernel = await openSwankKernel(image)
  for (const [source, how] of [
    ['(progn (print 1) (abort))', 'restart ABORT'],
    ['(handler-case (error "mine") (error () (abort)))', 'restart ABORT'],
    ['(sb-thread:abort-thread)', 'ended that thread'],
    ['(sb-thread:terminate-thread sb-thread:*current-thread*)', 'ended that thread'],
  ] as const) {
    const evaluated = await evaluate(kernel, source).result
    if (evaluated.type !== 'left') throw new Error(`${source}: ${JSON.stringify(evaluated)}`)
    assert.match(evaluated.message, how)
    const next = await evaluate(kernel, '(+ 1 2)').result
    assert.is(next.type === 'done' && next.values[0]?.repr.text, '3')
  }
  const look = { deadlineMs: 5_000 }
  const error = await kernel.look('last_error', {}, look)
  assert.is(error.type === 'found' && error.value.error, null)
  const history = await kernel.look('history', { limit: 20 }, look)
  const outcomes = history.type === 'found' ? history.value.entries.map(({ outcome }) => outcome) : []
  assert.equal(
    outcomes.filter(outcome => outcome === 'left').length +
      outcomes.filter(outcome => outcome === 'done').length,
    8,
  )
  image.kill()
})

/** What a server says to somebody who says that, until it ends the connection. */
function knock(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => void socket.write(text))
    let answer = ''
    socket.on('data', data => (answer += data.toString('latin1')))
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

/** The one port where a process listens, as the system tells it. */
function portOf(pid: number): number {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
      } catch {
        return []
      }
    }),
  )
  const LISTEN = '0A'
  for (const line of readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n').slice(1)) {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    if (state === LISTEN && sockets.has(`socket:[${inode}]`)) {
      assert.match(local, /^0100007F:/)
      return Number.parseInt(local.split(':')[1] ?? '', 16)
    }
  }
  throw new Error(`process ${pid} listens nowhere`)
}
