import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../src/sha256.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { resultOf } from './calls-rig.ts'
import type { Happened } from './history.ts'
import { isSame, type Outsider, outsideIn, type State, stateOf } from './outsiders.ts'
import { type Step, Steps } from './steps.ts'
import { type Ground, openGround, openWholePath, type WholePath } from './whole-path.ts'
import { claimOf, leftBehind, wrongInJournal } from './whole-truth.ts'

/** A call that changes one file. */
export interface Change {
  readonly what: string
  readonly tool: string
  readonly name: string
  /** What it makes of a file that holds this; undefined for no file. */
  becomes(text: string): string | undefined
  /** What the person is shown of a file that holds this; its first line unless given. */
  shows?(text: string): string
  /** What is wrong with the other file of a change of two, once this one has been done or has not; `shown`: the plan. */
  half?(ground: Ground, o: { readonly done: boolean; readonly shown: string }): string | undefined
  /** Makes the file what it is before, and answers the arguments. */
  prepare(path: Pick<WholePath, 'run' | 'ground'>): Promise<unknown>
}

export const EDIT: Change = {
  what: 'an edit',
  tool: 'edit_file',
  name: 'a.txt',
  becomes: text => text.replace('two', '2'),
  async prepare({ ground }) {
    ground.put('a.txt', 'one\ntwo\nthree\n')
    return { path: 'a.txt', old_str: 'two', new_str: '2' }
  },
}

export const NEW_FILE: Change = {
  what: 'a new file',
  tool: 'write_file',
  name: 'new.txt',
  becomes: () => 'new\n',
  prepare: async () => ({ path: 'new.txt', content: 'new\n' }),
}

export const TAKING_BACK: Change = {
  what: 'taking back a new file',
  tool: 'undo_change',
  name: 'new.txt',
  becomes: () => undefined,
  async prepare({ run }) {
    return { change: resultOf(await run('write_file', { path: 'new.txt', content: 'new\n' })).undo }
  },
}

export const HELD = 'one\ntwo\nthree\n'

/** Wherever it is, if somebody has moved the folder away. */
export const textIn = (ground: Ground, name: string) => ground.text(name) ?? ground.text(`../moved/${name}`)

export const MOVE = {
  tool: 'move_file',
  async prepare({ ground }: Pick<WholePath, 'ground'>) {
    ground.put('a.txt', HELD)
    return { source: 'a.txt', destination: 'b.txt' }
  },
}

export const MOVING_AWAY: Change = {
  ...MOVE,
  what: 'a move',
  name: 'a.txt',
  becomes: () => undefined,
  shows: sha256,
  half(ground, { done, shown }) {
    const text = textIn(ground, 'b.txt')
    if (done ? text !== undefined && shown.includes(sha256(text)) : text === undefined) return undefined
    return `b.txt has ${JSON.stringify(text)}`
  },
}

export const MOVING_HERE: Change = {
  ...MOVE,
  what: 'the new place of a move',
  name: 'b.txt',
  becomes: () => HELD,
  half(ground, { done }) {
    const text = textIn(ground, 'a.txt')
    return text === (done ? undefined : HELD) ? undefined : `a.txt has ${JSON.stringify(text)}`
  },
}

export const DELETION: Change = {
  what: 'a deletion',
  tool: 'delete_file',
  name: 'a.txt',
  becomes: () => undefined,
  async prepare({ ground }) {
    ground.put('a.txt', HELD)
    return { path: 'a.txt' }
  },
}

/** What came of it that an outsider acted, at moments of one change in turn. */
export interface Raced {
  /** How many moments that was. */
  readonly tried: number
  /** How often the call was answered so. */
  readonly answers: Readonly<Record<string, number>>
  /** What was not as it has to be. */
  readonly wrong: readonly string[]
  /** The steps immediately before which a name that was given to something else was lost to it. */
  readonly lost: readonly string[]
}

export const OUTSIDE = 'not in the project\n'

/**
 * Lets an outsider act before steps of the change in turn: those of journal and files, before and after the person
 * answers, and after the caller is answered. From the first on, with that stride between them. All on one day of one
 * daemon, whose journal is read at its end.
 */
export async function racedAtMoments(o: {
  readonly change: Change
  readonly outsider: Outsider
  readonly first: number
  readonly stride: number
}): Promise<Raced> {
  const { change, outsider, first, stride } = o
  const ground = openGround()
  const steps = new Steps()
  const path = openWholePath(ground, { steps, limits: { undoBytes: 0 } })
  const { plans } = path.seat(() => {
    steps.moment('before the person answers')
    queueMicrotask(() => steps.moment('after the person has answered'))
    return 'approve'
  })
  const effects: Happened[] = []
  const answers: Record<string, number> = {}
  const wrong: string[] = []
  const lost: string[] = []
  let tried = 0
  for (let [moment, acted] = [first, true]; acted; moment += stride) {
    clear(ground)
    const plansBefore = plans.length
    const args = await change.prepare(path)
    if (plans.length > plansBefore) effects.push(effectOf(plans, change))
    const one = await race({ change, outsider, path, at: moment, args })
    acted = one.step !== undefined
    if (acted) tried++
    const { answer, step, last } = one
    const said = answer.ok ? 'ok' : answer.error.code
    answers[said] = (answers[said] ?? 0) + 1
    if (answer.ok) effects.push(effectOf(plans, change))
    const shown = plans.at(-1)?.body ?? ''
    const verdict = judged({ ...one, change, now: stateOf(ground, change.name), shown })
    const half = change.half?.(ground, { done: claimOf(answer) === 'new', shown })
    if (half !== undefined) wrong.push(`moment ${moment}, ${step?.of} ${step?.name}: ${half}`)
    if (verdict === 'lost' && outsider.byName) lost.push(step?.name ?? 'never')
    else if (verdict !== undefined)
      wrong.push(
        `moment ${moment}, ${step?.of} ${step?.name}: ${verdict}, ${JSON.stringify({ last, answer })}`,
      )
    wrong.push(...leftIn(ground).map(name => `moment ${moment}, ${step?.of} ${step?.name}: ${name}`))
  }
  await path.close()
  wrong.push(...(await wrongInJournal(ground, { effects })))
  ground.remove()
  return { tried, answers, wrong, lost }
}

export const effectOf = (plans: readonly { readonly id: string }[], { name }: Change): Happened => ({
  change: plans.at(-1)?.id ?? 'nobody was asked',
  path: name,
})

export function clear(ground: Ground): void {
  rmSync(join(ground.folder, 'moved'), { recursive: true, force: true })
  for (const name of ground.names()) rmSync(join(ground.project, name))
  writeFileSync(outsideIn(ground), OUTSIDE)
}

/** One call, and the outsider before its step of that number. */
export async function race(o: {
  readonly change: Change
  readonly outsider: Outsider
  readonly path: WholePath
  readonly at: number
  readonly args: unknown
}) {
  const { change, outsider, path, at, args } = o
  const { ground, steps } = path
  const first = stateOf(ground, change.name)
  let last = first
  let step: Step | undefined
  steps.begin({
    before(next) {
      if (next.number !== at) return
      step = next
      outsider.act(ground, change.name)
      last = stateOf(ground, change.name)
    },
  })
  const answer = await path.run(change.tool, args)
  steps.moment('after the answer')
  steps.begin()
  return { answer, first, last, step }
}

/** What is wrong with how it ended; `lost`: success was claimed, and what the outsider did is gone. */
export function judged(o: {
  readonly change: Change
  readonly answer: Envelope
  /** Before the call, and as the outsider left it. */
  readonly first: State
  readonly last: State
  readonly now: State
  /** What the person saw. */
  readonly shown: string
}): string | undefined {
  const { change, answer, last, now, shown } = o
  if (claimOf(answer) === 'unknown') return 'nobody knows'
  if (isSame(now, last)) return undefined
  if (claimOf(answer) === 'old') return 'a change was made, and denied'
  const text = last?.text ?? ''
  // It came before the plan was made, which says so.
  const told = change.shows?.(text) ?? text.split('\n')[0] ?? ''
  const known = shown.includes(told) && (now === undefined || last === undefined || now.mode === last.mode)
  const made = now?.text === change.becomes(text)
  return made && known ? undefined : 'lost'
}

export function leftIn(ground: Ground): string[] {
  const outside = stateOf(ground, '../outside.txt')?.text
  return [
    ...leftBehind(ground).map(name => `${name} was left behind`),
    ...(outside === OUTSIDE ? [] : ['a file outside of the project was changed']),
  ]
}
