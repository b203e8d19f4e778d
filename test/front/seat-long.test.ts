import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { until } from '../support/rig.ts'
import type { ScreenOf } from '../support/screen.ts'
import { APPROVE, asks, codeOf, evaluating, openAsking, openWatch, withWatch } from '../support/watching.ts'

const test = suite('seat with long plans')

/** Pages of 999 rows, of 97 columns of the preview each. */
const SIZE = { rows: 1_000, columns: 100 }

interface Padded {
  readonly what: string
  readonly code: string
  readonly rows: number
  /** What stands at its far end. */
  readonly end: string
}

const PADDED: readonly Padded[] = [
  {
    what: 'a run of blanks in one line',
    code: `x = 1;${' '.repeat(150_000)}last_of_all = 1`,
    rows: Math.ceil((6 + 150_000 + 15) / 97),
    end: 'last_of_all = 1',
  },
  {
    what: 'one very long line among nine',
    code: `${'a = 1\n'.repeat(4)}x = "${'y'.repeat(150_000)}"; last_of_all = 1\n${'a = 1\n'.repeat(4)}`,
    rows: 8 + Math.ceil((5 + 150_000 + 18) / 97),
    end: 'last_of_all = 1',
  },
  {
    what: '1,500 empty lines',
    code: `x = 1\n${'\n'.repeat(1_500)}last_of_all = 1`,
    rows: 1_502,
    end: 'last_of_all = 1',
  },
]

const page = (at: number, rows: number) => `(${at} of ${rows}; Enter goes on, s stops here)`

for (const { what, code, rows, end } of PADDED)
  test(`${what} can be approved only once its end was shown (threat 15)`, () =>
    withWatch(async ({ rig, watch }) => {
      watch.screen.close()
      await until(
        async () => (await rig.imago(['approvals'])).stdout.includes('Nobody has a seat'),
        'no seat',
      )
      const { screen } = await openWatch(rig, SIZE)
      const first = await evaluating(rig, code)
      await screen.shows(page(999, rows))
      assert.not.match(screen.written, 'Approve?')
      screen.type('s\n')
      await screen.shows('Not all was shown. [n]o [q]uit [?]')
      screen.type('y\n')
      await screen.shows(/Not all was shown[\s\S]*Not all was shown/)
      assert.not.match(screen.written, end)
      screen.type('n padded\n')
      assert.is(codeOf(await first.answer), 'denied')
      const second = await evaluating(rig, code)
      for (let at = 999; at < rows; at += 999) {
        await shownLast(screen, page(at, rows))
        assert.not.match(screen.written, 'Approve?')
        // An approval that comes too early is Enter, and no more.
        screen.type('y\n')
      }
      await shownLast(screen, APPROVE)
      assert.match(screen.all().join(''), end)
      screen.type('y\n')
      assert.is(codeOf(await second.answer), 'ok')
      screen.close()
    }))

/** That it is the question that stands now. */
const shownLast = (screen: ScreenOf, prompt: string) =>
  until(
    () => screen.rows().at(-1)?.startsWith(prompt.trim()) === true,
    `${prompt}: ${screen.rows().slice(-5).join('\n')}`,
  )

test('a preview of some screens is shown page by page, too, and a short one whole', () =>
  withWatch(async ({ rig, watch: { screen } }) => {
    const lines = (count: number) => Array.from({ length: count }, (_, n) => `a${n} = ${n}`).join('\n')
    const long = await evaluating(rig, lines(201))
    await screen.shows(page(59, 201))
    screen.type('s\n')
    await screen.shows('Not all was shown.')
    screen.type('n\n')
    await screen.shows('Why?')
    screen.type('\n')
    assert.is(codeOf(await long.answer), 'denied')
    const short = await evaluating(rig, lines(200))
    await screen.shows(APPROVE)
    screen.type('y\n')
    assert.is(codeOf(await short.answer), 'ok')
  }))

test('a seat says nothing of its own beside the questions, however many there are', async () => {
  const rig = openAsking()
  try {
    await rig.serve()
    const main = join(PACKAGE_ROOT, 'dist/src/main.js')
    const command = ['sh', '-c', `exec ${process.execPath} ${main} watch --plain 2> said.txt`]
    const { screen } = await openWatch(rig, { command, args: [] })
    const first = await evaluating(rig, '0')
    // Twelve times about one plan, and then about twelve plans.
    for (let times = 1; times <= 12; times++) {
      await asks(screen, times)
      screen.type('?\n')
    }
    for (let n = 1; n <= 12; n++) {
      await asks(screen, 12 + n)
      screen.type('y\n')
      if (n === 1) assert.is(codeOf(await first.answer), 'ok')
      const { answer } = await evaluating(rig, `${n}`)
      if (n === 12) {
        await asks(screen, 25)
        screen.type('n because\n')
        assert.is(codeOf(await answer), 'denied')
      }
    }
    screen.type('\x04')
    assert.is(await screen.ended, 0)
    assert.is(readFileSync(join(rig.project, 'said.txt'), 'utf8'), '')
    screen.close()
  } finally {
    await rig.close()
  }
})
