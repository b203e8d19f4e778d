import { z } from 'zod'
import { defineTool } from './define.ts'
import { type Diagnosed, diagnosed, holdsErrors, showDiagnosed, tallied } from './diagnostics.ts'
import { type Printed, showPrinted } from './output.ts'
import { runWork } from './run-work.ts'
import {
  IN_PACKAGE,
  type InForce,
  inForce,
  insideWord,
  PLACED,
  packageRefused,
  placeGiven,
  SOURCE_LENGTH,
  showInForce,
} from './source.ts'
import { duration, oneLine } from './wording.ts'
import { type Done, workOutcome } from './work-outcome.ts'

/** What compiling is answered with: that the compiler found errors is a result, not a failure of the call. */
export interface Compilation extends Printed, Diagnosed, InForce {
  /** False where the compiler found an error: what it is about was not compiled. */
  readonly compiled: boolean
  /** Names that stand for something new: those that were there before are `replaced`. */
  readonly added: readonly string[]
  readonly replaced: readonly string[]
  readonly elapsed_ms: number
}

export const compileForm = defineTool({
  name: 'compile_form',
  description:
    'Compile one or several forms with the compiler of the image, as a file of them would be, and load them: what ' +
    'they define is new from then on. Answers with every note of the compiler: its severity, where it stands, and ' +
    'the form it is about. Prefer it over eval_expr for definitions in a language with a compiler (Lisp). Give ' +
    'file and line of where the code stands, so that jumping to its source leads there. Compiling runs macros, ' +
    'and loading runs the code. To look at an expansion only use macroexpand_form.',
  parameters: {
    form: z.string().min(1).max(SOURCE_LENGTH).describe('Source text, in the language of the image.'),
    ...PLACED,
    package: IN_PACKAGE,
  },
  parameterAliases: { expr: 'form' },
  level: 'cautious',
  profile: 'live',
  categories: ['execution'],
  needs: ['compile'],
  examples: [
    { args: { form: '(defun area (r) (* pi r r))' }, shows: 'a new definition, with what the compiler says' },
    {
      args: { form: '(defmethod total ((order gift)) 0)', package: 'SHOP', file: 'src/shop.lisp', line: 40 },
      shows: 'a method of a file, which keeps its place there',
    },
  ],

  // A person approves the code itself, never a summary of it.
  preview: ({ form, file, line = 1, package: inside }) => ({
    title: `Compile and load this${file === undefined ? '' : ` as ${file}:${line}`}${insideWord(inside)}`,
    body: form,
  }),

  async handler({ form, file, line, package: inside }, context) {
    const place = placeGiven({ file: file === undefined ? undefined : context.pathOf(file), line })
    if ('type' in place) return place
    const refused = packageRefused(inside, context.kernel)
    if (refused !== undefined) return refused
    const read = inside === undefined ? {} : { package: inside }
    const evaluated = await runWork({ type: 'compile', source: form, ...place, ...read }, context)
    const raised = 'It was raised while the code was compiled or loaded; what ran before it stays done.'
    return workOutcome(evaluated, { output: context.output, done: compilation, raised })
  },

  show: result => showCompilation(result as Compilation),
})

function compilation(done: Done, text: Printed): Compilation {
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
  const outcome = compiled ? 'compiled and loaded' : 'not all of it could be compiled'
  const lines = [`${outcome}, ${duration(elapsed_ms)}: ${tally}`, ...showDiagnosed(result)]
  if (added.length > 0) lines.push(`added: ${added.map(oneLine).join(', ')}`)
  if (replaced.length > 0) lines.push(`replaced: ${replaced.map(oneLine).join(', ')}`)
  return [...lines, ...showInForce(result), ...showPrinted(result)].join('\n')
}
