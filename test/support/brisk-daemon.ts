import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { type Rig, until } from './rig.ts'

/** A daemon of its own process, as it was built, that drops a client which says nothing for so long. It ends with the rig. */
export async function serveBriskly({ env, paths }: Rig, heartbeatMs: number): Promise<void> {
  const source = `import { openDaemon } from ${JSON.stringify(`${PACKAGE_ROOT}/dist/src/daemon.js`)}
    await openDaemon({ paths: ${JSON.stringify(paths)}, limits: { heartbeatMs: ${heartbeatMs} } })`
  spawn(process.execPath, ['--input-type=module', '-e', source], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await until(() => existsSync(paths.socket), 'the daemon')
}
