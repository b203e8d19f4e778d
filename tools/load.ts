import { z } from 'zod'
import type { Loaded, Survivor } from '../wire/kernel.ts'
import { defineTool, type KernelContext } from './define.ts'
import { type Diagnosed, diagnosed, showDiagnosed } from './diagnostics.ts'
import { counted, NAME_LENGTH } from './naming.ts'
import { type Printed, showPrinted } from './output.ts'
import { type FreeWork, runWork } from './run-work.ts'
import { duration, oneLine } from './wording.ts'
import { type Done, workOutcome } from './work-outcome.ts'

/** What loading is answered with. `loaded` is null where the image does not tell what it changed. */
interface Loading extends Printed, Diagnosed {
  readonly loaded: Loaded | null
  readonly elapsed_ms: number
}

export const loadFile = defineTool({
  name: 'load_file',
  description:
    'Run a source file, or only some of its top-level definitions, in the live image: into the module or package ' +
    'that it is the source of, else at the top level. Use it after editing a file, so that the program runs the new ' +
    'code without a restart. Says which names were added, replaced or left, and what of the old still lives on. To ' +
    'run a whole loaded module again use reload; for code that is in no file use eval_expr.',
  parameters: {
    path: z.string().min(1).max(4_096).describe('The file; a relative path is one in the project.'),
    names: z
      .array(z.string().min(1).max(NAME_LENGTH))
      .min(1)
      .max(100)
      .optional()
      .describe(
        'Only these top-level functions, classes or variables of the file; a Lisp name means its methods, too. ' +
          'Left out: all of it.',
      ),
  },
  level: 'cautious',
  profile: 'live',
  categories: ['execution'],
  needs: ['load'],
  // The image opens it, wherever it is; what a rule says about that place holds all the same.
  paths: [{ name: 'path', confined: false }],
  examples: [
    { args: { path: 'shop/orders.py', names: ['total'] }, shows: 'one function that was just edited' },
    { args: { path: 'shop/orders.py' }, shows: 'the whole file' },
    { args: { path: 'src/orders.lisp', names: ['total'] }, shows: 'one function of a Lisp file' },
  ],

  /** Where a rule asks about it: the text that would run, which the approval is bound to. */
  async plan({ path, names }, { files }) {
    const file = await files.look(path)
    if (file.type === 'failed' && file.error.details.reason !== 'outside_project') return file
    const title = `Runs ${names === undefined ? path : `${names.join(', ')} of ${path}`} in the live image`
    const shown =
      file.type === 'failed'
        ? { body: OUTSIDE, evidence: [] }
        : { body: file.text ?? `It is not text: ${file.bytes} bytes.`, evidence: [file.evidence] }
    return { type: 'proposal', preview: { title, body: shown.body }, evidence: shown.evidence, changes: [] }
  },

  handler: ({ path, names }, context) => {
    const file = context.pathOf(path)
    const raised = 'What ran before it stays done. Correct the file, and load it again.'
    return load({ work: { type: 'load', file, ...(names !== undefined && { names }) }, raised }, context)
  },

  show: result => showLoading(result as Loading),
})

export const reload = defineTool({
  name: 'reload',
  description:
    'Run the source of a loaded module again, in place: its functions and classes become those of the file. Says ' +
    'what was replaced, and which old objects still live on: instances of old classes, and old functions that ' +
    'others hold. To bring in one definition only, or a file that is no module, use load_file.',
  parameters: {
    module: z.string().min(1).max(NAME_LENGTH).describe('A loaded module, such as `shop.orders`.'),
  },
  level: 'cautious',
  profile: 'live',
  categories: ['execution'],
  needs: ['reload'],
  examples: [{ args: { module: 'shop.orders' }, shows: 'a module after its file was edited' }],

  preview: ({ module }) => ({
    title: `Runs the source of ${module} again`,
    body: 'Its file is not shown, and may hold another text by the time it runs.',
  }),

  handler: ({ module }, context) => {
    const raised = 'Correct the module’s file, and reload it again.'
    return load({ work: { type: 'reload', module }, raised }, context)
  },

  show: result => showLoading(result as Loading),
})

const OUTSIDE =
  'It lies outside of the project: its text is not shown, and may be another one by the time it runs.'

async function load(
  { work, raised }: { readonly work: FreeWork; readonly raised: string },
  context: KernelContext,
) {
  const evaluated = await runWork(work, context)
  return workOutcome(evaluated, { output: context.output, done: loading, raised })
}

function loading({ loaded, elapsed_ms, diagnostics }: Done, text: Printed): Loading {
  return { loaded: loaded ?? null, ...diagnosed(diagnostics), ...text, elapsed_ms }
}

function showLoading(result: Loading): string {
  const { loaded, elapsed_ms } = result
  const told = loaded === null ? [`done, ${duration(elapsed_ms)}`] : loadedLines(loaded, elapsed_ms)
  return [...told, ...showDiagnosed(result), ...showPrinted(result)].join('\n')
}

export function loadedLines(loaded: Loaded, elapsed_ms: number): string[] {
  const { module, file, added, replaced, kept, skipped, survivors, omitted, complete } = loaded
  const what = [file, module].find(one => one !== null) ?? 'it'
  const where = module === null ? 'at the top level' : `into ${oneLine(module)}`
  const lines = [`loaded ${oneLine(what)} ${where}, ${duration(elapsed_ms)}`]
  const changed = [...names('added', added), ...names('replaced', replaced)]
  lines.push(...(changed.length === 0 ? ['no name was added or replaced'] : changed))
  lines.push(...names('left as they were, though the new text does not define them', kept))
  lines.push(...skipped.map(sentence => `not run: ${oneLine(sentence)}`))
  lines.push(...survivors.map(one => `still alive: ${survivorLine(one)}`))
  if (!complete) lines.push('the search for old objects was ended early; there may be more')
  if (omitted > 0) lines.push(`${counted(omitted, 'more name')} not shown`)
  return lines
}

const names = (title: string, list: readonly string[]): string[] =>
  list.length === 0 ? [] : [`${title}: ${list.map(oneLine).join(', ')}`]

/** `2 instances of the old class Order, which is still held by shop.web.handlers (a dict)` */
function survivorLine({ name, kind, instances, held_by, loads_ago = 0 }: Survivor): string {
  const earlier = loads_ago === 0 ? '' : ` of ${counted(loads_ago, 'load')} before`
  const old = `the old ${kind} ${oneLine(name)}${earlier}`
  const held = held_by.length === 0 ? '' : `is still held by ${held_by.map(oneLine).join('; ')}`
  if (instances !== null && instances > 0)
    return `${counted(instances, 'instance')} of ${old}${held === '' ? '' : `, which ${held}`}`
  return held === '' ? `${old}; who holds it was not found` : `${old} ${held}`
}
