import { assert, suite } from '../support/harness.ts'
import { openSuspending, type Suspending } from '../support/lisp-suspending.ts'
import { openSlime, type Slime } from '../support/slime.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

const test = suite('suspended Lisp evaluations that are being left', { limitMs: 55_000 })
let swank: RealSwank
let lisp: Suspending
let human: Slime

test.before(async () => {
  swank = await startSwank()
  human = await openSlime(swank)
  lisp = await openSuspending(swank)
  await human.ask(
    '(progn (defvar cl-user::*go* nil) (defvar cl-user::*runs* 0) (defvar cl-user::*threads* nil))',
  )
})
test.after(() => {
  lisp?.end()
  swank?.kill()
})

const until = async (so: () => boolean | Promise<boolean>) => {
  while (!(await so())) await new Promise(resolve => setTimeout(resolve, 10))
}
const row = async (id: string) => (await lisp.found('suspensions', {})).suspensions.find(one => one.id === id)
const endsOf = (id: string) => lisp.ended.filter(ended => ended.id === id).map(({ how }) => how)
const ended = async (id: string) => {
  await until(() => endsOf(id).length > 0)
  return endsOf(id)
}
/** The evaluation, whose thread is known to the person. */
const suspended = async (source: string, more = {}) =>
  (await lisp.suspended(`(progn (push sb-thread:*current-thread* *threads*) ${source})`, more)).suspension
/** None of the threads that were suspended lives any more. */
const threadsEnd = () =>
  until(async () => (await human.ask('(notany (quote sb-thread:thread-alive-p) cl-user::*threads*)')) === 'T')
/** Code that nothing ends but the person. */
const HELD = '(loop until (shiftf *go* nil) do (sleep 0.01))'
const letGo = () => human.ask('(setf cl-user::*go* t)')

test('an end is told when the cleanup forms have run; until then it is listed, busy, with the reason', async () => {
  const { id } = await suspended(`(unwind-protect (error "x") ${HELD})`, { suspend: 50 })
  await until(async () => (await row(id))?.leaving !== undefined)
  const { busy, leaving } = (await row(id)) ?? {}
  assert.is(busy, true)
  assert.match(
    leaving ?? '',
    /^Nobody came to it in time\. It is being left, and its cleanup forms have run for \d+ s/,
  )
  assert.equal(endsOf(id), [])
  const looked = await lisp.look('frame', { suspension: id, frame: 0 })
  assert.is(looked.type, 'busy')
  await letGo()
  assert.equal(await ended(id), ['expired'])
  assert.is(await row(id), undefined)
})

test('so is the end of one that was left on request, and of one whose thread is ended', async () => {
  const left = await suspended(`(unwind-protect (error "x") ${HELD})`)
  const leaving = lisp.resume(left.id, { way: 'leave' })
  await until(async () => (await row(left.id))?.leaving !== undefined)
  assert.equal(endsOf(left.id), [])
  await letGo()
  assert.is((await leaving).type, 'left')
  assert.equal(endsOf(left.id), ['left'])
  const lost = await suspended(`(unwind-protect (error "x") ${HELD})`)
  await human.ask('(sb-thread:terminate-thread (first cl-user::*threads*))')
  await until(async () => (await row(lost.id))?.leaving !== undefined)
  await letGo()
  assert.equal(await ended(lost.id), ['lost'])
})

test('what stands on one that is left ends before it, each when its own cleanup forms have run', async () => {
  const outer = await suspended(`(unwind-protect (error "x") ${HELD})`)
  const inner = await lisp.inFrame(outer.id, 0, `(unwind-protect (error "y") ${HELD})`)
  if (inner.type !== 'suspended') throw new Error(inner.type)
  const leaving = lisp.resume(outer.id, { way: 'leave' })
  await until(async () => (await row(inner.suspension.id))?.leaving !== undefined)
  await letGo()
  assert.equal(await ended(inner.suspension.id), ['within'])
  assert.equal(endsOf(outer.id), [])
  await letGo()
  assert.is((await leaving).type, 'left')
  assert.equal(endsOf(outer.id), ['left'])
})

test('a cleanup form that never ends is interrupted, and those around it run; the end says so (fault 6)', async () => {
  const { id } = await suspended('(unwind-protect (unwind-protect (error "x") (loop)) (incf *runs*))')
  const left = await lisp.resume(id, { way: 'leave' })
  const said =
    /^It was left, on request\. Its cleanup forms were interrupted after \d+ s; what they had still to do was not done\.$/
  assert.match(left.type === 'left' ? left.message : left.type, said)
  assert.equal(await ended(id), ['left'])
  assert.match(lisp.ended.find(one => one.id === id)?.message ?? '', said)
  assert.is(await human.ask('cl-user::*runs*'), '1')
  await threadsEnd()
})

test('whoever leaves one once more has the cleanup form interrupted that runs', async () => {
  const { id } = await suspended('(unwind-protect (error "x") (loop))', { suspend: 50 })
  await until(async () => (await row(id))?.leaving !== undefined)
  const again = await lisp.resume(id, { way: 'leave' })
  assert.is(
    again.type === 'left' ? again.message : again.type,
    'It is being left already. The cleanup form that runs there was interrupted now.',
  )
  assert.equal(await ended(id), ['expired'])
  assert.match(
    lisp.ended.find(one => one.id === id)?.message ?? '',
    /^Nobody came to it in time\. Its cleanup forms were interrupted after /,
  )
})

test('code whose cleanup forms go on in others loses those alone: a lock around it is given back (fault 11)', async () => {
  await human.ask(`(progn
    (defvar cl-user::*lock* (sb-thread:make-mutex))
    (defvar cl-user::*released* nil)
    (defvar cl-user::*begun* 0)
    (defun cl-user::again ()
      (unwind-protect (progn (incf cl-user::*begun*) (error "again")) (cl-user::again))))`)
  const { id } = await suspended(`
    (sb-thread:with-mutex (*lock*)
      (unwind-protect (unwind-protect (error "x") (again))
        (setf *released* t)))`)
  await lisp.resume(id, { way: 'leave' })
  assert.equal(await ended(id), ['left'])
  assert.match(lisp.ended.find(one => one.id === id)?.message ?? '', /so 1 of its cleanup forms was not run/)
  assert.is(await human.ask('(list cl-user::*released* (sb-thread:mutex-owner cl-user::*lock*))'), '(T NIL)')
  assert.ok(Number(await human.ask('cl-user::*begun*')) >= 10)
  await threadsEnd()
})

test('whoever leaves it again and again has what runs there interrupted twice a second, and no lock is lost', async () => {
  await human.ask(`(progn
    (setf cl-user::*begun* 0)
    (defun cl-user::sleeping ()
      (unwind-protect (progn (incf cl-user::*begun*) (sleep 60)) (cl-user::sleeping))))`)
  const { id } = await suspended('(sb-thread:with-mutex (*lock*) (unwind-protect (error "x") (sleeping)))')
  const start = Date.now()
  const leaving = lisp.resume(id, { way: 'leave' })
  await until(async () => (await row(id))?.leaving !== undefined)
  await until(async () => {
    await lisp.resume(id, { way: 'leave' })
    return endsOf(id).length > 0
  })
  const passed = Date.now() - start
  assert.is((await leaving).type, 'left')
  const begun = Number(await human.ask('cl-user::*begun*'))
  assert.ok(begun >= 10 && begun <= 2 + passed / 400, `${begun} in ${passed} ms`)
  assert.is(await human.ask('(sb-thread:mutex-owner cl-user::*lock*)'), 'NIL')
  await threadsEnd()
})

test('code that throws its leaving away fails a few times more at most, and is then left without its cleanup forms', async () => {
  const again = '(loop (catch :again (incf *runs*) (unwind-protect (error "x") (throw :again 6))))'
  await human.ask('(setf cl-user::*runs* 0)')
  const { id } = await suspended(again, { suspend: 50 })
  assert.equal(await ended(id), ['expired'])
  const runs = Number(await human.ask('cl-user::*runs*'))
  assert.ok(runs > 1 && runs <= 12, `${runs} runs`)
  await threadsEnd()
  assert.equal(await lisp.values('(+ 1 2)'), ['3'])
})

test('one whose cleanup form nothing can interrupt stays listed, and says so', async () => {
  const { id } = await suspended(`(unwind-protect (error "x") (sb-sys:without-interrupts ${HELD}))`, {
    suspend: 50,
  })
  await until(async () => (await row(id))?.leaving !== undefined)
  assert.match((await row(id))?.leaving ?? '', /are interrupted after 30 s\.$/)
  await letGo()
  assert.equal(await ended(id), ['expired'])
})

test('a connection that breaks while one is being left leaves no thread behind (fault 11)', async () => {
  const other = await openSuspending(swank)
  const source = '(progn (push sb-thread:*current-thread* *threads*) (unwind-protect (error "x") (loop)))'
  await other.suspended(source)
  other.end()
  await threadsEnd()
})
