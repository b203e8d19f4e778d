import type { OpenSeat } from '../../src/front/seat/open-seat.ts'
import { watchAtTerminal } from '../../src/terminal/desk-page.ts'
import { openPalette, wantsColour } from '../../src/terminal/layout.ts'
import { openTty } from '../../src/terminal/tty.ts'
import { CODE, EDIT, PROPOSED, STANDING, TROJAN } from './watch-plans.ts'

/**
 * The real screen of `imago watch` at the terminal of this process, with a seat that is told of fixed plans, at a clock
 * that stands still: `watch-stage.ts PLAN...`. Whatever is answered counts. `standing` is none: with it, something is let
 * through and somebody is let be.
 */
const PLANS = { edit: EDIT, hunks: PROPOSED, code: CODE, trojan: TROJAN }

const named = process.argv.slice(2)

const seat: OpenSeat = {
  id: 'seat-1',
  who: 'terminal /dev/pts/3 (process 4711)',
  others: [],
  trouble: null,
  answer: async () => ({ type: 'taken' }),
  acknowledge: async () => {},
  standing: async () => (named.includes('standing') ? STANDING : { grants: [], pauses: [] }),
  revoke: async () => true,
  lift: async () => 0,
  leave: async () => {},
  ended: new Promise(() => {}),
  [Symbol.asyncDispose]: async () => {},
}

await watchAtTerminal({
  tty: openTty(process.stdin, process.stdout),
  palette: openPalette({ coloured: wantsColour(process.env) }),
  unicode: true,
  desktop: false,
  now: () => 0,
  async sit({ tell }) {
    for (const name of named)
      if (name in PLANS) tell({ type: 'plan', plan: PLANS[name as keyof typeof PLANS] })
    return seat
  },
})
process.exit(0)
