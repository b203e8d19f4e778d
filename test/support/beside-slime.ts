import { type SwankKernel, swankKernel } from '../../wire/kernels/swank.ts'
import { connectSwank } from '../../wire/swank/connect.ts'
import { isAtom } from '../../wire/swank/connection.ts'
import type { Sexp } from '../../wire/swank/sexp.ts'
import type { SlimeEmacs } from './slime-emacs.ts'

/** Imago, attached to the image of a person who works there in SLIME. */
export interface Beside {
  readonly kernel: SwankKernel
  /** Messages over our connection that told us, as an editor, of a debugger: there are to be none. */
  debuggersOffered(): readonly Sexp[]
}

export async function attachBeside({ port }: { readonly port: number }): Promise<Beside> {
  const { connection, info } = await connectSwank({ host: '127.0.0.1', port, secret: null })
  const heard: Sexp[] = []
  const listen = connection.listen.bind(connection)
  connection.listen = (hear, options) =>
    listen(message => {
      heard.push(message)
      hear(message)
    }, options)
  const kernel = await swankKernel({ name: 'lisp', connection, info, attached: true })
  return { kernel, debuggersOffered: () => heard.filter(asksAsDebugger) }
}

/** An editor that is told so is the debugger of the thread. */
function asksAsDebugger(message: Sexp): boolean {
  const [tag] = Array.isArray(message) ? (message as readonly Sexp[]) : []
  return isAtom(tag) && /^:debug/.test(tag.atom)
}

/** A form that has the values of a REPL, its package and the hooks of its thread. */
export const REMEMBERED =
  '(list * + / (package-name *package*) *debugger-hook* sb-ext:*invoke-debugger-hook*)'

/** What is traced in the dialog of SLIME, as Emacs is told of it. */
export const DIALOG = "(slime-eval '(swank-trace-dialog:report-specs))"

const INSPECTED =
  '(with-current-buffer (slime-inspector-buffer) (buffer-substring-no-properties 1 (point-max)))'

/** Addresses change with every collection. */
export const withoutAddresses = (text: string) => text.replace(/\{\w+\}/g, '{}')

/** What a person sees at their Emacs. */
export interface Seen {
  /** What the debugger shows, or nil. */
  debugger(): Promise<string>
  /** The levels of all that are open, as a list. */
  debuggers(): Promise<string>
  /** Resolves once the debugger shows what matches. */
  debuggerOpens(): Promise<string>
  /** Takes its last restart as a person does it, and waits until nothing is left of it. */
  leaveDebugger(): Promise<void>
  inspector(): Promise<string>
  /** Names of threads, as SLIME lists them, but for those that serve one request. */
  threads(): Promise<string[]>
  /** Waits until it is those: the threads of who has left end a moment later. */
  threadsAre(expected: readonly string[]): Promise<void>
}

export function seenIn(emacs: SlimeEmacs): Seen {
  const shown = () =>
    emacs.text(
      '(let ((sldb (sldb-get-default-buffer))) (and sldb (with-current-buffer sldb (buffer-substring-no-properties 1 (point-max)))))',
    )
  const threads = async () => {
    const rows = await emacs.eval("(mapcar #'cadr (cdr (slime-eval '(swank:list-threads))))")
    return [...rows.matchAll(/"([^"]*)"/g)]
      .map(([, name = '']) => name)
      .filter(name => name !== 'worker')
      .sort()
  }
  return {
    debugger: shown,
    debuggers: () => emacs.eval('(mapcar (lambda (b) (with-current-buffer b sldb-level)) (sldb-buffers))'),
    async debuggerOpens() {
      await emacs.until('(sldb-get-default-buffer)')
      return shown()
    },
    async leaveDebugger() {
      await emacs.eval('(progn (select-window (get-buffer-window (sldb-get-default-buffer))) t)')
      emacs.type('q')
      await emacs.until('(and (null (sldb-buffers)) (null (slime-rex-continuations)))')
    },
    inspector: async () => withoutAddresses(await emacs.text(INSPECTED)),
    threads,
    async threadsAre(expected) {
      while ((await threads()).join() !== expected.toSorted().join())
        await new Promise(resolve => setTimeout(resolve, 20))
    },
  }
}
