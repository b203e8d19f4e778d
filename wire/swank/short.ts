import { INVISIBLE } from '../invisible.ts'

/** Characters of what a server says that are told in a message. */
const MOST = 600

/** Lines of it, of which the first say what it is about. */
const LINES = 6

const UNSEEN = new RegExp(`(?:\\s|${INVISIBLE})+`, 'gu')

/** What a server has said, as it is told in a message: its first lines as one, and nothing that moves a terminal. */
export function inShort(text: string, most = MOST): string {
  // Cut first: it may be as long as a message of the server can be.
  const lines = text
    .slice(0, 4 * most)
    .split('\n')
    .slice(0, LINES)
  const line = lines.join(' ').replace(UNSEEN, ' ').trim()
  const isWhole =
    line.length <= most && text.length <= 4 * most && text.split('\n', LINES + 1).length <= LINES
  return isWhole ? line : `${line.slice(0, most).trimEnd()} …`
}
