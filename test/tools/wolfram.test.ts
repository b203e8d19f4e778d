import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRegistry, validate } from '../../src/registry/registry.ts'
import type { KernelContext } from '../../tools/contract.ts'
import type { Definitions } from '../../tools/definition.ts'
import { TOOLS } from '../../tools/index.ts'
import { hasFailed } from '../../tools/outcome.ts'
import type { Completions, Kernel } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { found, newCall } from '../support/heard.ts'
import { ownedWolfram } from '../support/real-kernels.ts'
import { mathicsPython } from '../support/runtimes.ts'
import { context, errorOf, handled, resultOf } from './context.ts'

/** What the tools make of a real Mathics3. */
const test = suite('what the tools say of Wolfram Language', { limitMs: 60_000 })
const registry = openRegistry(TOOLS)

if (!existsSync(mathicsPython)) test.skip('all of it', 'no Mathics3; run node test/setup.mjs')
else facts()

function facts(): void {
  let kernel: Kernel
  let hasty: Kernel
  let folder: string
  let completing: Awaited<ReturnType<typeof said>>
  let first: Awaited<ReturnType<typeof said>>
  test.before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'imago-definitions-'))
    ;[kernel, hasty] = await Promise.all([ownedWolfram(), ownedWolfram({ formatterSeconds: 1e-9 })])
    ;[completing, first] = await Promise.all([
      // Answered at once, as soon as what is loading lets go for a moment.
      said('complete', { text: 'Plu', cursor: 3 }, { lookMs: 1_500 }),
      said('symbol_definition', { symbols: 'Plus' }, { lookMs: 5_000 }),
    ])
  })
  test.after(async () => {
    await Promise.all([kernel?.close(), hasty?.close()])
    rmSync(folder, { recursive: true, force: true })
  })

  async function said(called: string, args: object, { of = kernel, lookMs = 30_000 } = {}) {
    const tool = registry.find(called) ?? assert.unreachable(`${called} is gone`)
    const valid = tool && validate(tool, args, registry, called)
    if (tool === undefined || valid?.type !== 'valid') throw new Error(JSON.stringify(valid))
    const given: KernelContext = { ...context(), call: newCall(), kernel: of, lookMs }
    return handled(tool, valid.args, given)
  }

  const defined = async (symbols: string, more: object = {}, of = kernel) =>
    resultOf(await said('SymbolDefinition', { symbols, ...more }, { of })) as unknown as Definitions

  async function evaluate(source: string, of = kernel, place?: { file: string; line: number }) {
    const work = { type: 'source', source, ...(place && { place }) } as const
    const evaluated = await of.evaluate({ call: newCall(), who: 'test', work }, {})
    assert.is(evaluated.type, 'done', JSON.stringify(evaluated))
  }

  /** Where the symbol stands, as far as that is known. */
  async function placeOf(symbol: string) {
    const [one] = (await defined(symbol)).symbols
    if (!one?.ok) throw new Error(JSON.stringify(one))
    return [one.origin, one.file, one.line, one.end_line]
  }

  test('who looks while the session is loaded has the answer once it is; a completion is told how long that takes', async () => {
    assert.match(String(resultOf(first).markdown), '# Plus')
    const { code, message, details, retryable } = errorOf(completing)
    assert.equal([code, retryable, details.reason], ['busy', true, 'loading'])
    assert.match(
      message,
      /^Mathics3 [\d.]+ is being loaded, since .*; that takes up to 16 s\. Nothing was looked at\.$/,
    )
  })

  test('a list has all of its names in it', async () => {
    const { markdown, symbols } = await defined('Plus, NoSuch`Name, bad!name')
    const plus =
      '# Plus\n\n## Definition\n\n```wl\n' +
      'Attributes[Plus] = {Flat, Listable, NumericFunction, OneIdentity, Orderless, Protected}\n\n' +
      'Default[Plus] := 0\n\nPlus[___] := <kernel function>\n```'
    const missing = '# Name\n\nError: Symbol "NoSuch`Name" does not exist'
    assert.is(markdown, `${plus}\n\n${missing}\n\n# bad!name\n\nError: Invalid symbol name "bad!name"`)
    assert.equal(
      symbols.map(one => one.ok || one.error.code),
      [true, 'not_found', 'invalid_args'],
    )
  })

  test('the call fails where nothing of the list is a name, and not where nothing of it exists', async () => {
    const error = errorOf(await said('symbol_definition', { symbols: 'bad!name, 1' }))
    assert.is(error.code, 'invalid_args')
    assert.match(error.message, 'Invalid symbol name "bad!name"')
    assert.match(error.message, 'Invalid symbol name "1"')
    assert.is(errorOf(await said('symbol_definition', { symbols: ' , ' })).code, 'invalid_args')
    assert.match((await defined('nosuch')).markdown, 'Error: Symbol "nosuch" does not exist')
  })

  test('who writes no commas between names is told of them', async () => {
    for (const symbols of ['Plus Map', 'Plus; Map', 'Plus\nMap'])
      assert.match(
        errorOf(await said('symbol_definition', { symbols })).next ?? '',
        'such as total or shop`total. Commas stand between several.',
      )
    assert.not.match(errorOf(await said('symbol_definition', { symbols: 'bad!name' })).next ?? '', 'Commas')
  })

  test('of a context of the engine only what was set is listed, and that is said', async () => {
    const listed = await said('list_globals', { package: 'System`' })
    const text = registry.find('list_globals')?.show(resultOf(listed)) ?? ''
    assert.match(text, /^\d+ names? defined here\n/, text)
  })

  test('a name that is too long is invalid in its place, and a handle is said to name a value', async () => {
    const { markdown } = await defined(`Plus, ${'a'.repeat(5_000)}, @45ce.1`)
    assert.match(markdown, '# Plus\n\n## Definition')
    assert.match(markdown, `Error: Invalid symbol name "${'a'.repeat(200)}…"`)
    assert.match(markdown, '# @45ce.1\n\nError: @45ce.1 names a value: inspect it')
  })

  test('a definition that was cut has a handle for more of it, behind the page', async () => {
    const { markdown, symbols } = await defined('Plus, Map', { maxLength: 60 })
    const [plus, map] = symbols
    const handle = plus?.ok ? plus.handle : undefined
    assert.ok(handle !== undefined && map?.ok && map.handle === undefined)
    assert.match(markdown, `... [more of Plus: read_more ${handle}]`)
    const piece = resultOf(await said('read_more', { handle }))
    assert.match(JSON.stringify(piece), 'Plus[___] := <kernel function>')
  })

  test('lengths and wrong types', async () => {
    const { markdown, truncated } = await defined('Plus', { maxLength: 1 })
    assert.match(markdown, '```wl\nA\n... [truncated, showing 1/139 characters]\n```')
    assert.is(truncated, true)
    assert.match((await defined('Plus', { maxLength: 100_000 })).markdown, '<kernel function>')
    const tool = registry.find('SymbolDefinition') ?? assert.unreachable('it is gone')
    for (const wrong of [
      { maxLength: 0 },
      { maxLength: 'twelve' },
      { maxLength: 1.5 },
      { includeContextDetails: 'yes' },
      { include: ['use'] },
      { symbols: 5 },
      { symbols: [] },
    ])
      assert.is(tool && validate(tool, { symbols: 'Plus', ...wrong }, registry).type, 'invalid')
  })

  test('usage, options, attributes and dependencies stand behind a definition where asked for', async () => {
    await evaluate('q1::usage = "q1[x] is x."; Options[q1] = {a1 -> 1}; q1[x_] := r1[x] + h1[x]; r1[x_] := x')
    const { markdown, symbols } = await defined('q1', {
      include: ['usage', 'options', 'attributes', 'dependencies'],
    })
    const titles = [...markdown.matchAll(/^## (.*)\n\n```\w+\n(.*)/gm)].map(([, title, line]) => [
      title,
      line,
    ])
    assert.equal(titles.slice(1), [
      ['Usage', 'q1[x] is x.'],
      ['Options', '{a1 -> 1}'],
      ['Attributes', '{}'],
      ['Dependencies', '["Global`h1", "Global`r1"]'],
    ])
    assert.match(markdown, '\n\nNot defined: Global`h1')
    assert.not.ok(symbols.some(one => 'data' in one))
  })

  test('as JSON it is data in the page, and beside it', async () => {
    const { markdown, symbols } = await defined('r1, nosuch', { include: ['json'] })
    const [shown, missing] = [...markdown.matchAll(/```json\n([^`]*(?:`[^`]+)*?)\n```/g)].map(
      ([, text = '']) => JSON.parse(text),
    )
    assert.is(shown.definition, 'r1[x_] := x')
    assert.is(missing.status, 'missing')
    const [one] = symbols
    const { symbol: _, qualified: __, file, line, end_line, ...data } = shown
    assert.equal(one?.ok && one.data, data)
    assert.equal([file, line, end_line], [null, null, null])
  })

  test('a name is read with its characters as files write them', async () => {
    await evaluate('\\[Alpha]beta[x_] := x + 1\nuser2[x_] := \\[Alpha]beta[x]')
    for (const written of ['\\[Alpha]beta', '\\:03b1beta', 'αbeta'])
      assert.match(
        (await defined(written)).markdown,
        '# αbeta\n\n## Definition\n\n```wl\nαbeta[x_] := x + 1\n```',
      )
    assert.match((await defined('Plus, \\[Nope]beta')).markdown, 'Error: Invalid symbol name "\\[Nope]beta"')
    const about = { name: '\\[Alpha]beta' }
    const shown = async (tool: string, args: object) => JSON.stringify(resultOf(await said(tool, args)))
    assert.match(await shown('who_calls', about), '"user2[x_]"')
    assert.match(await shown('function_arglist', { expr: about.name }), '"αbeta[x_]"')
    assert.match(await shown('apropos_search', { filter: '\\[Alpha]*' }), '"name":"αbeta"')
  })

  test('names are offered where one can stand', async () => {
    const offered = async (text: string) => {
      const { from, completions, because } = resultOf(
        await said('complete', { text }),
      ) as unknown as Completions
      return [from, completions.map(one => one.text).slice(0, 2), because]
    }
    assert.equal(await offered('1 + \\[Alpha]be'), [4, ['αbeta'], null])
    assert.equal(await offered('"a" <> Algebr'), [7, ['Algebraics'], null])
    for (const [text, place] of [
      ['\\[Al', 'the name of a character'],
      ['f["Pl', 'a string'],
      ['(* Pl', 'a comment'],
    ] as const)
      assert.equal((await offered(text)).slice(1), [[], `the end of the text is in ${place}`])
  })

  test('what a formatter has no time for is given in input form', async () => {
    const source = 'q2[x_] := Module[{y = x}, f[g[y]]; h[y]]'
    await Promise.all([evaluate(source), evaluate(source, hasty)])
    assert.match((await defined('q2')).markdown, 'q2[x_] :=\n    Module[{y = x},\n')
    const { markdown } = await defined('q2', {}, hasty)
    assert.match(markdown, '```wl\nq2[x_] := Module[{y = x}, f[g[y]]; h[y]]\n```')
  })

  test('a file that cannot be read is told where it is left open, and that nothing of it was run', async () => {
    const file = join(folder, 'bad.wl')
    writeFileSync(file, 'unread[x_] := x\nq3[x_ := 2\nr3 = 3\n')
    const { message, next } = errorOf(await said('load_file', { path: file }))
    assert.is(message, `Syntax::sntxi: It is incomplete: "[" is not closed. (in top level, ${file}:2)`)
    assert.match(next ?? '', 'Nothing of the file was run.')
    assert.match((await defined('unread')).markdown, 'does not exist')
  })

  async function load(name: string, text: string) {
    const file = join(folder, name)
    writeFileSync(file, text)
    const call = { call: newCall(), who: 'test', work: { type: 'load', file } } as const
    const evaluated = await kernel.evaluate(call, {})
    if (evaluated.type !== 'done' || !evaluated.loaded) throw new Error(JSON.stringify(evaluated))
    return evaluated.loaded
  }

  test('each rule has its own lines, and a symbol those of the calls that it defines', async () => {
    const { file } = await load(
      'places.wl',
      'Options[draw] = {size -> 1};\nDefault[draw] = 0;\nother[x_] := x\n\ndraw[x_] /; x > 0 :=\n  other[1]\n' +
        'draw[1/2] := other[2]\ndraw[x_, y_] := other[3] /; y > 0\ndraw[x_, y_] := other[4]\n' +
        'HoldPattern[draw[]] := other[5]\ndraw /: held[draw, x_] := other[6]\nFormat[draw[x_]] := other[7]\n',
    )
    assert.equal(await placeOf('draw'), ['file', file, 5, 10])
    const lines = async () => {
      const { references } = await found(kernel, 'references', { name: 'other', limit: 20 })
      return references.map(one => one.line).toSorted((one, two) => (one ?? 0) - (two ?? 0))
    }
    assert.equal(await lines(), [5, 7, 8, 9, 10, 11, 12])
    await evaluate('draw[x_, y_] := other[8]')
    assert.equal(await lines(), [null, 5, 7, 8, 10, 11, 12])
    assert.equal((await placeOf('draw'))[1], null)
  })

  test('rules, options, attributes and names that a file does not define any more are named as long as they live', async () => {
    const text = (body: string) => `BeginPackage["Kept\`"]\n${body}\nEndPackage[]\n`
    const first = await load(
      'kept.wl',
      text(
        'Options[area] = {unit -> 1}; SetAttributes[area, HoldFirst]\narea[Null] := -1\narea[s_] := 0\narea[circle[r_]] := r',
      ),
    )
    assert.equal([first.added, first.kept], [['Kept`area'], []])
    const cut = text('area[circle[r_]] := 2 r')
    const old = ['HoldFirst of Kept`area', 'Options[Kept`area]', 'Kept`area[Null]', 'Kept`area[s_]']
    for (const again of [false, true]) {
      const { replaced, unchanged, kept, file } = await load('kept.wl', cut)
      const [before, after] = again ? [unchanged, replaced] : [replaced, unchanged]
      assert.equal([before, after, kept.toSorted()], [['Kept`area'], [], old.toSorted()])
      assert.equal(await placeOf('Kept`area'), ['file', file, 2, 2])
    }
    await evaluate('ClearAll[Kept`area]')
    assert.equal((await load('kept.wl', cut)).kept, [])
    await load('top.wl', 'a6[x_] := x\nb6[x_] := x\nc6 = 1\n')
    await evaluate('Clear[c6]; a6[9] = 10')
    const { replaced, kept } = await load('top.wl', 'a6[y_] := y\n')
    assert.equal([replaced, kept], [['Global`a6'], ['Global`a6[x_]', 'Global`b6']])
  })

  test('a file that a protected symbol has not let in says so, and fails; the rest of it is unchanged', async () => {
    const text = (factor: number) =>
      'BeginPackage["Prot`"]\ntwice::usage = "twice[x] is twice x.\nIt also takes lists.";\nBegin["`Private`"]\n' +
      `helper[x_] := x\ntwice[x_] := ${factor} * helper[x]\nEnd[]\nProtect[twice];\nEndPackage[]\n`
    const file = join(folder, 'prot.wl')
    const loaded = async (factor: number) => {
      writeFileSync(file, text(factor))
      return said('load_file', { path: file })
    }
    const shown = async (expr: string) =>
      registry.find('inspect')?.show(resultOf(await said('inspect', { expr }))) ?? ''
    await loaded(2)
    await evaluate('41')
    const again = resultOf(await loaded(3))
    const answer = registry.find('load_file')?.show(again) ?? ''
    assert.ok(hasFailed(again))
    assert.match(answer, 'unchanged: Prot`Private`helper\nnot replaced: twice is Protected')
    assert.not.match(answer, '\nreplaced:')
    assert.is(answer.split('SetDelayed::write').length, 2, answer)
    // The file is no input: the last value is the person's.
    await evaluate('seen = {%, Prot`twice[1]}')
    assert.match(await shown('seen'), '{41, 2}')
    assert.match(await shown('Prot`twice'), 'It also takes lists.')
  })

  test('what a file could not define is what its messages name, wherever the file says so', async () => {
    const file = join(folder, 'let-in.wl')
    const loaded = async (text: string) => {
      writeFileSync(file, text)
      const result = resultOf(await said('load_file', { path: file }))
      return `${hasFailed(result)} ${registry.find('load_file')?.show(result) ?? ''}`
    }
    await evaluate(
      'inner[x_] := x; mod[x_] := x; held = 1; same = 2; Protect[inner, mod, held, same]; gone = 1',
    )
    const inner = await loaded(
      'If[True, inner[x_] := 5 x]\nModule[{}, mod[x_] := 6 x]\nBegin["Elsewhere`"];held = 2;End[];',
    )
    assert.match(
      inner,
      /^true [\s\S]*\nno name was added or replaced\nnot replaced: held is Protected, inner is Protected, mod is Protected/,
    )
    const added = await loaded('w = (Sin[1] = 3; 4); Protect[w];')
    assert.match(added, /^true [\s\S]*\nadded: Global`w\nnot replaced: Sin is Protected\n/)
    // One file sets a symbol, protects it, and sets it again: it was added.
    const twice = await loaded('once[1] = 1; Protect[once]; once[2] = 2;')
    assert.match(twice, /^false [\s\S]*\nadded: Global`once\n(?!not replaced)/)
    assert.match(
      await loaded('Clear[inner]; gone = 2'),
      /^false [\s\S]*\nreplaced: Global`gone\n(?!not replaced)/,
    )
    // Nothing says so where its messages are switched off.
    await evaluate('Off[Set::write, SetDelayed::write]')
    const silent = await loaded('mod[x_] := 7 x\nQuiet[held = 3]\n')
    await evaluate('On[Set::write, SetDelayed::write]')
    assert.match(silent, /^true [\s\S]*\nnot replaced: held is Protected, mod is Protected/)
    const lifted = await loaded('Unprotect[mod];\nmod[x_] := x\nProtect[mod];\n')
    assert.match(lifted, /^false [\s\S]*\nunchanged: Global`mod\n(?!not replaced)/)
  })

  test('a definition that was loaded has its place, as long as it is what was', async () => {
    const file = join(folder, 'shop.wl')
    writeFileSync(
      file,
      'rate = 3;\n\n(* First *)\nprice[0] = 0;\nprice[n_] :=\n  price[n] = n rate\n\nmemo[n_] := n\n',
    )
    const call = { call: newCall(), who: 'test', work: { type: 'load', file } } as const
    assert.is((await kernel.evaluate(call, {})).type, 'done')
    assert.equal(await placeOf('rate'), ['file', file, 1, 1])
    assert.equal(await placeOf('price'), ['file', file, 4, 6])
    const paged = await defined('price, rate, Plus', { include: ['place'] })
    assert.equal(paged.markdown.match(/^## Place\n\n.*\n?.*/gm), [
      `## Place\n\n\`\`\`text\n${file}:4-6`,
      `## Place\n\n\`\`\`text\n${file}:1`,
      '## Place\n\nNone.',
    ])
    assert.match((await defined('price', { include: ['json'] })).markdown, '"line": 4,\n  "end_line": 6')
    await evaluate('price[2]')
    assert.equal(await placeOf('price'), ['file', file, 4, 6])
    await evaluate('price[n_] := n; rate = 3')
    assert.equal(await placeOf('price'), ['typed', null, null, null])
    assert.equal(await placeOf('rate'), ['file', file, 1, 1])
    await evaluate('typed[x_] := x\n\nplaced[x_] :=\n x', kernel, { file, line: 20 })
    assert.equal(await placeOf('placed'), ['file', file, 22, 23])
    writeFileSync(file, 'begun[1] = 1;\nbegun[2] = 2;\nThrow[begun[3] = 3]\nnever = 1\n')
    assert.is((await kernel.evaluate({ ...call, call: newCall() }, {})).type, 'raised')
    assert.equal(await placeOf('begun'), ['file', file, 1, 2])
    await evaluate('memo = 1', kernel)
    await evaluate('Clear[memo]')
    assert.equal((await placeOf('memo'))[1], null)
    const inspected = resultOf(await said('inspect', { expr: 'placed' }))
    assert.equal((inspected.callable as { line: number }).line, 22)
  })
}
