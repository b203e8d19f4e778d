import * as vscode from 'vscode'
import type { Project } from '../project.ts'
import { sectionsOf, type TreeNode } from '../tree.ts'
import { line, type ValueNode } from '../values.ts'
import { plainLabel } from './said.ts'

/** What a click does. */
const CLICKS: Readonly<Partial<Record<TreeNode['kind'], string>>> = {
  plan: 'imago.plan.open',
  held: 'imago.sit',
  wanted: 'imago.admit',
  suspended: 'imago.suspended.show',
  error: 'imago.error.show',
}

const ICONS: Readonly<Partial<Record<TreeNode['kind'], string>>> = {
  plan: 'git-pull-request',
  held: 'clock',
  wanted: 'person-add',
  suspended: 'debug-pause',
  program: 'vm-running',
  error: 'error',
  value: 'symbol-variable',
}

/** The view “Imago”: a section for each kind of thing; with several projects, each below its root. */
export class Tree implements vscode.TreeDataProvider<TreeNode> {
  readonly #projects: ReadonlyMap<string, Project>
  readonly #values = new Map<ValueNode, string>()
  readonly #changed = new vscode.EventEmitter<void>()
  readonly onDidChangeTreeData = this.#changed.event
  #view: vscode.TreeView<TreeNode> | undefined

  constructor(projects: ReadonlyMap<string, Project>) {
    this.#projects = projects
  }

  register(): vscode.Disposable {
    this.#view = vscode.window.createTreeView('imago', { treeDataProvider: this })
    return this.#view
  }

  changed(): void {
    const waits = [...this.#projects.values()].reduce((sum, { waiting }) => sum + waiting.length, 0)
    if (this.#view !== undefined)
      this.#view.badge = waits === 0 ? undefined : { value: waits, tooltip: 'plans wait' }
    this.#changed.fire()
  }

  addValue({ root }: Project, value: ValueNode): void {
    this.#values.set({ ...value, label: line(value.label) }, root)
    this.#changed.fire()
  }

  dropValue(value: ValueNode): void {
    this.#values.delete(value)
    this.#changed.fire()
  }

  async getChildren(node?: TreeNode): Promise<TreeNode[]> {
    if (node !== undefined) return [...((await node.children?.()) ?? [])]
    const all = [...this.#projects.values()].map(project => {
      const values = [...this.#values].filter(([, root]) => root === project.root).map(([value]) => value)
      return { project, sections: sectionsOf(project, values) }
    })
    const [only] = all
    if (only === undefined || all.length === 1) return [...(only?.sections ?? [])]
    return all.map(({ project, sections }) => ({
      kind: 'section',
      label: line(project.root),
      project,
      children: async () => sections,
    }))
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState
    const opens = node.kind === 'section' ? Expanded : Collapsed
    const item = new vscode.TreeItem(plainLabel(node.label), node.children === undefined ? None : opens)
    const icon = ICONS[node.kind]
    const click = CLICKS[node.kind]
    // By these names menus know what a row is, and the tree which of its rows are open.
    item.contextValue = node.kind
    item.id = [node.project.root, node.kind, node.name ?? node.label].join(' ')
    if (node.kind === 'value') delete item.id
    if (node.detail !== undefined) item.description = plainLabel(node.detail)
    item.tooltip = node.tooltip ?? node.label
    if (icon !== undefined) item.iconPath = new vscode.ThemeIcon(icon)
    if (click !== undefined) item.command = { title: 'Open', command: click, arguments: [node] }
    return item
  }
}
