import type { Evaluated, SuspensionNews, WayOn } from '../../wire/kernel.ts'
import type { SwankKernel } from '../../wire/kernels/swank.ts'
import { reconnectingKernel } from '../../wire/kernels/swank-reconnect.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate, newCall } from '../support/heard.ts'
import { DONE, endImages, given, output, playImage, takenIn } from '../support/played-image.ts'

/** What the adapter makes of what an image says of suspensions: a server that is played by a script. */
const test = suite('a Lisp image that says of suspensions what it likes')
test.after.each(endImages)

const ABILITIES = ['evaluate', 'globals', 'interrupt', 'suspend']
const ACCEPTED = { type: 'accepted' }
const ended = (id: string, how = 'resumed') => ({ ended: { id, how, message: 'It has ended.' } })

/** A kernel whose image is played, and all news of it. */
async function play() {
  const played = await playImage({ abilities: ABILITIES })
  const news: string[] = []
  played.kernel.watchSuspensions(one => news.push(toldAs(one)))
  return { ...played, news }
}

const toldAs = (news: SuspensionNews) =>
  news.type === 'suspended' ? `suspended ${news.suspension.id}` : `${news.id} ${news.how}`

/** An evaluation that is suspended, and the image's side of it. */
async function suspend({ kernel, image }: Awaited<ReturnType<typeof play>>, id: string) {
  const heard = evaluate(kernel, '(car 1)')
  const asked = await given(image)
  asked.tell({ suspended: suspendedAs(id) })
  assert.is((await heard.result).type, 'suspended')
  return { heard, ...asked }
}

function resume(kernel: SwankKernel, suspension: string, way: WayOn = { type: 'restart', restart: 0 }) {
  const text: string[] = []
  const call = newCall()
  const result: Promise<Evaluated> = kernel.evaluate(
    { call, who: 'test', work: { type: 'resume', suspension, way }, suspend: {} },
    { on: event => event.type === 'output' && text.push(event.text) },
  )
  result.catch(() => {})
  return { call, result, text }
}

test('an evaluation that is suspended has ended for whoever asked, and the next one runs', async () => {
  const played = await play()
  const { kernel, image, news } = played
  const call = newCall()
  const asking = { call, who: 'test', work: { type: 'source', source: '(car 1)' } } as const
  const first = kernel.evaluate({ ...asking, suspend: {} }, {})
  const { rex, tell } = await given(image)
  assert.equal(rex.given.suspend, { atom: 't' })
  tell({ suspended: suspendedAs('s1@ab') })
  const outcome = await first
  assert.is(outcome.type === 'suspended' && outcome.suspension.id, 's1@ab')
  const next = evaluate(kernel, '2')
  const second = await given(image)
  assert.is(second.rex.given.suspend, undefined)
  image.json(second.rex.id, DONE)
  assert.is((await next.result).type, 'done')
  assert.equal(await kernel.evaluate({ ...asking, again: true }, {}), outcome)
  const report = await kernel.interrupt(call)
  assert.is(report.outcome, 'not_running')
  assert.match(report.message, 's1@ab')
  assert.equal(news, ['suspended s1@ab'])
})

test('what a resume comes to is the answer to the request that was suspended, and its output is its own', async () => {
  const played = await play()
  const { kernel, image, news } = played
  const { rex, tell, heard } = await suspend(played, 's1@ab')
  const resumed = resume(kernel, 's1@ab', { type: 'restart', restart: 2, value: '42' })
  const going = await given(image, 'resume')
  const { suspension, way, restart, value, suspend: lease } = going.rex.given
  assert.equal(
    [suspension, way, restart, value, lease],
    [{ text: 's1@ab' }, { text: 'restart' }, 2, { text: '42' }, { atom: 't' }],
  )
  tell(ended('s1@ab'))
  going.tell(output('one'))
  image.json(going.rex.id, ACCEPTED)
  going.tell(output('two')) && going.tell({ suspended: suspendedAs('s2@ab') })
  const outcome = await resumed.result
  assert.is(outcome.type === 'suspended' && outcome.suspension.id, 's2@ab')
  const last = resume(kernel, 's2@ab')
  const lastGiven = await given(image, 'resume')
  image.json(lastGiven.rex.id, ACCEPTED)
  lastGiven.tell(ended('s2@ab')) && lastGiven.tell(output('three'))
  image.json(rex.id, DONE)
  assert.is((await last.result).type, 'done')
  assert.equal([heard.text(), resumed.text, last.text], ['', ['one', 'two'], ['three']])
  assert.equal(news, ['suspended s1@ab', 's1@ab resumed', 'suspended s2@ab', 's2@ab resumed'])
})

test('a value whose code is suspended belongs to the resume that it was for, until that has been answered', async () => {
  const played = await play()
  const { kernel, image, news } = played
  const { rex } = await suspend(played, 's1@ab')
  const reading = resume(kernel, 's1@ab', { type: 'restart', restart: 0, value: '(car 1)' })
  const asked = await given(image, 'resume')
  asked.tell({ suspended: suspendedAs('s2@ab', { level: 2, within: 's1@ab' }) })
  assert.is((await reading.result).type, 'suspended')
  const leaving = resume(kernel, 's2@ab', { type: 'leave' })
  const left = await given(image, 'resume')
  image.json(left.rex.id, ACCEPTED)
  left.tell(ended('s2@ab', 'left'))
  image.json(asked.rex.id, { type: 'left', message: 'It was left.', elapsed_ms: 1 })
  assert.is((await leaving.result).type, 'left')
  const last = resume(kernel, 's1@ab')
  image.json((await given(image, 'resume')).rex.id, ACCEPTED).json(rex.id, DONE)
  assert.is((await last.result).type, 'done')
  assert.equal(news, ['suspended s1@ab', 'suspended s2@ab', 's2@ab left'])
})

test('a resume that is refused changes nothing, and one that is answered outright has that answer', async () => {
  const played = await play()
  const { kernel, image, news } = played
  await suspend(played, 's1@ab')
  const refused = resume(kernel, 's1@ab', { type: 'restart', restart: 99 })
  const refusal = { type: 'refused', reason: 'not_found', message: 's1@ab has no restart 99.' }
  image.json((await given(image, 'resume')).rex.id, refusal)
  assert.equal(await refused.result, refusal)
  const outright = resume(kernel, 's7@ab')
  image.json((await given(image, 'resume')).rex.id, DONE)
  assert.is((await outright.result).type, 'done')
  const unknown = resume(kernel, 's8@ab')
  image.json((await given(image, 'resume')).rex.id, ACCEPTED)
  assert.is(await codeOf(unknown.result), 'MESSAGE_INVALID')
  const wrong = resume(kernel, 's1@ab')
  image.json((await given(image, 'resume')).rex.id, { type: 'maybe' })
  assert.is(await codeOf(wrong.result), 'MESSAGE_INVALID')
  assert.equal(news, ['suspended s1@ab'])
})

test('suspensions of calls that nobody knows, or that have ended, are told to nobody', async () => {
  const played = await play()
  const { kernel, image, news } = played
  const first = evaluate(kernel, '1')
  const old = await given(image)
  image.json(old.rex.id, DONE)
  await first.result
  old.tell({ suspended: suspendedAs('s1@ab') })
  image.say(
    `(:channel-send 0 ${JSON.stringify(JSON.stringify({ call: 'nobody', suspended: suspendedAs('s2@ab') }))})`,
  )
  const second = evaluate(kernel, '2')
  const { rex } = await given(image)
  image.json(rex.id, DONE)
  assert.is((await second.result).type, 'done')
  await takenIn(played)
  assert.equal(news, [])
})

test('what is said twice is told once: a beginning, another beginning of the same call, and an end', async () => {
  const played = await play()
  const { tell, heard } = await suspend(played, 's1@ab')
  tell({ suspended: suspendedAs('s1@ab') }) && tell({ suspended: suspendedAs('s9@ab') })
  tell(ended('s1@ab', 'left')) && tell(ended('s1@ab', 'lost'))
  await takenIn(played)
  const outcome = await heard.result
  assert.is(outcome.type === 'suspended' && outcome.suspension.id, 's1@ab')
  assert.equal(played.news, ['suspended s1@ab', 's1@ab left'])
})

test('an end that is told before its beginning is told after it, and an id is not taken twice', async () => {
  const played = await play()
  const { kernel, image, news } = played
  const heard = evaluate(kernel, '(car 1)')
  const { tell } = await given(image)
  tell(ended('s1@ab', 'lost')) && tell({ suspended: suspendedAs('s1@ab') })
  assert.is((await heard.result).type, 'suspended')
  assert.equal(news, ['suspended s1@ab', 's1@ab lost'])
  await suspend(played, 's2@ab')
  const other = evaluate(kernel, '(car 2)')
  ;(await given(image)).tell({ suspended: suspendedAs('s2@ab') })
  assert.is(await codeOf(other.result), 'MESSAGE_INVALID')
  assert.equal(news, ['suspended s1@ab', 's1@ab lost', 'suspended s2@ab'])
})

test('a suspension that is none is the fault of its evaluation at once, and the next one runs', async () => {
  const played = await play()
  const { kernel, image, news } = played
  for (const wrong of [{ suspended: { type: 'suspended' } }, { suspended: DONE }, { suspended: 's1' }]) {
    const heard = evaluate(kernel, '(car 1)')
    ;(await given(image)).tell(wrong)
    assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
  }
  const { tell } = await suspend(played, 's1@ab')
  tell({ ended: { id: 's1@ab', how: 'somehow' } })
  await takenIn(played)
  assert.equal(news, ['suspended s1@ab'])
})

test('a request that is answered although it is suspended ends the suspension, if nothing else is said', async () => {
  const played = await play()
  const { image, kernel, news } = played
  const first = await suspend(played, 's1@ab')
  const second = await suspend(played, 's2@ab')
  const over = new Promise(resolve => {
    kernel.watchSuspensions(one => one.type === 'ended' && one.how === 'lost' && resolve(one))
  })
  image.abort(first.rex.id, 'NIL').json(second.rex.id, DONE)
  second.tell(ended('s2@ab', 'left'))
  await over
  assert.equal(news, ['suspended s1@ab', 'suspended s2@ab', 's2@ab left', 's1@ab lost'])
})

for (const how of ['not answered', 'accepted and never ends'])
  test(`a resume that is ${how} is lost with the connection, and each suspension is told lost once (fault 16)`, async () => {
    const played = await play()
    const { kernel, image, news } = played
    const { tell } = await suspend(played, 's1@ab')
    await suspend(played, 's2@ab')
    await suspend(played, 's3@ab')
    const resumed = resume(kernel, 's1@ab')
    const waiting = resume(kernel, 's2@ab')
    const going = await given(image, 'resume')
    tell(ended('s1@ab'))
    if (how !== 'not answered') image.json(going.rex.id, ACCEPTED)
    going.tell(output('on'))
    await takenIn(played)
    image.die()
    assert.is(await codeOf(resumed.result), 'LINK_CLOSED')
    assert.is(await codeOf(waiting.result), 'LINK_CLOSED')
    await kernel.ended
    await kernel.close()
    const all = ['suspended s1@ab', 'suspended s2@ab', 'suspended s3@ab']
    assert.equal(news, [...all, 's1@ab resumed', 's2@ab lost', 's3@ab lost'])
  })

test('an interrupt of what was resumed names the call that resumed it', async () => {
  const played = await play()
  const { kernel, image } = played
  const { rex, heard } = await suspend(played, 's1@ab')
  const resumed = resume(kernel, 's1@ab')
  const going = await given(image, 'resume')
  image.json(going.rex.id, ACCEPTED)
  going.tell(ended('s1@ab'))
  await takenIn(played)
  assert.is((await kernel.interrupt(heard.call)).outcome, 'not_running')
  const report = kernel.interrupt(resumed.call)
  const asked = await image.called('peer:interrupt')
  assert.equal(asked.given.call, { text: resumed.call })
  image.json(asked.id, { running: true, reached: 1, where: null })
  image.json(rex.id, { type: 'interrupted', elapsed_ms: 3 })
  assert.is((await report).outcome, 'stopped')
  assert.is((await resumed.result).type, 'interrupted')
})

test('an interrupt that comes too late says that an error was there first', async () => {
  const { kernel, image } = await play()
  const heard = evaluate(kernel, '(car 1)')
  const { tell } = await given(image)
  const report = kernel.interrupt(heard.call)
  await image.called('peer:interrupt')
  tell({ suspended: suspendedAs('s1@ab') })
  const { outcome, message } = await report
  assert.is(outcome, 'not_running')
  assert.match(message, 's1@ab')
})

test('letting go of an image loses all that is suspended there, and nothing is asked of it afterwards', async () => {
  const played = await play()
  const { kernel, news } = played
  await suspend(played, 's1@ab')
  await suspend(played, 's2@ab')
  await kernel.close()
  assert.equal(news.slice(2), ['s1@ab lost', 's2@ab lost'])
  assert.is(await codeOf(resume(kernel, 's1@ab').result), 'LINK_CLOSED')
})

test('news goes on over the next connection to the same image, on which the suspensions of before are lost', async () => {
  const [first, second] = [await play(), await play()]
  const opened = [first, second].map(({ kernel }) => kernel)
  const open = async () => opened.shift() ?? second.kernel
  const joined = await reconnectingKernel({ name: 'lisp', open, limits: { againMs: 1 } })
  const news: string[] = []
  joined.watchSuspensions(one => news.push(toldAs(one)))
  await suspend(first, 's1@ab')
  first.image.die()
  while (joined.health !== 'responsive' || opened.length > 0) await new Promise(setImmediate)
  const heard = evaluate(joined, '(car 1)')
  ;(await given(second.image)).tell({ suspended: suspendedAs('s1@cd') })
  assert.is((await heard.result).type, 'suspended')
  await joined.close()
  assert.equal(news, ['suspended s1@ab', 's1@ab lost', 'suspended s1@cd', 's1@cd lost'])
})

test('an image that cannot suspend is not asked to', async () => {
  const { kernel, image } = await playImage()
  const work = { type: 'source', source: '1' } as const
  const asked = kernel.evaluate({ call: newCall(), who: 'test', work, suspend: {} }, {})
  const { rex } = await given(image)
  assert.is(rex.given.suspend, undefined)
  image.json(rex.id, DONE)
  assert.is((await asked).type, 'done')
})
