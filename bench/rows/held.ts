import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HeldQuestions } from '../../src/calls/held.ts'
import { connectDaemon } from '../../src/front/client.ts'
import { findPaths } from '../../src/paths.ts'
import type { CallId } from '../../wire/kernel.ts'
import { median, type Row } from '../row.ts'

const MAIN = join(import.meta.dirname, '../../dist/src/main.cjs')
const MANY = 100
const ROUNDS = 5

/** Puts so many questions of one project on the disk, as a daemon does where nobody sits. */
async function hold(stateDir: string, count: number): Promise<void> {
  const held = new HeldQuestions({
    stateDir,
    calls: {
      run: async ({ held }) => {
        held?.('Edit a.py')
        return {
          ok: false,
          error: { code: 'approval_held', message: '', details: {}, retryable: true, next: null },
        }
      },
    },
    journal: { earlier: async () => undefined },
    env: {},
    isSeated: () => false,
    isRoom: () => false,
    waits: () => {},
    settled: () => {},
    changed: () => {},
    log: (_, error) => {
      throw error
    },
  })
  const caller = {
    id: 'bench',
    who: 'bench',
    kind: 'cli',
    root: '/project',
    env: {},
    profile: 'full',
  } as const
  for (let at = 0; at < count; at++) {
    const args = { path: 'a.py', old_str: 'a line\n'.repeat(20), new_str: 'another\n'.repeat(20) }
    const call = `run-1-abc.${at}` as CallId
    const request = { tool: 'edit_file', args, call, caller: { ...caller, readOnlyPromised: false } }
    await held.run(request, { leave: true, run: 'run-1' })
  }
}

/** Milliseconds from the start of a daemon until it has answered a client. */
async function startOf(folder: string): Promise<number> {
  const env = {
    ...process.env,
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: join(folder, 'state'),
    IMAGO_CONFIG_DIR: join(folder, 'config'),
  }
  const began = performance.now()
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = new Promise(resolve => child.once('close', resolve))
  await new Promise(resolve => child.stdout.once('data', resolve))
  const client = await connectDaemon({ name: 'bench', start: 'never', root: folder, paths: findPaths(env) })
  await client.request('status', {})
  const took = performance.now() - began
  await client.close()
  child.kill('SIGTERM')
  await ended
  return took
}

export const heldStart: Row = {
  what: `Start of a daemon with ${MANY} held questions, against one without`,
  how: `from spawn until a client that asks for its state is answered, in turn, ${ROUNDS} times each; medians in ms`,
  bar: { relation: '≤', limit: 50, unit: 'ms' },
  async measure() {
    const folders = [MANY, 0].map(() => mkdtempSync(join(tmpdir(), 'imago-bench-')))
    try {
      const [many = '', none = ''] = folders
      mkdirSync(join(many, 'state'), { mode: 0o700 })
      await hold(join(many, 'state'), MANY)
      const times = { many: [] as number[], none: [] as number[] }
      for (let round = 0; round < ROUNDS; round++) {
        times.many.push(await startOf(many))
        times.none.push(await startOf(none))
      }
      const [many_ms, none_ms] = [median(times.many), median(times.none)]
      return { figure: many_ms - none_ms, parts: { many_ms, none_ms } }
    } finally {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    }
  },
}
