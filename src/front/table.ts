/** A line of a table, and what is said of it underneath. */
export interface Line {
  readonly cells: readonly string[]
  readonly below: readonly string[]
}

/** Columns two blanks apart, as the first line has them; the last one is as wide as it is. */
export function table(lines: readonly Line[]): string {
  const columns = lines[0]?.cells.length ?? 0
  const widths = Array.from({ length: columns - 1 }, (_, column) =>
    Math.max(...lines.map(({ cells }) => cells[column]?.length ?? 0)),
  )
  return lines
    .flatMap(({ cells, below }) => [
      cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
      ...below.map(text => `    ${text}`),
    ])
    .map(line => line.trimEnd())
    .join('\n')
}
