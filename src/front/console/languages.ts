import { type Image, languageOf } from '../image.ts'
import { highlight, highlightAt } from './highlight.ts'
import { LISP } from './lisp.ts'
import { highlightLisp, highlightLispAt } from './lisp-highlight.ts'
import { PYTHON } from './python.ts'
import type { Span } from './style.ts'
import type { Syntax } from './syntax.ts'

/** How one language is typed and coloured at the console. */
export interface Language {
  readonly syntax: Syntax
  highlight(text: string): Span[]
  /** The same, and the bracket at the cursor with its other half. */
  highlightAt(text: string, cursor: number): Span[]
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  python: { syntax: PYTHON, highlight, highlightAt },
  lisp: { syntax: LISP, highlight: highlightLisp, highlightAt: highlightLispAt },
}

/** By its name, as a kernel and a fence around its code tell it; Python's for one that is not known. */
export function languageNamed(name: string): Language {
  const language = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined
  return language ?? { syntax: PYTHON, highlight, highlightAt }
}

/** The language of the kernel that the console speaks to at this moment. */
export interface Spoken {
  readonly language: Language
  /** Learns it anew where another kernel is spoken to than the last time. */
  follow(): Promise<void>
}

export function openSpoken(image: Image): Spoken {
  let language = languageNamed('python')
  let kernel: string | undefined
  return {
    get language() {
      return language
    },
    async follow() {
      if (image.kernel === kernel) return
      const name = await languageOf(image)
      if (name === undefined) return
      kernel = image.kernel
      language = languageNamed(name)
    },
  }
}
