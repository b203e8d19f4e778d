import { type Files, openFiles } from '../../src/files/files.ts'
import type { FileChange, SeenFile } from '../../tools/contract.ts'
import type { Failed } from '../../tools/outcome.ts'
import { type DiskCall, watchedDisk } from './failing-disk.ts'
import { changes } from './steps.ts'

/** What a process is to change, and when it ends itself as if by `kill -9`. */
export interface LastChange {
  readonly root: string
  readonly state: string
  readonly change: string
  /** The texts that files are to hold, where they are to go, or the name of a change that is to be undone. */
  readonly wanted: readonly Wanted[] | string
  /** Before the Nth thing that it does to the disk, or before the first of that name. Halves of writes count too. */
  readonly diesAt: number | DiskCall['name']
}

/** A file with that text, in a new folder if it needs one; or at another path, or gone where that is null. */
export type Wanted =
  | { readonly path: string; readonly text: string }
  | { readonly path: string; readonly to: string | null }

if (process.argv[2] !== undefined) void carryOut(JSON.parse(process.argv[2]) as LastChange)

/** Dies, or says what it came to. Only the real disk knows what it did. */
async function carryOut({ root, state, change, wanted, diesAt }: LastChange): Promise<void> {
  let count = 0
  const die = () => process.kill(process.pid, 'SIGKILL')
  const { disk } = watchedDisk({
    before(call) {
      if (call.name === 'sync' || !changes({ ...call, of: 'files' })) return
      if (++count === diesAt || call.name === diesAt) die()
    },
  })
  const halving = {
    ...disk,
    write(fd: number, bytes: Uint8Array) {
      const half = disk.write(fd, bytes.subarray(0, Math.ceil(bytes.length / 2)))
      return half === bytes.length ? half : half + disk.write(fd, bytes.subarray(half))
    },
  }
  const files = openFiles({ protected: [state], stateDir: state, disk: halving })
  const planned = await plan(files, root, wanted)
  const answer = await files.commit({ change, changes: planned })
  process.stdout.write(answer.type)
}

async function plan(
  files: Files,
  root: string,
  wanted: LastChange['wanted'],
): Promise<readonly FileChange[]> {
  const project = files.of(root)
  if (typeof wanted === 'string') {
    const back = await project.undone(wanted)
    if (back.type === 'failed') throw new Error(back.error.message)
    return back.changes
  }
  const planned: FileChange[] = []
  for (const one of wanted) {
    const file = seen(await project.lookForNew(one.path))
    if ('text' in one) {
      const change = project.changed(file, one.text)
      if ('type' in change) throw new Error(change.error.message)
      planned.push(change)
    } else if (one.to === null) planned.push(project.removed(file))
    else planned.push(...project.moved(file, seen(await project.lookForNew(one.to))))
  }
  return planned
}

function seen(file: SeenFile | Failed): SeenFile {
  if (file.type === 'failed') throw new Error(file.error.message)
  return file
}
