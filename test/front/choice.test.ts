import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { lives, openRig, type Rig, within } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { CTRL_D, openTerminal } from '../support/terminal.ts'

/** `imago` at a terminal, in a folder where real programs of the user's listen. */
const test = suite('which program a prompt is for', { limitMs: 60_000 })

let rig: Rig
let programs: Program[] = []

test.before.each(() => {
  rig = openRig()
})
test.after.each(async () => {
  for (const program of programs) program.signal('SIGKILL')
  await Promise.all(programs.map(({ ended }) => ended))
  programs = []
  await rig.close()
})

/** Programs called `web`, each with its own `mark`. */
async function start(...marks: readonly string[]): Promise<void> {
  for (const mark of marks) {
    const { runtimeDir } = rig.paths
    programs.push(
      await startProgram({ folder: rig.project, runtimeDir, source: `mark = ${JSON.stringify(mark)}` }),
    )
  }
}

const pid = (index: number) => programs[index]?.pid ?? 0

/** What a terminal that can only print lines shows of it. */
const typed: ReturnType<typeof openTerminal> = (args, steps) => openTerminal(rig)(args, steps)

test('where one program listens, imago alone joins it, and leaves it running', async () => {
  await start('the one')
  const { code, text } = await typed(
    [],
    [
      ['>>> ', 'mark\r'],
      ["'the one'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.is(code, 0, text)
  assert.match(text, 'in kernel web.')
  assert.match(text, 'The program runs on. imago detach web lets go of it.')
  assert.is(lives(pid(0)), true)
})

test('where several listen they are offered, and one is joined by its number', async () => {
  await start('first', 'second')
  const { code, text } = await typed(
    [],
    [
      ['Which one? ', '2\r'],
      ['>>> ', 'mark\r'],
      ["'second'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.is(code, 0, text)
  assert.match(text, `1  web-${pid(0)}`)
  assert.match(text, `2  web-${pid(1)}`)
  const { stdout } = await rig.imago(['kernels'])
  assert.match(stdout, new RegExp(`^web +ready +${pid(1)} `, 'm'))
  assert.match(stdout, `imago attach web-${pid(0)}`)
})

test('where several are attached they are offered by their names, and a name that is none is asked for again', async () => {
  await start('first', 'second')
  for (const { pid } of programs) await rig.imago(['attach', String(pid)])
  const { code, text } = await typed(
    [],
    [
      ['Which one? ', 'wbe\r'],
      ['There is no wbe.\r\nWhich one? ', 'web/2\r'],
      ['>>> ', 'mark\r'],
      ["'second'", ''],
      ['>>> ', CTRL_D],
    ],
  )
  assert.is(code, 0, text)
  assert.match(text, /1 {2}web\r\n2 {2}web\/2\r\n/)
})

test('who chooses none is told which there are, and nothing is joined', async () => {
  await start('first', 'second')
  for (const nothing of ['\r', CTRL_D]) {
    const { code, text } = await typed([], [['Which one? ', nothing]])
    assert.is(code, 4, text)
    assert.match(text, '2 programs of')
  }
  assert.match((await rig.imago(['kernels'])).stdout, /^Can be attached to:\n/)
})

test('the console offers the same', async () => {
  await start('first', 'second')
  const screen = openScreen(rig)
  await screen.shows('Which one?')
  assert.match(screen.text(), `2  web-${pid(1)}`)
  screen.type('2\r')
  await screen.shows('in kernel web')
  await screen.shows('>>>')
  screen.type('mark\r')
  await screen.shows("'second'")
  screen.type(CTRL_D)
  assert.is(await within(screen.ended, 'the console to end'), 0)
  screen.close()
})

test('without a terminal nobody can choose, and the refusal names them, and the option that does', async () => {
  await start('first', 'second')
  const { code, stderr } = await rig.imago([], { input: 'mark\n' })
  assert.is(code, 4)
  assert.match(stderr, `web-${pid(0)}`)
  const [option = '', name = ''] = /^Choose one: (--kernel) (\S+)$/m.exec(stderr)?.slice(1) ?? []
  const one = await rig.imago([option, name], { input: 'mark\n' })
  assert.match(one.stdout, /^'(first|second)'\n$/, one.stderr)
})

// What does not listen

test('imago attach for a Python that lives and does not listen says so, where it looked, and how to have it listen', async () => {
  await start('first')
  const code = 'import os, time; print(f"process {os.getpid()}", flush=True); time.sleep(60)'
  const own = rig.begin(['run', '--', 'python3', '-I', '-c', code])
  await own.says(/process \d+\n/)
  const [, deaf = ''] = /process (\d+)/.exec(own.so.stdout) ?? []
  const looked = `(looked in ${rig.paths.runtimeDir}/programs). There are: web.`
  const ofRun = await rig.imago(['attach', deaf])
  const other = await rig.imago(['attach', `${process.pid}`])
  own.child.kill('SIGTERM')
  await own.ended
  assert.equal([ofRun.code, other.code], [4, 4])
  const because = ': it was started with -I, which does not read PYTHONPATH'
  assert.match(ofRun.stderr, `Process ${deaf} lives and does not listen${because} ${looked}`)
  assert.match(ofRun.stderr, 'Leave -I out.')
  assert.match(other.stderr, `Process ${process.pid} lives and does not listen ${looked}`)
  assert.match(other.stderr, 'imago run -- COMMAND')
  assert.match(other.stderr, 'import imago; imago.listen()')
  assert.match(
    (await rig.imago(['attach', 'wbe'])).stderr,
    /No program has announced itself as "wbe" \(looked in .*programs\)\. There are: web\.\nDid you mean web\?/,
  )
})
