import type { Part } from '../../../src/front/shown-answer.ts'
import { escapeLine } from '../../../src/text/escape.ts'
import type { Project } from './project.ts'
import { linesOf, partsOf, type ValueNode } from './values.ts'

/** A row of a view. Its texts are plain, and in one line. */
export interface TreeNode extends Pick<Part, 'label' | 'file' | 'line'> {
  readonly project: Project
  readonly detail?: string
  /** Left out: its label and detail. */
  readonly tooltip?: string
  /** Of its icon, as VS Code calls it. */
  readonly icon?: string
  /** The command of a click. */
  readonly click?: string
  /** What its command is about: the name of a plan, of a program, of somebody who wants a seat. */
  readonly name?: string
  /** Left out: it does not open. */
  children?(): Promise<readonly TreeNode[]>
}

/** What waits in a project: plans, questions that need a seat first, and others who want a seat. */
export const waitsIn = (project: Project): readonly TreeNode[] =>
  [...project.rows.approvals, ...project.rows.seats].flatMap(([name, row]) => {
    if (!row.waits) return []
    const looks = LOOKS['state' in row && row.state !== 'ended' ? row.state : 'seat']
    return [{ label: row.shown, project, name, ...looks }]
  })

const LOOKS = {
  waits: { icon: 'git-pull-request', click: 'imago.plan.open' },
  held: { icon: 'clock', click: 'imago.sit' },
  seat: { icon: 'person-add', click: 'imago.admit' },
}

/** Programs with their threads, whose frames lead to their places. */
export const programsIn = (project: Project): readonly TreeNode[] =>
  [...project.rows.kernels.values()]
    .sort((one, other) => one.name.localeCompare(other.name))
    .map(({ name, implementation, language, state, pid }) => {
      const process = pid === null ? [] : [`process ${pid}`]
      const chosen = name === project.kernel ? ['calls go here'] : []
      const detail = [implementation ?? language, state, ...process, ...chosen].join(', ')
      const looks = { icon: 'vm-running', click: 'imago.program.use' }
      const children = async () => {
        const { parts, shown } = await project.call('threads', { kernel: name })
        const [above = ''] = parts.length === 0 ? [shown] : shown.split('\n\n')
        return [...linesOf(above), ...parts].map(part => valueNode(project, part))
      }
      return { label: escapeLine(name), project, detail: escapeLine(detail), name, ...looks, children }
    })

/** What is in a value is asked for once it is opened, where it is not known already. */
export function valueNode(project: Project, { parts, ...value }: ValueNode): TreeNode {
  const isLeaf = value.expr === undefined && !parts?.length
  const children = async () =>
    (parts ?? (await partsOf(project, value))).map(part => valueNode(project, part))
  const { frame, label } = value
  const looks = frame && { label: frame.name, detail: frame.place, tooltip: label }
  return { ...value, ...looks, project, ...(!isLeaf && { children }) }
}
