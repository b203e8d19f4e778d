import { createHash } from 'node:crypto'
import type { CallId } from '../../wire/kernel.ts'
import type { CallRequest } from './call.ts'
import type { Flight } from './flight.ts'

/** Answers that are kept for a caller that asks again, and names of calls whose answers are not kept any more. */
const ANSWERS = 256
const NAMES = 10_000

export type Before =
  | { readonly type: 'new' }
  | { readonly type: 'same'; readonly flight: Flight }
  /** The same name for another call. */
  | { readonly type: 'other' }
  | { readonly type: 'forgotten' }

/** Calls by the names that their callers gave them, so that none runs twice. */
export interface Once {
  before(call: CallId, request: CallRequest): Before
  begin(flight: Flight, request: CallRequest): void
  /**
   * A call that was refused before it was dispatched is forgotten at once: asking for it again is a new attempt. Any
   * other keeps its name and, for a while, its answer.
   */
  end(flight: Flight): void
}

export function openOnce(): Once {
  const flights = new Map<CallId, { readonly flight: Flight; readonly digest: string }>()
  const ended = new Set<CallId>()
  const names = new Set<CallId>()

  return {
    before(call, request) {
      const known = flights.get(call)
      if (known === undefined) return { type: names.has(call) ? 'forgotten' : 'new' }
      return known.digest === digest(request) ? { type: 'same', flight: known.flight } : { type: 'other' }
    },
    begin: (flight, request) => void flights.set(flight.call, { flight, digest: digest(request) }),
    end({ call, ran }) {
      if (!flights.has(call)) return
      if (!ran) {
        flights.delete(call)
        return
      }
      ended.add(call)
      const oldest = overflow(ended, ANSWERS)
      if (oldest === undefined) return
      flights.delete(oldest)
      names.add(oldest)
      overflow(names, NAMES)
    },
  }
}

/** Takes the oldest out of a set that has grown too large, and answers it. */
function overflow(set: Set<CallId>, most: number): CallId | undefined {
  const [oldest] = set
  if (set.size <= most || oldest === undefined) return undefined
  set.delete(oldest)
  return oldest
}

/** What a call asks for and where, in few bytes: its arguments may be megabytes of source. */
function digest({ tool, args, caller }: CallRequest): string {
  const asked = [caller.root, caller.readOnlyPromised, tool, args]
  const text = JSON.stringify(asked, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
  return createHash('sha256').update(text).digest('base64')
}
