import * as vscode from 'vscode'
import type { Project } from '../project.ts'
import { evaluate, type ValueNode } from '../values.ts'

/** Results of evaluations behind their code, until the text changes there. */
export class Results {
  readonly #style = vscode.window.createTextEditorDecorationType({
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  })
  /** By document and line. */
  readonly #shown = new Map<vscode.TextDocument, Map<number, vscode.DecorationOptions>>()

  register(): vscode.Disposable[] {
    return [
      this.#style,
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && this.#shown.delete(document)) this.#draw(document)
      }),
      vscode.workspace.onDidCloseTextDocument(document => void this.#shown.delete(document)),
      vscode.window.onDidChangeVisibleTextEditors(editors => {
        for (const { document } of editors) this.#draw(document)
      }),
    ]
  }

  /** Evaluates what is selected, or the line of the cursor. Answers with the value, where that is worth a closer look. */
  async evaluate(
    project: Project,
    { document, selection }: vscode.TextEditor,
  ): Promise<ValueNode | undefined> {
    const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection
    const { start, end } = range
    // A selection of whole lines ends before the next one.
    const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line
    const text = document.getText(range)
    if (text.trim() === '') return
    const { version, languageId, uri } = document
    const file = uri.scheme === 'file' ? uri.fsPath : undefined
    const answer = await evaluate(project, { text, file, languageId, line: start.line + 1 })
    if (document.version !== version || document.isClosed) return answer.value
    const color = new vscode.ThemeColor(answer.ok ? 'editorCodeLens.foreground' : 'editorError.foreground')
    const drawn = {
      range: document.lineAt(last).range,
      // A block of code, longer fences than any in the text: nothing in it is read as markup.
      hoverMessage: new vscode.MarkdownString().appendCodeblock(answer.text, 'plaintext'),
      renderOptions: { after: { contentText: `  ${answer.short}`, color } },
    }
    this.#shown.set(document, (this.#shown.get(document) ?? new Map()).set(last, drawn))
    this.#draw(document)
    return answer.value
  }

  #draw(document: vscode.TextDocument): void {
    const drawn = [...(this.#shown.get(document)?.values() ?? [])]
    for (const editor of vscode.window.visibleTextEditors)
      if (editor.document === document) editor.setDecorations(this.#style, drawn)
  }
}
