import xterm from '@xterm/headless'
import fc from 'fast-check'
import type { Row } from '../../src/terminal/layout.ts'
import { Frames } from '../../src/terminal/screen.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('frames')

const row = (text: string): Row => ({ text, columns: text.length })
const rowsOf = (...texts: string[]) => texts.map(row)

/** A terminal that takes what is written when it is told to. */
function openFrames() {
  const waiting: (() => void)[] = []
  let written = ''
  let slow = false
  const frames = new Frames({
    write: text => {
      written += text
    },
    flushed: done => {
      if (slow) waiting.push(done)
      else done()
    },
  })
  return {
    frames,
    stall: () => {
      slow = true
    },
    flow: () => {
      slow = false
      for (const done of waiting.splice(0)) done()
    },
    take: () => {
      const taken = written
      written = ''
      return taken
    },
  }
}

const SIZE = { columns: 20, cursor: undefined }

test('what has not changed is not written', () => {
  const { frames, take } = openFrames()
  frames.show(rowsOf('one', 'two', 'three'), SIZE)
  assert.match(take(), /one[\s\S]*two[\s\S]*three/)
  frames.show(rowsOf('one', 'two', 'three'), SIZE)
  assert.is(take(), '')
  frames.show(rowsOf('one', '2', 'three'), SIZE)
  const changed = take()
  assert.match(changed, '\x1b[2;1H2\x1b[K')
  assert.not.match(changed, /one|three/)
})

test('after something else was on the screen all of it is written again', () => {
  const { frames, take } = openFrames()
  frames.show(rowsOf('one', 'two'), SIZE)
  take()
  frames.forget()
  frames.show(rowsOf('one', 'two'), SIZE)
  assert.match(take(), /one[\s\S]*two/)
})

test('a cursor is shown where something is written, and moved alone', () => {
  const { frames, take } = openFrames()
  frames.show(rowsOf('one'), { columns: 20, cursor: { row: 0, column: 3 } })
  assert.ok(take().endsWith('\x1b[1;4H\x1b[?25h'))
  frames.show(rowsOf('one'), { columns: 20, cursor: { row: 0, column: 1 } })
  assert.is(take(), '\x1b[1;2H\x1b[?25h')
})

test('while a terminal takes nothing, nothing is kept for it, and it says when it goes on', () => {
  const { frames, stall, flow } = openFrames()
  let freed = 0
  frames.onFreed(() => freed++)
  frames.show(rowsOf('one'), SIZE)
  assert.is(frames.stuck, false)
  stall()
  frames.show(rowsOf('two'), SIZE)
  assert.is(frames.stuck, true)
  assert.is(freed, 0)
  flow()
  assert.is(frames.stuck, false)
  assert.is(freed, 1)
})

test('rows that move are moved by the terminal', () => {
  const { frames, take } = openFrames()
  const text = (from: number) => Array.from({ length: 12 }, (_, n) => `a long line of text, ${from + n}`)
  frames.show(rowsOf('head', ...text(0), 'foot 0'), { columns: 40, cursor: undefined })
  const whole = take().length
  frames.show(rowsOf('head', ...text(1), 'foot 1'), { columns: 40, cursor: undefined })
  assert.ok(take().length * 3 < whole)
})

test('the terminal shows the last frame, whatever was shown before', async () => {
  const line = fc.constantFrom('', 'a', 'b', 'cc', 'dd dd', 'e e e', 'a row that is full!')
  const screen = fc.array(line, { minLength: 9, maxLength: 9 })
  const rolled = fc.tuple(screen, fc.integer({ min: -6, max: 6 }))
  await fc.assert(
    fc.asyncProperty(fc.array(rolled, { minLength: 1, maxLength: 6 }), async screens => {
      const terminal = new xterm.Terminal({ cols: 19, rows: 9, allowProposedApi: true })
      let text = ''
      const frames = new Frames({
        write: more => {
          text += more
        },
        flushed: done => done(),
      })
      let last: string[] = []
      for (const [lines, by] of screens) {
        frames.show(rowsOf(...lines), { columns: 19, cursor: undefined })
        last = lines.map((_, index) => lines[(index + by + lines.length) % lines.length] ?? '')
        frames.show(rowsOf(...last), { columns: 19, cursor: undefined })
      }
      await new Promise<void>(resolve => terminal.write(text, resolve))
      const shown = last.map((_, index) =>
        terminal.buffer.active.getLine(index)?.translateToString(true).trimEnd(),
      )
      terminal.dispose()
      assert.equal(shown, last)
    }),
    { numRuns: 60, seed: 20 },
  )
})
