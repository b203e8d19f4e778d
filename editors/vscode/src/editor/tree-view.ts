import * as vscode from 'vscode'
import type { Project } from '../project.ts'
import { sectionsOf, type TreeNode } from '../tree.ts'
import { line, type ValueNode } from '../values.ts'
import { plainLabel } from './said.ts'

/** What a row looks like, and what a click on it does. */
export const LOOKS: Readonly<Record<TreeNode['kind'], { readonly icon?: string; readonly click?: string }>> =
  {
    section: {},
    plan: { icon: 'git-pull-request', click: 'imago.plan.open' },
    held: { icon: 'clock', click: 'imago.sit' },
    wanted: { icon: 'person-add', click: 'imago.admit' },
    program: { icon: 'vm-running', click: 'imago.program.use' },
    value: { icon: 'symbol-variable' },
    part: {},
  }

/** The view “Imago”: a section for each kind of thing; with several projects, each below its root. */
export class Tree implements vscode.TreeDataProvider<TreeNode> {
  readonly #projects: ReadonlyMap<string, Project>
  readonly #values = new Map<ValueNode, string>()
  readonly #changed = new vscode.EventEmitter<void>()
  readonly onDidChangeTreeData = this.#changed.event
  readonly view: vscode.TreeView<TreeNode>

  constructor(projects: ReadonlyMap<string, Project>) {
    this.#projects = projects
    this.view = vscode.window.createTreeView('imago', { treeDataProvider: this })
  }

  changed(): void {
    const value = [...this.#projects.values()].reduce((sum, { waiting }) => sum + waiting.length, 0)
    this.view.badge = value === 0 ? undefined : { value, tooltip: 'plans wait' }
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
    const all = [...this.#projects.values()].map((project): TreeNode => {
      const values = [...this.#values].filter(([, root]) => root === project.root).map(([value]) => value)
      const children = async () => sectionsOf(project, values)
      return { kind: 'section', label: line(project.root), project, children }
    })
    return all.length === 1 ? this.getChildren(all[0]) : all
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState
    const opens = node.kind === 'section' ? Expanded : Collapsed
    const item = new vscode.TreeItem(plainLabel(node.label), node.children === undefined ? None : opens)
    const { icon, click } = LOOKS[node.kind]
    // By these names menus know what a row is, and the tree which of its rows are open.
    item.contextValue = node.kind
    if (node.value === undefined && node.kind !== 'part')
      item.id = [node.project.root, node.kind, node.name ?? node.label].join(' ')
    if (node.detail !== undefined) item.description = plainLabel(node.detail)
    item.tooltip = node.tooltip ?? node.label
    if (icon !== undefined) item.iconPath = new vscode.ThemeIcon(icon)
    if (click !== undefined) item.command = { title: 'Open', command: click, arguments: [node] }
    return item
  }
}
