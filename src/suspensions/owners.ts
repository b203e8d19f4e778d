import type { Ownership, Profile } from '../../tools/contract.ts'

/**
 * Whose a suspended evaluation is. This file is the whole rule; all other code asks it.
 *
 * 1. Whoever asked for an evaluation owns it when an error suspends it. Anybody may look at it. Only its owner resumes it
 *    or runs code in its frames.
 * 2. A caller is one program with all its connections, so that a client that reconnects still owns its own. All that
 *    shells call in one project is one caller. A person who sits is one connection.
 * 3. A person who sits may take any of them over, and then owns it. They may also put any of them before the agents of
 *    its project: whoever calls from that project owns it then, together. An error of their own that they adopt begins so.
 * 4. What stands on another one (an error in code that was run in its frame) has the same owner, always.
 * 5. It is given up when its owner has had nothing to do with it for as long as its lease (`leases.ts`).
 * 6. The lease of an owner whose connections are all gone is `GONE_MS`. Shells and agents are never gone.
 */
export type Owner =
  | { readonly type: 'caller' | 'person'; readonly key: string; readonly who: string }
  /** All who call from the project that the kernel belongs to. */
  | { readonly type: 'agents'; readonly root: string }
  /** No call that this daemon knows has asked for it; `who` has, as the image says. */
  | { readonly type: 'unknown'; readonly who: string }

/** Owners of which each one is told what others do with theirs. */
export type NamedOwner = Extract<Owner, { key: string }>

/** A caller, as far as it decides what is its own. */
export interface CallerIdentity {
  /** Of its connection. */
  readonly id: string
  readonly who: string
  readonly kind: 'cli' | 'mcp'
  readonly root: string
  readonly origin?: string | undefined
  readonly profile: Profile
  /** Who sits on this connection now; undefined where nobody does. */
  readonly seat?: (() => string | undefined) | undefined
}

/** How long an owner may be gone, in milliseconds. */
export const GONE_MS = 30_000

/** What this caller asks for is owned by. */
export function ownerFor(caller: CallerIdentity): NamedOwner {
  const person = caller.seat?.()
  return person === undefined
    ? { type: 'caller', key: programOf(caller), who: caller.who }
    : personAt(caller.id, person)
}

/** A person who sits on that connection. */
export const personAt = (connection: string, who: string): NamedOwner => ({
  type: 'person',
  key: keyOfConnection(connection),
  who,
})

/** The keys of all owners that this caller can be. */
export const keysOf = (
  caller: Pick<CallerIdentity, 'id' | 'kind' | 'root' | 'origin'>,
): readonly string[] => [programOf(caller), keyOfConnection(caller.id)]

/** Undefined for an owner that is no single caller. */
export const keyOf = (owner: Owner): string | undefined => ('key' in owner ? owner.key : undefined)

/** For people and the journal; null for the agents of a project. */
export const nameOf = (owner: Owner): string | null => (owner.type === 'agents' ? null : owner.who)

/** Whose it is, as that caller sees it. */
export function ownershipOf(owner: Owner, caller: CallerIdentity): Ownership {
  switch (owner.type) {
    case 'caller':
    case 'person':
      return keysOf(caller).includes(owner.key)
        ? { type: 'you' }
        : { type: 'other', who: owner.who, person: owner.type === 'person' }
    case 'agents':
      return owner.root === caller.root
        ? { type: 'anyone' }
        : { type: 'other', who: `the agents of ${owner.root}`, person: false }
    case 'unknown':
      return { type: 'other', who: owner.who, person: false }
    default:
      return owner satisfies never
  }
}

/** Whether it waits for longer because that caller has looked at it: its owner's looks do that, and those of a person. */
export const keepsIt = (owner: Owner, caller: CallerIdentity): boolean =>
  caller.seat?.() !== undefined || ownershipOf(owner, caller).type !== 'other'

const programOf = ({ origin, kind, root }: Pick<CallerIdentity, 'origin' | 'kind' | 'root'>): string =>
  origin ?? `${kind} ${root}`

const keyOfConnection = (id: string): string => `connection ${id}`

/** Owners that have gone and are remembered. */
const MOST_GONE = 1_024

/** Which owners are connected. `changed`: the owner of that key has gone, or has come back. */
export class Presence {
  readonly #changed: (key: string) => void
  /** How many connections each key has. */
  readonly #connections = new Map<string, number>()
  readonly #gone = new Set<string>()

  constructor(changed: (key: string) => void) {
    this.#changed = changed
  }

  /** A connection begins. The answer is called once, when it has ended. */
  came(caller: Pick<CallerIdentity, 'id' | 'kind' | 'root' | 'origin'>): () => void {
    const [program = '', connection = ''] = keysOf(caller)
    // There is always another shell.
    const keys = caller.kind === 'mcp' ? [program, connection] : [connection]
    for (const key of keys) {
      this.#connections.set(key, (this.#connections.get(key) ?? 0) + 1)
      if (this.#gone.delete(key)) this.#changed(key)
    }
    return () => {
      for (const key of keys) this.#ended(key)
    }
  }

  isGone(owner: Owner): boolean {
    const key = keyOf(owner)
    return key !== undefined && this.#gone.has(key)
  }

  #ended(key: string): void {
    const left = (this.#connections.get(key) ?? 1) - 1
    if (left > 0) return void this.#connections.set(key, left)
    this.#connections.delete(key)
    this.#gone.add(key)
    this.#changed(key)
    const [oldest] = this.#gone
    if (this.#gone.size > MOST_GONE && oldest !== undefined) this.#gone.delete(oldest)
  }
}
