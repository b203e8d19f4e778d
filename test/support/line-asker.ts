import type { SeatAnswer, ShownPlan, Taken } from '../../src/approvals/contract.ts'
import type { Draft, DraftResult } from '../../src/front/person-editor.ts'
import { type Asker, openAsker } from '../../src/front/seat/asker.ts'
import type { LineResult } from '../../src/front/seat/line-terminal.ts'
import type { OpenSeat } from '../../src/front/seat/open-seat.ts'

export interface Asked {
  /** What the person types, one line for each question; a function is done first, and says what they type. */
  readonly types: readonly (string | ((asker: Asker) => string))[]
  readonly plans: readonly ShownPlan[]
  readonly edit?: (draft: Draft) => Promise<DraftResult>
  readonly taken?: (answer: SeatAnswer) => Taken
}

export interface Came {
  /** All that was printed, and what was typed after each question. */
  readonly text: string
  readonly prompts: readonly string[]
  readonly answers: readonly SeatAnswer[]
}

/** Plans before a person who types these lines, until they have nothing more to say. */
export async function askLines({
  types,
  plans,
  edit,
  taken = () => ({ type: 'taken' }),
}: Asked): Promise<Came> {
  const over = new AbortController()
  const lines = [...types]
  const [prompts, answers]: [string[], SeatAnswer[]] = [[], []]
  let text = ''
  /** Nothing more is typed: what follows from the last answer is done first. */
  const ended = () => void (lines.length === 0 && setImmediate(() => over.abort()))
  const out = (more: string) => {
    text += more
  }
  const input = {
    async ask(prompt: string, drop?: AbortSignal): Promise<LineResult> {
      const next = lines.shift()
      out(prompt)
      prompts.push(prompt)
      if (next === undefined) {
        over.abort()
        return { type: 'dropped' }
      }
      const line = typeof next === 'string' ? next : next(asker)
      if (drop?.aborted) ended()
      out(`${line}\n`)
      return drop?.aborted ? { type: 'dropped' } : { type: 'line', text: line }
    },
    say: out,
    left: new AbortController().signal,
  }
  const asker = openAsker({
    input,
    printer: { out, err: out },
    terminal: { columns: 80, rows: 24 },
    ...(edit && { edit }),
  })
  const seat = {
    trouble: null,
    answer: async (answer: SeatAnswer) => {
      answers.push(answer)
      ended()
      return taken(answer)
    },
  } as Partial<OpenSeat> as OpenSeat
  for (const plan of plans) asker.tell({ type: 'plan', plan })
  await asker.run(seat, over.signal)
  return { text, prompts, answers }
}

/** An editor that makes one text of the draft. */
export const editor = (change: (text: string) => string) => (draft: Draft) => redraftBy(draft, change)

async function redraftBy({ text }: Draft, change: (text: string) => string): Promise<DraftResult> {
  const after = change(text)
  return after === text ? { type: 'unchanged' } : { type: 'text', text: after }
}
