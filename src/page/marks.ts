import { INVISIBLE } from '../../wire/invisible.ts'

const HIDDEN = new RegExp(INVISIBLE, 'gu')

/** Text of somebody else with a mark for each character that would not be seen, `⟦U+202E⟧`: as the daemon marks plans. */
export const marked = (text: string): string =>
  text.replace(/\r\n/g, '\n').replace(HIDDEN, found => {
    const code = found.codePointAt(0) ?? 0
    return `⟦U+${code.toString(16).toUpperCase().padStart(4, '0')}⟧`
  })

/** The marks of what is hidden in a text, each once: for a text that is edited as it is. */
export const hiddenIn = (text: string): readonly string[] => [
  ...new Set([...text.replace(/\r\n/g, '\n').matchAll(HIDDEN)].map(([found]) => marked(found))),
]

/** The same in one line, for a title. */
export const inLine = (text: string): string => marked(text.replaceAll('\n', ' '))
