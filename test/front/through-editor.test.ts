import { readFileSync } from 'node:fs'
import { Resumptions } from '../../src/front/seat/through-editor.ts'
import { closeEditors, EDITOR, type Editor, linesIn, openEditor } from '../support/editors.ts'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { openRig, until } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { codeOf, evaluating, noSeat, openAsking, openWatch, seatLines } from '../support/watching.ts'

/** Programs without a terminal, which are real processes here, and a person at a terminal where one is needed. */
const test = suite('seat through an editor', { limitMs: 60_000 })
const rig = openAsking()
test.before(async () => void (await rig.serve()))
test.after(async () => {
  closeEditors()
  await rig.close()
})

const WIDE = { columns: 200 }
const NEOVIM = { through: 'Neovim' }
const sits = (editor: Editor, params: object = NEOVIM) => editor.says('sit', params, 'seat')

/** What a test does with editors, none of which is left afterwards. */
const alone = (work: () => Promise<void>) => async () => {
  try {
    await work()
  } finally {
    closeEditors()
    await noSeat(rig)
  }
}

/** An editor that hosts a model, and waits for a person. */
async function hosting() {
  const editor = await openEditor(rig)
  await editor.says('serve', {}, 'serves')
  const { seats, code } = await editor.says('sit', { through: 'Code' }, 'code')
  return { editor, seats, code: String(code) }
}

const seat = (code: string) => openScreen(rig, { args: ['seat', code], columns: 160, rows: 40 })
const ASKED = 'Let it have a seat? [y]es [n]o'

test(
  'a program without a terminal sits where nobody does, is known by its process, and approves what is shown to it',
  alone(async () => {
    const editor = await openEditor(rig)
    const { seat: id, who, resume } = await sits(editor)
    assert.is(who, `through node (process ${editor.pid}), which calls itself "Neovim"`)
    const { answer } = await evaluating(rig, '6 * 7')
    await editor.hears('type', 'plan')
    assert.equal((await editor.says('approve', {}, 'answered')).answered, { type: 'taken' })
    assert.is(codeOf(await answer), 'ok')
    assert.match(String((await editor.hears('type', 'ended')).outcome), 'ok')
    const taken = seatLines(rig).map(line => JSON.parse(line))
    assert.ok(taken.some(line => line.what === 'taken' && line.seat === id && line.who === who))
    assert.match(String(resume), /^[0-9a-f]{32}$/)
    const kept = [...seatLines(rig), readFileSync(rig.paths.log, 'utf8')].join()
    assert.not.match(kept, String(resume))
  }),
)

test(
  'whoever sits is asked about an editor, and sees what it calls itself and the code that it shows',
  alone(async () => {
    const { screen } = await openWatch(rig, WIDE)
    const editor = await openEditor(rig)
    const { code } = await editor.says('sit', NEOVIM, 'code')
    await screen.shows(
      new RegExp(
        `too: through node \\(process ${editor.pid}\\), which calls itself "Neovim"[\\s\\S]*shows the code ${code}\\. The program that drives it has its seat\\.[\\s\\S]*\\[y\\]es \\[n\\]o`,
      ),
    )
    assert.not.match(screen.text(), 'A model')
    screen.type('n\n')
    assert.match(String((await editor.hears('failed')).said), /turned away by seat-\d+/)
    const again = await editor.says('sit', NEOVIM, 'code')
    assert.is.not(again.code, code)
    await screen.shows(`shows the code ${again.code}`)
    await screen.shows(/\[y\]es \[n\]o$/)
    screen.type('y\n')
    assert.match(String((await editor.hears('seat')).seat), /^seat-\d+$/)
    screen.close()
  }),
)

const FROM_CODE = `
import json, os, subprocess
given = json.loads(GIVEN)
ran = subprocess.run(given['command'], env=given['env'], cwd=given['cwd'], input='sit {"through":"Neovim"}\\n', capture_output=True, text=True, timeout=60)
print(ran.stdout + ran.stderr)`

/** What is said to a program that asks for a seat, and that the code of a kernel or of a program has started. */
const fromCode = ({ env, project }: typeof rig) =>
  FROM_CODE.replace(
    'GIVEN',
    JSON.stringify(JSON.stringify({ command: ['setsid', '--wait', ...EDITOR], env, cwd: project })),
  )

test('what a kernel or an attached program starts is no editor, though it has no terminal (threat 5)', async () => {
  const own = openRig()
  await own.serve()
  const program = await startProgram({ folder: own.project, runtimeDir: own.paths.runtimeDir })
  try {
    const client = await own.connect()
    assert.is((await own.imago(['start', 'python', '--name', 'mine'])).code, 0)
    assert.is((await own.imago(['attach', 'web'])).code, 0)
    for (const [kernel, why] of [
      ['mine', /seat_refused.*was started from inside a kernel/],
      ['web', /seat_refused.*was started by web, a program that is attached/],
    ] as const) {
      const args = { expr: fromCode(own), kernel }
      const said = JSON.stringify(await client.call({ tool: 'eval_expr', args }))
      assert.match(said, why, said)
    }
  } finally {
    program.signal('SIGKILL')
    await program.ended
    await own.close()
  }
})

test(
  'an editor that hosts a model waits for a person even where nobody sits, who types its code at a terminal and is told so',
  alone(async () => {
    const { editor, seats, code } = await hosting()
    assert.equal(seats, [])
    assert.match(code, /^[0-9a-z]{4}-[0-9a-z]{4}$/)
    assert.match((await rig.imago(['approvals'])).stdout, /Nobody has a seat/)
    const wrong = seat('aaaa-aaaa')
    assert.is(await wrong.ended, 1)
    assert.match(wrong.text(), /No editor waits with the code aaaa-aaaa/)
    const piped = await rig.imago(['seat', code])
    assert.equal([piped.code, /at a terminal/.test(piped.stderr)], [1, true])
    const right = seat(code.toUpperCase().replace('-', ' '))
    await right.shows(ASKED)
    assert.match(
      right.text(),
      new RegExp(
        `calls itself "Code"[\\s\\S]*! A model or a program may drive it: process ${editor.pid} \\(node\\), the host of an MCP server, node\\.`,
      ),
    )
    right.type('y\n')
    assert.is(await right.ended, 0)
    await editor.hears('seat')
    const { answer } = await evaluating(rig, '1')
    await editor.hears('type', 'plan')
    await editor.says('approve', {}, 'answered')
    assert.is(codeOf(await answer), 'ok')
    const again = seat(code)
    const { id } = await editor.hears('type', 'seat_wanted')
    await editor.says('admit', { wanted: id, admit: true }, 'admit')
    assert.is(await again.ended, 1)
    assert.match(again.text(), 'No editor waits')
  }),
)

test(
  'a seat that is told so lets an editor that hosts a model in; one that it turned away does not ask again at once (threat 36)',
  alone(async () => {
    const { editor } = await hosting()
    const { screen } = await openWatch(rig, WIDE)
    await screen.shows(
      /! A model or a program may drive it: process \d+ \(node\), the host[\s\S]*\[y\]es \[n\]o$/,
    )
    screen.type('n\n')
    assert.match(String((await editor.hears('failed')).said), /turned away by seat-\d+/)
    const again = await editor.says('sit', { through: 'Code' }, 'seat')
    assert.match(String(again.said), /turned away less than a minute ago/)
    const { editor: other } = await hosting()
    await screen.shows(/(?:too: [\s\S]*){2}\[y\]es \[n\]o$/)
    screen.type('y\n')
    await other.hears('seat')
    screen.close()
  }),
)

test(
  'a model whose host runs below an editor, as in its terminal, may drive it: a person is asked, and told which program that is',
  alone(async () => {
    const editor = await openEditor(rig)
    const { hosts } = await editor.says('terminal', {}, 'hosts')
    const { code } = await editor.says('sit', NEOVIM, 'code')
    const asked = seat(String(code))
    await asked.shows(ASKED)
    assert.match(asked.text(), `may drive it: process ${hosts} (node), the host of an MCP server, node.`)
    asked.type('n\n')
    assert.is(await asked.ended, 0)
    assert.match(String((await editor.hears('failed')).said), /turned away by seat-\d+/)
  }),
)

test(
  'what the host of a model starts through a shell is no editor, and no person is asked (threat 5)',
  alone(async () => {
    const editor = await openEditor(rig)
    await editor.says('serve', {}, 'serves')
    editor.does('shell')
    const said = () => editor.told().flatMap(({ started }) => linesIn(String(started ?? '')))
    await until(() => said().some(one => 'failed' in one), 'the refusal')
    const { said: why } = said().find(one => 'failed' in one) ?? {}
    assert.match(
      String(why),
      /was started by the host of an MCP server, node \(process \d+\), which may not approve/,
    )
  }),
)

test(
  'an editor that begins to host a model while it sits loses its seat at the next answer, and nothing is approved',
  alone(async () => {
    const editor = await openEditor(rig)
    await sits(editor)
    const cancel = new AbortController()
    const { answer } = await evaluating(rig, '1', cancel.signal)
    await editor.hears('type', 'plan')
    await editor.says('serve', {}, 'serves')
    editor.does('approve')
    await editor.hears('failed', 'no_seat')
    const { said } = await editor.hears('failed', 'seat_refused')
    assert.match(
      String(said),
      /The seat is over\. By now this editor may be driven by process \d+ \(node\), the host/,
    )
    assert.match((await rig.imago(['approvals'])).stdout, /^plan-/m)
    cancel.abort()
    assert.is(codeOf(await answer), 'withdrawn')
  }),
)

test(
  'an editor whose connection broke comes back by its secret, once, and nobody is asked',
  alone(async () => {
    const { screen } = await openWatch(rig, WIDE)
    const editor = await openEditor(rig)
    editor.does('sit', NEOVIM)
    await screen.shows(/\[y\]es \[n\]o$/)
    screen.type('y\n')
    const first = await editor.hears('seat')
    const resume = async (secret: unknown) => sits(editor, { ...NEOVIM, resume: secret })
    await editor.says('break', {}, 'broken')
    await screen.shows(`${first.seat}, through node`)
    const second = await resume(first.resume)
    assert.match(String(second.seat), /^seat-\d+$/)
    assert.is.not(second.resume, first.resume)
    assert.is(screen.text().split('wants to approve, too').length, 2)
    await editor.says('break', {}, 'broken')
    assert.match(String((await resume(first.resume)).said), /No seat of this editor was lost within 60 s/)
    const third = await resume(second.resume)
    assert.match(String(third.seat), /^seat-\d+$/)
    // Whoever leaves has no seat to come back to.
    await editor.says('leave', {}, 'left')
    assert.is((await resume(third.resume)).failed, 'seat_refused')
    screen.close()
  }),
)

test(
  'the secret of an editor is worth nothing to another process, which ends it (threat 4)',
  alone(async () => {
    const [editor, thief] = [await openEditor(rig), await openEditor(rig)]
    const { resume } = await sits(editor)
    await editor.says('break', {}, 'broken')
    await noSeat(rig)
    assert.is((await sits(thief, { ...NEOVIM, resume })).failed, 'seat_refused')
    assert.is((await sits(editor, { ...NEOVIM, resume })).failed, 'seat_refused')
  }),
)

test('a secret holds for 60 seconds after the connection broke, and for the life of that process', () => {
  let now = 0
  const timers: { readonly at: number; run(): void }[] = []
  const resumptions = new Resumptions({
    now: () => now,
    after(ms, run) {
      timers.push({ at: now + ms, run })
      return () => {}
    },
  })
  const passes = (ms: number) => {
    now += ms
    for (const { at, run } of timers) if (at <= now) run()
  }
  const editor = { pid: 9, started: 'then', isTold: true }
  for (const secret of ['a', 'b', 'c']) resumptions.broke(secret, editor)
  passes(59_999)
  assert.equal(resumptions.take('a', editor), editor)
  assert.is(resumptions.take('b', { ...editor, started: 'later' }), undefined)
  passes(1)
  assert.is(resumptions.take('c', editor), undefined)
})

test(
  'of two editors the first to answer a plan counts, and the other one sees it go',
  alone(async () => {
    const [one, other] = [await openEditor(rig), await openEditor(rig)]
    await sits(one)
    other.does('sit', { through: 'Emacs' })
    const { id } = await one.hears('type', 'seat_wanted')
    await one.says('admit', { wanted: id, admit: true }, 'admit')
    await other.hears('seat')
    const { answer } = await evaluating(rig, '1')
    await one.hears('type', 'plan')
    const { plan } = await other.hears('type', 'plan')
    const [first, late] = [
      await other.says('approve', {}, 'answered'),
      await one.says('approve', {}, 'answered'),
    ]
    assert.equal(first.answered, { type: 'taken' })
    assert.match(JSON.stringify(late.answered), /"late".*approved it/)
    await one.hears('id', (plan as { id: string }).id)
    assert.is(codeOf(await answer), 'ok')
  }),
)

for (const [what, signal] of [
  ['ends', 'SIGKILL'],
  ['hangs', 'SIGSTOP'],
] as const)
  test(
    `a plan is not lost when the editor that shows it ${what}: it waits, and is answered elsewhere`,
    alone(async () => {
      const editor = await openEditor(rig)
      await sits(editor)
      const { answer } = await evaluating(rig, '6 * 7')
      await editor.hears('type', 'plan')
      const other = await openEditor(rig)
      other.does('sit', { through: 'Emacs' })
      const { id } = await editor.hears('type', 'seat_wanted')
      await editor.says('admit', { wanted: id, admit: true }, 'admit')
      await other.hears('type', 'plan')
      editor.signal(signal)
      await other.says('approve', {}, 'answered')
      assert.is(codeOf(await answer), 'ok')
    }),
  )
