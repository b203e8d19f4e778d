import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import type { ShownPlan } from '../../src/approvals/contract.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Desk } from '../../src/terminal/desk.ts'
import type { Size } from '../../src/terminal/layout.ts'
import { Screen } from '../../src/terminal/screen.ts'
import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { cellsIn } from '../support/screen.ts'
import { CODE, EDIT, PROPOSED, STANDING, TROJAN } from '../support/watch-plans.ts'

/**
 * The screens of docs/watch.md, as a terminal shows what a desk paints. With IMAGO_SCREENS=write they are written anew, to
 * be looked at; else they are compared.
 */
const test = suite('screens of imago watch')

const FOLDER = join(PACKAGE_ROOT, 'docs/screens')

interface Scene {
  readonly name: string
  readonly title: string
  readonly plans: readonly ShownPlan[]
  /** Something is let through, and somebody is let be. */
  readonly standing?: true
  readonly keys?: string
  readonly screen: Size & { readonly coloured?: boolean }
}

const SCENES: readonly Scene[] = [
  {
    name: 'list',
    title: 'Three plans of two turns; the code of one of them',
    plans: [PROPOSED, CODE, EDIT],
    keys: '3',
    screen: { columns: 96, rows: 22 },
  },
  {
    name: 'diff',
    title: 'A difference, with the words that changed',
    plans: [EDIT],
    screen: { columns: 96, rows: 31 },
  },
  {
    name: 'hunks',
    title: 'The third of three hunks; one was accepted, and one refused',
    plans: [PROPOSED],
    keys: 'ynWho ships nothing should hear of it.\r',
    screen: { columns: 96, rows: 20 },
  },
  {
    name: 'decided',
    title: 'All hunks are decided: what will be applied, and the reason for the one that is not',
    plans: [PROPOSED],
    keys: 'ynWho ships nothing should hear of it.\ry',
    screen: { columns: 96, rows: 18 },
  },
  {
    name: 'trojan',
    title: 'Code that does not do what it looks like: what is hidden in it is marked',
    plans: [TROJAN],
    screen: { columns: 96, rows: 26 },
  },
  {
    name: 'reason',
    title: 'The reason for a refusal is being typed',
    plans: [CODE],
    keys: 'nAsk me first whose orders these are',
    screen: { columns: 96, rows: 20 },
  },
  {
    name: 'standing',
    title: 'Nothing waits: what is let through, and who is not asked about',
    plans: [],
    standing: true,
    screen: { columns: 80, rows: 18 },
  },
  {
    name: 'no-colour',
    title: 'Without colours, at 80 columns and 24 rows',
    plans: [EDIT, CODE],
    screen: { columns: 80, rows: 24, coloured: false },
  },
  {
    name: 'small',
    title: 'At 40 columns and 10 rows',
    plans: [EDIT, CODE],
    keys: ' ',
    screen: { columns: 40, rows: 10 },
  },
]

for (const { name, title, plans, standing, keys, screen } of SCENES)
  test(`docs/screens/${name}.svg is what the screen shows`, async () => {
    const at = openDesk(screen)
    at.tell(...plans)
    if (standing) at.desk.stands(STANDING)
    at.keys(keys ?? '')
    at.desk.paint()
    at.desk.rested()
    const picture = svgOf(await cellsOf(at.desk, screen), title)
    const path = join(FOLDER, `${name}.svg`)
    if (process.env.IMAGO_SCREENS === 'write') {
      mkdirSync(FOLDER, { recursive: true })
      writeFileSync(path, picture)
    }
    assert.is(readFileSync(path, 'utf8'), picture, `${path} differs from:\n${at.text()}`)
  })

/** The cells of a terminal that has shown what is painted. */
async function cellsOf(desk: Desk, { columns, rows }: Size): Promise<Cells> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true })
  let written = ''
  const screen = new Screen({
    write: text => {
      written += text
    },
    size: () => ({ columns, rows }),
    whole: true,
  })
  screen.show({ rows: desk.paint(), cursor: desk.cursor ?? { row: 0, column: 0 } })
  await new Promise<void>(resolve => terminal.write(written, resolve))
  const cells = cellsIn(terminal)
  terminal.dispose()
  return cells
}

test('every screen that the page shows is one of these, and every one of these is shown', () => {
  const page = readFileSync(join(PACKAGE_ROOT, 'docs/watch.md'), 'utf8')
  const shown = [...page.matchAll(/\]\(screens\/([\w-]+)\.svg\)/g)].map(([, name]) => name)
  assert.equal(shown.sort(), SCENES.map(({ name }) => name).sort())
})

type Cells = ReturnType<typeof cellsIn>

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
function svgOf(cells: Cells, title: string): string {
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
