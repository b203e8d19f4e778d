import type { Envelope } from '../../tools/outcome.ts'
import { residentBytes } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import type { Row } from '../row.ts'

const RESULTS = 8
const BYTES = 100_000_000

const ground = sharedGround()

export const largeResults: Row = {
  what: 'memory that a Python image keeps after eight results of 100 MB',
  how: 'each is the value of an `eval_expr`; resident memory of the whole image after the last of them, of which the newest alone stays',
  bar: { relation: '≤', limit: 200, unit: 'MB' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const pid = await ground.daemon.kernelPid()
    for (let number = 0; number < RESULTS; number++)
      await ground.daemon.call('eval_expr', { expr: `b'x' * ${BYTES + number}` })
    return { figure: residentBytes(pid) / 1e6, parts: {} }
  },
}

const CLIENTS = 1_000

export const crowd: Row = {
  what: '1,000 clients with one call each: calls refused',
  how: 'all connected, all ask for an `eval_expr` at once; the parts have the time until the last is answered',
  bar: { relation: '≤', limit: 0, unit: 'calls' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const links = await Promise.all(Array.from({ length: CLIENTS }, () => ground.daemon.connect()))
    const begun = performance.now()
    const answers = await Promise.all(
      links.map(link => link.call('call', { tool: 'eval_expr', args: { expr: '1 + 2', patience: 600 } })),
    )
    const all_ms = performance.now() - begun
    await Promise.all(links.map(link => link.close()))
    return { figure: answers.filter(answer => !(answer as Envelope).ok).length, parts: { all_ms } }
  },
}
