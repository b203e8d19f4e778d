import * as vscode from 'vscode'
import type { Project } from '../project.ts'
import { type Evaluated, evaluate } from '../values.ts'

/** Results of evaluations behind their code, until the text changes there. */
export class Results {
  readonly #done = style('editorCodeLens.foreground')
  readonly #failed = style('editorError.foreground')
  /** By document and line. */
  readonly #shown = new Map<string, Map<number, Evaluated>>()
  last: Evaluated | undefined

  register(): vscode.Disposable[] {
    return [
      this.#done,
      this.#failed,
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && this.#shown.delete(document.uri.toString())) this.#draw(document)
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => void this.#shown.delete(uri.toString())),
      vscode.window.onDidChangeVisibleTextEditors(editors => {
        for (const { document } of editors) this.#draw(document)
      }),
    ]
  }

  /** Evaluates what is selected, or the line of the cursor. */
  async evaluate(project: Project, { document, selection }: vscode.TextEditor): Promise<void> {
    const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection
    // A selection of whole lines ends before the next one.
    const to =
      range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line
    const text = document.getText(range)
    if (text.trim() === '') return
    const { version } = document
    const file = document.uri.scheme === 'file' ? document.uri.fsPath : undefined
    const code = { text, file, languageId: document.languageId, line: range.start.line + 1 }
    const evaluated = await evaluate(project, code)
    this.last = evaluated
    if (document.version !== version || document.isClosed) return
    const key = document.uri.toString()
    this.#shown.set(key, (this.#shown.get(key) ?? new Map()).set(to, evaluated))
    this.#draw(document)
  }

  #draw(document: vscode.TextDocument): void {
    const all = [...(this.#shown.get(document.uri.toString()) ?? [])]
    const drawn = (isOk: boolean) =>
      all
        .filter(([line, { ok }]) => ok === isOk && line < document.lineCount)
        .map(([line, { short, text }]) => {
          const at = document.lineAt(line).range
          // A block of code, longer fences than any in the text: nothing in it is read as markup.
          const hoverMessage = new vscode.MarkdownString().appendCodeblock(text, 'plaintext')
          return { range: at, hoverMessage, renderOptions: { after: { contentText: `  ${short}` } } }
        })
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document !== document) continue
      editor.setDecorations(this.#done, drawn(true))
      editor.setDecorations(this.#failed, drawn(false))
    }
  }
}

const style = (color: string) =>
  vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor(color) },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  })
