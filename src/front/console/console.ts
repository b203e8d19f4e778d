import { setTimeout as pause } from 'node:timers/promises'
import { readConfig } from '../../config.ts'
import { EXIT, type ExitCode, messageOf } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import { exitOf } from '../envelopes.ts'
import { heading, type Image, openImage, scriptFailure, staysText } from '../image.ts'
import { failureSpans } from './answers.ts'
import { openConsoleApprovals } from './approvals.ts'
import { openBackground } from './background.ts'
import { openCommands } from './colon.ts'
import { openCompleting } from './completing.ts'
import { openEntering } from './entering.ts'
import { historyPath, openHistory } from './history.ts'
import { openSpoken } from './languages.ts'
import { PROMPT } from './paint.ts'
import { asStatement } from './pasting.ts'
import { type Leaving, openRunning } from './running.ts'
import { openShowing } from './showing.ts'
import { Stage } from './stage.ts'
import { openPalette, plain, prose, wantsColour } from './style.ts'
import { ConsoleSuspensions, type Mine } from './suspensions.ts'
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

interface Talking {
  readonly image: Image
  readonly stage: Stage
  readonly suspended: ConsoleSuspensions
}

async function talk({ image, stage, suspended }: Talking): Promise<ExitCode> {
  const history = openHistory(historyPath(findPaths().stateDir, image.root))
  const spoken = openSpoken(image)
  const showing = openShowing(stage, image, spoken)
  const approvals = openConsoleApprovals({ image, stage, desktop: wantsNotifications() })
  const running = openRunning({ image, stage, showing, spoken, approvals, suspended })
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
  const entering = openEntering({
    stage,
    history,
    commands,
    get syntax() {
      return spoken.language.syntax
    },
    highlight: text => spoken.language.highlight(text),
    highlightAt: (text, cursor) => spoken.language.highlightAt(text, cursor),
    completing: openCompleting(image),
    get prompt() {
      const waiting = suspended.waiting(image.kernel)
      return waiting === 0 ? PROMPT : `[${waiting}] ${PROMPT}`
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
  async function answer(entry: string): Promise<Leaving | undefined> {
    const line = entry.trim()
    if (line === '') return undefined
    if (line.startsWith(':')) return (await commands.run(line)) === 'quit' ? { exit: EXIT.done } : undefined
    const [, name, marks] = /^([^\s?#].*?)(\?\??)$/.exec(line) ?? []
    if (name === undefined) return await running.run(asStatement(entry))
    await showing.describe(name, { source: marks === '??', call: running.call })
    return undefined
  }
}

/** How long an image may take over giving up what is suspended in it, in milliseconds; its lease ends it then. */
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
  const envelope = await image.call({ tool: 'list_globals', args: { limit: 1 }, output() {} })
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
