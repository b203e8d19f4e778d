import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium, type Page } from 'playwright-core'
import { imago } from './house.ts'
import { Differs, out, outScreen, PATIENCE_MS, STEP_MS } from './steps.ts'

/** A person at the page of a project, in a real Chromium without a window, played by a script. */
export interface PersonAtPage {
  /** Waits until the page shows that, and prints what it matched. Throws `Differs` where it does not come. */
  sees(expected: RegExp): Promise<void>
  asksForSeat(): Promise<void>
  /** Opens the first plan that waits. */
  opensPlan(): Promise<void>
  /** As Chromium names keys: `y`, `Enter`. */
  presses(key: string): Promise<void>
  types(text: string): Promise<void>
  leaves(): Promise<void>
}

/** Where the browser of that name is; undefined where there is none. */
export function pathOfChromium(name: string): string | undefined {
  const { stdout, status } = spawnSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', name], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** Goes to the end of the page, which may be known only by and by. */
export async function toEnd(page: Page): Promise<void> {
  const isThere = 'innerHeight + scrollY >= document.documentElement.scrollHeight - 2'
  for (let waited = 0; !(await page.evaluate<boolean>(isThere)); waited += STEP_MS) {
    if (waited > PATIENCE_MS) throw new Differs('the page has no end')
    await page.keyboard.press('End')
    await sleep(STEP_MS)
  }
}

/** Opens the page of that project, by the address that `imago web` prints. */
export async function openPageOf(project: string, executablePath: string): Promise<PersonAtPage> {
  const address = imago(project, 'web', '--no-open').trim()
  out(`\n$ imago web --no-open\n${address.replace(/#.*/, '#…')}\n`)
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser: Browser = await chromium.launch({ executablePath, args })
  const page: Page = await browser.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  await page.goto(address)
  const text = async () => (await page.locator('body').allInnerTexts()).join('\n').replace(/[ \t]+/g, ' ')
  return {
    async sees(expected) {
      const body = page.locator('body').filter({ hasText: expected })
      const fault = await body.waitFor().catch((fault: unknown) => fault)
      const shown = await text()
      if (fault !== undefined) throw new Differs(`the page never showed ${expected}, but:\n${shown}`)
      outScreen(shown)
    },
    asksForSeat: () => page.getByRole('button', { name: 'Sit' }).click(),
    async opensPlan() {
      await page.getByRole('region', { name: 'What waits for you' }).getByRole('button').first().click()
      // Keys count from a moment after it is drawn, and for what was read to its end.
      await page.locator('article[aria-busy=false]').waitFor()
      await toEnd(page)
    },
    async presses(key) {
      // For a moment after a field has closed none counts.
      await page.locator('body:not(.hushed)').waitFor()
      await page.keyboard.press(key)
    },
    types: words => page.keyboard.type(words),
    leaves: () => browser.close(),
  }
}
