/**
 * S-expressions as Swank writes and reads them.
 *
 * What we send is built of `Form`s and never pasted together from text: a caller's text can only become a string
 * literal. What we read is tolerant: whatever Lisp printed becomes some value, and unreadable objects stay text.
 */

/** Something to send. Symbols come from our own source code alone, which `symbol` marks. */
export type Form = string | number | boolean | null | Symbolic | readonly Form[]

/** A symbol with its package, as Lisp reads it: `cl:funcall`, `:emacs-rex`. */
interface Symbolic {
  readonly symbol: string
}

const SYMBOL = /^(?::|[a-z][a-z0-9/.-]*::?)?(?![+-]\.?\d)[a-z*%+=/-][a-z0-9*%+=/.-]*$/

/** A symbol of our own source code. Throws for text that could be read as anything else. */
export function symbol(name: string): Symbolic {
  if (!SYMBOL.test(name)) throw new TypeError(`${JSON.stringify(name)} is no symbol`)
  return { symbol: name }
}

/**
 * Text for a form: strings escape `\` and `"` and nothing else, `true` is `t`, `false` and `null` are `nil`. Throws
 * for a number that is no whole one, and for what only looks like a symbol of ours.
 */
export function write(form: Form): string {
  if (typeof form === 'string') return `"${form.replace(/[\\"]/g, '\\$&')}"`
  if (typeof form === 'number') return integer(form)
  if (form === true) return 't'
  if (form === false || form === null) return 'nil'
  // Checked once more: an object that looks like this may have come from a caller's JSON.
  if ('symbol' in form) return symbol(form.symbol).symbol
  return `(${form.map(write).join(' ')})`
}

function integer(value: number): string {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is no integer`)
  return String(value)
}

/** `'form`: what the evaluator is given as it stands. */
export const quote = (form: Form): Form => [symbol('cl:quote'), form]

/** What was read: a text is an object of its own, so that `"nil"` and `nil` differ. The empty list is `null`. */
export type Sexp = number | bigint | null | Text | Atom | Dotted | Literal | readonly Sexp[]

/** A string literal. */
export interface Text {
  readonly text: string
}

/** A symbol, keyword, character, ratio, or anything else that was printed: as text, lower case as Swank prints. */
export interface Atom {
  readonly atom: string
}

/** A list whose last tail is no list: `(a b . c)`. */
interface Dotted {
  readonly list: readonly Sexp[]
  readonly tail: Sexp
}

/** What `#` was printed before: a vector (`#`), an array (`#2a`), a structure (`#s`), a pathname (`#p`). */
interface Literal {
  readonly prefix: string
  readonly items: readonly Sexp[]
}
