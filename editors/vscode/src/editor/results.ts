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
        if (contentChanges.length > 0 && this.#shown.delete(document)) this.#draw()
      }),
      vscode.workspace.onDidCloseTextDocument(document => void this.#shown.delete(document)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
    ]
  }

  /** Evaluates what is selected, or the line of the cursor. Answers with the value, where that is worth a closer look. */
  async evaluate(project: Project, editor: vscode.TextEditor): Promise<ValueNode | undefined> {
    const { document, selection } = editor
    const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection
    const { start, end } = range
    // A selection of whole lines ends before the next one.
    const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line
    const text = document.getText(range)
    if (text.trim() === '') return
    const { version, languageId, uri } = document
    const file = uri.scheme === 'file' ? uri.fsPath : undefined
    const put = (said: string, hoverMessage: vscode.MarkdownString | string, isFault = false) => {
      if (document.version !== version || document.isClosed) return
      const color = new vscode.ThemeColor(isFault ? 'editorError.foreground' : 'editorCodeLens.foreground')
      const renderOptions = { after: { contentText: `  ${said}`, color } }
      const drawn = { range: document.lineAt(last).range, hoverMessage, renderOptions }
      this.#shown.set(document, (this.#shown.get(document) ?? new Map()).set(last, drawn))
      this.#draw()
    }
    put('… runs', 'Imago: Stop the Evaluation')
    const answer = await evaluate(project, { text, file, languageId, line: start.line + 1 })
    // A block of code, longer fences than any in the text: nothing in it is read as markup.
    put(answer.short, new vscode.MarkdownString().appendCodeblock(answer.text, 'plaintext'), !answer.ok)
    return answer.value
  }

  #draw(): void {
    for (const editor of vscode.window.visibleTextEditors)
      editor.setDecorations(this.#style, [...(this.#shown.get(editor.document)?.values() ?? [])])
  }
}
