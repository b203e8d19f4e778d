import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '../../src/front/cli.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import { assert, suite } from '../support/harness.ts'
import { type Begun, openRig, type Ran, type Rig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** Every command that is about a kernel, with a group, an ended kernel, an unknown name, and where nobody listens. */
const test = suite('every command and every kernel', { limitMs: 240_000 })

const PROGRAM = `
import threading, time
x = 1
def total(a):
    return a
def sell():
    raise KeyError("tea")
threading.Thread(target=sell).start()
while True:
    total(1)
    time.sleep(0.05)
`

/** By command, as it is typed about a kernel; `undefined` where it is about none. */
const LINES: Readonly<Record<string, ((kernel: string) => readonly (readonly string[])[]) | undefined>> = {
  '': undefined,
  call: k => [
    ...['get_last_error', 'trace_calls', 'list_globals', 'threads'].map(tool => [tool, '--kernel', k]),
    ['complete', 'text=tot', '--kernel', k],
    ['eval_expr', 'expr=x', '--kernel', k],
  ],
  eval: k => [['x', '--kernel', k]],
  inspect: k => [['x', '--kernel', k]],
  threads: k => [['--kernel', k]],
  trace: k => [
    ['total', '--kernel', k],
    ['total', '--follow', 'calls=2', '--kernel', k],
  ],
  policy: undefined,
  undo: undefined,
  tools: undefined,
  start: undefined,
  run: undefined,
  kernels: () => [[]],
  errors: k => [
    ['--kernel', k],
    ['1', '--kernel', k],
    ['--follow', '--kernel', k],
  ],
  log: k => [['--kernel', k]],
  interrupt: k => [[k]],
  restart: k => [[k]],
  stop: k => [[k]],
  attach: k => [[k]],
  detach: k => [[k]],
}

let rig: Rig
let programs: readonly Begun[]
test.before.each(async () => {
  rig = openRig()
  writeFileSync(join(rig.project, 'app.py'), PROGRAM)
})
test.after.each(() => rig.close())

const announced = () =>
  readAnnouncements(rig.paths.runtimeDir).programs.filter(one => one.process === 'lives')

async function start() {
  const others = announced().length
  programs = ['g', 'g'].map(name => rig.begin(['run', '--name', name, '--', venvPython, 'app.py']))
  await until(() => announced().length === others + 2, 'both programs to listen')
}

async function end(...some: readonly (Begun | undefined)[]) {
  for (const one of some) one?.child.kill('SIGTERM')
  await Promise.all(some.map(one => one?.ended))
}

/** One command to its end; one that goes on is ended once it has said something. */
async function ran(line: readonly string[]): Promise<Ran> {
  const begun = rig.begin(line)
  if (line.includes('--follow')) {
    let over = false
    void begun.ended.then(() => {
      over = true
    })
    await until(() => over || `${begun.so.stdout}${begun.so.stderr}` !== '', `${line.join(' ')} to answer`)
    begun.child.kill('SIGINT')
  }
  return begun.ended
}

const RAW =
  /TypeError|ReferenceError|Cannot read|is not a function|is not iterable|undefined|\[object|\.[ct]s:\d+/

/** Runs every line: each answers, or says why not. The answers by line. */
async function all(kernel: string): Promise<ReadonlyMap<string, Ran>> {
  const answers = new Map<string, Ran>()
  for (const { name } of COMMANDS)
    for (const words of LINES[name]?.(kernel) ?? []) {
      const line = [name, ...words]
      const { code, stdout, stderr } = await ran(line)
      const said = `imago ${line.join(' ')} → ${code}\n${stdout}${stderr}`
      assert.not.match(stdout + stderr, RAW, said)
      assert.ok((stdout + stderr).trim() !== '' && code !== null && code <= 5, said)
      answers.set(line.join(' '), { code, stdout, stderr })
    }
  return answers
}

test('each command is in the table', () => {
  const about = COMMANDS.filter(one => one.options.includes('kernel') || one.of?.includes('kernel'))
  assert.equal(
    about.map(({ name }) => name).filter(name => !(name in LINES)),
    [],
  )
})

test('a group answers by member, whether one of it has ended or not, and what is for one says so', async () => {
  await start()
  const both = await all('g/*')
  assert.match(both.get('errors --kernel g/*')?.stdout ?? '', /^g {2}#1 .*\ng\/2 {2}#1 .*app\.py:7/)
  assert.match(both.get('errors --follow --kernel g/*')?.stdout ?? '', /^g {2}#1 .*\ng\/2 {2}#1 /)
  assert.match(both.get('trace total --kernel g/*')?.stdout ?? '', /^g:\n/)
  assert.match(both.get('trace total --follow calls=2 --kernel g/*')?.stderr ?? '', /(t\d.*Ctrl-C[\s\S]*){2}/)
  for (const command of ['interrupt', 'restart', 'stop', 'detach', 'attach'])
    assert.match(both.get(`${command} g/*`)?.stderr ?? '', 'g/* means all of a group, and this is for one')
  assert.match(both.get('eval x --kernel g/*')?.stderr ?? '', 'Choose one: --kernel g\n')
  await end(programs[1])
  // Which of them is `g`, and which `g/2`, depends on who was attached to first.
  assert.match((await all('g/*')).get('inspect x --kernel g/*')?.stdout ?? '', /^g(\/2)?:\n/)
})

test('where none is named, the refusal has the option for one, and for all where they can be asked', async () => {
  await start()
  const refused = async (...line: string[]) => (await ran(line)).stderr
  assert.match(await refused('eval', 'x'), /^Choose one: --kernel g-\d+$/m)
  const one = await refused('trace', 'total', '--follow')
  assert.match(one, /^Choose one: --kernel g-\d+ {3}or ask all: --kernel 'g\/\*'$/m)
  assert.is((await rig.imago(['errors', '--kernel', 'g/*'])).code, 0)
  const living = await refused('trace', 'total', '--follow')
  assert.match(living, /^Choose one: --kernel g(\/2)? {3}or ask all: --kernel 'g\/\*'$/m)
})

test('a kernel that has ended, and all of a group that have, say that and keep their errors', async () => {
  await start()
  assert.is((await rig.imago(['errors', '--kernel', 'g/*'])).code, 0)
  await end(...programs)
  for (const kernel of ['g/*', 'g']) {
    const answers = await all(kernel)
    assert.match(answers.get(`errors --kernel ${kernel}`)?.stdout ?? '', "KeyError: 'tea'")
    assert.match(answers.get(`threads --kernel ${kernel}`)?.stderr ?? '', /has ended \(process/)
  }
})

test('an unknown name, and one where nobody listens, are told as such', async () => {
  for (const code of [4, 4]) {
    const answers = await all('nobody')
    for (const line of ['errors --kernel', 'trace total --kernel', 'inspect x --kernel', 'stop', 'detach'])
      assert.is(answers.get(`${line} nobody`)?.code, code, line)
    await start()
  }
})
