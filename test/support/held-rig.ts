import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { originOf } from '../../src/approvals/contract.ts'
import type { Caller, CallRequest } from '../../src/calls/contract.ts'
import { type HeldHow, type HeldQuestion, HeldQuestions } from '../../src/calls/held.ts'
import { writeWhole } from '../../src/files/whole-file.ts'
import type { Envelope } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/kernel.ts'
import { CALLER, type Ground, openWholePath, type WholeOptions, type WholePath } from './whole-path.ts'

/** A daemon's part of the call path, and its held questions. */
export interface HeldRig extends WholePath {
  readonly held: HeldQuestions
  /** Questions that it told of: that they wait while nobody sits, and that they were answered while nobody waited. */
  readonly toldWaits: HeldQuestion[]
  readonly settled: HeldQuestion[]
  /** What a full disk does: each write of a question throws. */
  readonly disk: { full: boolean }
  ask(asked: Asked): Promise<Envelope>
}

export interface Asked extends Partial<HeldHow> {
  readonly call?: string
  readonly tool?: string
  readonly args?: unknown
  readonly caller?: Partial<Caller>
  readonly signal?: AbortSignal
  readonly gone?: AbortSignal
  readonly on?: NonNullable<CallRequest['on']>
}

export const EDIT = { path: 'a.txt', old_str: 'two', new_str: '2' }

/** One daemon on that ground; the next one may follow when it has been closed. */
export function openHeld(ground: Ground, options: WholeOptions = {}): HeldRig {
  const path = openWholePath(ground, { ...options, room: () => held.sat() })
  const { approvals, calls, journal, faults } = path
  const toldWaits: HeldQuestion[] = []
  const settled: HeldQuestion[] = []
  const disk = { full: false }
  const held = new HeldQuestions({
    stateDir: ground.stateDir,
    calls,
    journal,
    env: {},
    isSeated: () => approvals.seated,
    isRoom: root => approvals.limit(originOf({ kind: 'cli', root })) === undefined,
    waits: question => toldWaits.push(question),
    settled: question => settled.push(question),
    changed: () => {},
    write(name, text) {
      if (disk.full) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
      path.steps.moment('a question is written')
      writeWhole(name, text)
      path.steps.moment('a question was written')
    },
    log: (message, error) => faults.push({ message, error }),
  })
  return Object.defineProperties({} as HeldRig, {
    ...Object.getOwnPropertyDescriptors(path),
    held: { value: held },
    toldWaits: { value: toldWaits },
    settled: { value: settled },
    disk: { value: disk },
    ask: {
      value: ({ call = 'c1', tool = 'edit_file', args = EDIT, caller, leave = true, run, ...more }: Asked) =>
        held.run(
          {
            tool,
            args,
            call: call as CallId,
            caller: { ...CALLER, root: ground.project, ...caller },
            ...more,
          },
          { leave, run },
        ),
    },
    close: {
      value: () => {
        held.close()
        return path.close()
      },
    },
  })
}

/** Paths of the files of questions. */
export const heldFiles = ({ stateDir }: Ground): string[] =>
  readdirSync(join(stateDir, 'held')).map(name => join(stateDir, 'held', name))
