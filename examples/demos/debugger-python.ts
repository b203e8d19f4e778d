import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { out, type Step, take } from './steps.ts'

/** What Python can do of it: the stack is gone with the error, and its frames are kept. */
const LOOK: readonly Step[] = [
  {
    says: 'Python unwinds its stack before anybody can ask. What was in it is kept, on request:',
    tool: 'eval_expr',
    args: { expr: 'close_books()', on_error: 'suspend', kernel: 'books' },
    expects: [/KeyError: 'oolong'/, /suspended as s1@/],
    ok: false,
  },
  {
    says: 'The frame that asked for the price, with its variables. Nothing runs to tell.',
    tool: 'debug_frame',
    args: { frame: 1, kernel: 'books' },
    expects: [/in close_books/, /tea = 'oolong'/, /pots = 2/],
  },
  {
    says: 'And code runs there, too:',
    tool: 'debug_eval',
    args: { frame: 1, expr: 'pots * spring_menu[tea], len(books)', kernel: 'books' },
    expects: [/^\(1220, 733\)$/m],
  },
]

/** The same books in Python: the code that failed runs again, which goes on where the program itself has kept its place. */
export async function closePythonBooks(
  client: DaemonClient,
  { project, takings }: { readonly project: string; readonly takings: number },
): Promise<void> {
  out('\n# The same in Python, as far as Python goes.\n')
  const file = join(project, 'books.py')
  await take(client, {
    says: 'The books are loaded:',
    tool: 'load_file',
    args: { path: file, kernel: 'books' },
    expects: [/close_books/],
  })
  for (const step of LOOK) await take(client, step)
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('return menu[tea]', 'return menu.get(tea) or spring_menu[tea]'),
  )
  await take(client, {
    says: 'The function is mended in its file, and nothing else of the file is run:',
    tool: 'load_file',
    args: { path: file, names: ['pence_for'], kernel: 'books' },
    expects: [/pence_for/],
  })
  await take(client, {
    says: 'No frame can go on. The same code is run again, with what is defined now:',
    tool: 'debug_restart',
    args: { restart: 'retry', kernel: 'books' },
    expects: [new RegExp(`^${takings}$`, 'm')],
  })
}
