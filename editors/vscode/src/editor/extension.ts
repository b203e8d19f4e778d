import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, resolve, sep } from 'node:path'
import * as vscode from 'vscode'
import { LanguageClient, State } from 'vscode-languageclient/node'
import type { SubscriptionEvent } from '../../../../src/front/subscriptions.ts'
import { Project, type SeatNews } from '../project.ts'
import type { TreeNode } from '../tree.ts'
import { PlanViews, realOf } from './plans.ts'
import { Results } from './results.ts'
import { plainLabel, tell, tellFault, VirtualTexts } from './said.ts'
import { Tree } from './tree-view.ts'

let client: LanguageClient | undefined

/** Starts `imago lsp` for the folders of the window, and shows what waits in them. Nothing takes the focus. */
export async function activate({ subscriptions }: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel('Imago', { log: true })
  const projects = new Map<string, Project>()
  const texts = new VirtualTexts()
  const plans = new PlanViews(texts)
  const results = new Results()
  const tree = new Tree(projects)
  const status = vscode.window.createStatusBarItem('imago', vscode.StatusBarAlignment.Left)
  status.name = 'Imago'
  status.command = 'imago.plan.open'

  const says = (text: string) => {
    log.info(text)
    vscode.window.setStatusBarMessage(plainLabel(`Imago: ${text}`), 15_000)
  }
  const changed = (project: Project) => {
    plans.changed(project)
    tree.changed()
    const all = [...projects.values()]
    const code = all.find(one => one.code !== undefined)?.code
    const waits = all.map(one => one.status).filter(text => text !== '')
    const parts = [...waits, ...(code === undefined ? [] : [`to sit: imago seat ${code}`])]
    status.text = plainLabel(`Imago: ${parts.join(', ')}`)
    status.tooltip = all
      .map(({ root, seat }) => `${root}: ${seat === undefined ? 'no seat' : seat.who}`)
      .join('\n')
    if (parts.length === 0) status.hide()
    else status.show()
  }
  const request = <Answer>(method: string, params: object): Promise<Answer> => {
    if (client === undefined) throw new Error('imago lsp does not run: see the setting imago.command.')
    return client.sendRequest<Answer>(method, params)
  }
  const projectOf = (root: string): Project => {
    const project = projects.get(root) ?? new Project(root, { request, changed, says })
    projects.set(root, project)
    return project
  }
  /** The innermost project that has the file of the active editor; else the first. */
  const here = (): Project => {
    const path = vscode.window.activeTextEditor?.document.uri.fsPath ?? ''
    const inside = [...projects.values()].filter(({ root }) => realOf(path).startsWith(root + sep))
    const [found = [...projects.values()][0]] = inside.sort(
      (one, other) => other.root.length - one.root.length,
    )
    if (found === undefined) throw new Error('No folder of this window is followed: see the output “Imago”.')
    return found
  }

  async function follow(folders: readonly vscode.WorkspaceFolder[]): Promise<void> {
    for (const { uri } of folders)
      if (uri.scheme === 'file')
        await Project.open(uri.fsPath, { request }).catch((fault: unknown) => log.warn(String(fault)))
    if (!vscode.workspace.getConfiguration('imago').get('sit')) return
    for (const project of projects.values()) project.sit().catch((fault: unknown) => says(String(fault)))
  }

  function start(command: string): void {
    const server = { command, args: ['lsp', '--stdio'] }
    const made = new LanguageClient('imago', 'Imago', server, {
      documentSelector: [{ scheme: 'file' }],
      outputChannel: log,
      middleware: {
        // Plans and results are shown by this extension, and not as messages.
        executeCommand: (command, args: unknown[], next) => {
          if (command !== 'imago.openPlan') return next(command, args)
          const id = String(args[0])
          const project = [...projects.values()].find(({ rows }) => rows.approvals.has(id))
          return plans.open(project ?? here(), id).catch(tellFault)
        },
      },
    })
    client = made
    made.onNotification('imago/rows', (event: SubscriptionEvent & { root: string }) =>
      projectOf(event.root).heardRows(event),
    )
    made.onNotification('imago/seat', (event: SeatNews & { root: string }) =>
      projectOf(event.root).heardSeat(event),
    )
    made.onNotification('imago/event', (event: { call: string; plan?: string }) => {
      for (const project of projects.values()) project.heardEvent(event)
    })
    made.onDidChangeState(({ newState }) => {
      // What another process has told is not known any more.
      projects.clear()
      status.hide()
      tree.changed()
      if (newState !== State.Running) return
      // Texts of programs are in such messages, and a message reads some texts as links.
      made.onNotification('window/showMessage', ({ message }: { message: string }) => tell(message))
      void follow(vscode.workspace.workspaceFolders ?? [])
    })
    made.start().catch((fault: unknown) => log.error(String(fault)))
  }

  const command = (name: string, does: (node: TreeNode | undefined) => unknown) =>
    vscode.commands.registerCommand(`imago.${name}`, async (node?: TreeNode) => {
      try {
        await does(node)
      } catch (fault) {
        tellFault(fault)
      }
    })
  const showText = async (project: Project, tool: string, args: Readonly<Record<string, unknown>>) =>
    texts.show(tool, await project.text(tool, args))

  subscriptions.push(
    log,
    status,
    ...plans.register(),
    ...results.register(),
    tree.register(),
    vscode.workspace.registerTextDocumentContentProvider('imago-text', texts),
    vscode.workspace.onDidChangeWorkspaceFolders(({ added }) => void follow(added)),
    command('plan.open', async node => {
      if (node?.name !== undefined) return plans.open(node.project, node.name)
      const items = [...projects.values()].flatMap(project =>
        project.waiting.map(({ id, title, who }) => ({
          project,
          id,
          label: plainLabel(title),
          description: plainLabel(who),
        })),
      )
      if (items.length === 0) return tell('nothing waits for an answer.')
      const placeHolder = 'What waits'
      const chosen = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { placeHolder })
      if (chosen !== undefined) await plans.open(chosen.project, chosen.id)
    }),
    command('sit', async node => tell(`seated as ${(await (node?.project ?? here()).sit()).who}.`)),
    command('admit', async node => {
      if (node?.name === undefined) return
      const placeHolder = `Let it sit, and answer plans? ${node.label}`
      const answer = await vscode.window.showQuickPick(['No', 'Yes'], { placeHolder })
      if (answer === undefined) return
      await node.project.ask('admit', { wanted: node.name, admit: answer === 'Yes' })
    }),
    command('leave', () => here().leave()),
    command('undo', () => plans.undo(here())),
    command('eval', async () => {
      const editor = vscode.window.activeTextEditor
      if (editor !== undefined) await results.evaluate(here(), editor)
    }),
    command('result', () => texts.show('result', results.last?.text ?? 'Nothing was evaluated yet.')),
    command('value', async () => {
      const project = here()
      const document = vscode.window.activeTextEditor?.document
      const selected = document?.getText(vscode.window.activeTextEditor?.selection) ?? ''
      const { last } = results
      const value = selected || last?.handle || ''
      const expr = await vscode.window.showInputBox({ prompt: 'An expression; looking runs no code', value })
      if (!expr) return
      const kernel = last?.handle === expr ? last.kernel : project.kernelFor(document?.languageId ?? '')
      tree.addValue(project, { label: expr, expr, kernel })
    }),
    command('value.forget', node => node?.value && tree.dropValue(node.value)),
    command('program.use', node => {
      if (node?.name === undefined) return
      node.project.kernel = node.name
      changed(node.project)
    }),
    command('program.threads', node => node && showText(node.project, 'threads', { kernel: node.name })),
    command('error.show', async node => {
      const [, kernel, number] = /^(.*) (\d+)$/s.exec(node?.name ?? '') ?? []
      if (node === undefined || kernel === undefined) return
      await showText(node.project, 'get_last_error', { kernel, number: Number(number), whose: 'program' })
    }),
    command('error.place', async node => {
      if (node?.place === undefined) return
      const { file, line } = node.place
      const uri = vscode.Uri.file(resolve(node.project.root, file))
      const at = new vscode.Position(Math.max(0, line - 1), 0)
      await vscode.window.showTextDocument(uri, { selection: new vscode.Range(at, at) })
    }),
    command('suspended.show', node => node && showText(node.project, 'debug_state', suspended(node))),
    command('suspended.take', async node => {
      await node?.project.sit()
      await node?.project.ask('take', suspended(node))
    }),
    command('suspended.restart', async node => {
      if (node === undefined) return
      const items = (await node.project.restarts(suspended(node))).map(one => ({
        ...one,
        label: plainLabel(`${one.number}: ${one.name}`),
        description: plainLabel(one.description),
      }))
      const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'Go on by' })
      if (chosen === undefined) return
      const value = chosen.reads && (await vscode.window.showInputBox({ prompt: 'The value that it takes' }))
      if (chosen.reads && value === undefined) return
      const given = chosen.reads ? { value } : {}
      await showText(node.project, 'debug_restart', { ...suspended(node), restart: chosen.number, ...given })
    }),
  )

  const wanted = vscode.workspace.getConfiguration('imago').get<string>('command') || 'imago'
  const found = executable(wanted)
  if (found === undefined) log.warn(`There is no program ${wanted}: install Imago, or set imago.command.`)
  else start(found)
}

export async function deactivate(): Promise<void> {
  await client?.stop()
}

/** The suspended evaluation of a row, as its tools name it. */
function suspended({ project, name }: TreeNode): { suspension: string; kernel: string } {
  const row = project.suspended.find(({ id }) => id === name)
  if (row === undefined) throw new Error(`${name} is not suspended any more.`)
  return { suspension: row.id, kernel: row.kernel }
}

/** Where a command is; undefined where there is none, so that no failed start pops up. */
function executable(command: string): string | undefined {
  const folders = isAbsolute(command) ? ['/'] : (process.env.PATH ?? '').split(delimiter).filter(isAbsolute)
  return folders
    .map(folder => resolve(folder, command))
    .find(path => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}
