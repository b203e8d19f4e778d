import { escapeLine } from '../../../src/text/escape.ts'
import type { Project } from './project.ts'
import { linesOf, partsOf, type ValueNode } from './values.ts'

/** A row of the tree view. Its texts are plain, and in one line. */
export interface TreeNode {
  readonly kind: 'section' | 'plan' | 'held' | 'wanted' | 'program' | 'value'
  readonly label: string
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
    return { kind: 'plan', label: escapeLine(title), project, detail: escapeLine(who), name: id, ...looks }
  })
  const held = project.held.map(({ tool, who }): TreeNode => {
    const detail = escapeLine(`${who}; it can be answered once somebody sits`)
    return { kind: 'held', label: escapeLine(tool), project, detail, icon: 'clock', click: 'imago.sit' }
  })
  const wanted = project.wanted.map(({ id, who, command, through }): TreeNode => {
    const driver = through?.driver ? `, may be driven by ${through.driver}` : ''
    const detail = escapeLine(
      `wants a seat: ${through === undefined ? command : `code ${through.code}${driver}`}`,
    )
    const looks = { icon: 'person-add', click: 'imago.admit' }
    return { kind: 'wanted', label: escapeLine(who), project, detail, name: id, ...looks }
  })
  return [...plans, ...held, ...wanted]
}

/** What the tree shows of a project: what waits, programs with their threads, and the values that the person looks at. */
export function sectionsOf(project: Project, values: readonly ValueNode[]): readonly TreeNode[] {
  const sections = {
    'Waits for you': waitsIn(project),
    Programs: programsIn(project),
    Values: values.map(value => partNode(project, value)),
  }
  return Object.entries(sections)
    .filter(([, nodes]) => nodes.length > 0)
    .map(([label, nodes]) => ({ kind: 'section', label, project, children: async () => nodes }))
}

const programsIn = (project: Project): readonly TreeNode[] =>
  project.programs.map(row => {
    const process = row.pid === null ? [] : [`process ${row.pid}`]
    const chosen = row.name === project.kernel ? ['calls go here'] : []
    const detail = [row.implementation ?? row.language, row.state, ...process, ...chosen].join(', ')
    return {
      kind: 'program',
      label: escapeLine(row.name),
      project,
      detail: escapeLine(detail),
      icon: 'vm-running',
      click: 'imago.program.use',
      name: row.name,
      children: async () => {
        const { shown } = await project.call('threads', { kernel: row.name })
        return linesOf(shown).map(value => partNode(project, value))
      },
    }
  })

function partNode(project: Project, value: ValueNode): TreeNode {
  const children = async () => (await partsOf(project, value)).map(part => partNode(project, part))
  return { kind: 'value', label: value.label, project, ...(value.expr !== undefined && { children }) }
}
