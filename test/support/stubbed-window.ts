import { join } from 'node:path'
import { build } from 'esbuild'
import type { Wishes } from '../../src/front/lsp/requests.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { type Editor, openEditor } from './editor.ts'
import { assert } from './harness.ts'
import { type Rig, until, within } from './rig.ts'
import { loadExtension, type Uri, type VsCode } from './vscode-stub.ts'

/** The whole extension of VS Code on a project, with a stub in the place of the editor and the real `imago lsp` behind it. */
export interface StubbedWindow {
  readonly vscode: VsCode
  /** The connection to `imago lsp`, once that has been started. */
  editor(): Editor | undefined
  /** The extension is told that by `imago lsp`. */
  hear(method: string, params: object): void
  /** `imago lsp` is killed, and its client starts it again. */
  restarts(): Promise<void>
  /** Something waits, as the sign says. */
  waits(): boolean
  /** Calls a tool whose plan then waits. */
  propose(
    tool: string,
    args: object,
    how?: { readonly name?: string },
  ): Promise<{ ended(): Promise<Envelope> }>
  /** Opens the plan that waits. */
  openPlan(): Promise<ShownDocuments>
  /** The plan that was opened last. */
  planShown(): ShownDocuments
  /** Lenses of a document, behind their lines. */
  titles(uri: Uri): readonly string[]
  /** Presses the first lens of a document that has that title. */
  press(uri: Uri, title: string): Promise<void>
  /** Runs a command of the extension. */
  run(name: string, ...args: unknown[]): Promise<void>
  close(): Promise<void>
}

interface ShownDocuments {
  readonly summary: Uri
  /** Of its first file. */
  readonly before: Uri
  readonly after: Uri
  readonly files: readonly (readonly Uri[])[]
}

/** Bundles, loads and activates it; `imago.command` is no program before it is set. */
export async function openStubbedWindow(rig: Rig): Promise<StubbedWindow> {
  let editor: Editor | undefined
  let client: LanguageClient | undefined

  /** As `vscode-languageclient` has it, as far as the extension asks for it. */
  class LanguageClient {
    readonly heard = new Map<string, (params: unknown) => void>()
    readonly #wishes: Wishes
    #changed: (change: { newState: number }) => void = () => {}
    constructor(
      ...[, , , { initializationOptions }]: [string, string, unknown, { initializationOptions: Wishes }]
    ) {
      this.#wishes = initializationOptions
      client = this
    }
    onNotification = (method: string, heard: (params: unknown) => void) => void this.heard.set(method, heard)
    onDidChangeState = (changed: (change: { newState: number }) => void) => {
      this.#changed = changed
    }
    sendRequest = (method: string, params: object) => editor?.request(method, params)
    /** As the client does where its server was killed. */
    async restarts() {
      editor?.server.kill('SIGKILL')
      this.#changed({ newState: 1 })
      await this.start()
    }
    async start() {
      const initializationOptions = this.#wishes
      editor = await openEditor(rig, { roots: [rig.project], initializationOptions, hears: hear })
      this.#changed({ newState: 2 })
    }
  }

  const hear = (method: string, params: unknown) => client?.heard.get(method)?.(params)
  const bundle = join(rig.folder, 'extension.cjs')
  await build({
    entryPoints: [join(PACKAGE_ROOT, 'editors/vscode/src/editor/extension.ts')],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['vscode', 'vscode-languageclient/node'],
    supported: { 'dynamic-import': false },
  })
  const loaded = loadExtension(bundle, {
    folder: rig.project,
    client: { LanguageClient, State: { Running: 2 } },
  })
  const { vscode } = loaded
  loaded.extension.activate({ subscriptions: [] })

  const waits = () => /waits/.test(vscode.status.text)
  const run = async (name: string, ...args: unknown[]) => void (await vscode.commands.get(name)?.(...args))
  function planShown(): ShownDocuments {
    const changes = vscode.ran.findLast(([name]) => name === 'vscode.changes')
    const [[summary] = [], ...files] = (changes?.[2] ?? []) as Uri[][]
    const [[, before, after] = []] = files
    assert.ok(summary && after && before)
    return { summary, after, before, files: files.map(([, ...sides]) => sides) }
  }

  return {
    vscode,
    editor: () => editor,
    hear,
    restarts: async () => client?.restarts(),
    waits,
    async propose(tool, args, how) {
      let came: Envelope | undefined
      const caller = await rig.connect(how)
      const call = caller.call({ tool, args }).then(answer => {
        came = answer
        return answer
      })
      await until(() => waits() || came !== undefined, 'the sign')
      assert.is(came, undefined, JSON.stringify(came))
      return { ended: () => within(call, 'its end') }
    },
    async openPlan() {
      await run('imago.waits')
      return planShown()
    },
    planShown,
    titles: uri => vscode.lenses(uri).map(({ command, line }) => `${line} ${command.title}`),
    async press(uri, title) {
      const { command } = vscode.lenses(uri).find(one => one.command.title === title) ?? {}
      assert.ok(command, title)
      await run(command.command, ...command.arguments)
    },
    run,
    async close() {
      await editor?.close()
    },
  }
}

/** A key that is pressed so long after that its press is another one. */
export function later(): void {
  const { now } = Date
  Date.now = () => now() + 1_000
}
