/** Lines of one kind that stand together. */
interface Block {
  readonly kind: 'add' | 'del' | 'at' | 'same'
  readonly lines: string[]
}

const KINDS: Readonly<Record<string, Block['kind']>> = { '+': 'add', '-': 'del', '@': 'at' }

/** So many blocks are laid out together, once they are scrolled to. */
const PART = 100

/**
 * A difference as `git diff` shows it, with its marks already. One element for the lines of one kind that stand together: a
 * difference of 10,000 lines has few. Where `isDiff` is false it is code, and no sign at its lines means anything.
 */
export function Diff({ text, isDiff }: { text: string; isDiff: boolean }) {
  const blocks: Block[] = []
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const kind = (isDiff && KINDS[line[0] ?? '']) || 'same'
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
        <div key={at} class="part">
          {part.map(({ kind, lines }, at) => (
            <Lines key={at} kind={kind} text={`${lines.join('\n')}\n`} />
          ))}
        </div>
      ))}
    </pre>
  )
}

function Lines({ kind, text }: { kind: Block['kind']; text: string }) {
  if (kind === 'add') return <ins>{text}</ins>
  if (kind === 'del') return <del>{text}</del>
  return <span class={kind}>{text}</span>
}
