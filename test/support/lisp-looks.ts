import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LOOK_ANSWERS as LOOKED } from '../../wire/contract/looks.ts'
import type { Looked, LookName, Looks } from '../../wire/kernel.ts'
import { quote, textOf } from '../../wire/swank/connection.ts'
import { symbol } from '../../wire/swank/sexp.ts'
import { assert, type Suite } from './harness.ts'
import { openPeer, startSwank } from './swank.ts'

/** What is asked, without what only the daemon has to give. */
type Query<Name extends LookName> = Partial<Looks[Name]['query']>

/** A real Lisp image whose names are looked at: one for a test file, begun before its first test. */
export interface LispLooks {
  /** A folder of the file's own. */
  readonly folder: string
  look<Name extends LookName>(name: Name, query: Query<Name>): Promise<Looked<Looks[Name]['found']>>
  /** The same, where it has to be found. */
  found<Name extends LookName>(name: Name, query: Query<Name>): Promise<Looks[Name]['found']>
  /** Reads and runs code form by form, as `load` does, and gives how the last value prints. */
  run(code: string): Promise<string>
  /** Evaluates code as a tool does it, in the package in force there. */
  evaluate(code: string): Promise<void>
  /** Writes a file into the folder. */
  write(name: string, text: string): string
  /** Compiles a text as SLIME does it with a piece of a buffer. */
  compileString(text: string, place?: { buffer: string; position: number; file?: string }): Promise<void>
}

const LIMITS = { limit: 50, max_length: 10_000, modules: false, internal: false }

const EVAL = `
(cl:handler-case
    (cl:let ((cl:*package* (cl:find-package "COMMON-LISP-USER")) (cl-user::value nil))
      (cl:with-input-from-string (cl-user::code CODE)
        (cl:loop
          (cl:let ((cl-user::form (cl:read cl-user::code nil cl-user::code)))
            (cl:when (cl:eq cl-user::form cl-user::code) (cl:return cl-user::value))
            (cl:setf cl-user::value (cl:eval cl-user::form))))))
  (cl:error (cl-user::condition) (cl:format nil "failed: ~A" cl-user::condition)))`

/** Has an image for the tests of `test`, in which `code` was run. */
export function lispLooks(test: Suite, code = ''): LispLooks {
  const folder = mkdtempSync(join(tmpdir(), 'imago-names-'))
  let opened: Awaited<ReturnType<typeof openPeer>>
  let kill = () => {}
  test.before(async () => {
    const swank = await startSwank()
    kill = swank.kill
    opened = await openPeer(swank)
    if (code !== '') await looks.run(code)
  })
  test.after(() => {
    kill()
    rmSync(folder, { recursive: true, force: true })
  })

  const look: LispLooks['look'] = async (name, query) => {
    const answer = await opened.peer.call(name, { ...LIMITS, deadline_ms: 15_000, ...query } as never)
    return LOOKED[name].parse(answer) as never
  }
  const looks: LispLooks = {
    folder,
    look,
    async found(name, query) {
      const looked = await look(name, query)
      if (looked.type !== 'found') throw new Error(`${name}: ${JSON.stringify(looked)}`)
      return looked.value
    },
    async run(code) {
      const literal = `"${code.replace(/[\\"]/g, '\\$&')}"`
      const form = [symbol('swank:eval-and-grab-output'), EVAL.replace('CODE', () => literal)]
      const returned = await opened.connection.rex(form)
      if ('abort' in returned) throw new Error(returned.abort)
      const [, value] = returned.ok as never[]
      const printed = textOf(value as never)
      if (printed.startsWith('"failed: ')) throw new Error(printed)
      return printed
    },
    async evaluate(source) {
      const ended = await opened.peer.call('evaluate', { call: source, who: 'test', work: 'source', source })
      assert.is((ended as { type: string }).type, 'done')
    },
    write(name, text) {
      const file = join(folder, name)
      writeFileSync(file, text)
      return file
    },
    async compileString(text, { buffer, position, file } = { buffer: 'typed', position: 1 }) {
      const at = quote([[symbol(':position'), position]])
      const call = [symbol('swank:compile-string-for-emacs'), text, buffer, at, file ?? null, null]
      const returned = await opened.connection.rex(call)
      if ('abort' in returned) throw new Error(returned.abort)
    },
  }
  return looks
}

/** What a look that did not find anything says of it. */
export function missing<Found>(looked: Looked<Found>): { what: string; nearest: readonly string[] } {
  if (looked.type !== 'not_found') throw new Error(JSON.stringify(looked))
  assert.ok(looked.what.length > 0)
  return looked
}
