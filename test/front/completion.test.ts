import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '../../src/front/cli.ts'
import { completed } from '../../src/front/commands/completion.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'
import { ranIn, type Steps } from '../support/terminal.ts'

const test = suite('completion', { limitMs: 60_000 })
const rig = openRig({ files: { 'app.py': 'x = 1\n' } })
test.after(() => rig.close())

const wordsAfter = async (...words: string[]) => (await completed(words, COMMANDS)).map(({ word }) => word)

const ROWS: readonly (readonly [what: string, words: readonly string[], expected: readonly string[]])[] = [
  ['commands', ['th'], ['threads']],
  ['commands, to be helped with', ['help', 'insp'], ['inspect']],
  ['tools', ['call', 'trace_c'], ['trace_calls']],
  ['parameters of the tool that was named', ['call', 'inspect', 'e'], ['expr=']],
  ['parameters that were not given yet', ['call', 'threads', 'locals=false', 'l'], ['limit=']],
  ['parameters of the tool behind a command', ['eval', '1 + 1', 'pack'], ['package=']],
  ['values of a parameter', ['call', 'eval_expr', 'on_error=s'], ['on_error=suspend']],
  ['yes or no of a parameter', ['threads', 'all=t'], ['all=true']],
  ['nothing behind the = of a parameter that takes anything', ['call', 'inspect', 'expr='], []],
  ['options of the command', ['log', '--un'], ['--until']],
  ['options of no other command', ['kernels', '--fo'], []],
  ['values of an option', ['log', '--level', 'd'], ['dangerous']],
  ['values of an option, joined to it', ['log', '--level=d'], ['--level=dangerous']],
  ['options of the prompt', ['--ke'], ['--kernel']],
  ['languages', ['start', ''], ['python', 'lisp', 'wolfram']],
  ['what an operand may be', ['log', 'v'], ['verify']],
  ['clients', ['install', 'cla'], ['claude-code', 'claude-desktop']],
  ['files, by the shell', ['start', 'python', '--script', 'a'], [':file']],
  ['files, behind what is handed on', ['run', '--', 'python', 'm'], [':file']],
  ['shells', ['completion', 'z'], ['zsh']],
  ['nothing behind a command that there is not', ['strat', ''], []],
  ['nothing of code', ['eval', 'pri'], []],
  ['nothing behind the last operand', ['stop', 'web', ''], []],
]

for (const [what, words, expected] of ROWS)
  test(`completes ${what}: imago ${words.join(' ')}`, async () => {
    assert.equal(await wordsAfter(...words), expected)
  })

test('every command and option is completed', async () => {
  assert.equal(
    await wordsAfter(''),
    COMMANDS.flatMap(({ name }) => (name === '' ? [] : [name])),
  )
  for (const { name, options } of COMMANDS.filter(one => one.name !== ''))
    assert.equal(
      await wordsAfter(name, '--'),
      [...options, 'help'].map(option => `--${option}`),
    )
})

test('to complete a word starts no daemon, and fails in silence', async () => {
  const ran = await rig.imago(['completion', 'words', '--', 'stop', ''])
  assert.equal(ran, { code: 0, stdout: '', stderr: '' })
  const refused = await rig.imago(['completion', 'tcsh'])
  assert.is(refused.code, 2)
  assert.match(refused.stderr, 'There is one for: bash, zsh, fish.')
})

/** `imago` as it is on the PATH of a person. */
function environment(): Record<string, string> {
  const bin = join(rig.folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const main = join(PACKAGE_ROOT, 'dist/src/main.cjs')
  writeFileSync(join(bin, 'imago'), `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`, { mode: 0o755 })
  return { ...rig.env, PATH: `${bin}:${rig.env.PATH}` }
}

const has = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0

/** Ctrl-U drops the line. */
const ANEW = '\x15'

const TYPED: Steps = [
  ['ready', 'imago insp\t'],
  ['imago inspect ', `${ANEW}imago call threads loc\t`],
  ['locals=', 'false fil\t'],
  ['filter=', `${ANEW}imago call eval_expr on_error=s\t`],
  ['on_error=suspend ', `${ANEW}imago --kernel pro\t`],
  ['--kernel project ', `${ANEW}imago stop pro\t`],
  ['stop project ', `${ANEW}imago log --lev\t`],
  ['--level ', 'danger\t'],
  ['dangerous ', `${ANEW}imago start python --script ap\t`],
  ['app.py ', `${ANEW}exit\r`],
]

const INTERACTIVE: readonly (readonly [
  shell: string,
  words: readonly string[],
  prompt: string,
  begin: string,
])[] = [
  [
    'bash',
    ['bash', '--norc', '--noprofile', '-i'],
    'bash-',
    'eval "$(imago completion bash)"; echo rea"dy"\r',
  ],
  [
    'zsh',
    ['zsh', '-f', '-i'],
    ' ',
    'autoload -Uz compinit; compinit -u -D; eval "$(imago completion zsh)"; echo rea"dy"\r',
  ],
]

for (const [shell, words, prompt, begin] of INTERACTIVE.filter(([shell]) => has(shell)))
  test(`${shell} completes commands, tools, parameters, options, kernels and files with Tab`, async () => {
    await rig.imago(['start', 'python', '--name', 'project'])
    const steps: Steps = [[prompt, begin], ...TYPED]
    const terminal = join(PACKAGE_ROOT, 'test/support/terminal.py')
    const { code, text } = await ranIn({ ...rig, env: environment() }, [
      'python3',
      terminal,
      JSON.stringify(steps),
      ...words,
    ])
    assert.is(code, 0, text)
  })

if (has('fish'))
  test('fish completes commands, parameters and kernels', async () => {
    await rig.imago(['start', 'python', '--name', 'project'])
    for (const [line, expected] of [
      ['imago insp', 'inspect'],
      ['imago call threads loc', 'locals='],
      ['imago stop pro', 'project'],
      ['imago start python --script ap', 'app.py'],
    ]) {
      const script = `imago completion fish | source; complete -C'${line}'`
      const { stdout } = spawnSync('fish', ['--no-config', '-c', script], {
        cwd: rig.project,
        env: environment(),
        encoding: 'utf8',
      })
      assert.is(stdout.split(/[\t\n]/)[0], expected, stdout)
    }
  })
