import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import * as vscode from 'vscode'
import type { LanguageClient } from 'vscode-languageclient/node'
import { isWithin, realOf } from '../../../../src/files/roots.ts'
import type { SubscriptionEvent } from '../../../../src/front/subscriptions.ts'
import type { SeatNews } from '../../../../src/front/told.ts'
import { escapeLine } from '../../../../src/text/escape.ts'
import { faultText, Project, TOPICS } from '../project.ts'
import { programsIn, type TreeNode, valueNode, waitsIn } from '../tree.ts'
import type { ValueNode } from '../values.ts'
import { plainLabel, tell } from './messages.ts'
import { PlanViews } from './plans.ts'
import { Results } from './results.ts'
import { treeOf } from './tree-view.ts'

let client: LanguageClient | undefined

/** Starts `imago lsp` for the folders of the window, and shows what waits in them. Nothing takes the focus. */
export function activate({ subscriptions }: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Imago', { log: true })
  const projects = new Map<string, Project>()
  const plans = new PlanViews()
  const results = new Results()
  /** The newest first. */
  let values: readonly TreeNode[] = []
  const rows = new vscode.EventEmitter<void>()
  const rowsOf = (of: (project: Project) => readonly TreeNode[]) => () => [...projects.values()].flatMap(of)
  const treeDataProvider = treeOf(() => values, rows.event)
  const valuesView = vscode.window.createTreeView('imago.values', { treeDataProvider })
  const status = vscode.window.createStatusBarItem('imago', vscode.StatusBarAlignment.Left)

  const says = (text: string) => {
    log.info(text)
    vscode.window.setStatusBarMessage(plainLabel(`Imago: ${text}`), 15_000)
  }
  const draw = (text = [...projects.values()].flatMap(one => one.status || []).join(', ')) => {
    rows.fire()
    status.text = plainLabel(['Imago', ...(text === '' ? [] : [text])].join(': '))
    status.tooltip = [...projects.values()]
      .map(({ seat }) => (seat?.type === 'seated' ? seat.shown : 'no seat here'))
      .join('\n')
    status.command = 'imago.waits'
    status.show()
  }
  const changed = (project: Project) => {
    plans.changed(project)
    draw()
  }
  const request = <Answer>(method: string, params: object): Promise<Answer> =>
    client?.sendRequest<Answer>(method, params) ?? Promise.reject(new Error('imago lsp does not run.'))
  const projectOf = ({ root }: { root: string }): Project => {
    const project = projects.get(root) ?? new Project(root, { request, changed, says })
    projects.set(root, project)
    return project
  }
  /** The innermost project that has the file of the active editor; else any. */
  const here = (): Project => {
    const path = realOf(vscode.window.activeTextEditor?.document.uri.fsPath ?? '')
    const all = [...projects.values()].sort((one, other) => other.root.length - one.root.length)
    const found = all.find(({ root }) => isWithin(path, root)) ?? all[0]
    if (found) return found
    throw new Error('Imago follows no folder of this window: see the output “Imago”.')
  }

  async function start(): Promise<void> {
    const path = found(vscode.workspace.getConfiguration('imago').get<string>('command') || 'imago')
    const { LanguageClient, State } = await import('vscode-languageclient/node')
    const server = { command: path, args: ['lsp', '--stdio'] }
    const made = new LanguageClient('imago', 'Imago', server, {
      documentSelector: [{ scheme: 'file' }],
      initializationOptions: { follow: TOPICS, sit: vscode.workspace.getConfiguration('imago').get('sit') },
      outputChannel: log,
    })
    client = made
    type Told<Event> = Event & { root: string }
    made.onNotification('imago/rows', (event: Told<SubscriptionEvent>) => projectOf(event).heardRows(event))
    made.onNotification('imago/waits', (event: Told<{ text: string }>) => projectOf(event).heardWaits(event))
    made.onNotification('imago/seat', (event: Told<SeatNews>) => projectOf(event).heardSeat(event))
    // Of an undo, which alone is followed, or by an action on its file.
    made.onNotification('imago/event', (event: Told<{ plan?: string }>) => {
      if (event.plan) plans.open(projectOf(event), event.plan).catch(fault => tell(faultText(fault)))
    })
    made.onDidChangeState(({ newState }) => {
      if (newState !== State.Running) for (const project of projects.values()) project.forget()
      // Texts of programs are in such messages, and a message reads some texts as links.
      made.onNotification('window/showMessage', ({ message }: { message: string }) => tell(message))
    })
    await made.start()
  }

  /** Starts it by the setting, in the place of the one that runs. */
  async function begin(): Promise<void> {
    await client?.stop().catch(() => {})
    client = undefined
    await start().catch((fault: unknown) => {
      log.error(faultText(fault))
      draw('it is not found, or does not start: click to say where it is')
      status.command = 'imago.locate'
    })
  }

  /** Puts a value first, in the place of an older one of the same code. */
  const keep = (project: Project, value: ValueNode): TreeNode => {
    const node = valueNode(project, value)
    values = [node, ...values.filter(one => one.project !== project || one.label !== node.label)].slice(0, 10)
    rows.fire()
    return node
  }

  const commands: Record<string, (...args: never[]) => unknown> = {
    ...plans.commands,
    'plan.open': ({ project, name }: TreeNode) => plans.open(project, name ?? ''),
    undo: () => plans.undo(here()),
    async locate() {
      const settings = vscode.workspace.getConfiguration('imago')
      const prompt = 'Where imago is, as “command -v imago” says in a terminal'
      const path = await vscode.window.showInputBox({ prompt, value: settings.get('command') ?? '' })
      if (path) await settings.update('command', path, vscode.ConfigurationTarget.Global)
    },
    async waits() {
      const [first, ...others] = rowsOf(waitsIn)()
      const { executeCommand } = vscode.commands
      if (first === undefined) await executeCommand('workbench.action.quickOpen', '>Imago: ')
      else if (others.length === 0 && first.click) await executeCommand(first.click, first)
      else await executeCommand('imago.waiting.focus')
    },
    async sit(node?: TreeNode) {
      const project = node?.project ?? here()
      await project.sit()
      tell(project.seat?.shown ?? '')
    },
    async admit({ project, label, name = '' }: TreeNode) {
      const placeHolder = plainLabel(`Let it sit, and answer plans? ${label}`)
      const answer = await vscode.window.showQuickPick(['No', 'Yes'], { placeHolder })
      if (answer !== undefined) await project.ask('admit', { wanted: name, admit: answer === 'Yes' })
    },
    async eval() {
      const editor = vscode.window.activeTextEditor
      const value = editor && (await results.evaluate(here(), editor))
      if (value) keep(here(), value)
    },
    stop: async () => tell((await here().call('interrupt_job', {})).shown),
    async value() {
      const { document, selection } = vscode.window.activeTextEditor ?? {}
      const prompt = 'An expression; looking runs no code'
      const expr = await vscode.window.showInputBox({ prompt, value: document?.getText(selection) ?? '' })
      if (!expr) return
      const { kernel } = here()
      await valuesView.reveal(keep(here(), { label: escapeLine(expr), expr, kernel }), { expand: true })
    },
    'program.use'({ project, name }: TreeNode) {
      project.kernel = name
      draw()
    },
  }
  subscriptions.push(
    log,
    status,
    valuesView,
    vscode.window.registerTreeDataProvider('imago.waiting', treeOf(rowsOf(waitsIn), rows.event)),
    vscode.window.registerTreeDataProvider('imago.programs', treeOf(rowsOf(programsIn), rows.event)),
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

/** The file of a program; also where npm puts it without root, which the PATH of VS Code may lack. */
function found(command: string): string {
  const path = command.replace(/^~(?=\/)/, homedir())
  const folders = [...(process.env.PATH ?? '').split(delimiter), join(homedir(), '.local/bin')]
  const place = folders.map(folder => resolve(folder, path)).find(one => existsSync(one))
  if (place === undefined) throw new Error(`There is no ${path} in ${folders.join(', ')}.`)
  return place
}

export const deactivate = (): Promise<void> | undefined => client?.stop()
