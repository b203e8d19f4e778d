import { renameSync, rmSync, statSync } from 'node:fs'
import pino from 'pino'
import type { LogLevel } from './config.ts'
import { redactedValue } from './journal/redaction.ts'

/**
 * What the daemon tells of itself, as JSON lines in a file. Code, output, arguments, environments and secrets are
 * never among it: an entry has a sentence, and names of kernels, calls, tools and clients.
 */
export interface Log {
  info(facts: Facts, sentence: string): void
  warn(facts: Facts, sentence: string): void
  error(facts: Facts, sentence: string): void
}

/** Values are short: names, counts, and errors (whose stack is kept). */
type Facts = Readonly<Record<string, unknown>>

const KEPT_BYTES = 8 * 1024 * 1024

/** Appends to `path`; a file that has grown past 8 MiB becomes `path.1` first. Written before the call returns. */
export function openLog({ path, level }: { path: string; level: LogLevel }): Log {
  setAside(path)
  const destination = pino.destination({ dest: path, append: true, mkdir: true, sync: true, mode: 0o600 })
  // A full disk must not end the daemon: it loses log lines, and the journal has its own rule.
  destination.on('error', () => {})
  return pino(
    {
      level,
      base: { pid: process.pid },
      serializers: { error: pino.stdSerializers.err },
      redact: REDACTED,
      hooks: { streamWrite: withoutSecrets },
    },
    destination,
  )
}

/** Names under which a secret would stand if somebody logged a whole object by mistake. */
const REDACTED = [
  'env',
  'secret',
  'token',
  'args',
  'source',
  '*.env',
  '*.secret',
  '*.token',
  '*.args',
  '*.source',
]

/** Messages of errors quote what they were about. */
const withoutSecrets = (line: string) => `${JSON.stringify(redactedValue(JSON.parse(line)))}\n`

function setAside(path: string) {
  try {
    if (statSync(path).size < KEPT_BYTES) return
    rmSync(`${path}.1`, { force: true })
    renameSync(path, `${path}.1`)
  } catch {
    // There is no log yet.
  }
}
