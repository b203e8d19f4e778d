import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig } from '../support/rig.ts'
import { lispCache, mathicsPython } from '../support/runtimes.ts'

/** Tools that are told the file: its own names are meant, as an editor in that file means them. */
const test = suite('the names of a file', { limitMs: 90_000 })

process.env.XDG_CACHE_HOME = lispCache
const rig = openRig({ config: `[kernels]\nwolfram = ${JSON.stringify(mathicsPython)}\n` })
let web: Program

test.before(async () => {
  for (const folder of ['shop', 'other/shop', 'twin/shop'])
    mkdirSync(join(rig.project, folder), { recursive: true })
  const orders = 'DISCOUNTS = {"early": 10}\ndef total(n):\n    return n * 2\n'
  writeFileSync(join(rig.project, 'shop/orders.py'), orders)
  writeFileSync(join(rig.project, 'other/shop/orders.py'), orders)
  writeFileSync(join(rig.project, 'twin/shop/orders.py'), 'DISCOUNTS = {"late": 20}\n')
  writeFileSync(join(rig.project, 'shop/late.py'), 'ran = print("it ran")\n')
  symlinkSync('shop/orders.py', join(rig.project, 'link.py'))
  writeFileSync(join(rig.project, 'shop/plain.py'), 'linked = 12\n')
  symlinkSync('shop/plain.py', join(rig.project, 'other_name.py'))
  writeFileSync(
    join(rig.project, 'loud.py'),
    'def __getattr__(name):\n    raise SystemExit(name)\nvolume = 11\n',
  )
  const { runtimeDir } = rig.paths
  web = await startProgram({
    folder: rig.project,
    runtimeDir,
    name: 'web',
    source: `import shop.orders, loud, other_name
import importlib.util, sys
total = "of the top level"
spec = importlib.util.spec_from_file_location('shop.orders', 'twin/shop/orders.py')
sys.modules['twin'] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules['twin'])`,
  })
})

test.after(async () => {
  web.signal('SIGKILL')
  await web.ended
  await rig.close()
})

async function called(tool: string, args: Readonly<Record<string, unknown>>) {
  const { stdout, stderr } = await rig.imago(['call', tool, JSON.stringify(args)])
  return `${stdout}${stderr}`
}

test('complete, inspect, symbol_definition and eval_expr see the names of the module of that file', async () => {
  const file = 'shop/orders.py'
  assert.match(await called('complete', { text: 'DISC', file }), /^DISCOUNTS {2}constant, dict$/m)
  assert.match(await called('inspect', { expr: 'DISCOUNTS["early"]', file }), 'repr: 10')
  assert.match(await called('inspect', { expr: 'total', file, detail: 'brief' }), 'shop.orders.total')
  assert.match(await called('symbol_definition', { symbols: ['total'], file }), 'return n * 2')
  assert.match(await called('eval_expr', { expr: 'total(DISCOUNTS["early"])', file, line: 3 }), /^20$/m)
  assert.match(await called('inspect', { expr: 'total' }), 'of the top level')
  const whole = onlyEnvelope(
    await rig.imago(['call', 'eval_expr', JSON.stringify({ expr: 'rate = 3', file }), '--json']),
  )
  assert.ok(whole.ok)
  assert.is((whole.result as { names_of?: string }).names_of, 'shop.orders')
  assert.match(await called('inspect', { expr: 'shop.orders.rate' }), 'repr: 3')
})

test('the real path counts: a link is the file that it leads to, and a module of the same name elsewhere is another one', async () => {
  assert.match(await called('inspect', { expr: 'DISCOUNTS', file: 'link.py' }), 'early')
  const other = await called('inspect', { expr: 'DISCOUNTS', file: 'other/shop/orders.py' })
  assert.match(other, 'other/shop/orders.py is not loaded in web: none of its names are there.')
  // Its module calls itself shop.orders, too.
  assert.match(await called('inspect', { expr: 'DISCOUNTS', file: 'twin/shop/orders.py' }), /late.*20/)
  assert.match(await called('eval_expr', { expr: 'DISCOUNTS["late"]', file: 'twin/shop/orders.py' }), /^20$/m)
  assert.match(await called('complete', { text: 'tot', file: 'twin/shop/orders.py' }), /^(?!total)/)
  assert.match(await called('eval_expr', { expr: 'DISCOUNTS["early"]', file: 'shop/orders.py' }), /^10$/m)
})

test('a module that was imported through a link of another name is that of the file that the link leads to', async () => {
  assert.match(await called('inspect', { expr: 'linked', file: 'shop/plain.py' }), 'repr: 12')
})

test('a file that is not loaded is said to be not, and is not run; code with its place runs at the top level', async () => {
  for (const file of ['shop/late.py', 'nowhere.py', 'shop', '.']) {
    const looked = await called('complete', { text: 'ra', file })
    assert.match(looked, `${file} is not loaded in web`)
    assert.match(looked, 'load_file')
  }
  const ran = await called('eval_expr', { expr: 'total', file: 'shop/late.py' })
  assert.match(ran, 'of the top level')
  assert.match(ran, 'shop/late.py is not loaded. Names are those of the top level.')
  assert.not.match(ran, 'it ran')
})

test('code that fails for want of a name says that its file is not loaded, or in which module it ran', async () => {
  const late = await called('eval_expr', { expr: 'ran', file: 'shop/late.py' })
  assert.match(late, 'NameError')
  assert.match(late, 'shop/late.py is not loaded. Names are those of the top level.')
  const ran = await rig.imago([
    'call',
    'eval_expr',
    JSON.stringify({ expr: 'late', file: 'shop/orders.py' }),
    '--json',
  ])
  const whole = onlyEnvelope(ran)
  assert.ok(!whole.ok)
  assert.is(whole.error.details.names_of, 'shop.orders')
})

test('a module that would run code for its names is read as it is stored', async () => {
  assert.match(await called('inspect', { expr: 'volume', file: 'loud.py' }), 'repr: 11')
  assert.match(await called('complete', { text: 'vol', file: 'loud.py' }), 'volume')
  assert.match(await called('eval_expr', { expr: '1 + 1' }), /^2$/m)
})

test('in Lisp they are those of the package that the file names above the line', async () => {
  assert.is((await rig.imago(['start', 'lisp', '--name', 'image'])).code, 0)
  const kernel = 'image'
  await called('eval_expr', {
    kernel,
    expr: '(progn (defpackage :shop (:use :cl)) (defpackage :till (:use :cl)))',
  })
  await called('eval_expr', {
    kernel,
    expr: '(progn (defparameter shop::rate 7) (defparameter till::rate 8))',
  })
  const text = '(in-package :shop)\n(defun a ())\n\n(in-package #:till)\n(defun b ())\n'
  writeFileSync(join(rig.project, 'shop.lisp'), text)
  const file = 'shop.lisp'
  assert.match(await called('inspect', { kernel, expr: 'rate', file }), 'repr: 7')
  assert.match(await called('eval_expr', { kernel, expr: 'rate', file, line: 2 }), /^7$/m)
  assert.match(await called('eval_expr', { kernel, expr: 'rate', file, line: 5 }), /^8$/m)
  assert.match(await called('complete', { kernel, text: 'rat', file }), 'rate')
  writeFileSync(join(rig.project, 'till.lisp'), '(cl:in-package :till)\n')
  assert.match(await called('inspect', { kernel, expr: 'rate', file: 'till.lisp' }), 'repr: 8')
})

test('a Lisp file that is not there, or cannot be read, has no names, and code of it says so', async () => {
  const kernel = 'image'
  const looked = await called('inspect', { kernel, expr: 'car', file: 'nowhere.lisp' })
  assert.match(looked, 'nowhere.lisp is not loaded in image')
  for (const [file, why] of [
    ['nowhere.lisp', /^notice: nowhere\.lisp is not loaded\. Names/m],
    ['shop', /^notice: .*shop.* Names are those of the top level\.$/m],
  ] as const) {
    const ran = await called('eval_expr', { kernel, expr: '(+ 1 2)', file })
    assert.match(ran, /^3$/m)
    assert.match(ran, why)
  }
})

if (existsSync(mathicsPython)) {
  const kernel = 'wl'
  const inside = (context: string) =>
    `BeginPackage["${context}\`", {"Needed\`"}]\ntotal::usage = "total[n]"\nBegin["\`Private\`"]\n`
  const body = 'rate = 7;\nrows = {1, {2}};\ntotal[n_] := n rate\nEnd[]\nEndPackage[]\n'

  test('in Wolfram Language they are those of the context that the file opens, at the line where one is named', async () => {
    assert.is((await rig.imago(['start', 'wolfram', '--name', kernel])).code, 0)
    await called('eval_expr', { kernel, expr: 'Needed`factor = 2; rate = 1; rows = 0' })
    const file = 'shop/Till.wl'
    writeFileSync(join(rig.project, file), inside('Till') + body)
    const looked = await called('complete', { kernel, text: 'ra', file })
    assert.match(looked, `${file} is not loaded in wl`)
    await called('load_file', { kernel, path: file })
    assert.match(await called('inspect', { kernel, expr: 'rate', file }), 'repr: 7')
    assert.match(await called('inspect', { kernel, expr: 'rows[[2, 1]]', file }), 'repr: 2')
    assert.match(await called('inspect', { kernel, expr: 'total', file, detail: 'signature' }), 'total[n_]')
    assert.match(await called('complete', { kernel, text: 'facto', file }), 'factor')
    assert.match(await called('symbol_definition', { kernel, symbols: ['rate'], file }), 'rate := 7')
    assert.match(await called('eval_expr', { kernel, expr: 'total[factor]', file, line: 6 }), /^14$/m)
    await called('eval_expr', { kernel, expr: 'inner = 3', file, line: 6 })
    await called('eval_expr', { kernel, expr: 'outer = 4', file, line: 2 })
    assert.match(
      await called('eval_expr', { kernel, expr: '{Till`Private`inner, Till`outer, rate}' }),
      /^\{3, 4, 1\}$/m,
    )
    assert.match(await called('eval_expr', { kernel, expr: 'Context[]' }), 'Global`')
  })

  test('a Wolfram file that the session itself has loaded has its names; one that was not, or is of another place, has none', async () => {
    writeFileSync(join(rig.project, 'got.wl'), inside('Got') + body.replace('7', '9'))
    await called('eval_expr', { kernel, expr: `Get[${JSON.stringify(join(rig.project, 'got.wl'))}]` })
    assert.match(await called('inspect', { kernel, expr: 'rate', file: 'got.wl' }), 'repr: 9')
    writeFileSync(join(rig.project, 'other/Till.wl'), inside('Till') + body)
    writeFileSync(join(rig.project, 'Late.wl'), `${inside('Late')}Print["it ran"]\n${body}`)
    for (const file of ['other/Till.wl', 'Late.wl', 'nowhere.wl'])
      assert.match(await called('inspect', { kernel, expr: 'rate', file }), `${file} is not loaded in wl`)
    const ran = await called('eval_expr', { kernel, expr: 'rate', file: 'Late.wl' })
    assert.match(ran, /^1$/m)
    assert.match(ran, 'Late.wl is not loaded. Names are those of the top level.')
    assert.not.match(ran, 'it ran')
    assert.match(await called('inspect', { kernel, expr: 'rate', package: 'Til`' }), 'Till`')
  })
}
