import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import {
  type CancellationToken,
  createMessageConnection,
  type Diagnostic,
  type InitializeParams,
  type InitializeResult,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver/node'
import type { Wishes } from '../../src/front/lsp/requests.ts'
import { MAIN, type Rig, until } from './rig.ts'

/** A real client of the language server protocol, with the compiled `imago lsp` behind it. */
export interface Editor {
  readonly server: ChildProcess
  readonly initialized: InitializeResult
  /** All that the server has said by itself, oldest first. */
  readonly heard: readonly { readonly method: string; readonly params: unknown }[]
  /** Messages that were shown to the person. */
  messages(): readonly string[]
  request<Answer = unknown>(method: string, params?: unknown, token?: CancellationToken): Promise<Answer>
  notify(method: string, params: unknown): Promise<void>
  /** Opens a file with the text that it has, or with another; answers with its URI. */
  open(path: string, options?: { readonly text?: string; readonly languageId?: string }): Promise<string>
  /** Puts `text` in the place of lines, from 0, the last one not included. */
  replaceLines(uri: string, from: number, to: number, text: string): Promise<void>
  /** What the server says of a file by now. */
  diagnostics(uri: string): readonly Diagnostic[]
  /** A question about the first place where the document says that; `at`: characters behind its beginning. */
  ask<Answer = unknown>(method: string, uri: string, said: string, at?: number): Promise<Answer>
  close(): Promise<void>
}

export interface EditorOptions {
  readonly roots: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly capabilities?: InitializeParams['capabilities']
  /** What a plugin wants of each project from the start. */
  readonly initializationOptions?: Wishes
  /** What the person chooses of a message with buttons. */
  chooses?(message: string, buttons: readonly string[]): string | undefined | Promise<string | undefined>
  /** Told of each notification of the server as it comes. */
  hears?(method: string, params: unknown): void
}

export async function openEditor(rig: Pick<Rig, 'env' | 'folder'>, options: EditorOptions): Promise<Editor> {
  const { roots, env = {}, capabilities = {}, initializationOptions, chooses, hears } = options
  const given = Object.entries({ ...rig.env, ...env }).filter(([, value]) => value !== undefined)
  const server = spawn(process.execPath, [MAIN, 'lsp', '--stdio'], {
    cwd: rig.folder,
    env: Object.fromEntries(given),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const connection = createMessageConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  )
  server.stdin.on('error', () => {})
  const heard: { method: string; params: unknown }[] = []
  const said = new Map<string, readonly Diagnostic[]>()
  const texts = new Map<string, string>()
  let version = 0
  connection.onNotification((method, params) => {
    heard.push({ method, params })
    hears?.(method, params)
    const { uri, diagnostics } = params as { uri: string; diagnostics: Diagnostic[] }
    if (method === 'textDocument/publishDiagnostics') said.set(uri, diagnostics)
  })
  connection.onRequest(async (method, params) => {
    heard.push({ method, params })
    if (method !== 'window/showMessageRequest') return null
    const { message, actions = [] } = params as { message: string; actions?: { title: string }[] }
    const title = await chooses?.(
      message,
      actions.map(one => one.title),
    )
    return title === undefined ? null : { title }
  })
  connection.listen()
  const workspaceFolders = roots.map(root => ({ uri: pathToFileURL(root).href, name: root }))
  const initialized = await connection.sendRequest<InitializeResult>('initialize', {
    processId: process.pid,
    clientInfo: { name: 'Test' },
    rootUri: null,
    capabilities: { workspace: { workspaceFolders: true }, ...capabilities },
    workspaceFolders,
    initializationOptions,
  })
  await connection.sendNotification('initialized', {})
  const place = (uri: string, text: string, at = 0) => {
    const found = texts.get(uri)?.indexOf(text) ?? -1
    if (found < 0) throw new Error(`${uri} does not say ${text}`)
    const lines = (texts.get(uri) ?? '').slice(0, found + at).split('\n')
    return { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 }
  }
  return {
    server,
    initialized,
    heard,
    messages: () =>
      heard
        .filter(({ method }) => method.startsWith('window/showMessage'))
        .map(({ params }) => (params as { message: string }).message),
    request: (method, params = {}, token?) =>
      connection.sendRequest(method, ...(token === undefined ? [params] : [params, token])),
    notify: (method, params) => connection.sendNotification(method, params as object),
    async open(path, { text = readFileSync(path, 'utf8'), languageId = 'python' } = {}) {
      const uri = pathToFileURL(path).href
      texts.set(uri, text)
      const textDocument = { uri, languageId, version: ++version, text }
      await connection.sendNotification('textDocument/didOpen', { textDocument })
      return uri
    },
    async replaceLines(uri, from, to, text) {
      const lines = (texts.get(uri) ?? '').split('\n')
      const put = text === '' ? [] : text.replace(/\n$/, '').split('\n')
      texts.set(uri, [...lines.slice(0, from), ...put, ...lines.slice(to)].join('\n'))
      const range = { start: { line: from, character: 0 }, end: { line: to, character: 0 } }
      await connection.sendNotification('textDocument/didChange', {
        textDocument: { uri, version: ++version },
        contentChanges: [{ range, text }],
      })
    },
    diagnostics: uri => said.get(uri) ?? [],
    ask: (method, uri, text, at) =>
      connection.sendRequest(`textDocument/${method}`, {
        textDocument: { uri },
        position: place(uri, text, at),
        context: { includeDeclaration: true },
      }),
    async close() {
      if (server.exitCode !== null || server.signalCode !== null) return
      const ended = new Promise(resolve => server.once('exit', resolve))
      await connection.sendRequest('shutdown').catch(() => {})
      await connection.sendNotification('exit').catch(() => {})
      await ended
    },
  }
}

/** Waits until the server says of a file what is expected. */
export async function says(
  editor: Editor,
  uri: string,
  expected: RegExp | undefined,
): Promise<readonly Diagnostic[]> {
  const text = () =>
    editor
      .diagnostics(uri)
      .map(({ range, message }) => `${range.start.line}: ${message}`)
      .join('\n')
  await until(
    () => (expected === undefined ? text() === '' : expected.test(text())),
    `${uri} to have ${expected ?? 'no diagnostics'}`,
  ).catch((error: Error) => {
    throw new Error(`${error.message}; it has: ${text()}`)
  })
  return editor.diagnostics(uri)
}
