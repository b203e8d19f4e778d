import type { Level } from '../../tools/contract.ts'
import { type GroupAnswer, type MemberAnswer, mayBeForAll } from '../../tools/group.ts'
import { failed, type Outcome, ok, toolError } from '../../tools/outcome.ts'
import { dataSize } from '../../tools/text.ts'
import { unlessAborted } from '../../wire/signal.ts'
import { ALL_OF_GROUP } from '../kernels/programs.ts'
import type { Member } from '../kernels/wanted.ts'
import { bounded, enveloped, type FinalOutcome, noticed, RESULT_CHARS } from './answer.ts'
import { kernelFault, withdrawn } from './faults.ts'
import * as refusals from './refusals.ts'
import { type Attempt, type Place, type Refusal, Run } from './run.ts'

/**
 * One call to all of a group of kernels (`web/*`), or a look that names none where several could be meant: one gate and one record of it in the journal, the handler once for each
 * member, side by side, and one answer, by member. What fails in one of them is told of that one.
 */
export class GroupRun extends Run {
  #members: readonly Member[] | undefined

  override get places(): readonly Place[] {
    return (this.#members ?? []).flatMap(one => ('place' in one ? [one.place] : []))
  }

  /** What stands for all of them. */
  get #named(): string {
    return this.checked.kernel ?? `all of ${this.caller.root}`
  }

  get #group(): string | undefined {
    return this.checked.kernel?.slice(0, -ALL_OF_GROUP.length)
  }

  override unfit(level: Level): Refusal | undefined {
    const { tool, options, caller } = this
    if (mayBeForAll(tool, level)) return undefined
    const kernels = options.kernels.membersOf(this.#group, caller.root).filter(name => this.mayLook(name))
    return notForAll({ tool: tool.name, named: this.#named, kernels })
  }

  override placed(): boolean {
    return this.#members !== undefined
  }

  override async findPlace(): Promise<Refusal | undefined> {
    const { options, signal } = this
    try {
      this.#members = await unlessAborted(options.kernels.group(this.#group, this.wanted()), signal)
    } catch (error) {
      return kernelFault(error, this.#named)
    }
    return this.#members === undefined ? withdrawn() : undefined
  }

  /** Which members it was, and which life of each. */
  override journalled(...given: Parameters<Run['journalled']>) {
    const members = this.places.map(({ name, kernel }) => ({ kernel: name, epoch: kernel.identity.epoch }))
    return { ...super.journalled(...given), ...(members.length > 0 && { members }) }
  }

  override async attempt(attempt: Attempt): Promise<Outcome> {
    const members = this.#members ?? []
    const answers = members.map(async one => {
      const outcome = bounded(await this.#ask(one, attempt), this.texts)
      return { kernel: one.name, ...enveloped(outcome) }
    })
    return noticed(together(whatFits(await Promise.all(answers))), noticeOf(this.places))
  }

  async #ask(member: Member, attempt: Attempt): Promise<Outcome> {
    const { tool } = this
    if ('error' in member) return kernelFault(member.error, member.name)
    const { place } = member
    const kernel = place.name
    const missing = tool.needs.filter(need => !place.kernel.identity.abilities.has(need))
    if (missing.length > 0) return refusals.lacksAbility({ tool, kernel, missing })
    const closed = this.#closed(kernel, attempt.level)
    if (closed !== undefined) return closed
    const outcome = await super.attempt(attempt, place)
    return outcome.type === 'rises'
      ? forOneAlone('needs_evaluation', { kernel, why: outcome.because })
      : outcome
  }

  /** Why the rules about that member keep the call from it, where they are stricter than those about all. */
  #closed(kernel: string, level: Level): Refusal | undefined {
    const ruled = this.options.kernels.ruled(kernel)
    const judged = this.judge({ level }, this.policyOn([], { kernel: ruled }), ruled)
    if (judged.decision === 'deny') return judged.refusal
    if (judged.decision === 'allow' || this.judge({ level }).decision === 'ask') return undefined
    return forOneAlone('approval_unavailable', { kernel, why: 'A rule has a person asked there' })
  }
}

/** What is cut in its middle loses its form, so that what does not fit beside the answers before it is left out whole. */
function whatFits(members: readonly MemberAnswer[]): readonly MemberAnswer[] {
  let left = RESULT_CHARS * 0.8
  return members.map((member, index) => {
    left -= dataSize(member)
    if (left >= 0 || index === 0) return member
    left += dataSize(member)
    const { kernel } = member
    const error = toolError('too_large', {
      message: `The answer of ${kernel} does not fit beside those before it.`,
      next: `Name that kernel alone: {"kernel": ${JSON.stringify(kernel)}}, or ask for less.`,
    })
    return { kernel, ok: false, error }
  })
}

/** It has failed where nobody could answer. */
function together(members: readonly MemberAnswer[]): FinalOutcome {
  if (members.some(({ ok }) => ok)) return ok<GroupAnswer>({ members })
  const failures = members.flatMap(one => (one.ok ? [] : [{ kernel: one.kernel, error: one.error }]))
  const names = failures.map(({ kernel }) => kernel).join(', ')
  const [first, ...others] = failures.map(({ error }) => error)
  if (first === undefined) throw new Error('a group without members was asked')
  const isSame = others.every(({ message }) => message === first.message)
  const message = isSame
    ? `${first.message} So in all of ${names}.`
    : failures.map(({ kernel, error }) => `${kernel}: ${error.message}`).join('\n')
  return failed(first.code, {
    message,
    details: { members },
    retryable: failures.some(({ error }) => error.retryable),
    ...(first.next !== null && { next: first.next }),
  })
}

/** What was done to reach them. */
function noticeOf(places: readonly Place[]): string | undefined {
  const listed = (said: (place: Place) => boolean) =>
    places.filter(said).map(({ name, kernel }) => `${name} (process ${kernel.identity.pid})`)
  const joined = listed(place => place.joined !== undefined)
  const waited = listed(place => place.waited === true)
  const lines = [
    ...(joined.length === 0 ? [] : [`Attached for this call: ${joined.join(', ')}.`]),
    ...(waited.length === 0 ? [] : [`Waited for, in place of what has ended: ${waited.join(', ')}.`]),
  ]
  return lines.length === 0 ? undefined : lines.join('\n')
}

/** What runs code, or changes or keeps something, is for one kernel. */
function notForAll(o: { tool: string; named: string; kernels: readonly string[] }): Outcome<never> {
  const { tool, named, kernels } = o
  return failed('invalid_args', {
    message: `${tool} is for one kernel, and ${named} stands for all of them: ${kernels.join(', ') || 'none lives'}. Nothing ran.`,
    details: { parameter: 'kernel', kernels },
    next:
      kernels[0] === undefined
        ? 'List them with kernels.'
        : `Name one: {"kernel": ${JSON.stringify(kernels[0])}}`,
  })
}

/** What asks for more in one member of a group than all were asked for. */
function forOneAlone(
  code: 'needs_evaluation' | 'approval_unavailable',
  { kernel, why }: { readonly kernel: string; readonly why: string },
): Outcome<never> {
  return failed(code, {
    message: `${why.replace(/\.$/, '')}, and that is not done for all of a group at once. Nothing ran in ${kernel}.`,
    details: { kernel },
    next: `Name that kernel alone: {"kernel": ${JSON.stringify(kernel)}}`,
  })
}
