import { INVISIBLE } from '../../wire/invisible.ts'

const HIDDEN = new RegExp(INVISIBLE, 'gu')

/** Text of somebody else with a mark for each character that would not be seen, `⟦U+202E⟧`: as the daemon marks plans. */
export const marked = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(HIDDEN, found => {
    const code = found.codePointAt(0) ?? 0
    return `⟦U+${code.toString(16).toUpperCase().padStart(4, '0')}⟧`
  })

/** The same in one line, for a title. */
export const inLine = (text: string): string => marked(text).replaceAll('\n', ' ')

/** A time as the journal writes it. */
export const when = (time: string | number): string => new Date(time).toLocaleString('sv')
