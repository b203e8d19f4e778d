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
import { asStatement } from './pasting.ts'
import { type Leaving, openRunning } from './running.ts'
import { openShowing } from './showing.ts'
import { Stage } from './stage.ts'
import { openPalette, plain, prose, wantsColour } from './style.ts'
import { openTty } from './tty.ts'

/** The console at a terminal: a conversation with the image, until the person leaves or the code says so. */
export async function converse({ kernel }: { readonly kernel: string | undefined }): Promise<ExitCode> {
  const tty = openTty(process.stdin, process.stdout)
  const stage = new Stage({ tty, palette: openPalette({ coloured: wantsColour(process.env) }) })
  try {
    const image = await openImage({
      kernel,
      said: message => stage.print([prose('hint', message)]),
      printed: openBackground(stage),
    })
    const ready = await begin(image, stage)
    return ready === EXIT.done ? await talk(image, stage) : ready
  } finally {
    stage.close()
  }
}

async function talk(image: Image, stage: Stage): Promise<ExitCode> {
  const history = openHistory(historyPath(findPaths().stateDir, image.root))
  const spoken = openSpoken(image)
  const showing = openShowing(stage, image, spoken)
  const approvals = openConsoleApprovals({ image, stage, desktop: wantsNotifications() })
  const running = openRunning({ image, stage, showing, spoken, approvals })
  const commands = openCommands({ image, stage, showing, running, history, approvals })
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
