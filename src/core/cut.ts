/** The first characters of a text, at most `count`, without the half of a surrogate pair. */
export function beginning(text: string, count: number): string {
  if (text.length <= count) return text
  return text.slice(0, isHigh(text.charCodeAt(count - 1)) ? count - 1 : count)
}

/** The last characters of a text, at most `count`, without the half of a surrogate pair. */
export function ending(text: string, count: number): string {
  if (count <= 0) return ''
  if (text.length <= count) return text
  const from = text.length - count
  return text.slice(isLow(text.charCodeAt(from)) ? from + 1 : from)
}

/** What stands where a text was cut. `where` says how to get at the rest, and begins with a semicolon. */
export function cutMark(characters: number, where: string): string {
  return `\n… [${characters.toLocaleString('en-US')} characters cut here${where}] …\n`
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff
