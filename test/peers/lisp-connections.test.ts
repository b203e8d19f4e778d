import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSwank } from '../../wire/swank/connect.ts'
import type { SwankConnection } from '../../wire/swank/connection.ts'
import { SwankPeer } from '../../wire/swank/peer.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { cacheOfTests, type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('connections beside a person in SLIME')

const PEER = join(import.meta.dirname, '../../wire/peers/lisp')

/** Joined as the daemon joins an image, and all that it hears besides answers. */
class Ours {
  readonly peer: SwankPeer
  readonly heard: Sexp[] = []

  private constructor(connection: SwankConnection) {
    this.peer = new SwankPeer(connection)
    connection.listen(message => this.heard.push(message))
  }

  static async join(image: RealSwank): Promise<Ours> {
    const { connection } = await connectSwank({ host: '127.0.0.1', port: image.port, secret: null })
    return new Ours(connection)
  }

  install(): Promise<void> {
    return this.peer.install(PEER, cacheOfTests())
  }
}

let image: RealSwank
let slime: Slime

test.before(async () => {
  image = await startSwank()
})

test.after(() => image.kill())

/** Has a thread of the program fail, in which no connection has a part; it is `at` that starts it. */
const fail = (at: Slime, message: string) =>
  at.ask(`(progn (sb-thread:make-thread (lambda () (error "${message}"))) nil)`)

const isDebugged = (at: Slime, message: string) =>
  until(() => at.debugged.some(condition => condition.includes(message)), `${message} in the editor`)

test('an error of the program goes to the human who came after us (threat 26)', async () => {
  const ours = await Ours.join(image)
  await ours.install()
  slime = await openSlime(image)
  await fail(slime, 'after us')
  await isDebugged(slime, 'after us')
  assert.equal(ours.heard, [])
  await ours.peer.leave()
})

test('an error of the program goes to the human who was there before us (threat 26)', async () => {
  const ours = await Ours.join(image)
  await ours.install()
  await fail(slime, 'before us')
  await isDebugged(slime, 'before us')
  assert.equal(ours.heard, [])
  await ours.peer.leave()
})

test('an error while our functions are made goes to the human', async () => {
  const ours = await Ours.join(image)
  const installed = ours.install()
  await fail(slime, 'meanwhile')
  await isDebugged(slime, 'meanwhile')
  await installed
  assert.equal(ours.heard, [])
  await ours.peer.leave()
})

test('an error goes to the human who has come again, and to none of ours', async () => {
  const ours = await Promise.all([Ours.join(image), Ours.join(image), Ours.join(image)])
  await ours[0].install()
  await slime.close()
  slime = await openSlime(image)
  await ours[1].install()
  await fail(slime, 'come again')
  await isDebugged(slime, 'come again')
  assert.equal(
    ours.flatMap(({ heard }) => heard),
    [],
  )
  await Promise.all(ours.map(({ peer }) => peer.leave()))
})

test('whoever connects at the same moment is found in the list, and none of ours', async () => {
  const before = Number(await slime.ask('(length swank::*connections*)'))
  const [humans, ours] = await Promise.all([
    Promise.all(Array.from({ length: 6 }, () => openSlime(image))),
    Promise.all(Array.from({ length: 6 }, () => Ours.join(image))),
  ])
  assert.is(Number(await slime.ask('(length swank::*connections*)')), before + humans.length)
  await Promise.all(humans.map(human => human.close()))
  await until(async () => Number(await slime.ask('(length swank::*connections*)')) === before, 'their end')
  await Promise.all(ours.map(({ peer }) => peer.leave()))
})

test('an error with no human there ends a program as it would have without us', async () => {
  const sign = join(mkdtempSync(join(tmpdir(), 'lisp-')), 'now')
  const failing = `(sb-thread:make-thread (lambda () (loop until (probe-file ${JSON.stringify(sign)}) do (sleep 0.01)) (error "alone")))`
  // Its debugger is disabled, by an option or by a form: it prints what happened and ends.
  for (const start of [
    { forms: [failing] },
    { debugger: true, forms: ['(sb-ext:disable-debugger)', failing] },
  ] as const) {
    const alone = await startSwank(start)
    const ours = await Ours.join(alone)
    await ours.install()
    writeFileSync(sign, '')
    await until(
      () => /Unhandled SIMPLE-ERROR[\s\S]*alone[\s\S]*unhandled condition/.test(alone.printed()),
      'its end',
    )
    assert.equal(ours.heard, [])
    alone.kill()
    rmSync(sign)
  }
})

test('an error is offered at the terminal once the only human has gone', async () => {
  const sign = join(mkdtempSync(join(tmpdir(), 'lisp-')), 'now')
  const failing = `(sb-thread:make-thread (lambda () (loop until (probe-file ${JSON.stringify(sign)}) do (sleep 0.01)) (error "left alone")))`
  const left = await startSwank({ forms: [failing] })
  const human = await openSlime(left)
  const ours = await Ours.join(left)
  await ours.install()
  await human.close()
  await until(() => left.printed().includes('close-connection'), 'Swank to notice')
  writeFileSync(sign, '')
  await until(() => left.printed().includes('left alone'), 'the debugger at the terminal')
  assert.equal(ours.heard, [])
  left.kill()
})
