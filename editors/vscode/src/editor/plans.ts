import { realpathSync } from 'node:fs'
import * as vscode from 'vscode'
import { decisionText, type HunkPlace, OpenPlan, type ShownFile } from '../plan.ts'
import type { Project } from '../project.ts'
import { plainLabel, tell, tellFault, type VirtualTexts } from './said.ts'

const SCHEME = 'imago-plan'
/** The text that a person writes in the place of a hunk. */
const EDIT_SCHEME = 'imago-edit'

/** A plan in the editor: its documents, by address, and the hunks that each shows. */
interface Shown {
  readonly open: OpenPlan
  readonly summary: vscode.Uri
  readonly files: readonly {
    readonly file: ShownFile
    readonly before: vscode.Uri
    readonly after: vscode.Uri
  }[]
}

/** Plans in diff editors, with lenses and keys for their hunks. */
export class PlanViews implements vscode.CodeLensProvider {
  readonly #texts: VirtualTexts
  readonly #shown = new Map<string, Shown>()
  readonly #lenses = new vscode.EventEmitter<void>()
  readonly onDidChangeCodeLenses = this.#lenses.event
  readonly #edits = new EditedTexts()
  /** Files with unsaved text. */
  readonly #dirty = new Set<string>()

  constructor(texts: VirtualTexts) {
    this.#texts = texts
  }

  register(): vscode.Disposable[] {
    const command = (name: string, does: (shown: Shown, hunk: number) => unknown) =>
      vscode.commands.registerCommand(`imago.plan.${name}`, async (id?: string, number?: number) => {
        const shown = this.#shown.get(id ?? '') ?? this.#active()
        if (shown === undefined) return
        try {
          await does(shown, number ?? this.#hunkAtCursor(shown))
        } catch (fault) {
          tellFault(fault)
        }
        this.#draw(shown)
      })
    return [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this.#texts),
      vscode.workspace.registerFileSystemProvider(EDIT_SCHEME, this.#edits),
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      vscode.window.onDidChangeActiveTextEditor(() => this.#say()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#dirtied(document)),
      vscode.workspace.onDidSaveTextDocument(document =>
        document.uri.scheme === EDIT_SCHEME
          ? this.#written(document.uri).catch(tellFault)
          : this.#dirtied(document),
      ),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#closed(uri)),
      command('take', (shown, hunk) => this.#take(shown, hunk)),
      command('refuse', (shown, hunk) => this.#refuse(shown, hunk)),
      command('edit', (shown, hunk) => this.#edit(shown, hunk)),
      command('takeRest', shown => {
        shown.open.decideRest('accept')
        return this.#confirm(shown)
      }),
      command('refuseRest', async shown => {
        const reason = await askReason()
        if (reason === undefined) return
        shown.open.decideRest('refuse', reason)
        await this.#confirm(shown)
      }),
      command('next', (shown, hunk) => this.#go(shown, shown.open.nextUndecided(hunk, 1))),
      command('previous', (shown, hunk) => this.#go(shown, shown.open.nextUndecided(hunk, -1))),
      command('save', ({ open }) => Promise.all(unsaved(open).map(document => document.save()))),
      command('undo', ({ open }) => this.undo(open.project, open.undo)),
    ]
  }

  /** Opens a plan that waits. The first one takes a seat. */
  async open(project: Project, id: string): Promise<void> {
    const known = this.#shown.get(id)
    const again =
      known?.open.stage !== 'over' &&
      known?.open.row.hash === project.waiting.find(row => row.id === id)?.hash
    const shown = again && known !== undefined ? known : this.#made(await OpenPlan.open(project, id))
    this.#shown.set(id, shown)
    this.#draw(shown)
    const { open, summary, files } = shown
    if (files.length === 0) return showText(summary)
    await vscode.commands.executeCommand('vscode.changes', plainLabel(`Imago: ${open.row.title}`), [
      [summary, undefined, summary],
      ...files.map(({ before, after }) => [after, before, after]),
    ])
  }

  #made(open: OpenPlan): Shown {
    const { id } = open.row
    const uri = (path: string) => vscode.Uri.from({ scheme: SCHEME, path: `/${id}/${path}` })
    const files = open.files.map(file => ({
      file,
      before: this.#texts.set(uri(`before/${file.shown}`), () => file.before),
      after: this.#texts.set(uri(`after/${file.shown}`), () => file.after),
    }))
    const text = () => open.summary(unsaved(open).map(({ uri }) => vscode.workspace.asRelativePath(uri))).text
    return { open, files, summary: this.#texts.set(uri('What is asked'), text) }
  }

  /** Rows of the project have changed: a plan that is shown may wait no more. */
  changed(project: Project): void {
    for (const shown of this.#shown.values())
      if (shown.open.project === project && shown.open.update()) this.#draw(shown)
  }

  /** Takes back a change, the last one where none is named. That is a plan too, which is shown. */
  async undo(project: Project, change = project.lastUndo): Promise<void> {
    if (change === undefined)
      return tell('no change is known that can be taken back; imago log has older ones.')
    const opened = (plan: string) => void this.open(project, plan).catch(tellFault)
    const envelope = await project.follow('undo_change', { change }, opened)
    tell(await project.show('undo_change', envelope))
  }

  #draw({ summary }: Shown): void {
    this.#texts.changed(summary)
    this.#lenses.fire()
    this.#say()
  }

  /** Says to key bindings which stage the plan of the active editor is in. */
  #say(): void {
    void vscode.commands.executeCommand('setContext', 'imago.plan', this.#active()?.open.stage ?? '')
  }

  #of(uri: vscode.Uri | undefined): Shown | undefined {
    return uri?.scheme === SCHEME ? this.#shown.get(uri.path.split('/')[1] ?? '') : undefined
  }

  #active(): Shown | undefined {
    return this.#of(vscode.window.activeTextEditor?.document.uri)
  }

  #placesIn(shown: Shown, uri: vscode.Uri): readonly HunkPlace[] {
    if (same(uri, shown.summary)) return shown.open.summary([]).hunks
    const found = shown.files.find(({ before, after }) => same(after, uri) || same(before, uri))
    return found?.file.hunks ?? []
  }

  /** The last hunk that begins at the cursor or before it; the first undecided one, where there is no cursor in one. */
  #hunkAtCursor(shown: Shown): number {
    const editor = vscode.window.activeTextEditor
    const at = editor?.selection.active.line ?? 0
    const places = editor === undefined ? [] : this.#placesIn(shown, editor.document.uri)
    const before = places.filter(({ line }) => line <= at).at(-1)
    return before?.number ?? shown.open.nextUndecided(0, 1) ?? 1
  }

  provideCodeLenses({ uri, lineCount }: vscode.TextDocument): vscode.CodeLens[] {
    const shown = this.#of(uri)
    if (shown === undefined || shown.files.some(({ before }) => same(before, uri))) return []
    const { open } = shown
    const lens = (line: number, title: string, name: string, hunk?: number) => {
      const range = new vscode.Range(line, 0, line, 0)
      return new vscode.CodeLens(range, {
        title,
        command: `imago.plan.${name}`,
        arguments: [open.row.id, hunk],
      })
    }
    const isSummary = same(uri, shown.summary)
    if (open.stage === 'sent') return []
    if (open.stage === 'over') return isSummary && open.undo !== undefined ? [lens(0, 'Undo', 'undo')] : []
    const save = isSummary && unsaved(open).length > 0 ? [lens(0, 'Save the unsaved text', 'save')] : []
    const end = Math.max(0, lineCount - 1)
    if (open.stage === 'whole')
      return isSummary ? [...save, lens(end, 'Approve', 'take'), lens(end, 'Refuse…', 'refuse')] : []
    const confirm =
      isSummary && open.stage === 'confirm'
        ? [lens(0, 'Send this', 'take'), lens(0, 'Go back', 'refuse')]
        : []
    const hunks = this.#placesIn(shown, uri).flatMap(({ number, line }) => {
      const choice = open.choices.get(number)
      const state = plainLabel(`${decisionText(choice)} (hunk ${number} of ${open.plan.hunks.length})`)
      if (open.stage === 'confirm') return [lens(line, state, 'next', number)]
      return [
        lens(line, state, 'next', number),
        lens(line, 'Take', 'take', number),
        lens(line, 'Refuse…', 'refuse', number),
        lens(line, 'Edit', 'edit', number),
      ]
    })
    return [...save, ...confirm, ...hunks]
  }

  /** Takes a hunk, approves a plan without hunks, or sends what was decided. */
  async #take(shown: Shown, hunk: number): Promise<void> {
    const { open } = shown
    if (open.stage === 'choose') return this.#go(shown, open.decide({ hunk, decision: 'accept' }))
    if (open.stage === 'whole' && !isEndSeen(shown.summary))
      return tell('this is its end; take it again to approve it.')
    await open.send({ decision: open.stage === 'whole' ? 'approve' : 'choose' })
  }

  async #refuse(shown: Shown, hunk: number): Promise<void> {
    const { open } = shown
    if (open.stage === 'sent' || open.stage === 'over') return
    if (open.stage === 'confirm') {
      open.decide({ hunk, decision: 'undecided' })
      return this.#go(shown, hunk)
    }
    const reason = await askReason()
    if (reason === undefined) return
    if (open.stage === 'whole') return open.send({ decision: 'deny', ...(reason !== null && { reason }) })
    await this.#go(shown, open.decide({ hunk, decision: 'refuse', reason }))
  }

  async #edit({ open }: Shown, number: number): Promise<void> {
    const hunk = open.plan.hunks.find(one => one.number === number)
    if (open.stage !== 'choose' || hunk === undefined) return
    const uri = vscode.Uri.from({ scheme: EDIT_SCHEME, path: `/${open.row.id}/${number}/${hunk.shown}` })
    this.#edits.put(uri, hunk.after.replaceAll('\r\n', '\n'))
    await showText(uri)
    tell('saving this text takes it in the place of the hunk.')
  }

  /** A person has saved the text of a hunk, which is closed. */
  async #written(uri: vscode.Uri): Promise<void> {
    const [, id = '', number] = uri.path.split('/')
    const shown = this.#shown.get(id)
    const tabs = vscode.window.tabGroups.all.flatMap(group => group.tabs)
    await vscode.window.tabGroups.close(
      tabs.filter(({ input }) => input instanceof vscode.TabInputText && same(input.uri, uri)),
    )
    shown?.open.update()
    if (shown === undefined || shown.open.stage === 'over')
      return tell('that plan waits no more: nothing was answered.')
    const next = shown.open.decide(shown.open.edited(Number(number), this.#edits.text(uri)))
    this.#draw(shown)
    await this.#go(shown, next)
  }

  /** Goes to a hunk where it is shown; with none left, to what will be applied. */
  async #go(shown: Shown, hunk: number | undefined): Promise<void> {
    if (hunk === undefined) return this.#confirm(shown)
    const active = vscode.window.activeTextEditor
    const editors = [...(active === undefined ? [] : [active]), ...vscode.window.visibleTextEditors]
    for (const editor of editors) {
      if (this.#of(editor.document.uri) !== shown) continue
      const place = this.#placesIn(shown, editor.document.uri).find(({ number }) => number === hunk)
      if (place === undefined) continue
      const at = new vscode.Position(Math.min(place.line, editor.document.lineCount - 1), 0)
      editor.selection = new vscode.Selection(at, at)
      editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport)
      return
    }
    if (shown.open.stage === 'choose') await this.open(shown.open.project, shown.open.row.id)
  }

  async #confirm(shown: Shown): Promise<void> {
    this.#draw(shown)
    if (shown.open.stage === 'confirm') await showText(shown.summary)
  }

  /** A file has begun to have unsaved text, or has none any more. */
  #dirtied({ uri, isDirty }: vscode.TextDocument): void {
    if (this.#dirty.has(uri.fsPath) === isDirty) return
    if (isDirty) this.#dirty.add(uri.fsPath)
    else this.#dirty.delete(uri.fsPath)
    const real = realOf(uri.fsPath)
    for (const shown of this.#shown.values())
      if (shown.open.plan.files.some(({ path }) => path === real)) this.#draw(shown)
  }

  #closed(uri: vscode.Uri): void {
    const shown = this.#of(uri)
    if (shown?.open.stage !== 'over' || !same(uri, shown.summary)) return
    this.#shown.delete(shown.open.row.id)
    this.#texts.forget(shown.summary)
    for (const { before, after } of shown.files) for (const one of [before, after]) this.#texts.forget(one)
  }
}

/** The path without links, as a plan names a file. */
export const realOf = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const same = (one: vscode.Uri, other: vscode.Uri) => one.toString() === other.toString()

async function showText(uri: vscode.Uri): Promise<void> {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false })
}

/** Null: none was given. Undefined: the person thought better of it. */
async function askReason(): Promise<string | null | undefined> {
  const given = await vscode.window.showInputBox({
    prompt: 'Reason for the refusal (empty: none)',
    ignoreFocusOut: true,
  })
  return given === undefined ? undefined : given.trim().slice(0, 2_000) || null
}

/** Documents with unsaved text of files that the plan changes. */
function unsaved({ plan }: OpenPlan): readonly vscode.TextDocument[] {
  const paths = new Set(plan.files.map(({ path }) => path))
  return vscode.workspace.textDocuments.filter(one => one.isDirty && paths.has(realOf(one.uri.fsPath)))
}

/** Whether the last line of a text is on the screen; it is brought there where it is not. */
function isEndSeen(uri: vscode.Uri): boolean {
  const editor = vscode.window.visibleTextEditors.find(one => same(one.document.uri, uri))
  if (editor === undefined) return false
  const last = editor.document.lineCount - 1
  if (editor.visibleRanges.some(range => range.end.line >= last - 1)) return true
  editor.revealRange(new vscode.Range(last, 0, last, 0))
  return false
}

/** Texts in memory that a person edits; saving one tells. */
class EditedTexts implements vscode.FileSystemProvider {
  readonly #texts = new Map<string, { bytes: Uint8Array; at: number }>()
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>()
  readonly onDidChangeFile = this.#changed.event
  #clock = 0

  put(uri: vscode.Uri, text: string): void {
    this.#set(uri, new TextEncoder().encode(text))
    this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }])
  }

  text(uri: vscode.Uri): string {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.readFile(uri))
  }

  #set(uri: vscode.Uri, bytes: Uint8Array): void {
    this.#texts.set(uri.toString(), { bytes, at: ++this.#clock })
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { bytes, at } = this.#found(uri)
    return { type: vscode.FileType.File, ctime: 0, mtime: at, size: bytes.length }
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.#found(uri).bytes
  }

  #found(uri: vscode.Uri) {
    const found = this.#texts.get(uri.toString())
    if (found === undefined) throw vscode.FileSystemError.FileNotFound(uri)
    return found
  }

  writeFile(uri: vscode.Uri, bytes: Uint8Array): void {
    this.#found(uri)
    this.#set(uri, bytes)
  }

  watch = (): vscode.Disposable => new vscode.Disposable(() => {})
  readDirectory = (): [string, vscode.FileType][] => []
  createDirectory = (): never => denied()
  delete = (): never => denied()
  rename = (): never => denied()
}

function denied(): never {
  throw vscode.FileSystemError.NoPermissions()
}
