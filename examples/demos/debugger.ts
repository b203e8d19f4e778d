import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { closePythonBooks } from './debugger-python.ts'
import { type Emacs, openEmacs } from './emacs.ts'
import { imago, openHouse, withDaemon } from './house.ts'
import { Differs, out, take } from './steps.ts'

const ORDERS = 1_000
/** Two pots of oolong at 610 pence stand where there would have been two of sencha, at 450. */
const TAKINGS = Array.from({ length: ORDERS }, (_, number) => {
  const pence = [320, 450, 510][number % 3] ?? 0
  return (number === 733 ? 610 : pence) * (1 + (number % 4))
}).reduce((sum, paid) => sum + paid)

/**
 * The books of a year are being closed when an order cannot be priced, two thirds through. What is wrong is found in the
 * frames, the function is compiled anew, and the same run goes on to the right end, beside an owner who works in SLIME.
 */
export async function playDebugger(project: string): Promise<void> {
  const house = await openHouse(project)
  const emacs = await openEmacs(dirname(house.secretFile))
  try {
    const before = emacs && (await beginWork(emacs, house))
    const address = `swank://127.0.0.1:${house.port}`
    out(`\n$ imago attach ${address} --name tea-house\n`)
    out(imago(project, 'attach', address, '--name', 'tea-house', '--key-file', house.secretFile))
    await withDaemon(project, client => closeBooks(client, { project, emacs }))
    if (emacs) compare(before, seen(emacs))
    else
      out(
        '\n(There is no Emacs with SLIME on this machine, so that nobody sat beside it, and that much is not shown.)\n',
      )
    out(`\n$ imago detach tea-house\n${imago(project, 'detach', 'tea-house')}`)
    if (house.child.exitCode !== null) throw new Differs('the tea house has closed')
    imago(project, 'start', 'python', '--name', 'books')
    await withDaemon(project, client => closePythonBooks(client, { project, takings: TAKINGS }))
  } finally {
    emacs?.end()
    house.child.kill()
    imago(project, 'shutdown', '--force')
  }
}

async function closeBooks(
  client: DaemonClient,
  { project, emacs }: { readonly project: string; readonly emacs: Emacs | undefined },
): Promise<void> {
  await take(client, {
    says: 'Close the books. It takes all orders of the year, each of which is entered once.',
    tool: 'eval_expr',
    args: { expr: '(close-books)', package: 'tea-house' },
    expects: [/nil/i, /type\s+number/i, /debug_frame/],
    ok: false,
  })
  const state = await take(client, {
    says: 'It waits where the error happened. What are the ways to go on, and who called whom?',
    tool: 'debug_state',
    args: {},
    expects: [/0: \[retry\] Enter the order for oolong again/i, /enter/i, /close-books/i],
  })
  const frame = frameOf(state, 'enter')
  await take(client, {
    says: 'The function that enters an order: what does it hold?',
    tool: 'debug_frame',
    args: { frame },
    expects: [/order/],
  })
  await take(client, {
    says: 'Which tea is it, how much is entered already, and is it on another menu?',
    tool: 'debug_eval',
    args: { frame, expr: '(list (tea order) (length *books*) (gethash (tea order) *spring-menu*))' },
    expects: [/\("oolong" 733 610\)/],
  })
  if (emacs) work(emacs)
  await mend(client, project)
  await take(client, {
    says: 'The program itself offers to enter that order again: the same run goes on from there, with the new code.',
    tool: 'debug_restart',
    args: { restart: 'retry' },
    expects: [new RegExp(`^${TAKINGS}$`, 'm')],
  })
  await take(client, {
    says: 'Each order was entered once: nothing was begun anew.',
    tool: 'eval_expr',
    args: { expr: '(length *books*)', package: 'tea-house' },
    expects: [new RegExp(`^${ORDERS}$`, 'm')],
  })
}

async function mend(client: DaemonClient, project: string): Promise<void> {
  const file = join(project, 'books.lisp')
  const mended = readFileSync(file, 'utf8').replace(
    '  (gethash tea *menu*))',
    '  (or (gethash tea *menu*) (gethash tea *spring-menu*)))',
  )
  writeFileSync(file, mended)
  const form = /^\(defun pence-for [\s\S]*?\n\n/m.exec(mended)?.[0].trimEnd() ?? ''
  const line = mended.slice(0, mended.indexOf(form)).split('\n').length
  await take(client, {
    says: 'A tea of spring has its price there. The function is mended in its file, and compiled from its place:',
    tool: 'compile_form',
    args: { form, package: 'tea-house', file, line },
    expects: [/pence-for/i],
  })
}

/** The number of the innermost frame of that function. */
function frameOf(state: Envelope, name: string): number {
  const { frames = [] } = (state.ok ? state.result : {}) as {
    readonly frames?: readonly { readonly number: number; readonly function: string }[]
  }
  const frame = frames.find(({ function: called }) => called.toLowerCase().endsWith(name))
  if (frame === undefined) throw new Differs(`no frame of ${name} was told`)
  return frame.number
}

/** The owner connects as she does every morning, and calculates something. */
async function beginWork(emacs: Emacs, house: { readonly port: number }): Promise<string> {
  out('\n# The owner sits in Emacs, and is connected with SLIME: M-x slime-connect\n')
  emacs.eval(`(progn (slime-connect "127.0.0.1" ${house.port}) t)`)
  await emacs.until('(and (slime-connected-p) (get-buffer "*slime-repl sbcl*") t)')
  emacs.eval(
    '(with-current-buffer "*slime-repl sbcl*" (goto-char (point-max)) (insert "(* 6 7)") (slime-repl-return) t)',
  )
  await emacs.until('(with-current-buffer "*slime-repl sbcl*" (and (string-match "^42$" (buffer-string)) t))')
  return seen(emacs)
}

/** While the error waits, the owner calculates and compiles. */
function work(emacs: Emacs): void {
  const done = emacs.eval(
    "(list (slime-eval '(cl:+ 20 22)) (slime-eval '(cl:funcall (cl:compile cl:nil '(cl:lambda () 7)))))",
  )
  out(`\n# While it waits, the owner calculates and compiles in Emacs: ${done}\n`)
  if (done !== '(42 7)') throw new Differs('the owner is kept waiting')
}

/** All that the owner can see: her listener with its last value, her buffers, and what Lisp has put before her. */
const seen = (emacs: Emacs): string =>
  emacs.eval(
    '(list (with-current-buffer "*slime-repl sbcl*" (buffer-substring-no-properties (point-min) (point-max)))' +
      ' (slime-eval \'(cl:format cl:nil "~S ~S ~A" cl:* cl:+ (cl:package-name cl:*package*)))' +
      ' (length (sldb-buffers)) (sort (mapcar (function buffer-name) (buffer-list)) (function string<)))',
  )

function compare(before: string | undefined, after: string): void {
  if (before !== after) throw new Differs(`SLIME has noticed something:\n${before}\n${after}`)
  out(`\n# And the owner, in Emacs? Her listener, its last value, her buffers are as they were:\n${after}\n`)
}
