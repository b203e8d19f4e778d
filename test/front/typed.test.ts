import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openShop, type Shop } from '../support/shop.ts'

/** What a person types instead of JSON: commands that are a call of one tool, and `name=value`. */
const test = suite('typed calls', { limitMs: 60_000 })

const SHOP = `
prices = {'tea': 2, 'cake': 5}

def total(item, count):
    return prices[item] * count

def cycle(item):
    return total(item, 3)

def sell(item):
    try:
        total(item, 3)
    except KeyError:
        pass

class Db:
    asked = []

    @property
    def interval(self):
        self.asked.append(1)
        return 5

db = Db()

import sys
open('rates.py', 'w').write('RATES = [7, 11]\\n')
sys.path.insert(0, os.getcwd())
__import__('rates')
`

let rig: Rig
let shop: Shop

test.before(async () => {
  rig = openRig()
  shop = await openShop(rig, SHOP)
})
test.after(async () => {
  await shop?.close()
  await rig.close()
})

const EVALUATED: readonly (readonly [
  what: string,
  code: string,
  expected: { code: number; stdout: string; stderr?: RegExp },
])[] = [
  ['prints its value', 'total("tea", 2)', { code: 0, stdout: '4\n' }],
  ['prints what the code prints, and its value after it', 'print("on"); 7', { code: 0, stdout: 'on\n7\n' }],
  ['prints nothing for None', 'None', { code: 0, stdout: '' }],
  [
    'shows the traceback of what it raises',
    '1/0',
    { code: 1, stdout: '', stderr: /^Traceback[\s\S]*by zero\n$/ },
  ],
  ['ends as exit() says', 'exit("too bad")', { code: 1, stdout: '', stderr: /^too bad\n$/ }],
]

for (const [what, code, expected] of EVALUATED)
  test(`imago eval ${what}, as the console does`, async () => {
    const ran = await rig.imago(['eval', code])
    assert.equal([ran.code, ran.stdout], [expected.code, expected.stdout], ran.stderr)
    if (expected.stderr !== undefined) assert.match(ran.stderr, expected.stderr)
  })

test('what a module that is loaded has is named as it can be looked at, and what code has to import first is said', async () => {
  assert.match(
    (await rig.imago(['inspect', 'RATES[1]'])).stderr,
    /Nothing is called `RATES`\. Nearest: rates\.RATES\b/,
  )
  assert.match((await rig.imago(['inspect', 'rates.RATES[1]'])).stdout, '11')
  const ran = await rig.imago(['eval', 'rates.RATES[1]'])
  assert.is(ran.code, 1)
  assert.match(
    ran.stderr,
    /NameError: .*\nThe module rates is loaded, .*code needs `import rates` first, inspect does not\n$/,
  )
  assert.is((await rig.imago(['eval', 'import rates; rates.RATES[1]'])).stdout, '11\n')
})

test('imago eval - reads the code from standard input, and leaves nothing of it suspended', async () => {
  const ran = await rig.imago(['eval', '-'], { input: 'x = 20\nfor i in range(2):\n    x += 1\n\nx * 2\n' })
  assert.equal([ran.code, ran.stdout], [0, '44\n'])
  await rig.imago(['eval', '1/0'])
  assert.not.match((await rig.imago(['kernels'])).stdout, 'suspended')
})

test('imago eval --json prints exactly one envelope', async () => {
  const envelope = onlyEnvelope(await rig.imago(['eval', '6 * 7', '--json']))
  assert.is(envelope.ok && (envelope.result as { value_repr: string }).value_repr, '42')
})

test('imago inspect and imago threads answer as their tools do', async () => {
  const inspected = await rig.imago(['inspect', 'prices'])
  assert.is(inspected.code, 0)
  assert.match(inspected.stdout, "'cake': 5")
  const threads = await rig.imago(['threads', 'orders', 'locals=false'])
  assert.match(threads.stdout, /orders[\s\S]*in watch/)
  assert.not.match(threads.stdout, 'done = ')
  assert.match((await rig.imago(['threads', 'locals=false'])).stdout, 'MainThread')
})

test('imago inspect runs no property, and says what to type to run it', async () => {
  const inspected = await rig.imago(['inspect', 'db.interval'])
  assert.is(inspected.code, 1)
  assert.match(inspected.stderr, /^needs_evaluation: .*property of .*Db.*Nothing was run/)
  assert.match(inspected.stderr, "imago eval 'db.interval'")
  assert.match((await rig.imago(['inspect', 'db.asked'])).stdout, 'len 0')
  assert.is((await rig.imago(['eval', 'db.interval'])).stdout, '5\n')
})

test('imago inspect opens a local of a running function, which a name that is not found leads to', async () => {
  assert.match(
    (await rig.imago(['inspect', 'done'])).stderr,
    /It is a local of watch in orders\.[\s\S]*inspect \{"expr":"done","frame":"watch in orders"\}/,
  )
  const opened = await rig.imago(['inspect', 'done', 'frame=watch in orders'])
  assert.match(opened.stdout, '`done` is a local of watch in orders, at ')
})

const NAMED: readonly (readonly [what: string, words: readonly string[], shows: RegExp])[] = [
  ['a text', ['inspect', 'expr=prices'], /'cake': 5/],
  ['a text that holds =', ['eval_expr', 'expr=len("a=b")'], /^3\n$/],
  ['a text that is JSON, where a text is wanted', ['eval_expr', 'expr=["a"]'], /\['a'\]/],
  ['a truth value and a number', ['threads', 'filter=orders', 'locals=false', 'limit=1'], /in watch/],
  ['one of some words', ['eval_expr', 'expr=1', 'on_error=end'], /^1\n$/],
  ['the kernel', ['inspect', 'expr=prices', 'kernel=shop'], /'cake': 5/],
  ['JSON, as ever', ['inspect', '{"expr": "prices"}'], /'cake': 5/],
]

for (const [what, words, shows] of NAMED)
  test(`imago call takes ${what} as it is typed`, async () => {
    const ran = await rig.imago(['call', ...words])
    assert.is(ran.code, 0, ran.stderr)
    assert.match(ran.stdout, shows)
  })

const REFUSED: readonly (readonly [what: string, words: readonly string[], says: RegExp])[] = [
  [
    'a bare word: both ways to write it are said',
    ['call', 'inspect', 'o'],
    /not JSON.*\n {2}imago call inspect expr=o\n {2}imago call inspect '\{"expr":"o"\}'/,
  ],
  ['broken JSON', ['call', 'inspect', '{expr: 1}'], /not JSON[\s\S]*expr=value/],
  ['blanks about the =', ['call', 'inspect', 'expr = a b'], /Write\n {2}imago call inspect 'expr=a b'\n/],
  [
    'a name without its value',
    ['call', 'inspect', 'package'],
    /Write\n {2}imago call inspect package=value\n/,
  ],
  ['a number alone', ['call', 'inspect', '5'], /it is no object[\s\S]*expr=5/],
  ['JSON beside a name', ['call', 'inspect', '{"expr":"o"}', 'package=x'], /it stands beside others/],
  ['a name twice', ['call', 'inspect', 'expr=a', 'expr=b'], /expr is given twice/],
  ['a parameter that there is not', ['call', 'inspect', 'exrp=o'], /exrp/],
  ['a value of another kind', ['call', 'threads', 'limit=many'], /limit/],
  ['a tool that there is not', ['call', 'inspct', 'expr=o'], /inspect/],
  ['code in several words', ['eval', '1', '+', '2'], /Quote what has blanks in it: imago eval '1 \+ 2'/],
  ['no code', ['eval'], /Usage: imago eval CODE/],
]

for (const [what, words, says] of REFUSED)
  test(`refused, with exit 2: ${what}`, async () => {
    const ran = await rig.imago(words)
    assert.is(ran.code, 2, ran.stdout)
    assert.is(ran.stdout, '')
    assert.match(ran.stderr, says)
  })

test('to stop or restart a program that is attached is refused, and nothing of it is said to end', async () => {
  await rig.imago(['call', 'eval_expr', 'expr=1/0', 'on_error=suspend'])
  assert.match((await rig.imago(['kernels'])).stdout, /shop.*1 suspended/)
  for (const command of ['stop', 'restart']) {
    const { code, stdout, stderr } = await rig.imago([command, 'shop'])
    assert.equal([code, stdout], [1, ''])
    assert.match(stderr, 'imago detach shop')
    assert.not.match(stderr, 'ends with it')
  }
})

test('imago trace answers as the tool does, and --follow prints calls as they end until Ctrl-C takes it out', async () => {
  const set = await rig.imago(['trace', 'cycle', 'calls=2'])
  assert.match(set.stdout, /^t1@\S+ __main__.cycle: on, 0 calls of 2/)
  const [plain, json] = [
    rig.begin(['trace', 'total', '--follow']),
    rig.begin(['trace', 'total', '--follow', '--json']),
  ]
  await until(() => [plain, json].every(one => one.so.stderr.includes('Ctrl-C')), 'both tracepoints')
  await shop.order('tea cake')
  await plain.says(
    /#1 __main__.total\(item='tea', count=3\) → 6, [\s\S]*#2 __main__.total\(item='cake', count=3\) → 15, /,
  )
  await shop.order('tea cake pie')
  await plain.says(/#3 __main__.total\(item='pie', count=3\) raised KeyError: 'pie'/)
  await json.says(/^\{"number":1,.*\n\{"number":2,.*\n\{"number":3,.*\n$/)
  for (const one of [plain, json]) one.child.kill('SIGINT')
  const [told] = await Promise.all([plain.ended, json.ended])
  assert.equal([told.code, (await json.ended).code], [0, 0])
  assert.match(told.stderr, /: removed, 3 calls of 1000 \(by /)
  const left = await rig.imago(['call', 'trace_calls'])
  assert.equal(
    [...left.stdout.matchAll(/ __main__.total: (\w+)/g)].map(([, state]) => state),
    ['removed', 'removed'],
  )
})

test('imago trace --follow is in the journal once, however many calls it prints', async () => {
  const looks = async () => {
    const { stdout } = await rig.imago(['log', '--json', '--tool', 'trace_calls', '--count', 'all'])
    return stdout.split('\n').filter(line => line.includes('"type":"looked"')).length
  }
  const before = await looks()
  const followed = rig.begin(['trace', 'total', 'calls=3', '--follow'])
  await until(() => followed.so.stderr.includes('Ctrl-C'), 'the tracepoint')
  await shop.order('tea cake pie tea')
  await followed.says(/#1 /)
  await shop.order('tea cake pie tea tea')
  await followed.says(/#2 /)
  await shop.order('tea cake pie tea tea tea')
  const { stdout } = await followed.ended
  assert.is(stdout.match(/^#\d /gm)?.length, 3)
  const listed = await rig.imago(['call', 'trace_calls'])
  assert.is(listed.code, 0)
  await until(async () => (await looks()) > before + 1, 'what came after them to be written')
  assert.equal(await looks(), before + 2)
})

test('imago trace --follow ends by itself after the calls that were asked for, and says why it cannot trace', async () => {
  const followed = rig.begin(['trace', 'total', 'calls=1', '--follow'])
  await until(() => followed.so.stderr.includes('Ctrl-C'), 'the tracepoint')
  await shop.order('tea cake pie tea tea tea cake')
  const { code, stdout, stderr } = await followed.ended
  assert.is(code, 0)
  assert.match(stdout, /^#1 __main__.total\(item='cake'/)
  assert.match(stderr, /: full, 1 call of 1; it is out of the program \(by /)
  const unknown = await rig.imago(['trace', 'nothing_there', '--follow'])
  assert.is(unknown.code, 1)
  assert.match(unknown.stderr, 'nothing_there')
})
