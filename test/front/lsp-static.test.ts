import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CompletionList, Hover, Location, SignatureHelp } from 'vscode-languageserver/node'
import { type Editor, openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, until } from '../support/rig.ts'

/** What a language server on a real Python program leaves to a static server beside it. */
const test = suite('lsp beside a static server', { limitMs: 90_000 })

const RULES = `CLOSED = 'sunday'


class Rule:
    def rule(self, much): return much


def opened(day): return day != CLOSED
`

const PARTS = `def part(number):
    return number
`

const ORDERS = `import functools
import math
import base as rules
import pack.parts
from base import (
    Rule as Ruled,
)
from base import *

DISCOUNTS = {'loyal': 10, 'CLOSED': 0}
for guest, place in [('kim', 1)]:
    pass


def counted(function):
    @functools.wraps(function)
    def around(*args, **named):
        return function(*args, **named)
    return around


class Order(Ruled):
    PRICES = {}

    def total(self, rate=2):
        return 4 * rate


def report(order, ratio=1):
    return order.total(ratio)


@counted
def shown(order): return report(order)


def replaced(order): return shown(order)


def make():
    def pay(order, coin): return report(order)
    return pay


paying = make()
FIRST = Order()
`

const SOURCE = `import sys
sys.path.insert(0, '.')
import base, orders, pack.others, pack.fixes
orders.make = pack.fixes.make
def better(order, tip): return order
def discounted(self, percent): return percent
orders.SEASON = 'winter'
orders.replaced = better
orders.Order.discounted = discounted
base.HOLIDAY = 'monday'
orders.other = orders.report
orders.around = base.DISCOUNTS = 1`

const rig = openRig({ files: { 'orders.py': ORDERS, 'base.py': RULES, 'pyproject.toml': '' } })
mkdirSync(join(rig.project, 'pack'))
for (const [name, text] of [
  ['__init__', ''],
  ['parts', PARTS],
  ['others', PARTS],
  ['fixes', 'def make(): return None\n'],
])
  writeFileSync(join(rig.project, 'pack', `${name}.py`), text ?? '')
const file = join(rig.project, 'orders.py')
let program: Program
let editor: Editor
/** One that says it has no static server. */
let alone: Editor

test.before(async () => {
  const runtimeDir = rig.paths.runtimeDir
  program = await startProgram({ folder: rig.project, runtimeDir, name: 'shop', source: SOURCE })
  editor = await openEditor(rig, { roots: [rig.project] })
  alone = await openEditor(rig, { roots: [rig.project], initializationOptions: { static: false } })
  for (const one of [editor, alone])
    await until(async () => (await offered('SEAS', one)).includes('SEASON'), 'the program to answer')
})
test.after(async () => {
  await Promise.all([editor, alone].map(one => one?.close()))
  program?.signal('SIGKILL')
  await program?.ended
  await rig.close()
})

/** What is offered at the end of a line below the text. */
async function offered(line: string, by = editor) {
  const uri = await by.open(file, { text: `${ORDERS}\n\n${line}` })
  const found = await by.ask<CompletionList | null>('completion', uri, `\n\n${line}`, line.length + 2)
  return (found?.items ?? []).map(({ label }) => label)
}

/** The answer about a place in a line below the text, `at` characters behind its beginning. */
async function asked<Answer>(method: string, line: string, at = line.length - 1, by = editor) {
  const uri = await by.open(file, { text: `${ORDERS}\n\n${line}` })
  return by.ask<Answer>(method, uri, `\n\n${line}`, at + 2)
}

const places = async (name: string, by = editor) =>
  ((await asked<Location[]>('definition', name, name.length - 1, by)) ?? []).map(
    ({ uri, range }) => `${uri.split('/').at(-1)}:${range.start.line + 1}`,
  )

const lineOf = (text: string) => ORDERS.slice(0, ORDERS.indexOf(text)).split('\n').length

test('names that a text defines, assigns or imports, and those of Python, are not offered; those that code has set are', async () => {
  assert.equal(await offered('DISC'), [])
  assert.equal(await offered('repo'), [])
  assert.equal(await offered('functo'), [])
  assert.equal(await offered('rules.CLO'), [])
  assert.equal(await offered('CLOS'), [], 'a name of a module that is imported as a whole')
  assert.equal(await offered('prin'), [])
  assert.equal(await offered('Non'), [])
  assert.equal(await offered('import ma'), [])
  assert.equal(await offered('from base import (\n    HOL'), [])
  assert.equal(await offered('math.sq'), [])
  assert.equal(await offered('def f(amount):\n    return amou'), [])
  assert.equal(await offered('SEAS'), ['SEASON'])
  assert.equal(await offered('def f():\n    import math\n    return SEAS'), ['SEASON'])
  assert.equal(await offered('oth'), ['other'])
  assert.equal(await offered('rules.HOL'), ['HOLIDAY'])
  assert.equal(await offered('gue'), [])
  assert.equal(await offered('pack.parts.pa'), [])
  assert.equal(
    await offered('pack.'),
    ['fixes', 'others'],
    'modules that the text does not import, and the program does',
  )
  assert.equal(await offered('arou'), ['around'], 'a name that a function has for itself alone')
  assert.equal(await offered('rules.DISC'), ['DISCOUNTS'], 'a name of another text')
  const all = await offered('')
  assert.equal(all, ['around', 'other', 'SEASON'])
})

test('of a class what its text and its bases have is not offered, and of a live value all is', async () => {
  assert.equal(await offered('Order.'), ['discounted'])
  assert.equal(await offered('FIRST.'), (await offered('FIRST.', alone)).slice())
  assert.equal((await offered('FIRST.')).slice(0, 4), ['discounted', 'PRICES', 'rule', 'total'])
  assert.equal(await offered("DISCOUNTS['"), ["loyal']", "CLOSED']"])
})

test('a definition is told where it is not the one to which the text leads', async () => {
  assert.equal(await places('report'), [])
  assert.equal(await places('opened'), [])
  assert.equal(await places('Order.total'), [])
  assert.equal(await places('Order.rule'), [])
  assert.equal(await places('rules.opened'), [])
  assert.equal(await places('pack.parts.part'), [])
  assert.equal(await places('pack.others.part'), ['others.py:1'])
  assert.equal(await places('Ruled'), [])
  assert.equal(await places('DISCOUNTS'), [])
  assert.equal(await places('other'), [`orders.py:${lineOf('def report')}`])
  assert.equal(await places('make'), ['fixes.py:1'], 'another function of the same name')
  assert.equal(await places('FIRST.total'), [`orders.py:${lineOf('    def total')}`])
  assert.equal(await places('paying'), [`orders.py:${lineOf('    def pay')}`])
  assert.equal(
    await places('shown'),
    [`orders.py:${lineOf('    @functools.wraps')}`],
    'what the decorator put around it',
  )
})

test('how a function is called, and what it is, is told where the text does not', async () => {
  const help = async (line: string) =>
    (await asked<SignatureHelp | null>('signatureHelp', line, line.length))?.signatures[0]?.label ?? null
  const about = async (name: string) => JSON.stringify(await asked<Hover | null>('hover', name))
  assert.is(await help('report('), null)
  assert.is(await help('Order.total('), null)
  assert.is(await help('len('), null)
  assert.is(await help('replaced('), 'replaced(order, tip)')
  assert.is(await help('paying('), 'paying(order, coin)')
  assert.is(await help('FIRST.total('), 'FIRST.total(rate=2)')
  assert.is(await help('other('), 'other(order, ratio=1)')
  assert.equal(await offered('report(rat'), [])
  assert.equal(await offered('other(rat'), ['ratio='])
  assert.is(await about('report'), 'null')
  assert.is(await about('rules'), 'null')
  assert.match(await about('replaced'), 'tip')
  assert.match(await about('DISCOUNTS'), 'loyal')
})

test('references are told where a search for the name does not find them', async () => {
  const uses = async (name: string, by = editor) =>
    ((await asked<Location[]>('references', name, name.length - 1, by)) ?? []).map(
      ({ range }) => range.start.line + 1,
    )
  assert.equal(await uses('report'), [])
  assert.ok((await uses('report', alone)).includes(lineOf('def shown')))
  assert.ok((await uses('other')).includes(lineOf('def shown')), 'a name that code has set')
})

test('an editor that says it has no static server is told all', async () => {
  assert.ok((await offered('DISC', alone)).includes('DISCOUNTS'))
  assert.ok((await offered('prin', alone)).includes('print'))
  assert.equal(await places('report', alone), [`orders.py:${lineOf('def report')}`])
  const help = await asked<SignatureHelp>('signatureHelp', 'report(', 7, alone)
  assert.match(JSON.stringify(help), 'ratio=1')
  assert.match(JSON.stringify(await asked<Hover>('hover', 'report', 5, alone)), 'ratio=1')
})
