import { connect } from 'node:net'
import { isAtom, SwankConnection, textOf } from '../../wire/swank/connection.ts'
import { frame } from '../../wire/swank/frames.ts'
import { type Sexp, symbol } from '../../wire/swank/sexp.ts'
import type { RealSwank } from './swank.ts'

/** Somebody in SLIME who leaves errors where they are: a client that is told of debuggers, and shows none. */
export interface Owner {
  /** Begins what signals an error; resolves with its thread, once Emacs would show the debugger. */
  err(source: string): Promise<{ readonly thread: number; readonly answer: Promise<unknown> }>
  press(form: string, thread: number): Promise<unknown>
  /** C-c C-c, in that thread. */
  interrupt(thread: number): void
  ask(form: string): Promise<string>
  end(): void
}

/** `secret`: what the image asks for, if anything. */
export async function openOwner({ port }: RealSwank, secret?: string): Promise<Owner> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  if (secret !== undefined) socket.write(frame(secret))
  let entered: (thread: number) => void = () => {}
  const connection = new SwankConnection({
    socket,
    heard: message => {
      const [tag, thread] = Array.isArray(message) ? (message as readonly Sexp[]) : []
      if (isAtom(tag) && tag.atom === ':debug-activate') entered(Number(thread))
    },
  })
  await connection.rex([symbol('swank:connection-info')])
  return {
    async err(source) {
      const waits = new Promise<number>(resolve => {
        entered = resolve
      })
      const answer = connection.rex([symbol('swank:interactive-eval'), source])
      answer.catch(() => {})
      return { thread: await waits, answer }
    },
    press: (form, thread) => connection.rex([symbol(form)], thread),
    interrupt: thread => connection.send([symbol(':emacs-interrupt'), thread]),
    async ask(form) {
      const answer = await connection.rex([symbol('swank:interactive-eval'), form])
      return 'ok' in answer ? textOf(answer.ok) : `aborted: ${answer.abort}`
    },
    end: () => connection.end(),
  }
}
