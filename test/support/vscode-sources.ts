import { sha256 } from '../../src/sha256.ts'
import { filesIn, textOf } from './imports.ts'

/** Where `npm run test:vscode` writes down its last run. */
export const LAST_RUN = 'test/editors/vscode-last-run.json'

/**
 * The sha256 of all that makes the extension of VS Code what it is in an editor. What it bundles of `src` knows no editor,
 * and is tested without one.
 */
export function extensionSha256(): string {
  const files = [
    ...filesIn(['editors/vscode/src'], ['.ts']),
    'editors/vscode/package.json',
    'editors/vscode/vsix.mjs',
  ]
  return sha256(JSON.stringify(files.map(path => [path, textOf(path)])))
}
