import { loadCached } from '../../dist/src/code-cache.js'
import { findPaths } from '../../dist/src/paths.js'

/** The daemon, as it was built, for which a program has gone as soon as its connections have ended. */
const dist = new URL('../../dist/src/', import.meta.url)
// With the compiled code that `imago serve` keeps, it is there in a fifth of the time.
const built = loadCached(new URL('front/daemon.cjs', dist).pathname, 'serve')?.exports
const { openDaemon } = built ?? (await import(new URL('daemon.js', dist).href))
const daemon = await openDaemon({ paths: findPaths(process.env), goneMs: 100 })
console.log(`serves at ${daemon.address}`)
await daemon.ended
