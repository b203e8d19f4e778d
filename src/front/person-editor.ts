import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRecord } from '../../tools/record.ts'
import { oneLine } from '../../tools/text.ts'
import { messageOf } from '../../wire/errors.ts'
import { escapePlanLine } from '../text/escape.ts'
import { refusedDraft } from './hunks/patch.ts'

/** A text that a person is to go on with in their own editor. */
export interface Draft {
  readonly text: string
  /** What its file is called: `hunk.diff`. Editors go by its ending. */
  readonly name: string
}

/** What came of it. */
export type DraftResult =
  | { readonly type: 'text'; readonly text: string }
  /** It was left as it was: nothing is to be done. */
  | { readonly type: 'unchanged' }
  /** Why there is no text, as a sentence. */
  | { readonly type: 'failed'; readonly why: string }

/** What an editor may give back, in bytes. */
const MOST = 16 * 1024 * 1024

/**
 * Has the person's own editor at the terminal of this process, and waits until it has ended: `$VISUAL`, else `$EDITOR`,
 * else vi, in words of the shell as git takes them. The file lies in a folder that only this user can enter, and which
 * goes with the editor. Nobody else may read from the terminal meanwhile. Never rejects.
 */
export async function redraft({ text, name }: Draft, env = process.env): Promise<DraftResult> {
  const editor = editorOf(env)
  if (editor === undefined)
    return {
      type: 'failed',
      why: 'This terminal has no screen for vi: set EDITOR to an editor that needs none.',
    }
  let folder: string | undefined
  const remove = () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
  process.on('exit', remove)
  try {
    folder = mkdtempSync(join(tmpdir(), 'imago-'))
    const file = join(folder, name)
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' })
    const why = await ended(editor, { file, env })
    return why === undefined ? readBack(file, text) : { type: 'failed', why }
  } catch (error) {
    return { type: 'failed', why: `The editor could not be used: ${messageOf(error)}` }
  } finally {
    process.off('exit', remove)
    remove()
  }
}

/** As git chooses it; undefined where a terminal without a screen would be given vi. */
function editorOf({ VISUAL, EDITOR, TERM }: NodeJS.ProcessEnv): string | undefined {
  const dumb = TERM === undefined || TERM === '' || TERM === 'dumb'
  return (dumb ? undefined : VISUAL) || EDITOR || (dumb ? undefined : 'vi')
}

/** What a shell ends with where there is no such program, and where it is none. */
const NOT_FOUND = 127

const NOT_RUN = 126

/** Undefined once it has ended well. */
function ended(
  editor: string,
  { file, env }: { file: string; env: NodeJS.ProcessEnv },
): Promise<string | undefined> {
  return new Promise(resolve => {
    const child = spawn('sh', ['-c', `${editor} "$@"`, editor, file], { stdio: 'inherit', env })
    child.on('error', error => resolve(`The editor could not be started: ${messageOf(error)}`))
    child.on('exit', (code, signal) => {
      const name = oneLine(editor)
      if (code === 0) resolve(undefined)
      else if (code === NOT_FOUND || code === NOT_RUN)
        resolve(`The shell could not run the editor ${name}. Set $VISUAL or $EDITOR to the one that you use.`)
      else {
        const how = signal === null ? `with code ${code}` : `by ${signal}`
        resolve(`The editor ${name} ended ${how}: what it wrote was dropped.`)
      }
    })
  })
}

function readBack(file: string, before: string): DraftResult {
  const { size } = statSync(file)
  if (size > MOST) return { type: 'failed', why: `It has ${size} bytes by now, and may have ${MOST}.` }
  const text = readFileSync(file, 'utf8')
  return text === before ? { type: 'unchanged' } : { type: 'text', text }
}

/** What came of arguments that a person edited. */
type ReadArguments =
  | { readonly type: 'arguments'; readonly args: Readonly<Record<string, unknown>> }
  /** `why` is a sentence for that person; `draft` is what they go on with. */
  | { readonly type: 'bad'; readonly why: string; readonly draft: string }

/** The arguments of a call as a person edits them, in JSON. */
export const argumentsDraft = (args: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify(args, null, 2)}\n`

/** What a person made of `argumentsDraft`, or of a draft that was refused before. */
export function readArguments(text: string): ReadArguments {
  const bad = (why: string): ReadArguments => ({ type: 'bad', why, draft: refusedDraft(text, why) })
  try {
    // No text of JSON goes over the end of a line; and lines are counted as they will be seen again.
    const read: unknown = JSON.parse(refusedDraft(text, '').replace(/^[ \t]*#.*$/gm, ''))
    if (isRecord(read)) return { type: 'arguments', args: read }
    return bad('The arguments have to be one JSON object: { "name": value }. Nothing was sent.')
  } catch (error) {
    return bad(`The arguments are not JSON any more: ${escapePlanLine(messageOf(error))}. Nothing was sent.`)
  }
}
