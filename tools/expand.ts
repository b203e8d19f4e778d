import { z } from 'zod'
import { defineTool } from './define.ts'
import { type Diagnosed, diagnosed, showDiagnosed } from './diagnostics.ts'
import { type Printed, showPrinted } from './output.ts'
import { runWork } from './run-work.ts'
import { IN_PACKAGE, type InForce, inForce, insideWord, packageRefused, SOURCE_LENGTH } from './source.ts'
import { cutNote } from './wording.ts'
import { type Done, workOutcome } from './work-outcome.ts'

/** What a macro form expands to, as text in the language of the image. */
export interface Expansion extends Printed, Diagnosed, InForce {
  readonly expansion: string
  /** How many characters it has, where that is known. */
  readonly original_len: number | null
  /** For `read_more`, where it was cut. */
  readonly handle?: string
  /** What must be known of it, such as that the form is no macro form and stands for itself. */
  readonly note?: string
  readonly elapsed_ms: number
}

export const macroexpandForm = defineTool({
  name: 'macroexpand_form',
  description:
    'Expand a macro form of the image’s language (Lisp) once, or with `full` all macro forms in it, and show the ' +
    'expansion, indented. What the expansion would do is not done, but reading and expanding the form run code: ' +
    'the macros themselves, and whatever the form tells the reader to run (`#.`). For the source of a macro use ' +
    'symbol_definition.',
  parameters: {
    form: z.string().min(1).max(SOURCE_LENGTH).describe('One form, such as `(when ready (ship order))`.'),
    full: z
      .boolean()
      .default(false)
      .describe('Expand again until nothing is a macro form any more, in all places of the form.'),
    package: IN_PACKAGE,
  },
  parameterAliases: { expr: 'form' },
  level: 'cautious',
  profile: 'full',
  categories: ['introspection', 'execution'],
  needs: ['expand'],
  examples: [
    { args: { form: '(when ready (ship order))' }, shows: 'what one macro makes of a form' },
    { args: { form: '(loop for x in xs sum x)', full: true, package: 'SHOP' }, shows: 'all of it expanded' },
  ],

  // Reading it runs code: a person approves the text.
  preview: ({ form, full, package: inside }) => ({
    title: `Read and ${full ? 'fully expand' : 'expand'} this form${insideWord(inside)}`,
    body: form,
  }),

  async handler({ form, full, package: inside }, context) {
    const refused = packageRefused(inside, context.kernel)
    if (refused !== undefined) return refused
    const read = inside === undefined ? {} : { package: inside }
    const evaluated = await runWork({ type: 'expand', source: form, fully: full, ...read }, context)
    return workOutcome(evaluated, { output: context.output, done: expansion })
  },

  show: result => showExpansion(result as Expansion),
})

function expansion(done: Done, text: Printed): Expansion {
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
