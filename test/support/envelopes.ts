import type { Envelope } from '../../tools/outcome.ts'
import { assert } from './harness.ts'
import type { Ran } from './rig.ts'

/** What a command printed with `--json`: one line of JSON and nothing else. */
export function onlyEnvelope({ stdout, stderr }: Ran): Envelope {
  assert.match(stdout, /^\{.*\}\n$/, stderr)
  return JSON.parse(stdout)
}
