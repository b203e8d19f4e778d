import * as vscode from 'vscode'
import { faultText } from '../project.ts'
import { line } from '../values.ts'

/** Texts of programs and models in places of VS Code that read some of a text as icons or links. They stay text. */

/** For labels, where `$(name)` is an icon. */
export const plainLabel = (text: string): string => line(text).replaceAll('$(', '\\$(')

/** For messages, where `[text](command:…)` is a link. */
export const plainMessage = (text: string): string => line(text).replaceAll('](', '] (')

/** What a person asked for, told without taking the focus. */
export function tell(text: string): void {
  void vscode.window.showInformationMessage(plainMessage(`Imago: ${text}`))
}

export function tellFault(fault: unknown): void {
  void vscode.window.showWarningMessage(plainMessage(`Imago: ${faultText(fault)}`))
}

/** Documents that are texts of ours, which nobody edits, by their addresses. */
export class VirtualTexts implements vscode.TextDocumentContentProvider {
  readonly #texts = new Map<string, () => string>()
  readonly #changed = new vscode.EventEmitter<vscode.Uri>()
  readonly onDidChange = this.#changed.event

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString())?.() ?? ''
  }

  set(uri: vscode.Uri, text: () => string): vscode.Uri {
    this.#texts.set(uri.toString(), text)
    this.#changed.fire(uri)
    return uri
  }

  changed(uri: vscode.Uri): void {
    this.#changed.fire(uri)
  }

  forget(uri: vscode.Uri): void {
    this.#texts.delete(uri.toString())
  }

  /** Shows a text to read. */
  async show(name: string, text: string): Promise<void> {
    const uri = this.set(vscode.Uri.from({ scheme: 'imago-text', path: `/${name}` }), () =>
      text.split('\n').map(line).join('\n'),
    )
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true })
  }
}
