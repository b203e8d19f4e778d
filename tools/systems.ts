import { z } from 'zod'
import type { Loaded } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { type Diagnosed, diagnosed, showDiagnosed, tallied } from './diagnostics.ts'
import { NAME_LENGTH } from './naming.ts'
import { type Printed, showPrinted } from './output.ts'
import { runWork } from './run-work.ts'
import { duration, oneLine } from './wording.ts'
import { type Done, workOutcome } from './work-outcome.ts'

/** What loading a system is answered with. */
interface SystemLoading extends Printed, Diagnosed {
  readonly system: string
  /** Where it is defined; null where the image does not tell. */
  readonly file: string | null
  /** The systems that were not loaded before and are now. */
  readonly added: readonly string[]
  readonly elapsed_ms: number
}

export const loadSystem = defineTool({
  name: 'load_system',
  description:
    'Load a system of definitions by its name, with everything it depends on, as the language’s own build tool does ' +
    '(ASDF in Lisp): what is new or was changed since is compiled and loaded. Says which systems came in, what the ' +
    'compiler said, and what was printed. For a single file use load_file, for one definition compile_form.',
  parameters: {
    system: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .describe('The name of a system, such as `shop` or `shop/tests`.'),
    force: z
      .boolean()
      .default(false)
      .describe('Compile and load the files of this system again, though they have not changed.'),
  },
  parameterAliases: { name: 'system' },
  level: 'cautious',
  profile: 'full',
  categories: ['execution', 'project'],
  needs: ['system'],
  examples: [
    { args: { system: 'shop' }, shows: 'a project, with what it depends on' },
    { args: { system: 'shop', force: true }, shows: 'all its files compiled anew' },
  ],

  preview: ({ system, force }) => ({
    title: `Load the system ${system}${force ? ', all of it compiled anew' : ''}`,
    body: 'Its definition and its files are run; they are not shown, and may hold another text by the time they run.',
  }),

  async handler({ system, force }, context) {
    const evaluated = await runWork({ type: 'system', system, force }, context)
    const raised = 'What was loaded before it stays loaded. Correct the file, and load the system again.'
    const done = (ended: Done, text: Printed) => systemLoading(system, ended.loaded, { ended, text })
    return workOutcome(evaluated, { output: context.output, done, raised })
  },

  show: result => showSystem(result as SystemLoading),
})

function systemLoading(
  system: string,
  loaded: Loaded | undefined,
  { ended, text }: { readonly ended: Done; readonly text: Printed },
): SystemLoading {
  return {
    system: loaded?.module ?? system,
    file: loaded?.file ?? null,
    added: loaded?.added ?? [],
    ...diagnosed(ended.diagnostics),
    ...text,
    elapsed_ms: ended.elapsed_ms,
  }
}

function showSystem(result: SystemLoading): string {
  const { system, file, added, diagnostics = [], elapsed_ms } = result
  const from = file === null ? '' : ` from ${oneLine(file)}`
  const tally = diagnostics.length === 0 ? '' : `: ${tallied(diagnostics)}`
  const news = added.length === 0 ? 'no system was added' : `added: ${added.map(oneLine).join(', ')}`
  return [
    `loaded ${oneLine(system)}${from}, ${duration(elapsed_ms)}${tally}`,
    news,
    ...showDiagnosed(result),
    ...showPrinted(result),
  ].join('\n')
}
