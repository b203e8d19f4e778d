/** The closed words of a definition, and what an author is told who breaks one of its rules. */

/** What a call can do, never how it is meant (design section 3). */
export const LEVELS = ['safe', 'cautious', 'dangerous'] as const
export type Level = (typeof LEVELS)[number]

/** The stricter of two levels: a call may raise its own, never lower it. */
export const stricter = (one: Level, other: Level): Level =>
  LEVELS.indexOf(other) > LEVELS.indexOf(one) ? other : one

/** The named sets of tools; each contains the ones before it. */
export const PROFILES = ['core', 'live', 'full'] as const
export type Profile = (typeof PROFILES)[number]

/** Arguments that the registry adds to every tool which works on a kernel. No tool may define them itself. */
export const RESERVED = ['kernel', 'patience'] as const

/** The invariants of a definition. Those of seed 3 are here; so is what threats 6 and 12 ask for. */
export const INVARIANTS = {
  name: 'The name is in snake_case: lower-case letters, digits and single underscores, at most 64.',
  aliases:
    'Aliases are in snake_case, differ from the name and from each other; those of parameters stand for one of them.',
  description: 'The description is fixed text, not empty, at most 2,000 characters.',
  plain_text: 'No text that a model reads holds control, bidirectional or zero-width characters.',
  parameters: 'Parameters are a zod shape, named in snake_case, that JSON Schema can express.',
  described: 'Every parameter says what it is, at any depth, in at most 1,000 characters.',
  closed: 'Objects inside parameters refuse unknown keys, and no parameter accepts just anything.',
  reserved: 'No parameter has a name that the registry itself adds.',
  level: 'The level is safe, cautious or dangerous; left out, it is dangerous.',
  profile: 'The profile is core, live or full.',
  categories: 'There is at least one category, in snake_case.',
  needs: 'What a tool needs of a kernel is a list of abilities of the Kernel contract.',
  examples: 'Examples fit the parameters, and each says what it shows.',
  paths: 'What names a file is a parameter that is a text, so that its real path can be judged.',
  plan: 'A safe tool works out no plan: it changes nothing that a person could be asked about.',
  handler: 'The handler is a function; a tool that does nothing but what it plans has none.',
  unique: 'No two tools of a registry share a name or an alias.',
} as const

export type Invariant = keyof typeof INVARIANTS

/** A definition that breaks an invariant of the tool protocol contract (seed 3); `invariant` names which. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError'
  readonly invariant: Invariant

  constructor(tool: string, invariant: Invariant, message: string) {
    super(`${tool}: ${message}`)
    this.invariant = invariant
  }
}
