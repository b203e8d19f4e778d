import { existsSync } from 'node:fs'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'
import { mathicsPython } from '../support/runtimes.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { CTRL_C, CTRL_D } from '../support/terminal.ts'

/** The console on Mathics3, in one kernel, which each test begins a session of its own in. */
if (!existsSync(mathicsPython))
  suite('console on Mathics3').skip('all of it', 'no Mathics3; run node test/setup.mjs')
else consoleTests()

function consoleTests() {
  const test = suite('console on Mathics3', { limitMs: 120_000 })
  const rig = openRig({ config: `[kernels]\nwolfram = ${JSON.stringify(mathicsPython)}\n` })

  let starting: Promise<unknown> | undefined
  const started = () => {
    starting ??= rig.imago(['start', 'wolfram', '--name', 'wl'])
    return starting
  }

  /** A console at the first line of a session. */
  async function withSession(use: (screen: ScreenOf) => Promise<void>) {
    await started()
    const anew = await rig.imago(['eval', 'ClearAll["Global`*"]; $Line = 0;', '--kernel', 'wl'])
    assert.is(anew.code, 0, anew.stderr)
    const screen = openScreen(rig, { columns: 100, rows: 40 })
    try {
      await screen.shows(/^In\[1\]:=$/m)
      await use(screen)
    } finally {
      screen.close()
    }
  }

  async function enter(screen: ScreenOf, code: string, expected: string | RegExp) {
    screen.type(`${code}\r`)
    await screen.shows(expected)
  }

  test('what is entered and what it comes to have the numbers of the session, whoever else evaluates there', () =>
    withSession(async screen => {
      assert.match(
        screen.text(),
        /^Imago [\d.]+, Mathics3 [\d.]+ in kernel wl\. :help helps, Ctrl-D leaves\.$/m,
      )
      await enter(screen, '6*7', /^In\[1\]:= 6\*7\nOut\[1\]= 42\nIn\[2\]:=$/m)
      assert.equal([screen.looks('In[1]'), screen.looks('42')], [['fg:2'], ['fg:6']])
      // A definition has no value, and goes on over lines until its brackets are closed.
      screen.type('f[x_] := Module[{y},\r')
      await screen.shows(/^ {4}\.\.\.$/m)
      await enter(screen, 'y = x^2;\ry + 1]', /^ {4}\.\.\. {3}y = x\^2;\n {4}\.\.\. {3}y \+ 1\]\nIn\[3\]:=$/m)
      // A message stands where it was said, before the value.
      await enter(
        screen,
        'Print["one"]; 1/0',
        /:= Print.*\none\nPower::infy: .*\nOut\[3\]= ComplexInfinity\nIn\[4\]:=$/m,
      )
      // Somebody else has line 4; the label is that of the value, and the next prompt is right again.
      const other = await rig.imago(['eval', '1000', '--kernel', 'wl'])
      assert.is(other.stdout, '1000\n')
      await enter(screen, 'f[3]', /^In\[4\]:= f\[3\]\nOut\[5\]= 10\nIn\[6\]:=$/m)
      await enter(screen, '{%, Out[4], Out[5]}', /^Out\[6\]= \{10, 1000, 10\}\nIn\[7\]:=$/m)
      await enter(screen, '{1, TableForm[{{1, 2}}]}', /^Out\[7\]= \{1, TableForm\[\{\{1, 2\}\}\]\}$/m)
      await enter(screen, 'TableForm[{{1, 2}, {3, 4}}]', /^Out\[8\]\/\/TableForm=\n1 +2\n\n3 +4$/m)
      await enter(screen, ':eval_expr 1', /\nIn\[10\]:=$/)
      // Neither what fails nor what is looked at has it asked for.
      await enter(screen, ')', /Syntax::.*\nIn\[10\]:=$/)
      await enter(screen, ':inspect f', /:inspect f\n[\s\S]*\nIn\[10\]:=$/)
      const looks = (await rig.imago(['log', '--tool', 'inspect', '--kernel', 'wl'])).stdout
      assert.is(looks.match(/\$Line/g)?.length, 1, looks)
      screen.type(CTRL_D)
      assert.is(await screen.ended, 0)
      const table = await rig.imago(['eval', 'TableForm[{{1, 2}, {3, 4}}]', '--kernel', 'wl'])
      assert.is(table.stdout, '1   2\n\n3   4\n')
    }))

  test('a question mark tells of a name, of one’s own and of many', () =>
    withSession(async screen => {
      await enter(
        screen,
        '?Plus',
        /^In\[1\]:= \?Plus\nSystem`Plus\nPlus\[a, b, \.\.\.\] or a \+ b \+ \.\.\. represents the sum of the terms a, b, \.\.\.\nIn\[1\]:=$/m,
      )
      await enter(
        screen,
        '??Plus',
        /the terms a, b, \.\.\.\nAttributes\[Plus\] = \{.*\}\n[\s\S]*<kernel function>\nIn/m,
      )
      await enter(screen, 'total[x_] := Total[x];', /\nIn\[2\]:=$/)
      await enter(screen, '?total', /^Global`total\ntotal\[x_\] := Total @ x\nIn/m)
      await enter(screen, 'total::usage = "total[x] adds up x.";', /\nIn\[3\]:=$/)
      await enter(screen, '\\[Alpha]beta[x_] := x;', /\nIn\[4\]:=$/)
      await enter(screen, '?\\[Alpha]beta', /^Global`αbeta\nαbeta\[x_\] := x\nIn/m)
      await enter(screen, '?tot*', /^Global`total\ntotal\[x\] adds up x\.\nIn/m)
      await enter(screen, '?Integer*', /^Integer +IntegerExponent [\s\S]*\nIn\[4\]:=$/m)
      await enter(screen, '?Global`*', /:= \?Global`\*\n(?:.* )?total .*\nIn\[4\]:=$/)
      await enter(screen, '?No@Such*', /^No name is like No@Such\*\.\nIn\[4\]:=$/m)
      await enter(screen, '?nosuch', /^not_found: Nothing is called nosuch\./m)
    }))

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
        /^ {4}\{1, \{2\}\n {4}\^\n {2}Syntax::sntxi: It is incomplete: "\{" is not closed\.\nIn\[1\]:=$/m,
      )
    }))

  test('Tab completes, a call shows its arguments, Ctrl-C interrupts, and history goes on with the session', () =>
    withSession(async screen => {
      screen.type('IntegerDig\t')
      await screen.shows(/^In\[1\]:= IntegerDigits$/m)
      await enter(screen, '[42]', /^Out\[1\]= \{4, 2\}$/m)
      await enter(screen, 'area[width_, height_] := width*height', /\nIn\[3\]:=$/)
      screen.type('area[3, ')
      await screen.shows(/^area\[width_, height_\]$/m)
      screen.type(CTRL_C)
      screen.type('While[True]\r')
      await screen.shows(/^\d+ s · Ctrl-C interrupts$/m)
      screen.type(CTRL_C)
      await screen.shows(/on request\. What it did before is done\.\nIn\[4\]:=$/)
      screen.type('\x1b[A\x1b[A')
      await screen.shows(/^In\[4\]:= area\[width_, height_\] := width\*height$/m)
      screen.type(CTRL_C)
      // A session that was copied is taken without its prompts and answers.
      screen.paste('In[1]:= a = {1,', '          2}', '', 'Out[1]= {1, 2}', '', 'In[2]:= a + 1')
      await screen.shows(/^In\[4\]:= a = \{1,\n {4}\.\.\. {3}2\}\n {4}\.\.\. a \+ 1$/m)
      await enter(screen, '', /^Out\[5\]= \{2, 3\}\nIn\[6\]:=$/m)
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
    await started()
    const ran = await rig.imago(['--kernel', 'wl'], { input })
    assert.equal([ran.code, ran.stdout], [1, '{4, 9}\na\nComplexInfinity\n'])
    assert.match(ran.stderr, /^Power::infy: .*\n[\s\S]*Syntax::sntxf/m)
  })

  test('Quit[] ends the session, and the next line is the first of another', () =>
    withSession(async screen => {
      await enter(screen, 'x = 5', /^Out\[1\]= 5$/m)
      await enter(screen, 'Quit[]', /Quit\[\] has ended the session[\s\S]*\nIn\[1\]:=$/)
      await enter(screen, '{x}', /^Mathics3 .* is ready$/m)
      await screen.shows(/^This is a new and empty image of wl\.[\s\S]*\nOut\[1\]= \{x\}\nIn\[2\]:=$/m)
    }))

  test.after(() => rig.close())
}
