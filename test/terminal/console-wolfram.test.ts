import { existsSync } from 'node:fs'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'
import { mathicsPython } from '../support/runtimes.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'

/** The console on Mathics3, in one session that each test goes on with from wherever the last one left it. */
if (!existsSync(mathicsPython))
  suite('console on Mathics3').skip('all of it', 'no Mathics3; run node test/setup.mjs')
else consoleTests()

function consoleTests() {
  const test = suite('console on Mathics3', { limitMs: 120_000 })
  const rig = openRig({ config: `[kernels]\nwolfram = ${JSON.stringify(mathicsPython)}\n` })

  /** The first line of a session: a new one for each test, in a kernel that is loaded. */
  async function withSession(use: (screen: ScreenOf) => Promise<void>) {
    const started = await rig.imago(['start', 'wolfram', '--name', 'wl'])
    assert.is(started.code, 0, started.stderr)
    const screen = openScreen(rig, { columns: 100, rows: 40 })
    try {
      await screen.shows(/^In\[1\]:=$/m)
      await use(screen)
    } finally {
      screen.close()
      await rig.imago(['stop', 'wl'])
    }
  }

  async function enter(screen: ScreenOf, code: string, expected: string | RegExp) {
    screen.type(`${code}\r`)
    await screen.shows(expected)
  }

  test('what cannot be read is shown where it goes wrong, and takes no number', () =>
    withSession(async screen => {
      await enter(
        screen,
        '1 + * 2',
        /^ {2}in this text, line 1\n {4}1 \+ \* 2\n {8}\^\n {2}Syntax::sntxf: .*\nIn\[1\]:=$/m,
      )
      await enter(
        screen,
        ') + 1',
        /^ {4}\) \+ 1\n {4}\^\n {2}Syntax::sntxb: No expression begins with "\) \+ 1"\.$/m,
      )
      // Two empty lines end what a bracket too few holds open.
      await enter(
        screen,
        '{1, {2}\r\r',
        /Syntax::sntxi: It is incomplete: more input is needed\.\nIn\[1\]:=$/,
      )
    }))

  test('without a terminal, standard input is run expression by expression, up to the first error', async () => {
    const input = [
      'f[x_] :=',
      '  x^2 (* and',
      '  more *)',
      'g = {f[2],',
      '  f[3]}',
      'Print["a"]',
      '1/0',
      '1 +',
      ')',
      '5',
    ].join('\n')
    await rig.imago(['start', 'wolfram', '--name', 'wl'])
    const ran = await rig.imago(['--kernel', 'wl'], { input })
    assert.equal([ran.code, ran.stdout], [1, '{4, 9}\na\nComplexInfinity\n'])
    assert.match(ran.stderr, /^Power::infy: .*\n[\s\S]*Syntax::sntxf/m)
  })

  test.after(() => rig.close())
}
