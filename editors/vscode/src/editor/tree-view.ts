import * as vscode from 'vscode'
import type { Project } from '../project.ts'
import { sectionsOf, type TreeNode } from '../tree.ts'
import { escapeLine, type ValueNode } from '../values.ts'
import { plainLabel } from './messages.ts'

/** Values that are kept. */
const VALUES = 10

/** The view “Imago”: a section for each kind of thing; with several projects, each below its root. */
export class Tree implements vscode.TreeDataProvider<TreeNode> {
  readonly #projects: ReadonlyMap<string, Project>
  #values: readonly { readonly project: Project; readonly value: ValueNode }[] = []
  readonly #changed = new vscode.EventEmitter<void>()
  readonly onDidChangeTreeData = this.#changed.event

  constructor(projects: ReadonlyMap<string, Project>) {
    this.#projects = projects
  }

  changed(): void {
    this.#changed.fire()
  }

  /** The newest first, and no more than the person can want. */
  addValue(project: Project, value: ValueNode): void {
    this.#values = [{ project, value }, ...this.#values].slice(0, VALUES)
    this.#changed.fire()
  }

  async getChildren(node?: TreeNode): Promise<TreeNode[]> {
    if (node !== undefined) return [...((await node.children?.()) ?? [])]
    const all = [...this.#projects.values()].map((project): TreeNode => {
      const values = this.#values.filter(one => one.project === project)
      const children = async () =>
        sectionsOf(
          project,
          values.map(({ value }) => value),
        )
      return { kind: 'section', label: escapeLine(project.root), project, children }
    })
    return all.length === 1 ? this.getChildren(all[0]) : all
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState
    const opens = node.kind === 'section' ? Expanded : Collapsed
    const item = new vscode.TreeItem(plainLabel(node.label), node.children === undefined ? None : opens)
    // By this the tree knows which of its rows are open.
    if (node.kind !== 'value') item.id = [node.project.root, node.kind, node.name ?? node.label].join(' ')
    if (node.detail !== undefined) item.description = plainLabel(node.detail)
    if (node.icon !== undefined) item.iconPath = new vscode.ThemeIcon(node.icon)
    if (node.click !== undefined) item.command = { title: 'Open', command: node.click, arguments: [node] }
    return item
  }
}
