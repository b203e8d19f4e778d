/** Characters of a process's last output that may explain its end. A report of every thread fits. */
export const REMEMBERED = 16_384

/** Lines and characters of them that a message shows. */
const LINES = 24
const CHARACTERS = 4_096

/**
 * The last words of a process as a message shows them: of the report of a crash, its first lines with the user's
 * frames; of anything else, the last lines. Frames of files below `own`, our peer's folder, and threads that hold no
 * others are left out: they say nothing about the end.
 */
export function lastWords(text: string, own: string): string {
  const crash = text.lastIndexOf('Fatal Python error:')
  if (crash === -1) return lastOf(text.trim().split('\n'))
  const report = text.slice(crash).trim().split('\n')
  const before = lastOf(text.slice(0, crash).trim().split('\n')).slice(-CHARACTERS / 4)
  return [before, firstOf(withoutOurs(report, own))].filter(part => part !== '').join('\n')
}

/**
 * `faulthandler` writes a paragraph for each thread: `Thread 0x… (most recent call first):`, then its frames. The one
 * that crashed, `Current thread`, may be the last of them and comes first here.
 */
function withoutOurs(report: readonly string[], own: string): string[] {
  const paragraphs: string[][] = [[]]
  for (const line of report) {
    if (line === '') paragraphs.push([])
    else paragraphs.at(-1)?.push(line)
  }
  const isOurs = (line: string) => line.startsWith(`  File "${own}`)
  const begins = (word: string) => (lines: readonly string[]) => lines[0]?.startsWith(word) ?? false
  const isOther = begins('Thread ')
  const [crash = [], ...rest] = paragraphs.filter(lines => !(isOther(lines) && lines.some(isOurs)))
  const current = rest.filter(begins('Current thread '))
  const others = rest.filter(lines => !current.includes(lines))
  return [crash, ...current, ...others].flatMap(lines => lines.filter(line => !isOurs(line)))
}

function firstOf(lines: readonly string[]): string {
  const more = lines.length > LINES ? [`… and ${lines.length - LINES} more lines`] : []
  return [...lines.slice(0, LINES), ...more].join('\n').slice(0, CHARACTERS)
}

const lastOf = (lines: readonly string[]) => lines.slice(-LINES).join('\n').slice(-CHARACTERS)
