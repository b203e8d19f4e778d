import { marked } from './marks.ts'

/** Lines of one kind that follow each other. */
interface Block {
  readonly kind: 'ins' | 'del' | 'i' | 'span'
  readonly lines: string[]
}

const KINDS: Readonly<Record<string, Block['kind']>> = { '+': 'ins', '-': 'del', '@': 'i' }

/** So many blocks are laid out together, once they are scrolled to. */
const PART = 100

/** A difference as `git diff` shows it, with marks. Where `isDiff` is false it is code, and its signs mean nothing. */
export function Diff({ text, isDiff }: { text: string; isDiff: boolean }) {
  const blocks: Block[] = []
  const lines = marked(text).replace(/\n$/, '').split('\n')
  // Only before `@@` are these two lines the names of the file.
  const isName = (at: number) =>
    ['--- ', '+++ ', '@@ '].every((lead, after) => lines[at + after]?.startsWith(lead))
  for (const [at, line] of lines.entries()) {
    const kind = (isDiff && (isName(at) || isName(at - 1) ? 'i' : KINDS[line[0] ?? ''])) || 'span'
    const last = blocks.at(-1)
    if (last?.kind === kind) last.lines.push(line)
    else blocks.push({ kind, lines: [line] })
  }
  const parts = Array.from({ length: Math.ceil(blocks.length / PART) }, (_, n) =>
    blocks.slice(n * PART, (n + 1) * PART),
  )
  return (
    <pre class="diff">
      {parts.map((part, at) => (
        <div key={at}>
          {part.map(({ kind: Kind, lines }, at) => (
            <Kind key={at}>{`${lines.join('\n')}\n`}</Kind>
          ))}
        </div>
      ))}
    </pre>
  )
}
