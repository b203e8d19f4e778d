import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'

const test = suite('imago run', { limitMs: 60_000 })

let rig: Rig
test.before.each(() => {
  rig = openRig()
})
test.after.each(() => rig.close())

const run = (words: readonly string[], options = {}) => rig.imago(['run', '--', ...words], options)
const write = (name: string, source: string) => writeFileSync(join(rig.project, name), source)

/** The programs that listen, by what they have announced. */
function listening() {
  const { programs } = readAnnouncements(rig.paths.runtimeDir)
  return programs.filter(one => one.process === 'lives')
}

const names = () =>
  listening()
    .map(({ name }) => name)
    .sort()

test('a command needs no -- before it, and its own options are its own', async () => {
  const words = ['python3', '-c', 'import sys; print(sys.argv[1:])', '--name', 'x', '--', '--json']
  for (const own of [[], ['--name', 'shop'], ['--name=shop'], ['--']])
    assert.equal(await rig.imago(['run', ...own, ...words]), {
      code: 0,
      stdout: "['--name', 'x', '--', '--json']\n",
      stderr: '',
    })
  assert.is((await rig.imago(['run', '--name', 'shop'])).code, 2)
})

test('a Python that it starts listens under the name of the folder, or the one that is given', async () => {
  write('serve.py', 'import time\nprint("there", flush=True)\ntime.sleep(60)\n')
  rig.begin(['run', '--', 'python3', 'serve.py'])
  rig.begin(['run', '--name', 'shop', '--', 'python3', 'serve.py'])
  await until(() => names().length === 2, 'both to listen')
  assert.equal(names(), ['project', 'shop'])
})

test('what it prints and its exit code are the command’s own', async () => {
  const ran = await run([
    'python3',
    '-c',
    'import sys; print("out"); print("err", file=sys.stderr); sys.exit(7)',
  ])
  assert.equal(ran, { code: 7, stdout: 'out\n', stderr: 'err\n' })
  assert.is((await run(['sh', '-c', 'kill -TERM $$'])).code, 143)
})

test('a signal that it is sent reaches the command', async () => {
  write(
    'waits.py',
    [
      'import signal, sys, time',
      'signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))',
      'print("there", flush=True)',
      // A signal that comes just before a long sleep is heard after it.
      'while True: time.sleep(0.05)',
    ].join('\n'),
  )
  const begun = rig.begin(['run', '--', 'python3', 'waits.py'])
  await begun.says(/there/)
  begun.child.kill('SIGTERM')
  assert.equal(await begun.ended, { code: 3, stdout: 'there\n', stderr: '' })
})

test('a reloader’s child and a forked worker bear its name; another program that it starts has its own', async () => {
  write('other.py', 'import time\ntime.sleep(60)\n')
  write(
    'serve.py',
    [
      'import os, subprocess, sys, time',
      'if "child" not in os.environ:',
      '    subprocess.Popen([sys.executable, "serve.py"], env={**os.environ, "child": "yes"})',
      '    subprocess.Popen([sys.executable, "other.py"])',
      '    if os.fork() == 0:',
      '        time.sleep(60)',
      'time.sleep(60)',
    ].join('\n'),
  )
  rig.begin(['run', '--', 'python3', 'serve.py'])
  await until(() => names().length === 4, 'all four to listen')
  assert.equal(names(), ['project', 'project', 'project', 'project-other'])
  const [first] = listening().filter(one => listening().every(({ pid }) => pid !== one.parent))
  assert.equal(
    listening().map(({ pid, parent }) => pid === first?.pid || parent === first?.pid),
    [true, true, true, true],
  )
})

for (const method of ['spawn', 'fork', 'forkserver'])
  test(`the workers of a pool (${method}) are told apart from the program`, async () => {
    write(
      'pool.py',
      [
        'import concurrent.futures, multiprocessing, time',
        'if __name__ == "__main__":',
        `    multiprocessing.set_start_method("${method}")`,
        '    with concurrent.futures.ProcessPoolExecutor(1) as pool:',
        '        pool.submit(time.sleep, 60).result()',
      ].join('\n'),
    )
    rig.begin(['run', '--', 'python3', 'pool.py'])
    await until(() => names().length === 2, 'the program and its worker to listen')
    assert.equal(names(), ['project', 'project-worker'])
  })

test('a program that listens by itself has the name it asks for', async () => {
  write('serve.py', 'import imago, time\nprint(imago.listen("mine").name, flush=True)\ntime.sleep(60)\n')
  await rig.begin(['run', '--', 'python3', 'serve.py']).says(/mine/)
  assert.equal(names(), ['mine'])
})

test('a program that puts another module in the place of __main__ is seen by what that holds', async () => {
  write(
    'serve.py',
    [
      'import sys, time, types',
      'sys.modules["__main__"] = shop = types.ModuleType("__main__")',
      'shop.which = "tea"',
      'print("there", flush=True)',
      'time.sleep(60)',
    ].join('\n'),
  )
  await rig.begin(['run', '--', 'python3', 'serve.py']).says(/there/)
  const words = ['call', 'inspect', '{"expr": "which"}']
  assert.match((await rig.imago(words)).stdout, "'tea'")
})

test('the server of notebooks does not listen, and what it starts does', async () => {
  write('jupyter-lab', 'import os, subprocess, sys\nsubprocess.run([sys.executable, "kernel.py"])\n')
  write('kernel.py', 'import time\nprint("there", flush=True)\ntime.sleep(60)\n')
  await rig.begin(['run', '--', 'python3', 'jupyter-lab']).says(/there/)
  assert.equal(names(), ['project'])
})

test('the sitecustomize that it hides runs, and the program finds the path that it would find', async () => {
  const site = join(rig.folder, 'site')
  mkdirSync(site)
  writeFileSync(join(site, 'sitecustomize.py'), 'print("the own one ran")\n')
  const words = ['python3', '-c', 'import sitecustomize, sys; print(sitecustomize.__file__, sys.path)']
  const { stdout } = await run(words, { env: { PYTHONPATH: site } })
  assert.match(stdout, /^the own one ran\n/)
  assert.match(stdout, join(site, 'sitecustomize.py'))
  assert.not.match(stdout, 'wire/peers')
})

test('a sitecustomize that fails does so as without Imago, and the program listens', async () => {
  const site = join(rig.folder, 'site')
  mkdirSync(site)
  writeFileSync(join(site, 'sitecustomize.py'), 'import nothing_of_that_name\n')
  const words = ['python3', '-c', 'import sys; print("imago" in sys.modules)']
  const { stdout, stderr } = await run(words, { env: { PYTHONPATH: site } })
  assert.is(stdout, 'True\n')
  assert.match(stderr, 'nothing_of_that_name')
})

test('a Python that ignores its environment is told of, and runs', async () => {
  for (const option of ['-I', '-E', '-S', '-IB']) {
    const { stdout, stderr } = await run(['python3', option, '-c', 'print("ran")'])
    assert.is(stdout, 'ran\n')
    const why = option === '-S' ? 'does not run sitecustomize' : 'does not read PYTHONPATH'
    assert.match(stderr, `python3 ${option} ${why}, so`)
  }
})

/** A launcher that puts a folder with a `sitecustomize` of its own before that of Imago. */
function writeLauncher() {
  const site = join(rig.folder, 'site')
  mkdirSync(site)
  writeFileSync(join(site, 'sitecustomize.py'), '')
  write('app.py', 'import os, time\nprint("there", os.getpid(), flush=True)\ntime.sleep(60)\n')
  write(
    'instrument',
    [
      '#!/usr/bin/env python3',
      'import os, sys',
      `os.environ["PYTHONPATH"] = "${site}" + os.pathsep + os.environ["PYTHONPATH"]`,
      'os.execvp(sys.argv[1], sys.argv[1:])',
    ].join('\n'),
  )
  chmodSync(join(rig.project, 'instrument'), 0o700)
}

test('what keeps a Python from listening is named by what it was started with, and the order that works', async () => {
  writeLauncher()
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [
      ['./instrument', 'python3', 'app.py'],
      /another sitecustomize before that of Imago, .*site\/sitecustomize\.py\. .*: \.\/instrument imago run -- python3 app\.py$/m,
    ],
    [
      ['env', 'PYTHONPATH=.', 'python3', 'app.py'],
      /a PYTHONPATH that the command has set\. .*: env PYTHONPATH=\. imago run -- python3 app\.py$/m,
    ],
    [['env', '-i', 'python3', 'app.py'], /without the environment of imago run, as env -i does it/],
  ]
  await Promise.all(
    cases.map(async ([words, expected]) => {
      const { child, so } = rig.begin(['run', '--', ...words])
      await until(() => so.stderr.includes('listens so far'), 'the cause to be named')
      assert.match(so.stderr, expected)
      assert.not.match(so.stderr, / -[ISE]\b/)
      child.kill('SIGTERM')
    }),
  )
})

for (const [what, words, why, mend] of [
  [
    'another sitecustomize before that of Imago',
    ['sh', '-c', './instrument python3 app.py; true'],
    /another sitecustomize before that of Imago, .*site\/sitecustomize\.py/,
    /LAUNCHER imago run -- python3 app\.py/,
  ],
  [
    'a launcher that listened, and became what does not',
    ['./instrument', 'python3', 'app.py', '--key=secret'],
    /another sitecustomize before that of Imago, .*site\/sitecustomize\.py/,
    /: \.\/instrument imago run -- python3 app\.py …/,
  ],
  [
    'a PYTHONPATH of the command’s own',
    ['env', 'PYTHONPATH=.', 'python3', 'app.py'],
    /a PYTHONPATH that the command has set/,
    /: env PYTHONPATH=\. imago run -- python3 app\.py/,
  ],
  [
    'an empty environment',
    ['env', '-i', 'python3', 'app.py'],
    /without the environment of imago run/,
    /Let it keep PYTHONPATH/,
  ],
  [
    'an option of Python, behind a program that listened and has ended,',
    ['sh', '-c', 'python3 -c pass; python3 -E app.py'],
    /-E, which does not read PYTHONPATH/,
    /Leave -E out/,
  ],
] as const)
  test(`${what} is named in each answer about what listens, with the order that works, until the run has ended`, async () => {
    writeLauncher()
    const begun = rig.begin(['run', '--', ...words])
    await begun.says(/there \d+/)
    const pid = /\d+/.exec(begun.so.stdout)?.[0] ?? ''
    const questions = [
      ['inspect', 'tea'],
      ['attach', pid],
      ['attach', 'project'],
      ['kernels'],
      ['call', 'kernels'],
    ]
    const ask = async () => {
      const answers = await Promise.all(questions.map(words => rig.imago(words)))
      return answers.map(({ stdout, stderr }) => stdout + stderr)
    }
    // A daemon that knows the launcher's program may have joined it in the moment before it became another one.
    let answers: readonly string[] = []
    await until(async () => {
      answers = await ask()
      return !answers.some(said => said.includes('is being made again'))
    }, 'its link to end')
    for (const said of answers) {
      assert.match(said, why)
      assert.match(said, mend)
      assert.not.match(said, /start it with: imago run|secret/)
    }
    process.kill(Number(pid), 'SIGKILL')
    await begun.ended
    for (const said of await ask()) assert.not.match(said, why)
  })

test('what listens by itself in an environment of its own is not said to be silent', async () => {
  write('app.py', 'import time, imago\nimago.listen()\nprint("there", flush=True)\ntime.sleep(60)\n')
  const PYTHONPATH = join(PACKAGE_ROOT, 'wire/peers/python')
  const own = [`PYTHONPATH=${PYTHONPATH}`, `IMAGO_RUNTIME_DIR=${rig.paths.runtimeDir}`]
  await rig.begin(['run', '--', 'env', '-i', ...own, 'python3', 'app.py']).says(/there/)
  assert.not.match((await rig.imago(['kernels'])).stdout, 'does not listen')
  assert.is((await rig.imago(['inspect', 'time'])).code, 0)
})

test('a command that is not there is exit code 127 and one that may not be run 126, as in a shell', async () => {
  writeFileSync(join(rig.project, 'notes.txt'), 'not a program\n', { mode: 0o600 })
  for (const [command, code, why] of [
    ['no-such-program', 127, 'there is no such program'],
    ['./notes.txt', 126, 'it may not be run'],
  ] as const) {
    const ended = await run([command])
    assert.is(ended.code, code)
    assert.match(ended.stderr, `imago run: ${command} cannot be run: ${why}.`)
  }
})

test('without a command it says what to do', async () => {
  assert.match((await rig.imago(['run'])).stderr, 'imago run -- python manage.py runserver')
  assert.is((await rig.imago(['run', '--name', '12', '--', 'true'])).code, 2)
})
