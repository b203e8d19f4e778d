import type { Project, RowOf } from './project.ts'
import { line, partsOf, type ValueNode } from './values.ts'

/** A row of the tree view. Its texts are plain, and in one line. */
export interface TreeNode {
  readonly kind: 'section' | 'plan' | 'held' | 'wanted' | 'suspended' | 'program' | 'error' | 'value'
  readonly label: string
  readonly project: Project
  readonly detail?: string
  readonly tooltip?: string
  /** What its command is about: the name of a plan, a suspension, a program, or the number of an error. */
  readonly name?: string
  readonly place?: { readonly file: string; readonly line: number }
  readonly value?: ValueNode
  /** Left out: it does not open. */
  children?(): Promise<readonly TreeNode[]>
}

/** What the tree shows of a project: what waits, programs, errors, and the values that the person has opened. */
export function sectionsOf(project: Project, values: readonly ValueNode[]): readonly TreeNode[] {
  const section = (label: string, nodes: readonly TreeNode[]): readonly TreeNode[] =>
    nodes.length === 0 ? [] : [{ kind: 'section', label, project, children: async () => nodes }]
  return [
    ...section('Waits for you', [
      ...project.waiting.map(
        (row): TreeNode => ({
          kind: 'plan',
          label: line(row.title),
          project,
          detail: line(row.who),
          tooltip: line([...row.warnings, row.title, `${row.tool}, asked by ${row.who}`].join('. ')),
          name: row.id,
        }),
      ),
      ...project.held.map(
        (row): TreeNode => ({
          kind: 'held',
          label: line(row.tool),
          project,
          detail: line(`${row.who}; it can be answered once somebody sits`),
        }),
      ),
    ]),
    ...section(
      'Want a seat',
      project.wanted.map(({ id, who, command, through }): TreeNode => {
        const driver = through?.driver ? `, may be driven by ${through.driver}` : ''
        const detail = line(through === undefined ? command : `code ${through.code}${driver}`)
        return { kind: 'wanted', label: line(who), project, detail, tooltip: line(command), name: id }
      }),
    ),
    ...section(
      'Suspended',
      project.suspended.map(row => suspendedNode(project, row)),
    ),
    ...section(
      'Programs',
      project.programs.map(row => programNode(project, row)),
    ),
    ...section(
      'Errors',
      project.errors.map(row => errorNode(project, row)),
    ),
    ...section(
      'Values',
      values.map(value => valueNode(project, value)),
    ),
  ]
}

const suspendedNode = (project: Project, row: RowOf<'suspensions'>): TreeNode => ({
  kind: 'suspended',
  label: line(row.message ?? row.type),
  project,
  detail: line(`${row.kernel}, asked by ${row.who}`),
  name: row.id,
})

const programNode = (project: Project, row: RowOf<'kernels'>): TreeNode => ({
  kind: 'program',
  label: line(row.name),
  project,
  detail: line(
    [
      row.implementation ?? row.language,
      row.state,
      ...(row.pid === null ? [] : [`process ${row.pid}`]),
      ...(row.name === project.kernel ? ['calls go here'] : []),
    ].join(', '),
  ),
  ...(row.message !== null && { tooltip: line(row.message) }),
  name: row.name,
})

const errorNode = (project: Project, row: RowOf<'errors'>): TreeNode => ({
  kind: 'error',
  label: line(row.what),
  project,
  detail: line(
    [row.kernel, row.where ?? row.at, ...(row.times > 1 ? [`${row.times} times`] : [])].join(', '),
  ),
  name: `${row.kernel} ${row.number}`,
  ...(row.file !== null && row.line !== null && { place: { file: row.file, line: row.line } }),
})

function valueNode(project: Project, value: ValueNode): TreeNode {
  const children = async () => (await partsOf(project, value)).map(part => valueNode(project, part))
  return { kind: 'value', label: value.label, project, value, ...(value.expr !== undefined && { children }) }
}
