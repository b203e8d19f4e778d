import { basename, dirname, join } from 'node:path'
import * as vscode from 'vscode'
import { realOf } from '../../../../src/files/roots.ts'
import type { Decision } from '../../../../src/front/hunks/patch.ts'
import { OpenPlan, type Stage } from '../plan.ts'
import type { Project } from '../project.ts'
import type { ShownFile, ShownText } from '../shown-file.ts'
import { plainLabel, plainSentence, tell } from './messages.ts'

const SCHEME = 'imago-plan'
/** Of texts that a person writes in the place of hunks. */
const EDIT = 'imago-edit'

/** Before that no key counts: one that is held or doubled does not answer what it has brought up. */
const HELD_MS = 500

/** What can be done about a hunk, and about all of a plan: what a lens says, and its command. */
const HUNK_ACTS = { Take: 'take', 'Refuse…': 'refuse', Edit: 'edit' }
const PLAN_ACTS: Readonly<Record<Stage, Readonly<Record<string, string>>>> = {
  whole: { Approve: 'take', 'Refuse…': 'refuse' },
  choose: { 'Take the rest': 'takeRest', 'Refuse the rest…': 'refuseRest' },
  confirm: { 'Send this': 'take', 'Go back': 'refuse' },
  sent: {},
  over: { Undo: 'undo' },
}

/** Plans in diff editors, with lenses and keys for their hunks. */
export class PlanViews implements vscode.CodeLensProvider, vscode.TextDocumentContentProvider {
  readonly #plans = new Map<string, OpenPlan>()
  /** Texts that a person writes in the place of hunks, by their addresses. */
  readonly #edits = new Map<string, Edit>()
  #editsMade = 0
  /** The document that a person saves by themselves now. */
  #saves: vscode.TextDocument | undefined
  /** When an end or what will be applied was brought up, or a key pressed too soon after that. */
  #broughtUp = 0
  readonly #lenses = new vscode.EventEmitter<void>()
  readonly onDidChangeCodeLenses = this.#lenses.event
  readonly #texts = new vscode.EventEmitter<vscode.Uri>()
  readonly onDidChange = this.#texts.event

  register(): vscode.Disposable[] {
    void vscode.window.tabGroups.close(tabsOf(isLeft))
    return [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.registerFileSystemProvider(EDIT, textsOf(this.#edits)),
      vscode.languages.registerCodeLensProvider([{ scheme: SCHEME }, { scheme: EDIT }], this),
      vscode.window.onDidChangeActiveTextEditor(
        () => void vscode.commands.executeCommand('setContext', 'imago.plan', this.#active !== undefined),
      ),
      vscode.window.onDidChangeVisibleTextEditors(editors => this.#see(editors)),
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => this.#see([textEditor])),
      vscode.workspace.onWillSaveTextDocument(({ document, reason }) => {
        this.#saves = reason === vscode.TextDocumentSaveReason.Manual ? document : undefined
      }),
      vscode.workspace.onDidSaveTextDocument(document => {
        const edit = document === this.#saves && this.#edits.get(`${document.uri}`)
        if (edit) void this.#takeText(document, edit)
        this.#plans.forEach(this.#draw, this)
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => void this.#edits.delete(`${uri}`)),
    ]
  }

  /** What can be done about an open plan, and the hunk of it that is meant, by the names of commands. */
  readonly commands: Readonly<Record<string, (id?: string, at?: number) => unknown>> = Object.fromEntries(
    Object.entries<(open: OpenPlan, at?: number) => unknown>({
      take: (open, at) => this.#take(open, at !== undefined),
      refuse: open => this.#refuse(open),
      edit: open => this.#edit(open),
      takeRest: async open =>
        (await this.#counts(open, open.plan.hunks.length - 1)) && this.#rest(open, { type: 'accept' }),
      refuseRest: async open => {
        const reason = await askReason(`${open.decisions.undecided} undecided hunks`)
        if (reason !== undefined) await this.#rest(open, { type: 'refuse', reason })
      },
      goTo: open => this.#go(open),
      save: open => Promise.all(unsaved(open).map(document => document.save())),
      undo: open => this.undo(open.project, open.undo),
    }).map(([name, does]) => [
      `plan.${name}`,
      async (id = '', at?: number) => {
        const open = this.#plans.get(id) ?? this.#active
        if (open === undefined) return
        if ((open.stage === 'choose' && !name.endsWith('Rest')) || name === 'goTo')
          open.decisions.to(at ?? this.#atCursor(open))
        await does(open, at)
        this.#draw(open)
      },
    ]),
  )

  /** Opens a plan that waits, in the tab that it has. Where this editor has no seat, it takes one. */
  async open(project: Project, id: string): Promise<void> {
    const known = this.#plans.get(id)
    const open = known && known.stage !== 'over' ? known : await OpenPlan.open(project, id)
    for (const [old, { stage }] of this.#plans) if (stage === 'over') this.#plans.delete(old)
    this.#plans.set(id, open)
    this.#draw(open)
    if (open.files.length === 0) return showText(summaryOf(open))
    // VS Code puts behind it how many texts there are.
    const files = open.files.length === 1 ? '1 file' : `${open.files.length} files`
    const title = plainLabel(`Imago: ${open.plan.title}; question + ${files}`)
    await vscode.window.tabGroups.close(tabsOf(({ label }) => label.startsWith(title)))
    await vscode.commands.executeCommand('vscode.changes', title, [
      [summaryOf(open), undefined, summaryOf(open)],
      ...open.files.map(file => [vscode.Uri.file(file.path), ...sidesOf(open, file)]),
    ])
    // In preview the next file that is opened would take its place.
    await vscode.commands.executeCommand('workbench.action.keepEditor')
  }

  /** Rows of the project have changed: a plan that is shown may wait no more. */
  changed(project: Project): void {
    for (const open of this.#plans.values()) if (open.project === project) this.#draw(open)
  }

  /** Takes back a change, the last one where none is named. That is a plan too, which opens. */
  async undo(project: Project, change?: string): Promise<void> {
    // Where nobody could answer it, it would be refused.
    await project.ask('sit', { alone: true }).catch(() => {})
    tell((await project.call('undo_change', change ? { change } : {}, { follow: true })).shown)
  }

  #draw(open: OpenPlan): void {
    this.#texts.fire(summaryOf(open))
    this.#lenses.fire()
  }

  get #active(): OpenPlan | undefined {
    const document = vscode.window.activeTextEditor?.document
    return document && this.#at(document.uri)?.open
  }

  /** The plan of a document, and which of its texts that is. */
  #at({ scheme, path, query }: vscode.Uri) {
    const [id = '', side] = query.split(' ')
    const open = scheme === SCHEME ? this.#plans.get(id) : undefined
    const file = open?.files.find(({ shown }) => path === pathOf(shown))
    return open && { open, side, file: side === 'asks' ? undefined : file }
  }

  #textAt(uri: vscode.Uri): ShownText {
    const { open, side, file } = this.#at(uri) ?? {}
    const text = side === 'before' ? file?.before : file?.after
    const names = (open ? unsaved(open) : []).map(one => vscode.workspace.asRelativePath(one.uri))
    return text ?? open?.summary(names) ?? { text: '', hunks: [] }
  }

  provideTextDocumentContent = (uri: vscode.Uri): string => this.#textAt(uri).text

  /** The last hunk that begins at the cursor or before it; elsewhere the one that was gone to. */
  #atCursor({ decisions }: OpenPlan): number {
    const { document, selection } = vscode.window.activeTextEditor ?? {}
    const hunks = document === undefined ? [] : this.#textAt(document.uri).hunks
    const before = hunks.filter(({ line }) => line <= (selection?.active.line ?? 0))
    return before.findLast(({ at }) => at < decisions.pieces.length)?.at ?? decisions.at
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const edit = this.#edits.get(`${document.uri}`)
    const { open, side, file } = this.#at(document.uri) ?? {}
    const top = new vscode.Range(0, 0, 0, 0)
    if (edit !== undefined)
      return Object.entries({ [edit.title]: 'files.save', Cancel: 'revertAndCloseActiveEditor' }).map(
        ([title, name]) => new vscode.CodeLens(top, { title, command: `workbench.action.${name}` }),
      )
    if (open === undefined || side === 'before') return []
    const lens = (line: number, title: string, name: string, at?: number) => {
      const does = { title, command: `imago.plan.${name}`, arguments: [open.plan.id, at] }
      return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), does)
    }
    const { stage, decisions } = open
    const hunks = this.#textAt(document.uri).hunks.flatMap(({ at, line }) => {
      const piece = decisions.pieces[at]
      if (piece === undefined) return []
      const title = `${open.became(piece)} (hunk ${piece.hunk.number} of ${decisions.pieces.length})`
      const acts = Object.entries(stage === 'choose' ? HUNK_ACTS : {})
      const said = lens(line, plainLabel(title), 'goTo', at)
      return [said, ...acts.map(([title, name]) => lens(line, title, name, at))]
    })
    const isDecided = stage === 'choose' && decisions.undecided === 0
    const back = isDecided ? [lens(0, 'Summary', 'goTo', decisions.pieces.length)] : []
    if (file !== undefined || isDecided) return [...back, ...hunks]
    const save = unsaved(open).length === 0 ? [] : [lens(0, 'Save the unsaved text', 'save')]
    const acts = Object.entries(PLAN_ACTS[stage]).filter(([, name]) => name !== 'undo' || open.undo)
    const end = stage === 'whole' || stage === 'confirm' ? Math.max(0, document.lineCount - 1) : 0
    return [...save, ...hunks, ...acts.map(([title, name]) => lens(end, title, name))]
  }

  /** Takes a hunk, or a plan without hunks; or sends what was decided. A key leaves a hunk that is decided as that is. */
  async #take(open: OpenPlan, isMeant: boolean): Promise<void> {
    const { stage, decisions } = open
    if (decisions.piece?.decision !== undefined && !isMeant) decisions.goOn()
    else if (!(await this.#counts(open, decisions.at)) || open.stage !== stage) return
    else if (stage !== 'choose') return open.send({ decision: stage === 'whole' ? 'approve' : 'choose' })
    else decisions.decide({ type: 'accept' })
    await this.#go(open)
  }

  #rest(open: OpenPlan, decision: Decision): Promise<void> {
    open.decisions.decideRest(decision)
    return this.#go(open)
  }

  /** Remembers the ends that are on the screen. */
  #see(editors: readonly vscode.TextEditor[]): void {
    for (const { document, visibleRanges } of editors) {
      const seen = this.#at(document.uri)?.open.seen
      for (const { at, end } of seen ? this.#textAt(document.uri).hunks : [])
        if (visibleRanges.some(range => range.start.line <= end && end <= range.end.line))
          seen?.add(`${document.uri} ${at}`)
    }
  }

  /**
   * Whether a yes counts: the end of that hunk was on the screen, or for all of them that of what is asked and of the last
   * file. Where it was not, it is brought there, which is said.
   */
  async #counts(open: OpenPlan, at: number): Promise<boolean> {
    if (Date.now() - this.#broughtUp < HELD_MS) {
      this.#broughtUp = Date.now()
      return false
    }
    const asks = summaryOf(open)
    // Another text than the one that was shown while it was chosen.
    if (open.stage === 'confirm') open.seen.delete(`${asks} ${at}`)
    this.#see(vscode.window.visibleTextEditors)
    const file = open.files.findLast(({ after }) => after.hunks.some(one => one.at === at))
    const sides = file ? sidesOf(open, file) : []
    for (const uri of [...(at === open.plan.hunks.length || !file ? [asks] : []), ...sides.toReversed()]) {
      const place = this.#textAt(uri).hunks.find(one => one.at === at)
      if (place === undefined || open.seen.has(`${uri} ${at}`)) continue
      // Lines that go are above those that come where the text before has no editor of its own.
      if (uri === sides[0] && editorOf(uri) === undefined) continue
      await this.#bringUp(() => this.#show(uri, place.end))
      tell('the end of this was not on the screen yet: look at it, and take it again.')
      return false
    }
    return true
  }

  async #refuse(open: OpenPlan): Promise<void> {
    const { stage, decisions } = open
    if (stage === 'sent' || stage === 'over') return
    if (stage === 'confirm') {
      decisions.to(Math.min(this.#atCursor(open), decisions.pieces.length - 1))
      return this.#go(open)
    }
    const { at, piece } = decisions
    const reason = await askReason(piece === undefined ? open.plan.title : open.headOf(piece))
    if (reason === undefined) return
    if (stage === 'whole') return open.send({ decision: 'deny', ...(reason !== null && { reason }) })
    decisions.to(at)
    decisions.decide({ type: 'refuse', reason })
    await this.#go(open)
  }

  async #edit(open: OpenPlan): Promise<void> {
    const { at, piece } = open.decisions
    if (open.stage !== 'choose' || piece === undefined) return
    const { number, shown, after } = piece.hunk
    // By the end of its name it has the language of the file.
    const path = join('/', dirname(shown), `hunk ${number} of ${basename(shown)}`)
    const uri = vscode.Uri.from({ scheme: EDIT, path, query: `${++this.#editsMade}` })
    const title = plainLabel(`Take this text (Ctrl+S): ${open.headOf(piece)}`)
    this.#edits.set(`${uri}`, { open, at, title, text: Buffer.from(after.replaceAll('\r\n', '\n')) })
    await showText(uri)
  }

  /** A person is done with the text of a hunk, which is closed; it stays open where it cannot be used, which is said. */
  async #takeText(document: vscode.TextDocument, { open, at }: Edit): Promise<void> {
    open.decisions.to(at)
    const why = open.decisions.rewritten(at, document.getText().replaceAll('\r\n', '\n'))
    if (why !== undefined) return tell(why)
    await vscode.window.tabGroups.close(tabsOf(tab => `${uriIn(tab)}` === `${document.uri}`))
    if (open.stage === 'over') return tell('that plan waits no more: nothing was answered.')
    await this.#go(open)
  }

  /** Goes to the hunk that is next; with none left, to what will be applied. */
  async #go(open: OpenPlan): Promise<void> {
    this.#draw(open)
    if (open.stage === 'confirm') return this.#bringUp(() => showText(summaryOf(open)))
    const { at } = open.decisions
    const file = open.files.find(({ after }) => after.hunks.some(one => one.at === at))
    const uri = file ? sidesOf(open, file)[1] : summaryOf(open)
    const place = this.#textAt(uri).hunks.find(one => one.at === at)
    if (place) await this.#show(uri, place.line)
  }

  async #bringUp(show: () => Promise<void>): Promise<void> {
    this.#broughtUp = Date.now()
    await show()
    this.#broughtUp = Date.now()
  }

  /** Goes to a line of a document of a plan where it is shown, else to its file alone. */
  async #show(uri: vscode.Uri, line: number): Promise<void> {
    const selection = new vscode.Selection(line, 0, line, 0)
    const editor = editorOf(uri)
    const { open, file } = this.#at(uri) ?? {}
    if (editor !== undefined) {
      editor.selection = selection
      editor.revealRange(selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport)
    } else if (open !== undefined && file !== undefined) {
      const how = [plainLabel(`Imago: ${file.shown}`), { selection, preview: true }]
      await vscode.commands.executeCommand('vscode.diff', ...sidesOf(open, file), ...how)
    } else await showText(uri)
  }
}

/** A text that a person writes, the hunk that it is for, and the lens that takes it. */
interface Edit extends Readonly<{ open: OpenPlan; at: number; title: string }> {
  text: Uint8Array
}

/** Files of such texts, so that VS Code asks for no name where one is closed. */
function textsOf(edits: ReadonlyMap<string, Edit>): vscode.FileSystemProvider {
  const no = (uri: vscode.Uri): never => {
    throw vscode.FileSystemError.FileNotFound(uri)
  }
  const edit = (uri: vscode.Uri) => edits.get(`${uri}`) ?? no(uri)
  return {
    onDidChangeFile: () => ({ dispose() {} }),
    watch: () => ({ dispose() {} }),
    stat: uri => ({ type: vscode.FileType.File, ctime: 0, mtime: 0, size: edit(uri).text.length }),
    readFile: uri => edit(uri).text,
    writeFile: (uri, text) => void Object.assign(edit(uri), { text }),
    ...{ readDirectory: no, createDirectory: no, delete: no, rename: no },
  }
}

const tabsOf = (isMeant: (tab: vscode.Tab) => boolean): vscode.Tab[] =>
  vscode.window.tabGroups.all.flatMap(group => group.tabs.filter(isMeant))

/** The document of a tab; undefined where it has several. */
const uriIn = ({ input }: vscode.Tab) => {
  const { uri, modified = uri } = (input ?? {}) as { uri?: vscode.Uri; modified?: vscode.Uri }
  return modified
}

/** A tab of a plan that an earlier window had open. */
const isLeft = (tab: vscode.Tab): boolean =>
  uriIn(tab)?.scheme.startsWith('imago-') ?? /^Imago: .*; question \+ \d+ file/s.test(tab.label)

/** The editor that shows a document. */
const editorOf = (uri: vscode.Uri) =>
  vscode.window.visibleTextEditors.find(({ document }) => `${document.uri}` === `${uri}`)

const pathOf = (shown: string) => (shown.startsWith('/') ? shown : `/${shown}`)

const uriOf = ({ plan }: OpenPlan, side: 'asks' | 'before' | 'after', shown: string) =>
  vscode.Uri.from({ scheme: SCHEME, path: pathOf(shown), query: `${plan.id} ${side}` })

/** What is asked; once all is decided, what will be applied. */
const summaryOf = (open: OpenPlan) => uriOf(open, 'asks', `${open.plan.id}.imago`)

/** The addresses of a file's texts, as it is and as it would be. */
const sidesOf = (open: OpenPlan, { shown }: ShownFile) =>
  [uriOf(open, 'before', shown), uriOf(open, 'after', shown)] as const

async function showText(uri: vscode.Uri): Promise<void> {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false })
}

/** Null: none was given. Undefined: the person thought better of it. */
async function askReason(refused: string): Promise<string | null | undefined> {
  const prompt = plainLabel(plainSentence(`Reason (empty: none) to refuse ${refused}`))
  const given = await vscode.window.showInputBox({ prompt, ignoreFocusOut: true })
  return given === undefined ? undefined : given.trim().slice(0, 2_000) || null
}

/** Documents with unsaved text of files that the plan changes. */
function unsaved({ plan }: OpenPlan): readonly vscode.TextDocument[] {
  const dirty = vscode.workspace.textDocuments.filter(({ isDirty }) => isDirty)
  return dirty.filter(({ uri }) => plan.files.some(({ path }) => path === realOf(uri.fsPath)))
}
