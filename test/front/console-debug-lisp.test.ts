import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { type Owner, openOwner } from '../support/slime-owner.ts'
import { startSwank } from '../support/swank.ts'

/** The same in a real Lisp, whose errors wait where they happened. */
const test = suite('the debugger at the console of a Lisp', { limitMs: 60_000 })

const rig = openRig()
test.after(() => rig.close())

/** A console on the one Lisp of this file, and how a line is entered there. */
async function atConsole(
  use: (screen: ScreenOf, enter: (line: string, prompt?: string) => Promise<void>) => Promise<void>,
) {
  const screen = openScreen(rig, { columns: 100, rows: 60 })
  try {
    await screen.shows(/^>>>/m)
    const prompts = () => screen.all().filter(row => /^(\[\d+\] )?>>>/.test(row)).length
    await use(screen, async (line, prompt = '>>>') => {
      const before = prompts()
      screen.type(`${line}\r`)
      await until(
        () => prompts() > before && screen.rows().at(-1) === prompt,
        `${prompt} after ${line}`,
      ).catch(error => {
        throw new Error(`${error.message}\n${screen.text()}`)
      })
    })
  } finally {
    screen.close()
  }
}

test('a Lisp begins', async () => {
  await rig.serve()
  const { code, stderr } = await rig.begin(['start', 'lisp']).ended
  assert.is(code, 0, stderr)
})

const CHECKED =
  '(defun checked (x) (restart-case (if x (error "no ~a" x) :fine) ' +
  '(use-value (v) :report "Use another value." ' +
  ':interactive (lambda () (format *query-io* "which? ") (list (read *query-io*))) v)))'

test('the restarts of an error stand numbered below its backtrace, and one is taken with a value, or asks for it', () =>
  atConsole(async (screen, enter) => {
    await enter(CHECKED)
    await enter('(* 2 (checked 1))', '[1] >>>')
    await screen.shows(
      /^ {2}Backtrace:\n[\s\S]*\n {2}0: \[USE-VALUE\] Use another value\. \(takes a value\)\nsuspended as/m,
    )
    assert.is(screen.all().filter(row => row.includes('[USE-VALUE]')).length, 1)
    await enter(':0 21')
    await screen.shows(/:0 21\n42\n>>>$/)
    await enter('(* 2 (checked 1))', '[1] >>>')
    screen.type(':resume use-value\r')
    await screen.shows(/^which\?/m)
    screen.type('50\r')
    await screen.shows(/^100\n>>>$/m)
  }))

test('a function is mended while its call waits, and its frame called again goes on with the new one', () =>
  atConsole(async (screen, enter) => {
    await enter('(defun price (x) (declare (optimize debug)) (/ 84 x))')
    await enter('(list (price 0))', '[1] >>>')
    screen.type(':debug\r')
    await screen.shows(/^ {2}(\d+): \(price 0\)/m)
    const [, number = ''] = /^ {2}(\d+): \(price 0\)/m.exec(screen.text()) ?? []
    await enter(`:frame ${number}`, '[1] >>>')
    await screen.shows(/^ {2}x \(argument\) = 0$/m)
    await enter(':in (list x x)', '[1] >>>')
    await screen.shows(/^\(0 0\)$/m)
    await enter('(defun price (x) (declare (optimize debug)) (if (zerop x) :free (/ 84 x)))', '[1] >>>')
    await enter(':again')
    await screen.shows(/^\(:free\)\n>>>$/m)
    await enter('(list (price "x"))', '[1] >>>')
    await enter(':debug', '[1] >>>')
    const [, at = ''] = /^ {2}(\d+): \(price "x"\)/m.exec(screen.text()) ?? []
    await enter(`:frame ${at}`, '[1] >>>')
    await enter(':return (* 6 7)')
    await screen.shows(/^\(42\)\n>>>$/m)
  }))

test('an error in a frame is a level deeper, and leaving all leaves none', () =>
  atConsole(async (screen, enter) => {
    await enter('(error "outer")', '[1] >>>')
    await enter(':in (error "inner")', '[2] >>>')
    await screen.shows(/^suspended as s\d+@\w+, level 2, within s\d+@\w+ ·/m)
    await enter(':leave', '[1] >>>')
    await enter(':in (error "inner")', '[2] >>>')
    await enter(':leave all')
    const [kernel] = (await (await rig.connect()).request('kernels', {})).kernels
    assert.is(kernel?.suspended, 0)
  }))

/** Somebody's own Lisp, with SLIME and the console in it. Both end with what is done. */
async function besideSlime(use: (owner: Owner) => Promise<void>) {
  const home = rig.env.HOME ?? ''
  writeFileSync(join(home, '.slime-secret'), 'of a test\n', { mode: 0o600 })
  // A console speaks to the one kernel that there is.
  await rig.imago(['stop', 'lisp'])
  const swank = await startSwank({ home, debugger: true })
  try {
    const owner = await openOwner(swank, 'of a test')
    const { code, stderr } = await rig.imago(['attach', `swank://127.0.0.1:${swank.port}`, '--name', 'tea'])
    assert.is(code, 0, stderr)
    await use(owner)
  } finally {
    swank.kill()
  }
}

test('an error that waits in one’s own SLIME is listed, put before others, taken, and goes on from the console', () =>
  besideSlime(owner =>
    atConsole(async (screen, enter) => {
      await enter(':theirs')
      await screen.shows('No error waits in a debugger of yours in tea.')
      const form =
        '(restart-case (error "no tea for ~D" 3) (use-value (value) :report "Use another." (* 2 value)))'
      const { answer } = await owner.err(form)
      await enter(':theirs')
      await screen.shows(/^(thread-\d+) {2}thread ".*", in SLIME: .*no tea for/m)
      const [, id = ''] = /^(thread-\d+) {2}/m.exec(screen.text()) ?? []
      await enter(`:adopt ${id}`)
      await screen.shows(/^It is s\d+@\w+ now, before the agents of its project\./m)
      const [, suspension = ''] = /^It is (s\d+@\w+) now/m.exec(screen.text()) ?? []
      await enter(`:take ${suspension}`, '[1] >>>')
      await screen.shows(`${suspension} is yours now`)
      await enter(':0 21')
      assert.match(JSON.stringify(await answer), '=> 42')
      await screen.shows(/^s\d+@\w+ goes on where it was called; what it comes to is shown there\.$/m)
      await enter(':theirs')
      await screen.shows('No error waits in a debugger of yours in tea.')
    }),
  ))
