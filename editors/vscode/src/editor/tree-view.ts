import * as vscode from 'vscode'
import type { TreeNode } from '../tree.ts'
import { plainLabel } from './messages.ts'

/** A view of rows that open. Only those at its top can be revealed. */
export const treeOf = (
  rows: () => readonly TreeNode[],
  onDidChangeTreeData: vscode.Event<void>,
): vscode.TreeDataProvider<TreeNode> => ({
  onDidChangeTreeData,
  getTreeItem: itemOf,
  getParent: () => undefined,
  getChildren: async node => [...(node === undefined ? rows() : ((await node.children?.()) ?? []))],
})

function itemOf(node: TreeNode): vscode.TreeItem {
  const { project, label, detail = '', tooltip, name, icon, click, file, line = 1, children } = node
  const { Collapsed, None } = vscode.TreeItemCollapsibleState
  const item = new vscode.TreeItem(plainLabel(label), children === undefined ? None : Collapsed)
  item.description = plainLabel(detail)
  item.tooltip = tooltip ?? [label, detail, project.root].filter(Boolean).join('\n')
  // By this the view knows which of its rows are open.
  if (name !== undefined) item.id = [project.root, click, name].join(' ')
  if (icon !== undefined) item.iconPath = new vscode.ThemeIcon(icon)
  if (click !== undefined) item.command = { title: 'Open', command: click, arguments: [node] }
  if (file === undefined) return item
  const selection = new vscode.Range(line - 1, 0, line - 1, 0)
  const place = [vscode.Uri.file(file), { selection }]
  item.command = { title: 'Open', command: 'vscode.open', arguments: place }
  return item
}
