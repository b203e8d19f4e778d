import { z } from 'zod'
import type { Frame, Stack, Threads, ThreadsQuery } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { dataSize, fitting } from './fit.ts'
import { type Told, termsOf } from './languages.ts'
import { anExpression, lookUp } from './looked.ts'
import { counted, given } from './naming.ts'
import { ok } from './outcome.ts'
import { stackLines } from './stacks.ts'
import { oneLine } from './wording.ts'

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
