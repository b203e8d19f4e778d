import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Methods } from '../../src/front/protocol.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { serveBriskly } from '../support/brisk-daemon.ts'
import { openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { textOf } from '../support/imports.ts'
import { RawClient } from '../support/raw-client.ts'
import { openRig, until } from '../support/rig.ts'
import { later, openStubbedWindow, type StubbedWindow } from '../support/stubbed-window.ts'
import { extensionSha256, LAST_RUN } from '../support/vscode-sources.ts'
import type { VsCode } from '../support/vscode-stub.ts'

/** The whole extension of VS Code, with a stub in the place of the editor and the real `imago lsp` behind it. */
const test = suite('VS Code extension, activated', { limitMs: 90_000 })

const ORDERS = Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')
const rig = openRig({ files: { 'orders.py': ORDERS, 'pyproject.toml': '' } })
/** After two of them the daemon drops a client that says nothing. */
const HEARTBEAT_MS = 1_000
let window: StubbedWindow
let vscode: VsCode
test.before(async () => {
  await serveBriskly(rig, HEARTBEAT_MS)
  window = await openStubbedWindow(rig)
  vscode = window.vscode
})
test.after(async () => {
  await window?.close()
  await rig.close()
})

const manifest = () =>
  JSON.parse(textOf('editors/vscode/package.json')) as {
    contributes: { commands: { command: string }[]; keybindings: { command: string }[] }
  }

test('a program that is not there is a sign, whose click asks where it is; once that is said, it runs', async () => {
  const { contributes } = manifest()
  for (const { command } of [...contributes.commands, ...contributes.keybindings])
    assert.ok(vscode.commands.has(command) || command.startsWith('workbench.'), command)
  const { status } = vscode
  await until(() => status.isShown, 'the sign')
  assert.is(status.text, 'Imago: it is not found, or does not start: click to say where it is')
  // Tabs of plans that an earlier window had open have nothing to show.
  assert.equal(vscode.tabs(), ['mine'])
  assert.is(status.command, 'imago.locate')
  vscode.typed.push(process.execPath)
  await window.run('imago.locate')
  await until(() => status.text === 'Imago' && window.editor() !== undefined, 'the quiet sign')
  assert.is(status.command, 'imago.waits')
  // Nothing waits: its click lists what can be done.
  await window.run('imago.waits')
  assert.equal(vscode.ran.splice(0), [['workbench.action.quickOpen', '>Imago: ']])
  // The setting `imago.sit` is on.
  const daemon = async () =>
    (await window.editor()?.request<{ seats: object[] }>('imago/approvals'))?.seats.length === 1
  await until(daemon, 'the seat')
})

test('a plan that waits is a sign and no more; opened, its lenses take one hunk and refuse the other', async () => {
  const why = '$(zap) [x](command:imago.undo)'
  const edits = [
    { path: 'orders.py', old_str: 'line3 = 3\n', new_str: 'line3 = 33\n', why },
    { path: 'orders.py', old_str: 'line30 = 30\n', new_str: '' },
  ]
  const call = await window.propose('propose_file_edit', { edits })
  assert.is(vscode.status.text, 'Imago: 1 plan waits')
  assert.equal(
    vscode.ran.filter(([name]) => name !== 'setContext'),
    [],
  )
  assert.equal(vscode.messages, [])
  const [row] = (await vscode.views.get('imago.waiting')?.getChildren()) ?? []
  assert.is(row?.label, 'Edit orders.py: 2 hunks, asked by imago test')
  const { summary, after, before } = await window.openPlan()
  assert.match(vscode.text(summary), /asked by imago test/)
  assert.is(vscode.text(before), ORDERS)
  const hunk = ['· undecided (hunk 1 of 2)', 'Take', 'Refuse…', 'Edit']
  assert.equal(
    window.titles(after).slice(0, 4),
    hunk.map(title => `3 ${title}`),
  )
  await window.press(after, 'Take')
  assert.match(window.titles(after).join(), /✓ taken/)
  // By its key: the hunk at the cursor.
  vscode.look(after, 31)
  vscode.typed.push(' keep it ')
  await window.run('imago.plan.refuse')
  assert.is(vscode.asked.at(-1), 'Reason (empty: none) to refuse hunk 2 of 2 · orders.py:31')
  assert.match(vscode.text(summary), /what will be applied: 1 of 2[\s\S]*✗ refused: keep it/)
  assert.equal(readFileSync(join(rig.project, 'orders.py'), 'utf8'), ORDERS)
  later()
  await window.press(summary, 'Go back')
  assert.match(window.titles(after).join(), /^0 Summary,3 ✓ taken .*✗ refused: keep it/)
  // A key changes nothing that is decided.
  vscode.look(after, 31)
  await take()
  assert.is(`${vscode.seen}`, `${summary}`)
  assert.match(vscode.text(summary), /what will be applied: 1 of 2[\s\S]*✗ refused: keep it/)
  later()
  await window.press(summary, 'Send this')
  assert.match(JSON.stringify(await call.ended()), 'keep it')
  assert.is(readFileSync(join(rig.project, 'orders.py'), 'utf8'), ORDERS.replace('= 3\n', '= 33\n'))
  await until(() => /It ended: ok/.test(vscode.text(summary)), 'what came of it')
  await until(() => vscode.status.text === 'Imago', 'the sign to go')
  assert.match(window.titles(summary).join(), /,0 Undo$/)
  assert.equal(window.titles(after), ['3 ✓ done (hunk 1 of 2)', '30 ✗ refused: keep it (hunk 2 of 2)'])
  const told = `orders.py has sha256 ${'0123abcd'.repeat(8)}. It had others.\nnext: Look at it again, and call again`
  window.hear('window/showMessage', { message: told })
  assert.is(
    vscode.messages.at(-1),
    'Imago: orders.py has sha256 0123abcd…. It had others. next: Look at it again, and call again',
  )
  window.hear('window/showMessage', { message: 'took back plan-1\nto have it again: undo_change plan-2' })
  assert.is(vscode.messages.at(-1), 'Imago: took back plan-1 to have it again: undo_change plan-2')
  window.hear('window/showMessage', { message: 'a\u202e [click](command:imago.undo)' })
  assert.is(vscode.messages.at(-1), 'Imago: a\\u202e [click] (command:imago.undo)')
})

test('an undo that a person asks for opens at once, also where nobody had a seat', async () => {
  await window.editor()?.request('imago/leave')
  await until(async () => (await seats()).length === 0, 'the seat to go')
  const before = vscode.ran.length
  const undone = window.run('imago.undo')
  await until(() => vscode.ran.slice(before).some(([name]) => name === 'vscode.changes'), 'its plan')
  const { summary } = window.planShown()
  assert.match(vscode.text(summary), /^Take back /)
  vscode.look(summary)
  vscode.typed.push('it stays')
  await window.press(summary, 'Refuse…')
  await undone
  assert.match(vscode.messages.at(-1) ?? '', /it stays/)
  await until(() => vscode.status.text === 'Imago', 'the sign to go')
})

test('unsaved text is said first and saved; a hunk is edited by saving its text; the rest is taken', async () => {
  const edits = [5, 9].map(n => ({ path: 'orders.py', old_str: `line${n} = ${n}\n`, new_str: '' }))
  const call = await window.propose('propose_file_edit', { edits })
  vscode.unsaved(join(rig.project, 'orders.py'))
  const { summary, after } = await window.openPlan()
  assert.match(vscode.text(summary), /^! \S*orders\.py has unsaved text/)
  await window.press(summary, 'Save the unsaved text')
  assert.not.match(vscode.text(summary), 'unsaved')
  await window.press(after, 'Edit')
  const edited = vscode.seen
  assert.match(edited.path, /\/hunk 1 of orders\.py$/)
  assert.equal(window.titles(edited), ['0 Take this text (Ctrl+S): hunk 1 of 2 · orders.py:6', '0 Cancel'])
  vscode.write('line5 = "$(x)"')
  await vscode.save()
  await until(() => window.titles(after).join().includes('✎ edited'), 'the edit')
  vscode.look(after)
  await window.run('imago.plan.takeRest')
  assert.match(vscode.text(summary), /what will be applied: 2 of 2[\s\S]*│ \+line5 = "\$\(x\)"/)
  vscode.look(summary)
  later()
  await window.run('imago.plan.take')
  assert.ok((await call.ended()).ok)
  const text = readFileSync(join(rig.project, 'orders.py'), 'utf8')
  assert.ok(text.includes('line5 = "$(x)"\n'))
  assert.not.match(text, 'line9 =')
})

const LONG = Array.from({ length: 3_000 }, (_, n) => `row${n} = ${n}\n`).join('')
const UNSEEN = 'Imago: the end of this was not on the screen yet: look at it, and take it again.'
const take = async () => window.run('imago.plan.take')

/** A plan that is open, on a screen of 40 lines. */
async function proposed(tool: string, args: object) {
  const call = await window.propose(tool, args)
  vscode.screen(40)
  vscode.messages.length = 0
  return { ...(await window.openPlan()), call }
}

test('a file of 3,000 lines is taken once their end was on the screen, and by another key than led there', async () => {
  const { summary, call } = await proposed('write_file', { path: 'rows.py', content: LONG })
  const asked = vscode.text(summary)
  await take()
  assert.equal(vscode.messages, [UNSEEN])
  // The key is held.
  await take()
  await take()
  assert.is(vscode.text(summary), asked)
  later()
  await take()
  await call.ended()
  assert.is(readFileSync(join(rig.project, 'rows.py'), 'utf8'), LONG)
})

test('a hunk whose end was not on the screen is not taken, nor the rest; a held key sends nothing', async () => {
  const edits = [7, 30].map(n => ({ path: 'orders.py', old_str: `line${n} = ${n}\n`, new_str: LONG }))
  const text = () => readFileSync(join(rig.project, 'orders.py'), 'utf8')
  const before = text()
  const { summary, after, call } = await proposed('propose_file_edit', { edits })
  await window.press(after, 'Take')
  assert.not.match(window.titles(after).join(), '✓')
  assert.equal(vscode.messages, [UNSEEN])
  later()
  await window.press(after, 'Take')
  assert.match(window.titles(after).join(), /✓ taken \(hunk 1 of 2\)/)
  await window.press(summary, 'Take the rest')
  assert.equal(vscode.messages, [UNSEEN, UNSEEN])
  assert.not.match(vscode.text(summary), 'what will be applied')
  later()
  await window.press(summary, 'Take the rest')
  assert.match(vscode.text(summary), 'what will be applied: 2 of 2')
  assert.is(`${vscode.seen}`, `${summary}`)
  await take()
  await take()
  later()
  // Of what will be applied only the beginning is on the screen.
  await take()
  assert.equal(vscode.messages, [UNSEEN, UNSEEN, UNSEEN])
  await take()
  assert.match(vscode.text(summary), 'what will be applied: 2 of 2')
  assert.is(text(), before)
  later()
  vscode.drawn.length = 0
  void take()
  await new Promise(setImmediate)
  assert.match(vscode.drawn.at(-1) ?? '', /^● The answer was sent\./)
  await call.ended()
  assert.is(text().length, before.length - 'line7 = 7\nline30 = 30\n'.length + 2 * LONG.length)
  vscode.screen(1_000_000)
})

const gone = (line: number) => ({
  edits: [{ path: 'orders.py', old_str: `line${line} = ${line}\n`, new_str: '' }],
})
const seats = async () => (await (await rig.connect()).request('approvals', {})).seats

test('a prompt that is open longer than a connection may say nothing keeps the seat', async () => {
  const before = await seats()
  const call = await window.propose('propose_file_edit', gone(11))
  const { summary, after } = await window.openPlan()
  let answers: (reason: string) => void = () => {}
  vscode.typed.push(
    new Promise(resolve => {
      answers = resolve
    }),
  )
  const refusing = window.press(after, 'Refuse…')
  const silent = await RawClient.greeted(rig.paths.socket, rig.project)
  assert.is((await silent.lastWords()).at(-1)?.type, 'bye')
  answers('it stays')
  await refusing
  later()
  await window.press(summary, 'Send this')
  assert.match(JSON.stringify(await call.ended()), 'it stays')
  assert.equal(await seats(), before)
})

test('imago lsp is killed with its plan open: that goes on waiting, with what was decided, and is done once', async () => {
  const call = await window.propose('propose_file_edit', gone(12))
  const { summary, after } = await window.openPlan()
  later()
  await window.press(after, 'Take')
  await window.restarts()
  await until(async () => (await seats()).length === 1 && window.waits(), 'the seat and the sign')
  assert.match(vscode.text(summary), 'what will be applied: 1 of 1')
  later()
  await window.press(summary, 'Send this')
  assert.ok((await call.ended()).ok)
  assert.not.match(readFileSync(join(rig.project, 'orders.py'), 'utf8'), 'line12 =')
})

test('it hangs with its plan open: the seat goes, the next one answers, and the first sees it go', async () => {
  const call = await window.propose('propose_file_edit', gone(13))
  const { summary, after } = await window.openPlan()
  window.editor()?.server.kill('SIGSTOP')
  await until(async () => (await seats()).length === 0, 'the seat to go')
  const next = await openEditor(rig, { roots: [rig.project] })
  await next.request('imago/sit')
  const [plan] = (await next.request<Methods['approvals']['result']>('imago/approvals')).approvals
  await next.request('imago/answer', { plan: plan?.id, hash: plan?.hash, decision: 'deny' })
  assert.is((await call.ended()).ok, false)
  window.editor()?.server.kill('SIGCONT')
  await until(() => /^● /.test(vscode.text(summary)), 'the plan to go')
  assert.match(window.titles(after).join(), /^\d+ not done \(hunk 1 of 1\)$/)
  await next.close()
})

test('a value that is asked for is brought into sight and opened, first and once', async () => {
  const view = vscode.views.get('imago.values')
  for (const expr of ['orders', 'basket', 'orders']) {
    vscode.typed.push(expr)
    await window.run('imago.value')
    assert.equal(vscode.revealed.pop(), { label: expr, how: { expand: true } })
  }
  assert.equal(
    (await view?.getChildren())?.map(({ label }) => label),
    ['orders', 'basket'],
  )
})

test('npm run vsix packs all that the extension needs', () => {
  const script = join(PACKAGE_ROOT, 'editors/vscode/vsix.mjs')
  const { stdout, stderr } = spawnSync(process.execPath, [script, rig.folder], { encoding: 'utf8' })
  assert.is(stderr, '')
  const read =
    'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(*z.namelist())'
  const { stdout: names } = spawnSync('python3', ['-c', read, stdout.trim()], { encoding: 'utf8' })
  assert.match(names, /^extension\.vsixmanifest \[Content_Types\]\.xml extension\/package\.json /)
  assert.match(names, /extension\/dist\/extension\.cjs/)
})

test('the last run in a real VS Code was of this extension', () => {
  const why = 'the extension has changed since its last run in a real VS Code: run npm run test:vscode'
  assert.is(JSON.parse(textOf(LAST_RUN)).sha256, extensionSha256(), why)
})
