import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Editor, openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'

/** `read_buffer` and `search_in_buffer`, beside an editor that speaks to `imago lsp`. */
const test = suite('texts that editors have open', { limitMs: 60_000 })
const SAVED = 'def total(order):\n    return order\n'
const TYPED = 'def total(order):\n    return 2 * order  # FIXED\n'
const rig = openRig({ files: { 'orders.py': SAVED, 'win.py': 'a = 1\r\nb = 2\r\n', 'pyproject.toml': '' } })

let editor: Editor
test.before(async () => {
  await rig.serve()
  editor = await openEditor(rig, { roots: [rig.project] })
})
test.after(async () => {
  await editor.close()
  await rig.close()
})

const at = (name: string) => join(rig.project, name)

async function look(tool: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const { stdout, stderr } = await rig.imago(['call', tool, JSON.stringify(args)])
  return stdout + stderr
}

const read = (path: string) => look('read_buffer', { path })

async function offered(path: string, words: RegExp): Promise<string> {
  let said = ''
  await until(async () => {
    said = await read(path)
    return words.test(said)
  }, `${path} to be offered: ${said}`)
  return said
}

test('where no editor offers it, the file is read, and the answer says so', async () => {
  assert.match(
    await read('orders.py'),
    /^no editor offers it; this is the file\norders\.py: [\s\S]*return order\n/,
  )
  assert.match(
    await look('search_in_buffer', { path: 'orders.py', text: 'FIXED' }),
    /^no editor[^\n]*; not found\n/,
  )
  assert.match(await read('none.py'), /^not_found: /)
})

test('what an editor has not saved is read and searched, and the answer names the editor', async () => {
  const uri = await editor.open(at('orders.py'))
  await offered('orders.py', /^open in imago lsp in Test, as it is in the file\n/)
  await editor.replaceLines(uri, 1, 2, '    return 2 * order  # FIXED\n')
  const said = await offered('orders.py', /^open in imago lsp in Test, not saved\n/)
  assert.ok(said.endsWith(`\n${TYPED}`), said)
  const found = await look('search_in_buffer', {
    path: 'orders.py',
    text: 'fixed',
    ignore_case: true,
    context: 1,
  })
  assert.match(
    found,
    /not saved; 1 line\norders\.py\n {2}1- def total\(order\):\n {2}2: {5}return 2 \* order {2}# FIXED\n/,
  )
  assert.ok((await look('read_file', { path: 'orders.py' })).endsWith(`\n${SAVED}`))
  await editor.notify('textDocument/didClose', { textDocument: { uri } })
  await offered('orders.py', /^no editor offers it/)
})

test('line ends of the file are no difference, and a new file that is not saved yet is read', async () => {
  await editor.open(at('win.py'))
  await offered('win.py', /^open in imago lsp in Test, as it is in the file\nwin\.py: [^\n]*CR LF/)
  await editor.open(at('new.py'), { text: 'fresh = True\n' })
  await offered('new.py', /^open in imago lsp in Test, not saved\nnew\.py: [\s\S]*fresh = True\n$/)
})

test('a file that no tool may read is refused, although an editor has it open', async () => {
  const secret = join(rig.paths.configDir, 'policy.toml')
  await editor.open(secret, { text: 'secret = 1\n' })
  assert.match(await read(secret), /^path_refused: /)
})

test('an editor of another project offers nothing here', async () => {
  const other = openRig({ files: { 'pyproject.toml': '' } })
  const theirs = await openEditor({ ...rig, folder: other.folder }, { roots: [other.project] })
  await theirs.open(at('orders.py'), { text: 'theirs = 1\n' })
  await theirs.request('imago/status')
  assert.match(await read('orders.py'), /^no editor offers it/)
  await theirs.close()
  await other.close()
})

test('an editor that hangs is passed over, and the file is read', async () => {
  writeFileSync(at('win.py'), 'c = 3\n')
  editor.server.kill('SIGSTOP')
  assert.match(await read('win.py'), /^no editor offers it; this is the file\n[\s\S]*c = 3\n/)
  editor.server.kill('SIGCONT')
  await offered('win.py', /^open in imago lsp in Test, not saved\n[\s\S]*b = 2\n/)
})
