import { setImmediate as turn } from 'node:timers/promises'
import xterm from '@xterm/headless'
import fc from 'fast-check'
import { openPalette, type Row } from '../../src/terminal/layout.ts'
import { type Page, Screen, Stage } from '../../src/terminal/screen.ts'
import type { Tty } from '../../src/terminal/tty.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('screen')

const row = (text: string): Row => ({ text, columns: text.length })
const rowsOf = (...texts: string[]) => texts.map(row)
const TOP = { row: 0, column: 0 }

/** All of a screen, and what was written to it. */
function openWhole(columns: number) {
  let written = ''
  const write = (text: string) => {
    written += text
  }
  const screen = new Screen({ write, size: () => ({ columns, rows: 24 }), whole: true })
  return {
    screen,
    shows: (...texts: string[]) => screen.show({ rows: rowsOf(...texts), cursor: TOP, hidden: true }),
    take: () => {
      const taken = written
      written = ''
      return taken
    },
  }
}

test('what has not changed is not written, but after something else was on the screen', () => {
  const { screen, shows, take } = openWhole(20)
  shows('one', 'two', 'three')
  assert.match(take(), /one[\s\S]*two[\s\S]*three/)
  shows('one', 'two', 'three')
  assert.is(take(), '')
  shows('one', '2', 'three')
  const changed = take()
  assert.match(changed, '\r2\x1b[K')
  assert.not.match(changed, /one|three/)
  screen.forget()
  shows('one', '2', 'three')
  assert.match(take(), /one[\s\S]*2[\s\S]*three/)
})

test('a cursor is shown where something is written, and moved alone', () => {
  const { screen, take } = openWhole(20)
  screen.show({ rows: rowsOf('one'), cursor: { row: 0, column: 3 } })
  assert.ok(take().endsWith('\r\x1b[3C\x1b[?7h\x1b[?25h'))
  screen.show({ rows: rowsOf('one'), cursor: { row: 0, column: 1 } })
  assert.is(take(), '\r\x1b[1C')
})

test('rows that move are moved by the terminal', () => {
  const { shows, take } = openWhole(40)
  const text = (from: number) => Array.from({ length: 12 }, (_, n) => `a long line of text, ${from + n}`)
  shows('head', ...text(0), 'foot 0')
  const whole = take().length
  shows('head', ...text(1), 'foot 1')
  assert.ok(take().length * 3 < whole)
})

test('while a terminal takes nothing, nothing is kept for it, and it goes on with what is so then', async () => {
  const waiting: (() => void)[] = []
  let slow = false
  const tty = {
    size: () => ({ columns: 20, rows: 1 }),
    write: () => {},
    flushed: (done: () => void) => void (slow ? waiting.push(done) : done()),
    onKey: () => {},
    onResize: () => {},
    onResume: () => {},
    close: () => {},
  } as unknown as Tty
  const stage = new Stage({ tty, palette: openPalette({ coloured: false }) })
  let painted = 0
  const page: Page = {
    press: () => true,
    paint: () => rowsOf(`${++painted}`),
    resize: () => {},
  }
  const over = stage.page(page)
  slow = true
  for (let count = 0; count < 3; count++) {
    stage.repaint()
    await turn()
  }
  assert.is(painted, 2)
  slow = false
  for (const done of waiting) done()
  await turn()
  assert.is(painted, 3)
  stage.endPage(page)
  await over
  stage.close()
})

test('the terminal shows the last frame, whatever was shown before', async () => {
  const line = fc.constantFrom('', 'a', 'b', 'cc', 'dd dd', 'e e e', 'a row that is full!')
  const lines = fc.array(line, { minLength: 9, maxLength: 9 })
  const rolled = fc.tuple(lines, fc.integer({ min: -6, max: 6 }))
  await fc.assert(
    fc.asyncProperty(fc.array(rolled, { minLength: 1, maxLength: 6 }), async screens => {
      const terminal = new xterm.Terminal({ cols: 19, rows: 9, allowProposedApi: true })
      const { shows, take } = openWhole(19)
      let last: string[] = []
      for (const [given, by] of screens) {
        shows(...given)
        last = given.map((_, index) => given[(index + by + given.length) % given.length] ?? '')
        shows(...last)
      }
      await new Promise<void>(resolve => terminal.write(take(), resolve))
      const shown = last.map((_, index) =>
        terminal.buffer.active.getLine(index)?.translateToString(true).trimEnd(),
      )
      terminal.dispose()
      assert.equal(shown, last)
    }),
    { numRuns: 60, seed: 20 },
  )
})
