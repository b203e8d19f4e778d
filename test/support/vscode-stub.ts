import Module from 'node:module'

type Does = (...args: never[]) => unknown

/** Where a text was shown, apart from documents, lenses and rows, which a test asks for. */
export type Place =
  | 'status item'
  | 'tooltip of it'
  | 'status message'
  | 'message'
  | 'input box'
  | 'list'
  | 'title'
  | 'result'
  | 'hover'

/** What a stub of the `vscode` API was told, and what a person at it does. It draws nothing. */
export interface VsCode {
  readonly commands: Map<string, (...args: unknown[]) => unknown>
  readonly status: { text: string; isShown: boolean; command?: unknown }
  /** Sets `imago.command`, which is no program before that. */
  configure(command: string): void
  readonly messages: string[]
  /** All that was shown, also of those. */
  readonly shown: { readonly place: Place; readonly text: string }[]
  /** Texts of documents that were drawn again. */
  readonly drawn: string[]
  /** Calls of commands that are VS Code's own. */
  readonly ran: (readonly [name: string, ...args: unknown[]])[]
  /** What the person answers in input boxes and lists, in order; a promise: so long they are open. */
  readonly typed: (string | undefined | Promise<string>)[]
  /** What was said above the fields in which they are answered. */
  readonly asked: (string | undefined)[]
  /** By the names that package.json gives them. */
  readonly views: Map<string, View>
  /** Rows that were brought into sight. */
  readonly revealed: { readonly label: string; readonly how: object }[]
  /** The text of a virtual document. */
  text(uri: Uri): string
  lenses(
    uri: Uri,
  ): readonly { command: { title: string; command: string; arguments: unknown[] }; line: number }[]
  /** The document that the person looks at, and the line of the cursor. */
  look(uri: Uri, line?: number): void
  /** That document. */
  readonly seen: Uri
  /** So many lines of a document are on the screen; before that, all of them. */
  screen(lines: number): void
  /** The person writes that text in the document that they look at. */
  write(text: string): void
  /** The person saves the document that they look at. */
  save(): Promise<void>
  /** Labels of the tabs. */
  tabs(): readonly string[]
  /** A file has unsaved text. */
  unsaved(path: string): void
}

interface Files {
  readFile(uri: Uri): Uint8Array
  writeFile(uri: Uri, text: Uint8Array): void
}

interface Decoration {
  readonly renderOptions: { readonly after: { readonly contentText: string } }
  readonly hoverMessage: string | { readonly value: string }
}

export interface View {
  getChildren(node?: unknown): Promise<{ label: string; name?: string }[]>
  getTreeItem(node: unknown): object
}

export interface Uri {
  readonly scheme: string
  readonly path: string
  readonly query: string
  readonly fsPath: string
}

const uri = ({ scheme, path, query = '' }: { scheme: string; path: string; query?: string }): Uri =>
  Object.assign({ scheme, path, query, fsPath: path }, { toString: () => `${scheme}:${path}?${query}` })

/** Loads a bundle of the extension with a stub of its `vscode`, whose folder is that one. */
export function loadExtension(
  bundle: string,
  { folder, client }: { readonly folder: string; readonly client: object },
) {
  const commands: VsCode['commands'] = new Map()
  const status = { text: '', tooltip: '', isShown: false }
  const messages: string[] = []
  const shown: VsCode['shown'] = []
  const show = (place: Place, text = '') => void shown.push({ place, text })
  const drawn: string[] = []
  const ran: VsCode['ran'] = []
  const typed: VsCode['typed'] = []
  const contents = new Map<string, { provideTextDocumentContent(uri: Uri): string }>()
  let lensing:
    | { provideCodeLenses(document: object): { range: { line: number }; command: never }[] }
    | undefined
  const views: VsCode['views'] = new Map()
  const revealed: VsCode['revealed'] = []
  const asked: VsCode['asked'] = []
  const documents: object[] = []
  let saved: (document: object) => void = () => {}
  let willSave: (event: object) => void = () => {}
  const files = new Map<string, Files>()
  /** Texts that were written and not saved. */
  const written = new Map<string, string>()
  const tabs: { readonly label: string; readonly input: { readonly uri: Uri } | undefined }[] = [
    { label: 'Imago: Edit a.py; question + 1 file (0 files)', input: undefined },
    { label: 'a.py', input: { uri: uri({ scheme: 'imago-plan', path: '/a.py' }) } },
    { label: 'mine', input: { uri: uri({ scheme: 'file', path: '/mine' }) } },
  ]
  const event = () => ({ dispose() {} })
  const text = (uri: Uri) => contents.get(uri.scheme)?.provideTextDocumentContent(uri) ?? ''
  const document = (uri: Uri) => {
    const now = () =>
      written.get(`${uri}`) ?? Buffer.from(files.get(uri.scheme)?.readFile(uri) ?? '').toString()
    const made = {
      uri,
      isDirty: written.has(`${uri}`),
      languageId: 'plaintext',
      lineCount: text(uri).split('\n').length,
      version: 1,
      isClosed: false,
      getText: now,
      lineAt: () => ({ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } } }),
      async save() {
        willSave({ document: made, reason: 1 })
        files.get(uri.scheme)?.writeFile(uri, Buffer.from(now()))
        written.delete(`${uri}`)
        saved(made)
      },
    }
    return made
  }
  const window = {
    activeTextEditor: undefined as object | undefined,
    visibleTextEditors: [] as object[],
    tabGroups: {
      all: [{ tabs }],
      async close(closed: readonly object[]) {
        tabs.splice(0, tabs.length, ...tabs.filter(tab => !closed.includes(tab)))
      },
    },
    createOutputChannel: () => ({ info() {}, warn() {}, error() {}, dispose() {} }),
    createStatusBarItem: () =>
      Object.assign(status, {
        show() {
          show('status item', status.text)
          show('tooltip of it', status.tooltip)
          status.isShown = true
        },
      }),
    setStatusBarMessage: (said: string) => show('status message', said),
    registerTreeDataProvider: (id: string, provider: View) => void views.set(id, provider),
    createTreeView(id: string, { treeDataProvider }: { treeDataProvider: View }) {
      views.set(id, treeDataProvider)
      return {
        reveal: async ({ label }: { label: string }, how: object) => void revealed.push({ label, how }),
      }
    },
    createTextEditorDecorationType: () => ({ dispose() {} }),
    async showInformationMessage(said: string) {
      messages.push(said)
      show('message', said)
    },
    async showInputBox({ prompt }: { prompt?: string }) {
      asked.push(prompt)
      show('input box', prompt)
      return typed.shift()
    },
    async showQuickPick(items: readonly unknown[], { placeHolder }: { placeHolder: string }) {
      show('list', placeHolder)
      return items[0]
    },
    async showTextDocument({ uri }: { uri: Uri }) {
      tabs.push({ label: uri.path, input: { uri } })
      look(uri)
    },
    onDidChangeActiveTextEditor: event,
    onDidChangeVisibleTextEditors: event,
    onDidChangeTextEditorVisibleRanges: event,
  }
  let seen = uri({ scheme: 'none', path: '' })
  let lines = 1_000_000
  let program = 'no-such-imago'
  let configured: (change: object) => void = () => {}
  const editorOf = (uri: Uri, line = 0) => {
    const editor = {
      document: document(uri),
      selection: { active: { line }, isEmpty: true },
      visibleRanges: [{ start: { line: 0 }, end: { line: lines } }],
      revealRange({ line }: { line: number }) {
        editor.visibleRanges = [{ start: { line }, end: { line } }]
      },
      setDecorations(_: object, drawn: readonly Decoration[]) {
        for (const { renderOptions, hoverMessage } of drawn) {
          show('result', renderOptions.after.contentText)
          show('hover', typeof hoverMessage === 'string' ? hoverMessage : hoverMessage.value)
        }
      },
    }
    return editor
  }
  function look(uri: Uri, line = 0) {
    seen = uri
    window.activeTextEditor = editorOf(uri, line)
    window.visibleTextEditors = [window.activeTextEditor]
  }
  class Item {
    constructor(...args: unknown[]) {
      const [first, second] = args
      Object.assign(this, {
        range: first,
        command: second,
        line: first,
        label: first,
        active: { line: first },
      })
    }
  }
  const workspace = {
    workspaceFolders: [{ uri: uri({ scheme: 'file', path: folder }) }],
    textDocuments: documents,
    getConfiguration: () => ({
      get: (name: string) => (name === 'command' ? program : true),
      update: async (_: string, command: string) => vscode.configure(command),
    }),
    registerFileSystemProvider: (scheme: string, provider: Files) => void files.set(scheme, provider),
    onWillSaveTextDocument(heard: typeof willSave) {
      willSave = heard
    },
    registerTextDocumentContentProvider: (scheme: string, provider: never) =>
      void contents.set(scheme, provider),
    openTextDocument: async (uri: Uri) => document(uri),
    asRelativePath: ({ path }: Uri) => path,
    onDidChangeTextDocument: event,
    onDidSaveTextDocument(heard: typeof saved) {
      saved = heard
    },
    onDidCloseTextDocument: event,
    onDidChangeConfiguration(heard: typeof configured) {
      configured = heard
    },
    onDidChangeWorkspaceFolders: event,
  }
  const api = {
    window,
    workspace,
    commands: {
      registerCommand: (name: string, does: Does) => void commands.set(name, does as never),
      async executeCommand(name: string, ...args: unknown[]) {
        await commands.get(name)?.(...args)
        ran.push([name, ...args])
        if (name === 'vscode.changes') show('title', String(args[0]))
        if (name === 'vscode.diff') show('title', String(args[2]))
        if (name !== 'vscode.changes') return
        const [[asks = seen] = [], ...files] = args[1] as Uri[][]
        look(asks)
        for (const [, ...sides] of files) window.visibleTextEditors.push(...sides.map(side => editorOf(side)))
      },
    },
    languages: {
      registerCodeLensProvider(_: object, provider: typeof lensing) {
        lensing = provider
      },
    },
    Uri: { from: uri, file: (path: string) => uri({ scheme: 'file', path }) },
    EventEmitter: class {
      readonly event = event
      fire(what?: Uri) {
        if (what !== undefined) drawn.push(text(what))
      }
    },
    Range: Item,
    Position: Item,
    Selection: Item,
    CodeLens: Item,
    TabInputText: Item,
    TreeItem: Item,
    ThemeColor: Item,
    ThemeIcon: Item,
    StatusBarAlignment: {},
    DecorationRangeBehavior: {},
    TextEditorRevealType: {},
    TreeItemCollapsibleState: {},
    FileChangeType: {},
    FileType: {},
    TextDocumentSaveReason: { Manual: 1 },
    ConfigurationTarget: {},
    FileSystemError: {},
    MarkdownString: class {
      value = ''
      appendCodeblock(code: string) {
        this.value += code
        return this
      }
    },
  }
  const loader = Module as unknown as { _load(id: string, ...rest: unknown[]): unknown }
  const load = loader._load
  loader._load = (id, ...rest) => {
    if (id === 'vscode') return api
    if (id !== 'vscode-languageclient/node') return load(id, ...rest)
    // The last that it loads.
    loader._load = load
    return client
  }
  const extension = Module.createRequire(import.meta.url)(bundle) as {
    activate(context: { subscriptions: unknown[] }): void
  }
  const vscode: VsCode = {
    commands,
    status,
    messages,
    shown,
    drawn,
    ran,
    typed,
    asked,
    views,
    revealed,
    text,
    look,
    get seen() {
      return seen
    },
    configure(command) {
      program = command
      configured({ affectsConfiguration: (name: string) => name === 'imago.command' })
    },
    screen(count) {
      lines = count
    },
    write(text) {
      written.set(`${seen}`, text)
      look(seen)
    },
    save: () => document(seen).save(),
    tabs: () => tabs.map(({ label }) => label),
    unsaved: path =>
      void documents.push({
        uri: uri({ scheme: 'file', path }),
        isDirty: true,
        save: async () => saved(documents.pop() ?? {}),
      }),
    lenses: uri =>
      (lensing?.provideCodeLenses(document(uri)) ?? []).map(({ range, command }) => ({
        command,
        line: range.line,
      })),
  }
  return { extension, vscode }
}
