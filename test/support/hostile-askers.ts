import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnswerOutcome, SeatAnswer, ShownPlan } from '../../src/approvals/contract.ts'
import { approvalsText } from '../../src/front/commands/approvals.ts'
import { type FollowOptions, followPlans } from '../../src/front/commands/watch.ts'
import { questionOf } from '../../src/front/elicitation/question.ts'
import { painted, storyPieces } from '../../src/front/log/lines.ts'
import { Stories } from '../../src/front/log/stories.ts'
import { hunkHead, planHeading } from '../../src/front/lsp/plan-lines.ts'
import { inWords } from '../../src/front/lsp/row-lines.ts'
import { openNotifier } from '../../src/front/notify.ts'
import { openAsker } from '../../src/front/seat/asker.ts'
import type { LineResult } from '../../src/front/seat/line-terminal.ts'
import type { OpenSeat } from '../../src/front/seat/open-seat.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import type { LineRead } from '../../src/journal/reader.ts'
import { Desk, openDeskSeat } from '../../src/terminal/desk.ts'
import { openPalette } from '../../src/terminal/layout.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { OF_THE_CONSOLE } from './hostile-console.ts'
import { DESK } from './hostile-desk.ts'
import { fakeTerminal, type HostileAsker, NOTHING_OF_OURS } from './hostile-plan.ts'
import { until } from './rig.ts'

/** What a person types who takes all of it, and looks at the grants first. */
function typedAt(prompt: string, { grants }: ShownPlan, asked: readonly string[]): string {
  if (!prompt.startsWith('Approve?'))
    return prompt.startsWith('(') && prompt.includes('Enter') ? '' : TYPED(prompt)
  return grants.length > 0 && !asked.slice(0, -1).includes(prompt) ? 'g' : 'y'
}

const TYPED = (prompt: string) =>
  prompt.startsWith('Which one?') ? '' : prompt.startsWith('Is that you?') ? 'n' : 'y'

/** Line by line, for terminals that can do no more: a person who goes on until they have approved. */
const LINES: HostileAsker = {
  what: 'the seat that asks line by line',
  by: ['asker', 'hunk-asker', 'plan-text'].map(name => `src/front/seat/${name}.ts`),
  takesHunks: true,
  own: NOTHING_OF_OURS,
  margin: /^[|+] /,
  named: /^(?: {2}|Write |==== |! |Hunk |From now on |There is a seat already|plan-|\d+ of \d+ hunks )/,
  async writes(plan) {
    const { printer, stream, written } = fakeTerminal()
    const over = new AbortController()
    const asked: string[] = []
    const input = {
      async ask(prompt: string): Promise<LineResult> {
        asked.push(prompt)
        printer.out(`${prompt}\n`)
        return { type: 'line', text: typedAt(prompt, plan, asked) }
      },
      say: printer.out,
      left: new AbortController().signal,
      close: () => {},
    }
    const asker = openAsker({ input, printer, terminal: stream })
    let text = ''
    let admit = async () => {}
    const approved = new Promise<boolean>(resolve => {
      const seat = {
        trouble: plan.title,
        acknowledge: async () => {},
        admit: () => admit(),
        async answer({ decision }: SeatAnswer): Promise<AnswerOutcome> {
          text = written()
          resolve(decision !== 'deny')
          return { type: 'taken' }
        },
      } as unknown as OpenSeat
      asker.tell({ type: 'plan', plan })
      void asker.run(seat, over.signal)
    })
    const approvable = await approved
    const { who, title } = plan
    asker.tell({ type: 'notice', text: title })
    asker.tell({ type: 'asked', seats: [{ seat: 'seat-2', who, command: title, root: title }] })
    const admitted = new Promise<void>(resolve => {
      admit = async () => resolve()
    })
    const wanted = { why: null, id: 'wanted-1', terminal: '/dev/pts/1', pid: 7, who, command: title }
    asker.tell({ type: 'wanted', wanted })
    await admitted
    asker.tell({ type: 'plan', plan: { ...plan, id: 'plan-withdraw' } })
    asker.tell({ type: 'settled', id: 'plan-withdraw', why: who })
    over.abort()
    return { text, approvable, besides: written().slice(text.length) }
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
  by: ['question', 'dialog'].map(name => `src/front/elicitation/${name}.ts`),
  own: NOTHING_OF_OURS,
  margin: /^ {4}\| /,
  named: /^ {4}/,
  lines: true,
  async writes(plan) {
    const { params, approvable } = questionOf(plan)
    return { text: params.message, approvable }
  },
}

/**
 * The heading and the hunks that `imago lsp` gives to an editor, which rules the text of a hunk as the heading is; and the
 * lines of rows, which it sets in.
 */
const EDITOR: HostileAsker = {
  what: 'imago lsp',
  by: ['plan-lines', 'row-lines'].map(name => `src/front/lsp/${name}.ts`),
  takesHunks: true,
  own: NOTHING_OF_OURS,
  margin: /^│ /,
  named: /^(?:Write |! | {2}|hunk 1 of 1 · )/,
  lines: true,
  async writes(plan) {
    const hunks = plan.hunks.flatMap(hunk => [
      hunkHead(hunk, plan.hunks.length),
      ...hunk.diff.split('\n').map(line => `│ ${line}`),
    ])
    const { who, title, root, kernel } = plan
    const through = { code: 'code', driver: title }
    const type = { name: title, module: null, qualified: title }
    const changes = [
      { topic: 'approvals', key: 'a', value: { state: 'waits', ...plan } },
      { topic: 'approvals', key: 'b', value: { state: 'ended', why: title } },
      { topic: 'seats', key: 'c', value: { id: 'c', who, command: root, why: null, through } },
      {
        topic: 'suspensions',
        key: 'd',
        value: { id: 'd', kernel, message: who, type, news: { type: 'taken' } },
      },
      { topic: 'errors', key: 'e', value: { what: title, kernel, where: who, at: '', times: 2 } },
    ] as const
    const event = inWords({ rev: '', changes }) as unknown as { changes: { value: { shown: string } }[] }
    return {
      text: [...planHeading(plan, plan), ...hunks].join('\n'),
      approvable: true,
      besides: event.changes.map(({ value: { shown } }) => `\n  ${shown}`).join(''),
    }
  },
}

/** `imago approvals`, at a terminal. */
const LIST: HostileAsker = {
  what: 'imago approvals',
  by: ['src/front/commands/approvals.ts'],
  own: NOTHING_OF_OURS,
  margin: null,
  named: /^(?:plan-[a-z]{8} {2}do_dangerous {2}|grant-1 {2}|seat-1 {2}|run-1 {2}|1 min 0 s {2})/,
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
      ends_ms: 60_000,
    }
    const pause = { who, refusals: 3, left_ms: 60_000 }
    const seats = [{ seat: 'seat-1', who, command: '', root }]
    const held = [{ call: 'held', tool: waiting.tool, root: waiting.root, who, run: 'run-1', asked_at: 0 }]
    const all = { seats, approvals: [waiting], grants: [grant], pauses: [pause], ends: [], held }
    printer.out(`${approvalsText(all)}\n`)
    return { text: written(), approvable: false }
  },
}

/** `imago watch` in a pipe, or in a terminal that nobody answers at. */
const LINES_ONLY: HostileAsker = {
  what: 'imago watch in a pipe',
  by: ['src/front/commands/watch.ts'],
  own: NOTHING_OF_OURS,
  margin: null,
  named: /^(?:waits {4}|settled {2})plan-/,
  lines: true,
  async writes({ body: _, hunks: __, code: ___, ...waiting }) {
    const { printer, written } = fakeTerminal()
    // It waits, and then it does not.
    const { id, tool, title } = waiting
    const end = { id, tool, title, outcome: 'stale', why: `It is out of date: ${title}.`, ago_ms: 1 }
    const rows = [
      { state: 'waits', ...waiting },
      { state: 'ended', ...end },
    ]
    const changes = rows.map(value => [{ topic: 'approvals', key: id, value } as const])
    const subscribe: FollowOptions['client']['subscribe'] = async ({ heard }) => {
      heard({ rev: 'one:0', snapshot: [] })
      for (const [at, one] of changes.entries()) heard({ rev: `one:${at + 1}`, changes: one })
    }
    const { signal } = new AbortController()
    await followPlans({ client: { subscribe }, printer, signal })
    return { text: written(), approvable: false }
  },
}

/** What the desktop shows in a corner, of one that only writes down what it is given. */
const CORNER: HostileAsker = {
  what: 'a notification',
  by: ['src/terminal/desk.ts'],
  own: NOTHING_OF_OURS,
  margin: null,
  named: /^Imago: /,
  lines: true,
  async writes(plan) {
    const folder = mkdtempSync(join(tmpdir(), 'corner-'))
    const shown = join(folder, 'shown')
    const script = `#!/bin/sh\nprintf '%s\\n' "$3" > '${shown}.part' && mv '${shown}.part' '${shown}'\n`
    writeFileSync(join(folder, 'notify-send'), script, { mode: 0o755 })
    const env = { PATH: `${folder}:${process.env.PATH}` }
    let failed = ''
    const fail = (why: string) => {
      failed = why
    }
    const notifier = openNotifier({ desktop: true, bell: () => {}, failed: fail, env, platform: 'linux' })
    const edit = async () => ({ type: 'unchanged' }) as const
    const desk = new Desk({
      palette: openPalette({ coloured: true }),
      size: { columns: 80, rows: 24 },
      now: 0,
    })
    const seat = openDeskSeat({ desk, repaint: () => {}, ring: text => notifier.notify(text), edit })
    seat.tell({ type: 'plan', plan })
    await until(() => failed !== '' || existsSync(shown), 'the notification')
    if (failed !== '') throw new Error(failed)
    return { text: readFileSync(shown, 'utf8'), approvable: false }
  },
}

export const HOSTILE_ASKERS: readonly HostileAsker[] = [
  DESK,
  ...OF_THE_CONSOLE,
  LINES,
  LINES_ONLY,
  CORNER,
  DIALOG,
  EDITOR,
  LIST,
  LOG,
]
