import * as vscode from 'vscode'
import { escapeLine } from '../values.ts'

/** Texts of programs and models in places of VS Code that read some of a text as icons or links. They stay text. */

/** For labels, where `$(name)` is an icon. */
export const plainLabel = (text: string): string => escapeLine(text).replaceAll('$(', '\\$(')

/** The first sentence, without whole check sums: what comes behind it is for a model. */
export const sentence = (text: string): string =>
  (/^.*?(?:[.!?](?=\s)|$)/m.exec(text)?.[0] ?? '').replace(/\b([0-9a-f]{8})[0-9a-f]{56}\b/g, '$1…')

/** What a person asked for, told without taking the focus. `[text](command:…)` would be a link in a message. */
export function tell(text: string): void {
  void vscode.window.showInformationMessage(`Imago: ${escapeLine(sentence(text)).replaceAll('](', '] (')}`)
}
