import type { ScriptNews } from '../kernel.ts'

/** What an image of ours tells of its start and of its program, in lines among what it prints. */
export type StartNews =
  /** What it does now, for whoever waits. */
  | { readonly type: 'doing'; readonly what: string }
  | { readonly type: 'listening'; readonly port: number; readonly pid: number }
  /** There is no Swank to be loaded. */
  | { readonly type: 'no-swank' }
  /** An error that nobody handled, before it was ready. */
  | { readonly type: 'broken'; readonly why: string }
  | { readonly type: 'script'; readonly news: ScriptNews }

const BEGIN = '\x1e'

/** A longer line is none of ours. */
const MOST_CHARACTERS = 4_096

/** Takes the lines of news out of a stream of text. They begin with a word that only the image and we know. */
export class StartNewsReader {
  readonly #mark: string
  #held = ''

  constructor(word: string) {
    this.#mark = `${BEGIN}${word} `
  }

  /** What of the text was printed, and what was told, in order. */
  read(text: string): { readonly printed: string; readonly news: readonly StartNews[] } {
    let rest = this.#held + text
    let printed = ''
    const news: StartNews[] = []
    this.#held = ''
    for (;;) {
      const at = rest.indexOf(BEGIN)
      if (at === -1) return { printed: printed + rest, news }
      printed += rest.slice(0, at)
      rest = rest.slice(at)
      const end = rest.indexOf('\n')
      const isOurs = rest.startsWith(this.#mark) || (end === -1 && this.#mark.startsWith(rest))
      if (isOurs && end !== -1) {
        const told = newsOf(rest.slice(this.#mark.length, end))
        if (told !== undefined) news.push(told)
        rest = rest.slice(end + 1)
      } else if (isOurs && rest.length < MOST_CHARACTERS) {
        this.#held = rest
        return { printed, news }
      } else {
        printed += BEGIN
        rest = rest.slice(BEGIN.length)
      }
    }
  }
}

function newsOf(line: string): StartNews | undefined {
  const [, kind = '', text = ''] = /^(\S+) ?(.*)$/s.exec(line) ?? []
  switch (kind) {
    case 'doing':
      return { type: 'doing', what: text }
    case 'no-swank':
      return { type: 'no-swank' }
    case 'broken':
      return { type: 'broken', why: text }
    case 'listening': {
      const [port = Number.NaN, pid = Number.NaN] = text.split(' ').map(Number)
      return Number.isInteger(port) && Number.isInteger(pid) ? { type: 'listening', port, pid } : undefined
    }
    case 'running':
    case 'returned':
      return { type: 'script', news: { state: kind, message: null } }
    case 'failed':
      return { type: 'script', news: { state: 'failed', message: text } }
    default:
      return undefined
  }
}
