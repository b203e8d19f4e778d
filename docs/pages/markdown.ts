/** Stands at the top of each page that is made from code. */
export const GENERATED = '<!-- Made by docs/generate.ts: change the code, then run npm run docs. -->'

/** A table whose first column is code. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const body = rows.map(([code = '', ...cells]) => line([`\`${code}\``, ...cells.map(escaped)]))
  return [line(headings), line(headings.map(() => '---')), ...body].join('\n')
}

/** Text as it is within a cell: a bar would end it. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
