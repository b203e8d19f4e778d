import { type Chosen, chosenOf, journalChoices, type Settled } from './chosen.ts'
import { journalPlan } from './freezing.ts'
import type { Arguments, Judgement, Passage, Refusal } from './passage.ts'
import type { Answer, Plan } from './plan.ts'
import * as refusals from './refusals.ts'

/** What the gate says of a plan that is let through, or asked about. */
export type Asked = Extract<Judgement, { decision: 'allow' | 'ask' }>

interface Asking {
  readonly passage: Passage
  readonly plan: Plan
  readonly judged: Asked
}

/** Puts a plan before a person, waits for the answer, and writes down both. A refusal where that cannot be written. */
export async function askedAbout({ passage, plan, judged }: Asking): Promise<Settled | Refusal> {
  const { options, flight } = passage
  const { approvals, journal } = options
  if (approvals === undefined) return { type: 'unavailable' }
  const { level } = plan
  try {
    const { decision: _, ...call } = passage.journalled({ level, decision: null }, plan.args as Arguments)
    journal.write({ type: 'requested', ...call, level, plan: journalPlan(plan) })
  } catch (error) {
    return unwritten(passage, error)
  }
  passage.track().asks({ plan: plan.id, withdraw: () => flight.cancel() })
  const { byDefault, policy } = judged
  const given = byDefault ? { byDefault: { policyFile: policy.userFile } } : {}
  const answer = await approvals.ask(plan, {
    signal: flight.signal,
    client: flight.caller.client,
    ...given,
  })
  const settled = answer.type === 'chosen' ? chosenIn(passage, { plan, answer }) : answer
  return (await decided(passage, plan, settled)) ?? settled
}

type ChosenAnswer = Extract<Answer, { type: 'chosen' }>

/** The tool makes a plan of the choices, and whatever comes of that, the answer is written down. */
function chosenIn({ options }: Passage, { plan, answer }: { plan: Plan; answer: ChosenAnswer }): Chosen {
  try {
    return chosenOf(plan, answer)
  } catch (error) {
    options.log(`${plan.tool} failed over the choices of a person`, error)
    const { by, choices } = answer
    return { type: 'unusable', by, choices, why: `${plan.tool} itself failed over it.` }
  }
}

/** An approval counts once it is on the disk; that nobody approved is written as soon as possible. */
async function decided(passage: Passage, plan: Plan, settled: Settled): Promise<Refusal | undefined> {
  const { journal, log } = passage.options
  const entry = entryOf(plan, settled)
  const approves = settled.type === 'approved' || settled.type === 'edited' || settled.type === 'chosen'
  try {
    if (approves) await journal.sync(entry)
    else journal.write(entry)
    return undefined
  } catch (error) {
    if (approves) return unwritten(passage, error)
    log('how asking ended could not be written to the journal', error)
    return undefined
  }
}

/** All of its hunks refused is a denial; choices that make no plan approve nothing, and are not told from it here. */
function entryOf(plan: Plan, settled: Settled) {
  const { type } = settled
  return {
    type: 'decided',
    call: plan.call,
    plan: plan.id,
    answer: type === 'refused' ? 'denied' : type === 'unusable' ? 'chosen' : type,
    by: 'by' in settled ? settled.by : null,
    reason: 'reason' in settled ? settled.reason : null,
    ...('choices' in settled && { choices: journalChoices(settled.choices) }),
    ...(settled.type === 'chosen' && {
      becomes: { plan: settled.becomes.id, hash: settled.becomes.hash },
    }),
  } as const
}

function unwritten({ options }: Passage, error: unknown): Refusal {
  options.log('a call was refused because the journal could not be written', error)
  return refusals.journalUnavailable(error)
}
