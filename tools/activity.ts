import { z } from 'zod'
import type {
  Frame,
  LastError,
  Raised,
  RunHistory,
  RunHistoryEntry,
  RunHistoryQuery,
  Stack,
  Threads,
  ThreadsQuery,
} from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { type Told, termsOf } from './languages.ts'
import { anExpression, lookUp } from './look.ts'
import { ok } from './outcome.ts'
import {
  counted,
  dataSize,
  duration,
  exceptionLine,
  fitting,
  given,
  indent,
  oneLine,
  placeOf,
  reportOf,
  reportSetIn,
  restartLines,
  setIn,
} from './text.ts'

export const getLastError = defineTool({
  name: 'get_last_error',
  description:
    'Show the error that was raised last in the live image: its message, traceback, and every frame with its ' +
    'locals as they were when it was raised, and who caused it. Runs no code. Use it when something failed that ' +
    'you did not run yourself, or to see more of a failure than its answer told; do not run the code again for it.',
  parameters: {},
  level: 'safe',
  profile: 'live',
  categories: ['introspection', 'debugging'],
  needs: ['last_error'],
  examples: [{ args: {}, shows: 'the last failure, frame by frame' }],

  handler: (_, context) => lookUp({ look: 'last_error', query: {} }, context),

  show: result => showLastError(result as LastError),
})

function showLastError({ error, who, call, at, seen }: LastError): string {
  if (error === null)
    return [
      'no error was raised in this image, as far as Imago could see',
      ...(seen.length === 0 ? [] : [`where it looks: ${seen.map(oneLine).join('; ')}`]),
    ].join('\n')
  const by = who === null ? '' : ` by ${oneLine(who)}`
  const caused =
    by === '' && at === null
      ? []
      : [`raised${by}${at === null ? '' : ` at ${at}`}${call === null ? '' : ` (call ${oneLine(call)})`}`]
  return [setIn(exceptionLine(error)), ...caused, ...raisedLines(error)].join('\n')
}

/** The report as the language prints it, and the frames with what their variables held. */
function raisedLines(raised: Raised): string[] {
  const { frames, frames_omitted } = raised
  const report = reportOf(raised)
  const said = report === '' ? [] : [reportSetIn(report)]
  const lines = [...said, ...restartLines(raised)]
  if (!frames.some(frame => frame.locals.length > 0)) return lines
  const cut = frames_omitted === 0 ? '' : ` (${frames_omitted} in the middle left out)`
  return [...lines, `frames, innermost last${cut}:`, ...frames.flatMap(frameLines).map(indent)]
}

export const getReplHistory = defineTool({
  name: 'get_repl_history',
  description:
    'List what was evaluated in the live image, newest first: the code, who ran it (a person or a client), when, ' +
    'and what came of it. Runs no code. Use it to learn what others, or you before, have changed in the program.',
  parameters: {
    limit: z.int().min(1).max(50).default(10).describe('How many entries are shown at most.'),
    before: z
      .int()
      .min(1)
      .optional()
      .describe('Only entries before this number, for the page after the newest.'),
  },
  level: 'safe',
  profile: 'full',
  categories: ['introspection', 'history'],
  needs: ['history'],
  examples: [
    { args: {}, shows: 'the last ten evaluations' },
    { args: { limit: 50, before: 120 }, shows: 'fifty that came before number 120' },
  ],

  async handler({ limit, before }, context) {
    const words = { ...anExpression(context.kernel), parameter: 'before' }
    const query = given<RunHistoryQuery>({ limit, before })
    const outcome = await lookUp({ look: 'history', query, words }, context)
    if (outcome.type !== 'ok') return outcome
    const { entries, total } = outcome.result
    return ok<RunHistory>({ entries: fitting(entries, dataSize), total })
  },

  show: result => showHistory(result as RunHistory),
})

function showHistory({ entries, total }: RunHistory): string {
  const last = entries.at(-1)
  if (last === undefined)
    return total === 0 ? 'nothing was evaluated' : `nothing is remembered before that; ${total} in all`
  const more = last.number > 1 ? `; for more: before ${last.number}` : ''
  return [`${entries.length} of ${total}, newest first${more}`, ...entries.flatMap(entryLines)].join('\n')
}

/** `running for 3 s`, `suspended after 4 ms`; all others have ended `in` it. */
const BEFORE_TIME: Partial<Record<RunHistoryEntry['outcome'], string>> = {
  running: 'for',
  suspended: 'after',
}

/** `#12 claude-code 2.1, 2026-10-02T09:00:00Z, done in 4 ms`, the code, and what it came to. */
function entryLines(entry: RunHistoryEntry): string[] {
  const { number, who, at, outcome, elapsed_ms, source, truncated, place, result } = entry
  const took =
    elapsed_ms === null ? outcome : `${outcome} ${BEFORE_TIME[outcome] ?? 'in'} ${duration(elapsed_ms)}`
  const where = place === null ? '' : placeOf(place)
  const words = [`#${number} ${oneLine(who)}`, at, took, ...(where === '' ? [] : [where])]
  const lines = [words.join(', '), indent(`${source.trimEnd()}${truncated ? ' … (cut)' : ''}`)]
  return result === null ? lines : [...lines, indent(`→ ${oneLine(result)}`)]
}

/** Frames of one stack. */
const FRAMES = 24

/** Characters as data of all stacks together, above which outer frames lose their locals. */
const ROOMY = 30_000

export const threads = defineTool({
  name: 'threads',
  description:
    'Show what the program is doing at this moment: the stack of every thread and of every asyncio task, with file, ' +
    'line, source and locals, and what each waits for; those that stand at the same place are told once, with ' +
    'their number. Works while the main thread is stuck. Runs no code, stops nothing. Use it first when a program ' +
    'hangs, is slow or deadlocked, before reading files. Of a Lisp: the names of its threads, and what each is doing, ' +
    'without stacks.',
  parameters: {
    filter: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'Only threads and tasks whose name, or a function or file of whose stack, contains this text.',
      ),
    locals: z.boolean().default(true).describe('Also show the local variables of each frame.'),
    limit: z.int().min(1).max(200).default(20).describe('How many different stacks are shown at most.'),
  },
  level: 'safe',
  profile: 'live',
  categories: ['introspection', 'debugging'],
  needs: ['threads'],
  examples: [
    { args: {}, shows: 'where every thread and task stands' },
    { args: { filter: 'checkout', limit: 3 }, shows: 'only the stacks with something called “checkout”' },
    { args: { locals: false, limit: 100 }, shows: 'many stacks, without their variables' },
  ],

  async handler({ filter, locals, limit }, context) {
    const words = {
      ...anExpression(context.kernel),
      narrow: 'Ask again with locals false, or with a filter.',
    }
    const query = given<ThreadsQuery>({ filter, locals, limit, frames: FRAMES })
    const outcome = await lookUp({ look: 'threads', query, words }, context)
    return outcome.type === 'ok' ? ok(fitted(outcome.result)) : outcome
  },

  show: result => showThreads(result as Threads & Told),
})

/** What fits into an answer: first without the locals of outer frames, then with fewer stacks, Imago's own first. */
function fitted(found: Threads): Threads {
  if (dataSize(found) <= ROOMY) return found
  const all = [
    ...found.threads.filter(stack => !isOurs(stack)),
    ...found.tasks,
    ...found.threads.filter(isOurs),
  ].map(stack => ({ stack, shown: bare(stack) }))
  const kept = fitting(all, ({ shown }) => dataSize(shown))
  const keptOf = (stacks: readonly Stack[]) =>
    kept.flatMap(({ stack, shown }) => (stacks.includes(stack) ? [shown] : []))
  return {
    ...found,
    threads: keptOf(found.threads),
    tasks: keptOf(found.tasks),
    omitted: found.omitted + all.length - kept.length,
    notes: [
      ...found.notes,
      'Only the innermost frames are shown with locals, to fit; a filter shows more of fewer.',
    ],
  }
}

function bare(stack: Stack): Stack {
  return {
    ...stack,
    frames: stack.frames.map((frame, index) => bareFrame(frame, index === stack.frames.length - 1)),
  }
}

function bareFrame(frame: Frame, innermost: boolean): Frame {
  if (innermost) return frame
  return { ...frame, locals: [], locals_omitted: frame.locals.length + frame.locals_omitted }
}

/** Imago's own threads are named, and no more: they are there for whoever reads this. */
function showThreads(found: Threads & Told): string {
  const { threads, tasks, threads_total, tasks_total, omitted, notes } = found
  const { tasks: hasTasks } = termsOf(found)
  const left =
    omitted === 0 ? '' : `; ${counted(omitted, 'other stack')} left out: give a filter, or a higher limit`
  const counts = [counted(threads_total, 'thread'), ...(hasTasks ? [counted(tasks_total, 'task')] : [])]
  const heading = `${counts.join(', ')}${left}`
  const told = (kind: 'Thread' | 'Task', stack: Stack) =>
    stackLines(kind, stack)
      .slice(0, !hasTasks && stack.frames.length === 0 ? 1 : undefined)
      .join('\n')
  const [ours, theirs] = [threads.filter(isOurs), threads.filter(stack => !isOurs(stack))]
  return [
    [heading, ...notes.map(note => `note: ${oneLine(note)}`)].join('\n'),
    ...theirs.map(stack => told('Thread', stack)),
    ...tasks.map(stack => told('Task', stack)),
    ...(ours.length === 0
      ? []
      : [`Imago’s own threads, neither shown nor counted: ${tally(ours).join(', ')}`]),
  ].join('\n\n')
}

/** `imago-link`, `imago-look ×8`: each name once, with the number of threads that have it. */
function tally(stacks: readonly Stack[]): string[] {
  const counts = new Map<string, number>()
  for (const { names, count } of stacks)
    for (const [at, name] of names.entries()) {
      const unnamed = at === names.length - 1 ? count - names.length : 0
      counts.set(name, (counts.get(name) ?? 0) + 1 + unnamed)
    }
  return [...counts].map(([name, count]) => (count === 1 ? oneLine(name) : `${oneLine(name)} ×${count}`))
}

const isOurs = ({ role }: Stack): boolean => role === 'imago'

// Stacks as people know them from a dump of threads: who it is, what it waits for, and where it stands.

/** `Thread "MainThread" (main), waiting for a lock`, and its frames, innermost last. */
function stackLines(kind: 'Thread' | 'Task', stack: Stack): string[] {
  const { frames, frames_omitted } = stack
  const gap = frames_omitted === 0 ? [] : [`(${counted(frames_omitted, 'frame')} in the middle left out)`]
  const lines = frames.length === 0 ? ['(no frames to be seen)'] : frames.flatMap(frameLines)
  return [headline(kind, stack), ...[...gap, ...lines].map(indent)]
}

function headline(kind: 'Thread' | 'Task', { names, count, role, state, waits_for }: Stack): string {
  const quoted = names.map(name => JSON.stringify(name)).join(', ')
  const more = count > names.length ? ', …' : ''
  const who = count === 1 ? `${kind} ${quoted}` : `${count} ${kind.toLowerCase()}s ${quoted}${more}`
  const whose = ROLES[role] === '' ? '' : ` (${ROLES[role]})`
  const what = waits_for === null || state !== 'waiting' ? state : `waiting for ${oneLine(waits_for)}`
  return `${who}${whose}, ${what}`
}

const ROLES: Readonly<Record<Stack['role'], string>> = {
  main: 'main',
  evaluating: 'evaluates for a caller',
  imago: 'Imago’s own',
  user: '',
}

/** `shop/orders.py:12 in total`, below it the line of source, and below that the locals. */
function frameLines(frame: Frame): string[] {
  const { function: name, source, locals, locals_omitted, repeated = 1 } = frame
  const place = placeOf(frame)
  const times =
    repeated === 1 ? '' : ` × ${repeated}${locals.length === 0 ? '' : ', the innermost with its locals'}`
  const lines = [`${place === '' ? '' : `${place} `}in ${oneLine(name)}${times}`]
  if (source !== null && source.trim() !== '') lines.push(`  ${oneLine(source.trim())}`)
  lines.push(...locals.map(local => `    ${oneLine(local.name)} = ${oneLine(local.repr)}`))
  if (locals_omitted > 0)
    lines.push(
      `    ${locals.length === 0 ? '' : 'and '}${counted(locals_omitted, 'local')}${locals.length === 0 ? ' not shown' : ' more'}`,
    )
  return lines
}
