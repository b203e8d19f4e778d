import type { Yes } from '../../core/policy/written.ts'
import type { Doubt } from '../seat/hosts.ts'

/** Clients that are known to answer questions of MCP servers without a person, by how the names that they give begin. */
const BY_THEMSELVES: readonly (readonly [name: string, why: string])[] = [
  // openai/codex, pull requests 17164 and 21277: empty forms, which ours never are; nothing says that it stops there.
  ['codex', 'Codex accepts some questions by itself in full access'],
  // The hooks Elicitation and ElicitationResult in its settings, which a project can bring.
  [
    'claude-code',
    'a hook in the settings of Claude Code, or of a project, can answer in the place of a person',
  ],
]

export interface Doubting {
  /** What the client calls itself. */
  readonly client: string
  /** Of the program that it is. */
  readonly process: Doubt | undefined
  /** What the user's policy says of the client. */
  readonly yes: Yes | undefined
}

/**
 * Why a yes of this client does not count by itself, as a clause. A name is only what a program calls itself: that the
 * policy lets a name count says nothing for a program that may not approve.
 */
export function doubtOf({ client, process, yes }: Doubting): string | undefined {
  if (process?.liftable === false) return process.why
  if (yes === 'asks_a_seat') return 'the policy has a seat asked all the same'
  if (yes === 'counts') return undefined
  return process?.why ?? BY_THEMSELVES.find(([name]) => client.startsWith(name))?.[1]
}
