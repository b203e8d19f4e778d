import { connect } from 'node:net'
import { isAtom, SwankConnection, textOf } from '../../wire/swank/connection.ts'
import { type Form, quote, type Sexp, symbol } from '../../wire/swank/sexp.ts'
import type { RealSwank } from './swank.ts'

/** A person's editor at the same image: a plain Swank client that does what SLIME does on connecting. */
export interface Slime {
  /** The values of `form`, printed; in the debugger it ends as its condition. */
  ask(form: string): Promise<string>
  /** A request of the editor's own, to its end. */
  request(form: readonly Form[]): Promise<void>
  /** Names and conditions of all debuggers that were opened in this editor. */
  readonly debugged: readonly string[]
  readonly heard: readonly Sexp[]
  /** Ends the connection and waits for its end. */
  close(): Promise<void>
}

export async function openSlime(swank: RealSwank): Promise<Slime> {
  const socket = connect({ port: swank.port, host: '127.0.0.1', noDelay: true })
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  const heard: Sexp[] = []
  const debugged: string[] = []
  const connection = new SwankConnection({
    socket,
    heard: message => {
      heard.push(message)
      const [tag, thread, , condition] = Array.isArray(message) ? (message as readonly Sexp[]) : []
      if (!isAtom(tag) || tag.atom !== ':debug') return
      debugged.push(textOf(Array.isArray(condition) ? condition[0] : null))
      // As a person does with q: the thread ends.
      void connection.rex([symbol('swank:throw-to-toplevel')], Number(thread)).catch(() => {})
    },
  })
  await connection.rex([symbol('swank:connection-info')])
  await connection.rex([symbol('swank:swank-require'), quote([symbol('swank-io-package::swank-repl')])])
  await connection.rex([symbol('swank-repl:create-repl'), null])
  return {
    debugged,
    heard,
    async ask(form) {
      const answer = await connection.rex([symbol('swank:eval-and-grab-output'), form])
      if ('abort' in answer) throw new Error(answer.abort)
      const [, values] = Array.isArray(answer.ok) ? (answer.ok as readonly Sexp[]) : []
      return textOf(values)
    },
    async request(form) {
      await connection.rex(form)
    },
    // Where the client goes first, Swank can kill its own writer while that makes a backtrace of it and asks the dynamic
    // loader for a name: the loader's lock stays taken, and the image hangs. So Swank is asked to close.
    async close() {
      const close = [symbol('swank::close-connection'), symbol('swank::*emacs-connection*'), null, null]
      await Promise.all([connection.closed, connection.rex(close).catch(() => {})])
    },
  }
}
