import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openShop, type Shop } from '../support/shop.ts'
import { openTerminal } from '../support/terminal.ts'

/** `imago errors`, and what a model is told, of a real program that fails while it runs. */
const test = suite('errors of a program', { limitMs: 60_000 })

/** It fails with each order, in a logger that does not propagate or uncaught, and tells of its hooks. */
const SHOP = `
import logging, sys
quiet = logging.getLogger('quiet')
quiet.addHandler(logging.NullHandler())
quiet.propagate = False

def price(item):
    return {'tea': 2}[item]

def weigh(item):
    return {'tea': 100}[item]

def sell(item):
    if item == 'cake':
        failed = threading.Thread(target=weigh, args=(item,), name='till')
        failed.start()
        failed.join()
        return
    try:
        price(item)
    except KeyError:
        quiet.exception('could not sell %s', item)

def rest():
    if not os.path.exists('hooks'):
        with open('told', 'w') as file:
            file.write(str([sys.excepthook is sys.__excepthook__, logging.getLogRecordFactory() is logging.LogRecord]))
        os.replace('told', 'hooks')
`

let rig: Rig
let shop: Shop

test.before(async () => {
  rig = openRig()
  shop = await openShop(rig, SHOP)
  assert.is((await rig.imago(['attach', 'shop'])).code, 0)
})
test.after(async () => {
  await shop?.close()
  await rig.close()
})

/** Has it fail so, and waits until Imago has seen as many errors. */
async function fail(orders: string, lines: number): Promise<void> {
  await shop.order(orders)
  await until(
    async () => (await rig.imago(['errors'])).stdout.split('#').length - 1 === lines,
    'the errors to be seen',
  )
}

/** Of the program, which stands in the project. */
const PLACE = String.raw`shop\.py:\d+`
const TIME = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`

test('a program without errors is told as one', async () => {
  const { code, stdout } = await rig.imago(['errors'])
  assert.equal([code, stdout], [0, 'No error of the program has reached Imago.\n'])
  const envelope = onlyEnvelope(await rig.imago(['errors', '--json']))
  assert.equal(envelope.ok && envelope.result, { errors: [] })
})

test('the lists of kernels say that the errors of the program are noted', async () => {
  for (const command of [['kernels'], ['call', 'kernels']])
    assert.match((await rig.imago(command)).stdout, /shop .*, its errors are noted\n/)
})

test('each error is a line with number, time, where, what and how often, oldest first, and what callers evaluate is none', async () => {
  await fail('cake', 1)
  await fail('cake pie pie', 2)
  await rig.imago(['call', 'eval_expr', '{"expr":"price(1)"}'])
  await until(async () => (await rig.imago(['errors'])).stdout.includes('(2 times)'), 'both pies')
  const { code, stdout } = await rig.imago(['errors', '--kernel', 'shop'])
  assert.is(code, 0)
  assert.match(
    stdout,
    new RegExp(
      `^#1 {2}${TIME} {2}thread till {2}KeyError: 'cake' {2}${PLACE}\n#2 {2}${TIME} {2}thread orders {2}KeyError: 'pie' {2}${PLACE} {2}\\(2 times\\)\n$`,
    ),
  )
  const envelope = onlyEnvelope(await rig.imago(['errors', '--json']))
  const { errors } = (envelope.ok && envelope.result) as { errors: { number: number; what: string }[] }
  assert.equal(
    errors.map(({ number, what }) => [number, what]),
    [
      [1, "KeyError: 'cake'"],
      [2, "KeyError: 'pie'"],
    ],
  )
})

test('at a terminal the list says how to see one of them', async () => {
  const { code, text } = await openTerminal(rig)(['errors'], [])
  assert.is(code, 0)
  assert.match(text, /#1 .*\r?\n#2 .*\r?\nimago errors N shows one with its values\r?\n$/)
})

test('in a folder where no program listens it says so, and what to do; / is no project', async () => {
  const empty = join(rig.folder, 'empty')
  mkdirSync(empty)
  const { code, stderr } = await rig.imago(['errors'], { cwd: empty })
  assert.is(code, 4)
  assert.match(
    stderr,
    `\nYou are in ${empty}. Go to the folder of your program, or start it with: imago run -- COMMAND`,
  )
  assert.match((await rig.imago(['errors'], { cwd: '/' })).stderr, 'and no project')
})

test('get_last_error has the error of the program with the locals of its frames, and not what the caller did wrong', async () => {
  const { stdout } = await rig.imago(['call', 'get_last_error'])
  assert.match(stdout, /error 2 of the program, thread orders: logged at .*, with "could not sell pie"/)
  assert.match(stdout, /in price\n.*\n +item = 'pie'/)
  assert.match(stdout, /evaluated since, and failed: KeyError: 1 \(imago call/)
})

test('a number shows that error whole, with its traceback and locals and without the others', async () => {
  for (const number of ['1', '#1']) {
    const { code, stdout } = await rig.imago(['errors', number])
    assert.is(code, 0)
    assert.match(stdout, /^KeyError: 'cake'\nerror 1 of the program, thread till: uncaught at /)
    assert.match(stdout, /frames, innermost last:\n[\s\S]*in weigh\n.*\n +item = 'cake'/)
    assert.not.match(stdout, 'pie')
  }
  const envelope = onlyEnvelope(await rig.imago(['errors', '1', '--json']))
  const { program } = (envelope.ok && envelope.result) as { program: { number: number } }
  assert.is(program.number, 1)
})

test('an error that comes again answers to the number that it had', async () => {
  await shop.order('cake pie pie pie')
  await until(async () => (await rig.imago(['errors'])).stdout.includes('(3 times)'), 'the third pie')
  assert.match(
    (await rig.imago(['errors', '2'])).stdout,
    /error 2 of the program, thread orders: .*3 times since/,
  )
})

test('a number that there is not ends it with 1 and names those that there are; what is no number is misuse', async () => {
  const unknown = await rig.imago(['errors', '99'])
  assert.is(unknown.code, 1)
  assert.match(unknown.stderr, 'The program has no error number 99. Known: 2, 1.')
  assert.match(unknown.stderr, 'at a terminal: imago errors\n')
  for (const wrong of [['tea'], ['0'], ['-1'], ['1', '--follow'], ['1', '2']])
    assert.is((await rig.imago(['errors', ...wrong])).code, 2, wrong.join(' '))
})

test('--follow tells what is there and then what comes, until Ctrl-C, and --json a line of each', async () => {
  const [plain, json] = [rig.begin(['errors', '--follow']), rig.begin(['errors', '--follow', '--json'])]
  await plain.says(/#1 .*\n#2 .*\n/)
  await json.says(/"number":1,.*\n.*"number":2,.*\n/)
  await shop.order('cake pie pie pie cake')
  await plain.says(/\n#1 .*thread till {2}KeyError: 'cake' {2}.*shop\.py:\d+ {2}\(2 times\)\n/)
  await json.says(/\n\{"number":1,.*"times":2.*\}\n/)
  for (const one of [plain, json]) one.child.kill('SIGINT')
  assert.equal([(await plain.ended).code, (await json.ended).code], [0, 0])
})

test('a kernel that there is not ends it with 4, and one that looks for no errors of its program with 1', async () => {
  assert.is((await rig.imago(['errors', '--kernel', 'nobody'])).code, 4)
  const deaf = await startProgram({
    folder: rig.project,
    runtimeDir: rig.paths.runtimeDir,
    name: 'deaf',
    listen: 'errors=False',
  })
  const attached = await rig.imago(['attach', 'deaf', '--name', 'plain'])
  assert.not.match(attached.stdout, 'errors')
  for (const more of [[], ['--follow'], ['1']]) {
    const { code, stderr } = await rig.imago(['errors', '--kernel', 'plain', ...more])
    assert.is(code, 1, stderr)
    assert.match(stderr, 'errors=False')
  }
  deaf.signal('SIGKILL')
  await deaf.ended
})

test('an image that Imago started has the errors of its threads, apart from what is evaluated', async () => {
  await rig.imago(['start', 'python', '--name', 'own'])
  const work = 'import threading; failed = threading.Thread(target=lambda: [][1], name="till")'
  await rig.imago([
    'call',
    'eval_expr',
    JSON.stringify({ kernel: 'own', expr: `${work}; failed.start(); failed.join()` }),
  ])
  await rig.imago(['call', 'eval_expr', '{"kernel":"own","expr":"1 / 0"}'])
  const { stdout } = await rig.imago(['errors', '--kernel', 'own'])
  assert.match(
    stdout,
    new RegExp(`^#1 {2}${TIME} {2}thread till {2}IndexError: list index out of range {2}.+:1\n$`),
  )
})

/** Waits until each hook of the program is what it was before it listened, or none is, as it tells by itself. */
async function hooksAreTheirOwn(are: boolean): Promise<void> {
  const file = join(rig.project, 'hooks')
  const wanted = are ? '[True, True]' : '[False, False]'
  await until(async () => {
    rmSync(file, { force: true })
    await until(() => existsSync(file), 'the program to tell of its hooks')
    return readFileSync(file, 'utf8') === wanted
  }, `its hooks to be ${wanted}`)
}

test('detaching puts the hooks of the program back, and attaching notes errors again beside those that there were', async () => {
  await hooksAreTheirOwn(false)
  const before = (await rig.imago(['errors', '--kernel', 'shop'])).stdout
  await rig.imago(['detach', 'shop'])
  // It puts them back once it has seen that we are gone.
  await hooksAreTheirOwn(true)
  await shop.order('cake pie pie pie cake bread')
  await rig.imago(['attach', 'shop'])
  await hooksAreTheirOwn(false)
  assert.is((await rig.imago(['errors', '--kernel', 'shop'])).stdout, before)
})
