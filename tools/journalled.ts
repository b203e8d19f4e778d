import { z } from 'zod'

type Arguments = Readonly<Record<string, unknown>>

/**
 * A tool's checked arguments as the journal keeps them: without those that say what would stand if they were left out,
 * and of what a person was only just typing (`typed`) the length alone.
 */
export function journalledBy(shape: z.ZodRawShape, typed: readonly string[]): (args: Arguments) => Arguments {
  const defaults = defaultsOf(shape)
  const isSaid = (name: string, value: unknown) => {
    const standing = defaults.get(name)
    return standing === undefined || JSON.stringify(value) !== standing
  }
  const kept = (name: string, value: unknown) =>
    typeof value === 'string' && typed.includes(name) ? `(${value.length} characters)` : value
  return args => {
    const said: Record<string, unknown> = {}
    for (const name of Object.keys(args)) if (isSaid(name, args[name])) said[name] = kept(name, args[name])
    return said
  }
}

/** What stands for each parameter that is left out, as JSON. */
function defaultsOf(shape: z.ZodRawShape): ReadonlyMap<string, string> {
  const known = new Map<string, string>()
  for (const [name, schema] of Object.entries(shape)) {
    const standing = z.safeParse(schema, undefined)
    if (standing.success && standing.data !== undefined) known.set(name, JSON.stringify(standing.data))
  }
  return known
}
