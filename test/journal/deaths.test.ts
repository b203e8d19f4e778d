import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../../src/journal/journal.ts'
import { verifyJournal } from '../../src/journal/verify.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { CALLS, effects, runDaemon } from '../support/journal-daemon.ts'
import { dispatched, entriesIn } from '../support/journals.ts'
import { inOneFile } from '../support/one-file.ts'

const test = suite('journal kill', { limitMs: 150_000 })

let folder = ''
let daemon = ''

test.before(async () => {
  daemon = await inOneFile(join(import.meta.dirname, '../support/journal-daemon.ts'))
  folder = mkdtempSync(join(tmpdir(), 'imago-journal-kill-'))
})

test.after(() => rmSync(folder, { recursive: true, force: true }))

/** Whether it was killed; false where it came to its end before. */
function daemonKilledAt(step: number, stateDir: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [daemon, stateDir, String(step)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let errors = ''
    child.stderr.on('data', data => {
      errors += data
    })
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve(true)
      else if (code === 0) resolve(false)
      else reject(new Error(`step ${step}: exit ${code} ${signal}\n${errors}`))
    })
  })
}

/** The state that a first daemon left, which died with a call under way. */
async function firstDaemon(): Promise<string> {
  const stateDir = join(folder, 'first')
  mkdirSync(stateDir)
  const journal = openJournal({ stateDir })
  journal.write(dispatched('older'))
  await journal.close()
  return stateDir
}

const TERMINAL = new Set(['ended', 'refused', 'looked'])

async function checked(stateDir: string, where: string): Promise<void> {
  const { problem } = await verifyJournal(join(stateDir, 'journal'))
  assert.is(problem, undefined, `${where}: ${JSON.stringify(problem)}`)
  const entries = await entriesIn(join(stateDir, 'journal'))
  const happened = effects(stateDir)
  for (const call of ['older', ...CALLS]) {
    const lines = entries.filter(entry => entry.call === call)
    const ends = lines.filter(({ type }) => TERMINAL.has(String(type)))
    const begun = lines.some(({ type }) => type === 'dispatched')
    const effect = happened.filter(other => other === call).length
    assert.ok(lines.filter(({ type }) => type === 'dispatched').length <= 1, `${where}: ${call} began twice`)
    assert.is(ends.length, lines.length > 0 ? 1 : 0, `${where}: the ends of ${call}`)
    assert.ok(effect <= (begun ? 1 : 0), `${where}: ${call} had ${effect} effects`)
    const outcome = ends[0]?.outcome
    if (begun) assert.ok(outcome === 'outcome_unknown' || outcome === 'ok', `${where}: ${outcome}`)
    if (outcome === 'ok') assert.is(effect, 1, `${where}: ${call} ended without its effect`)
    if (!begun && lines.length > 0) assert.is(outcome, 'withdrawn', `${where}: ${call}`)
  }
}

/** Kills a daemon at one step, follows it with two that live, and checks what there is. */
async function step(at: number, first: string): Promise<boolean> {
  const stateDir = join(folder, `step-${at}`)
  cpSync(first, stateDir, { recursive: true })
  const killed = await daemonKilledAt(at, stateDir)
  const journal = openJournal({ stateDir })
  await journal.earlier('none' as CallId)
  await journal.close()
  assert.is(journal.trouble, undefined)
  await checked(stateDir, `killed at ${at}`)
  await runDaemon(stateDir)
  await checked(stateDir, `run again after ${at}`)
  rmSync(stateDir, { recursive: true })
  return killed
}

test('a daemon killed at any step of the journal leaves a whole chain, no call that ran twice, and one end of each (fault 7)', async () => {
  const first = await firstDaemon()
  let next = 1
  let killed = 0
  let over = false
  const worker = async () => {
    while (!over) {
      if (await step(next++, first)) killed++
      else over = true
    }
  }
  await Promise.all([worker(), worker()])
  assert.ok(killed > 20, `only ${killed} steps`)
})
