import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { sep } from 'node:path'
import * as vscode from 'vscode'
import type { LanguageClient } from 'vscode-languageclient/node'
import type { SubscriptionEvent } from '../../../../src/front/subscriptions.ts'
import { faultText, Project, type SeatNews, TOPICS } from '../project.ts'
import { type TreeNode, waitsIn } from '../tree.ts'
import { line } from '../values.ts'
import { plainLabel, sentence, tell } from './messages.ts'
import { PlanViews, realOf } from './plans.ts'
import { Results } from './results.ts'
import { Tree } from './tree-view.ts'

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
    const project = projects.get(root) ?? new Project(root, { request, changed, says })
    projects.set(root, project)
    return project
  }
  /** The innermost project that has the file of the active editor; else any. */
  const here = (): Project => {
    const path = realOf(vscode.window.activeTextEditor?.document.uri.fsPath ?? '')
    const all = [...projects.values()].sort((one, other) => other.root.length - one.root.length)
    const found = all.find(({ root }) => path.startsWith(root + sep)) ?? all[0]
    if (found === undefined)
      throw new Error('Imago follows no folder of this window: see the output “Imago”.')
    return found
  }
  const open = async (project: Project, id: unknown) => {
    await plans.open(project, String(id)).catch((fault: unknown) => tell(faultText(fault)))
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
      initializationOptions: { follow: TOPICS, sit: settings.get('sit') },
      outputChannel: log,
      middleware: {
        // Plans are shown by this extension, and not as messages.
        executeCommand: (command, args: unknown[], next) => {
          if (command !== 'imago.openPlan') return next(command, args)
          const [id] = args
          const project = [...projects.values()].find(({ rows }) => rows.approvals.has(String(id)))
          return open(project ?? here(), id)
        },
      },
    })
    client = made
    type Told<Event> = Event & { root: string }
    made.onNotification('imago/rows', (event: Told<SubscriptionEvent>) => projectOf(event).heardRows(event))
    made.onNotification('imago/seat', (event: Told<SeatNews>) => projectOf(event).heardSeat(event))
    // Of an undo, which alone is followed.
    made.onNotification('imago/event', (event: Told<{ plan?: string }>) => {
      if (event.plan !== undefined) void open(projectOf(event), event.plan)
    })
    made.onDidChangeState(({ newState }) => {
      if (newState !== State.Running) {
        // What that process has told is not known any more.
        projects.clear()
        return draw()
      }
      // Texts of programs are in such messages, and a message reads some texts as links.
      made.onNotification('window/showMessage', ({ message }: { message: string }) => tell(message))
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

  const commands: Record<string, (...args: never[]) => unknown> = {
    ...plans.commands,
    'plan.open': ({ project, name }: TreeNode) => plans.open(project, name ?? ''),
    undo: () => plans.undo(here()),
    async waits() {
      const items = [...projects.values()].flatMap(waitsIn).map(node => {
        const description = plainLabel(node.detail ?? '')
        return { node, label: plainLabel(node.label), description }
      })
      if (items.length === 0) return tell(`nothing waits for an answer in ${here().root}.`)
      const placeHolder = 'What waits'
      const chosen = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { placeHolder })
      if (chosen?.node.click) await vscode.commands.executeCommand(chosen.node.click, chosen.node)
    },
    async sit(node?: TreeNode) {
      const project = node?.project ?? here()
      await project.sit()
      tell(`seated as ${project.seat?.who}.`)
    },
    async admit({ project, label, detail, name = '' }: TreeNode) {
      const placeHolder = plainLabel(`Let it sit, and answer plans? ${label} ${detail}`)
      const answer = await vscode.window.showQuickPick(['No', 'Yes'], { placeHolder })
      if (answer !== undefined) await project.ask('admit', { wanted: name, admit: answer === 'Yes' })
    },
    async eval() {
      const editor = vscode.window.activeTextEditor
      if (editor !== undefined) await results.evaluate(here(), editor)
    },
    async value() {
      const { document, selection } = vscode.window.activeTextEditor ?? {}
      const last = results.value
      const value = (selection?.isEmpty === false && document?.getText(selection)) || last?.expr
      const prompt = 'An expression; looking runs no code'
      const expr = await vscode.window.showInputBox({ prompt, ...(value && { value }) })
      const project = here()
      if (expr && expr === last?.expr) tree.addValue(project, last)
      else if (expr) tree.addValue(project, { label: line(expr), expr, kernel: project.kernel })
    },
    'program.use'({ project, name }: TreeNode) {
      project.kernel = name
      draw()
    },
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
    ...Object.entries(commands).map(([name, does]) =>
      vscode.commands.registerCommand(`imago.${name}`, async (...args: never[]) => {
        try {
          await does(...args)
        } catch (fault) {
          tell(faultText(fault))
        }
      }),
    ),
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
