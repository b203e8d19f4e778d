import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  CancellationTokenSource,
  type CodeAction,
  type CompletionList,
  type Hover,
  type InlayHint,
  type Location,
  type SignatureHelp,
} from 'vscode-languageserver/node'
import type { Envelope } from '../../tools/outcome.ts'
import { type Editor, type EditorOptions, openEditor, says } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openSeatTerminal } from '../support/watching.ts'

/** A language server on a real program, by a real client of its protocol. */
const test = suite('lsp', { limitMs: 90_000 })

const ORDERS = `DISCOUNTS = {None: 0, 'loyal': 10}
NAMES = {'🍵': 'tea'}


def total(order, rate=2):
    discount = DISCOUNTS[order['discount']]
    return order['price'] * rate - discount


def report(order):
    return total(order)
`

/** The program: `fail(order)` reports an order in a thread of its own, which dies of what that raises. */
const SOURCE = `import threading, sys
sys.path.insert(0, '.')
import orders
def fail(order): threading.Thread(target=orders.report, args=(order,), name='till').start()`

let rig: Rig
let editor: Editor
let program: Program | undefined
const opened: Editor[] = []

const file = () => join(rig.project, 'orders.py')
const start = (folder = rig.project, name = 'shop') =>
  startProgram({ folder, runtimeDir: rig.paths.runtimeDir, name, source: SOURCE })
const edit = async (options: Partial<EditorOptions> = {}) => {
  const one = await openEditor(rig, { roots: [rig.project], ...options })
  opened.push(one)
  return one
}
const inProgram = (expr: string): Promise<Envelope> =>
  editor.request('imago/call', { tool: 'eval_expr', args: { expr, kernel: 'shop' } })
const kernels = async () => {
  const { kernels } = await editor.request<{ kernels: { name: string; state: string }[] }>('imago/kernels')
  return kernels.filter(({ state }) => state !== 'ended').map(({ name }) => name)
}
const completions = async (uri: string, said: string, at = said.length) =>
  ((await editor.ask<CompletionList | null>('completion', uri, said, at))?.items ?? []).map(
    ({ label }) => label,
  )
const hints = (uri: string) =>
  editor.request<InlayHint[]>('textDocument/inlayHint', {
    textDocument: { uri },
    range: { start: { line: 0, character: 0 }, end: { line: 100, character: 0 } },
  })

async function end() {
  program?.signal('SIGKILL')
  await program?.ended
  program = undefined
}

test.before.each(() => {
  rig = openRig({ files: { 'orders.py': ORDERS, 'pyproject.toml': '' } })
})
test.after.each(async () => {
  await Promise.all(opened.splice(0).map(one => one.close()))
  await end()
  await rig.close()
})

test('without a program it starts the daemon and no kernel, answers with nothing, and says nothing', async () => {
  editor = await edit()
  const uri = await editor.open(file())
  assert.equal(await completions(uri, 'DISC'), [])
  assert.is(await editor.ask('hover', uri, 'DISCOUNTS'), null)
  assert.equal(await editor.ask('definition', uri, 'DISCOUNTS'), [])
  assert.is(await editor.ask('signatureHelp', uri, 'total(order)', 6), null)
  assert.equal(await kernels(), [])
  assert.equal(editor.heard, [])
})

test('a program that begins to listen is joined, and its names, values, places and uses are told', async () => {
  editor = await edit({ initializationOptions: { static: false } })
  const uri = await editor.open(file())
  program = await start()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  await until(async () => (await completions(uri, 'DISC')).includes('DISCOUNTS'), 'a name of the module')
  const typed = await editor.open(file(), { text: `${ORDERS}NAMES['🍵'].upp` })
  const list = await editor.ask<CompletionList>('completion', typed, "NAMES['🍵'].upp", 16)
  assert.equal(
    list.items.map(({ textEdit }) => textEdit),
    [{ newText: 'upper', range: { start: { line: 11, character: 12 }, end: { line: 11, character: 15 } } }],
  )
  const value = await editor.ask<Hover>('hover', typed, 'DISCOUNTS')
  assert.match(JSON.stringify(value), /dict.*loyal/)
  const [place] = await editor.ask<Location[]>('definition', typed, 'total(order)\n')
  assert.equal([place?.uri, place?.range.start.line], [typed, 4])
  const uses = await editor.ask<Location[]>('references', typed, 'total(order,')
  assert.ok(uses.some(({ uri, range }) => uri === typed && range.start.line >= 9))
  const help = await editor.ask<SignatureHelp>('signatureHelp', typed, 'total(order)\n', 6)
  assert.match(JSON.stringify(help), /rate=2/)
})

test('an error of the program is said at its line, with its values, until the line changes', async () => {
  program = await start()
  editor = await edit()
  const uri = await editor.open(file())
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  await inProgram("fail({'discount': 'none', 'price': 5})")
  const [error] = await says(editor, uri, /^5: KeyError: 'none' \(thread till, \d{4}-/)
  assert.equal([error?.code, error?.range.start.character], ['#1', 4])
  assert.match(JSON.stringify(error?.relatedInformation), 'called from report')
  const shown = await hints(uri)
  assert.match(
    JSON.stringify(shown.map(({ position, label }) => [position.line, label])),
    /\[5,"KeyError: 'none' · order=\{'discount': 'none'/,
  )
  const held = await editor.ask<Hover>('hover', uri, "order['discount']")
  assert.match(JSON.stringify(held), /order = \{'discount': 'none', 'price': 5\}/)
  const look = async (expr: string, line: number) =>
    JSON.stringify(
      await editor.request('imago/call', {
        tool: 'inspect',
        args: { expr, file: file(), line },
        shown: true,
      }),
    )
  assert.match(await look('order', 6), /"ok":true.*order as it was in total in error 1/)
  assert.match(await look('order', 5), '"ok":false', 'no error is at that line')
  assert.match(await look('DISCOUNTS', 6), /"ok":true.*loyal/, 'it is no variable of that frame')

  await editor.replaceLines(uri, 0, 0, '# A line above it.\n')
  await says(editor, uri, /^6: KeyError/)
  await editor.replaceLines(uri, 6, 7, "    discount = DISCOUNTS.get(order['discount'], 0)\n")
  await says(editor, uri, undefined)
  const left = await hints(uri)
  assert.equal(
    left.map(({ position }) => position.line),
    [11],
    'that of the line which called it stays',
  )
})

test('an error is said with its age, and again as it grows older', async () => {
  program = await start()
  const clock = pathToFileURL(join(import.meta.dirname, '../support/moved-clock.mjs')).href
  editor = await edit({ env: { NODE_OPTIONS: `--import ${clock}` } })
  const uri = await editor.open(file())
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  await inProgram("fail({'discount': 'none', 'price': 5})")
  const said = (age: string) =>
    new RegExp(`^5: KeyError: 'none' \\(thread till, [-\\d]+ [:\\d]+, ${age} ago\\)`)
  await says(editor, uri, said('under a minute'))
  for (const age of ['over 1 min', 'over 2 min']) {
    editor.server.kill('SIGUSR2')
    await says(editor, uri, said(age))
  }
  const held = await editor.ask<Hover>('hover', uri, "order['discount']")
  assert.match(JSON.stringify(held), ', over 2 min ago)')
  const told = (await hints(uri)).map(({ tooltip }) => String(tooltip)).join('\n')
  assert.match(told, "KeyError: 'none' (thread till")
  assert.not.match(told, ' ago', 'nobody says a hint again that is drawn')
})

test('an error goes with its program, and one of its successor comes', async () => {
  program = await start()
  editor = await edit()
  const uri = pathToFileURL(file()).href
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  await inProgram("fail({'discount': 'none'})")
  await says(editor, uri, /^5: KeyError/)
  await end()
  await says(editor, uri, undefined)
  program = await start()
  await until(async () => (await inProgram("fail({'discount': None})")).ok, 'the successor to answer')
  await says(editor, uri, /^6: KeyError: 'price'/)
})

test('errors from before the editor was opened are said, and nothing where the file has another text by now', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  await inProgram("fail({'discount': 'none'})")
  await says(editor, pathToFileURL(file()).href, /^5/)
  const later = await edit()
  await says(later, pathToFileURL(file()).href, /^5/)
  const uri = await later.open(file(), { text: ORDERS.replace("DISCOUNTS[order['discount']]", '0') })
  await says(later, uri, undefined)
})

const ONCE = `${SOURCE}
import os, time
def once(thread):
    while not os.path.exists('go'): time.sleep(0.01)
    thread.start(); thread.join(); open('gone', 'w').close()
till = threading.Thread(target=orders.report, args=({'discount': 'none'},), name='till')
threading.Thread(target=once, args=(till,), daemon=True).start()`

test('errors from before the program was joined are said', async () => {
  const runtimeDir = rig.paths.runtimeDir
  program = await startProgram({ folder: rig.project, runtimeDir, name: 'shop', source: ONCE })
  writeFileSync(join(rig.project, 'go'), '')
  await until(() => existsSync(join(rig.project, 'gone')), 'the error')
  editor = await edit()
  await says(editor, pathToFileURL(file()).href, /^5: KeyError: 'none'/)
})

test('a source that cannot be compiled is said at its own line, and not where it is imported', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  writeFileSync(join(rig.project, 'cakes.py'), 'tea = 1\ncake = = 2\n')
  writeFileSync(join(rig.project, 'menu.py'), 'def load(): import cakes\n')
  await inProgram('import menu\nthreading.Thread(target=menu.load).start()')
  await says(editor, pathToFileURL(join(rig.project, 'cakes.py')).href, /^1: SyntaxError: invalid syntax/)
  await says(editor, pathToFileURL(join(rig.project, 'menu.py')).href, undefined)
})

test('a definition that differs from what runs is said, and load_file as its action mends that', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  const text = ORDERS.replace('- discount', '- 2 * discount')
  writeFileSync(file(), text)
  const uri = await editor.open(file())
  const [differs, ...others] = await says(editor, uri, /^4: The program runs another total/)
  assert.equal([differs?.code, others], ['differs', []])
  const place = { start: { line: 4, character: 0 }, end: { line: 4, character: 0 } }
  const actions = await editor.request<CodeAction[]>('textDocument/codeAction', {
    textDocument: { uri },
    range: place,
    context: { diagnostics: [] },
  })
  const load = actions.find(({ title }) => title === 'Load total into shop')
  await editor.request('workspace/executeCommand', load?.command)
  await says(editor, uri, undefined)
  assert.match(editor.messages().join('\n'), /replaced: total/)
  const evaluated = await inProgram("orders.total({'discount': 'loyal', 'price': 50})")
  assert.match(JSON.stringify(evaluated), '"value_repr":"80"')
})

test('a file that does not parse is said once, at the line of its fault, until it does', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  writeFileSync(file(), `${ORDERS}\ncake = = 2\n`)
  const uri = await editor.open(file())
  const said = await says(
    editor,
    uri,
    /^\d+: orders\.py is not valid Python: SyntaxError: invalid syntax, line \d+$/,
  )
  assert.is(said.length, 1)
  assert.match(String(said[0]?.message), new RegExp(`line ${(said[0]?.range.start.line ?? 0) + 1}$`))
  writeFileSync(file(), ORDERS)
  await editor.replaceLines(uri, 0, ORDERS.split('\n').length + 1, ORDERS)
  await says(editor, uri, undefined)
})

test('a definition that another client loads is no longer said to differ', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  writeFileSync(file(), ORDERS.replace('- discount', '- 2 * discount'))
  const uri = await editor.open(file())
  await says(editor, uri, /^4: The program runs another total/)
  const client = await rig.connect()
  const load = { tool: 'load_file', args: { path: 'orders.py', kernel: 'shop' } }
  assert.ok((await client.call(load)).ok)
  await client.close()
  await says(editor, uri, undefined)
})

test('a definition that the editor evaluates, and that its file does not have, is said to differ until the file is read again', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  const uri = await editor.open(file())
  const total = 'def total(order, rate=2):\n    return 0\n'
  const args = { expr: total, file: file(), line: 5, kernel: 'shop' }
  const defined = await editor.request<Envelope>('imago/call', { tool: 'eval_expr', args })
  assert.ok(defined.ok, JSON.stringify(defined))
  await says(editor, uri, /^4: The program runs another total/)
  const text = ORDERS.replace(/def total[\s\S]*?discount\n\n/, `${total}\n`)
  writeFileSync(file(), text)
  await editor.replaceLines(uri, 0, ORDERS.split('\n').length - 1, text)
  await says(editor, uri, undefined)
})

test('code is evaluated in the module of its file, and a function traced, by commands', async () => {
  program = await start()
  editor = await edit()
  const uri = await editor.open(file())
  await until(async () => (await editor.ask('hover', uri, 'DISCOUNTS')) !== null, 'the program to be joined')
  const run = (command: string, ...args: unknown[]) =>
    editor.request('workspace/executeCommand', { command, arguments: args })
  assert.match(
    JSON.stringify(await run('imago.evaluate', uri, "DISCOUNTS['loyal'] + 1")),
    '"value_repr":"11"',
  )
  assert.match(JSON.stringify(await run('imago.trace', uri, 'total')), 'orders.total')
  await end()
  await until(async () => (await run('imago.evaluate', uri, '1')) === null, 'nothing to be there')
  assert.match(editor.messages().at(-1) ?? '', 'nothing was done')
})

test('two roots in one editor are two projects, and a file outside of both is nobody’s', async () => {
  const other = join(rig.folder, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'orders.py'), ORDERS.replace('loyal', 'staff'))
  program = await start()
  const second = await start(other, 'bakery')
  editor = await edit({ roots: [rig.project, other] })
  const [here, there] = [await editor.open(file()), await editor.open(join(other, 'orders.py'))]
  await until(async () => /loyal/.test(JSON.stringify(await editor.ask('hover', here, 'DISCOUNTS'))), 'ours')
  await until(
    async () => /staff/.test(JSON.stringify(await editor.ask('hover', there, 'DISCOUNTS'))),
    'theirs',
  )
  const rows = await editor.request('imago/kernels', { root: pathToFileURL(other).href })
  assert.match(JSON.stringify(rows), '"name":"bakery"')
  assert.not.match(JSON.stringify(rows), '"name":"shop"')
  const outside = join(rig.folder, 'orders.py')
  writeFileSync(outside, ORDERS)
  assert.is(await editor.ask('hover', await editor.open(outside), 'DISCOUNTS'), null)
  second.signal('SIGKILL')
  await second.ended
})

test('an operation is asked for, rows are followed, and a fault is an error with its code', async () => {
  editor = await edit()
  await editor.request('imago/subscribe', { topics: ['kernels'] })
  const rows = () => editor.heard.filter(({ method }) => method === 'imago/rows')
  assert.match(JSON.stringify(rows()[0]), '"snapshot":[]')
  const answer = await editor.request('imago/call', {
    tool: 'eval_expr',
    args: { expr: '6 * 7' },
    follow: true,
  })
  assert.match(JSON.stringify(answer), '"value_repr":"42"')
  assert.match(JSON.stringify(editor.heard), '"method":"imago/event"')
  await until(
    () => /"changes":\[\{"topic":"kernels","key":"project"/.test(JSON.stringify(rows())),
    'the kernel',
  )
  for (const [method, params, code] of [
    ['imago/plan', { plan: 'plan-aaaaaaaa' }, 'no_seat'],
    ['imago/answer', { plan: 'plan-aaaaaaaa', hash: '0', decision: 'approve' }, 'no_seat'],
    ['imago/stop', { name: 'nobody' }, 'no_such_kernel'],
    ['imago/nothing', {}, 'unknown_method'],
  ] as const)
    await editor.request(method, params).then(
      () => assert.unreachable(),
      (error: { data?: { code?: string } }) => assert.is(error.data?.code, code),
    )
})

test('a plan that waits for the file is an action there, and without a seat it says who answers', async () => {
  program = await start()
  editor = await edit()
  const uri = await editor.open(file())
  await editor.request('imago/status')
  const seat = await openSeatTerminal(rig)
  await seat.says('sit')
  const client = await rig.connect()
  const call = client.call({
    tool: 'edit_file',
    args: { path: 'orders.py', old_str: 'rate=2', new_str: 'rate=3' },
  })
  const at = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }
  const asked = { textDocument: { uri }, range: at, context: { diagnostics: [] } }
  let show: CodeAction | undefined
  await until(async () => {
    const actions = await editor.request<CodeAction[]>('textDocument/codeAction', asked)
    show = actions.find(({ title }) => /^Show plan-.*orders\.py/.test(title))
    return show !== undefined
  }, 'the plan')
  await editor.request('workspace/executeCommand', show?.command)
  assert.match(editor.messages().join('\n'), 'imago watch')
  const { approvals } = await editor.request<{ approvals: { id: string; hash: string }[] }>('imago/approvals')
  const [{ id, hash } = { id: '', hash: '' }] = approvals
  await seat.says('answer', { plan: id, hash, decision: 'deny' })
  assert.is((await call).ok, false)
  await until(
    async () => !/Show plan/.test(JSON.stringify(await editor.request('textDocument/codeAction', asked))),
    'its end',
  )
})

test('a daemon that was killed is started again, and the editor goes on where it was', async () => {
  program = await start()
  editor = await edit()
  const uri = await editor.open(file())
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  await editor.request('imago/subscribe', { topics: ['errors'] })
  const { pid } = await editor.request<{ pid: number }>('imago/status')
  process.kill(pid, 'SIGKILL')
  const fails = () => inProgram("fail({'discount': 'none'})").catch(() => ({ ok: false }))
  await until(async () => (await fails()).ok, 'the next daemon')
  await says(editor, uri, /^5: KeyError/)
  await until(
    () =>
      editor.heard.some(
        ({ method, params }) => method === 'imago/rows' && /KeyError/.test(JSON.stringify(params)),
      ),
    'the row',
  )
  assert.match(JSON.stringify(editor.heard), /"shown":"KeyError: 'none' \(shop, thread till, \d{4}-/)
})

test('after a daemon that was ended, the next thing that the editor asks starts another one', async () => {
  editor = await edit()
  const uri = await editor.open(file())
  await editor.request('imago/status')
  assert.is((await rig.imago(['shutdown'])).code, 0)
  assert.is(await editor.ask('hover', uri, 'DISCOUNTS'), null)
  assert.ok(await editor.request('imago/status'))
})

test('an editor without PATH and HOME is served, and its variables spoil nothing for others', async () => {
  editor = await edit({ env: { PATH: undefined, HOME: undefined }, initializationOptions: { static: false } })
  const uri = await editor.open(file())
  program = await start()
  await until(async () => (await completions(uri, 'DISC')).includes('DISCOUNTS'), 'a name of the program')
  assert.match((await rig.imago(['eval', '6 * 7'])).stdout, '42')
})

test('a question that is withdrawn interrupts what runs for it', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  const withdrawn = new CancellationTokenSource()
  const running = join(rig.project, 'running')
  const expr = `import time\nopen(${JSON.stringify(running)}, 'w').close()\nwhile True: time.sleep(0.01)`
  const args = { tool: 'eval_expr', args: { expr, kernel: 'shop' } }
  const asked = editor.request<Envelope>('imago/call', args, withdrawn.token)
  await until(() => existsSync(running), 'it to run')
  withdrawn.cancel()
  const envelope = await asked
  assert.is(envelope.ok ? '' : envelope.error.code, 'interrupted')
})

test('interrupt_job without a job stops the newest evaluation of this editor, and of nobody else', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  const stop = { tool: 'interrupt_job', shown: true }
  const runs = (asks: Editor, expr: string) =>
    asks.request<Envelope>('imago/call', { tool: 'eval_expr', args: { expr, kernel: 'shop' } })
  const first = runs(editor, 'import time\nwhile True: time.sleep(0.01)')
  await editor.request('imago/subscribe', { topics: ['calls'] })
  await until(() => /"tool":"eval_expr"/.test(JSON.stringify(editor.heard)), 'it to run')
  const other = await openEditor(rig, { roots: [rig.project] })
  await other.request('imago/status')
  await other.request('imago/call', stop).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.is(message, 'No evaluation of this editor runs.'),
  )
  await other.close()
  assert.match((await editor.request<{ shown: string }>('imago/call', stop)).shown, 'stopped')
  const envelope = await first
  assert.is(envelope.ok ? '' : envelope.error.code, 'interrupted')
})

test('a document that is huge, hostile, gone or of another language ends nothing', async () => {
  program = await start()
  editor = await edit()
  await until(async () => (await kernels()).includes('shop'), 'the program to be joined')
  const huge = await editor.open(join(rig.project, 'huge.py'), {
    text: `${'x = 1\n'.repeat(300_000)}${'y'.repeat(3_000_000)}`,
  })
  assert.equal(await completions(huge, 'yyyy', 2_000_000), [])
  await editor.replaceLines(huge, 5, 290_000, '\u0000\ud800('.repeat(10_000))
  await editor.open(join(rig.project, 'a.rs'), { text: 'fn main() {}', languageId: 'rust' })
  await editor.notify('textDocument/didChange', {
    textDocument: { uri: 'untitled:x', version: 2 },
    contentChanges: [{ text: 'x' }],
  })
  const untitled = 'untitled:Untitled-1'
  await editor.notify('textDocument/didOpen', {
    textDocument: { uri: untitled, languageId: 'python', version: 1, text: 'DISC' },
  })
  const at = { textDocument: { uri: untitled }, position: { line: 90, character: 4_000_000_000 } }
  assert.is(await editor.request('textDocument/hover', at), null)
  const far = { textDocument: { uri: huge }, position: { line: 4_000_000_000, character: -1 } }
  assert.is(await editor.request('textDocument/hover', far), null)
  assert.ok(await editor.request('imago/status'))
})

test('an editor that does not read for a while is told how things stand once it reads again', async () => {
  editor = await edit()
  await editor.request('imago/subscribe', { topics: ['kernels'] })
  const reader = await rig.connect()
  editor.server.stdout?.pause()
  // Each changes the row of its kernel twice, by some hundred bytes; a pipe holds 64 KiB.
  for (let n = 0; n < 400; n++) await reader.call({ tool: 'eval_expr', args: { expr: `${n}` } })
  editor.server.stdout?.resume()
  const rows = () =>
    editor.heard.filter(({ method }) => method === 'imago/rows').map(({ params }) => JSON.stringify(params))
  await reader.request('start', { language: 'python', name: 'last' })
  await until(() => /"key":"last".*"state":"ready"/.test(rows().join('\n')), 'the last row')
  assert.ok(await editor.request('imago/status'))
})
