import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { DaemonClient } from '../../src/front/client.ts'
import { openRig, type Rig, until } from './rig.ts'
import { openScreen } from './screen.ts'

/** The Chromium of the system, with these words besides; `test/setup.mjs` installs it. */
export const openBrowser = (...words: readonly string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', ...words],
  })

/** The address that `imago web --no-open` prints in the project of the rig. */
export async function addressOf(rig: Rig): Promise<string> {
  const { stdout, stderr } = await rig.imago(['web', '--no-open'])
  const [address] = /http:\S+/.exec(stdout) ?? []
  if (address === undefined) throw new Error(`imago web printed ${stdout}${stderr}`)
  return address
}

/** A page of the project in a tab, connected. */
export async function openPage(rig: Rig, browser: Browser | BrowserContext | Page): Promise<Page> {
  const page = 'goto' in browser ? browser : await browser.newPage()
  await page.goto(await addressOf(rig))
  await isIn(page)
  return page
}

/** Resolves once the page is let in, and its token is used up. */
export const isIn = (page: Page): Promise<void> =>
  until(
    async () => page.evaluate<boolean>("sessionStorage.getItem('imago.secret') !== null"),
    'a page to be let in',
  )

/** A project with a daemon, an agent, and a page that sits. */
export interface PageScene {
  readonly rig: Rig
  readonly browser: Browser
  readonly page: Page
  readonly client: DaemonClient
  close(): Promise<void>
}

export async function openPageScene(files: Readonly<Record<string, string>>): Promise<PageScene> {
  const rig = openRig({ files: { 'imago.toml': '', ...files } })
  await rig.serve()
  const browser = await openBrowser()
  const client = await rig.connect()
  const page = await openPage(rig, browser)
  await seated(rig, page)
  const close = async () => {
    await browser.close()
    await rig.close()
  }
  return { rig, browser, page, client, close }
}

/** Has the page sit, by its code, at a terminal of its own. */
export async function seated(rig: Rig, page: Page): Promise<void> {
  const bar = page.getByLabel('Seat', { exact: true })
  const asks = bar.getByText('imago seat')
  if (!(await asks.isVisible())) await bar.getByRole('button', { name: 'Sit' }).click()
  await bar.filter({ hasText: /imago seat \w/ }).waitFor()
  const [, code = ''] = /imago seat (\w{4}-\w{4})/.exec((await bar.textContent()) ?? '') ?? []
  const screen = openScreen(rig, { args: ['seat', code], columns: 160, rows: 40 })
  await screen.shows('Let it have a seat? [y]es [n]o')
  screen.type('y\n')
  await bar.getByText('You sit here').waitFor()
  await screen.shows('It has a seat')
  screen.close()
}

/** Lets the first that wants a seat sit, on a page that sits. */
export async function letIn(page: Page): Promise<void> {
  await page.locator('[aria-label="Somebody wants a seat"][aria-busy=false]').waitFor()
  await page.keyboard.press('L')
}

/** Resolves once the text of the page, its blanks as one, matches. */
export async function shows(page: Page, expected: RegExp): Promise<void> {
  const body = page.locator('body')
  await body
    .filter({ hasText: expected })
    .waitFor()
    .catch(async () => {
      throw new Error(`the page does not show ${expected}, but: ${await body.textContent()}`)
    })
}

/** Opens the first plan that waits. */
export async function opened(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'What waits for you' }).getByRole('button').first().click()
  await openedNow(page)
}

/** Waits for the plan that is being opened, until its keys count. */
export const openedNow = (page: Page): Promise<void> => page.locator('article[aria-busy=false]').waitFor()

/** Presses these keys, each once keys count: for a moment after a field has closed none does. */
export async function presses(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    await page.locator('body:not(.hushed)').waitFor()
    await page.keyboard.press(key)
  }
}

/** Goes back to the lists, once the page says what became of the plan. */
export async function leftEnded(page: Page): Promise<void> {
  await page.getByRole('article', { name: 'What came of it' }).waitFor()
  await presses(page, 'q')
}
