/**
 * What was copied, as code: without the prompts and the answers of a session, without what all its lines are set in
 * by, and without empty lines around it.
 */
export function asCode(pasted: string): string {
  const lines = withoutPrompts(pasted.split('\n'))
  return dedented(lines)
    .join('\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd()
}

/** Code without what all its lines are set in by. */
export function asStatement(text: string): string {
  return dedented(text.split('\n')).join('\n').trimEnd()
}

/** One of ours may say how many evaluations wait where an error happened: `[1] >>> `. */
const PROMPT = /^\s*(?:(?:\[\d+\] )?>>>|\.\.\.)(?: |$)/

function withoutPrompts(lines: readonly string[]): readonly string[] {
  const first = lines.find(line => line.trim() !== '')
  if (first === undefined || !/^\s*(?:\[\d+\] )?>>> /.test(first)) return lines
  return lines.filter(line => PROMPT.test(line)).map(line => line.replace(PROMPT, ''))
}

function dedented(lines: readonly string[]): readonly string[] {
  const indents = lines.filter(line => line.trim() !== '').map(line => /^[ \t]*/.exec(line)?.[0] ?? '')
  const [first = ''] = indents
  let shared = first.length
  for (const indent of indents) {
    let same = 0
    while (same < shared && indent[same] === first[same]) same++
    shared = same
  }
  return shared === 0
    ? lines
    : lines.map(line => line.slice(Math.min(shared, /^[ \t]*/.exec(line)?.[0].length ?? 0)))
}
