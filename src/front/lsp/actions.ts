import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type CodeAction, CodeActionKind, type Connection, type Range } from 'vscode-languageserver/node'
import type { Envelope } from '../../../tools/outcome.ts'
import { beginning, oneLine } from '../../../tools/text.ts'
import { messageOf } from '../../../wire/errors.ts'
import { findPaths } from '../../paths.ts'
import { escapePlanLine } from '../../text/escape.ts'
import { type TextLines, withoutMargin } from './documents.ts'
import { answerInWords } from './plan-lines.ts'
import type { Project } from './project.ts'
import type { TextsThatRun } from './texts.ts'

/** What the editor can be told to do, by the names of its commands. */
export const COMMANDS = ['imago.evaluate', 'imago.trace', 'imago.loadFile', 'imago.openPlan'] as const

type Command = (typeof COMMANDS)[number]

/** Characters of a text that is shown as a message. */
const SHOWN = 2_000

const ANSWERS = { Approve: 'approve', Deny: 'deny' } as const

interface Place {
  readonly project: Project
  readonly document: TextLines
  readonly range: Range
}

/** What can be done at a place: nothing about a program where none lives. */
export function actionsAt({ project, document, range }: Place, texts: TextsThatRun): readonly CodeAction[] {
  const { uri, language } = document
  const [kernel] = project.kernelsOf(language.name)
  const plans = plansFor(project, document).map(({ id, title }) =>
    action(`Show ${id}: ${oneLine(title)}`, 'imago.openPlan', [id, uri], CodeActionKind.QuickFix),
  )
  if (kernel === undefined) return plans
  const differ = texts.on(document, range.start.line, range.end.line)
  const loads = differ.map(({ name }) =>
    action(`Load ${name} into ${kernel.name}`, 'imago.loadFile', [uri, [name]], CodeActionKind.QuickFix),
  )
  const whole = action(`Load this file into ${kernel.name}`, 'imago.loadFile', [uri], CodeActionKind.QuickFix)
  const code = withoutMargin(document.textIn(range))
  const name = document.expressionAt(range.start)
  return [
    ...plans,
    ...loads,
    ...(loads.length === 0 ? [] : [whole]),
    ...(code.trim() === '' ? [] : [action(`Evaluate in ${kernel.name}`, 'imago.evaluate', [uri, code])]),
    ...(code === '' && name !== '' ? [action(`Trace ${name}`, 'imago.trace', [uri, name])] : []),
  ]
}

const action = (
  title: string,
  command: Command,
  args: readonly unknown[],
  kind: CodeActionKind = CodeActionKind.Empty,
): CodeAction => ({ title, kind, command: { title, command, arguments: [...args] } })

/** Those that wait and change the file. */
function plansFor({ rows }: Project, { path }: TextLines) {
  const shown = path === undefined ? '' : escapePlanLine(path)
  return [...rows.approvals.values()].filter(
    (row): row is Extract<typeof row, { state: 'waits' }> =>
      row.state === 'waits' && row.paths.includes(shown),
  )
}

interface Running {
  readonly connection: Connection
  readonly project: Project
  /** The document that its first argument names. */
  readonly document: TextLines | undefined
  readonly texts: TextsThatRun
  readonly signal: AbortSignal
  /** Whether the editor opens files that it is told of. */
  readonly opensFiles: boolean
}

/** Does a command, tells the person what came of it, and answers with the same as data. */
export async function runCommand(
  command: string,
  args: readonly unknown[],
  running: Running,
): Promise<unknown> {
  const { document, project, texts } = running
  const word = (at: number) => (typeof args[at] === 'string' ? args[at] : '')
  switch (command as Command) {
    case 'imago.evaluate':
      return callHere('eval_expr', { expr: word(1), file: document?.path }, running)
    case 'imago.trace': {
      const asked = { symbols: [word(1)], file: document?.path, max_length: 1 }
      const found =
        document && (await project.ask('symbol_definition', asked, { language: document.language.name }))
      const [symbol] = (found as { symbols: { qualified?: string }[] } | undefined)?.symbols ?? []
      return callHere('trace_function', { name: symbol?.qualified ?? word(1) }, running)
    }
    case 'imago.loadFile': {
      const names = Array.isArray(args[1]) ? { names: args[1] } : {}
      const envelope = await callHere('load_file', { path: document?.path, ...names }, running)
      if (document !== undefined) void texts.check(document, project)
      return envelope
    }
    case 'imago.openPlan':
      return openPlan(word(0), running)
    default:
      throw new Error(`There is no command ${oneLine(command)}.`)
  }
}

/** A call in the kernel that the document's language is asked in. None is started for it. */
async function callHere(
  tool: string,
  args: Readonly<Record<string, unknown>>,
  { project, document, connection, signal }: Running,
): Promise<Envelope | null> {
  const [kernel] = document === undefined ? [] : project.kernelsOf(document.language.name)
  if (kernel === undefined) {
    connection.window.showInformationMessage(`No program of ${project.root} listens: nothing was done.`)
    return null
  }
  const envelope = await project.call({ tool, args: { ...args, kernel: kernel.name }, signal })
  const shown = beginning(await project.show(tool, envelope), SHOWN)
  if (envelope.ok) connection.window.showInformationMessage(shown)
  else connection.window.showErrorMessage(shown)
  return envelope
}

/** Where this process puts plans for the editor to open. */
export const plansFolder = () => join(findPaths().runtimeDir, `lsp-${process.pid}`)

/** Puts a plan before the person, who can answer it where the editor has a seat. */
async function openPlan(id: string, { project, connection, opensFiles }: Running): Promise<unknown> {
  const row = project.rows.approvals.get(id)
  if (row?.state !== 'waits') {
    connection.window.showInformationMessage(`${oneLine(id)} waits no more.`)
    return null
  }
  const client = await project.reach()
  const plan = await client.request('plan', { plan: id }).catch((error: unknown) => messageOf(error))
  if (typeof plan === 'string') {
    connection.window.showInformationMessage(
      `${row.title}. ${plan} It is shown and answered in a terminal with: imago watch`,
    )
    return null
  }
  // The daemon has marked in all of these what a reader would not see.
  const body = [row.title, `Asked by ${row.who}.`, ...row.warnings, '', plan.body ?? ''].join('\n')
  if (opensFiles) {
    mkdirSync(plansFolder(), { recursive: true, mode: 0o700 })
    const file = join(plansFolder(), `${id}.diff`)
    writeFileSync(file, body, { mode: 0o600 })
    await connection.window.showDocument({ uri: pathToFileURL(file).href })
  }
  // A text that is not shown as a whole is not answered here.
  const choices = opensFiles || body.length <= SHOWN ? Object.keys(ANSWERS).map(title => ({ title })) : []
  const chosen = await connection.window.showInformationMessage(
    opensFiles ? row.title : beginning(body, SHOWN),
    ...choices,
  )
  const decision = ANSWERS[chosen?.title as keyof typeof ANSWERS]
  if (decision === undefined) return plan
  const became = answerInWords(await client.request('answer', { plan: id, hash: row.hash, decision }))
  if ('shown' in became) connection.window.showInformationMessage(became.shown)
  return plan
}
