import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Wishes } from '../../src/front/lsp/requests.ts'
import type { Methods } from '../../src/front/protocol.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { serveBriskly } from '../support/brisk-daemon.ts'
import { type Editor, openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { NOTHING_OF_OURS } from '../support/hostile-plan.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { HOSTILE_NAMES, HOSTILE_TEXTS } from '../support/hostile-texts.ts'
import { textOf } from '../support/imports.ts'
import { RawClient } from '../support/raw-client.ts'
import { openRig, until, within } from '../support/rig.ts'
import { extensionSha256, LAST_RUN } from '../support/vscode-sources.ts'
import { loadExtension, type Uri } from '../support/vscode-stub.ts'

/** The whole extension of VS Code, with a stub in the place of the editor and the real `imago lsp` behind it. */
const test = suite('VS Code extension, activated', { limitMs: 90_000 })

const ORDERS = Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')
const rig = openRig({ files: { 'orders.py': ORDERS, 'pyproject.toml': '' } })
/** After two of them the daemon drops a client that says nothing. */
const HEARTBEAT_MS = 1_000
let editor: Editor | undefined
let vscode: ReturnType<typeof loadExtension>['vscode']
let restarts: (() => Promise<void>) | undefined
let hear: ((method: string, params: unknown) => void) | undefined
test.before(async () => {
  await serveBriskly(rig, HEARTBEAT_MS)
})
test.after(async () => {
  await editor?.close()
  await rig.close()
})

/** As `vscode-languageclient` has it, as far as the extension asks for it. */
class LanguageClient {
  readonly #heard = new Map<string, (params: unknown) => void>()
  readonly #wishes: Wishes
  #changed: (change: { newState: number }) => void = () => {}
  constructor(
    ...[, , , { initializationOptions }]: [string, string, unknown, { initializationOptions: Wishes }]
  ) {
    this.#wishes = initializationOptions
  }
  onNotification = (method: string, heard: (params: unknown) => void) => void this.#heard.set(method, heard)
  onDidChangeState = (changed: (change: { newState: number }) => void) => {
    this.#changed = changed
  }
  sendRequest = (method: string, params: object) => editor?.request(method, params)
  /** As the client does where its server was killed. */
  restarts = async () => {
    editor?.server.kill('SIGKILL')
    this.#changed({ newState: 1 })
    await this.start()
  }
  async start() {
    restarts = this.restarts
    hear = (method, params) => this.#heard.get(method)?.(params)
    const initializationOptions = this.#wishes
    editor = await openEditor(rig, { roots: [rig.project], initializationOptions, hears: hear })
    this.#changed({ newState: 2 })
  }
}

const manifest = () =>
  JSON.parse(readFileSync(join(PACKAGE_ROOT, 'editors/vscode/package.json'), 'utf8')) as {
    contributes: { commands: { command: string }[]; keybindings: { command: string }[] }
  }

const waits = () => /waits/.test(vscode.status.text)

/** Calls a tool whose plan then waits, which the sign says. */
async function propose(tool: string, args: object, options: { readonly name?: string } = {}) {
  let came: Envelope | undefined
  const caller = await rig.connect(options)
  const call = caller.call({ tool, args }).then(answer => {
    came = answer
    return answer
  })
  await until(() => waits() || came !== undefined, 'the sign')
  assert.is(came, undefined, JSON.stringify(came))
  return { ended: () => within(call, 'its end') }
}

/** Opens the plan that waits; answers with the documents that are shown. */
async function openPlan() {
  await vscode.commands.get('imago.waits')?.()
  return planShown()
}

/** The plan that was opened last. */
function planShown() {
  const changes = vscode.ran.findLast(([name]) => name === 'vscode.changes')
  const [[summary] = [], ...files] = (changes?.[2] ?? []) as Uri[][]
  const [[, before, after] = []] = files
  assert.ok(summary && after && before)
  return { summary, after, before, files: files.map(([, ...sides]) => sides) }
}

/** A key that is pressed so long after that its press is another one. */
function later() {
  const { now } = Date
  Date.now = () => now() + 1_000
}

const titles = (uri: Uri) => vscode.lenses(uri).map(({ command, line }) => `${line} ${command.title}`)

async function press(uri: Uri, title: string) {
  const { command } = vscode.lenses(uri).find(one => one.command.title === title) ?? {}
  assert.ok(command, title)
  await vscode.commands.get(command.command)?.(...command.arguments)
}

test('a program that is not there is a sign, whose click asks where it is; once that is said, it runs', async () => {
  const bundle = join(rig.folder, 'extension.cjs')
  await build({
    entryPoints: [join(PACKAGE_ROOT, 'editors/vscode/src/editor/extension.ts')],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['vscode', 'vscode-languageclient/node'],
    supported: { 'dynamic-import': false },
  })
  const client = { LanguageClient, State: { Running: 2 } }
  const loaded = loadExtension(bundle, { folder: rig.project, client })
  vscode = loaded.vscode
  loaded.extension.activate({ subscriptions: [] })
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
  await vscode.commands.get('imago.locate')?.()
  await until(() => status.text === 'Imago' && editor !== undefined, 'the quiet sign')
  assert.is(status.command, 'imago.waits')
  // Nothing waits: its click lists what can be done.
  await vscode.commands.get('imago.waits')?.()
  assert.equal(vscode.ran.splice(0), [['workbench.action.quickOpen', '>Imago: ']])
  // The setting `imago.sit` is on.
  const daemon = async () =>
    (await editor?.request<{ seats: object[] }>('imago/approvals'))?.seats.length === 1
  await until(daemon, 'the seat')
})

test('a plan that waits is a sign and no more; opened, its lenses take one hunk and refuse the other', async () => {
  const why = '$(zap) [x](command:imago.undo)'
  const edits = [
    { path: 'orders.py', old_str: 'line3 = 3\n', new_str: 'line3 = 33\n', why },
    { path: 'orders.py', old_str: 'line30 = 30\n', new_str: '' },
  ]
  const call = await propose('propose_file_edit', { edits })
  assert.is(vscode.status.text, 'Imago: 1 plan waits')
  assert.equal(
    vscode.ran.filter(([name]) => name !== 'setContext'),
    [],
  )
  assert.equal(vscode.messages, [])
  const [row] = (await vscode.views.get('imago.waiting')?.getChildren()) ?? []
  assert.is(row?.label, 'Edit orders.py: 2 hunks, asked by imago test')
  const { summary, after, before } = await openPlan()
  assert.match(vscode.text(summary), /asked by imago test/)
  assert.is(vscode.text(before), ORDERS)
  const hunk = ['· undecided (hunk 1 of 2)', 'Take', 'Refuse…', 'Edit']
  assert.equal(
    titles(after).slice(0, 4),
    hunk.map(title => `3 ${title}`),
  )
  await press(after, 'Take')
  assert.match(titles(after).join(), /✓ taken/)
  // By its key: the hunk at the cursor.
  vscode.look(after, 31)
  vscode.typed.push(' keep it ')
  await vscode.commands.get('imago.plan.refuse')?.()
  assert.is(vscode.asked.at(-1), 'Reason (empty: none) to refuse hunk 2 of 2 · orders.py:31')
  assert.match(vscode.text(summary), /what will be applied: 1 of 2[\s\S]*✗ refused: keep it/)
  assert.equal(readFileSync(join(rig.project, 'orders.py'), 'utf8'), ORDERS)
  later()
  await press(summary, 'Go back')
  assert.match(titles(after).join(), /^0 Summary,3 ✓ taken .*✗ refused: keep it/)
  // A key changes nothing that is decided.
  vscode.look(after, 31)
  await take()
  assert.is(`${vscode.seen}`, `${summary}`)
  assert.match(vscode.text(summary), /what will be applied: 1 of 2[\s\S]*✗ refused: keep it/)
  later()
  await press(summary, 'Send this')
  assert.match(JSON.stringify(await call.ended()), 'keep it')
  assert.is(readFileSync(join(rig.project, 'orders.py'), 'utf8'), ORDERS.replace('= 3\n', '= 33\n'))
  await until(() => /It ended: ok/.test(vscode.text(summary)), 'what came of it')
  await until(() => vscode.status.text === 'Imago', 'the sign to go')
  assert.match(titles(summary).join(), /,0 Undo$/)
  assert.equal(titles(after), ['3 ✓ done (hunk 1 of 2)', '30 ✗ refused: keep it (hunk 2 of 2)'])
  const told = `orders.py has sha256 ${'0123abcd'.repeat(8)}. It had others.\nnext: Look at it again, and call again`
  hear?.('window/showMessage', { message: told })
  assert.is(
    vscode.messages.at(-1),
    'Imago: orders.py has sha256 0123abcd…. It had others. next: Look at it again, and call again',
  )
  hear?.('window/showMessage', { message: 'took back plan-1\nto have it again: undo_change plan-2' })
  assert.is(vscode.messages.at(-1), 'Imago: took back plan-1 to have it again: undo_change plan-2')
  hear?.('window/showMessage', { message: 'a\u202e [click](command:imago.undo)' })
  assert.is(vscode.messages.at(-1), 'Imago: a\\u202e [click] (command:imago.undo)')
})

test('an undo that a person asks for opens at once, also where nobody had a seat', async () => {
  await editor?.request('imago/leave')
  await until(async () => (await seats()).length === 0, 'the seat to go')
  const before = vscode.ran.length
  const undone = vscode.commands.get('imago.undo')?.()
  await until(() => vscode.ran.slice(before).some(([name]) => name === 'vscode.changes'), 'its plan')
  const { summary } = planShown()
  assert.match(vscode.text(summary), /^Take back /)
  vscode.look(summary)
  vscode.typed.push('it stays')
  await press(summary, 'Refuse…')
  await undone
  assert.match(vscode.messages.at(-1) ?? '', /it stays/)
  await until(() => vscode.status.text === 'Imago', 'the sign to go')
})

test('unsaved text is said first and saved; a hunk is edited by saving its text; the rest is taken', async () => {
  const edits = [5, 9].map(n => ({ path: 'orders.py', old_str: `line${n} = ${n}\n`, new_str: '' }))
  const call = await propose('propose_file_edit', { edits })
  vscode.unsaved(join(rig.project, 'orders.py'))
  const { summary, after } = await openPlan()
  assert.match(vscode.text(summary), /^! \S*orders\.py has unsaved text/)
  await press(summary, 'Save the unsaved text')
  assert.not.match(vscode.text(summary), 'unsaved')
  await press(after, 'Edit')
  const edited = vscode.seen
  assert.match(edited.path, /\/hunk 1 of orders\.py$/)
  assert.equal(titles(edited), ['0 Take this text (Ctrl+S): hunk 1 of 2 · orders.py:6', '0 Cancel'])
  vscode.write('line5 = "$(x)"')
  await vscode.save()
  await until(() => titles(after).join().includes('✎ edited'), 'the edit')
  vscode.look(after)
  await vscode.commands.get('imago.plan.takeRest')?.()
  assert.match(vscode.text(summary), /what will be applied: 2 of 2[\s\S]*│ \+line5 = "\$\(x\)"/)
  vscode.look(summary)
  later()
  await vscode.commands.get('imago.plan.take')?.()
  assert.ok((await call.ended()).ok)
  const text = readFileSync(join(rig.project, 'orders.py'), 'utf8')
  assert.ok(text.includes('line5 = "$(x)"\n'))
  assert.not.match(text, 'line9 =')
})

const LONG = Array.from({ length: 3_000 }, (_, n) => `row${n} = ${n}\n`).join('')
const UNSEEN = 'Imago: the end of this was not on the screen yet: look at it, and take it again.'
const take = async () => vscode.commands.get('imago.plan.take')?.()

/** A plan that is open, on a screen of 40 lines. */
async function proposed(tool: string, args: object) {
  const call = await propose(tool, args)
  vscode.screen(40)
  vscode.messages.length = 0
  return { ...(await openPlan()), call }
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
  await press(after, 'Take')
  assert.not.match(titles(after).join(), '✓')
  assert.equal(vscode.messages, [UNSEEN])
  later()
  await press(after, 'Take')
  assert.match(titles(after).join(), /✓ taken \(hunk 1 of 2\)/)
  await press(summary, 'Take the rest')
  assert.equal(vscode.messages, [UNSEEN, UNSEEN])
  assert.not.match(vscode.text(summary), 'what will be applied')
  later()
  await press(summary, 'Take the rest')
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
})

/** All that the editor shows of the plan that is open, and of what waits. */
async function shown(sides: readonly Uri[]): Promise<readonly string[]> {
  const labels: string[] = []
  for (const view of vscode.views.values())
    for (const row of await view.getChildren()) {
      const { label, description = '' } = view.getTreeItem(row) as { label: string; description?: string }
      labels.push(label, description)
    }
  const inLine = [...labels, ...sides.flatMap(titles), ...vscode.messages, vscode.status.text]
  for (const one of inLine) assert.not.match(one, '\n')
  return [...inLine, ...sides.map(side => vscode.text(side))]
}

test('hostile texts of files, and hostile whys and reasons, are seen with their marks in every place (threat 14) (threat 15) (threat 16) (threat 17)', async () => {
  const edits = HOSTILE_TEXTS.map(({ text }, at) => {
    const why = HOSTILE_NAMES[at % HOSTILE_NAMES.length]?.[1].slice(0, 1_000)
    writeFileSync(join(rig.project, `h${at}.py`), 'x = 1\ny = 2\n')
    // No tool writes a NUL.
    return { path: `h${at}.py`, old_str: 'x = 1\n', new_str: text.replaceAll('\0', ''), why }
  })
  const [[, name] = ['', '']] = HOSTILE_NAMES
  const call = await propose('propose_file_edit', { edits }, { name })
  vscode.screen(1_000_000)
  const { summary, files } = await openPlan()
  const sides = [summary, ...files.flat()]
  const asked = await shown(sides)
  for (const { what, marks, payload } of HOSTILE_TEXTS) {
    const all = [payload, ...marks.filter(mark => mark.startsWith('⟦') && mark !== '⟦U+0000⟧')]
    assert.ok(
      asked.some(one => all.every(mark => one.includes(mark))),
      `${what} is not seen`,
    )
  }
  for (const one of asked) assert.equal(straysIn(one, NOTHING_OF_OURS), [])
  const reason = HOSTILE_NAMES.find(([what]) => what === 'with all that a terminal obeys')?.[1]
  vscode.look(summary)
  vscode.typed.push(reason)
  later()
  await press(summary, 'Refuse the rest…')
  for (const one of await shown(sides)) assert.equal(straysIn(one, NOTHING_OF_OURS), [])
  later()
  await press(summary, 'Send this')
  assert.is((await call.ended()).ok, false)
  for (const one of await shown(sides)) assert.equal(straysIn(one, NOTHING_OF_OURS), [])
})

const gone = (line: number) => ({
  edits: [{ path: 'orders.py', old_str: `line${line} = ${line}\n`, new_str: '' }],
})
const seats = async () => (await (await rig.connect()).request('approvals', {})).seats

test('a prompt that is open longer than a connection may say nothing keeps the seat', async () => {
  const before = await seats()
  const call = await propose('propose_file_edit', gone(11))
  const { summary, after } = await openPlan()
  let answers: (reason: string) => void = () => {}
  vscode.typed.push(
    new Promise(resolve => {
      answers = resolve
    }),
  )
  const refusing = press(after, 'Refuse…')
  const silent = await RawClient.greeted(rig.paths.socket, rig.project)
  assert.is((await silent.lastWords()).at(-1)?.type, 'bye')
  answers('it stays')
  await refusing
  later()
  await press(summary, 'Send this')
  assert.match(JSON.stringify(await call.ended()), 'it stays')
  assert.equal(await seats(), before)
})

test('imago lsp is killed with its plan open: that goes on waiting, with what was decided, and is done once', async () => {
  const call = await propose('propose_file_edit', gone(12))
  const { summary, after } = await openPlan()
  later()
  await press(after, 'Take')
  await restarts?.()
  await until(async () => (await seats()).length === 1 && waits(), 'the seat and the sign')
  assert.match(vscode.text(summary), 'what will be applied: 1 of 1')
  later()
  await press(summary, 'Send this')
  assert.ok((await call.ended()).ok)
  assert.not.match(readFileSync(join(rig.project, 'orders.py'), 'utf8'), 'line12 =')
})

test('it hangs with its plan open: the seat goes, the next one answers, and the first sees it go', async () => {
  const call = await propose('propose_file_edit', gone(13))
  const { summary, after } = await openPlan()
  editor?.server.kill('SIGSTOP')
  await until(async () => (await seats()).length === 0, 'the seat to go')
  const next = await openEditor(rig, { roots: [rig.project] })
  await next.request('imago/sit')
  const [plan] = (await next.request<Methods['approvals']['result']>('imago/approvals')).approvals
  await next.request('imago/answer', { plan: plan?.id, hash: plan?.hash, decision: 'deny' })
  assert.is((await call.ended()).ok, false)
  editor?.server.kill('SIGCONT')
  await until(() => /^● /.test(vscode.text(summary)), 'the plan to go')
  assert.match(titles(after).join(), /^\d+ not done \(hunk 1 of 1\)$/)
  await next.close()
})

test('a value that is asked for is brought into sight and opened, first and once', async () => {
  const view = vscode.views.get('imago.values')
  for (const expr of ['orders', 'basket', 'orders']) {
    vscode.typed.push(expr)
    await vscode.commands.get('imago.value')?.()
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
