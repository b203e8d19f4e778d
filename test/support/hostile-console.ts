import { setImmediate as turn } from 'node:timers/promises'
import type { ShownPlan } from '../../src/approvals/contract.ts'
import type { OpenSeat } from '../../src/front/seat/open-seat.ts'
import { ConsoleApprovals, type ConsoleApprovalsOptions } from '../../src/terminal/console-seat.ts'
import { openPalette } from '../../src/terminal/layout.ts'
import { Stage } from '../../src/terminal/screen.ts'
import type { Key, Tty } from '../../src/terminal/tty.ts'
import { DESK, LOOKS_OF_OURS } from './hostile-desk.ts'
import type { HostileAsker } from './hostile-plan.ts'

const SIZE = { columns: 80, rows: 24 }

/** How a console moves on the screen, with numbers as it writes them. */
const MOVES = ['\\?(?:7|25|1049)[hl]', '\\d{0,3}(?:;\\d{1,3})?[ABCDHJKLMSTr]'].map(
  move => `${'\x1b'}\\[${move}`,
)

const OF_A_CONSOLE = new RegExp([LOOKS_OF_OURS.source, ...MOVES, '\\r'].join('|'), 'g')

const BY = ['console-seat', 'desk-page'].map(name => `src/terminal/${name}.ts`)

/** What a console writes: when a plan is told and settled while a line is being written, and when it is looked at. */
async function written(plan: ShownPlan) {
  let all = ''
  let press = (_key: Key) => {}
  const tty: Tty = {
    size: () => SIZE,
    write(text) {
      // It rings, which is no text.
      if (text !== '\x07') all += text
    },
    onKey(listener) {
      press = listener
    },
    flushed: done => done(),
    onResize: () => {},
    onResume: () => {},
    suspend: () => {},
    lend: work => work(),
    close: () => {},
  }
  const stage = new Stage({ tty, palette: openPalette({ coloured: true }) })
  let tell: Parameters<ConsoleApprovalsOptions['image']['sit']>[0]['tell'] = () => {}
  const image: ConsoleApprovalsOptions['image'] = {
    async sit({ tell: told, signal }) {
      tell = told
      const ended = new Promise<undefined>(resolve =>
        signal?.addEventListener('abort', () => resolve(undefined)),
      )
      const seat = { id: 'seat-1', who: plan.who, others: [], trouble: plan.title, ended }
      return seat as unknown as OpenSeat
    },
  }
  const approvals = new ConsoleApprovals({ image, stage, desktop: false })
  approvals.sit()
  await turn()
  tell({ type: 'plan', plan })
  tell({ type: 'plan', plan: { ...plan, id: 'plan-withdraw' } })
  tell({ type: 'settled', id: 'plan-withdraw', why: plan.who })
  await turn()
  const above = all
  void approvals.open()
  for (const name of ['tab', 'page-down', 'page-down', 'page-down']) {
    await turn()
    press({ type: 'key', name })
  }
  await turn()
  const page = all.slice(above.length)
  press({ type: 'key', name: 'ctrl-t' })
  await approvals.close()
  return { above, page }
}

/** What stands above the line that is being written. */
const ABOVE: HostileAsker = {
  what: 'the console, above its prompt',
  by: BY,
  own: OF_A_CONSOLE,
  margin: null,
  named: /^(?:\d+ plans? waits?: Write |Dangerous calls are refused: |plan-\S+ )/,
  writes: async plan => ({ text: (await written(plan)).above, approvable: false }),
}

/** The desk on the screen of the console; what can be approved there is what can be at the desk of `imago watch`. */
const OVER: HostileAsker = {
  what: 'the console, on a screen of its own',
  by: BY,
  own: OF_A_CONSOLE,
  margin: null,
  named: DESK.named,
  writes: async plan => ({ text: (await written(plan)).page, approvable: false }),
}

export const OF_THE_CONSOLE: readonly HostileAsker[] = [ABOVE, OVER]
