import { suite } from '../support/harness.ts'
import { BEFORE, type FailingChange, provedOnFailingDisk } from '../support/whole-failing.ts'

const test = suite('whole path on a failing disk, for whole files', { limitMs: 60_000 })

const CHANGES: readonly FailingChange[] = [
  {
    what: 'a move',
    tool: 'move_file',
    fates: [
      { name: 'a.txt', old: BEFORE, new: undefined },
      { name: 'b.txt', old: undefined, new: BEFORE },
    ],
    prepare: async () => ({ source: 'a.txt', destination: 'b.txt' }),
  },
  {
    what: 'a deletion',
    tool: 'delete_file',
    fates: [{ name: 'a.txt', old: BEFORE, new: undefined }],
    prepare: async () => ({ path: 'a.txt' }),
  },
  {
    what: 'a new file in a new folder',
    tool: 'create_file',
    fates: [{ name: 'lib/new.txt', old: undefined, new: 'new\n' }],
    prepare: async () => ({ path: 'lib/new.txt', content: 'new\n' }),
  },
]

provedOnFailingDisk(test, CHANGES)
