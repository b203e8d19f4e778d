import { resultOf } from '../support/calls-rig.ts'
import { suite } from '../support/harness.ts'
import { BEFORE, type FailingChange, provedOnFailingDisk } from '../support/whole-failing.ts'

const test = suite('whole path on a failing disk', { limitMs: 60_000 })

const CHANGES: readonly FailingChange[] = [
  {
    what: 'an edit',
    tool: 'edit_file',
    fates: [{ name: 'a.txt', old: BEFORE, new: 'one\n2\nthree\n' }],
    prepare: async () => ({ path: 'a.txt', old_str: 'two', new_str: '2' }),
  },
  {
    what: 'a new file',
    tool: 'write_file',
    fates: [{ name: 'new.txt', old: undefined, new: 'new\n' }],
    prepare: async () => ({ path: 'new.txt', content: 'new\n' }),
  },
  {
    what: 'taking back a new file',
    tool: 'undo_change',
    fates: [{ name: 'new.txt', old: 'new\n', new: undefined }],
    async prepare({ run }) {
      const { undo } = resultOf(await run('write_file', { path: 'new.txt', content: 'new\n' }))
      return { change: undo }
    },
  },
]

provedOnFailingDisk(test, CHANGES)
