/** What `imago doctor` found out about one thing. */
export interface Check {
  readonly name: string
  /**
   * `missing` is something that one may have and need not, `broken` something that does not work, and `unknown` what
   * could not be found out for a reason that is told elsewhere.
   */
  readonly state: 'ok' | 'missing' | 'broken' | 'unknown'
  readonly found: string
  /** What it would be good for, where it is missing. */
  readonly gives?: string
  /** What to do: a command line, or a sentence. */
  readonly fix?: string
}

/** Checks that belong together. */
export interface Area {
  readonly title: string
  readonly checks: readonly Check[]
}

const MARK = { ok: 'ok', missing: '--', broken: '!!', unknown: '??' } as const

/** All areas as text: what is well takes one line, and only the rest more. */
export function showAreas(areas: readonly Area[]): string {
  const width = Math.max(0, ...areas.flatMap(({ checks }) => checks.map(({ name }) => name.length)))
  const lines = areas.flatMap(({ title, checks }) => [
    title,
    ...checks.flatMap(one => showCheck(one, width)),
    '',
  ])
  const broken = areas.flatMap(({ checks }) => checks.filter(({ state }) => state === 'broken'))
  const verdict =
    broken.length === 0
      ? 'Everything that Imago needs works.'
      : `${broken.length === 1 ? 'One thing does' : `${broken.length} things do`} not work: ${broken.map(({ name }) => name).join(', ')}.`
  return `${[...lines, verdict].join('\n')}\n`
}

function showCheck({ name, state, found, gives, fix }: Check, width: number): string[] {
  const margin = ' '.repeat(width + 7)
  const more = [gives && `would give: ${gives}`, fix && `do: ${fix}`].filter(line => line !== undefined)
  return [`  ${MARK[state]}  ${name.padEnd(width)} ${found}`, ...more.map(line => margin + line)]
}
