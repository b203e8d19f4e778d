/** Signs that stand for something, where the terminal has Unicode and where it has not. */
export interface Signs {
  readonly here: string
  readonly accepted: string
  readonly refused: string
  readonly edited: string
  readonly open: string
  readonly rule: string
  /** Of plans that belong together: the first, those between, the last. */
  readonly group: readonly [string, string, string]
  readonly dot: string
}

const UNICODE: Signs = {
  here: '▸',
  accepted: '✓',
  refused: '✗',
  edited: '✎',
  open: '·',
  rule: '─',
  group: ['┌', '│', '└'],
  dot: '·',
}

const ASCII: Signs = {
  here: '>',
  accepted: 'y',
  refused: 'n',
  edited: 'e',
  open: '.',
  rule: '-',
  group: ['/', '|', '\\'],
  dot: '-',
}

export const signsFor = (unicode: boolean): Signs => (unicode ? UNICODE : ASCII)

/** Whether a terminal with this environment shows more than ASCII. */
export function showsUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
  return env.TERM !== 'linux' && /utf-?8/i.test(locale)
}
