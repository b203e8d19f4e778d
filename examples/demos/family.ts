import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPaths, PACKAGE_ROOT } from '../../src/paths.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import { imago } from './house.ts'
import { openModel } from './model.ts'
import { openSite, runs, visits } from './site.ts'
import { Differs, STEP_MS, type Step } from './steps.ts'

/** The variables that Codex passes on to its servers, by its sources (DEFAULT_ENV_VARS). */
const OF_CODEX = 'HOME LOGNAME PATH SHELL USER __CF_USER_TEXT_ENCODING LANG LC_ALL TERM TMPDIR TZ'.split(' ')

const COUNTS: Step = {
  says: 'At which step is the training? The forked loader has a `step` too, which is 0 for ever.',
  tool: 'inspect',
  args: { expr: 'step' },
  expects: [/repr: [1-9]\d*/],
}

const LOCKED: Step = {
  says: 'The report never comes. What do the two workers do?',
  tool: 'threads',
  args: {},
  expects: [/[Dd]eadlock/, /report/, /ledger/],
}

const CRASHED: Step = {
  says: 'The process has gone. Why?',
  tool: 'get_last_error',
  args: {},
  expects: [/KeyError: None/, /crash\.py:2/, /crash \(process \d+\) ended with it at/, /'discount': None/],
}

/**
 * Three programs of several processes, each under `imago run` in a folder of its own, and a model with nothing but MCP
 * and the variables that Codex passes on. It names no process, and the one that is meant answers. `--python PATH` names
 * an interpreter with gunicorn.
 */
export async function playFamily(given: string, args: readonly string[]): Promise<void> {
  const python = args[0] === '--python' ? (args[1] ?? 'python3') : 'python3'
  if (spawnSync(python, ['-c', 'import gunicorn']).status !== 0)
    throw new Differs(
      `${python} has no gunicorn: pip install gunicorn, or npm run demo -- family --python PATH`,
    )
  cpSync(join(PACKAGE_ROOT, 'examples/demos/family'), given, { recursive: true })
  ownSession(dirname(given))
  try {
    await playTrainer(join(given, 'trainer'), python)
    await playWorkers(join(given, 'bank'), python)
    await playCrash(join(given, 'crash'), python)
  } finally {
    imago(given, 'shutdown', '--force')
  }
}

/** A home and a session of the demo's own, since Codex passes on none of our variables. */
function ownSession(folder: string): void {
  const [home, session] = [join(folder, 'home'), join(folder, 'session')]
  for (const made of [home, session]) mkdirSync(made, { mode: 0o700 })
  for (const name of ['IMAGO_RUNTIME_DIR', 'IMAGO_STATE_DIR', 'IMAGO_CONFIG_DIR', 'XDG_STATE_HOME'])
    delete process.env[name]
  Object.assign(process.env, { HOME: home, XDG_RUNTIME_DIR: session })
}

/** A model's host that was started in this folder. */
function openCodex(project: string) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => OF_CODEX.includes(name)))
  return openModel(project, { profile: 'live', env })
}

async function playTrainer(project: string, python: string): Promise<void> {
  const trainer = runs(project, python, ['train.py'])
  // In the first second of all, a daemon with few variables and a program with all of them may miss each other.
  while (readAnnouncements(findPaths().runtimeDir).programs.length === 0) await sleep(STEP_MS)
  const model = openCodex(project)
  try {
    const first = stepIn(await model.asks(COUNTS, { again: true }))
    const grown = { ...COUNTS, says: 'And now?', expects: [new RegExp(`repr: (?!${first}\\b)\\d`)] }
    const second = stepIn(await model.asks(grown, { again: true }))
    if (second <= first) throw new Differs(`the step was ${first} and then ${second}`)
  } finally {
    await Promise.all([model.leaves(), trainer.close()])
  }
}

const stepIn = (text: string) => Number(/repr: (\d+)/.exec(text)?.[1])

async function playWorkers(project: string, python: string): Promise<void> {
  const site = await openSite(project, python, port =>
    `-m gunicorn bank:app --reload --workers 2 --bind 127.0.0.1:${port}`.split(' '),
  )
  const model = openCodex(project)
  try {
    await visits(site, '/report', 200)
    await model.asks(LOCKED, { again: true })
  } finally {
    await Promise.all([model.leaves(), site.close()])
  }
}

async function playCrash(project: string, python: string): Promise<void> {
  const crash = runs(project, python, ['crash.py'])
  await crash.ended
  const model = openCodex(project)
  try {
    await model.asks(CRASHED)
  } finally {
    await model.leaves()
  }
}
