import { openDaemon } from '../../dist/src/daemon.js'
import { findPaths } from '../../dist/src/paths.js'

/** The daemon, as it was built, for which a program has gone as soon as its connections have ended. */
const daemon = await openDaemon({ paths: findPaths(process.env), goneMs: 100 })
console.log(`serves at ${daemon.address}`)
await daemon.ended
