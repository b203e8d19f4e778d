import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import type { ProjectKernel } from './contract.ts'
import { defineTool } from './define.ts'
import { termsOf } from './languages.ts'
import { ok, rises } from './outcome.ts'
import { NAME_LENGTH } from './parameters.ts'
import { projectKernel } from './shapes.ts'
import { duration, oneLine } from './text.ts'

/** What `kernels` answers with. */
const projectKernels = z.object({
  kernels: z.array(projectKernel),
  /** Where programs announce themselves. */
  searched: z.string(),
  /** What the project would join, once a person accepts it. */
  waits: z.string().exactOptional(),
})
type ProjectKernels = Of<typeof projectKernels>

export const kernels = defineTool({
  name: 'kernels',
  description:
    'List what lives in this project: running programs, images that Imago started, and what each is doing. Calls ' +
    'without `kernel` go to the one that is marked; where none is, attach chooses one.',
  parameters: {},
  level: 'safe',
  profile: 'live',
  categories: ['kernels'],
  needs: [],
  result: projectKernels,
  examples: [{ args: {}, shows: 'the programs of this project' }],

  async handler(_, context) {
    return ok<ProjectKernels>(await context.kernels.list())
  },

  show: showKernels,
})

export const attach = defineTool({
  name: 'attach',
  description:
    'Make a running program that listens the one that calls of this connection go to. The program runs on and ' +
    'does not notice. A person is asked about a program outside this project.',
  parameters: {
    name: z
      .string()
      .min(1)
      .max(NAME_LENGTH)
      .describe('The program, as `kernels` names it: `web`, `web-4711`, or its process number.'),
  },
  parameterAliases: { kernel: 'name' },
  level: 'cautious',
  profile: 'live',
  categories: ['kernels'],
  needs: [],
  attaches: 'name',
  result: projectKernel,
  examples: [{ args: { name: 'web' }, shows: 'the program web as the kernel of all further calls' }],

  preview: ({ name }) => ({ title: `Attach to ${name}`, body: `${name}, a program outside this project` }),

  async handler({ name }, { kernels, level }) {
    const chosen = await kernels.choose(name, { elsewhere: level === 'dangerous' })
    if (chosen.type === 'elsewhere') return rises('dangerous', `${chosen.what} runs outside this project`)
    return chosen.type === 'failed' ? chosen : ok<ProjectKernel>(chosen.kernel)
  },

  show: kernel => `attached: ${kernelLine(kernel)}\nCalls of this connection that name no kernel go there.`,
})

function showKernels({ kernels, searched, waits }: ProjectKernels): string {
  const waiting = waits === undefined ? [] : [oneLine(waits)]
  if (kernels.length === 0)
    return [
      `No program of this project listens (looked in ${searched}), and no image lives here.`,
      ...waiting,
      'next: a person starts the program with: imago run -- COMMAND   or eval_expr starts an empty image.',
    ].join('\n')
  const free = kernels.filter(({ state }) => state === 'listens')
  const next =
    free[0] === undefined || kernels.some(({ chosen }) => chosen)
      ? []
      : [`next: attach ${JSON.stringify({ name: free[0].name })}`]
  const groups = groupsOf(kernels).map(groupLine)
  const more = [...groups, ...severalLine(kernels), ...besides(kernels), ...waiting]
  return [...kernels.map(kernelLine), ...more, ...next].join('\n')
}

/** How a call says which it is for, where more than one can be meant. */
function severalLine(kernels: readonly ProjectKernel[]): string[] {
  const [one, other] = kernels.filter(({ state }) => !ALONE.includes(state))
  return one === undefined || other === undefined
    ? []
    : [`any call can name one: {"kernel": ${JSON.stringify((one.chosen ? other : one).name)}}`]
}

/** What is called only in kernels of one language. */
function besides(kernels: readonly ProjectKernel[]): string[] {
  const lines = kernels.flatMap(one => {
    const also = ALONE.includes(one.state) ? undefined : termsOf(one).besides
    return also === undefined ? [] : [`in ${oneLine(one.what)}: ${also}`]
  })
  return [...new Set(lines)]
}

/** The groups of which more than one member lives or listens. */
function groupsOf(kernels: readonly ProjectKernel[]): readonly string[] {
  const groups = kernels.filter(({ state }) => !ALONE.includes(state)).map(({ group }) => group)
  return [...new Set(groups.filter((group, index) => groups.indexOf(group) !== index))]
}

/** States of what is no member of a group. */
export const ALONE = ['supervisor', 'orphan', 'not_listening', 'ended', 'crash_loop']

const groupLine = (group: string): string =>
  `look at all of ${oneLine(group)}, or trace in all: name the kernel ${JSON.stringify(`${group}/*`)}`

/** `* web  busy for 2 s  process 4711, manage.py`; the star marks where calls without a name go. */
function kernelLine({
  name,
  chosen,
  state,
  running_ms,
  suspended,
  pid,
  what,
  message,
}: ProjectKernel): string {
  const busy = running_ms === null ? '' : ` for ${duration(running_ms)}`
  const held = suspended === 0 ? '' : `, ${suspended} suspended`
  const process = pid === null ? '' : `process ${pid}, `
  const said = message === null ? '' : `\n    ${oneLine(message)}`
  return `${chosen ? '*' : ' '} ${name}  ${STATES[state] ?? state}${busy}${held}  ${process}${oneLine(what)}${said}`
}

const STATES: Readonly<Record<string, string>> = {
  listens: 'listens, not attached',
  supervisor: 'starts the program again, not attached',
  helper: 'a helper, not attached: calls go there by its name alone',
  not_listening: 'does not listen',
  orphan: 'has outlived what started it, not attached',
}
