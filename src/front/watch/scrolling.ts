import type { Sheet } from './sheet.ts'

/** Moves within a sheet, with the keys of less that are not those of an answer. False for any other key. */
export function scroll(sheet: Sheet, key: string, page: number): boolean {
  switch (key) {
    case ' ':
    case 'f':
    case 'page-down':
    case 'ctrl-f':
    case 'ctrl-v':
      sheet.page(1)
      return true
    case 'b':
    case 'page-up':
    case 'ctrl-b':
    case 'alt-v':
      sheet.page(-1)
      return true
    case 'ctrl-u':
      sheet.move(-Math.max(1, Math.floor(page / 2)))
      return true
    case 'down':
    case 'enter':
    case 'ctrl-n':
      sheet.move(1)
      return true
    case 'up':
    case 'ctrl-p':
      sheet.move(-1)
      return true
    case 'home':
    case '<':
      sheet.toStart()
      return true
    case 'end':
    case '>':
    case 'G':
      sheet.toEnd()
      return true
    default:
      return false
  }
}
