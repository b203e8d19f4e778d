import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { parse } from 'smol-toml'
import { z } from 'zod'
import { PROFILES } from '../tools/contract.ts'
import { readBounded } from '../wire/bounded-file.ts'
import { messageOf } from '../wire/errors.ts'
import { Failure } from './failure.ts'
import { holdsHome, realOf } from './files/roots.ts'
import { SYNTAX_NAMES } from './syntax/syntax.ts'

const NO_ROOT =
  'must be the absolute path of a folder, or begin with ~/; not the home directory, and none that it lies in'

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

const CONFIG_BYTES = 1024 * 1024

/**
 * The user's `config.toml`. Times are written in the unit that their name ends in. Every key has a default; a key
 * that is not here is refused by name, so that a slip of the pen is not silently without effect.
 */
const CONFIG = z.strictObject({
  daemon: z
    .strictObject({
      /** A daemon without client, kernel and running call ends after this long. */
      idle_minutes: z.number().positive().max(100_000).default(30),
      log_level: z.enum(LOG_LEVELS).default('info'),
    })
    .prefault({}),
  calls: z
    .strictObject({
      /** How long a call may take before it is answered with a job, unless it says so itself. */
      patience_seconds: z.number().positive().max(86_400).default(60),
      look_seconds: z.number().positive().max(600).default(5),
      /** How long a plan waits for a person, and how long an approval can be used; then it counts as denied. */
      approval_minutes: z.number().positive().max(1_440).default(30),
    })
    .prefault({}),
  files: z
    .strictObject({
      /** Folders besides the caller's project in which tools may look at files and change them. */
      roots: z.array(z.string().transform(fromHome).refine(isOwnFolder, NO_ROOT)).default([]),
    })
    .prefault({}),
  kernels: z
    .strictObject({
      /** The interpreter of Python kernels, instead of the project's. */
      python: z.string().min(1).transform(fromHome).optional(),
      /** The Lisp of Lisp kernels, instead of the first of `sbcl` and `ecl`: a path, or a name in `PATH`. */
      lisp: z.string().min(1).transform(fromHome).optional(),
      /** The folder of SLIME whose Swank they load, instead of the one that the Lisp itself knows. */
      swank: z
        .string()
        .transform(fromHome)
        .refine(isAbsolute, 'must be the absolute path of a folder, or begin with ~/')
        .optional(),
      /** A WolframKernel, its installation, or the Python of an environment with Mathics3. */
      wolfram: z.string().min(1).transform(fromHome).optional(),
      /** How long laying out one definition may take there; then it is shown as plain input form. */
      wolfram_formatter_seconds: z.number().positive().max(600).default(5),
      /** Projects whose own `.venv` is started whatever it holds, and although it came with them. */
      trusted: z.array(z.string().transform(fromHome).refine(isOwnFolder, NO_ROOT)).default([]),
      /** Environment variables that kernels are given besides the usual ones. */
      env: z.array(z.string().min(1)).default([]),
    })
    .prefault({}),
  web: z
    .strictObject({
      /** Where WebSockets connect, on this machine; they are off without it. */
      port: z.int().min(0).max(65_535).optional(),
    })
    .prefault({}),
  tools: z
    .strictObject({
      /** The text syntax of calls, where one is used. It is never guessed. */
      syntax: z.enum(SYNTAX_NAMES).optional(),
    })
    .prefault({}),
  agent: z
    .strictObject({
      /** The format in which the model is spoken to; `openai` where a URL is given. */
      api: z.enum(['anthropic', 'openai']).optional(),
      /** Where it is asked, instead of the provider: of a local server, up to its `/v1`. */
      url: z
        .url({ protocol: /^https?$/ })
        .refine(hasNoSecret, 'must have no user and no password: the key goes into key_file')
        .optional(),
      model: z.string().min(1).optional(),
      /** A file with its key, which nobody else can read; else the key is in the environment of the command. */
      key_file: z.string().min(1).transform(fromHome).optional(),
      /** The tools that it is given. */
      profile: z.enum(PROFILES).default('full'),
      /** What a run may use up; then it gives a partial answer. */
      steps: z.int().positive().max(10_000).default(50),
      tokens: z.int().positive().default(2_000_000),
      minutes: z.number().positive().max(10_000).default(60),
      /** How much the model reads at once: past four fifths of that, old results make room. */
      context_tokens: z.int().min(1_000).default(150_000),
      /** Runs that errors of programs may wake in a day. */
      woken_a_day: z.int().positive().max(10_000).default(20),
      /** How long runs that are over are kept. */
      keep_days: z.number().positive().max(10_000).default(30),
    })
    .prefault({}),
  runs: z
    .strictObject({
      /** Goes on with a session of Claude Code that a hook has put off; its name is the last argument. */
      resume: z.array(z.string().min(1)).min(1).optional(),
    })
    .prefault({}),
  watch: z
    .strictObject({
      /** Whether a notification is shown on the desktop when something waits for a person. It rings in any case. */
      notify: z.boolean().default(false),
      /** A program that is run when a question waits and nobody sits, with a line about it as its last argument. */
      command: z.array(z.string().min(1)).min(1).optional(),
    })
    .prefault({}),
})

export type Config = z.output<typeof CONFIG>

/** Reads `config.toml` of the folder. A missing file is an empty one. Throws a `Failure` that names file and key. */
export function readConfig(folder: string): Config {
  return parseConfig(CONFIG, join(folder, 'config.toml'))
}

/** `~/notes` is in the home directory, as in a shell. */
function fromHome(path: string): string {
  const absolute = path.startsWith('~/') ? join(homedir(), path.slice(2)) : path
  return isAbsolute(absolute) ? resolve(absolute) : absolute
}

function hasNoSecret(url: string): boolean {
  const { username, password } = new URL(url)
  return username === '' && password === ''
}

function isOwnFolder(path: string): boolean {
  return isAbsolute(path) && path !== '/' && !holdsHome(realOf(path), realOf(homedir()))
}

/** Reads one TOML file into the form of `schema`. */
function parseConfig<Schema extends z.ZodType>(schema: Schema, path: string): z.output<Schema> {
  const read = schema.safeParse(readToml(path))
  if (read.success) return read.data
  throw new Failure(`${path}: ${read.error.issues.map(describe).join('; ')}.`)
}

function readToml(path: string): unknown {
  let text: string
  try {
    text = readBounded(path, { most: CONFIG_BYTES }).toString('utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return {}
    throw new Failure(`${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
  try {
    return parse(text)
  } catch (error) {
    throw new Failure(`${path} is not TOML: ${messageOf(error)}`, { cause: error })
  }
}

function describe(issue: z.core.$ZodIssue): string {
  const place = issue.path.join('.')
  if (issue.code === 'unrecognized_keys')
    return `there is no key ${issue.keys.map(key => (place ? `${place}.${key}` : key)).join(', ')}`
  return place ? `${place}: ${issue.message}` : issue.message
}
