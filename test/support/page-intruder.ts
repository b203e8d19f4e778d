/**
 * A program that wants to approve its own plans through a page: `node --import tsx test/support/page-intruder.ts RIG`. It opens one,
 * asks for a seat over a WebSocket, and says the code of that itself, at a terminal of its own. Prints what came of it.
 */
import { connectDaemon } from '../../src/front/client.ts'
import { findPaths } from '../../src/paths.ts'
import type { Rig } from './rig.ts'
import { sitOverWeb } from './web-seat.ts'

const { env, project } = JSON.parse(process.argv[2] ?? '') as Pick<Rig, 'env' | 'project'>
const paths = findPaths(env)
const connect = () =>
  connectDaemon({ name: 'a page', start: 'never', root: project, env, paths, terminal: false })
const said = await sitOverWeb({ env, project, paths, connect }).then(
  () => 'It has a seat.',
  (error: Error) => error.message,
)
process.stdout.write(`${said}\n`, () => process.exit())
