import * as vscode from 'vscode'
import { escapeLine } from '../../../../src/text/escape.ts'

/** For labels, where `$(name)` is an icon. */
export const plainLabel = (text: string): string => escapeLine(text).replaceAll('$(', '\\$(')

/** For sentences, where `[text](command:…)` is a link. Their check sums are shortened. */
export const plainSentence = (text: string): string =>
  escapeLine(text.trim().replaceAll('\n', ' '))
    .replace(/\b([0-9a-f]{8})[0-9a-f]{56}\b/g, '$1…')
    .replaceAll('](', '] (')

/** What a person asked for, told without taking the focus. */
export function tell(text: string): void {
  void vscode.window.showInformationMessage(`Imago: ${plainSentence(text)}`)
}
