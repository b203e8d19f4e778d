import type { ShownPlan } from '../../src/approvals/contract.ts'
import { shownPlan } from '../../src/approvals/preview.ts'
import { openPrinter } from '../../src/front/print.ts'
import { escapePlanLine } from '../../src/text/escape.ts'
import { hunkText, unifiedDiff } from '../../tools/diff.ts'
import { linesOf } from '../../tools/newlines.ts'
import { somePlan } from './plans.ts'

/** Everything that puts plans before a person, or names them there. */
export interface HostileAsker {
  readonly what: string
  /** The files of `src` by which it does. */
  readonly by: readonly string[]
  /** Whether hunks are decided there one by one. */
  readonly takesHunks?: true
  /** The sequences that are its own, to the last parameter. */
  readonly own: RegExp
  /** What each row of the text begins with; null where only names of a plan are shown, and no text. */
  readonly margin: RegExp | null
  /**
   * What each row begins with that shows a name. `lines`: that is left to the terminal to wrap, so that it can be
   * copied, and nothing can be approved there.
   */
  readonly named: RegExp
  readonly lines?: true
  /** Goes through the plan as a person does by the keys, until it could be approved. */
  writes(plan: ShownPlan): Promise<Written>
}

export interface Written {
  /** All of it, from the plan being told. */
  readonly text: string
  /** False where it was said that it can be denied here, and no more. */
  readonly approvable: boolean
  /** What else of its names is shown there, once it is settled. */
  readonly besides?: string
}

/** What stands in a plan that somebody else has made up. */
export interface Hostile {
  readonly body?: string
  /** Of the file, the kernel, the caller and the project, and what a hunk is said to be for. */
  readonly name?: string
  /** The text as one hunk of a diff, which can be taken or left by itself. */
  readonly inHunk?: boolean
}

/** That plan as the core hands it to whatever asks. */
export function hostilePlan({ body = 'x = 1\n', name = 'a.py', inHunk = false }: Hostile): ShownPlan {
  const put = body.endsWith('\n') ? body : `${body}\n`
  const { text } = unifiedDiff({ path: 'a.py', before: null, after: put })
  const plan = somePlan({ title: `Write ${name}`, body: inHunk ? text : body })
  const hunk = { number: 1, path: '/project/a.py', shown: name, line: 1, before: '', after: put }
  const diff = hunkText({ lines: [], at: 0, removed: 0, put: linesOf(put) })
  const hunks = inHunk ? { all: [{ ...hunk, diff, why: name }], choose: () => plan.preview as never } : null
  const named = name === 'a.py' ? { kernel: null } : { kernel: name, who: name, root: `/project/${name}` }
  const shown = shownPlan({ ...plan, ...named, hunks })
  const offered = inHunk
    ? {}
    : { grants: [escapePlanLine(name)], times: 3, rule: `tool = "${escapePlanLine(name)}"` }
  return { ...shown, ...offered, waited_ms: 2_500, code: 'k7mp-3xqr-9tfw-2hjd' }
}

export const NOTHING_OF_OURS = /(?!)/g

/** A terminal that remembers what is written to it. */
export function fakeTerminal({ columns = 80, rows = 24 } = {}) {
  const written: string[] = []
  const stream = {
    isTTY: true,
    columns,
    rows,
    on: () => stream,
    write: (text: string) => written.push(text) > 0,
  } as unknown as NodeJS.WriteStream & { fd: 1 & 2 }
  const printer = openPrinter({ streams: { stdout: stream, stderr: stream } })
  return { stream, printer, written: () => written.join('') }
}
