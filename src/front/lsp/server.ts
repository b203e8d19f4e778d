import { rmSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type CancellationToken,
  createConnection,
  ErrorCodes,
  type InitializeParams,
  type InitializeResult,
  LSPErrorCodes,
  type Position,
  ResponseError,
  TextDocumentSyncKind,
} from 'vscode-languageserver/node'
import { oneLine } from '../../../tools/text.ts'
import { messageOf } from '../../../wire/errors.ts'
import { isOfProject, realOf } from '../../files/roots.ts'
import { findRoot, VERSION } from '../../paths.ts'
import { editorLanguage } from '../languages.ts'
import { actionsAt, COMMANDS, plansFolder, runCommand } from './actions.ts'
import type { Asked } from './asking.ts'
import { pathOf, TextLines } from './documents.ts'
import { ErrorsInPlace } from './errors.ts'
import { complete, definition, hover, references, signature } from './names.ts'
import { Project } from './project.ts'
import { Requests } from './requests.ts'
import { TextsThatRun } from './texts.ts'

const CAPABILITIES: InitializeResult['capabilities'] = {
  positionEncoding: 'utf-16',
  textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
  completionProvider: { triggerCharacters: ['.'] },
  hoverProvider: true,
  signatureHelpProvider: { triggerCharacters: ['(', ','] },
  definitionProvider: true,
  referencesProvider: true,
  inlayHintProvider: true,
  codeActionProvider: true,
  executeCommandProvider: { commands: [...COMMANDS] },
  workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
}

/**
 * `imago lsp`: what running programs know, for any editor, over standard input and output. It is a client of the daemon as
 * the other commands are. Where no program runs it answers with nothing, and starts none. Never resolves: the process ends
 * with the editor.
 */
export function lsp(): Promise<never> {
  const connection = createConnection(process.stdin, process.stdout)
  const projects = new Map<string, Project>()
  const documents = new Map<string, TextLines>()
  let editor: Pick<InitializeParams, 'clientInfo' | 'capabilities'> = { capabilities: {} }
  let hasStatic = true
  const editorName = () => oneLine(editor.clientInfo?.name ?? 'an editor').slice(0, 80) || 'an editor'
  const requests = new Requests(connection, {
    editor: editorName,
    frameAt(file, line, expr) {
      const document = [...documents.values()].find(({ path }) => path === realOf(file))
      return document && errors.frameAt(document, line - 1, expr)
    },
  })

  const errors = new ErrorsInPlace({ documents: () => documents.values(), changed: publish })
  const texts = new TextsThatRun(document => publish(document.path))

  function open(folder: string): void {
    const root = realOf(findRoot(folder))
    if (projects.has(root)) return
    const name = `imago lsp in ${editorName()}`
    const project: Project = new Project({
      root,
      name,
      connected(client) {
        requests.connected(project, client)
        void client.offerBuffers(textAt).catch(() => {})
      },
      unreached: fault => connection.console.warn(messageOf(fault)),
      changed(topics) {
        if (topics.has('errors')) errors.update(project)
        if (topics.has('calls')) requests.callsChanged(project)
        if (topics.has('approvals')) requests.plansChanged(project)
        if (topics.has('kernels'))
          for (const document of documentsOf(project)) texts.update(document, project)
      },
      redefined() {
        for (const document of documentsOf(project)) void texts.check(document, project)
      },
    })
    projects.set(root, project)
  }

  function close(folder: string): void {
    const root = realOf(findRoot(folder))
    const project = projects.get(root)
    if (project === undefined) return
    projects.delete(root)
    requests.forget(project)
    errors.forget(project)
    void project.close()
  }

  const textAt = (path: string) =>
    [...documents.values()].find(document => document.path === path)?.lines.join('\n')

  const documentsOf = (project: Project) =>
    [...documents.values()].filter(({ path }) => projectOf(path) === project)

  /** The innermost of the editor's projects that has the file. */
  function projectOf(path: string | undefined): Project | undefined {
    const all = [...projects.values()].sort((one, other) => other.root.length - one.root.length)
    return path === undefined ? undefined : all.find(({ root }) => isOfProject(path, root))
  }

  const published = new Map<string, string>()
  const unpublished = new Set<string>()
  let isPublishing = false

  /** Tells the editor what is to be said of a file, once it has read what it was told before. */
  async function publish(path: string | undefined): Promise<void> {
    if (path === undefined) return
    unpublished.add(path)
    if (isPublishing) return
    isPublishing = true
    for (const path of unpublished) {
      unpublished.delete(path)
      const document = [...documents.values()].find(one => one.path === path)
      const uri = document?.uri ?? pathToFileURL(path).href
      const diagnostics = [
        ...errors.diagnostics(path, document),
        ...(document === undefined ? [] : texts.diagnostics(document)),
      ]
      const text = JSON.stringify(diagnostics)
      if (text === (published.get(uri) ?? '[]')) continue
      if (text === '[]') published.delete(uri)
      else published.set(uri, text)
      await connection.sendDiagnostics({ uri, diagnostics }).catch(() => {})
      if (!editor.capabilities.workspace?.inlayHint?.refreshSupport) continue
      const refresh = () => connection.languages.inlayHint.refresh()
      // Neovim 0.11 keeps the hints that it draws with the diagnostics, which are the old ones, until it is asked again.
      void refresh()
        .then(refresh)
        .catch(() => {})
    }
    isPublishing = false
  }

  /** The document of a request and its project; undefined where nothing is known of it. */
  function placeOf({ uri }: { readonly uri: string }) {
    const document = documents.get(uri)
    const project = projectOf(document?.path)
    return document === undefined || project === undefined ? undefined : { document, project }
  }

  /** Answers about a place in a document, or with `none`. An answer that nobody wants any more is none. */
  function about<Answer, None>(none: None, answer: (asked: Asked) => Promise<Answer>) {
    return async (
      { textDocument, position }: { textDocument: { uri: string }; position: Position },
      token: CancellationToken,
    ): Promise<Answer | None | ResponseError> => {
      const place = placeOf(textDocument)
      if (place === undefined) return none
      const found = await answer({ ...place, position, hasStatic, signal: signalOf(token) })
      return token.isCancellationRequested ? CANCELLED : found
    }
  }

  connection.onInitialize(params => {
    editor = params
    const { workspaceFolders, rootUri, initializationOptions } = params
    requests.begin(initializationOptions)
    hasStatic = initializationOptions?.static !== false
    const uris = workspaceFolders?.map(({ uri }) => uri) ?? (rootUri ? [rootUri] : [])
    const folders = uris.flatMap(uri => pathOf(uri) ?? [])
    for (const folder of folders.length === 0 ? [process.cwd()] : folders) open(folder)
    return { capabilities: CAPABILITIES, serverInfo: { name: 'imago', version: VERSION } }
  })
  connection.onInitialized(() => {
    if (!editor.capabilities.workspace?.workspaceFolders) return
    connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      for (const { uri } of added) open(pathOf(uri) ?? process.cwd())
      for (const { uri } of removed) close(pathOf(uri) ?? process.cwd())
    })
  })
  connection.onShutdown(async () => {
    await Promise.all([...projects.values()].map(project => project.close()))
  })
  process.once('exit', () => rmSync(plansFolder(), { recursive: true, force: true }))

  connection.onDidOpenTextDocument(({ textDocument: { uri, languageId, text } }) => {
    const language = editorLanguage(languageId)
    if (language === undefined) return
    const document = new TextLines(uri, language, text)
    documents.set(uri, document)
    errors.place(document)
    void publish(document.path)
    const project = projectOf(document.path)
    if (project !== undefined) void texts.check(document, project)
  })
  connection.onDidChangeTextDocument(({ textDocument: { uri }, contentChanges }) => {
    const document = documents.get(uri)
    if (document === undefined) return
    document.change(contentChanges)
    void publish(document.path)
    // An editor that reads a file again says that its text has changed, and not that it was saved.
    const project = projectOf(document.path)
    if (project !== undefined) texts.updateFile(document, project)
  })
  connection.onDidSaveTextDocument(({ textDocument }) => {
    const place = placeOf(textDocument)
    if (place === undefined) return
    errors.place(place.document)
    void publish(place.document.path)
    void texts.check(place.document, place.project)
  })
  connection.onDidCloseTextDocument(({ textDocument: { uri } }) => {
    const document = documents.get(uri)
    if (document === undefined) return
    documents.delete(uri)
    errors.close(document)
    texts.close(document)
    void publish(document.path)
  })

  connection.onCompletion(about(null, complete))
  connection.onSignatureHelp(about(null, signature))
  connection.onDefinition(about(null, async asked => [...(await definition(asked))]))
  connection.onReferences(about(null, async asked => [...(await references(asked))]))
  connection.onHover(
    about(null, async asked => {
      const { document, position } = asked
      const held = errors.heldAt(document, position.line, document.expressionAt(position))
      const now = await hover(asked)
      const value = [held, now].filter(text => text !== undefined).join('\n\n')
      return value === '' ? null : { contents: { kind: 'plaintext' as const, value } }
    }),
  )
  connection.languages.inlayHint.on(({ textDocument, range }) => {
    const document = documents.get(textDocument.uri)
    return document === undefined ? [] : [...errors.hints(document, range.start.line, range.end.line)]
  })
  connection.onCodeAction(({ textDocument, range }) => {
    const place = placeOf(textDocument)
    return place === undefined ? [] : [...actionsAt({ ...place, range }, texts)]
  })
  connection.onExecuteCommand(async ({ command, arguments: args = [] }, token) => {
    const document = args.flatMap(arg => documents.get(String(arg)) ?? [])[0]
    const project = projectOf(document?.path) ?? [...projects.values()][0]
    if (project === undefined) return null
    if (command === 'imago.openPlan' && requests.shows(project, String(args[0]))) return null
    const opensFiles = editor.capabilities.window?.showDocument?.support === true
    const running = { connection, project, document, texts, opensFiles, signal: signalOf(token) }
    return runCommand(command, args, running).catch(
      (error: unknown) => new ResponseError(LSPErrorCodes.RequestFailed, messageOf(error)),
    )
  })
  connection.onRequest((method, params, token) => {
    const [, name] = /^imago\/([a-z_]+)$/.exec(method) ?? []
    if (name === undefined)
      return new ResponseError(ErrorCodes.MethodNotFound, `There is no method ${oneLine(method)}.`)
    // Some clients send no parameters as a list of none.
    const named = Array.isArray(params) ? {} : params
    const { root, ...rest } = (named ?? {}) as { readonly root?: unknown }
    const folder = typeof root === 'string' ? (isAbsolute(root) ? realOf(root) : pathOf(root)) : undefined
    const project = root === undefined ? [...projects.values()][0] : projectOf(folder)
    if (project === undefined)
      return new ResponseError(LSPErrorCodes.RequestFailed, 'No project of this editor has that root.')
    return requests.answer(name, rest, { project, signal: signalOf(token) })
  })
  connection.listen()
  return new Promise(() => {})
}

const CANCELLED = new ResponseError(LSPErrorCodes.RequestCancelled, 'It was cancelled.')

function signalOf(token: CancellationToken): AbortSignal {
  const over = new AbortController()
  if (token.isCancellationRequested) over.abort()
  else token.onCancellationRequested(() => over.abort())
  return over.signal
}
