import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import {
  type Done,
  diagnosed,
  holdsErrors,
  IN_PACKAGE,
  inForce,
  insideWord,
  PLACED,
  type PrintedOutput,
  packageInForce,
  placeGiven,
  ranAnswer,
  runWork,
  showDiagnosed,
  showInForce,
  showPrinted,
  tallied,
  workOutcome,
} from './execution.ts'
import { packageRefused } from './outcome.ts'
import { SOURCE_LENGTH } from './parameters.ts'
import { cutNote, duration, oneLine } from './text.ts'

/** What compiling is answered with: that the compiler found errors is a result, not a failure of the call. */
const compilationAnswer = z.object({
  ...ranAnswer.shape,
  ...packageInForce.shape,
  /** False where the compiler found an error: what it is about was not compiled. */
  compiled: z.boolean(),
  /** Names that stand for something new: those that were there before are `replaced`. */
  added: z.array(z.string()),
  replaced: z.array(z.string()),
})
type Compilation = Of<typeof compilationAnswer>

export const compileForm = defineTool({
  name: 'compile_form',
  description:
    'Compile forms with the compiler of the image and load them. Answers with every note of the compiler: its ' +
    'severity, its place, and the form it is about. Prefer it over eval_expr for definitions, with the file and line ' +
    'where they stand.',
  parameters: {
    expr: z.string().min(1).max(SOURCE_LENGTH).describe('Source text, in the language of the image.'),
    ...PLACED,
    package: IN_PACKAGE,
  },
  level: 'cautious',
  profile: 'live',
  categories: ['execution'],
  needs: ['compile'],
  starts: true,
  multiline: ['expr'],
  result: compilationAnswer,
  examples: [
    { args: { expr: '(defun area (r) (* pi r r))' }, shows: 'a new definition, with what the compiler says' },
    {
      args: { expr: '(defmethod total ((order gift)) 0)', package: 'SHOP', file: 'src/shop.lisp', line: 40 },
      shows: 'a method of a file, which keeps its place there',
    },
  ],

  // A person approves the code itself, never a summary of it.
  preview: ({ expr, file, line = 1, package: inside }) => ({
    title: `Compile and load this${file === undefined ? '' : ` as ${file}:${line}`}${insideWord(inside)}`,
    body: expr,
  }),

  async handler({ expr, file, line, package: inside }, context) {
    const place = placeGiven({ file: file === undefined ? undefined : context.pathOf(file), line })
    if ('type' in place) return place
    const refused = packageRefused(inside, context.kernel)
    if (refused !== undefined) return refused
    const read = inside === undefined ? {} : { package: inside }
    const evaluated = await runWork({ type: 'compile', source: expr, ...place, ...read }, context)
    const raised = 'It was raised while the code was compiled or loaded; what ran before it stays done.'
    return workOutcome(evaluated, { output: context.output, done: compilation, raised })
  },

  show: showCompilation,
})

function compilation(done: Done, text: PrintedOutput): Compilation {
  const { loaded, elapsed_ms, diagnostics = [] } = done
  return {
    compiled: !holdsErrors(diagnostics),
    ...diagnosed(diagnostics),
    added: loaded?.added ?? [],
    replaced: loaded?.replaced ?? [],
    ...text,
    elapsed_ms,
    ...inForce(done),
  }
}

function showCompilation(result: Compilation): string {
  const { compiled, added, replaced, diagnostics = [], elapsed_ms } = result
  const tally = diagnostics.length === 0 ? 'the compiler had nothing to say' : tallied(diagnostics)
  const unread = diagnostics.some(({ severity }) => severity === 'read_error')
  const failure = unread ? 'it cannot be read, and none of it was loaded' : 'not all of it could be compiled'
  const outcome = compiled ? 'compiled and loaded' : failure
  const lines = [`${outcome}, ${duration(elapsed_ms)}: ${tally}`, ...showDiagnosed(result)]
  if (added.length > 0) lines.push(`added: ${added.map(oneLine).join(', ')}`)
  if (replaced.length > 0) lines.push(`replaced: ${replaced.map(oneLine).join(', ')}`)
  return [...lines, ...showInForce(result), ...showPrinted(result)].join('\n')
}

/** What a macro form expands to, as text in the language of the image. */
const expansionAnswer = z.object({
  ...ranAnswer.shape,
  ...packageInForce.shape,
  expansion: z.string(),
  /** How many characters it has, where that is known. */
  original_len: z.number().nullable(),
  /** For `read_more`, where it was cut. */
  handle: z.string().exactOptional(),
  /** What must be known of it, such as that the form is no macro form and stands for itself. */
  note: z.string().exactOptional(),
})
type Expansion = Of<typeof expansionAnswer>

export const macroexpandForm = defineTool({
  name: 'macroexpand_form',
  description:
    'Expand a macro form (Lisp) once, or with `full` all macro forms in it, and show the expansion. The ' +
    'expansion is not run; reading and expanding do run code: the macros, and what the form tells the reader ' +
    'to run (`#.`). For the source of a macro use symbol_definition.',
  parameters: {
    expr: z.string().min(1).max(SOURCE_LENGTH).describe('One form, such as `(when ready (ship order))`.'),
    full: z
      .boolean()
      .default(false)
      .describe('Expand again until nothing is a macro form any more, in all places of the form.'),
    package: IN_PACKAGE,
  },
  level: 'cautious',
  profile: 'full',
  categories: ['introspection', 'execution'],
  needs: ['expand'],
  starts: true,
  multiline: ['expr'],
  result: expansionAnswer,
  examples: [
    { args: { expr: '(when ready (ship order))' }, shows: 'what one macro makes of a form' },
    { args: { expr: '(loop for x in xs sum x)', full: true, package: 'SHOP' }, shows: 'all of it expanded' },
  ],

  // Reading it runs code: a person approves the text.
  preview: ({ expr, full, package: inside }) => ({
    title: `Read and ${full ? 'fully expand' : 'expand'} this form${insideWord(inside)}`,
    body: expr,
  }),

  async handler({ expr, full, package: inside }, context) {
    const refused = packageRefused(inside, context.kernel)
    if (refused !== undefined) return refused
    const read = inside === undefined ? {} : { package: inside }
    const evaluated = await runWork({ type: 'expand', source: expr, fully: full, ...read }, context)
    return workOutcome(evaluated, { output: context.output, done: expansion })
  },

  show: showExpansion,
})

function expansion(done: Done, text: PrintedOutput): Expansion {
  const { values, elapsed_ms, diagnostics } = done
  const [value] = values
  const { text: expanded = '', original_len = null, truncated = false, handle } = value?.repr ?? {}
  return {
    expansion: expanded,
    original_len,
    ...(handle !== undefined && { handle }),
    ...(value?.preview !== undefined && { note: value.preview }),
    ...diagnosed(diagnostics),
    ...text,
    truncated: text.truncated || truncated,
    elapsed_ms,
    ...inForce(done),
  }
}

function showExpansion(result: Expansion): string {
  const { expansion, original_len, handle, note } = result
  const lines = [expansion]
  if (note !== undefined) lines.push(`(${note})`)
  const cut = handle !== undefined || (original_len !== null && original_len > expansion.length)
  if (cut) {
    const rest = handle === undefined ? '' : ` · all of it: read_more ${handle}`
    lines.push(`(${cutNote({ text: expansion, truncated: true, original_len })}${rest})`)
  }
  // `truncated` is of the whole result, and an expansion that was cut says so itself.
  const truncated = result.truncated && !cut
  return [...lines, ...showDiagnosed(result), ...showPrinted({ ...result, truncated })].join('\n')
}
