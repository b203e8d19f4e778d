import { EXIT, Failure } from '../../src/failure.ts'
import type { Options } from '../../src/front/command.ts'
import { filterOf, parseTime } from '../../src/front/log/filter.ts'
import { painted, storyPieces } from '../../src/front/log/lines.ts'
import { showStories } from '../../src/front/log/stories.ts'
import { assert, suite } from '../support/harness.ts'
import { journalWith } from '../support/journal-sample.ts'
import { openRig } from '../support/rig.ts'

const test = suite('asking imago log')
const rig = openRig()
test.after(() => rig.close())

const FILTERS: readonly (readonly [options: Options, calls: readonly string[]])[] = [
  [{ tool: 'write_file' }, ['write b.py', 'write c.py']],
  [{ tool: 'e*,inspect', level: 'safe,dangerous' }, ['x', 'edit app.py']],
  [{ kernel: 'batch' }, ['train()']],
  [{ kernel: 'a*' }, ['x = 1', 'x', 'serve()', 'kernel app']],
  [{ level: 'safe' }, ['x']],
  [{ outcome: 'denied,exception' }, ['x = 1', 'write b.py']],
  [{ outcome: 'failed' }, ['x = 1', 'write b.py', 'train()']],
  [{ outcome: 'open' }, ['serve()', 'write c.py']],
  [{ outcome: 'ok', count: '1' }, ['edit app.py']],
  [{ count: '2' }, ['seat refused', 'kernel app']],
  [{ count: '0' }, []],
  [{ until: '2026-01-02T10:03:30Z', outcome: 'ok,exception' }, ['x = 1', 'x']],
  [{ since: '2026-01-02T10:14Z', until: '2026-01-02T10:15:30+00:00' }, ['write c.py', 'seat refused']],
]

for (const [options, calls] of FILTERS)
  test(`of ${JSON.stringify(options)}, ${calls.join(', ') || 'nothing'} is shown`, async () => {
    const { dir } = await journalWith(rig)
    const found: string[] = []
    const signal = new AbortController().signal
    await showStories(
      { dir, signal },
      {
        filter: filterOf(options, new Date()),
        show: story =>
          found.push(painted(storyPieces(story, { columns: undefined, long: false }), { coloured: false })),
      },
    )
    assert.is(found.length, calls.length, found.join(''))
    for (const [index, call] of calls.entries()) assert.ok(found[index]?.includes(` ${call}`), found[index])
  })

const BAD: readonly (readonly [options: Options, says: RegExp])[] = [
  [
    { level: 'cautios' },
    /There is no level cautios\. Did you mean cautious\? Known: safe, cautious, dangerous\./,
  ],
  [{ outcome: 'denyed' }, /There is no outcome denyed\. Did you mean denied\?/],
  [{ since: '25:00' }, /--since takes a time, not 25:00\. Times: 10m, 2h/],
  [{ until: '2026-02-30' }, /--until takes a time, not 2026-02-30/],
  [{ since: '1h', until: '2h' }, /--since 1h is later than --until 2h/],
  [{ count: 'many' }, /--count takes a number or all, not many/],
  [{ follow: true, until: 'today' }, /--follow waits for what comes/],
]

for (const [options, says] of BAD)
  test(`${JSON.stringify(options)} is refused with what would be right`, () => {
    try {
      filterOf(options, new Date())
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      assert.is(error.exit, EXIT.usage)
      return assert.match(error.message, says)
    }
    assert.unreachable('it was taken')
  })

const NOW = new Date(2026, 6, 18, 14, 30, 15)
const TIMES: readonly (readonly [text: string, time: Date | undefined])[] = [
  ['90s', new Date(2026, 6, 18, 14, 28, 45)],
  ['10m', new Date(2026, 6, 18, 14, 20, 15)],
  ['2h', new Date(2026, 6, 18, 12, 30, 15)],
  ['1 d', new Date(NOW.getTime() - 86_400_000)],
  ['1w', new Date(NOW.getTime() - 604_800_000)],
  ['today', new Date(2026, 6, 18)],
  ['yesterday', new Date(2026, 6, 17)],
  ['09:05', new Date(2026, 6, 18, 9, 5)],
  ['2026-07-01', new Date(2026, 6, 1)],
  ['2026-07-01 08:00', new Date(2026, 6, 1, 8)],
  ['2026-07-01T08:00:00.5Z', new Date(Date.UTC(2026, 6, 1, 8, 0, 0, 500))],
  ['', undefined],
  ['10', undefined],
  ['24:00', undefined],
  ['2026-13-01', undefined],
  ['2026-02-29', undefined],
  ['tomorrow', undefined],
]

for (const [text, time] of TIMES)
  test(`the time ${JSON.stringify(text)} is ${time?.toISOString() ?? 'none'}`, () =>
    assert.equal(parseTime(text, NOW), time))
