import { register } from 'node:module'

/**
 * `node --import` this to run TypeScript in the tests: as tsx does, in a third of its time, which counts with hundreds of
 * files that each start a process. Processes that a test starts get it with `process.execArgv`.
 */
register('./typescript-load.mjs', import.meta.url)
process.setSourceMapsEnabled(true)
