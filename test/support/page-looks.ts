import type { Page } from 'playwright-core'

/** The least contrast of a text with its ground, as WCAG 2 counts it for level AA. */
const LEAST = 4.5

/** Of the view that is shown: the texts with too little contrast, and what is wider than the window. */
const FAULTS = `(() => {
  const probe = document.body.appendChild(document.createElement('i'))
  probe.style.background = 'Canvas'
  const channels = text => text.match(/[\\d.]+/g).map(Number)
  const canvas = channels(getComputedStyle(probe).backgroundColor)
  probe.remove()
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((one, at) => one * a + below[at] * (1 - a))
  const ground = element =>
    element === null ? canvas : over(channels(getComputedStyle(element).backgroundColor), ground(element.parentElement))
  const linear = one => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4)
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
  const contrast = element => {
    const below = ground(element)
    const both = [light(over(channels(getComputedStyle(element).color), below)), light(below)]
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05)
  }
  const name = element => element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 40)
  const all = [...document.querySelectorAll('body, body *')].filter(element => element.checkVisibility())
  const hasText = element =>
    element.matches('input, textarea, select') ||
    [...element.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== '')
  const faint = all
    .filter(element => hasText(element) && contrast(element) < ${LEAST})
    .map(element => contrast(element).toFixed(1) + ' ' + name(element))
  const wide = all
    .filter(element => element.getBoundingClientRect().right > innerWidth + 0.5 && element.closest('table') === null)
    .map(element => element.getBoundingClientRect().right + ' px ' + name(element))
  const scrolls = document.documentElement.scrollWidth > innerWidth ? ['the page scrolls sideways'] : []
  return [...faint, ...wide, ...scrolls]
})()`

/** What is wrong with the looks of what the page shows, in light and in dark, while keys count and while they do not. */
export async function faultsOfLooks(page: Page): Promise<readonly string[]> {
  const faults: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const isHushed of [false, true]) {
      await page.evaluate(`document.body.classList.toggle('hushed', ${isHushed})`)
      const found = await page.evaluate<string[]>(FAULTS)
      faults.push(...found.map(fault => `${colorScheme}${isHushed ? ', hushed' : ''}: ${fault}`))
    }
    await page.evaluate(`document.body.classList.remove('hushed')`)
  }
  return faults
}
