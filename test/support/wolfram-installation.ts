import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mathicsPython } from './runtimes.ts'

/** Why no licensed kernel can be played here; undefined where one can. */
export const whyNoPlayer = !existsSync(mathicsPython)
  ? 'no Mathics3; run node test/setup.mjs'
  : spawnSync('cc', ['--version']).status !== 0
    ? 'there is no C compiler'
    : undefined

const player = join(import.meta.dirname, '../../wire/peers/wolfram/tests/kernel_player.py')
const playing = (module: 'mathics_player' | 'small_kernel') => ['--evaluate', `tests.${module}:evaluate`]

/** A folder of the test's own, which goes with it. */
function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-engine-')))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** An installation whose kernel starts at once, and knows little, behind a libWSTP of the tests that is compiled now. */
export function installPlayer(): string {
  const folder = newFolder()
  const { status, stderr } = spawnSync(
    mathicsPython,
    [player, '--install', folder, ...playing('small_kernel')],
    {
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(stderr)
  return folder
}

/** A `wstpserver` with one kernel, which is Mathics3, and which ends with this process. */
export async function servePlayer(): Promise<{ readonly port: number; end(): void }> {
  const file = join(newFolder(), 'port')
  const server = spawn(mathicsPython, [player, '--serve', file, ...playing('mathics_player')], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  process.on('exit', () => server.kill('SIGKILL'))
  while (!existsSync(file)) {
    if (server.exitCode !== null) throw new Error('it has ended')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return { port: Number(readFileSync(file, 'utf8')), end: () => server.kill('SIGKILL') }
}
