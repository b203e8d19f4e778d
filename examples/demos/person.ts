import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { Differs, out } from './steps.ts'

/** A person who sits at a terminal of their own with `imago watch`, played by a script. */
export interface Person {
  /** Waits until the terminal shows that, after what was waited for before; what was shown is printed here. */
  sees(expected: RegExp): Promise<void>
  types(text: string): void
  leaves(): Promise<void>
}

/** How long a person waits for something to appear before the demo is given up, in milliseconds. */
const PATIENCE_MS = 30_000

/** Takes a seat in that project. Throws `Differs` from `sees` where what is expected does not come. */
export function seatPerson(project: string): Person {
  const imago = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs')]
  const relay = join(PACKAGE_ROOT, 'examples/demos/terminal.py')
  const terminal = spawn('python3', [relay, ...imago, 'watch'], {
    cwd: project,
    env: { ...process.env, TERM: 'dumb', NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>(resolve => terminal.once('close', () => resolve()))
  let shown = ''
  let heard: () => void = () => {}
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text.replaceAll('\r\n', '\n').replaceAll('\x07', '')
    heard()
  })
  terminal.once('close', () => heard())

  /** Resolves with what was shown up to the end of the match, or with nothing when the time is over. */
  function until(expected: RegExp): Promise<string | undefined> {
    return new Promise(resolve => {
      const late = setTimeout(() => resolve(undefined), PATIENCE_MS)
      heard = () => {
        const match = expected.exec(shown)
        if (match === null) return
        clearTimeout(late)
        resolve(shown.slice(0, match.index + match[0].length))
      }
      heard()
    })
  }

  return {
    async sees(expected) {
      const seen = await until(expected)
      if (seen === undefined) throw new Differs(`the person never saw ${expected}, but ${shown}`)
      shown = shown.slice(seen.length)
      out(`${seen.replace(/^\n+/, '').trimEnd().replaceAll(/^/gm, '    ')}\n`)
    },
    types(text) {
      terminal.stdin.write(text)
    },
    async leaves() {
      terminal.stdin.end()
      await ended
    },
  }
}
