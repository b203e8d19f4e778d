import type { Choice, Hunk, Hunks, Proposal } from '../../tools/contract.ts'
import { failed } from '../../tools/outcome.ts'

/** So many hunks of one file, `a.txt`, of which no edited text may be `unwritable`. */
export function someHunks(count: number): Hunks {
  return { all: Array.from({ length: count }, (_, n) => someHunk(n + 1)), choose }
}

function someHunk(number: number): Hunk {
  return {
    number,
    path: '/project/a.txt',
    shown: 'a.txt',
    line: number * 10,
    before: 'old\n',
    after: 'new\n',
    diff: `@@ -${number * 10} +${number * 10} @@\n-old\n+new\n`,
    why: null,
  }
}

function choose(choices: readonly Choice[]): ReturnType<Hunks['choose']> {
  const bad = choices.find(choice => choice.decision === 'edit' && choice.text === 'unwritable')
  if (bad !== undefined)
    return failed('invalid_args', { message: `The text of hunk ${bad.hunk} cannot be written.` })
  return {
    type: 'proposal',
    preview: { title: 'Do it', body: JSON.stringify(choices) },
    evidence: [],
    changes: [],
  } satisfies Proposal
}
