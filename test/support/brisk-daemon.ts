import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type Rig, until } from './rig.ts'

/**
 * A daemon as it was built, that drops a client which says nothing for so long. It ends with the rig. In a process of its
 * own: nothing below the daemon may sit. With `web`, one that takes WebSockets from its start.
 */
export async function serveBriskly(
  { env, paths }: Rig,
  heartbeatMs: number,
  { web = false } = {},
): Promise<ChildProcess> {
  const dist = JSON.stringify(`${PACKAGE_ROOT}/dist/src/`)
  // With the compiled code that `imago serve` keeps, it is there in a fifth of the time.
  const source = `const { loadCached } = await import(${dist} + 'code-cache.js')
    const built = loadCached(${dist} + 'front/daemon.cjs', 'serve')?.exports
    const { openDaemon } = built ?? (await import(${dist} + 'daemon.js'))
    const limits = { heartbeatMs: ${heartbeatMs} }
    await openDaemon({ paths: ${JSON.stringify(paths)}, limits, webPort: ${web ? 0 : undefined} })`
  const daemon = spawn(process.execPath, ['--input-type=module', '-e', source], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await until(() => existsSync(web ? paths.web : paths.socket), 'the daemon')
  return daemon
}
