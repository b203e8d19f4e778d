import type { ShownPlan } from '../../src/approvals/contract.ts'
import { shownPlan } from '../../src/approvals/preview.ts'
import { Desk } from '../../src/terminal/desk.ts'
import { openPalette } from '../../src/terminal/layout.ts'
import { Screen } from '../../src/terminal/screen.ts'
import { somePlan } from '../../test/support/plans.ts'
import { unifiedDiff } from '../../tools/diff.ts'
import { median, percentile, type Row } from '../row.ts'
import { type TwoFiles, twoFiles } from './diffs.ts'

const SIZE = { columns: 80, rows: 24 }

/** Of a file with so many lines, a word in every tenth of which is another, the diff has over 10,000. */
const LINES = 12_500

let files: TwoFiles | undefined

let body = ''

let users = 0

const shared = {
  async setUp() {
    if (users++ > 0) return
    files = twoFiles(LINES)
    body = unifiedDiff({ path: 'after.py', ...files }).text
    if (body.split('\n').length < 10_000) throw new Error('the diff is too short')
  },
  async tearDown() {
    if (--users === 0) files?.remove()
  },
}

/** As the daemon hands it to a seat: another one each time, so that nothing is known of it. */
function planOf(text: string): ShownPlan {
  const plan = { ...somePlan({ title: 'Edit after.py', body: text }), kernel: null }
  return { ...shownPlan(plan), waited_ms: 0, code: 'k7mp-3xqr-9tfw-2hjd' }
}

/** A desk at a terminal that only counts what is written to it. */
function openDesk() {
  const desk = new Desk({ palette: openPalette({ coloured: true }), size: SIZE, now: 0 })
  let bytes = 0
  const write = (text: string) => {
    bytes += Buffer.byteLength(text)
  }
  const screen = new Screen({ write, size: () => SIZE })
  desk.sits({ id: 'seat-1', who: 'bench', others: [], trouble: null })
  const show = () => {
    const rows = desk.paint()
    screen.show({ rows, cursor: desk.cursor ?? { row: 0, column: 0 }, hidden: true })
  }
  show()
  return { desk, show, bytes: () => bytes }
}

export const firstFrame: Row = {
  what: 'a diff of 10,000 lines first shown in `imago watch`',
  how: 'from the plan being told to the desk to its first frame being written, in process, with colours, at 80×24, a plan and a desk of its own each of 10 times; beside `git diff --word-diff=color` of the same two files, from its start to its end, in turn',
  bar: { relation: '≤', limit: 100, unit: 'ms' },
  ...shared,
  async measure() {
    const [ours, git, marking]: [number[], number[], number[]] = [[], [], []]
    for (let turn = 0; turn < 10; turn++) {
      let begun = performance.now()
      const plan = planOf(`${body}# ${turn}\n`)
      marking.push(performance.now() - begun)
      const { desk, show, bytes } = openDesk()
      const before = bytes()
      begun = performance.now()
      desk.tell({ type: 'plan', plan })
      show()
      ours.push(performance.now() - begun)
      if (bytes() - before < 1_000) throw new Error('nothing was shown')
      begun = performance.now()
      await files?.git('--word-diff=color')
      git.push(performance.now() - begun)
    }
    const first_ms = median(ours)
    const parts = { first_ms, worst_ms: Math.max(...ours), git_ms: median(git), marking_ms: median(marking) }
    return { figure: first_ms, parts }
  },
}

const STEPS: readonly (readonly [key: string, times: number])[] = [
  ['down', 300],
  [' ', 300],
  ['G', 1],
  ['b', 150],
  ['up', 150],
  ['<', 1],
]

export const scrollStep: Row = {
  what: 'one step through that diff, p99',
  how: 'about 900 keys, each from the key to the frame it makes being written: line by line and page by page, down, to the end, up, to the beginning',
  bar: { relation: '≤', limit: 16, unit: 'ms' },
  ...shared,
  async measure() {
    const { desk, show, bytes } = openDesk()
    desk.tell({ type: 'plan', plan: planOf(body) })
    show()
    const times: number[] = []
    const before = bytes()
    for (const [key, count] of STEPS)
      for (let step = 0; step < count; step++) {
        const begun = performance.now()
        desk.press(key.length === 1 ? { type: 'text', text: key } : { type: 'key', name: key })
        show()
        times.push(performance.now() - begun)
      }
    if (bytes() - before < times.length * 100) throw new Error('nothing was scrolled')
    const [p50_ms, p99_ms] = [percentile(times, 0.5), percentile(times, 0.99)]
    return { figure: p99_ms, parts: { p50_ms, p99_ms, worst_ms: Math.max(...times) } }
  },
}
