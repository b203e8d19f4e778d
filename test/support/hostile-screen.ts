import xterm from '@xterm/headless'

/** What an asker wrote, as a person sees it, and what of it no terminal should have been sent. */
export interface Seen {
  /** The rows, those that have scrolled away included, as the terminal broke them. */
  readonly rows: readonly string[]
  /** By their names: controls, and characters that are not seen as what they are. Empty where all is well. */
  readonly strays: readonly string[]
}

/** A terminal in memory that all of it is written to. `own`: the sequences that are ours, to the last parameter. */
export async function seen(written: string, { columns = 80, own }: Writing): Promise<Seen> {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows: 24,
    scrollback: 30_000,
    allowProposedApi: true,
    convertEol: true,
  })
  await new Promise<void>(resolve => terminal.write(written, resolve))
  const { active } = terminal.buffer
  const rows = Array.from(
    { length: active.length },
    (_, row) => active.getLine(row)?.translateToString(true) ?? '',
  )
  terminal.dispose()
  return { rows, strays: straysIn(written, own) }
}

interface Writing {
  readonly columns?: number
  readonly own: RegExp
}

/** Tabs and the ends of lines are obeyed by terminals, too, and are seen. */
export function straysIn(written: string, own: RegExp): string[] {
  const rest = written.replace(own, '').replaceAll('\r\n', '\n')
  const found =
    rest.match(/(?![\n\t ])[\p{C}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u2800]/gu) ?? []
  return [...new Set(found)].map(
    stray => `U+${(stray.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
}
