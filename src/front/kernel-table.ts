import { basename, dirname } from 'node:path'
import { duration, oneLine } from '../../tools/wording.ts'
import type { AnnouncedRow, KernelRow, Methods } from './protocol.ts'
import { type Line, table } from './table.ts'

/** What `imago kernels` prints: the kernels, what can be attached to, and what was passed over. */
export function kernelsText(
  { kernels, announced, skipped }: Methods['kernels']['result'],
  home: string,
): string {
  const passed = skipped.map(({ file, reason }) => `Passed over: ${shortened(file, home)} ${reason}.`)
  const blocks = [
    kernels.length === 0 ? NONE : table([HEAD, ...kernels.map(row => kernelCells(row, home))]),
    ...(announced.length === 0 ? [] : [`Can be attached to:\n${programs(announced, home)}`]),
    ...(passed.length === 0 ? [] : [passed.join('\n')]),
  ]
  return blocks.join('\n\n')
}

/** One of them, for a command that had to do with it. */
export function kernelLine(row: KernelRow, home: string): string {
  return table([kernelCells(row, home)])
}

export const readMore = (handle: string) => `imago call read_more '{"handle":"${handle}"}'`

const NONE = 'No kernels. Start one with: imago start python (or lisp)'
const HEAD: Line = { cells: ['KERNEL', 'STATE', 'PROCESS', 'PROJECT', 'WHAT IT IS'], below: [] }

function kernelCells(row: KernelRow, home: string): Line {
  const { name, pid, root, message, background } = row
  const printed = background === null ? [] : [`What it printed by itself: ${readMore(background.handle)}`]
  return {
    cells: [name, stateOf(row), pid === null ? '-' : String(pid), shortened(root, home), whatItIs(row)],
    below: [...(message === null ? [] : message.trimEnd().split('\n')), ...printed],
  }
}

function stateOf({ state, running, suspended }: KernelRow): string {
  const word = state.replace('_', ' ')
  const now = running === null ? word : `${word} ${duration(running.elapsed_ms)}`
  return suspended === 0 ? now : `${now}, ${suspended} suspended`
}

function whatItIs({ implementation, language, script, script_state, attached }: KernelRow): string {
  const fate = script_state === null ? '' : ` (${script_state})`
  const ran = script === null ? [] : [`${basename(script)}${fate}`]
  const program = attached === null ? [] : [`attached to ${programOf(attached)}`]
  return [implementation ?? language, ...ran, ...program].map(oneLine).join(', ')
}

type Attached = NonNullable<KernelRow['attached']>

const programOf = ({ program, announced, address }: Attached) =>
  program === null ? (announced ?? address) : calledOf(program)

/** A package that is run is called by its folder. */
const calledOf = (program: string) =>
  basename(program) === '__main__.py' ? basename(dirname(program)) : basename(program)

/** Ready to be typed. */
function programs(announced: readonly AnnouncedRow[], home: string): string {
  return table(
    announced.map(({ attach, pid, parent, cwd, implementation, program, name }) => ({
      cells: [
        `  imago attach ${oneLine(/^[\w.:/-]+$/.test(attach) ? attach : String(pid))}`,
        parent === null ? `process ${pid}` : `process ${pid}, child of ${parent}`,
        oneLine(shortened(cwd, home)),
        oneLine([implementation, program === '' ? name : calledOf(program)].join(', ')),
      ],
      below: [],
    })),
  )
}

function shortened(path: string, home: string): string {
  if (path === home) return '~'
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
