/** A line of a journal, as it was read back. */
export type Line = Readonly<Record<string, unknown>>

/** Something that happened outside: a file that was written for a plan, code that ran for a call. */
export interface Happened {
  /** The plan that it was done for. */
  readonly change: string
  readonly path?: string
}

/** What one call has come to, as the journal tells it. */
interface Story {
  readonly requested: Map<string, { decided: string | undefined }>
  /** What the choices of a person have made of a plan: approved by them, and never put before anybody. */
  readonly derived: Set<string>
  readonly dispatched: string[]
  terminals: number
}

/**
 * What of the recorded history is not as it has to be; empty when all is well. Whatever happened in whatever order:
 * no effect without a consumed approval, of a plan or of what a person chose of it (or a rule that allowed it), at most
 * one effect of each plan, a decision for each plan that was asked about, and exactly one terminal entry for each call,
 * after which nothing comes.
 */
export function invariantsOf(lines: readonly Line[], effects: readonly Happened[]): string[] {
  const wrong: string[] = []
  const stories = new Map<string, Story>()
  const consumed = new Set<string>()

  for (const line of lines) {
    if (typeof line.call !== 'string') continue
    const { call } = line
    const story = stories.get(call) ?? {
      requested: new Map(),
      derived: new Set(),
      dispatched: [],
      terminals: 0,
    }
    stories.set(call, story)
    const rises = line.type === 'ended' && line.outcome === 'rises'
    if (story.terminals > 0) wrong.push(`${call}: ${line.type} comes after its end`)
    switch (line.type) {
      case 'requested':
        requested(story, line)
        break
      case 'decided':
        decided(story, line)
        break
      case 'dispatched':
        dispatched(story, line)
        break
      case 'ended':
        // The next daemon ends so what was only put before a person.
        if (story.dispatched.length === 0 && line.outcome !== 'withdrawn')
          wrong.push(`${call}: ended, and was never dispatched`)
        if (!rises) story.terminals++
        break
      case 'looked':
      case 'refused':
        story.terminals++
        break
      default:
        wrong.push(`${call}: ${line.type} is no word of the journal`)
    }
  }

  function requested(story: Story, { call, plan }: Line) {
    const { id } = plan as { id: string }
    const told = [...stories.values()].some(other => other.requested.has(id) || other.derived.has(id))
    if (told) wrong.push(`${call}: ${id} was put before a person twice`)
    story.requested.set(id, { decided: undefined })
  }

  function decided(story: Story, { call, plan, answer, becomes }: Line) {
    const asked = story.requested.get(String(plan))
    if (asked === undefined) return wrong.push(`${call}: ${plan} was decided, and never requested`)
    if (asked.decided !== undefined) wrong.push(`${call}: ${plan} was decided twice`)
    asked.decided = String(answer)
    if (becomes === undefined) return
    const { plan: derived } = becomes as { plan: string }
    if (answer !== 'chosen') wrong.push(`${call}: ${plan} was ${answer}, and became ${derived}`)
    const told = [...stories.values()].some(
      other => other.requested.has(derived) || other.derived.has(derived),
    )
    if (told) wrong.push(`${call}: ${derived} was made of a plan, and is another one already`)
    story.derived.add(derived)
  }

  function dispatched(story: Story, { call, plan, decision }: Line) {
    if (typeof plan !== 'string') {
      if (decision !== 'allow') wrong.push(`${call}: dispatched without a plan, and not allowed`)
      story.dispatched.push('')
      return
    }
    if (consumed.has(plan)) wrong.push(`${call}: ${plan} was consumed twice`)
    consumed.add(plan)
    story.dispatched.push(plan)
    const asked = story.requested.get(plan)
    if (decision === 'ask' && story.derived.has(plan)) return
    if (decision === 'ask' && asked?.decided !== 'approved')
      wrong.push(`${call}: ${plan} was dispatched, and is ${asked?.decided ?? 'not decided'}`)
    if (decision !== 'ask' && asked !== undefined && asked.decided !== 'approved')
      wrong.push(`${call}: ${plan} was asked about, and dispatched without an approval`)
  }

  for (const [call, { terminals, requested }] of stories) {
    if (terminals !== 1) wrong.push(`${call}: ${terminals} terminal entries`)
    for (const [plan, asked] of requested)
      if (asked.decided === undefined) wrong.push(`${call}: ${plan} was requested, and never decided`)
  }
  const done = new Set<string>()
  for (const { change, path = '' } of effects) {
    if (!consumed.has(change)) wrong.push(`${change} had an effect, and its approval was not consumed`)
    if (done.has(`${change} ${path}`)) wrong.push(`${change} had its effect on ${path} twice`)
    done.add(`${change} ${path}`)
  }
  return wrong
}

/** The lines that are about calls. */
export const ofCalls = (lines: readonly Line[]) => lines.filter(({ call }) => call !== undefined)

/** What each line is, and how it ended: `ended ok`. */
export const typesOf = (lines: readonly Line[]) =>
  lines.map(({ type, outcome }) => [type, outcome].filter(Boolean).join(' '))
