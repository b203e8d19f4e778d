import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { findPaths } from '../../src/paths.ts'
import { seatAtScreen } from './at-screen.ts'
import { imago, shows } from './house.ts'
import { type Given, openPlayedModel, type PlayedModel, type Said } from './played-model.ts'
import { Differs, out } from './steps.ts'

const FILE = 'orders.txt'
const COMMAND = `echo 'order 9' >> ${FILE}`
const HOUR_MS = 3_600_000

/**
 * Claude Code, with the hook that `imago install` sets, is put off at a shell command. An hour later a person allows it,
 * and the session that goes on runs it once. A script plays the model. `--claude PATH` names the program.
 */
export async function playHook(project: string, args: readonly string[]): Promise<void> {
  const claude = args[0] === '--claude' ? (args[1] ?? 'claude') : 'claude'
  const version = spawnSync(claude, ['--version'], { encoding: 'utf8' })
  if (version.status !== 0)
    throw new Differs(
      `${claude} is no Claude Code: npm install -g @anthropic-ai/claude-code, or npm run demo -- hook --claude PATH`,
    )
  out(`# Claude Code is real: ${version.stdout.trim()}. The model is played, by a server on this machine.\n`)
  writeFileSync(join(project, 'imago.toml'), '')
  const model = await openPlayedModel(answerOf)
  const runs = (...words: readonly string[]) => runsClaude(project, { claude, model, words })
  try {
    shows(project, ['install', 'claude-code', '--hook', '--yes'], [/\+.*hook claude-code/])
    makeImpatient(project)
    const deferred = await runs('-p', `Add order 9 to ${FILE}.`)
    expectOf(deferred, { stop_reason: 'tool_deferred' })
    if (existsSync(join(project, FILE))) throw new Differs('the command has run')
    const session = String(deferred.session_id)

    out(
      '\n# An hour goes by, without a daemon. The clock is played: the file of the question is dated back.\n',
    )
    imago(project, 'shutdown', '--force')
    dateBack()
    shows(project, ['approvals'], [RegExp(`claude-code:${session} .* 1 h 0 min ago`)])
    await allows(project)

    out('\n# The session goes on with the same call, which is decided.\n')
    expectOf(await runs('-p', '--resume', session), { stop_reason: 'end_turn', result: 'It is added.' })
    shows(project, ['log', '--tool', 'permission_prompt', '--outcome', 'allowed'], [/approved by seat-1/])
    out('\n# Once more, the session has nothing that was put off.\n')
    expectOf(await runs('-p', '--resume', session), { is_error: true })
    const text = readFileSync(join(project, FILE), 'utf8')
    out(`\n$ cat ${FILE}\n${text}`)
    if (text !== 'order 9\n') throw new Differs('the command ran more than once')
  } finally {
    await model.close()
    imago(project, 'shutdown', '--force')
  }
}

/** Nobody sits here, so there is no need to wait for 50 seconds. */
function makeImpatient(project: string): void {
  const name = '.claude/settings.json'
  const file = join(project, name)
  writeFileSync(file, readFileSync(file, 'utf8').replace('hook claude-code', '$& --patience 1'))
  out(`\n$ sed -i 's/hook claude-code/& --patience 1/' ${name}\n`)
}

interface Started {
  readonly claude: string
  readonly model: PlayedModel
  readonly words: readonly string[]
}

/** Runs it to its end, at home elsewhere and without the settings of the one who plays the demo; the result that it prints. */
async function runsClaude(project: string, { claude, model, words }: Started) {
  out(`\n$ claude ${words.map(word => (word.includes(' ') ? `'${word}'` : word)).join(' ')}\n`)
  const home = join(dirname(project), 'home')
  mkdirSync(home, { recursive: true })
  const own = Object.entries(process.env).filter(([name]) => !/^(CLAUDE|ANTHROPIC)/.test(name))
  const child = spawn(claude, [...words, '--output-format', 'json'], {
    cwd: project,
    env: {
      ...Object.fromEntries(own),
      HOME: home,
      NO_PROXY: '127.0.0.1',
      ANTHROPIC_BASE_URL: model.url.replace(/\/v1$/, ''),
      ANTHROPIC_API_KEY: 'played',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [said, complaint] = await Promise.all([readAll(child.stdout), readAll(child.stderr)])
  return said === '' ? { is_error: true, result: complaint.trim() } : (JSON.parse(said) as Result)
}

type Result = Readonly<Record<string, unknown>>

function expectOf(result: Result, expected: Result): void {
  for (const name of ['stop_reason', 'deferred_tool_use', 'result'])
    if (result[name]) out(`    ${name}: ${JSON.stringify(result[name])}\n`)
  for (const [name, value] of Object.entries(expected))
    if (result[name] !== value) throw new Differs(`${name} is ${result[name]}, not ${value}`)
}

function dateBack(): void {
  const folder = join(findPaths().stateDir, 'held')
  for (const file of readdirSync(folder).map(name => join(folder, name))) {
    const question = JSON.parse(readFileSync(file, 'utf8')) as { asked_at: number }
    writeFileSync(file, JSON.stringify({ ...question, asked_at: question.asked_at - HOUR_MS }))
  }
}

async function allows(project: string): Promise<void> {
  out('\n# A person sits down, with imago watch, and allows it: y.\n')
  const person = seatAtScreen(project, { editor: 'true' })
  try {
    await person.sees(/Allow Bash[\s\S]*y approve/)
    await person.presses('y', /nothing waits/)
  } finally {
    await person.leaves()
  }
}

// The model.

function answerOf({ results }: Given): Said {
  const [ran] = results
  if (ran === undefined)
    return { text: '', calls: [{ tool: 'Bash', args: { command: COMMAND, description: 'Add the order' } }] }
  return { text: ran.text.includes('error') ? `It failed: ${ran.text}` : 'It is added.' }
}
