import type { ShownPlan } from '../../src/core/approvals.ts'
import type { LineRead } from '../../src/core/journal/reading.ts'
import type { JournalEntry } from '../../src/core/journal.ts'
import { shownPlan } from '../../src/core/shown-plan.ts'
import { approvalsText } from '../../src/front/commands/approvals.ts'
import { questionOf } from '../../src/front/elicitation/question.ts'
import { storyPieces } from '../../src/front/log/lines.ts'
import { painted } from '../../src/front/log/paint.ts'
import { Stories } from '../../src/front/log/stories.ts'
import { openAsker } from '../../src/front/seat/asker.ts'
import type { OpenSeat } from '../../src/front/seat/open-seat.ts'
import type { Typed } from '../../src/front/seat/typing.ts'
import { openPrinter } from '../../src/front/terminal.ts'
import type { CallId } from '../../wire/kernel.ts'
import { somePlan } from './plans.ts'

/** Everything that puts plans before a person, or names them there. */
export interface HostileAsker {
  readonly what: string
  /** The files of `src` by which it does. */
  readonly by: readonly string[]
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
}

/** What stands in a plan that somebody else has made up. */
export interface Hostile {
  readonly body?: string
  /** Of the file, the kernel, the caller and the project. */
  readonly name?: string
}

/** That plan as the core hands it to whatever asks. */
export function hostilePlan({ body = 'x = 1\n', name = 'a.py' }: Hostile): ShownPlan {
  const plan = somePlan({ title: `Write ${name}`, body })
  const named = name === 'a.py' ? {} : { kernel: name, who: name, root: `/project/${name}` }
  return { ...shownPlan({ ...plan, ...named }), waited_ms: 2_500, code: 'k7mp-3xqr-9tfw-2hjd' }
}

const NOTHING_OF_OURS = /(?!)/g

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
  const printer = openPrinter({ stdout: stream, stderr: stream })
  return { stream, printer, written: () => written.join('') }
}

/** Line by line, for terminals that can do no more: a person who goes on until they are asked. */
const LINES: HostileAsker = {
  what: 'the seat that asks line by line',
  by: ['src/front/seat/asker.ts', 'src/front/seat/plan-text.ts'],
  own: NOTHING_OF_OURS,
  margin: /^[|+] /,
  named: /^(?: {2}|Write |==== )/,
  async writes(plan) {
    const { printer, stream, written } = fakeTerminal()
    const over = new AbortController()
    const typing = {
      async ask(prompt: string): Promise<Typed> {
        printer.out(prompt)
        if (!prompt.startsWith('Approve?')) return { type: 'line', text: '' }
        over.abort()
        return { type: 'dropped' }
      },
      say: printer.out,
      left: new AbortController().signal,
      close: () => {},
    }
    const asker = openAsker({ typing, printer, terminal: stream })
    asker.tell({ type: 'plan', plan })
    await asker.run({ trouble: null } as OpenSeat, over.signal)
    return { text: written(), approvable: written().includes('Approve? [y]es') }
  },
}

const OF_LOG = new RegExp(`${'\x1b'}\\[(?:0|1|2|1;31|1;33)m`, 'g')

/** `imago log`, with all that it can say of a plan. */
const LOG: HostileAsker = {
  what: 'imago log',
  by: ['src/front/log/lines.ts'],
  own: OF_LOG,
  margin: null,
  named: /^(?:. \d{4}-| {4})/,
  lines: true,
  async writes({ id, hash, who, kernel, title, body }) {
    const call = 'call-1' as CallId
    const place = { level: 'dangerous', kernel, epoch: null, caller: who } as const
    const plan = { id, hash, title, preview_sha256: hash, preview_bytes: 1, paths: [title] }
    const entries: readonly JournalEntry[] = [
      { type: 'requested', call, tool: 'write_file', args: { path: who, body }, plan, ...place },
      { type: 'decided', call, plan: id, answer: 'denied', by: who, reason: body.slice(0, 10_000) },
      { type: 'seat', what: 'refused', seat: null, who, why: who },
      { type: 'policy', file: who, sha256: '', what: who } as JournalEntry,
    ]
    const stories = new Stories()
    const told = entries.map(entry => {
      const read = JSON.parse(JSON.stringify({ v: 2, time: '2026-01-02T10:00:00.000Z', ...entry }))
      return stories.add({ type: 'entry', entry: read, text: '' } as LineRead)
    })
    const forms = [80, 30, undefined].flatMap(columns => [true, false].map(long => ({ columns, long })))
    const text = [...new Set(told)]
      .flatMap(story => forms.map(form => painted(storyPieces(story, form), { coloured: true })))
      .join('')
    return { text, approvable: false }
  },
}

/** The dialog of an MCP client, which takes the message for plain text or for Markdown. */
const DIALOG: HostileAsker = {
  what: 'the dialog of an MCP client',
  by: ['question', 'pushed', 'exchanges'].map(name => `src/front/elicitation/${name}.ts`),
  own: NOTHING_OF_OURS,
  margin: /^ {4}\| /,
  named: /^ {4}/,
  lines: true,
  async writes(plan) {
    const { params, approvable } = questionOf(plan)
    return { text: params.message, approvable }
  },
}

/** `imago approvals`, at a terminal. */
const LIST: HostileAsker = {
  what: 'imago approvals',
  by: ['src/front/commands/approvals.ts'],
  own: NOTHING_OF_OURS,
  margin: null,
  named: /^(?:plan-[a-z]{8} {2}do_dangerous {2}for |grant-1 {2}|seat-1 {2})/,
  lines: true,
  async writes({ body: _, hunks: __, code: ___, ...waiting }) {
    const { printer, written } = fakeTerminal()
    const { who, title, root } = waiting
    const grant = {
      id: 'grant-1',
      tool: 'write_file',
      kernel: null,
      pattern: title,
      root,
      who,
      seat: 'seat-1',
      used: 1,
    }
    const seats = [{ seat: 'seat-1', who }]
    printer.out(`${approvalsText({ seats, approvals: [waiting], grants: [grant] })}\n`)
    return { text: written(), approvable: false }
  },
}

export const HOSTILE_ASKERS: readonly HostileAsker[] = [LINES, DIALOG, LIST, LOG]
