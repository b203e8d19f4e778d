import type { ScreenOf } from './screen.ts'

type Cells = ReturnType<ScreenOf['cells']>

/** What a piece of a row looks like. */
interface Run {
  readonly column: number
  readonly columns: number
  readonly text: string
  readonly looks: readonly string[]
}

const WIDTH = 8.4
const HEIGHT = 18
const MARGIN = 12
const INK = '#d5d8df'
const PAPER = '#1c1f26'
const COLOURS = ['#3b4048', '#e8757d', '#8fc878', '#e6c07b', '#6cb2f5', '#c98ae0', '#5fbecb', '#d5d8df']

/** A screen as a picture, the same for the same cells: text that can be searched, in the colours of a dark terminal. */
export function svgOf(cells: Cells, title: string): string {
  const columns = cells[0]?.length ?? 0
  const [width, height] = [columns * WIDTH + 2 * MARGIN, cells.length * HEIGHT + 2 * MARGIN]
  const rows = cells.flatMap((row, index) => runsOf(row).flatMap(run => drawn(run, MARGIN + index * HEIGHT)))
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${rounded(width)} ${height}" width="${rounded(width)}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${PAPER}"/>`,
    '<g font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
    ...rows,
    '</g>',
    '</svg>',
  ].join('\n')}\n`
}

function runsOf(row: Cells[number]): Run[] {
  const runs: Run[] = []
  for (const [column, { text, looks }] of row.entries()) {
    // The other half of a wide character.
    if (text === '' && row[column - 1]?.text !== '' && isWide(row[column - 1]?.text)) continue
    const last = runs.at(-1)
    const shown = text === '' ? ' ' : text
    const joins =
      last !== undefined && last.looks.join() === looks.join() && !isWide(shown) && !isWide(last.text.at(-1))
    if (joins) runs[runs.length - 1] = { ...last, text: last.text + shown, columns: last.columns + 1 }
    else runs.push({ column, columns: isWide(shown) ? 2 : 1, text: shown, looks })
  }
  return runs
}

const isWide = (text: string | undefined) =>
  text !== undefined &&
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]|\p{Emoji_Presentation}/u.test(text)

function drawn({ column, columns, text, looks }: Run, y: number): string[] {
  const colour = (kind: 'fg' | 'bg') => {
    const found = looks.find(look => look.startsWith(`${kind}:`))
    return found === undefined ? undefined : COLOURS[Number(found.slice(3)) % 8]
  }
  const inverse = looks.includes('inverse')
  const [ink, paper] = inverse
    ? [colour('bg') ?? PAPER, colour('fg') ?? INK]
    : [colour('fg') ?? INK, colour('bg')]
  const x = MARGIN + column * WIDTH
  const width = rounded(columns * WIDTH)
  const attributes = [
    `x="${rounded(x)}"`,
    `y="${y + 13}"`,
    `textLength="${width}"`,
    `fill="${ink}"`,
    ...(looks.includes('bold') ? ['font-weight="bold"'] : []),
    ...(looks.includes('italic') ? ['font-style="italic"'] : []),
    ...(looks.includes('underline') ? ['text-decoration="underline"'] : []),
    ...(looks.includes('dim') ? ['opacity="0.6"'] : []),
  ]
  return [
    ...(paper === undefined
      ? []
      : [`<rect x="${rounded(x)}" y="${y}" width="${width}" height="${HEIGHT}" fill="${paper}"/>`]),
    ...(text.trim() === '' ? [] : [`<text ${attributes.join(' ')}>${escaped(text)}</text>`]),
  ]
}

const rounded = (number: number) => Number(number.toFixed(1))

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
