import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { type Diagnostic, DiagnosticSeverity } from 'vscode-languageserver/node'
import { oneLine } from '../../../tools/text.ts'
import { languageNamed } from '../../../wire/languages.ts'
import type { Mark, TextLines } from './documents.ts'
import { differing } from './names.ts'
import type { Project } from './project.ts'

/** A definition whose text in the file is not what runs. */
interface Differs {
  readonly name: string
  readonly mark: Mark
}

/** Why no compiler takes the file of a document, said once for all of its definitions. */
interface Invalid {
  readonly why: string
  readonly mark: Mark
}

/** Lines of a document and definitions in it that are looked at, at most. */
const [MOST_LINES, MOST_NAMES] = [20_000, 200]

/** Which definitions of open documents have another text in their file than the one that runs. */
export class TextsThatRun {
  readonly #found = new Map<TextLines, readonly Differs[]>()
  readonly #invalid = new Map<TextLines, Invalid>()
  /** The last check of each, the lives of the kernels that it asked, and the change of the file that it knew. */
  readonly #checks = new Map<TextLines, { readonly lives: string; readonly change: string }>()
  readonly #changed: (document: TextLines) => void

  constructor(changed: (document: TextLines) => void) {
    this.#changed = changed
  }

  /** Asks about all of its definitions. A newer check of the document takes the place of this one. */
  async check(document: TextLines, project: Project): Promise<void> {
    const check = { lives: livesOf(document, project), change: changeOf(document) }
    this.#checks.set(document, check)
    const lines = linesByName(document)
    const { names, invalid } =
      check.lives === '' ? { names: [] } : await differing({ project, document }, [...lines.keys()])
    if (this.#checks.get(document) !== check) return
    document.forget((this.#found.get(document) ?? []).map(({ mark }) => mark))
    const before = this.#invalid.get(document)
    if (before !== undefined) document.forget([before.mark])
    if (invalid === undefined) this.#invalid.delete(document)
    else this.#invalid.set(document, { why: invalid, mark: document.mark(lineOf(invalid, document)) })
    // Where they stand now, as the document may have changed meanwhile.
    const now = linesByName(document)
    const found = names.flatMap(name => {
      const line = now.get(name)
      return line === undefined ? [] : [{ name, mark: document.mark(line) }]
    })
    this.#found.set(document, found)
    this.#changed(document)
  }

  /** The kernels of a project have changed: documents whose names others may have now are checked again. */
  update(document: TextLines, project: Project): void {
    const known = this.#checks.get(document)
    if (known !== undefined && known.lives !== livesOf(document, project)) void this.check(document, project)
  }

  /** Checks it again where its file has changed since. */
  updateFile(document: TextLines, project: Project): void {
    const known = this.#checks.get(document)
    if (known !== undefined && known.change !== changeOf(document)) void this.check(document, project)
  }

  close(document: TextLines): void {
    this.#checks.delete(document)
    this.#found.delete(document)
    this.#invalid.delete(document)
  }

  /** Those that stand on these lines, from 0, the last one included. */
  on(
    document: TextLines,
    from: number,
    to: number,
  ): readonly { readonly name: string; readonly line: number }[] {
    return (this.#found.get(document) ?? []).flatMap(({ name, mark: { line } }) =>
      line === undefined || line < from || line > to ? [] : [{ name, line }],
    )
  }

  diagnostics(document: TextLines): readonly Diagnostic[] {
    const { why, mark } = this.#invalid.get(document) ?? {}
    if (why !== undefined && mark?.line !== undefined)
      return [
        {
          severity: DiagnosticSeverity.Information,
          source: 'imago',
          code: 'invalid',
          message: invalidWords(why, document),
          range: document.rangeOf(mark.line),
        },
      ]
    return this.on(document, 0, document.lines.length).map(({ name, line }) => ({
      severity: DiagnosticSeverity.Information,
      source: 'imago',
      code: 'differs',
      message: `The program runs another ${name} than the file has.`,
      range: document.rangeOf(line),
    }))
  }
}

/** Where a compiler says the line of its fault: `SyntaxError: invalid syntax (<text>, line 31)`. */
const FAULT_LINE = / \(<text>, line (\d+)\)$/

/** From 0; the first line where none is told. */
function lineOf(fault: string, { lines }: TextLines): number {
  const line = Number(FAULT_LINE.exec(fault)?.[1] ?? 1)
  return Math.max(0, Math.min(line, lines.length) - 1)
}

function invalidWords(fault: string, { path = '', language }: TextLines): string {
  const title = languageNamed(language.name)?.title ?? language.name
  return oneLine(`${basename(path)} is not valid ${title}: ${fault.replace(FAULT_LINE, ', line $1')}`)
}

/** Empty where none lives. */
const livesOf = ({ language }: TextLines, project: Project) =>
  project
    .kernelsOf(language.name)
    .map(({ name, epoch }) => `${name} ${epoch}`)
    .sort()
    .join('\n')

/** Another one after each change of its file. */
function changeOf({ path }: TextLines): string {
  const stats = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? '' : `${stats.ino} ${stats.mtimeMs} ${stats.size}`
}

/** The first line of each top-level definition. */
function linesByName({ language, lines }: TextLines): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const [line, text] of lines.slice(0, MOST_LINES).entries()) {
    const [, name] = language.definition?.exec(text) ?? []
    if (name !== undefined && found.size < MOST_NAMES) found.set(name, line)
  }
  return found
}
