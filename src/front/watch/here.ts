import { openPalette, wantsColour } from '../console/style.ts'
import { openTty } from '../console/tty.ts'
import { type SessionOptions, type Watched, watchAtTerminal } from './session.ts'
import { showsUnicode } from './signs.ts'

/** A seat on the whole screen of the terminal of this process. */
export function watchHere(o: Pick<SessionOptions, 'sit' | 'follow' | 'desktop'>): Promise<Watched> {
  return watchAtTerminal({
    ...o,
    tty: openTty(process.stdin, process.stdout),
    output: process.stdout,
    palette: openPalette({ coloured: wantsColour(process.env) }),
    unicode: showsUnicode(process.env),
  })
}
