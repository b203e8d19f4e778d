import { accessSync, constants, realpathSync } from 'node:fs'
import { delimiter, isAbsolute, join, sep } from 'node:path'
import * as vscode from 'vscode'
import { LanguageClient, State } from 'vscode-languageclient/node'
import type { SubscriptionEvent } from '../../../../src/front/subscriptions.ts'
import { Project, type RowOf, type SeatNews } from '../project.ts'
import type { TreeNode } from '../tree.ts'
import { PlanViews } from './plans.ts'
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
          if (command === 'imago.openPlan') return plans.open(here(), String(args[0])).catch(tellFault)
          return next(command, args)
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
      const waiting = [...projects.values()].flatMap(project =>
        project.waiting.map(row => ({ project, row })),
      )
      const items = waiting.map(one => ({
        ...one,
        label: plainLabel(one.row.title),
        description: plainLabel(one.row.who),
      }))
      const chosen = await pick(items, 'What waits', 'nothing waits for an answer.')
      if (chosen !== undefined) await plans.open(chosen.project, chosen.row.id)
    }),
    command('sit', async node => tell(`seated as ${(await (node?.project ?? here()).sit()).who}.`)),
    command('admit', async node => {
      const project = node?.project ?? here()
      const items = project.wanted
        .filter(({ id }) => node?.name === undefined || node.name === id)
        .map(({ id, who, through }) => ({ id, label: plainLabel(who), description: through?.code ?? '' }))
      const wanted = await pick(items, 'Who wants a seat', 'nobody wants a seat.')
      if (wanted === undefined) return
      const placeHolder = `Let it sit, and answer plans? ${wanted.label}`
      const answer = await vscode.window.showQuickPick(['No', 'Yes'], { placeHolder })
      if (answer !== undefined) await project.ask('admit', { wanted: wanted.id, admit: answer === 'Yes' })
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
      const editor = vscode.window.activeTextEditor
      const selected = editor?.document.getText(editor.selection) ?? ''
      const suggested = selected || results.last?.handle || ''
      const expr = await vscode.window.showInputBox({
        prompt: 'An expression; looking runs no code',
        value: suggested,
      })
      if (!expr) return
      const kernel =
        results.last?.handle === expr
          ? results.last.kernel
          : project.kernelFor(editor?.document.languageId ?? '')
      tree.addValue(project, { label: expr, expr, kernel })
    }),
    command('value.forget', node => node?.value && tree.dropValue(node.value)),
    command('program.use', async node => {
      const project = node?.project ?? here()
      const items = project.programs.map(({ name, state }) => ({
        name,
        label: plainLabel(name),
        description: state,
      }))
      const name =
        node?.name ?? (await pick(items, 'Calls go to', 'no program of this project listens.'))?.name
      if (name === undefined) return
      project.kernel = name
      changed(project)
    }),
    command('program.threads', node => {
      const project = node?.project ?? here()
      const kernel =
        node?.name ?? project.kernelFor(vscode.window.activeTextEditor?.document.languageId ?? '')
      return showText(project, 'threads', kernel === undefined ? {} : { kernel })
    }),
    command('error.show', async node => {
      const [, kernel, number] = /^(.*) (\d+)$/s.exec(node?.name ?? '') ?? []
      if (node === undefined || kernel === undefined) return
      await showText(node.project, 'get_last_error', { kernel, number: Number(number), whose: 'program' })
    }),
    command('error.place', async node => {
      if (node?.place === undefined) return
      const { file, line } = node.place
      const uri = vscode.Uri.file(isAbsolute(file) ? file : join(node.project.root, file))
      const at = new vscode.Position(Math.max(0, line - 1), 0)
      await vscode.window.showTextDocument(uri, { selection: new vscode.Range(at, at) })
    }),
    command('suspended.show', async node => {
      const found = await suspendedMeant(node, here)
      if (found !== undefined) await showText(found.project, 'debug_state', named(found.row))
    }),
    command('suspended.take', async node => {
      const found = await suspendedMeant(node, here)
      if (found === undefined) return
      const { project, row } = found
      await project.sit()
      await project.ask('take', { kernel: row.kernel, suspension: row.id })
    }),
    command('suspended.restart', async node => {
      const found = await suspendedMeant(node, here)
      if (found === undefined) return
      const { project, row } = found
      const items = (await project.restarts(row)).map(one => ({
        ...one,
        label: plainLabel(`${one.number}: ${one.name}`),
        description: plainLabel(one.description),
      }))
      const chosen = await pick(items, 'Go on by', 'there is no way to go on.', true)
      if (chosen === undefined) return
      const value = chosen.reads
        ? await vscode.window.showInputBox({ prompt: 'The value that it takes' })
        : ''
      if (value === undefined) return
      const given = chosen.reads ? { value } : {}
      await showText(project, 'debug_restart', { ...named(row), restart: chosen.number, ...given })
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

interface Suspended {
  readonly project: Project
  readonly row: RowOf<'suspensions'>
}

const named = ({ id, kernel }: RowOf<'suspensions'>) => ({ suspension: id, kernel })

async function suspendedMeant(
  node: TreeNode | undefined,
  here: () => Project,
): Promise<Suspended | undefined> {
  const project = node?.project ?? here()
  const rows = project.suspended.filter(({ id }) => node?.name === undefined || node.name === id)
  const items = rows.map(row => ({
    project,
    row,
    label: plainLabel(row.message ?? row.type),
    description: row.kernel,
  }))
  return pick(items, 'Suspended', 'nothing is suspended.')
}

/** Lets a person choose, where there is more than one. */
async function pick<Item extends vscode.QuickPickItem>(
  items: readonly Item[],
  placeHolder: string,
  none: string,
  always = false,
): Promise<Item | undefined> {
  if (items.length === 0) tell(none)
  if (items.length < 2 && !always) return items[0]
  return vscode.window.showQuickPick(items, { placeHolder })
}

const realOf = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Where a command is; undefined where there is none, so that no failed start pops up. */
function executable(command: string): string | undefined {
  const folders = isAbsolute(command) ? [''] : (process.env.PATH ?? '').split(delimiter)
  return folders
    .map(folder => (folder === '' ? command : join(folder, command)))
    .find(path => {
      try {
        accessSync(path, constants.X_OK)
        return isAbsolute(path)
      } catch {
        return false
      }
    })
}
