import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type Editor, openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { loadExtension, type Uri } from '../support/vscode-stub.ts'

/** The whole extension of VS Code, with a stub in the place of the editor and the real `imago lsp` behind it. */
const test = suite('VS Code extension, activated', { limitMs: 90_000 })

const ORDERS = Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')
const rig = openRig({ files: { 'orders.py': ORDERS, 'pyproject.toml': '' } })
let editor: Editor | undefined
let hear: ((method: string, params: unknown) => void) | undefined
test.after(async () => {
  await editor?.close()
  await rig.close()
})

/** As `vscode-languageclient` has it, as far as the extension asks for it. */
class LanguageClient {
  readonly #heard = new Map<string, (params: unknown) => void>()
  #changed: (change: { newState: number }) => void = () => {}
  onNotification = (method: string, heard: (params: unknown) => void) => void this.#heard.set(method, heard)
  onDidChangeState = (changed: (change: { newState: number }) => void) => {
    this.#changed = changed
  }
  sendRequest = (method: string, params: object) => editor?.request(method, params)
  async start() {
    hear = (method, params) => this.#heard.get(method)?.(params)
    editor = await openEditor(rig, { roots: [rig.project], hears: hear })
    this.#changed({ newState: 2 })
  }
}

const manifest = () =>
  JSON.parse(readFileSync(join(PACKAGE_ROOT, 'editors/vscode/package.json'), 'utf8')) as {
    contributes: { commands: { command: string }[]; keybindings: { command: string }[] }
  }

test('a plan that waits is a sign and no more; opened, its lenses take one hunk and refuse the other', async () => {
  const bundle = join(rig.folder, 'extension.cjs')
  await build({
    entryPoints: [join(PACKAGE_ROOT, 'editors/vscode/src/editor/extension.ts')],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['vscode', 'vscode-languageclient/node'],
  })
  const client = { LanguageClient, State: { Running: 2 } }
  const { extension, vscode } = loadExtension(bundle, { folder: rig.project, client })
  await extension.activate({ subscriptions: [] })
  const { contributes } = manifest()
  for (const { command } of [...contributes.commands, ...contributes.keybindings])
    assert.ok(vscode.commands.has(command) || command.startsWith('workbench.'), command)
  // The setting `imago.sit` is on.
  const daemon = async () =>
    (await editor?.request<{ seats: object[] }>('imago/approvals'))?.seats.length === 1
  await until(daemon, 'the seat')
  const caller = await rig.connect()
  const why = '$(zap) [x](command:imago.undo)'
  const edits = [
    { path: 'orders.py', old_str: 'line3 = 3\n', new_str: 'line3 = 33\n', why },
    { path: 'orders.py', old_str: 'line30 = 30\n', new_str: '' },
  ]
  const call = caller.call({ tool: 'propose_file_edit', args: { edits } })
  await until(() => vscode.status.isShown && vscode.status.text === 'Imago: 1 plan waits', 'the sign')
  assert.equal(
    vscode.ran.filter(([name]) => name !== 'setContext'),
    [],
  )
  assert.equal(vscode.messages, [])
  const [section] = (await vscode.tree()?.getChildren()) ?? []
  assert.is(section?.label, 'Waits for you')
  await vscode.commands.get('imago.plan.open')?.()
  const changes = vscode.ran.find(([name]) => name === 'vscode.changes')
  const resources = (changes?.[2] ?? []) as (Uri | undefined)[][]
  const [summary, [after, before] = []] = [resources[0]?.[0], resources[1]]
  assert.ok(summary && after && before)
  assert.match(vscode.text(summary), /asked by imago test/)
  assert.is(vscode.text(before), ORDERS)
  const titles = (uri: Uri) => vscode.lenses(uri).map(({ command, line }) => `${line} ${command.title}`)
  const hunk = ['· undecided (hunk 1 of 2)', 'Take', 'Refuse…', 'Edit']
  assert.equal(
    titles(after).slice(0, 4),
    hunk.map(title => `3 ${title}`),
  )
  const press = async (uri: Uri, title: string) => {
    const { command } = vscode.lenses(uri).find(one => one.command.title === title) ?? {}
    assert.ok(command, title)
    await vscode.commands.get(command.command)?.(...command.arguments)
  }
  await press(after, 'Take')
  assert.match(titles(after).join(), /✓ taken/)
  // By its key: the hunk at the cursor.
  vscode.look(after, 31)
  vscode.typed.push(' keep it ')
  await vscode.commands.get('imago.plan.refuse')?.()
  assert.match(vscode.text(summary), /what will be applied: 1 of 2[\s\S]*✗ refused: keep it/)
  assert.equal(readFileSync(join(rig.project, 'orders.py'), 'utf8'), ORDERS)
  await press(summary, 'Send this')
  assert.match(JSON.stringify(await call), 'keep it')
  assert.is(readFileSync(join(rig.project, 'orders.py'), 'utf8'), ORDERS.replace('= 3\n', '= 33\n'))
  await until(() => /It ended: ok/.test(vscode.text(summary)), 'what came of it')
  await until(() => !vscode.status.isShown, 'the sign to go')
  assert.equal(titles(summary), ['0 Undo'])
  hear?.('window/showMessage', { message: 'a\u202e [click](command:imago.undo)' })
  assert.is(vscode.messages.at(-1), 'Imago: a\\u202e [click] (command:imago.undo)')
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
