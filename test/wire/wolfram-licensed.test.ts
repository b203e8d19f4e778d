import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Evaluated, Kernel, Watcher } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate, found, newCall, printed } from '../support/heard.ts'
import { attachedWolfram, ownedWolfram } from '../support/real-kernels.ts'
import { mathicsPython } from '../support/runtimes.ts'
import { installPlayer, servePlayer, whyNoPlayer } from '../support/wolfram-installation.ts'

/** A kernel behind WSTP, which Mathics3 plays behind a library of the tests: no licensed engine is on the test machines. */
const test = suite('a licensed Wolfram kernel, played by Mathics3', { limitMs: 240_000 })
let kernel: Kernel

if (whyNoPlayer !== undefined) test.skip('all of it', whyNoPlayer)
else facts()

function facts(): void {
  let wolfram = ''
  let server: Awaited<ReturnType<typeof servePlayer>>
  test.before(async () => {
    wolfram = installPlayer()
    process.env.WOLFRAM_INSTALLATION_DIRECTORY = wolfram
    server = await servePlayer()
    kernel = await attachedWolfram(server.port)
  })
  test.after(async () => {
    await kernel?.close()
    server?.end()
    delete process.env.WOLFRAM_INSTALLATION_DIRECTORY
  })

  const run = (source: string, watcher?: Watcher) => evaluate(kernel, source, watcher).result
  const done = async (source: string) => doneIn(await run(source))
  const reprs = async (source: string) => (await done(source)).values.map(value => value.repr.text)
  const raisedIn = async (source: string) => {
    const evaluated = await run(source)
    if (evaluated.type !== 'raised') throw new Error(JSON.stringify(evaluated))
    return evaluated.exception
  }

  async function load(text: string) {
    const file = join(wolfram, 'loaded.wl')
    writeFileSync(file, text)
    const work = { type: 'load', file } as const
    const { loaded } = doneIn(await kernel.evaluate({ call: newCall(), who: 'test', work }, {}))
    if (loaded === undefined) throw new Error('it was not loaded')
    return loaded
  }

  // First, for each load reads all that the kernel has defined by then, for which Mathics takes its time.
  test('what a file defines has its lines', async () => {
    await load('Options[draw1] = {size -> 1};\ndraw1[x_] := x\n\ndraw1[x_, y_] /; x > y :=\n y\n')
    const { line, end_line } = await found(kernel, 'definition', { name: 'draw1', max_length: 1_000 })
    assert.equal([line, end_line], [2, 5])
    await done('8')
    assert.equal((await load('draw1[x_, y_] := y\n')).kept, [
      'Global`draw1[x_, y_] /; x > y',
      'Global`draw1[x_]',
      'Options[Global`draw1]',
    ])
    // The file is no input: the last value is the person's.
    assert.equal(await reprs('% + 1'), ['9'])
  })

  test('a file that could not define a symbol is told so by the message that names it', async () => {
    await run('inner1[x_] := x; Protect[inner1];')
    assert.equal((await load('If[True, inner1[x_] := 5 x]\n')).not_replaced, ['inner1 is Protected'])
  })

  test('code and names of a file are read in the context that the file opens, and items lead on', async () => {
    const { not_replaced } = await load(
      'BeginPackage["Till`"]\nsum\nBegin["`Private`"]\nparts = {1, {2, 3}};\nEnd[]\nEndPackage[]\n',
    )
    // What the file before it could not define is not told of it.
    assert.equal(not_replaced, [])
    const file = join(wolfram, 'loaded.wl')
    assert.equal(await found(kernel, 'scope', { file }), { module: 'Till`Private`' })
    assert.equal(await found(kernel, 'scope', { file, line: 2 }), { module: 'Till`' })
    const looked = await found(kernel, 'inspect', { expr: 'parts[[2]]', package: 'Till`Private`' })
    assert.equal(looked.sample && 'items' in looked.sample && looked.sample.exprs, [
      'parts[[2]][[1]]',
      'parts[[2]][[2]]',
    ])
    const work = {
      type: 'source',
      source: 'new = parts[[1]]; Context[new]',
      package: 'Till`Private`',
    } as const
    const { values } = doneIn(await kernel.evaluate({ call: newCall(), who: 'test', work }, {}))
    assert.equal([values[0]?.repr.text, await reprs('Context[]')], ['"Till`Private`"', ['"Global`"']])
    assert.equal(await found(kernel, 'scope', { file: join(wolfram, 'other.wl') }), { module: null })
  })

  test('expressions are evaluated one after the other, and keep what they define', async () => {
    assert.equal(await reprs('a1 = 2\nb1 = a1 + 1\n\n{a1,\n b1}'), ['{2, 3}'])
    assert.equal(await reprs('c1 = 5;'), [])
    assert.equal([await reprs('8'), await reprs('% + 1')], [['8'], ['9']])
  })

  test('messages come in order with what is printed, and as data with their names', async () => {
    const heard = evaluate(kernel, 'Print["before"]; q1 = 1/0; Print["after"]; q1')
    const { values, diagnostics } = doneIn(await heard.result)
    assert.is(values[0]?.repr.text, 'ComplexInfinity')
    assert.is(heard.text(), 'before\nPower::infy: Infinite expression 1 / 0 encountered.\nafter\n')
    assert.equal(
      diagnostics?.map(({ name, severity }) => [name, severity]),
      [['Power::infy', 'warning']],
    )
  })

  test('an uncaught Throw is an error at its line, and so is what is no Wolfram Language', async () => {
    const exception = await raisedIn('t1 = 1\n\nThrow[{t1, "x"}]\nt1 = 2')
    assert.equal(
      [exception.type.name, exception.message, exception.frames[0]?.line],
      ['Throw::nocatch', 'Uncaught Throw[{1, "x"}] returned to top level.', 3],
    )
    assert.equal(await reprs('t1'), ['1'])
    const { type, frames } = await raisedIn('s1 = 1\nb = )')
    assert.match(type.name, /^Syntax::/)
    assert.is(frames[0]?.line, 2)
    assert.equal(await reprs('s1'), ['s1'])
  })

  test('Input asks the caller', async () => {
    const prompts: string[] = []
    const ask = ({ prompt }: { readonly prompt: string }) => {
      prompts.push(prompt)
      return Promise.resolve('1 + 2')
    }
    const { values } = doneIn(await run('{InputString["text? "], Input["number? "]}', { ask }))
    assert.is(values[0]?.repr.text, '{"1 + 2", 3}')
    assert.equal(prompts, ['text? ', 'number? '])
    assert.is((await raisedIn('InputString[]')).type.name, 'Input::noans')
  })

  test('a definition is read, and a long value in pieces', async () => {
    await done('pay[x_] := 2 x\nbasket = {1, 2};')
    const definition = await found(kernel, 'definition', { name: 'pay', max_length: 10_000, contexts: true })
    assert.match(definition.page ?? '', '```wl\npay[x_] := 2 * x\n```')
    assert.match(definition.page ?? '', '"Global`": ["pay"]')
    await done('\\[Alpha]beta[x_] := x')
    const escaped = await found(kernel, 'definition', {
      name: '\\[Alpha]beta',
      max_length: 100,
      contexts: false,
    })
    assert.match(escaped.page ?? '', '```wl\nαbeta[x_] := x\n```')
    // Where a part is deeper than is taken over, the rest is asked for; 4,000 parts are too, and Mathics takes a minute for them.
    const { handle = '' } = doneIn(await run('Prepend[Range[60], Nest[g, 1, 101]]')).values[0] ?? {}
    const piece = await found(kernel, 'more', { handle, from: 59, count: 10 })
    assert.equal(piece.type === 'items' && [piece.items, piece.next], [['59', '60'], null])
  })

  test('an interrupt stops what runs; a look meanwhile is told that the kernel is busy', async () => {
    for (const source of ['While[True]', 'Pause[60]']) {
      // One expression: between two, a look is answered.
      const heard = evaluate(kernel, `Print["started"]; ${source}`)
      await printed(heard, 'started')
      const looked = await kernel.look('inspect', { expr: 'basket' }, { deadlineMs: 10_000 })
      assert.is(looked.type, 'busy')
      assert.is((await kernel.interrupt(heard.call)).outcome, 'stopped')
      assert.is((await heard.result).type, 'interrupted')
      assert.equal(await reprs('1 + 2'), ['3'])
    }
  })

  test('parts of a stored value are read as they are stored', async () => {
    await done('p1 = {1, {2, 3}, Range[20]}; p2 = <|"a" -> {5, 6}|>')
    for (const [expr, text] of [
      ['p1[[2, 1]]', '2'],
      ['p1[[3, 20]]', '20'],
      ['p2["a"][[1]]', '5'],
    ] as const) {
      const looked = await kernel.look('inspect', { expr }, { deadlineMs: 10_000 })
      const repr = looked.type === 'found' ? looked.value.repr : undefined
      assert.is(repr && 'text' in repr ? repr.text : looked.type, text, expr)
    }
  })

  test('each caller goes on in the context that it was in', async () => {
    const by = (who: string, source: string) =>
      kernel.evaluate({ call: newCall(), who, work: { type: 'source', source } }, {})
    const value = async (who: string, source: string) => doneIn(await by(who, source)).values[0]?.repr.text
    assert.is(doneIn(await by('one', 'Begin["suiteIn`"]')).package, 'suiteIn`')
    assert.equal(
      [await value('other', '$Context'), await value('one', '$Context')],
      ['"Global`"', '"suiteIn`"'],
    )
    doneIn(await by('one', 'End[]'))
  })

  test('a kernel of a wstpserver is joined, let go of, and joined again as the same image', async () => {
    const first = kernel
    await done('kept = {1, 2}; mine[x_] := x + 1')
    await first.close()
    kernel = await attachedWolfram(server.port)
    assert.is(kernel.identity.epoch, first.identity.epoch)
    assert.ok(kernel.identity.attached)
    assert.equal(await reprs('{kept, mine[2]}'), ['{{1, 2}, 3}'])
  })

  test('letting go of a kernel aborts what it evaluates for us, and it can be joined again', async () => {
    const first = kernel
    const heard = evaluate(kernel, 'Print["started"]; endless = 0; While[True, endless++]')
    const ended = heard.result.catch(error => error)
    await printed(heard, 'started')
    await first.close()
    await ended
    kernel = await attachedWolfram(server.port)
    assert.is(kernel.identity.epoch, first.identity.epoch)
    assert.equal(await reprs('endless > 0'), ['True'])
  })

  test('Quit ends the kernel, after it has said so; nobody can be joined there any more', async () => {
    const heard = evaluate(kernel, 'Print["bye"]; Quit[]; Print["never"]')
    const evaluated = await heard.result
    assert.equal([evaluated.type, heard.text()], ['left', 'bye\n'])
    assert.match(evaluated.type === 'left' ? evaluated.message : '', 'Quit[]')
    assert.is((await kernel.ended).reason, 'exited')
    const error = await attachedWolfram(server.port).catch(error => error)
    assert.is(error.code, 'LINK_REFUSED')
    assert.match(error.message, 'The link server could not be reached')
  })

  test('where an engine and Mathics3 are both there and none is named, the engine is started, and that is said', async () => {
    const usual = join(wolfram, 'usual')
    mkdirSync(usual)
    symlinkSync(wolfram, join(usual, '14.1'))
    const said: string[] = []
    const doing = (what: string) => said.push(what)
    const both = { wolfram: undefined, installed: mathicsPython, usual: [usual], doing }
    const one = await ownedWolfram(both)
    assert.match(one.identity.implementation, 'Wolfram Engine')
    assert.match(said.join('\n'), `starting the Wolfram Engine ${join(usual, '14.1')}`)
    await one.close()
  })

  test('a kernel that is started and then killed ends its host, which says so', async () => {
    kernel = await ownedWolfram({ wolfram })
    assert.match(kernel.identity.implementation, 'Wolfram Engine')
    const [process_id] = await reprs('$ProcessID')
    const heard = evaluate(kernel, 'While[True]')
    await printed(heard, 'started')
    process.kill(Number(process_id), 'SIGKILL')
    const evaluated = await heard.result
    assert.is(evaluated.type === 'raised' && evaluated.exception.type.name, 'LinkObject::linkd')
    assert.match((await kernel.ended).message, 'The kernel is lost: The link to the kernel is lost')
  })

  test('what listens there and is no wstpserver is said to be none, in the words of the link', async () => {
    const deaf = createServer(socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await new Promise<void>(resolve => deaf.listen(0, '127.0.0.1', resolve))
    const { port } = deaf.address() as AddressInfo
    const error = await attachedWolfram(port).catch(error => error)
    deaf.close()
    assert.is(error.code, 'LINK_REFUSED')
    assert.match(error.message, /link server|link to the kernel/)
  })

  test('an engine that does not start is an error, which says how to have Mathics3; so is one without its library', async () => {
    const program = join(wolfram, 'Executables/WolframKernel')
    writeFileSync(program, '#!/bin/sh\nexit 1\n')
    const error = await ownedWolfram({ wolfram }).catch(error => error)
    assert.is(error.code, 'KERNEL_START_FAILED')
    // It depends on the moment whether its end is seen by the process or by the link, and what it said before.
    assert.match(error.message, `the Wolfram Engine ${wolfram} at ${program} does not start: `)
    assert.match(error.message, /does not start: (?:.* is being loaded\n)?The (link to the )?kernel /)
    assert.match(error.message, 'To use the free Mathics3 instead:')
    rmSync(join(wolfram, 'SystemFiles'), { recursive: true })
    const lacking = await ownedWolfram({ wolfram }).catch(error => error)
    assert.match(lacking.message, 'holds no WSTP library')
  })
}

function doneIn(evaluated: Evaluated) {
  if (evaluated.type !== 'done') throw new Error(JSON.stringify(evaluated))
  return evaluated
}
