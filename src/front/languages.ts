import { type Language, languageNamed } from '../../wire/languages.ts'
import type { Blocks } from './blocks.ts'
import type { DaemonClient } from './client.ts'
import type { Area, Check } from './commands/checks.ts'

/** What the front ends know of a language besides its colours. Whatever is large is loaded when it is wanted. */
interface FrontLanguage {
  /** Puts typed lines together to what is run at once. */
  blocks(how: { readonly emptyLineEnds: boolean }): Promise<Blocks>
  /** What a person does where there is no far end to install. */
  readonly insteadOfRuntime?: string
  /** For `imago doctor`: whether a kernel can be started here; and what that is called where nothing can be checked. */
  check(client: DaemonClient, language: Language): Promise<Area>
  unchecked(unknown: (name: string) => Check): Promise<readonly Check[]>
}

const FRONT: Readonly<Record<string, FrontLanguage>> = {
  python: {
    blocks: async how => (await import('./blocks.ts')).openBlocks(how),
    check: async (client, language) => (await import('./commands/checks.ts')).checkPython(client, language),
    unchecked: async unknown => [
      (await import('./commands/checks.ts')).findInterpreter(),
      unknown('a kernel'),
    ],
  },
  lisp: {
    blocks: async how => (await import('./lisp-blocks.ts')).openLispBlocks(how),
    insteadOfRuntime:
      'There is nothing to install for Lisp: Imago speaks through Swank, which the image has already, and leaves nothing ' +
      'there. In the image: (swank:create-server :dont-close t)   Then: imago attach swank://4005',
    check: async (client, language) => (await import('./commands/checks.ts')).checkLisp(client, language),
    unchecked: async unknown => [unknown('a lisp kernel')],
  },
}

/** Undefined for a language that Imago does not know. */
export const frontLanguage = (name: string): FrontLanguage | undefined =>
  languageNamed(name) === undefined ? undefined : FRONT[name]
