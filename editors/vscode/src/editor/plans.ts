import { realpathSync } from 'node:fs'
import * as vscode from 'vscode'
import { decisionText, type HunkPlace, OpenPlan, type ShownFile } from '../plan.ts'
import { faultText, type Project } from '../project.ts'
import { command, plainLabel, tell } from './said.ts'

const SCHEME = 'imago-plan'

/** Before that nothing counts that is pressed: a key that is held or doubled does not answer what it has brought up. */
const HELD_MS = 500

/** A document of a plan: a side of one of its files, or its summary. */
interface Place {
  readonly open: OpenPlan
  readonly isBefore: boolean
  readonly file: ShownFile | undefined
}

/** Plans in diff editors, with lenses and keys for their hunks. */
export class PlanViews implements vscode.CodeLensProvider, vscode.TextDocumentContentProvider {
  readonly #plans = new Map<string, OpenPlan>()
  /** Texts that a person writes in the place of hunks. */
  readonly #edits = new Map<vscode.TextDocument, { readonly open: OpenPlan; readonly hunk: number }>()
  /** The hunk that the person was led to last. */
  readonly #gone = new WeakMap<OpenPlan, number>()
  /** When an end or what will be applied was brought up, or a key pressed too soon after that. */
  readonly #broughtUp = new WeakMap<OpenPlan, number>()
  readonly #lenses = new vscode.EventEmitter<void>()
  readonly onDidChangeCodeLenses = this.#lenses.event
  readonly #texts = new vscode.EventEmitter<vscode.Uri>()
  readonly onDidChange = this.#texts.event

  register(): vscode.Disposable[] {
    const onPlan = (name: string, does: (open: OpenPlan, hunk: number) => unknown) =>
      command(`plan.${name}`, async (id?: string, hunk?: number) => {
        const open = this.#plans.get(id ?? '') ?? this.#active
        if (open === undefined) return
        await does(open, hunk ?? this.#hunkAtCursor(open))
        this.#draw(open)
      })
    return [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerCodeLensProvider([{ scheme: SCHEME }, { scheme: 'untitled' }], this),
      vscode.window.onDidChangeActiveTextEditor(() => this.#active && this.#draw(this.#active)),
      vscode.window.onDidChangeActiveTextEditor(() => this.#sayStage()),
      vscode.window.onDidChangeVisibleTextEditors(editors => this.#see(editors)),
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => this.#see([textEditor])),
      vscode.workspace.onDidSaveTextDocument(() => this.#plans.forEach(this.#draw, this)),
      vscode.workspace.onDidCloseTextDocument(document => void this.#edits.delete(document)),
      onPlan('take', (open, hunk) => this.#take(open, hunk)),
      onPlan('refuse', (open, hunk) => this.#refuse(open, hunk)),
      onPlan('edit', (open, hunk) => this.#edit(open, hunk)),
      onPlan('takeRest', async open => {
        if (!(await this.#counts(open, open.plan.hunks.at(-1)?.number ?? 0))) return
        open.decideRest({ decision: 'accept' })
        await this.#go(open, undefined)
      }),
      onPlan('refuseRest', async open => {
        const reason = await askReason()
        if (reason === undefined) return
        open.decideRest({ decision: 'refuse', reason })
        await this.#go(open, undefined)
      }),
      onPlan('next', (open, hunk) => this.#go(open, open.nextUndecided(hunk, 1))),
      onPlan('previous', (open, hunk) => this.#go(open, open.nextUndecided(hunk, -1))),
      onPlan('save', open => Promise.all(unsaved(open).map(document => document.save()))),
      onPlan('undo', open => this.undo(open.project, open.undo)),
    ]
  }

  /** Opens a plan that waits, in the tab that it has. Where this editor has no seat, it takes one. */
  async open(project: Project, id: string): Promise<void> {
    const row = project.waiting.find(one => one.id === id)
    let open = this.#plans.get(id)
    if (open?.stage === 'over' || open?.row.hash !== row?.hash) open = undefined
    open ??= await OpenPlan.open(project, id)
    for (const [old, { stage }] of this.#plans) if (stage === 'over') this.#plans.delete(old)
    this.#plans.set(id, open)
    this.#draw(open)
    if (open.files.length === 0) return showText(summaryOf(open))
    const title = plainLabel(`Imago: ${open.row.title}`)
    const tabs = vscode.window.tabGroups.all.flatMap(group => group.tabs)
    await vscode.window.tabGroups.close(tabs.filter(({ label }) => label.startsWith(title)))
    await vscode.commands.executeCommand('vscode.changes', title, [
      [summaryOf(open), undefined, summaryOf(open)],
      ...open.files.map(file => [vscode.Uri.file(file.path), ...sidesOf(open, file)]),
    ])
    // In preview the next file that is opened would take its place.
    await vscode.commands.executeCommand('workbench.action.keepEditor')
  }

  /** Rows of the project have changed: a plan that is shown may wait no more. */
  changed(project: Project): void {
    for (const open of this.#plans.values()) if (open.project === project && open.update()) this.#draw(open)
  }

  /** Takes back a change, the last one where none is named. That is a plan too, which is shown. */
  async undo(project: Project, change = project.lastUndo): Promise<void> {
    if (change === undefined)
      return tell('no change is known that can be taken back; imago log has older ones.')
    const opened = (plan: string) =>
      this.open(project, plan).catch((fault: unknown) => tell(faultText(fault)))
    tell(await project.undo(change, opened))
  }

  #draw(open: OpenPlan): void {
    this.#texts.fire(summaryOf(open))
    this.#texts.fire(appliedOf(open))
    this.#lenses.fire()
    this.#sayStage()
  }

  /** Says to key bindings which stage the plan of the active editor is in. */
  #sayStage(): void {
    const document = vscode.window.activeTextEditor?.document
    const isEdit = document !== undefined && this.#edits.has(document)
    const stage = isEdit ? 'edit' : (this.#active?.stage ?? '')
    void vscode.commands.executeCommand('setContext', 'imago.plan', stage)
  }

  get #active(): OpenPlan | undefined {
    const document = vscode.window.activeTextEditor?.document
    return document && (this.#edits.get(document)?.open ?? this.#at(document.uri)?.open)
  }

  #at({ scheme, path, query }: vscode.Uri): Place | undefined {
    const [id = '', side] = query.split(' ')
    const open = scheme === SCHEME ? this.#plans.get(id) : undefined
    const file = open?.files.find(({ shown }) => side !== 'asks' && path === pathOf(shown))
    return open && { open, isBefore: side === 'before', file }
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const { open, isBefore, file } = this.#at(uri) ?? {}
    if (file !== undefined) return isBefore ? file.before : file.after
    return open?.summary(unsaved(open).map(one => vscode.workspace.asRelativePath(one.uri))).text ?? ''
  }

  /** The hunks of a document of a plan, by their lines there. */
  #hunksIn(uri: vscode.Uri): readonly HunkPlace[] {
    const { open, file } = this.#at(uri) ?? {}
    return file?.hunks ?? open?.summary(unsaved(open).map(one => one.uri.path)).hunks ?? []
  }

  /** The last hunk that begins at the cursor or before it; elsewhere the one that was gone to, or the first undecided one. */
  #hunkAtCursor(open: OpenPlan): number {
    const { document, selection } = vscode.window.activeTextEditor ?? {}
    const places = document === undefined ? [] : this.#hunksIn(document.uri)
    const before = places.filter(({ line }) => line <= (selection?.active.line ?? 0)).at(-1)
    return before?.number ?? this.#gone.get(open) ?? open.nextUndecided(0, 1) ?? 1
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const edit = this.#edits.get(document)
    const { open = edit?.open, isBefore, file } = this.#at(document.uri) ?? {}
    if (open === undefined || isBefore) return []
    const lens = (line: number, title: string, name: string, hunk?: number) => {
      const does = { title, command: `imago.plan.${name}`, arguments: [open.row.id, hunk] }
      return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), does)
    }
    if (edit !== undefined) return [lens(0, 'Take this text', 'take')]
    const { stage, plan } = open
    const hunks = this.#hunksIn(document.uri).flatMap(({ number, line }) => {
      const decided = decisionText(open.choices.get(number))
      const state = lens(
        line,
        plainLabel(`${decided} (hunk ${number} of ${plan.hunks.length})`),
        'next',
        number,
      )
      if (stage !== 'choose') return stage === 'confirm' ? [state] : []
      const all = { Take: 'take', 'Refuse…': 'refuse', Edit: 'edit' }
      return [state, ...Object.entries(all).map(([title, name]) => lens(line, title, name, number))]
    })
    if (file !== undefined) return hunks
    const save = unsaved(open).length === 0 ? [] : [lens(0, 'Save the unsaved text', 'save')]
    const end = Math.max(0, document.lineCount - 1)
    switch (stage) {
      case 'whole':
        return [...save, lens(end, 'Approve', 'take'), lens(end, 'Refuse…', 'refuse')]
      case 'choose':
        return [
          ...save,
          lens(0, 'Take the rest', 'takeRest'),
          lens(0, 'Refuse the rest…', 'refuseRest'),
          ...hunks,
        ]
      case 'confirm':
        return [...save, ...hunks, lens(end, 'Send this', 'take'), lens(end, 'Go back', 'refuse')]
      case 'over':
        return open.undo === undefined ? [] : [lens(0, 'Undo', 'undo')]
      case 'sent':
        return []
      default:
        return stage satisfies never
    }
  }

  /** Takes a hunk, the text that was written for one, or a plan without hunks; or sends what was decided. */
  async #take(open: OpenPlan, hunk: number): Promise<void> {
    const document = vscode.window.activeTextEditor?.document
    if (document !== undefined && this.#edits.has(document)) return this.#takeText(document)
    const { stage } = open
    if (!(await this.#counts(open, stage === 'choose' ? hunk : 0)) || open.stage !== stage) return
    if (stage === 'choose') return this.#go(open, open.decide(hunk, { hunk, decision: 'accept' }))
    await this.#send(open, { decision: stage === 'whole' ? 'approve' : 'choose' })
  }

  /** Remembers the ends that are on the screen. */
  #see(editors: readonly vscode.TextEditor[]): void {
    for (const { document, visibleRanges } of editors) {
      const seen = this.#at(document.uri)?.open.seen
      for (const [number, line] of seen ? this.#endsIn(document.uri) : [])
        if (visibleRanges.some(({ start, end }) => start.line <= line && line <= end.line))
          seen?.add(`${document.uri} ${number}`)
    }
  }

  /** The last lines of hunks in a document of a plan, by their numbers; of a summary its own too, as 0. */
  #endsIn(uri: vscode.Uri): readonly (readonly [number: number, line: number])[] {
    const { file, isBefore } = this.#at(uri) ?? {}
    const ends = this.#hunksIn(uri).map(
      ({ number, end, endBefore }) => [number, isBefore ? endBefore : end] as const,
    )
    return file ? ends : [...ends, [0, this.provideTextDocumentContent(uri).split('\n').length - 2]]
  }

  /**
   * Whether a yes counts: the end of that hunk was on the screen, or for all of them, as 0, that of what is asked and of the
   * last file. Where it was not, it is brought there, which is said.
   */
  async #counts(open: OpenPlan, number: number): Promise<boolean> {
    const isHeld = Date.now() - (this.#broughtUp.get(open) ?? 0) < HELD_MS
    if (isHeld) this.#broughtUp.set(open, Date.now())
    if (isHeld) return false
    const asks = open.stage === 'confirm' && editorOf(appliedOf(open)) ? appliedOf(open) : summaryOf(open)
    // Another text than the one that was shown while it was chosen.
    if (open.stage === 'confirm') open.seen.delete(`${asks} 0`)
    this.#see(vscode.window.visibleTextEditors)
    const file = open.files.findLast(({ hunks }) => hunks.some(one => one.number === number))
    const sides = file ? sidesOf(open, file) : []
    for (const uri of [...(number === 0 || !file ? [asks] : []), ...sides.toReversed()]) {
      const line = this.#endsIn(uri).find(([one]) => one === number)?.[1]
      if (line === undefined || line < 0 || open.seen.has(`${uri} ${number}`)) continue
      // Lines that go are above those that come where the text before has no editor of its own.
      if (uri === sides[0] && editorOf(uri) === undefined) continue
      this.#broughtUp.set(open, Date.now())
      await this.#show(uri, line)
      tell('the end of this was not on the screen yet: look at it, and take it again.')
      return false
    }
    return true
  }

  /** Sends an answer, which is said at once. */
  #send(open: OpenPlan, answer: Parameters<OpenPlan['send']>[0]): Promise<void> {
    const sent = open.send(answer)
    this.#draw(open)
    return sent
  }

  async #refuse(open: OpenPlan, hunk: number): Promise<void> {
    if (open.stage === 'sent' || open.stage === 'over') return
    if (open.stage === 'confirm') {
      open.decide(hunk, undefined)
      return this.#go(open, hunk)
    }
    const reason = await askReason()
    if (reason === undefined) return
    if (open.stage === 'whole')
      return this.#send(open, { decision: 'deny', ...(reason !== null && { reason }) })
    await this.#go(open, open.decide(hunk, { hunk, decision: 'refuse', reason }))
  }

  async #edit(open: OpenPlan, number: number): Promise<void> {
    const hunk = open.plan.hunks.find(one => one.number === number)
    if (open.stage !== 'choose' || hunk === undefined) return
    const file = open.files.find(({ shown }) => shown === hunk.shown)
    const like = file && (await vscode.workspace.openTextDocument(sidesOf(open, file)[1]))
    const content = hunk.after.replaceAll('\r\n', '\n')
    const language = like?.languageId ?? 'plaintext'
    const document = await vscode.workspace.openTextDocument({ content, language })
    this.#edits.set(document, { open, hunk: number })
    await vscode.window.showTextDocument(document, { preview: false })
  }

  /** A person is done with the text of a hunk, which is closed. */
  async #takeText(document: vscode.TextDocument): Promise<void> {
    const { open, hunk } = this.#edits.get(document) ?? {}
    const text = document.getText()
    this.#edits.delete(document)
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor')
    if (open === undefined || hunk === undefined) return
    open.update()
    if (open.stage === 'over') return tell('that plan waits no more: nothing was answered.')
    await this.#go(open, open.decide(hunk, open.edited(hunk, text)))
  }

  /** Goes to a hunk; with none left, to what will be applied. */
  async #go(open: OpenPlan, hunk: number | undefined): Promise<void> {
    this.#draw(open)
    if (hunk === undefined) {
      if (open.stage !== 'confirm') return
      this.#broughtUp.set(open, Date.now())
      await showText(appliedOf(open))
      this.#broughtUp.set(open, Date.now())
      return
    }
    this.#gone.set(open, hunk)
    const file = open.files.find(({ hunks }) => hunks.some(({ number }) => number === hunk))
    const uri = file ? sidesOf(open, file)[1] : summaryOf(open)
    const place = this.#hunksIn(uri).find(({ number }) => number === hunk)
    if (place) await this.#show(uri, place.line)
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
      const title = plainLabel(`Imago: ${file.shown}`)
      const how = { selection, preview: true }
      await vscode.commands.executeCommand('vscode.diff', ...sidesOf(open, file), title, how)
    } else await showText(uri)
  }
}

/** The editor that shows a document, and first the one that is worked in. */
function editorOf(uri: vscode.Uri): vscode.TextEditor | undefined {
  const active = vscode.window.activeTextEditor
  const editors = [...(active === undefined ? [] : [active]), ...vscode.window.visibleTextEditors]
  return editors.find(({ document }) => `${document.uri}` === `${uri}`)
}

const pathOf = (shown: string) => (shown.startsWith('/') ? shown : `/${shown}`)

const uriOf = ({ row }: OpenPlan, side: 'asks' | 'before' | 'after', shown = 'What is asked') =>
  vscode.Uri.from({ scheme: SCHEME, path: pathOf(shown), query: `${row.id} ${side}` })

const summaryOf = (open: OpenPlan) => uriOf(open, 'asks')

/** The same once all is decided, in a tab of its own. */
const appliedOf = (open: OpenPlan) => uriOf(open, 'asks', 'What will be applied')

/** The addresses of a file's texts, as it is and as it would be. */
const sidesOf = (open: OpenPlan, { shown }: ShownFile): [vscode.Uri, vscode.Uri] => [
  uriOf(open, 'before', shown),
  uriOf(open, 'after', shown),
]

/** The path without links, as a plan names a file. */
export const realOf = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

async function showText(uri: vscode.Uri): Promise<void> {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: false })
}

/** Null: none was given. Undefined: the person thought better of it. */
async function askReason(): Promise<string | null | undefined> {
  const prompt = 'Reason for the refusal (empty: none)'
  const given = await vscode.window.showInputBox({ prompt, ignoreFocusOut: true })
  return given === undefined ? undefined : given.trim().slice(0, 2_000) || null
}

/** Documents with unsaved text of files that the plan changes. */
function unsaved({ plan }: OpenPlan): readonly vscode.TextDocument[] {
  const dirty = vscode.workspace.textDocuments.filter(({ isDirty }) => isDirty)
  return dirty.filter(({ uri }) => plan.files.some(({ path }) => path === realOf(uri.fsPath)))
}
