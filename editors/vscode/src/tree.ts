import type { Part } from '../../../src/front/shown-answer.ts'
import { escapeLine } from '../../../src/text/escape.ts'
import type { Project } from './project.ts'
import { linesOf, partsOf, type ValueNode } from './values.ts'

/** A row of a view. Its texts are plain, and in one line. */
export interface TreeNode extends Pick<Part, 'label' | 'file' | 'line'> {
  readonly project: Project
  readonly detail?: string
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
export function waitsIn(project: Project): readonly TreeNode[] {
  const plans = project.waiting.map(({ id, title, who }): TreeNode => {
    const looks = { icon: 'git-pull-request', click: 'imago.plan.open' }
    return { label: escapeLine(title), project, detail: escapeLine(who), name: id, ...looks }
  })
  const held = project.held.map(({ tool, who }): TreeNode => {
    const detail = escapeLine(`${who}; it can be answered once somebody sits`)
    return { label: escapeLine(tool), project, detail, icon: 'clock', click: 'imago.sit' }
  })
  const wanted = project.wanted.map(({ id, who, command, through }): TreeNode => {
    const driver = through?.driver ? `, may be driven by ${through.driver}` : ''
    const detail = escapeLine(
      `wants a seat: ${through === undefined ? command : `code ${through.code}${driver}`}`,
    )
    const looks = { icon: 'person-add', click: 'imago.admit' }
    return { label: escapeLine(who), project, detail, name: id, ...looks }
  })
  return [...plans, ...held, ...wanted]
}

/** Programs with their threads, whose frames lead to their places. */
export const programsIn = (project: Project): readonly TreeNode[] =>
  project.programs.map(({ name, implementation, language, state, pid }) => {
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
  return { ...value, project, ...(!isLeaf && { children }) }
}
