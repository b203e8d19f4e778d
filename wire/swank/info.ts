import { isAtom, textOf } from './connection.ts'
import type { Sexp } from './sexp.ts'
import { inShort } from './short.ts'

/** Characters of one name or version. */
const MOST_CHARACTERS = 200

/** What a Swank server says of itself and its Lisp. What it leaves out is null or empty. */
export interface SwankInfo {
  /** Of the process; null where the Lisp does not know it. */
  readonly pid: number | null
  /** How it serves: with threads, by signals, while it waits for input, or not while anything else runs. */
  readonly style: 'spawn' | 'sigio' | 'fd-handler' | null
  /** Type and version of the Lisp: `SBCL`, `2.2.9.debian`. */
  readonly implementation: { readonly name: string; readonly version: string }
  /** Of Swank: `2.27`. */
  readonly version: string | null
  /** The name of the machine, as the Lisp gives it. */
  readonly machine: string | null
  /** The package of new threads: `COMMON-LISP-USER`. */
  readonly package: string | null
  /** What was loaded by `require` and `swank-require`, such as `SWANK-REPL`. */
  readonly modules: readonly string[]
  /** `*features*`, in lower case and without colons. */
  readonly features: readonly string[]
}

/** Reads what `swank:connection-info` answers, or undefined for what is no list of properties. */
export function swankInfo(answer: Sexp): SwankInfo | undefined {
  const told = properties(answer)
  if (told.size === 0) return undefined
  const lisp = properties(told.get(':lisp-implementation'))
  const pid = told.get(':pid')
  return {
    pid: typeof pid === 'number' ? pid : null,
    style: styleOf(told.get(':style')),
    implementation: { name: nameOf(lisp.get(':type')), version: nameOf(lisp.get(':version')) },
    version: textOrNull(told.get(':version')),
    machine: textOrNull(properties(told.get(':machine')).get(':instance')),
    package: textOrNull(properties(told.get(':package')).get(':name')),
    modules: listOf(told.get(':modules')).map(nameOf),
    features: listOf(told.get(':features')).flatMap(one => (isAtom(one) ? [one.atom.replace(/^:/, '')] : [])),
  }
}

function styleOf(value: Sexp | undefined): SwankInfo['style'] {
  const name = isAtom(value) ? value.atom.slice(1) : ''
  return name === 'spawn' || name === 'sigio' || name === 'fd-handler' ? name : null
}

/** `(:key value …)`, as far as it has that form. */
function properties(value: Sexp | undefined): ReadonlyMap<string, Sexp> {
  const list = listOf(value)
  const found = new Map<string, Sexp>()
  for (let at = 0; at + 1 < list.length; at += 2) {
    const key = list[at]
    if (isAtom(key)) found.set(key.atom, list[at + 1] ?? null)
  }
  return found
}

const listOf = (value: Sexp | undefined): readonly Sexp[] => (Array.isArray(value) ? value : [])
const nameOf = (value: Sexp | undefined) => inShort(textOf(value), MOST_CHARACTERS)
const textOrNull = (value: Sexp | undefined): string | null => nameOf(value) || null
