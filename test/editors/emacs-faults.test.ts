import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { escapePlan } from '../../src/text/escape.ts'
import { INVISIBLE } from '../../wire/invisible.ts'
import {
  at,
  type Drawn,
  drawnInEmacs,
  type EmacsPlugin,
  type EmacsScene,
  ORDERS,
  openEmacsScene,
} from '../support/emacs-plugin.ts'
import { assert, suite } from '../support/harness.ts'
import { hostilePlan } from '../support/hostile-plan.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { FORGERY, HOSTILE_NAMES, HOSTILE_TEXTS, type HostileText } from '../support/hostile-texts.ts'
import { RawClient } from '../support/raw-client.ts'
import { until } from '../support/rig.ts'
import { openSeatTerminal, type SeatTerminal } from '../support/watching.ts'

/** What may go wrong while a plan is before a person in Emacs, and what was made to be taken for something else there. */
const test = suite('Emacs plugin, faults', { limitMs: 120_000 })

const HEBREW = '\u05e9\u05dc\u05d5\u05dd'

/** The same for Emacs: lines of ours there. */
const IN_EMACS: HostileText = {
  what: 'lines that imitate ours in Emacs',
  text: [
    '━ hunk 1 of 1 · ✓ take',
    '● The answer was sent.',
    '! ',
    'What will be applied: 0 of 1.',
    '│ ',
    '┃ ',
    // It is written from right to left.
    HEBREW,
  ]
    .map(line => `${line} ${FORGERY}\n`)
    .join('')
    .concat('payload()\n'),
  marks: [],
  payload: 'payload()',
  threat: 14,
}

const TEXTS = [...HOSTILE_TEXTS, IN_EMACS]

const MANY = Array.from({ length: 100 }, (_, n) => `many${n}.txt`)
/** Its error has half a character, as no UTF-8 can hold. */
const SOURCE = `import json, threading
TEXTS = json.loads(${JSON.stringify(JSON.stringify(TEXTS.filter(({ threat }) => threat !== 15).map(({ text }) => text)))})
NAMES = json.loads(${JSON.stringify(JSON.stringify(Object.fromEntries(HOSTILE_NAMES)))})
def fail(text='half \\ud800 of it'): raise ValueError(text)`

let scene: EmacsScene
let emacs: EmacsPlugin
let other: SeatTerminal

test.before(async () => {
  const files = Object.fromEntries(MANY.map(name => [name, 'old\n']))
  scene = await openEmacsScene({ files, source: SOURCE, heartbeatMs: 1_000 })
  emacs = scene.emacs
})
test.after(async () => {
  other?.screen.close()
  await scene?.close()
})

/** The person at the terminal answers the only plan that waits. */
async function otherAnswers(decision: string) {
  const [plan] = (await scene.client.request('approvals', {})).approvals
  const given = { plan: plan?.id, hash: plan?.hash, decision }
  assert.equal((await other.says('answer', given)).answer, { type: 'taken' })
}
test('somebody at a terminal is let in from Emacs, and what they approved is taken back there', async () => {
  other = await openSeatTerminal(scene.rig)
  const sits = other.says('sit')
  await emacs.until('(string-match-p "1 seat wanted" (format-mode-line mode-line-misc-info))')
  await emacs.echoes('imago: 1 seat wanted: M-x imago-admit')
  emacs.command('imago-admit')
  await emacs.replies('yes\r')
  assert.match(JSON.stringify(await sits), /seated/)
  const answer = scene.propose(at(3, 'line3 = 33\n'))
  await emacs.opens()
  await otherAnswers('approve')
  await answer
  await emacs.shows('It ended: ok. To take it back: imago undo ')
  emacs.command('imago-undo')
  await emacs.shows('+line3 = 3\n')
  await emacs.eval('(progn (delete-other-windows) t)')
  await emacs.until('(pos-visible-in-window-p (point-max))')
  emacs.type('y')
  await emacs.sends()
  await until(() => scene.file() === ORDERS, 'the old text')
  await emacs.shows('It ended: ok.')
})

test('keys that were typed before a plan was shown decide nothing, nor does one more send it', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(4, 'line4 = 44\n'))
  await emacs.signed(1)
  emacs.type('\u001bximago-plans\ryy')
  const plan = `(seq-find (lambda (one) (string-prefix-p "*imago plan" (buffer-name one))) (buffer-list))`
  await emacs.until(plan)
  assert.is(await emacs.eval(`(buffer-local-value 'imago-plan--stage ${plan})`), 'choose')
  assert.match(await emacs.eval('(buffer-name)'), /^"\*imago plan/)
  assert.is(await emacs.eval('(buffer-modified-p (get-buffer "orders.py"))'), 'nil')
  emacs.type('nyy')
  await emacs.shows('What will be applied: 1 of 1')
  assert.is(await emacs.eval('imago-plan--stage'), 'confirm')
  await otherAnswers('deny')
  await answer
  await emacs.shows('● ')
})

test('an Emacs that hangs with a plan open comes too late, and says so', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(5, 'line5 = 55\n'))
  await emacs.opens()
  emacs.type('ny')
  await emacs.shows('What will be applied')
  process.kill(emacs.pid, 'SIGSTOP')
  emacs.type('y')
  await otherAnswers('deny')
  await answer
  process.kill(emacs.pid, 'SIGCONT')
  await emacs.shows('denied it')
  await emacs.signed(0)
  assert.is(scene.file(), ORDERS)
})

test('a question of Emacs that is open for longer than a connection may be silent loses neither seat nor plan', async () => {
  await emacs.visit('orders.py')
  const seat = await emacs.eval('(plist-get (imago-project-seat (imago-project)) :seat)')
  const answer = scene.propose(at(9, 'line9 = 99\n'))
  await emacs.opens()
  emacs.type('nr')
  await emacs.until('(active-minibuffer-window)')
  const silent = await RawClient.greeted(scene.rig.paths.socket, scene.rig.project)
  assert.is((await silent.lastWords()).at(-1)?.type, 'bye')
  await emacs.replies('not now\r')
  await emacs.sends()
  assert.match(JSON.stringify(await answer), /not now/)
  assert.is(await emacs.eval('(plist-get (imago-project-seat (imago-project)) :seat)'), seat)
})

test('a file that changes while its plan is shown is left as it is, and the plan says so', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(6, 'line6 = 66\n'))
  await emacs.opens()
  emacs.type('ny')
  await emacs.shows('What will be applied')
  writeFileSync(join(scene.rig.project, 'orders.py'), `${ORDERS}# new\n`)
  emacs.type('y')
  assert.match(JSON.stringify(await answer), /stale_plan/)
  await emacs.shows('stale')
  assert.is(scene.file(), `${ORDERS}# new\n`)
})

test('a plan of 100 files, the most that one may have, is shown, and all of it taken at its end', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(...MANY.map(path => ({ path, old_str: 'old\n', new_str: 'new\n' })))
  await emacs.opens()
  await emacs.shows('━ hunk 100 of 100 · many99.txt:1 · undecided')
  emacs.type('\u0015a')
  await emacs.echoes('imago: there is more below: once more at its end')
  assert.is(await emacs.eval('imago-plan--stage'), 'choose')
  emacs.type('\u001b>')
  await emacs.until('(pos-visible-in-window-p (point-max))')
  emacs.type('\u0015a')
  await emacs.shows('What will be applied: 100 of 100')
  emacs.type('y')
  await answer
  assert.is(readFileSync(join(scene.rig.project, 'many99.txt'), 'utf8'), 'new\n')
  await emacs.shows('It ended: ok.')
})

test('half a character in an error and in a plan hides neither them nor what comes with them', async () => {
  await emacs.visit('orders.py')
  const expr = "threading.Thread(target=fail, name='half').start()"
  await scene.client.call({ tool: 'eval_expr', args: { kernel: 'shop', expr } })
  const answer = scene.propose({ ...at(7, 'line7 = 77\n'), why: 'half \ud800 of it' })
  await emacs.until('(imago-rows (imago-project) "errors")')
  await emacs.opens()
  await emacs.shows('half ')
  await otherAnswers('deny')
  await answer
})

test('an answer that did not count has its sentence above the plan, and can be sent again', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(2, 'line2 = 22\n'))
  await emacs.opens()
  emacs.type('ny')
  await emacs.shows('What will be applied')
  const hash = await emacs.text('(plist-get imago-plan--plan :hash)')
  const hashed = (given: string) =>
    emacs.eval(`(progn (setq imago-plan--plan (plist-put imago-plan--plan :hash ${given})) t)`)
  await hashed('"0"')
  emacs.type('y')
  await emacs.shows('● The answer did not count: it was meant for another plan')
  await hashed('5')
  emacs.type('y')
  await emacs.until('(save-excursion (goto-char 1) (looking-at "● .*hash"))')
  await hashed(`"${hash}"`)
  emacs.type('y')
  await answer
  await emacs.shows('It ended: ok.')
})

test('each character that is not seen has a mark in Emacs, as it has wherever a plan is shown (threat 17)', async () => {
  const unseen = new RegExp(`(?!\\p{Cn}|\\p{Cs})${INVISIBLE}`, 'u')
  const points = [...Array(0x30000).keys(), ...Array.from({ length: 0x200 }, (_, n) => 0xe0000 + n)]
  const all = points.filter(point => unseen.test(String.fromCodePoint(point)))
  const marked = await emacs.text(`(imago-marked (concat '(${all.join(' ')}) ", 語 é"))`)
  assert.is(marked, `${escapePlan(String.fromCodePoint(...all)).text}, 語 é`)
})

/** However it is broken into rows, and however numbers are written. */
const withoutBlanks = (text: string) => text.replace(/[\s,]/g, '')

const NOTHING_OF_OURS = /(?!)/g

/** A line of a text: of a diff, behind a rule of ours, or a row that a longer line goes on in. */
const OF_TEXT = /^[-+ @\\│┃]/

/** A line of ours, which may name what others have named. */
const OURS = /^(?:━ |● |! | {2}do_dangerous|Write | {2}What is defined in )/

/** Nothing raw is there, and what others made up is in no line that could be taken for another one of ours. */
function isPlain(lines: readonly string[]): void {
  assert.equal(straysIn(lines.join('\n'), NOTHING_OF_OURS), [])
  for (const line of lines)
    if (line.includes(FORGERY)) assert.ok(OF_TEXT.test(line) || OURS.test(line), line.slice(0, 200))
}

for (const threat of [14, 15, 16, 17])
  test(`hostile texts of a plan are seen as what they are in Emacs, to their ends (threat ${threat})`, async () => {
    const texts = TEXTS.filter(text => text.threat === threat)
    for (const inHunk of [false, true]) {
      const plans = texts.map(({ text }) => ({ ...hostilePlan({ body: text, inHunk }), raw: text }))
      const drawn = await drawnInEmacs(scene, plans)
      for (const [index, { marks, payload }] of texts.entries()) {
        const { waits, refused, edited, over } = drawn[index] as Drawn
        for (const lines of [waits, refused, edited, over]) isPlain(lines)
        for (const line of waits) if (line.includes(FORGERY)) assert.match(line, OF_TEXT)
        const all = withoutBlanks(waits.join('\n'))
        // How long a text is, is said of the whole of a plan.
        const known = inHunk ? marks.filter(mark => !/\d (?:lines|characters)$/.test(mark)) : marks
        for (const mark of [...known, payload])
          assert.ok(all.includes(withoutBlanks(mark)), `${mark} is not shown`)
        const { hash, bytes, lines } = plans[index] as (typeof plans)[number]
        assert.ok(all.includes(hash), 'its hash is not shown')
        assert.match(all, new RegExp(`(?<!\\d)${lines}lines?${bytes}bytes`))
        assert.ok(withoutBlanks(edited.join('\n')).includes(withoutBlanks(payload)))
      }
    }
  })

test('hostile names of files, programs, callers and purposes are in lines of ours in Emacs (threat 14)', async () => {
  for (const inHunk of [false, true]) {
    const plans = HOSTILE_NAMES.map(([, name]) => ({ ...hostilePlan({ name, inHunk }), raw: name }))
    for (const { waits, refused, edited, over } of await drawnInEmacs(scene, plans))
      for (const lines of [waits, refused, edited, over]) isPlain(lines)
  }
})

test('no code of a plan, a purpose or a reason reaches the terminal of Emacs, and no row of it is one of ours (threat 16)', async () => {
  await emacs.visit('orders.py')
  const [, obeyed = ''] = HOSTILE_NAMES.find(([what]) => what === 'with all that a terminal obeys') ?? []
  // No file may have a NUL.
  const text = TEXTS.filter(({ threat }) => threat === 14 || threat === 16).map(one => ({
    ...one,
    text: one.text.replaceAll('\0', ''),
  }))
  const answer = scene.propose({ ...at(1, text.map(one => one.text).join('')), why: obeyed })
  await emacs.opens()
  await emacs.eval('(progn (delete-other-windows) t)')
  const seen: string[] = []
  for (let isEnd = false; !isEnd; ) {
    const rows = await emacs.rows()
    for (const row of rows) if (row.includes(FORGERY)) assert.match(row, OF_TEXT)
    seen.push(...rows)
    isEnd = (await emacs.eval('(pos-visible-in-window-p (point-max))')) !== 'nil'
    if (!isEnd) await emacs.eval('(progn (scroll-up) t)')
  }
  // A row ends with a mark of Emacs where its line goes on.
  const all = withoutBlanks(seen.map(row => row.replace(/^[┃+]|\\$/g, '')).join(''))
  for (const { payload } of text) assert.ok(all.includes(withoutBlanks(payload)), payload)
  const reversed = [...HEBREW].reverse().join('')
  assert.ok(seen.some(row => row.startsWith(`+${reversed} `)))
  emacs.type('r')
  await emacs.replies('no \u009b31m\u202e\r')
  await emacs.shows('✗ refuse: no ⟦U+009B⟧31m⟦U+202E⟧')
  await emacs.rows()
  await emacs.sends()
  await answer
  const sequences = text
    .flatMap(one => one.text.split('\n'))
    .filter(line => line.includes('\u001b') || line.includes('\u009b'))
  for (const line of [...sequences.map(line => line.replace(/^.*?# /, '')), obeyed])
    assert.not.ok(emacs.written().includes(line), JSON.stringify(line))
})

test('hostile values, messages and names of parts are text in Emacs (threat 16)', async () => {
  await emacs.visit('orders.py')
  const linesOf = async (buffer: string) => {
    await emacs.until(`(get-buffer "${buffer}")`)
    const text = await emacs.text(
      `(with-current-buffer "${buffer}" (json-encode (split-string (buffer-string) "\\n")))`,
    )
    return JSON.parse(text) as string[]
  }
  await emacs.eval('(progn (imago-evaluate "print(*TEXTS)") t)')
  const lines = await linesOf('*imago result*')
  assert.equal(straysIn(lines.join('\n'), NOTHING_OF_OURS), [])
  for (const { payload, threat } of TEXTS)
    if (threat !== 15) assert.ok(lines.join('\n').includes(payload), payload)
  await emacs.eval('(progn (imago-inspect "NAMES") t)')
  assert.equal(straysIn((await linesOf('*imago value*')).join('\n'), NOTHING_OF_OURS), [])
  await emacs.eval(`(progn (imago-evaluate "fail(TEXTS[5][:200])") t)`)
  await emacs.echoes('ValueError')
  assert.equal(straysIn(await emacs.text('(current-message)'), NOTHING_OF_OURS), [])
})

test('an Emacs that is killed with a plan open leaves it waiting for others', async () => {
  await emacs.visit('orders.py')
  const answer = scene.propose(at(8, 'line8 = 88\n'))
  await emacs.opens()
  await emacs.kill()
  await until(
    async () => (await scene.client.request('approvals', {})).seats.length === 1,
    'its seat to be left',
  )
  await otherAnswers('approve')
  await answer
  assert.match(scene.file(), /^line8 = 88$/m)
})
