import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Evaluated, Kernel, Watcher } from '../../wire/kernel.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { codeOf, evaluate, found, newCall, printed } from '../support/heard.ts'
import { ownedWolfram } from '../support/real-kernels.ts'
import { mathicsPython } from '../support/runtimes.ts'

/** What is particular to Wolfram Language in evaluating; the rest is in the shared suite. One Mathics3 for all of it. */
const test = suite('evaluating Wolfram Language')
let kernel: Kernel
let folder: string

if (!existsSync(mathicsPython)) test.skip('all of it', 'no Mathics3; run node test/setup.mjs')
else facts()

function facts(): void {
  test.before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'imago-evaluating-'))
    kernel = await ownedWolfram()
  })
  test.after(async () => {
    await kernel?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  test.after.each(async () => {
    const running = (await kernel.status({ deadlineMs: 5_000 }).catch(() => undefined))?.running
    if (running) await kernel.interrupt(running.call)
  })

  const run = (source: string, watcher?: Watcher) => evaluate(kernel, source, watcher).result
  const done = async (source: string) => doneIn(await run(source))
  const reprs = async (source: string) => (await done(source)).values.map(value => value.repr.text)
  const inspect = (expr: string) => kernel.look('inspect', { expr }, { deadlineMs: 20_000 })
  const shown = async (expr: string) => {
    const looked = await inspect(expr)
    const repr = looked.type === 'found' ? looked.value.repr : undefined
    return repr && 'text' in repr ? repr.text : looked.type
  }
  const raisedIn = async (source: string) => {
    const evaluated = await run(source)
    if (evaluated.type !== 'raised') throw new Error(JSON.stringify(evaluated))
    return evaluated.exception
  }

  test('the expressions of a text are evaluated one after the other; the last has the value', async () => {
    assert.equal(await reprs('a1 = 2\nb1 = a1 + 1\n\n{a1,\n b1}'), ['{2, 3}'])
    assert.equal(await reprs('Range[3]\n4 + 4'), ['8'])
    assert.equal(await reprs('c1 = 5;'), [])
    assert.equal(await reprs('(* nothing *)'), [])
    assert.equal(await reprs('1./3'), ['0.3333333333333333'])
    assert.equal([await reprs('8'), await reprs('% + 1')], [['8'], ['9']])
  })

  test('a value has its input form in 120 columns, and the form of the engine where that says more', async () => {
    const { values, displays } = await done('TableForm[{{1, 2}, {3, 4}}]')
    assert.is(values[0]?.repr.text, 'TableForm[{{1, 2}, {3, 4}}]')
    assert.equal(
      displays?.map(({ what, text, for_people }) => [what, text?.trimEnd(), for_people]),
      [['output form', '1   2\n\n3   4', true]],
    )
    assert.equal(
      (await done('{TableForm[{{1, 2}, {3, 4}}]}')).displays?.map(one => one.for_people),
      [undefined],
    )
    const wide = (await reprs('Range[100]'))[0]?.split('\n') ?? []
    assert.ok(wide.length > 1 && wide.every(line => line.length <= 120))
    assert.is((await done('{1/2, x^2}')).displays, undefined)
  })

  test('of a drawing the beginning is shown, and to a person that it is one', async () => {
    const { values, displays } = await done('Plot[Sin[x], {x, 0, 1}]')
    assert.equal([values[0]?.repr.text.length, values[0]?.repr.truncated], [400, true])
    assert.equal(displays, [{ what: 'output form', text: '-Graphics-', for_people: true }])
  })

  test('a value that is whole in input form and would be cut in output form is not shown in that', async () => {
    const { values, displays } = await done('Table[1, {1300}]')
    assert.equal([values[0]?.repr.truncated, displays], [false, undefined])
  })

  test('messages come in order with what is printed, and as data with their names; their expression has a value', async () => {
    const heard = evaluate(kernel, 'Print["before"]; q1 = 1/0; Print["after"]; q1')
    const { values, diagnostics } = doneIn(await heard.result)
    assert.is(values[0]?.repr.text, 'ComplexInfinity')
    assert.is(heard.text(), 'before\nPower::infy: Infinite expression 1 / 0 encountered.\nafter\n')
    assert.equal(
      diagnostics?.map(({ name, severity }) => [name, severity]),
      [['Power::infy', 'warning']],
    )
    assert.equal([await reprs('Check[1/0, 7]'), await reprs('Quiet[1/0]')], [['7'], ['ComplexInfinity']])
  })

  test('the same message is said three times in one evaluation, and then that there are more', async () => {
    const heard = evaluate(kernel, 'Scan[Function[k, 1/0], Range[500]]')
    const { diagnostics } = doneIn(await heard.result)
    assert.equal(
      diagnostics?.map(({ name }) => name),
      ['Power::infy', 'Power::infy', 'Power::infy', 'General::stop'],
    )
    assert.equal(await reprs('Check[Scan[Function[k, 1/0], Range[9]], "seen"]'), ['"seen"'])
  })

  test('an uncaught Throw is an error at its line; what stood before it has been evaluated', async () => {
    const exception = await raisedIn('t1 = 1\n\nThrow[{t1, "x"}]\nt1 = 2')
    assert.equal(
      [exception.type.name, exception.message],
      ['Throw::nocatch', 'Uncaught Throw[{1, "x"}] returned to top level.'],
    )
    assert.equal([exception.frames[0]?.line, exception.frames[0]?.source], [3, 'Throw[{t1, "x"}]'])
    assert.equal(await reprs('t1'), ['1'])
    const place = { file: '/srv/shop/orders.wl', line: 11 }
    const placed = await kernel.evaluate(
      { call: newCall(), who: 'test', work: { type: 'source', source: '1\nThrow[2]', place } },
      {},
    )
    assert.equal(
      placed.type === 'raised' && [placed.exception.frames[0]?.file, placed.exception.frames[0]?.line],
      ['/srv/shop/orders.wl', 12],
    )
  })

  test('what is no Wolfram Language is an error at its line, and nothing of the text is evaluated', async () => {
    for (const [source, line] of [
      ['s1 = 1\n\nb = )', 3],
      ['s1 = 1\nf[1]]', 2],
      ['s1 = 1\n{1,', 2],
      ['s1 = 1\n"open', 2],
      ['s1 = 1\n(* open', 2],
      ['s1 = 1\nq[x_ := 2\nr = 3\n', 2],
      ['s1 = 1\nq[x_] := Module[{y},\n  f[y, "]"] (* ] *);\nr = 3\n', 2],
      ['s1 = 1\n\nr = \n\n', 3],
    ] as const) {
      const { type, frames } = await raisedIn(source)
      assert.match(type.name, /^Syntax::/)
      assert.is(frames[0]?.line, line, source)
    }
    assert.equal(await reprs('s1'), ['s1'])
  })

  test('a number that is none in its base, and a broken name of a file, are told in words, and nothing is evaluated', async () => {
    for (const [source, message] of [
      ['n1 = 1; 2^^12', '12 has a digit that is too large for base 2.'],
      ['n1 = 1\n37^^zz', 'The base of 37^^zz is not between 2 and 36.'],
      ['n1 = 1\n<<a\\', 'It is no Wolfram Language.'],
      ['n1 = 1\nn2>>b\\x', 'It is no Wolfram Language.'],
      ['n1 = 1\n\\(~\\*#a<<', 'It is no Wolfram Language.'],
    ] as const) {
      const { type, message: said } = await raisedIn(source)
      assert.equal([type.module, said], ['System`', message], source)
    }
    assert.equal(await reprs('n1'), ['n1'])
    assert.is((await inspect('2^^12')).type, 'malformed')
  })

  test('a text at which the reader of Mathics stays for ever is told to be none, and one too large to look at', async () => {
    for (const source of [';;\\[Rule]', '\\(==\\*trip::usage=1.5;;']) {
      assert.match((await raisedIn(source)).type.name, /^Syntax::/)
      assert.is((await inspect(source)).type, 'malformed')
    }
    assert.is((await inspect('1*^9999999')).type, 'malformed')
  })

  test('a name that begins with an escape is read at the end of a text, too', async () => {
    assert.equal(await reprs('\\[Alpha]1 = 5; \\[Alpha]1'), ['5'])
    assert.is(await shown('\\[Alpha]1'), 'α1')
  })

  test('a value has the contexts without which it would read as another symbol', async () => {
    assert.equal(await reprs('Shop1`Private`items'), ['Shop1`Private`items'])
    const held = 'Hold[Geo1`helper[3], Geo1`n, f1[x1]]'
    assert.equal([await reprs(`v1 = ${held}`), await reprs('v1')], [[held], [held]])
    assert.equal(await reprs('Begin["Geo1`"]\nv2 = Hold[helper, new]'), ['Hold[helper, new]'])
    assert.equal(await reprs('End[]; Geo1`v2'), ['Hold[Geo1`helper, Geo1`new]'])
  })

  test('$Aborted as a value is one; an evaluation that aborts itself has left; one that is out of bounds is an error', async () => {
    assert.equal(await reprs('$Aborted'), ['$Aborted'])
    assert.is((await run('1; Abort[]; 2')).type, 'left')
    assert.equal(await reprs('CheckAbort[Abort[], 8]'), ['8'])
    const { type } = await raisedIn('r1[x_] := 1 + r1[x]; r1[1]')
    assert.is(type.name, '$RecursionLimit::reclim')
    const heard = evaluate(kernel, 'r1[2]')
    assert.is(((await heard.result) as { diagnostics?: unknown }).diagnostics, undefined)
    assert.is(heard.text(), '')
    const caught = evaluate(kernel, 'CheckAbort[r1[3], Print["caught"]]')
    assert.equal(
      doneIn(await caught.result).diagnostics?.map(({ name }) => name),
      ['$RecursionLimit::reclim'],
    )
    assert.match(caught.text(), /^\$RecursionLimit::reclim: .*\ncaught\n$/)
    assert.is((await raisedIn('l1 := l2; l2 := l1; l1')).type.name, '$RecursionLimit::reclim')
    assert.equal(await reprs('v1 = {1}; Do[v1, {5000}]; 1 + 1'), ['2'])
  })

  test('Input and InputString ask the caller', async () => {
    const prompts: string[] = []
    const ask = (question: { readonly prompt: string }) => {
      prompts.push(question.prompt)
      return Promise.resolve('1 + 2')
    }
    const evaluated = doneIn(await run('{InputString["text? "], Input["number? "]}', { ask }))
    assert.is(evaluated.values[0]?.repr.text, '{"1 + 2", 3}')
    assert.equal(prompts, ['text? ', 'number? '])
    assert.is((await raisedIn('InputString[]')).type.name, 'Input::noans')
  })

  test('each caller goes on in the context that it was in', async () => {
    const by = (who: string, source: string) =>
      kernel.evaluate({ call: newCall(), who, work: { type: 'source', source } }, {})
    const began = doneIn(await by('one', 'BeginPackage["suiteIn`"]'))
    assert.equal([began.package, began.changed], ['suiteIn`', ['package']])
    const value = async (who: string, source: string) => doneIn(await by(who, source)).values[0]?.repr.text
    assert.is(await value('other', '$Context'), '"Global`"')
    assert.is(await value('one', '{$Context, $ContextPath}'), '{"suiteIn`", {"suiteIn`", "System`"}}')
    doneIn(await by('one', 'EndPackage[]'))
    assert.is(await value('one', '$Context'), '"Global`"')
    assert.is(await value('other', 'MemberQ[$ContextPath, "suiteIn`"]'), 'False')
  })

  test('a file that fails, or is interrupted, leaves nobody in its context, and one that is whole does as it says', async () => {
    const load = (source: string, watcher: Watcher = {}, call = newCall()) => {
      const file = join(folder, 'half.wl')
      writeFileSync(file, source)
      return kernel.evaluate({ call, who: 'test', work: { type: 'load', file } }, watcher)
    }
    const began = 'BeginPackage["suiteHalf`"]\n'
    assert.is((await load(`${began}Throw[1]\nEndPackage[]\n`)).type, 'raised')
    assert.equal(await reprs('$Context'), ['"Global`"'])
    const call = newCall()
    const stopped = await load(
      `${began}Print["started"]\nWhile[True]\n`,
      { on: event => void (event.type === 'output' && kernel.interrupt(call)) },
      call,
    )
    assert.is(stopped.type, 'interrupted')
    assert.equal(await reprs('$Context'), ['"Global`"'])
    assert.is((await load(began)).type, 'done')
    assert.equal(await reprs('$Context'), ['"suiteHalf`"'])
    await done('EndPackage[]')
  })

  test('a name that is loaded alone stands in its package, by its usage message', async () => {
    const file = join(folder, 'alone.wl')
    writeFileSync(
      file,
      'BeginPackage["suiteAlone`"]\ncost::usage = "c"; rest::usage = "r";\nlone::usage = "l"\n' +
        'Begin["`Private`"]\ncost[x_] := 2 x\nlone[x_] := x\nEnd[]\nEndPackage[]\n',
    )
    const work = { type: 'load', file, names: ['cost'] } as const
    doneIn(await kernel.evaluate({ call: newCall(), who: 'test', work }, {}))
    assert.equal(await reprs('suiteAlone`cost[4]'), ['8'])
    assert.is(
      (await kernel.look('describe', { name: 'suiteAlone`lone' }, { deadlineMs: 5_000 })).type,
      'not_found',
    )
  })

  test('symbols that Module has made are listed where a $ is looked for', async () => {
    await done('Do[Module[{local1 = i}, local1], {i, 30}]')
    const listed = async (filter: string) =>
      (await found(kernel, 'globals', { filter, modules: false, limit: 5 })).total
    assert.equal([await listed('local1'), (await listed('local1$')) >= 30], [0, true])
  })

  test('a file may begin with the mark of its encoding', async () => {
    const file = join(folder, 'marked.wl')
    writeFileSync(file, '\uFEFFmarked = 12\n')
    doneIn(await kernel.evaluate({ call: newCall(), who: 'test', work: { type: 'load', file } }, {}))
    assert.equal(await reprs('marked'), ['12'])
  })

  test('parts of a stored value are read as they are stored', async () => {
    await done('p1 = {1, {2, pf1[3]}}; p2 = <|"a" -> {5, 6}, 7 -> 8|>; p3 := {Print["evaluated"], 9}')
    for (const [expr, text] of [
      ['p1[[2]]', '{2, pf1[3]}'],
      ['p1[[2, -1]]', 'pf1[3]'],
      ['p1[[2]][[2, 1]]', '3'],
      ['p2["a"]', '{5, 6}'],
      ['p2["a"][[1]]', '5'],
      ['p2[[2]]', '8'],
      ['p3[[1]]', 'Print["evaluated"]'],
    ] as const) {
      const looked = await inspect(expr)
      const repr = looked.type === 'found' ? looked.value.repr : undefined
      assert.is(repr && 'text' in repr ? repr.text : looked.type, text, expr)
    }
    for (const expr of ['p1[[3]]', 'p1[[0]]', 'p2["b"]', 'p1["a"]', 'pf1[[1]]', 'p1[[1, 1]]', 'p1[[All]]'])
      assert.is((await inspect(expr)).type, 'needs_evaluation', expr)
  })

  test('a handle of a text that was cut is no value, and inspect says so', async () => {
    const handle = doneIn(await run('StringJoin[Table["x", {20000}]]')).values[0]?.repr.handle ?? ''
    const looked = await kernel.look('inspect', { expr: handle }, { deadlineMs: 5_000 })
    assert.match(looked.type === 'malformed' ? looked.message : looked.type, 'read on in it')
  })

  test('a value is bounded before it is formatted', async () => {
    const long = doneIn(await run('Range[50000]')).values[0]
    assert.equal([long?.repr.truncated, long?.preview], [true, 'List, length 50000'])
    const { handle = '' } = long ?? {}
    const piece = await found(kernel, 'more', { handle, from: 49_998, count: 10 })
    assert.equal(piece.type === 'items' && [piece.items, piece.next], [['49999', '50000'], null])
    for (const source of ['Nest[List, 0, 3000]', '2^(10^8)']) {
      const repr = doneIn(await run(source)).values[0]?.repr
      assert.equal([repr?.truncated, repr?.original_len], [true, null], source)
    }
    const text = doneIn(await run('StringJoin[Table["xxxxxxxxxx", {10^6}]]')).values[0]?.repr
    assert.equal([text?.truncated, text?.original_len], [true, 10_000_002])
  })

  test('a text of 10 MB, names with $ and letters of all kinds are read', async () => {
    assert.equal(await reprs(`StringLength["${'x'.repeat(10 * 1024 * 1024)}"]`), [String(10 * 1024 * 1024)])
    assert.equal(await reprs('$a1 = 1; a$1 = 2; größe = 3; \\[Alpha]x = 4; {$a1, a$1, größe, αx}'), [
      '{1, 2, 3, 4}',
    ])
  })

  test('every escape and every named character reads back as the value is shown', async () => {
    const asked = 'from mathics_scanner.characters import NAMED_CHARACTERS as n; print(*n)'
    const names = execFileSync(mathicsPython, ['-c', asked], { encoding: 'utf8' }).trim().split(' ')
    assert.ok(names.length > 500)
    const named = names.map(name => `\\[${name}]`).join('')
    const escapes = String.raw`\\ \" \n \t \r \b \f \.41 \101 \:03b1 \|01d4b6`
    for (const text of [named, escapes]) {
      const [shown = ''] = await reprs(`kept = "${text}"`)
      assert.equal(await reprs(`(${shown}) === kept`), ['True'], shown)
    }
  })

  // Mathics3 takes from half a minute to two and a half for each of the large ones.
  const [messages, prints, lines] = isLong ? [100_000, 10_000, 10_000] : [1_000, 200, 2_000]

  test(`of ${messages} messages alike come the first three, and one that says that the rest is left out`, async () => {
    const heard = evaluate(kernel, `Do[1/0, {${messages}}]`)
    const { diagnostics = [] } = doneIn(await heard.result)
    assert.equal(
      diagnostics.map(one => one.name),
      ['Power::infy', 'Power::infy', 'Power::infy', 'General::stop'],
    )
    assert.is(heard.text().trimEnd().split('\n').length, 4)
  })

  test(`${prints} expressions that are printed come in order, each on its line`, async () => {
    const heard = evaluate(kernel, `Do[Print[{k, x^2}], {k, ${prints}}]`)
    assert.is((await heard.result).type, 'done')
    assert.equal(
      heard.text().trimEnd().split('\n'),
      Array.from({ length: prints }, (_, at) => `{${at + 1}, x ^ 2}`),
    )
  })

  for (const source of isLong ? ['Range[10^7]', 'Nest[List, 0, 100000]'] : [])
    test(`${source} has a value that is cut, and the kernel goes on`, async () => {
      assert.is((await done(source)).values[0]?.repr.truncated, true)
      assert.equal(await reprs('1 + 1'), ['2'])
    })

  test('a flood of text is carried, and told in order', async () => {
    const heard = evaluate(kernel, `Scan[Print, Range[${lines}]]`)
    assert.is((await heard.result).type, 'done')
    assert.equal(
      heard.text().trimEnd().split('\n'),
      Array.from({ length: lines }, (_, at) => String(at + 1)),
    )
  })

  for (const source of [
    'While[True]',
    'Pause[60]',
    'Do[Pause[0.01], {100000}]',
    'FactorInteger[2^251 - 1]',
    'Integrate[Sin[u^3 Log[u]]^2/(u + Exp[u]), u]',
  ])
    test(`an interrupt stops ${source}`, async () => {
      const heard = evaluate(kernel, `Print["started"]; ${source}`)
      await printed(heard, 'started')
      assert.is((await kernel.interrupt(heard.call)).outcome, 'stopped')
      assert.is((await heard.result).type, 'interrupted')
      assert.equal(await reprs('1 + 2'), ['3'])
    })

  test('code that catches the abort goes on, as it asked to', async () => {
    const heard = evaluate(kernel, 'Print["started"]; CheckAbort[While[True], 99]')
    await printed(heard, 'started')
    await kernel.interrupt(heard.call)
    assert.is(doneIn(await heard.result).values[0]?.repr.text, '99')
  })

  test('arithmetic that holds the interpreter is stopped, too', async () => {
    const heard = evaluate(kernel, 'Length[IntegerDigits[3^(3*10^7)]]')
    // Nothing else of the process runs now.
    await new Promise<void>(resolve => {
      const forget = kernel.watchHealth(now => {
        if (now !== 'unresponsive') return
        forget()
        resolve()
      })
    })
    assert.is((await kernel.interrupt(heard.call)).outcome, 'stopped')
    assert.is((await heard.result).type, 'interrupted')
  })

  test('what does not give up is said to run on, and a restart is offered', async () => {
    const heard = evaluate(kernel, 'Print["started"]; While[True, CheckAbort[Pause[60], 0]]')
    await printed(heard, 'started')
    const { outcome, offer } = await kernel.interrupt(heard.call)
    assert.equal([outcome, offer], ['still_running', 'restart'])
    await kernel.close()
    kernel = await ownedWolfram()
    // It has said hello before its session is loaded, and what needs that waits.
    assert.equal(await kernel.status({ deadlineMs: 5_000 }), { running: null, queued: 0 })
    const looked = await kernel.look('globals', { modules: false, limit: 1 }, { deadlineMs: 60_000 })
    assert.equal(looked.type === 'found' && looked.value.total, 0)
    assert.equal(await reprs('1 + 2'), ['3'])
  })

  test('Quit ends the kernel soon, after all that it printed and said; what it wrote is in its files', async () => {
    const file = join(folder, 'written.txt')
    const heard = evaluate(
      kernel,
      `w1 = OpenWrite["${file}"]; Write[w1, x1 + 1]; Print[StringJoin[Table["x", {10^6}]]]; Print["bye"]; Quit[]; Print["never"]`,
    )
    const waiting = evaluate(kernel, 'Print["never"]')
    const evaluated = await heard.result
    assert.is(evaluated.type, 'left')
    assert.match(evaluated.type === 'left' ? evaluated.message : '', 'Quit[]')
    assert.equal([heard.text().length, heard.text().slice(-5)], [1_000_005, '\nbye\n'])
    assert.is(await codeOf(waiting.result), 'LINK_CLOSED')
    assert.is(waiting.text(), '')
    const { reason, message } = await kernel.ended
    // Not by the watchdog, which ends what hangs.
    assert.equal([reason, /exit code 0/.test(message)], ['exited', true])
    assert.is(readFileSync(file, 'utf8'), '1 + x1\n')
    assert.is(await codeOf(evaluate(kernel, '1 + 1').result), 'LINK_CLOSED')
  })
}

function doneIn(evaluated: Evaluated) {
  if (evaluated.type !== 'done') throw new Error(JSON.stringify(evaluated))
  return evaluated
}
