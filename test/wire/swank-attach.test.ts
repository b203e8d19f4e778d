import { chmodSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Kernel } from '../../wire/kernel.ts'
import { openPrograms } from '../../wire/kernels/programs.ts'
import { homeSecret } from '../../wire/kernels/swank-secret.ts'
import { startOf } from '../../wire/process-start.ts'
import type { Joining, ProgramProcess } from '../../wire/programs.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { SwankConnection } from '../../wire/swank/connection.ts'
import { frame } from '../../wire/swank/frames.ts'
import { quote, type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { faultOf } from '../support/faults.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate } from '../support/heard.ts'
import { lives } from '../support/owned.ts'
import { lispCache } from '../support/runtimes.ts'
import { type RealSwank, type SwankStart, startSwank } from '../support/swank.ts'
import { makeFolder } from '../support/temporary.ts'

/** Lisps as a person has started them. */
const test = suite('attaching to a Lisp', { limitMs: 50_000 })

process.env.XDG_CACHE_HOME = lispCache
const SECRET = 'correct horse battery staple'

let home = ''
let former: string | undefined
const begun: RealSwank[] = []
const joined: Kernel[] = []
test.before.each(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'imago-home-')))
  former = process.env.HOME
  process.env.HOME = home
})
test.after.each(async () => {
  await Promise.all(joined.splice(0).map(kernel => kernel.close()))
  for (const swank of begun.splice(0)) swank.kill()
  process.env.HOME = former
  rmSync(home, { recursive: true, force: true })
})

function keep(secret: string, mode = 0o600): void {
  writeFileSync(join(home, '.slime-secret'), secret)
  chmodSync(join(home, '.slime-secret'), mode)
}

async function start(): Promise<RealSwank> {
  const swank = await startSwank({ home })
  begun.push(swank)
  return swank
}

interface Told {
  readonly joining: Joining
  readonly away: (string | null)[]
  readonly found: ProgramProcess[]
}

function tell(port: number, more: Partial<Joining> = {}): Told {
  const away: (string | null)[] = []
  const found: ProgramProcess[] = []
  const joining: Joining = {
    name: 'lisp',
    address: `swank://127.0.0.1:${port}`,
    process: null,
    key: undefined,
    open: false,
    found: seen => void found.push(seen),
    background: () => {},
    away: why => void away.push(why),
    ...more,
  }
  return { joining, away, found }
}

const sent: string[] = []
const programs = openPrograms({
  runtimeDir: '/nowhere',
  limits: { againMs: 20 },
  secret: value => void sent.push(value),
})

async function attach(told: Told): Promise<Kernel> {
  const kernel = await programs.attach(told.joining)
  joined.push(kernel)
  return kernel
}

async function said(kernel: Kernel, source: string): Promise<string> {
  const heard = evaluate(kernel, source)
  assert.is((await heard.result).type, 'done', source)
  return heard.text('stdout')
}

const until = async (met: () => boolean) => {
  while (!met()) await new Promise(resolve => setTimeout(resolve, 10))
}

/** Has the image find our own connection at its end. */
const CUT =
  '(sb-alien:alien-funcall (sb-alien:extern-alien "shutdown" (function sb-alien:int sb-alien:int sb-alien:int))' +
  ' (sb-sys:fd-stream-fd (swank::connection.socket-io swank::*emacs-connection*)) 0)'

test('with the secret of the home directory it is joined, looked into, let go of, and lives on', async () => {
  keep(`${SECRET}\nnot this line\n`)
  const swank = await start()
  const told = tell(swank.port)
  const kernel = await attach(told)
  const { language, pid, attached } = kernel.identity
  assert.equal({ language, pid, attached }, { language: 'lisp', pid: swank.pid, attached: true })
  assert.is(await said(kernel, '(princ (defvar *there* 42))'), '*THERE*')
  assert.equal(told.found, [{ pid: swank.pid, started: startOf(swank.pid) ?? '', seen: true }])
  assert.is(sent.at(-1), SECRET)
  await kernel.close()
  assert.is(lives(swank.pid), true)
  const again = await attach(tell(swank.port))
  assert.is(again.identity.epoch, kernel.identity.epoch)
  assert.is(await said(again, '(princ *there*)'), '42')
})

test('without a secret, or with one that others can read, nothing is connected to (threat 26)', async () => {
  assert.equal(homeSecret(), { type: 'missing', path: join(home, '.slime-secret') })
  const missing = await faultOf(attach(tell(1)))
  assert.is(missing.code, 'NOT_AUTHENTICATED')
  assert.match(missing.message, '.slime-secret, is not there')
  for (const mode of [0o640, 0o604, 0o660]) {
    keep(SECRET, mode)
    const found = homeSecret()
    assert.is(found.type, 'flawed')
    assert.match(found.type === 'flawed' ? `${found.why} ${found.mend}` : '', /open to others.*chmod 600/)
    const fault = await faultOf(attach(tell(1)))
    assert.is(fault.code, 'NOT_AUTHENTICATED')
    assert.not.match(fault.message, SECRET)
  }
  keep('\nsecond line\n')
  assert.is(homeSecret().type, 'flawed')
  const path = join(home, '.slime-secret')
  rmSync(path)
  symlinkSync(path, path)
  const circular = homeSecret()
  assert.match(circular.type === 'flawed' ? circular.why : '', 'ELOOP')
  rmSync(path)
})

test('a wrong secret is refused, and no error holds it (threat 26)', async () => {
  keep(`${SECRET}\n`)
  const swank = await start()
  const fault = await faultOf(attach(tell(swank.port, { key: 'a wrong guess' })))
  assert.is(fault.code, 'NOT_AUTHENTICATED')
  for (const hidden of [SECRET, 'a wrong guess']) assert.not.match(`${fault.message} ${fault.stack}`, hidden)
})

test('a server that asks for no secret is joined without one where a person insists, and else refused (threat 26)', async () => {
  const swank = await start()
  const fault = await faultOf(attach(tell(swank.port, { key: SECRET })))
  assert.is(fault.code, 'NOT_AUTHENTICATED')
  assert.match(fault.message, /no\W+\.slime-secret/)
  const kernel = await attach(tell(swank.port, { open: true }))
  assert.is(await said(kernel, '(princ (+ 1 2))'), '3')
})

test('a key that a person gives comes before the secret of the home directory', async () => {
  keep(`${SECRET}\n`)
  const swank = await start()
  keep('another one by now\n', 0o644)
  writeFileSync(join(home, '.slime-secret'), `${SECRET}\n`)
  const kernel = await attach(tell(swank.port, { key: SECRET }))
  assert.is(await said(kernel, '(princ 1)'), '1')
})

test('a link that breaks while the image lives is made again; what ran is not known, and handles of before are stale', async () => {
  keep(SECRET)
  const swank = await start()
  const told = tell(swank.port)
  const kernel = await attach(told)
  await said(kernel, '(defvar *kept* (list 1 2 3))')
  const value = await evaluate(kernel, '*kept*').result
  const handle = value.type === 'done' ? value.values[0]?.handle : undefined
  assert.ok(handle)
  const cut = evaluate(kernel, `(progn ${CUT} (loop (sleep 1)))`)
  assert.is((await faultOf(cut.result)).code, 'LINK_CLOSED')
  await until(() => told.away.at(-1) === null)
  assert.is(await said(kernel, '(princ *kept*)'), '(1 2 3)')
  const looked = await kernel.look('inspect', { expr: handle }, { deadlineMs: 5_000 })
  assert.is(looked.type, 'stale_handle')
})

test('news of errors are heard over the link that is made again, which begins with news', async () => {
  keep(SECRET)
  const swank = await start()
  const told = tell(swank.port, { errors: true })
  const kernel = await attach(told)
  await said(
    kernel,
    `(defpackage :lack.middleware.backtrace (:use :cl))
     (defun lack.middleware.backtrace::print-error (error env) (list error env))
     (defun fail () (handler-case (error "No tea.") (error (it) (lack.middleware.backtrace::print-error it nil))))`,
  )
  let news = 0
  kernel.watchNews?.('errors', () => void news++)
  await evaluate(kernel, CUT).result.catch(() => {})
  await until(() => news > 0 && told.away.includes(null))
  assert.is(news, 1)
  const look = async () =>
    JSON.stringify(await kernel.look('errors', { count: 20, watch: 'on' }, { deadlineMs: 5_000 }))
  assert.not.match(await look(), 'No tea')
  await said(kernel, "(sb-thread:join-thread (sb-thread:make-thread #'fail))")
  await until(() => news > 1)
  assert.match(await look(), 'No tea')
})

test('an image that has ended is told by its process, and one of another life in its place is not joined', async () => {
  keep(SECRET)
  const swank = await start()
  const told = tell(swank.port)
  const kernel = await attach(told)
  swank.kill()
  const end = await kernel.ended
  assert.equal(end, { reason: 'exited', message: `lisp has ended (process ${swank.pid}).` })

  const other = await start()
  const { signal } = new AbortController()
  const rejoining = { ...tell(other.port).joining, epoch: kernel.identity.epoch, signal }
  assert.match(String(await programs.rejoin(rejoining)), 'is another image')
})

test('the next daemon joins the same image again, once it can be reached', async () => {
  keep(SECRET)
  const swank = await start()
  const { identity } = await attach(tell(swank.port))
  const { signal } = new AbortController()
  const found = await programs.rejoin({ ...tell(swank.port).joining, epoch: identity.epoch, signal })
  if (typeof found === 'string') throw new Error(found)
  joined.push(found)
  assert.is(found.identity.epoch, identity.epoch)
  const gone = tell(swank.port, { process: { pid: swank.pid, started: 'another start', seen: true } }).joining
  assert.is(
    await programs.rejoin({ ...gone, epoch: identity.epoch, signal }),
    `lisp has ended (process ${swank.pid}).`,
  )
})

const host = '127.0.0.1'
const ODD_SECRET = 'correct horse (battery) "staple" é'
/** Long enough for a Lisp on a busy machine. */
const PATIENT = 30_000

/* Secrets, and a person who is connected already. */

interface Scene {
  readonly swank: RealSwank
  readonly person: SwankConnection
  /** What the person's editor was told. */
  readonly heard: readonly Sexp[]
}

async function scene(
  options: SwankStart & { readonly secret: string | null },
  body: (scene: Scene) => Promise<void>,
): Promise<void> {
  const { secret, ...start } = options
  const home = makeFolder()
  if (secret !== null) writeFileSync(join(home, '.slime-secret'), `${secret}\nmore\n`, { mode: 0o600 })
  const swank = await startSwank({ home, ...start })
  try {
    // As SLIME does it. Our own connections step behind that of a person.
    const socket = connect({ host, port: swank.port, noDelay: true })
    if (secret !== null) socket.write(frame(secret))
    const heard: Sexp[] = []
    const person = new SwankConnection({ socket, heard: message => heard.push(message) })
    await person.rex([symbol('swank:connection-info')])
    await body({ swank, person, heard })
    person.end()
  } finally {
    swank.kill()
  }
}

const PING = [symbol('swank:ping'), 'still here'] as const
const serves = async (person: SwankConnection) =>
  assert.equal(await person.rex(PING), { ok: { text: 'still here' } })

/** Waits until the person's editor is told of a debugger, and gives what it is about. */
async function debugged(heard: readonly Sexp[]): Promise<string> {
  for (;;) {
    const found = heard.find(message => JSON.stringify(message, plain).startsWith('[{"atom":":debug"}'))
    if (found !== undefined) return JSON.stringify(found, plain)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

test('the right secret is taken by a real Swank, whatever characters it has (threat 26)', () =>
  scene({ secret: ODD_SECRET }, async ({ swank, person }) => {
    const { connection, info, asksSecret } = await connectSwank({
      host,
      port: swank.port,
      secret: ODD_SECRET,
      timeoutMs: PATIENT,
    })
    assert.equal([info.pid, info.style, asksSecret], [swank.pid, 'spawn', true])
    assert.equal([info.implementation.name, info.package], ['SBCL', 'COMMON-LISP-USER'])
    assert.ok(info.features.includes('sb-thread'))
    connection.end()
    await serves(person)
  }))

for (const [name, secret] of [
  ['a wrong secret', 'wrong'],
  ['no secret', null],
] as const)
  test(`${name} leaves a real Swank in its debugger before the person, and their connection whole (threat 26)`, () =>
    scene({ secret: ODD_SECRET }, async ({ swank, person, heard }) => {
      const fault = await faultOf(connectSwank({ host, port: swank.port, secret, timeoutMs: 1_000 }))
      assert.is(fault.code, secret === null ? 'NOT_AUTHENTICATED' : 'HANDSHAKE_TIMEOUT')
      assert.match(await debugged(heard), /Incoming connection doesn't know the password/)
      await serves(person)
    }))

for (const [style, secret, said] of [
  [':spawn', 'readable', /A Swank that asks for none does so/],
  [':spawn', 'no:package', /asks for no secret/],
  [':fd-handler', 'readable', /asks for no secret/],
  [':fd-handler', 'no:package', /asks for no secret/],
] as const)
  test(`the secret "${secret}" where a real Swank (${style}) asks for none is refused, and the person not disturbed (threat 26)`, () =>
    scene({ secret: null, style }, async ({ swank, person, heard }) => {
      const fault = await faultOf(connectSwank({ host, port: swank.port, secret, timeoutMs: PATIENT }))
      assert.is(fault.code, 'NOT_AUTHENTICATED')
      assert.match(fault.message, said)
      await serves(person)
      assert.not.match(JSON.stringify(heard, plain), /:debug/)
      // And whoever comes next is served as well.
      const next = await connectSwank({ host, port: swank.port, secret: null, timeoutMs: PATIENT })
      assert.equal([next.info.pid, next.asksSecret], [swank.pid, false])
      next.connection.end()
    }))

// What is written, as a real Lisp reads it

const HOSTILE = [
  '") (cl:setf cl-user::hit t) ("',
  '\\") #.(cl:setf cl-user::hit t)',
  '#.(cl:setf cl-user::hit t)',
  '|#"; \\',
  "'`,@#'#\\a#<x>",
  '\0\x01\x1b[31m\x7f\x85\ufeff\u2028',
  'line\nline\r\nline\rtab\t',
  'é漢💥\u{10ffff}\uffff',
  '\ud800 and \udc00',
  '',
]

test('any text that is written is the same text in a real Lisp, and none of it is run (threat 25)', () =>
  scene({ secret: null }, async ({ person }) => {
    const units = fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code))
    const texts = [
      ...HOSTILE,
      ...fc.sample(fc.string({ unit: 'binary', maxLength: 30 }), 300),
      ...fc.sample(fc.string({ unit: units, maxLength: 30 }), 300),
      ...fc.sample(
        fc.string({ unit: fc.constantFrom('"', '\\', '(', ')', '#', '.', "'", '|', '\0', '\n') }),
        300,
      ),
    ]
    // UTF-8 has no half of a surrogate pair: U+FFFD stands for it.
    const whole = texts.map(text => Buffer.from(text).toString())
    assert.equal(await person.rex([symbol('cl:list'), ...texts]), { ok: whole.map(text => ({ text })) })
    const joined = [symbol('cl:concatenate'), quote(symbol('cl:string')), ...texts]
    const codes = await person.rex([
      symbol('cl:map'),
      quote(symbol('cl:list')),
      quote(symbol('cl:char-code')),
      joined,
    ])
    assert.equal(codes, { ok: [...whole.join('')].map(char => char.codePointAt(0) ?? 0) })
    const hit = await person.rex([symbol('cl:find-symbol'), 'HIT', 'COMMON-LISP-USER'])
    assert.equal(hit, { ok: null })
  }))
