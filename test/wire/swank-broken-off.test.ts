import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Kernel } from '../../wire/kernel.ts'
import { swankKernel } from '../../wire/kernels/swank.ts'
import { SwankConnection } from '../../wire/swank/connection.ts'
import { beginConnection } from '../../wire/swank/peer.ts'
import { type Form, quote, symbol } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate } from '../support/heard.ts'
import { until, within } from '../support/rig.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

/** Connections of ours that break off while the image has much to say. It ends at any error that nobody handles. */
const test = suite('a Lisp image whose connection to us breaks off', { limitMs: 100_000 })

/** Passes on bytes between a client and the image, until it is killed. */
const RELAY = `
const { connect, createServer } = require('node:net')
createServer(client => {
  const image = connect({ port: Number(process.argv[1]), host: '127.0.0.1', noDelay: true })
  client.pipe(image).pipe(client)
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

let image: RealSwank
let person: Slime

test.before(async () => {
  image = await startSwank()
  person = await openSlime(image)
})

test.after(() => image.kill())

/** Many messages, without waiting for the client to have them. */
const FLOOD: Form = [
  symbol('cl:let'),
  [[symbol('swank::*send-counter*'), -1_000_000]],
  [
    symbol('cl:dotimes'),
    [symbol('cl:count'), 2_000],
    [symbol('swank::send-to-emacs'), quote([symbol(':channel-send'), 0, 'x'.repeat(4_000)])],
  ],
]

/** Connects as we do to the image at that port, and returns the socket in the middle of a flood. */
async function flooded(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let messages = 0
  const connection = new SwankConnection({ socket, heard: () => messages++ })
  await within(beginConnection(connection), 'us to step behind')
  connection.rex(FLOOD).catch(() => {})
  await until(() => messages > 100, 'a flood of messages')
  return socket
}

/** Waits for ever once a thread was ended while it asked the dynamic loader for the name of a foreign frame. */
const BACKTRACE = `
  (consp (swank/backend:call-with-debugging-environment
          (lambda () (swank/backend:compute-backtrace 0 nil))))`

/** The person's own connection goes on, its backtraces too, and another one can be made. */
async function goesOn(): Promise<void> {
  const sentinel = '(sb-thread:thread-alive-p (swank/backend:find-registered (quote swank::sentinel)))'
  assert.is(await within(person.ask(sentinel), 'the person to be answered'), 'T')
  const other = await within(openSlime(image), 'another editor to connect')
  assert.is(await within(other.ask('(+ 1 2)'), 'it to be answered'), '3')
  await other.close()
  assert.is(await within(person.ask(BACKTRACE), 'a backtrace of theirs'), 'T')
}

/** The threads that a connection has for its work, the person's too; not the one that serves this request. */
const COUNTED = `
  (remove-if-not (lambda (name) (member name '("worker" "output of an evaluation" "reader-thread") :test 'equal))
                 (remove sb-thread:*current-thread* (sb-thread:list-all-threads))
                 :key 'sb-thread:thread-name)`

/** No thread of ours waits in a debugger, or for a client that will never answer. */
async function hasNoThreadOfOurs(): Promise<void> {
  let there = ''
  const threadsEnd = async () => {
    there = await within(person.ask(`(mapcar 'sb-thread:thread-name ${COUNTED})`), 'the names of threads')
    return there === '("reader-thread")'
  }
  await until(threadsEnd, 'our threads to end').catch(async (error: Error) => {
    throw new Error(
      `${error.message}: ${there}\n${await within(person.ask(WAITING), 'what threads wait for')}`,
    )
  })
}

/** What all threads wait for, and who has it. Interrupts none: that could be what hangs. */
const WAITING = `
  (mapcar (lambda (thread)
            (let ((waiting (sb-thread::thread-waiting-for thread)))
              (list (sb-thread:thread-name thread)
                    (sb-thread:thread-alive-p thread)
                    (princ-to-string waiting)
                    (when (typep waiting 'sb-thread:mutex)
                      (let ((owner (sb-thread:mutex-owner waiting)))
                        (if (typep owner 'sb-thread:thread) (sb-thread:thread-name owner) owner))))))
          (sb-thread:list-all-threads))`

/** Our adapter at the image, and the socket that it goes through. */
async function attach(): Promise<{ readonly socket: Socket; readonly kernel: Kernel }> {
  const socket = connect({ port: image.port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  const connection = new SwankConnection({ socket, heard: () => {} })
  const options = { name: 'lisp', connection, info: { style: 'spawn' }, attached: true } as const
  return { socket, kernel: await swankKernel(options) }
}

test('lives on when ours is reset in the middle of an evaluation that prints (fault 2)', async () => {
  const { socket, kernel } = await attach()
  const heard = evaluate(kernel, '(dotimes (i 4000) (write-line (make-string 4000 :initial-element #\\x)))')
  await until(() => heard.events.length > 60, 'a flood of output')
  socket.resetAndDestroy()
  assert.is(await codeOf(heard.result), 'LINK_CLOSED')
  await goesOn()
  await hasNoThreadOfOurs()
})

test('brings an evaluation to its end whose connection broke off, whoever connects meanwhile', async () => {
  await person.ask('(progn (defvar cl-user::*go* nil) (defvar cl-user::*ended* 0))')
  const slow = '(unwind-protect (progn (print 1) (loop until *go* do (sleep 0.01))) (incf *ended*))'
  for (let time = 0; time < 3; time++) {
    const { socket, kernel } = await attach()
    const heard = evaluate(kernel, slow)
    await until(() => heard.events.length > 0, 'output')
    socket.resetAndDestroy()
    assert.is(await codeOf(heard.result), 'LINK_CLOSED')
  }
  const { kernel } = await attach()
  try {
    const evaluated = await evaluate(kernel, '(list *ended* (shiftf *go* t))').result
    assert.match(JSON.stringify(evaluated), '"text":"(0 nil)"')
    await until(async () => (await person.ask('cl-user::*ended*')) === '3', 'three evaluations to end')
  } finally {
    await kernel.close()
  }
  await goesOn()
  await hasNoThreadOfOurs()
})

test('lives on, and serves its person, when ours is reset in a flood of output (fault 2)', async () => {
  for (let time = 0; time < 10; time++) {
    const socket = await flooded(image.port)
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  await goesOn()
  await hasNoThreadOfOurs()
})

test('ends none of our threads while that asks the dynamic loader for a name, whose lock would stay taken', async () => {
  await person.ask(`(progn
    (defvar cl-user::*within* (list 0))
    (sb-int:encapsulate 'sb-sys:sap-foreign-symbol 'cl-user::within
      (lambda (function address)
        (sb-ext:atomic-incf (car cl-user::*within*))
        (sleep 0.02)
        (prog1 (funcall function address)
          (sb-ext:atomic-decf (car cl-user::*within*))))))`)
  try {
    for (let time = 0; time < 5; time++) {
      const socket = await flooded(image.port)
      socket.resetAndDestroy()
      await once(socket, 'close')
    }
    await hasNoThreadOfOurs()
  } finally {
    await person.ask("(sb-int:unencapsulate 'sb-sys:sap-foreign-symbol 'cl-user::within)")
  }
  assert.is(await person.ask('(car cl-user::*within*)'), '0')
})

test('lives on, and serves its person, when the process at the other end is killed (fault 2)', async () => {
  for (let time = 0; time < 10; time++) {
    const relay: ChildProcess = spawn(process.execPath, ['-e', RELAY, String(image.port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(relay, 'exit')
    try {
      const [port] = await once(relay.stdout ?? relay, 'data')
      await flooded(Number(String(port)))
    } finally {
      relay.kill('SIGKILL')
      await exited
    }
  }
  await goesOn()
  await hasNoThreadOfOurs()
})
