import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CodeAction, CompletionList, Location } from 'vscode-languageserver/node'
import { type Editor, openEditor, says } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { lispCache } from '../support/runtimes.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'

/** A language server on a real SBCL that serves with Hunchentoot and listens with Swank. */
const test = suite('lsp on a Lisp', { limitMs: 120_000 })

process.env.XDG_CACHE_HOME = lispCache

const SHOP = `(in-package :cl-user)

(defun discount (item)
  (if (eq item :scone) (error "No discount for ~S." item) 10))

(defun total (item price)
  (declare (optimize (debug 3)))
  (- price (discount item)))
`
const SERVER = `(progn
  (defvar *shop* (make-instance 'hunchentoot:easy-acceptor :port 0 :address "127.0.0.1"
                                :access-log-destination nil :message-log-destination nil))
  (hunchentoot:define-easy-handler (orders :uri "/orders") () (princ-to-string (total :scone 320)))
  (hunchentoot:start *shop*))`
const ASK = `(progn (defparameter *season* :winter)
  (defun ask ()
    (let ((socket (usocket:socket-connect "127.0.0.1" (hunchentoot:acceptor-port *shop*))))
      (format (usocket:socket-stream socket) "GET /orders HTTP/1.0~C~C~C~C" #\\Return #\\Newline #\\Return #\\Newline)
      (finish-output (usocket:socket-stream socket))
      (subseq (read-line (usocket:socket-stream socket)) 9 12))))`

const rig = openRig({ files: { 'shop.lisp': SHOP, 'imago.toml': '' } })
const file = join(rig.project, 'shop.lisp')
const uri = pathToFileURL(file).href
let swank: RealSwank
let editor: Editor

test.before(async () => {
  const secret = join(rig.env.HOME ?? '', '.slime-secret')
  writeFileSync(secret, 'correct horse battery staple\n')
  chmodSync(secret, 0o600)
  const loads = ['(push :hunchentoot-no-ssl *features*)', '(asdf:load-system :hunchentoot)']
  const forms = [
    ...loads,
    `(load (compile-file "${file}" :output-file "/${rig.folder}/shop.fasl"))`,
    SERVER,
    ASK,
  ]
  swank = await startSwank({ home: rig.env.HOME ?? '', forms })
  editor = await openEditor(rig, { roots: [rig.project] })
  await editor.open(file, { languageId: 'lisp' })
  const attached = await rig.imago(['attach', `swank://${swank.port}`, '--errors'])
  assert.is(attached.code, 0, attached.stderr)
  await until(async () => /winter/.test(JSON.stringify(await hover())), 'the image to answer')
})
test.after(async () => {
  await editor?.close()
  swank?.kill()
  await rig.close()
})

const hover = async () => {
  const typed = await editor.open(file, { text: `${SHOP}*season*`, languageId: 'lisp' })
  const found = await editor.ask('hover', typed, '*season*')
  await editor.open(file, { languageId: 'lisp' })
  return found
}

test('a definition is found in its file, and a name is completed that the image alone has', async () => {
  const [place] = await editor.ask<Location[]>('definition', uri, 'discount item)))')
  assert.equal([place?.uri, place?.range.start.line], [uri, 2])
  await editor.open(file, { text: `${SHOP}*seas`, languageId: 'lisp' })
  const list = await editor.ask<CompletionList>('completion', uri, '*seas', 5)
  assert.ok(
    list.items.some(({ label }) => label === '*season*'),
    JSON.stringify(list),
  )
  await editor.open(file, { languageId: 'lisp' })
})

test('a function that differs from what runs is said, and load_file as its action mends that', async () => {
  writeFileSync(file, SHOP.replace(' 10))', ' 20))'))
  await editor.open(file, { languageId: 'lisp' })
  const [differs] = await says(editor, uri, /^2: The program runs another discount than the file has/)
  const at = { line: differs?.range.start.line ?? 0, character: 0 }
  const actions = await editor.request<CodeAction[]>('textDocument/codeAction', {
    textDocument: { uri },
    range: { start: at, end: at },
    context: { diagnostics: [] },
  })
  const load = actions.find(({ title }) => title.startsWith('Load discount into '))
  await editor.request('workspace/executeCommand', load?.command)
  await says(editor, uri, undefined)
  const args = { expr: '(discount :tea)', kernel: 'lisp' }
  assert.match(JSON.stringify(await editor.request('imago/call', { tool: 'eval_expr', args })), '"20"')
})

test('an error that a server of the image catches is said in the file, with its values', async () => {
  const args = { expr: '(ask)', kernel: 'lisp' }
  assert.match(JSON.stringify(await editor.request('imago/call', { tool: 'eval_expr', args })), '500')
  const [error] = await says(editor, uri, /No discount for :SCONE.*request GET \/orders/)
  assert.is(error?.code, '#1')
})

test('code of a language that no program speaks is asked of none', async () => {
  const ask = (language: string) =>
    editor.request<{ ok: boolean }>('imago/call', { tool: 'eval_expr', args: { expr: '(+ 1 2)' }, language })
  assert.is((await ask('lisp')).ok, true)
  const refused = await ask('python').then(JSON.stringify, (fault: Error) => fault.message)
  assert.is(refused, 'No program of this project speaks python. Nothing was asked of the others.')
})
