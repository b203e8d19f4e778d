import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { messageOf } from '../../wire/errors.ts'
import { readConfig } from '../config.ts'
import { EXIT, type ExitCode } from '../failure.ts'
import { heading, type Image, openImage, reachChosen, scriptFailure, staysText } from '../front/image.ts'
import { redraft } from '../front/person-editor.ts'
import { exitOf } from '../front/print.ts'
import { findPaths } from '../paths.ts'
import { failureSpans, openDisplay } from './answers.ts'
import { type Commands, openCommands } from './colon-table.ts'
import { ConsoleApprovals } from './console-seat.ts'
import { asStatement, type Callee, Editor, type Offers, type Wish } from './editor.ts'
import { enteredSpans, paintEditor } from './editor-view.ts'
import { type History, historyPath, openHistory } from './history.ts'
import { looking, openPalette, plain, prose, type Span, wantsColour } from './layout.ts'
import type { Edit } from './line.ts'
import { type Exit, openBackground, openRunner, Show } from './run.ts'
import { type Actor, Stage } from './screen.ts'
import { openSpoken, type Spoken } from './spoken.ts'
import { ConsoleSuspensions, type Mine } from './suspensions.ts'
import type { Asked, Syntax } from './syntax.ts'
import { openTty } from './tty.ts'

/** The console at a terminal: a conversation with the image, until the person leaves or the code says so. */
export async function converse({ kernel }: { readonly kernel: string | undefined }): Promise<ExitCode> {
  const tty = openTty(process.stdin, process.stdout)
  const stage = new Stage({ tty, palette: openPalette({ coloured: wantsColour(process.env) }) })
  try {
    const suspended: ConsoleSuspensions = new ConsoleSuspensions({
      made: call => image?.made(call) ?? false,
      tell: text => stage.print([prose('hint', `${text}\n`)]),
      changed: () => stage.repaint(),
      stopped(kernel) {
        if (image !== undefined) void suspended.leave(image, suspended.spare(kernel)).catch(() => {})
      },
    })
    let image: Image | undefined
    image = await openImage({
      kernel,
      said: message => stage.print([prose('hint', message)]),
      printed: openBackground(stage),
      suspensions: suspended,
    })
    const ready = await begin(image, stage)
    return ready === EXIT.done ? await talk({ image, stage, suspended }) : ready
  } finally {
    stage.close()
  }
}

interface Conversation {
  readonly image: Image
  readonly stage: Stage
  readonly suspended: ConsoleSuspensions
}

async function talk({ image, stage, suspended }: Conversation): Promise<ExitCode> {
  const history = openHistory(historyPath(findPaths().stateDir, image.root))
  const spoken = openSpoken(image, () => stage.repaint())
  const showing = openDisplay(stage, image, spoken)
  const approvals = new ConsoleApprovals({ image, stage, desktop: wantsNotifications() })
  const running = openRunner({ image, stage, showing, spoken, approvals, suspended })
  const commands = openCommands({
    image,
    stage,
    showing,
    running,
    history,
    approvals,
    suspended,
    spoken,
  })
  const entering = openEntry({
    stage,
    history,
    commands,
    spoken,
    completing: openCompleter(image),
    get prompt() {
      const waiting = suspended.waiting(image.kernel)
      return waiting === 0 ? spoken.prompt : `[${waiting}] ${spoken.prompt}`
    },
  })
  let exit: ExitCode = EXIT.done
  for (;;) {
    approvals.sit()
    await spoken.follow().catch(() => {})
    const entry = await entering.next()
    if (entry === undefined) break
    const leaving = await answer(entry).catch(error => {
      stage.print([prose('error', `imago: ${messageOf(error)}\n`)])
    })
    if (leaving === undefined) continue
    if (leaving.message !== undefined) stage.print([plain(`${leaving.message}\n`)])
    exit = leaving.exit
    break
  }
  const given = await Promise.race([givenUp(image, suspended), pause(LEAVING_MS, '', { ref: false })])
  if (given !== '') stage.print([prose('hint', `${given}\n`)])
  await approvals.close()
  const row = await image.row().catch(() => undefined)
  stage.print([prose('hint', `${staysText(row)}\n`)])
  return exit

  /** Does what was entered; not undefined: the console is to end. */
  async function answer(entry: string): Promise<Exit | undefined> {
    const line = entry.trim()
    if (line === '') return undefined
    if (line.startsWith(':')) {
      const left = await commands.run(line)
      return left === 'quit' ? { exit: EXIT.done } : undefined
    }
    const asked = askedIn(line, spoken.language.syntax)
    if (asked === undefined) return await running.run(asStatement(entry))
    if (asked.type === 'names') await showing.names(asked, running.call)
    else await showing.describe(asked.name, { source: asked.source, call: running.call })
    return undefined
  }
}

/** What a line asks, in any language or in its own. */
function askedIn(line: string, syntax: Syntax): Asked | undefined {
  const [, name, marks] = /^([^\s?#].*?)(\?\??)$/.exec(line) ?? []
  return name === undefined ? syntax.asked?.(line) : { type: 'name', name, source: marks === '??' }
}

/** How long an image may take over giving up what is suspended in it, in milliseconds; the daemon gives it up then. */
const LEAVING_MS = 3_000

/**
 * Nobody could go on with what is this console's once it has gone: its own is given up, and what a person has taken over
 * is put before the agents of its project. Says so, but for frames that are only kept to be looked at.
 */
async function givenUp(image: Image, suspended: ConsoleSuspensions): Promise<string> {
  const mine = suspended.mine.filter(({ ours }) => ours)
  const taken = suspended.mine.filter(({ ours }) => !ours)
  const hand = ({ kernel, id }: Mine) => image.request('hand', { kernel, suspension: id })
  await Promise.allSettled([suspended.leave(image, mine), ...taken.map(hand)])
  const ids = (some: readonly Mine[]) => some.map(({ id }) => id).join(', ')
  const waited = mine.filter(({ how }) => how === 'held')
  const left = waited.length === 0 ? [] : [`Given up, with this console: ${ids(waited)}.`]
  return [...left, ...(taken.length === 0 ? [] : [`Before the agents of the project: ${ids(taken)}.`])].join(
    ' ',
  )
}

/** A file that cannot be read is the daemon's to speak of. */
function wantsNotifications(): boolean {
  try {
    return readConfig(findPaths().configDir).watch.notify
  } catch {
    return false
  }
}

/** Makes sure that the kernel is there, and says which one it is. */
async function begin(image: Image, stage: Stage): Promise<ExitCode> {
  const envelope = await reachChosen(image, prompt =>
    new Show(stage).ask({ type: 'stdin', prompt, secret: false }, () => {}),
  )
  if (!envelope.ok) {
    stage.print(failureSpans(envelope))
    return exitOf(envelope)
  }
  const row = await image.row()
  stage.print([prose('title', heading(row)), prose('hint', ' :help helps, Ctrl-D leaves.\n')])
  const failure = scriptFailure(row)
  if (failure !== undefined) stage.print([prose('error', `${failure}\n`)])
  return EXIT.done
}

interface EntryParts {
  readonly stage: Stage
  readonly history: History
  readonly spoken: Spoken
  readonly completing: Completer
  /** What stands before the text. */
  readonly prompt: string
  readonly commands: Pick<Commands, 'hint' | 'complete'>
}

interface Entry {
  /** What the person enters next; undefined at the end. */
  next(): Promise<string | undefined>
}

/** How long typing must rest before the image is asked what a call takes, in milliseconds. */
const REST_MS = 80

function openEntry(parts: EntryParts): Entry {
  const { stage, history, completing, commands, spoken } = parts
  const isCommand = (text: string) => /^\s*:/.test(text)
  const colour = (text: string) =>
    isCommand(text) ? [looking('decorator', text)] : spoken.language.highlight(text)
  const editor = new Editor({
    get syntax() {
      return spoken.language.syntax
    },
    history: () => history.entries,
    columns: () => stage.size.columns,
    suggests: true,
  })
  let settle = (_entry: string | undefined) => {}
  let timer: NodeJS.Timeout | undefined
  /** The call whose signature is shown, as far as the text tells. */
  let asked = ''

  /** What was entered stays on the screen, wrapped by the terminal. */
  function leave(text: string, end: readonly Span[]) {
    clearTimeout(timer)
    asked = ''
    stage.leave([...enteredSpans(text, { highlight: colour, prompt: parts.prompt }), ...end])
  }

  const actor: Actor = {
    press(key) {
      const wish = editor.press(key)
      if (wish !== undefined) grant(wish)
      if (wish === undefined || wish.type === 'complete') follow()
    },
    paint: () =>
      paintEditor(editor, {
        size: stage.size,
        palette: stage.palette,
        prompt: parts.prompt,
        highlight: (text, cursor) =>
          isCommand(text) ? colour(text) : spoken.language.highlightAt(text, cursor),
        hint: text => commands.hint(text),
      }),
  }

  function grant(wish: Wish) {
    switch (wish.type) {
      case 'run':
        leave(wish.text.trimEnd(), [plain('\n')])
        history.add(wish.text)
        return settle(wish.text)
      case 'drop':
        leave(editor.edit.text, [looking('hint', '^C'), plain('\n')])
        editor.begin()
        return stage.take(actor)
      case 'end':
        leave('', [plain('\n')])
        return settle(undefined)
      case 'complete':
        return void complete(editor.edit)
      case 'suspend':
        return stage.suspend()
      case 'clear':
        return stage.clear()
      case 'write elsewhere':
        return void writeElsewhere()
      default:
        return wish satisfies never
    }
  }

  /** The text stays as it is where the editor does not end well. */
  async function writeElsewhere() {
    const { text } = editor.edit
    const written = await stage.lend(() => redraft({ text, name: `entry${spoken.language.suffix}` }))
    editor.begin(written.type === 'text' ? written.text.trimEnd() : text)
    if (written.type === 'failed') stage.print([prose('hint', `${written.why}\n`)])
    stage.repaint()
  }

  async function complete(edit: Edit) {
    const offers = isCommand(edit.text)
      ? await commands.complete(edit)
      : (await completing.complete(edit))?.offers
    if (offers === undefined || editor.edit.text !== edit.text || editor.edit.cursor !== edit.cursor) return
    editor.offer(offers)
    stage.repaint()
  }

  /** Asks about the call that the cursor stands in, once it is another one, or another argument of it. */
  function follow() {
    const { text, cursor } = editor.edit
    const call = isCommand(text) ? '' : spoken.language.syntax.call(text.slice(0, cursor))
    if (call === asked) return
    asked = call
    clearTimeout(timer)
    if (call === '') return editor.calls(undefined)
    timer = setTimeout(() => void look(editor.edit, call), REST_MS)
  }

  async function look(edit: Edit, call: string) {
    const known = await completing.complete(edit)
    if (asked !== call) return
    // Something else was asked meanwhile, such as with Tab: the next key asks again.
    if (known === undefined) asked = ''
    else editor.calls(known.callee)
    stage.repaint()
  }

  return {
    next() {
      editor.begin()
      return new Promise(resolve => {
        settle = entry => {
          stage.act(undefined)
          resolve(entry)
        }
        stage.act(actor)
      })
    },
  }
}

/** What the live image knows of how a text may go on. It is asked without waiting for, and the last question counts. */
interface Completer {
  /** Resolves with undefined where nobody knows, and where something else was asked meanwhile. */
  complete(edit: Edit): Promise<Known | undefined>
}

interface Known {
  readonly offers: Offers
  readonly callee: Callee | undefined
}

/** How many ways to go on are asked for. */
const MOST = 500
/** Longer text is not asked about. */
const LONGEST = 100_000

const ANSWER = z.object({
  from: z.number(),
  to: z.number(),
  completions: z.array(z.object({ text: z.string(), kind: z.string(), type_name: z.string().nullable() })),
  total: z.number(),
  call: z.object({ name: z.string(), signature: z.string(), parameter: z.number().nullable() }).nullable(),
})

export function openCompleter(image: Pick<Image, 'call'>): Completer {
  let asked = 0
  /** This daemon has no such tool, and need not be asked again. */
  let absent = false
  return {
    async complete({ text, cursor }) {
      const mine = ++asked
      if (absent || text.length > LONGEST) return undefined
      const args = { text, cursor: pointsIn(text.slice(0, cursor)), limit: MOST }
      const envelope = await image.call({ tool: 'complete', args }).catch(() => undefined)
      if (envelope === undefined) return undefined
      if (!envelope.ok) {
        absent = envelope.error.code === 'unknown_function'
        return undefined
      }
      const answer = ANSWER.safeParse(envelope.result)
      return mine === asked && answer.success ? known(text, answer.data) : undefined
    },
  }
}

function known(text: string, { from, to, completions, total, call }: z.output<typeof ANSWER>): Known {
  // Names with underscores are for those who ask for them.
  const begun = text.slice(unitsIn(text, from)).startsWith('_')
  const wanted = completions.filter(({ text }) => begun || !text.startsWith('_'))
  const hidden = wanted.length === 0 ? 0 : completions.length - wanted.length
  const offers = (wanted.length === 0 ? completions : wanted).map(({ text, kind, type_name }) => ({
    text,
    detail: kind === 'variable' && type_name ? type_name : kind.replaceAll('_', ' '),
  }))
  return {
    offers: { from: unitsIn(text, from), to: unitsIn(text, to), offers, total: total - hidden },
    callee: call ?? undefined,
  }
}

/** The wire counts characters; what is typed here is counted as JavaScript counts. */
function pointsIn(text: string): number {
  let points = 0
  for (const _ of text) points++
  return points
}

function unitsIn(text: string, points: number): number {
  let units = 0
  let left = points
  for (const character of text) {
    if (left-- <= 0) break
    units += character.length
  }
  return units
}
