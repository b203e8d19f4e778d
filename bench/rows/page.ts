import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import type { DaemonClient } from '../../src/front/client.ts'
import { addressOf, openBrowser, opened, openPage, seated } from '../../test/support/browser.ts'
import { openRig, type Rig } from '../../test/support/rig.ts'
import { pause } from '../daemon.ts'
import { median, type Row, ratio } from '../row.ts'

const FOLDER = join(import.meta.dirname, '../../dist/src/page')
const FILES = ['index.html', 'page.js', 'page.css'].map(name => readFileSync(join(FOLDER, name), 'utf8'))
const [, SCRIPT, STYLE] = FILES

/** A file of 10,000 lines. The plan changes each fifth line. */
const BEFORE = Array.from({ length: 10_000 }, (_, n) => `line ${n} of the file`)
const AFTER = BEFORE.map((line, n) => (n % 5 === 0 ? `${line}, changed` : line))

/** The weight of the page, none of whose script is run. */
const EMPTY = `<!doctype html><style>${STYLE}</style><script>(function(){ return; ${SCRIPT}\n})</script>empty`

/** The difference without anything around it. */
const PLAIN = `<!doctype html><pre>${BEFORE.flatMap((line, n) =>
  line === AFTER[n] ? ` ${line}\n` : `<del>-${line}\n</del><ins>+${AFTER[n]}\n</ins>`,
).join('')}</pre>`

interface Scene {
  readonly rig: Rig
  readonly client: DaemonClient
  readonly browser: Browser
  /** Where the two above are. */
  readonly plain: string
  end(): Promise<void>
}

let scene: Scene | undefined
let users = 0

const ground = {
  async setUp() {
    if (users++ > 0) return
    const rig = openRig({ files: { 'imago.toml': '', 'long.txt': BEFORE.join('\n') } })
    await rig.serve()
    const [browser, client] = [await openBrowser(), await rig.connect()]
    const server = createServer(({ url }, response) =>
      response.setHeader('content-type', 'text/html; charset=utf-8').end(url === '/diff' ? PLAIN : EMPTY),
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const plain = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const end = async () => {
      await browser.close()
      server.close()
      await rig.close()
    }
    scene = { rig, client, browser, plain, end }
  },
  async tearDown() {
    if (--users > 0) return
    await scene?.end()
    scene = undefined
  },
}

const place = (): Scene => {
  if (scene === undefined) throw new Error('the row was not set up')
  return scene
}

/** Milliseconds of processor time that a tab takes while something is done in it, until that is drawn. */
async function taken(page: Page, act: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const now = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
  const before = await now()
  await act()
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
  const took = (await now()) - before
  await session.detach()
  return took
}

/** The same of a fresh tab that goes there. */
async function takenFresh(address: string, text: string): Promise<number> {
  const page = await place().browser.newPage()
  const took = await taken(page, async () => {
    await page.goto(address)
    await page.getByText(text).first().waitFor()
  })
  await page.close()
  return took
}

export const pageOpens: Row = {
  what: 'the page from open to usable: processor time in Chromium, beside an empty page of the same weight',
  how: 'a fresh tab each, five times in turn, until the list of what waits is drawn; the other page has the same script and styles, and runs nothing',
  bar: { relation: '≤', limit: 300, unit: 'ms' },
  ...ground,
  async measure() {
    const { rig, plain } = place()
    const [ours, empty]: [number[], number[]] = [[], []]
    for (let round = 0; round < 5; round++) {
      ours.push(await takenFresh(await addressOf(rig), 'Nothing waits.'))
      empty.push(await takenFresh(plain, 'empty'))
    }
    const [ours_ms, empty_ms] = [median(ours), median(empty)]
    return { figure: ours_ms - empty_ms, parts: { ours_ms, empty_ms } }
  },
}

export const pageWeight: Row = {
  what: 'the weight of the page, compressed',
  how: 'all files that a browser is sent, each by gzip',
  bar: { relation: '≤', limit: 60, unit: 'kB' },
  async measure() {
    const all_kb = FILES.reduce((sum, text) => sum + gzipSync(text).length / 1_000, 0)
    return { figure: all_kb, parts: { all_kb } }
  },
}

export const pageDiff: Row = {
  what: 'a plan of 10,000 lines drawn on the page, against the same difference alone in a tab',
  how: 'processor time in Chromium, five times in turn: from the click that opens the plan, and from the address of a page that has nothing but the lines, with `ins` and `del`',
  bar: { relation: '≤', limit: 2, unit: '×' },
  ...ground,
  async measure() {
    const { rig, client, browser, plain } = place()
    const page = await openPage(rig, browser)
    await seated(rig, page)
    const gone = new AbortController()
    const args = { path: 'long.txt', content: AFTER.join('\n') }
    const answer = client.call({ tool: 'write_file', args, signal: gone.signal })
    const [ours, theirs]: [number[], number[]] = [[], []]
    for (let round = 0; round < 5; round++) {
      ours.push(await taken(page, () => opened(page)))
      await page.keyboard.press('q')
      theirs.push(await takenFresh(`${plain}/diff`, 'line 0'))
    }
    gone.abort()
    await answer
    await page.close()
    const [ours_ms, plain_ms] = [median(ours), median(theirs)]
    return ratio(ours_ms, plain_ms, { ours_ms, plain_ms })
  },
}

/** How long changes come, and none, in milliseconds. */
const SPAN_MS = 5_000

/** Evaluations a second, and how many of them at once. */
const [CALLS, AT_ONCE] = [500, 20]

export const pageChanges: Row = {
  what: '1,000 changes a second told to the page: processor time in Chromium beside an idle one',
  how: 'evaluations for 5 s. Each evaluation is a row that comes and goes, with the programs shown; then 5 s without any; the rows that are told are counted',
  bar: { relation: '≤', limit: 10, unit: '% of a core' },
  ...ground,
  async measure() {
    const { rig, client, browser } = place()
    await client.call({ tool: 'eval_expr', args: { expr: '1' } })
    const page = await openPage(rig, browser)
    await page.keyboard.press('3')
    await page.getByText('ready').first().waitFor()
    let rows = 0
    const heard = (event: object) => {
      if ('changes' in event && Array.isArray(event.changes)) rows += event.changes.length
    }
    const over = new AbortController()
    const followed = client.subscribe({ topics: ['kernels', 'calls'], signal: over.signal, heard })
    const begun = performance.now()
    const busy = await taken(page, () => calling(client))
    const took = performance.now() - begun
    over.abort()
    await followed.catch(() => {})
    const idle = await taken(page, () => pause(SPAN_MS))
    await page.close()
    const changes_per_s = (1_000 * rows) / took
    const [busy_percent, idle_percent] = [(100 * busy) / took, (100 * idle) / SPAN_MS]
    return { figure: busy_percent - idle_percent, parts: { busy_percent, idle_percent, changes_per_s } }
  },
}

async function calling(client: DaemonClient): Promise<void> {
  const begun = performance.now()
  for (let made = AT_ONCE; performance.now() - begun < SPAN_MS; made += AT_ONCE) {
    const call = () => client.call({ tool: 'eval_expr', args: { expr: '1' } })
    await Promise.all(Array.from({ length: AT_ONCE }, call))
    await pause(Math.max(0, begun + (1_000 * made) / CALLS - performance.now()))
  }
}
