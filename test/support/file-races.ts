import { existsSync, readFileSync } from 'node:fs'
import type { FileChange } from '../../tools/contract.ts'
import { type DiskCall, refusal, watchedDisk } from './failing-disk.ts'
import { cameTo, FilesRig } from './files-rig.ts'

export interface Raced {
  readonly rig: FilesRig
  readonly came: string
  /** Of the call before which somebody else acted, and what it was to do. */
  readonly call: DiskCall
  /** What the file of the first change holds afterwards. */
  readonly held: string | null
}

export interface Race {
  begin(rig: FilesRig): Promise<FileChange | readonly FileChange[]>
  /** `call` is the next one. */
  act(rig: FilesRig, call: DiskCall): void
  check(raced: Raced): void
  /** Whether the file system gives files no second names. */
  readonly linkless?: boolean
}

/** Commits as often as there are calls in a commit; each time somebody else acts before another call. */
export async function race({ begin, act, check, linkless = false }: Race): Promise<number> {
  for (let number = 1; ; number++) {
    const rig = new FilesRig()
    try {
      const begun = await begin(rig)
      const changes = 'path' in begun ? [begun] : begun
      const [change] = changes
      if (change === undefined) throw new Error('nothing is changed')
      const { disk, calls } = watchedDisk({
        before(call) {
          if (call.number === number) act(rig, call)
          if (linkless && call.name === 'link') throw refusal('EPERM')
        },
      })
      const answer = await rig.open({ disk }).commit({ change: 'plan-raced', changes })
      const call = calls[number - 1]
      if (call === undefined) return number - 1
      const held = existsSync(change.path) ? readFileSync(change.path, 'utf8') : null
      check({ rig, came: cameTo(answer), call, held })
    } finally {
      rig.close()
    }
  }
}
