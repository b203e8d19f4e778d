import type { z } from 'zod'
import type { Level } from '../../../tools/contract.ts'
import { nothing } from './values.ts'

/**
 * Who may ask for an operation. `anyone`: every client; rows of other projects are left out of the answer, unless a rule or
 * a person lets the client see them. `project`: a client of the project of the kernel that is named, and one that a rule of
 * the policy lets in. `person`: a client with a seat, or at a terminal that its process has proved. `seat`: a seat on the
 * same connection. `model`: a model, for what is a tool.
 */
export const WHO = ['anyone', 'project', 'person', 'seat', 'model'] as const

export type Who = (typeof WHO)[number]

/** What a client can subscribe to. */
export const TOPICS = [
  'kernels',
  'programs',
  'approvals',
  'suspensions',
  'errors',
  'traces',
  'seats',
  'calls',
  'output',
  'runs',
] as const

export type Topic = (typeof TOPICS)[number]

/** One thing that a client can ask of the daemon, as data. */
export interface Operation {
  /** For a programmer: sentences. */
  readonly does: string
  readonly params: z.ZodType
  readonly result: z.ZodType
  /** What each of its events before the answer says. Left out: it has none. */
  readonly event?: z.ZodType
  readonly who: readonly Who[]
  /** What it can do to a kernel, or to what a person relies on. */
  readonly level: Level
  /** Topics whose rows it can change. */
  readonly topics: readonly Topic[]
  /** It is in the journal as somebody's call, with its end. */
  readonly recorded?: true
  /** Of one for a project: the name of the kernel. */
  kernel?(params: never): string
  /** Of one that attaches: its target, which is no kernel yet, and the name that it is to have. */
  target?(params: never): { readonly target: string; readonly name?: string }
  /** Of one that runs tools: the kernel that is named. The gate of calls decides about it. */
  calls?(params: never): string | undefined
  /** Of one for a seat: what a client that has none tried to do, such as `answer plan-1`. */
  act?(params: never): string
}

const LEFT_OUT = { params: nothing, result: nothing, topics: [] } as const

type LeftOut = keyof typeof LEFT_OUT

type Drafted = Omit<Operation, LeftOut | 'who'> & Partial<Pick<Operation, LeftOut | 'who'>>

/** By what an operation is admitted: the kernel or the target that it names, or a seat. */
const whoMay = ({ kernel, target, act }: Drafted): readonly Who[] =>
  (kernel ?? target) !== undefined ? ['project', 'person'] : act !== undefined ? ['seat'] : ['anyone']

/**
 * Keeps the types of its parameters and its result. Left out, both are empty, it changes no rows, and who may is told by
 * what it is admitted by.
 */
export const operation = <const Row extends Drafted>(row: Row) =>
  ({ ...LEFT_OUT, who: whoMay(row), ...row }) as Row &
    Omit<typeof LEFT_OUT, keyof Row> & { readonly who: readonly Who[] }
