import * as vscode from 'vscode'
import { escapeLine } from '../../../../src/text/escape.ts'

/** Texts of programs and models in places of VS Code that read some of a text as icons or links. They stay text. */

/** In one line without whole check sums, where `[text](command:…)` would be a link. */
const plain = (text: string): string =>
  escapeLine(text.trim().replaceAll('\n', ' '))
    .replace(/\b([0-9a-f]{8})[0-9a-f]{56}\b/g, '$1…')
    .replaceAll('](', '] (')

/** For labels, where `$(name)` is an icon. */
export const plainLabel = (text: string): string => escapeLine(text).replaceAll('$(', '\\$(')

/** For what is above a field, where both are read. */
export const plainPrompt = (text: string): string => plain(text).replaceAll('$(', '\\$(')

/** What a person asked for, told without taking the focus. */
export function tell(text: string): void {
  void vscode.window.showInformationMessage(`Imago: ${plain(text)}`)
}
