import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { sep } from 'node:path'
import * as vscode from 'vscode'
import type { LanguageClient } from 'vscode-languageclient/node'
import type { SubscriptionEvent } from '../../../../src/front/subscriptions.ts'
import { faultText, Project, type SeatNews } from '../project.ts'
import { type TreeNode, waitsIn } from '../tree.ts'
import { PlanViews, realOf } from './plans.ts'
import { Results } from './results.ts'
import { command, plainLabel, sentence, tell } from './said.ts'
import { LOOKS, Tree } from './tree-view.ts'

let client: LanguageClient | undefined

/** Starts `imago lsp` for the folders of the window, and shows what waits in them. Nothing takes the focus. */
export function activate({ subscriptions }: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Imago', { log: true })
  const settings = vscode.workspace.getConfiguration('imago')
  const projects = new Map<string, Project>()
  const plans = new PlanViews()
  const results = new Results()
  const tree = new Tree(projects)
  const status = vscode.window.createStatusBarItem('imago', vscode.StatusBarAlignment.Left)
  status.name = 'Imago'

  const says = (text: string) => {
    log.info(text)
    vscode.window.setStatusBarMessage(plainLabel(`Imago: ${sentence(text)}`), 15_000)
  }
  const draw = (text = [...projects.values()].flatMap(one => one.status || []).join(', ')) => {
    tree.changed()
    status.text = plainLabel(`Imago: ${text}`)
    const seats = [...projects.values()].map(({ root, seat }) => `${root}: ${seat?.who ?? 'no seat'}`)
    status.command = 'imago.waits'
    status.tooltip = seats.join('\n')
    if (text === '') status.hide()
    else status.show()
  }
  const changed = (project: Project) => {
    plans.changed(project)
    draw()
  }
  const request = <Answer>(method: string, params: object): Promise<Answer> => {
    if (client === undefined) throw new Error('imago lsp does not run.')
    return client.sendRequest<Answer>(method, params)
  }
  const projectOf = ({ root }: { root: string }): Project => {
    const known = projects.get(root)
    const project = known ?? new Project(root, { request, changed, says })
    projects.set(root, project)
    if (known === undefined && settings.get('sit')) void project.sitAlone()
    return project
  }
  /** The innermost project that has the file of the active editor; else the first. */
  const here = (): Project => {
    const path = realOf(vscode.window.activeTextEditor?.document.uri.fsPath ?? '')
    const all = [...projects.values()]
    const inside = all.filter(({ root }) => path.startsWith(root + sep))
    const [found = all[0]] = inside.sort((one, other) => other.root.length - one.root.length)
    if (found === undefined)
      throw new Error('Imago follows no folder of this window: see the output “Imago”.')
    return found
  }
  async function follow(folders: readonly vscode.WorkspaceFolder[]): Promise<void> {
    for (const { uri } of folders)
      if (uri.scheme === 'file')
        await Project.follow(uri.fsPath, { request }).catch((fault: unknown) => log.warn(faultText(fault)))
  }

  async function start(path: string): Promise<void> {
    // The first one is there before the client, which would pop up where there is none.
    let first: ChildProcess | undefined = await spawned(path)
    const { LanguageClient, State } = await import('vscode-languageclient/node')
    const server = async () => {
      const child = first ?? (await spawned(path))
      first = undefined
      return child
    }
    const made = new LanguageClient('imago', 'Imago', server, {
      documentSelector: [{ scheme: 'file' }],
      outputChannel: log,
      middleware: {
        // Plans are shown by this extension, and not as messages.
        executeCommand: (command, args: unknown[], next) => {
          if (command !== 'imago.openPlan') return next(command, args)
          const id = String(args[0])
          const project = [...projects.values()].find(({ rows }) => rows.approvals.has(id)) ?? here()
          return plans.open(project, id).catch((fault: unknown) => tell(faultText(fault)))
        },
      },
    })
    client = made
    made.onNotification('imago/rows', (event: SubscriptionEvent & { root: string }) =>
      projectOf(event).heardRows(event),
    )
    made.onNotification('imago/seat', (event: SeatNews & { root: string }) =>
      projectOf(event).heardSeat(event),
    )
    made.onNotification('imago/event', (event: { call: string; plan?: string }) => {
      for (const project of projects.values()) project.heardEvent(event)
    })
    made.onDidChangeState(({ newState }) => {
      // What another process has told is not known any more.
      projects.clear()
      draw()
      if (newState !== State.Running) return
      // Texts of programs are in such messages, and a message reads some texts as links.
      made.onNotification('window/showMessage', ({ message }: { message: string }) => tell(message))
      void follow(vscode.workspace.workspaceFolders ?? [])
    })
    await made.start()
  }

  /** Starts it by the setting, in the place of the one that runs. */
  async function begin(): Promise<void> {
    const path = vscode.workspace.getConfiguration('imago').get<string>('command') || 'imago'
    await client?.stop().catch(() => {})
    client = undefined
    await start(path).catch((fault: NodeJS.ErrnoException) => {
      log.error(faultText(fault))
      const isMissing = fault.code === 'ENOENT'
      const why = isMissing ? `there is no program \`${path}\` on the PATH of VS Code.` : 'it does not run.'
      draw(`${why} Set imago.command to its path.`)
      const args = ['imago.command']
      status.command = { title: 'Settings', command: 'workbench.action.openSettings', arguments: args }
    })
  }

  subscriptions.push(
    log,
    status,
    tree.view,
    ...plans.register(),
    ...results.register(),
    vscode.workspace.onDidChangeConfiguration(
      change => void (change.affectsConfiguration('imago.command') && begin()),
    ),
    vscode.workspace.onDidChangeWorkspaceFolders(({ added }) => void follow(added)),
    command('waits', async () => {
      const items = [...projects.values()].flatMap(waitsIn).map(node => {
        const description = plainLabel(node.detail ?? '')
        return { node, label: plainLabel(node.label), description }
      })
      if (items.length === 0) return tell(`nothing waits for an answer in ${here().root}.`)
      const placeHolder = 'What waits'
      const chosen = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { placeHolder })
      const click = chosen && LOOKS[chosen.node.kind].click
      if (click) await vscode.commands.executeCommand(click, chosen.node)
    }),
    command('plan.open', (node: TreeNode) => plans.open(node.project, node.name ?? '')),
    command('sit', async (node?: TreeNode) => {
      const project = node?.project ?? here()
      await project.sit()
      tell(`seated as ${project.seat?.who}.`)
    }),
    command('admit', async (node: TreeNode) => {
      const placeHolder = plainLabel(`Let it sit, and answer plans? ${node.label} ${node.detail}`)
      const answer = await vscode.window.showQuickPick(['No', 'Yes'], { placeHolder })
      const wanted = node.name ?? ''
      if (answer !== undefined) await node.project.ask('admit', { wanted, admit: answer === 'Yes' })
    }),
    command('undo', () => plans.undo(here())),
    command('eval', async () => {
      const editor = vscode.window.activeTextEditor
      if (editor !== undefined) await results.evaluate(here(), editor)
    }),
    command('value', async () => {
      const { document, selection } = vscode.window.activeTextEditor ?? {}
      const value = (selection?.isEmpty === false && document?.getText(selection)) || results.value?.expr
      const prompt = 'An expression; looking runs no code'
      const expr = await vscode.window.showInputBox({ prompt, ...(value && { value }) })
      const kernel = here().kernelFor(document?.languageId ?? '')
      if (expr === results.value?.expr) tree.addValue(here(), results.value ?? { label: '' })
      else if (expr) tree.addValue(here(), { label: expr, expr, kernel })
    }),
    command('value.forget', (node: TreeNode) => node.value && tree.dropValue(node.value)),
    command('program.use', ({ project, name }: TreeNode) => {
      project.kernel = name
      draw()
    }),
  )
  void begin()
}

export async function deactivate(): Promise<void> {
  await client?.stop()
}

/** `imago lsp`, once it runs. Rejects where there is no such program. */
async function spawned(path: string): Promise<ChildProcess> {
  const child = spawn(path, ['lsp', '--stdio'])
  await once(child, 'spawn')
  return child
}
