import { spawn } from 'node:child_process'
import { oneLine } from '../../tools/text.ts'
import { messageOf } from '../../wire/errors.ts'
import type { Config } from '../config.ts'

/** Tells a person that something waits for them, wherever they look. */
export interface Notifier {
  /** Rings, and shows a notification where the person wants any. `text`: a line of ours, with names that are marked. */
  notify(text: string): void
}

export interface NotifierOptions {
  /** The person's `[watch] notify`. */
  readonly desktop: boolean
  /** Makes the terminal ring. */
  bell(): void
  /** Is told once, in a sentence, that no notification could be shown; afterwards it is not said again. */
  failed(why: string): void
  readonly env?: NodeJS.ProcessEnv
  readonly platform?: NodeJS.Platform
}

/** Characters of a notification. */
const MOST = 160

/** A program that shows them has ended by then, in milliseconds, or is ended. */
const PATIENCE_MS = 10_000

/**
 * Notifications are shown by `notify-send` on Linux and `osascript` on macOS, one at a time: what comes while one is
 * being shown only rings. The text is one argument of theirs, and goes through no shell.
 */
export function openNotifier(options: NotifierOptions): Notifier {
  const { desktop, bell, failed, env = process.env, platform = process.platform } = options
  let showing = false
  let told = false

  const fail = (why: string) => {
    if (!told) failed(`No notification could be shown: ${oneLine(why)} What waits rings as before.`)
    told = true
  }

  function show(text: string) {
    const [program, ...args] = commandFor(platform, shortened(text))
    if (program === undefined) return fail(`nothing is known on ${platform} that shows any.`)
    showing = true
    const child = spawn(program, args, { stdio: 'ignore', env, timeout: PATIENCE_MS })
    child.on('error', error => {
      showing = false
      fail(`${program} cannot be run (${messageOf(error)}).`)
    })
    child.on('exit', (code, signal) => {
      showing = false
      if (code !== 0) fail(`${program} ended ${signal === null ? `with code ${code}` : `by ${signal}`}.`)
    })
    child.unref()
  }

  return {
    notify(text) {
      bell()
      if (desktop && !showing) show(text)
    },
  }
}

/** Runs the person's own `[watch] command`, where there is one, with the text as its last argument: no shell reads it. */
export function tellPerson(
  { command }: Pick<Config['watch'], 'command'>,
  text: string,
  failed: (sentence: string, error: unknown) => void,
): void {
  const [program, ...args] = command ?? []
  if (program === undefined) return
  const child = spawn(program, [...args, shortened(text)], { stdio: 'ignore', timeout: PATIENCE_MS })
  child.on('error', error => failed(`[watch] command: ${program} cannot be run`, error))
  child.unref()
}

/** That somebody asks for something. */
export const asksText = ({ who, title }: { readonly who: string; readonly title: string }): string =>
  `${oneLine(who)} asks: ${oneLine(title)}`

/** As the summary, in which `notify-send` finds no markup. */
function commandFor(platform: NodeJS.Platform, text: string): readonly string[] {
  if (platform === 'darwin')
    return [
      'osascript',
      ...['on run argv', 'display notification (item 1 of argv) with title "Imago"', 'end run'].flatMap(
        line => ['-e', line],
      ),
      text,
    ]
  return platform === 'linux' ? ['notify-send', '--app-name=Imago', '--', `Imago: ${text}`] : []
}

function shortened(text: string): string {
  const characters = [...oneLine(text)]
  return characters.length > MOST ? `${characters.slice(0, MOST - 1).join('')}…` : characters.join('')
}
