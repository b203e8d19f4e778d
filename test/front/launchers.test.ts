import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** Commands written in Python that start a program, under `imago run`: they are none of it. */
const test = suite('launchers', { limitMs: 120_000 })

let rig: Rig
let client: DaemonClient
test.before.each(async () => {
  rig = openRig()
  await rig.serve()
  client = await rig.connect()
})
test.after.each(() => rig.close())

const write = (name: string, lines: readonly string[]) =>
  writeFileSync(join(rig.project, name), `${lines.join('\n')}\n`)

const announced = () =>
  readAnnouncements(rig.paths.runtimeDir).programs.filter(one => one.process === 'lives')

async function asked(tool: string, args: Readonly<Record<string, unknown>> = {}) {
  const envelope = await client.call({ tool, args })
  return (await client.request('show', { tool, envelope })).text
}

const LAUNCHERS: Readonly<Record<string, readonly string[]>> = {
  honcho: ['start'],
  watchfiles: [`${venvPython} app.py`, 'src'],
  supervisord: ['-n', '-c', 'supervisord.conf'],
}

for (const [launcher, args] of Object.entries(LAUNCHERS))
  test(`${launcher} is none of the program that it starts; once that has crashed, the answer names the crash`, async () => {
    write('app.py', [
      'import os, time',
      'step = 7',
      'while not os.path.exists("crash"):',
      '    time.sleep(0.02)',
      'rates = {}["late"]',
    ])
    write('Procfile', [`app: ${venvPython} app.py`])
    write('supervisord.conf', [
      '[supervisord]',
      `logfile=${join(rig.folder, 'supervisord.log')}`,
      `pidfile=${join(rig.folder, 'supervisord.pid')}`,
      '[program:app]',
      `command=${venvPython} app.py`,
      `directory=${rig.project}`,
      'autorestart=false',
    ])
    mkdirSync(join(rig.project, 'src'))
    const run = rig.begin(['run', '--', join(dirname(venvPython), launcher), ...args])
    await until(() => announced().length > 0, 'the program to listen')
    assert.match(await asked('inspect', { expr: 'step' }), 'repr: 7')
    assert.equal(
      announced().map(({ program }) => program),
      ['app.py'],
    )
    assert.not.match(await asked('kernels'), launcher)
    write('crash', [])
    await until(
      async () => !(await asked('inspect', { expr: 'step' })).includes('repr: 7'),
      'it to have crashed',
    )
    const ended = await asked('inspect', { expr: 'step' })
    assert.match(ended, "KeyError: 'late'")
    assert.equal(announced(), [])
    assert.match(await asked('get_last_error', {}), /KeyError: 'late'[\s\S]*app\.py:5/)
    run.child.kill('SIGTERM')
    await run.ended
  })

const CRASHED = / app\.py ended at \d\d:\d\d:\d\d \(process \d+\): SyntaxError: .* \(\S*app\.py:1\)\./.source

/** The app does not compile. */
async function launchBroken() {
  mkdirSync(join(rig.project, 'src'))
  write('app.py', ['step = ('])
  const run = rig.begin(['run', '--', join(dirname(venvPython), 'watchfiles'), `${venvPython} app.py`, 'src'])
  await until(
    async () => (await asked('get_last_error', { whose: 'gone' })).includes('SyntaxError'),
    'the crash to be told',
  )
  return run
}

test('where what was launched has crashed, an empty image that takes its place says so', async () => {
  const run = await launchBroken()
  const answer = JSON.stringify(await client.call({ tool: 'eval_expr', args: { expr: '6 * 7' } }))
  assert.match(answer, '42')
  assert.match(
    answer,
    new RegExp(`is a new and empty image: nothing of a running program is in it\\.${CRASHED}"`),
  )
  run.child.kill('SIGTERM')
  await run.ended
})

test('where a program has ended, and what was launched after it has crashed, the answer names both', async () => {
  write('before.py', [
    'import os, time',
    'step = 7',
    'while not os.path.exists("end"):',
    '    time.sleep(0.02)',
  ])
  const before = rig.begin(['run', '--', venvPython, 'before.py'])
  await until(() => announced().length > 0, 'the program to listen')
  assert.match(await asked('inspect', { expr: 'step' }), 'repr: 7')
  write('end', [])
  await before.ended
  const run = await launchBroken()
  for (const tool of ['inspect', 'eval_expr'])
    assert.match(
      await asked(tool, { expr: 'step' }),
      new RegExp(`has ended \\(process \\d+\\)\\.${CRASHED}\n`),
    )
  run.child.kill('SIGTERM')
  await run.ended
})

for (const [command, ...args] of [['kernel'], ['run', 'cells.py']] as const)
  test(`jupyter ${command} is none of the program: calls go to the kernel that it starts`, async () => {
    write('cells.py', ['import time', 'which = "tea"', 'time.sleep(600)'])
    // Found as a shell finds it.
    const env = { PATH: `${dirname(venvPython)}:${rig.env.PATH}` }
    const run = rig.begin(['run', '--', venvPython, '-m', 'jupyter', command, ...args], { env })
    await until(() => announced().length > 0, 'the kernel to listen')
    const name = command === 'run' ? 'which' : '__name__'
    const value = command === 'run' ? "'tea'" : "'__main__'"
    await until(
      async () => (await asked('inspect', { expr: name })).includes(`repr: ${value}`),
      'the kernel to answer',
    )
    assert.equal(
      announced().map(({ name, role }) => `${name} ${role}`),
      ['project main'],
    )
    run.child.kill('SIGINT')
    await run.ended
  })
