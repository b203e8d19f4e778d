import { connectSwank } from '../../wire/swank/connect.ts'
import { textOf } from '../../wire/swank/connection.ts'
import { type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { SUSPENDING_LISP } from '../support/snippets-suspending.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { goneFacts, type Image } from './kernel-gone.ts'

goneFacts({ title: 'SBCL, attached', snippets: SUSPENDING_LISP, start })

async function start(): Promise<Image> {
  const swank = await startSwank()
  const person = await connectSwank({ host: '127.0.0.1', port: swank.port, secret: null })
  const names =
    '(format nil "~{~A~^, ~}" (mapcar (function sb-thread:thread-name) (sb-thread:list-all-threads)))'
  return {
    task: { language: 'lisp', port: swank.port },
    open: () => openSwankKernel(swank),
    async threads() {
      const answer = await person.connection.rex([symbol('swank:eval-and-grab-output'), names])
      if ('abort' in answer) throw new Error(answer.abort)
      const [, printed] = Array.isArray(answer.ok) ? (answer.ok as readonly Sexp[]) : []
      return textOf(printed).split(', ').sort()
    },
  }
}
