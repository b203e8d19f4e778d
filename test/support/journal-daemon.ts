import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JournalFiles, NODE_FILES } from '../../src/journal/files.ts'
import { openJournal } from '../../src/journal/journal.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { decided, dispatched, ended, requested, watched } from './journals.ts'

/** The calls of every daemon here: each is asked for again by whoever comes after a daemon that died. */
export const CALLS = ['first', 'second'] as const

/** What a daemon does with dangerous calls, as far as the journal is concerned; the effect is a line in a file. */
export async function runDaemon(stateDir: string, files: JournalFiles = NODE_FILES): Promise<void> {
  const journal = openJournal({ stateDir, files, segmentBytes: 900 })
  for (const call of CALLS) {
    if ((await journal.earlier(call as CallId)) !== undefined) continue
    journal.write(requested(call))
    await journal.sync(decided(call))
    await journal.sync(dispatched(call))
    appendFileSync(effectsIn(stateDir), `${call}\n`)
    journal.write(ended(call))
  }
  await journal.close()
}

const effectsIn = (stateDir: string) => join(stateDir, 'effects')

/** The calls that had an effect, one for each time. */
export function effects(stateDir: string): string[] {
  const path = effectsIn(stateDir)
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : []
}

/** What only looks leaves nothing behind: a death there is one before whatever comes next. */
const LOOKS = new Set(['list', 'open', 'openToRead', 'stat', 'named', 'read', 'readLater', 'close'])

/** Ends this process at the Nth of the moments before it changes a file, and in the middle of each write. */
async function daemonThatDies(stateDir: string, at: number): Promise<void> {
  let count = 0
  const die = () => process.kill(process.pid, 'SIGKILL')
  const files = watched((call, args) => {
    if (LOOKS.has(call)) return
    if (++count === at) die()
    const [fd, bytes] = args
    if (call !== 'write' || typeof fd !== 'number' || !(bytes instanceof Uint8Array)) return
    if (++count < at) return
    NODE_FILES.write(fd, bytes.subarray(0, bytes.length / 2))
    die()
  })
  await runDaemon(stateDir, files)
}

const [stateDir, at] = process.argv.slice(2)

if (process.argv[1] === import.meta.filename && stateDir !== undefined)
  void daemonThatDies(stateDir, Number(at))
