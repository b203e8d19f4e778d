import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** `imago errors` and `get_last_error` about real programs that have ended. */
const test = suite('errors of processes that have gone', { limitMs: 120_000 })

const CRASH = `
def price(order, password='swordfish-77'):
    rate = {'early': 10}[order['discount']]
    return 100 - rate

price({'items': ['tea'], 'discount': None, 'api_key': 'sk-0123456789abcdefghij'})
`

let rig: Rig
test.before.each(() => {
  rig = openRig()
  write('crash.py', CRASH)
})
test.after.each(() => rig.close())

const write = (name: string, source: string) => writeFileSync(join(rig.project, name), source)
const crash = (...words: string[]) =>
  rig.imago(['run', '--', 'python3', ...(words.length === 0 ? ['crash.py'] : words)])
const folder = () => join(rig.paths.stateDir, 'errors')
const records = () => readdirSync(folder()).filter(name => name.endsWith('.json'))

test('what a script ended with is told with its frames and values, and that it has gone', async () => {
  assert.is((await crash()).code, 1)
  const listed = await rig.imago(['errors'])
  assert.is(listed.code, 0)
  assert.match(
    listed.stdout,
    /^\d+#1 {2}.* {2}thread MainThread {2}KeyError: None {2}crash\.py:3 {2}\(crash ended with it at \d\d:\d\d:\d\d\)\n$/,
  )
  const told = await rig.imago(['call', 'get_last_error'])
  assert.is(told.code, 0)
  assert.match(
    told.stdout,
    /^KeyError: None\nerror 1 of process \d+, thread MainThread: uncaught at .*\ncrash \(process \d+\) ended with it at .*, and nothing of the project listens now; /,
  )
  assert.match(told.stdout, /crash\.py:3 in price\n.*\n +order = \{'items': \['tea'\], 'discount': None/)
  const [id = ''] = listed.stdout.split(' ')
  // Where the process is named, nobody looks whether another one listens.
  const named = told.stdout.replace(', and nothing of the project listens now', '')
  assert.is((await rig.imago(['errors', id])).stdout, named)
  const other = await rig.imago(['errors', '1#7'])
  assert.is(other.code, 1)
  assert.match(other.stderr, /Known: 1 of process \d+\./)
})

test('a source that does not compile is the place of its error, whichever file was run', async () => {
  write('bad.py', 'x = 1\ndef total(:\n')
  write('main.py', 'import os\nimport bad\n')
  for (const run of ['main.py', 'bad.py']) await crash(run)
  const lines = (await rig.imago(['errors'])).stdout.trimEnd().split('\n')
  assert.is(lines.length, 2)
  for (const line of lines) assert.match(line, /SyntaxError: .* {2}bad\.py:2 {2}\((main|bad) ended with it/)
})

test('what the top level of a script had is kept, first the names of the line that failed', async () => {
  write(
    'train.py',
    "import math\nrows = [3, 0]\nunused = 'x'\nfor step, row in enumerate(rows):\n    loss = math.log(row) if row else 1 / row\n",
  )
  assert.is((await crash('train.py')).code, 1)
  const told = await rig.imago(['call', 'get_last_error'])
  assert.match(
    told.stdout,
    /train\.py:5 in <module>\n.*\n +loss = 1\.0986\d+\n +row = 0\n +step = 1\n +unused = 'x'\n +rows = \[3, 0\]\n/,
  )
  assert.not.match(told.stdout, / math = | enumerate = /)
  const frame = '<module> in error 1'
  const loss = await rig.imago(['call', 'inspect', JSON.stringify({ expr: 'loss', frame })])
  assert.match(loss.stdout, /repr: 1\.0986/)
})

test('a local of a method is told by the name that the error gives it, and by its last part', async () => {
  const text = 'class Order:\n    def total(self, price):\n        return price / 0\nOrder().total(3)\n'
  write('train.py', text)
  assert.is((await crash('train.py')).code, 1)
  const told = await rig.imago(['call', 'get_last_error'])
  const [, whole = ''] = /train\.py:3 in (\S*total)/.exec(told.stdout) ?? []
  for (const name of [whole, 'total']) {
    const asked = JSON.stringify({ expr: 'price', frame: `${name} in error 1` })
    assert.match((await rig.imago(['call', 'inspect', asked])).stdout, /repr: 3/, name)
  }
})

test('a local of what a script ended with is told as it was kept, and who has it where no frame was named', async () => {
  await crash()
  const inspect = (args: object) => rig.imago(['call', 'inspect', JSON.stringify(args)])
  const missed = await inspect({ expr: "order['items']" })
  assert.is(missed.code, 1)
  const [, frame = ''] = /It is a local of (price in error 1 of process \d+)\./.exec(missed.stderr) ?? []
  const [told, short] = [
    await inspect({ expr: 'order', frame }),
    await inspect({ expr: 'order', frame: 'price in error 1' }),
  ]
  assert.equal([told.code, told.stdout], [0, short.stdout])
  assert.match(
    told.stdout,
    /^dict · object\nnote: the text of order as it was in price in error 1 of process \d+, at \S*crash\.py:3, is all that was kept: crash \(process \d+\) has gone\nrepr: \{'items': \['tea'\]/,
  )
  const part = await inspect({ expr: "order['items'][0]", frame })
  assert.is(part.code, 1)
  assert.match(part.stderr, /order\['items'\]\[0\] cannot be read: .* has gone\. order = \{'items'/)
  const secret = await inspect({ expr: 'password', frame })
  assert.match(secret.stdout, '[redacted: password, 14 characters]')
  assert.match(
    (await inspect({ expr: 'total', frame })).stderr,
    /total is not among the locals that were kept/,
  )
})

test('the name of a frame alone is enough where one error of a process that has gone has such a frame', async () => {
  write('shop.py', CRASH)
  const inspect = (expr: string) => rig.imago(['call', 'inspect', JSON.stringify({ expr, frame: 'price' })])
  await crash()
  const { stdout } = await inspect('order')
  assert.match(stdout, /note: the text of order as it was in price in error 1 of process \d+, at .*\nrepr: /)
  assert.match((await inspect('total')).stderr, 'total is not among the locals that were kept of price.')
  await crash('shop.py')
  const several = await inspect('order')
  assert.match(
    several.stderr,
    /order was kept of several frames that are called price\. It is a local of price in error 1 of process \d+, price in error 1 of process \d+\./,
  )
})

test('a local of an error that the program had is read where something keeps the frame, else as it was kept', async () => {
  const source = `
import imago, logging, threading
imago.listen('web')
def price(order):
    return {'early': 10}[order['discount']]
for held in (True, False):
    try:
        price({'items': ['tea', 'pie'], 'discount': str(held)})
    except KeyError as error:
        logging.exception(str(held))
        kept = [error] if held else kept
print('there', flush=True)
threading.Event().wait()
`
  write(
    'web.py',
    source
      .replace('price({', '(first if held else again)({')
      .replace(
        'for held',
        'def first(order):\n    return price(order)\ndef again(order):\n    return price(order)\nfor held',
      ),
  )
  const path = { PYTHONPATH: join(import.meta.dirname, '../../wire/peers/python') }
  const program = rig.begin(['run', '--', 'python3', 'web.py'], { env: path })
  await program.says(/there/)
  const inspect = (args: object) => rig.imago(['call', 'inspect', JSON.stringify(args)])
  assert.match(
    (await inspect({ expr: 'order' })).stderr,
    /It is a local of .*price in error 2.*price in error 1/,
  )
  const whole = await inspect({ expr: "order['items'][-1:]", frame: 'price in error 1' })
  const other = await inspect({ expr: 'order', frame: 'price in error 1 of process 1' })
  assert.match(other.stderr, 'No process that has gone has left that error. Known: none.')
  assert.match(whole.stdout, /note: `order` is a local of price in error 1, at .*\n.*\['pie'\]/s)
  const text = await inspect({ expr: 'order', frame: 'price in error 2' })
  assert.match(text.stdout, /is all that was kept: nothing keeps that frame now\nrepr: \{'items'/)
  assert.is((await inspect({ expr: "order['items'][-1:]", frame: 'price in error 2' })).code, 1)
  const held = await inspect({ expr: "order['items'][-1:]", frame: 'price' })
  assert.match(
    held.stderr,
    /several frames that are called price\. It is a local of price in error 2, price in error 1\./,
  )
  const first = await inspect({ expr: "order['items'][-1:]", frame: 'first' })
  assert.match(first.stdout, /note: `order` is a local of first in error 1, at .*\n.*\['pie'\]/s)
  const alone = await inspect({ expr: 'order', frame: 'again' })
  assert.match(
    alone.stdout,
    /text of order as it was in again in error 2, .*: nothing keeps that frame now\nrepr: /,
  )
  program.child.kill('SIGTERM')
  await program.ended
})

test('the record is for its owner alone, and holds no secret', async () => {
  await crash()
  const [name = ''] = records()
  assert.equal([statSync(folder()).mode & 0o777, statSync(join(folder(), name)).mode & 0o777], [0o700, 0o600])
  const text = readFileSync(join(folder(), name), 'utf8')
  assert.match(text, '[redacted: password, 14 characters]')
  assert.match(text, '[redacted: api key, 23 characters]')
  for (const secret of ['swordfish', 'sk-0123456789']) assert.not.match(text, secret)
})

test('errors of a process are kept beside those of the one that has taken its place', async () => {
  const listens = 'import imago, logging, threading; imago.listen("web")'
  const fails = 'try:\n    [][1]\nexcept IndexError:\n    logging.exception("no rate")'
  write('web.py', `${listens}\n${fails}\nprint("there", flush=True)\nthreading.Event().wait()\n`)
  const path = { PYTHONPATH: join(import.meta.dirname, '../../wire/peers/python') }
  const begin = () => rig.begin(['run', '--', 'python3', 'web.py'], { env: path })
  const first = begin()
  await first.says(/there/)
  assert.match((await rig.imago(['errors'])).stdout, /^#1 .* IndexError: .* {2}web\.py:3\n$/)
  first.child.kill('SIGTERM')
  await first.ended
  const second = begin()
  await second.says(/there/)
  await until(async () => (await rig.imago(['errors'])).stdout.split('\n').length === 3, 'both to be told')
  assert.match(
    (await rig.imago(['errors'])).stdout,
    /^\d+#1 .* IndexError: .* {2}web\.py:3 {2}\(web has gone\)\n#1 .* IndexError: .*web\.py:3\n$/,
  )
  const [ofFirst = ''] = (await rig.imago(['errors'])).stdout.split(' ')
  const told = await rig.imago(['errors', ofFirst])
  assert.match(
    told.stdout,
    /\nweb \(process \d+\) has gone and did not say when; the values are as they were/,
  )
  second.child.kill('SIGTERM')
  await second.ended
})

test('--forget removes what the processes of the project have left, and of no other one', async () => {
  await crash()
  const other = join(rig.project, '../other')
  mkdirSync(other)
  writeFileSync(join(other, 'crash.py'), CRASH)
  await rig.imago(['run', '--', 'python3', 'crash.py'], { cwd: other })
  const { code, stdout } = await rig.imago(['errors', '--forget'])
  assert.equal([code, stdout], [0, 'Forgotten: the errors of 1 process of this project that has gone.\n'])
  assert.is(records().length, 1)
  const { code: left, stdout: none, stderr } = await rig.imago(['errors'])
  assert.is(left, 4)
  assert.not.match(none + stderr, 'KeyError')
  assert.match((await rig.imago(['errors'], { cwd: other })).stdout, 'crash ended with it')
  assert.is((await rig.imago(['errors', '--forget', '--follow'])).code, 2)
})

test('a rule that keeps a program from the caller keeps what it has left from them too', async () => {
  mkdirSync(rig.paths.configDir, { recursive: true, mode: 0o700 })
  const rule = (kernel: string) =>
    `[[rule]]\ndecision = "deny"\ntool = "get_last_error"\nkernel = "${kernel}"\n`
  writeFileSync(join(rig.paths.configDir, 'policy.toml'), rule('project'), { mode: 0o600 })
  await crash()
  await rig.imago(['run', '--name', 'other', '--', 'python3', 'crash.py'])
  const told = (await rig.imago(['call', 'get_last_error', '{"whose": "gone"}'])).stdout
  assert.not.match(told, 'other errors')
  assert.match((await rig.imago(['errors'])).stdout, /^\d+#1 .*ended with it at [\d:]+\)\n$/)
  assert.is((await rig.imago(['errors', '--kernel', 'other'])).code, 0)
  assert.is((await rig.imago(['errors', '--kernel', 'project'])).code === 0, false)
})

test('it does so by the name under which a person has attached the program, for the next daemon too', async () => {
  mkdirSync(rig.paths.configDir, { recursive: true, mode: 0o700 })
  const rule = '[[rule]]\ndecision = "deny"\ntool = "get_last_error"\nkernel = "prod"\n'
  writeFileSync(join(rig.paths.configDir, 'policy.toml'), rule, { mode: 0o600 })
  const waits =
    'import os, time\nprint("there", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)\n'
  write('job.py', waits + CRASH)
  const job = rig.begin(['run', '--', 'python3', 'job.py'])
  await job.says(/there/)
  assert.is((await rig.imago(['attach', 'project', '--name', 'prod'])).code, 0)
  write('go', '')
  assert.is((await job.ended).code, 1)
  assert.is(records().length, 1)
  for (const _ of ['this daemon', 'the next one', 'the one after that']) {
    const told = [await rig.imago(['call', 'get_last_error']), await rig.imago(['errors'])]
    assert.not.match(told.map(({ stdout }) => stdout).join(''), 'KeyError')
    await rig.imago(['shutdown'])
  }
})

test('a rule that keeps the errors of a kernel from callers keeps what ended it, and its last words', async () => {
  mkdirSync(rig.paths.configDir, { recursive: true, mode: 0o700 })
  const rules = join(rig.paths.configDir, 'policy.toml')
  const told = async () => {
    const said = [
      await rig.imago(['inspect', 'x', '--kernel', 'shop']),
      await rig.imago(['eval', 'x', '--kernel', 'batch']),
      await rig.imago(['kernels', '--all']),
      await rig.imago(['call', 'kernels']),
      await rig.imago(['call', 'attach', 'name=shop']),
    ]
    return said.map(({ stdout, stderr }) => stdout + stderr).join('')
  }
  const ends = 'import os; os.write(2, b"price of tea: 77\\n"); os._exit(3)'
  write('batch.py', ends)
  const end = async () => {
    const started = await rig.imago(['start', 'python', '--name', 'batch', '--script', 'batch.py'])
    await rig.imago(['start', 'python', '--name', 'shop'])
    await rig.imago(['eval', '--kernel', 'shop', ends])
    return `${started.stderr}${await told()}`
  }
  await crash()
  const noneLives = async () => (await rig.imago(['inspect', 'x'])).stderr
  const before = await noneLives()
  const open = `${before}${await end()}`
  for (const word of ['price of tea', 'KeyError', 'exit code 3']) assert.match(open, word)
  const rule = '[[rule]]\ndecision = "deny"\ntool = "get_last_error"\n'
  writeFileSync(rules, ['project', 'shop', 'batch'].map(name => `${rule}kernel = "${name}"\n`).join(''))
  const closed = `${await end()}${await noneLives()}`
  for (const word of ['price of tea', 'KeyError']) assert.not.match(closed, word)
  for (const name of ['shop', 'batch']) assert.match(closed, `${name} ended by itself with exit code 3.`)
})

test('a kernel of ours that has ended is started again by imago attach', async () => {
  await rig.imago(['start', 'python', '--name', 'shop'])
  await rig.imago(['eval', '--kernel', 'shop', 'import os; os._exit(3)'])
  const { code, stdout } = await rig.imago(['attach', 'shop'])
  assert.is(code, 0)
  assert.match(stdout, /^shop {2}ready {2}\d+ .*\n.*It was started again, and is empty\..* exit code 3\./)
  assert.match(stdout, 'imago stop shop ends it.')
  assert.is((await rig.imago(['eval', '1 + 1', '--kernel', 'shop'])).stdout, '2\n')
})

test('a record that is cut short, too large, a link, or open to others is told, and the others are read', async () => {
  await crash()
  const [name = ''] = records()
  const of = name.slice(0, 12)
  const put = (pid: number, text: string) => {
    const file = join(folder(), `${of}-20250101T000000-${pid}-0123abcd.json`)
    writeFileSync(file, text, { mode: 0o600 })
    return file
  }
  const whole = readFileSync(join(folder(), name), 'utf8')
  put(101, whole.slice(0, whole.length / 2))
  put(102, 'x'.repeat(10 * 1024 * 1024))
  chmodSync(put(103, whole), 0o644)
  symlinkSync(join(folder(), name), join(folder(), `${of}-20250101T000000-104-0123abcd.json`))
  put(105, whole.replace('"errors": [', '"errors": [7, '))
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(put(106, whole), 4242, 4242)
  const { code, stdout } = await rig.imago(['call', 'get_last_error'])
  assert.is(code, 0)
  assert.match(stdout, /^KeyError: None\nerror 1 of process/)
  assert.match((await rig.imago(['errors'])).stdout, /^\d+#1 .*\nnot read: /)
  for (const [pid, reason] of [
    [101, 'was cut short'],
    [102, 'is larger than 1048576 bytes'],
    [103, 'is open to others \\(mode 644'],
    [104, 'is a symbolic link'],
    [105, 'is no record of errors: errors.0'],
    ...(isRoot ? [[106, 'belongs to user 4242'] as const] : []),
  ] as const)
    assert.match(stdout, new RegExp(`not read: \\S+-${pid}-0123abcd\\.json .*${reason}`))
  await rig.imago(['errors', '--forget'])
  assert.equal(records(), [])
})

test('a process that is killed leaves the last of many errors, a moment after it came', async () => {
  const many =
    'import logging, time\nfor n in range(5):\n    try: raise type("E%d" % n, (Exception,), {})()\n    except Exception: logging.exception("x")\n'
  write(
    'many.py',
    `${many}import os\nwhile not os.path.exists("go"): time.sleep(0.02)\nos.kill(os.getpid(), 9)\n`,
  )
  const begun = rig.begin(['run', '--', 'python3', 'many.py'])
  const kept = () =>
    records()
      .map(name => readFileSync(join(folder(), name), 'utf8'))
      .join('')
  try {
    await until(() => existsSync(folder()) && /"E4"/.test(kept()), 'the last one to be kept')
  } finally {
    write('go', '')
    await begun.ended
  }
  assert.match(kept(), '"E4"')
})

test('a secret of the environment, and of a local that is named as one, is in no part of a record', async () => {
  const lines = [
    'import os',
    'def connect(password, options):',
    '    raise RuntimeError("cannot connect with " + options[1] + " and " + os.environ["DB_PASSWORD"])',
    'connect("swordfish-and-7", ["user", "swordfish-and-7"])',
  ]
  write('crash.py', lines.join('\n'))
  const begun = rig.begin(['run', '--', 'python3', 'crash.py'], { env: { DB_PASSWORD: 'hunter2hunter2' } })
  await begun.ended
  const kept = records()
    .map(name => readFileSync(join(folder(), name), 'utf8'))
    .join('')
  assert.match(kept, 'cannot connect with')
  for (const secret of ['hunter2hunter2', 'swordfish-and-7']) assert.not.match(kept, secret)
})

test('a record that cannot be read is told where it is the only one', async () => {
  await crash()
  const [name = ''] = records()
  const whole = readFileSync(join(folder(), name), 'utf8')
  writeFileSync(join(folder(), name), whole.slice(0, whole.length / 2))
  for (const line of [['call', 'get_last_error'], ['errors']]) {
    const { code, stdout } = await rig.imago(line)
    assert.is(code, 0, line[0])
    assert.match(stdout, /not read: \S+\.json is no whole record of errors: it was cut short/)
  }
  assert.match((await rig.imago(['call', 'get_last_error'])).stdout, 'has left an error that can be read')
})

test('a large value in a frame of the dead costs a record nothing', async () => {
  write('crash.py', `big = ['x' * 100] * 10_000_000\n${CRASH.replace('rate =', 'local = big; rate =')}`)
  await crash()
  const [name = ''] = records()
  assert.ok(statSync(join(folder(), name)).size < 64 * 1024)
  assert.match((await rig.imago(['call', 'get_last_error'])).stdout, /local = \['x+/)
})

test('of more errors than are kept, the newest are told, and of more processes', async () => {
  const many =
    'kinds = [type("E%d" % n, (Exception,), {}) for n in range(30)]\nfor kind in kinds:\n    try: raise kind(run)\n    except Exception: logging.exception("x")'
  for (let run = 0; run < 3; run++) {
    write('many.py', `import logging\nrun = ${run}\n${many}\n`)
    await crash('many.py')
  }
  assert.is(records().length, 3)
  const envelope = onlyEnvelope(await rig.imago(['errors', '--json']))
  const { errors } = (envelope.ok && envelope.result) as { errors: { what: string }[] }
  assert.is(errors.length, 20)
  assert.match(errors.at(-1)?.what ?? '', 'E29')
  const code = `import os, sys; sys.path.insert(0, ${JSON.stringify(join(import.meta.dirname, '../../wire/peers/python'))})
from imago import error_record
os.makedirs(sys.argv[1], exist_ok=True)
for n in range(30): open(os.path.join(sys.argv[1], 'a' * 12 + '-20250101T%06d-7.json' % n), 'w').close()
error_record._make_room(sys.argv[1], 'a' * 12)
print(len(os.listdir(sys.argv[1])), min(os.listdir(sys.argv[1])))`
  const made = spawnSync('python3', ['-c', code, join(rig.project, 'records')], { encoding: 'utf8' })
  assert.is(made.stdout, `19 aaaaaaaaaaaa-20250101T000011-7.json\n`)
})

test('a script that crashes again and again has one error, which is counted, and pushes out no other', async () => {
  await crash()
  write('w.py', 'step = (\n')
  for (let count = 0; count < 22; count++) await crash('w.py')
  const lines = (await rig.imago(['errors'])).stdout.trimEnd().split('\n')
  assert.is(lines.length, 2, lines.join('\n'))
  assert.match(lines[0] ?? '', 'KeyError: None  crash.py:3')
  assert.match(lines[1] ?? '', /SyntaxError: .* {2}w\.py:1 {2}\(22 times\) {2}\(w ended with it/)
  assert.is(records().length, 2)
  write('w.py', 'step = 1\nstep = (\n')
  await crash('w.py')
  assert.is(records().length, 3)
})

test('tests that failed under pytest are told with their values, and those that were meant to fail are not', async () => {
  write(
    'test_shop.py',
    [
      'import pytest',
      'def test_price():\n    got = 11\n    assert got == 10',
      '@pytest.mark.xfail\ndef test_later():\n    assert False',
      'def test_none():\n    with pytest.raises(KeyError): {}[1]',
      'def test_skipped():\n    pytest.skip("not here")',
    ].join('\n'),
  )
  const ran = await rig.imago(['run', '--', venvPython, '-m', 'pytest', '-q', '-p', 'no:cacheprovider'])
  assert.match(ran.stdout, '1 failed, 1 passed, 1 skipped, 1 xfailed')
  assert.not.match(ran.stdout + ran.stderr, 'Warning')
  const told = (await rig.imago(['call', 'get_last_error'])).stdout
  assert.match(told, /error 1 of process \d+, test test_shop\.py::test_price: failed at/)
  assert.match(told, '\n      got = 11\n')
  assert.not.match(told, 'other errors')
})
