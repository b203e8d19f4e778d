import { atEnd, type Edit } from './edit.ts'

/** Going back to what was entered before: line by line, by how it begins, and by what stands in it. */
export class Recall {
  readonly #entries: () => readonly string[]
  #walk: { readonly draft: Edit; readonly prefix: string; index: number } | undefined

  /** `entries`: oldest first. */
  constructor(entries: () => readonly string[]) {
    this.#entries = entries
  }

  /** What is being written is no longer what was gone back to. */
  forget(): void {
    this.#walk = undefined
  }

  /** The entry before this one that begins as the text does before the cursor; undefined where there is none. */
  older(edit: Edit): Edit | undefined {
    const entries = this.#entries()
    const walk = this.#walk ?? { draft: edit, prefix: edit.text.slice(0, edit.cursor), index: entries.length }
    for (let index = walk.index - 1; index >= 0; index--) {
      const entry = entries[index] ?? ''
      if (!entry.startsWith(walk.prefix) || entry === edit.text) continue
      this.#walk = { ...walk, index }
      return atEnd(entry)
    }
    return undefined
  }

  /** The other way, and at the end what was being written before. */
  newer(edit: Edit): Edit | undefined {
    const walk = this.#walk
    if (walk === undefined) return undefined
    const entries = this.#entries()
    for (let index = walk.index + 1; index < entries.length; index++) {
      const entry = entries[index] ?? ''
      if (!entry.startsWith(walk.prefix) || entry === edit.text) continue
      this.#walk = { ...walk, index }
      return atEnd(entry)
    }
    this.#walk = undefined
    return walk.draft
  }

  /** How the newest entry that begins with the text goes on. */
  suggestion(text: string): string {
    if (text.trim().length < 2 || this.#walk !== undefined) return ''
    const found = this.#entries().findLast(entry => entry.length > text.length && entry.startsWith(text))
    return found?.slice(text.length) ?? ''
  }

  search(draft: Edit): Search {
    return new Search(this.#entries(), draft)
  }
}

/** An incremental search backwards. */
export class Search {
  readonly draft: Edit
  readonly #entries: readonly string[]
  #query = ''
  #index: number
  #failed = false

  constructor(entries: readonly string[], draft: Edit) {
    this.#entries = entries
    this.#index = entries.length
    this.draft = draft
  }

  get query(): string {
    return this.#query
  }

  /** Nothing more was found in that direction. */
  get failed(): boolean {
    return this.#failed
  }

  /** What was found, with the cursor at the place; what was there before where nothing is sought yet. */
  get edit(): Edit {
    const entry = this.#entries[this.#index]
    if (entry === undefined) return this.draft
    return { text: entry, cursor: Math.max(0, find(entry, this.#query)) }
  }

  /** The other query, sought from here on. */
  refine(query: string): void {
    this.#query = query
    if (query === '') {
      this.#index = this.#entries.length
      this.#failed = false
    } else this.#seek(Math.min(this.#index, this.#entries.length - 1), -1)
  }

  older(): void {
    if (this.#query !== '') this.#seek(this.#index - 1, -1)
  }

  newer(): void {
    if (this.#query !== '') this.#seek(this.#index + 1, 1)
  }

  #seek(from: number, by: -1 | 1): void {
    const shown = this.#entries[this.#index]
    for (let index = from; index >= 0 && index < this.#entries.length; index += by) {
      const entry = this.#entries[index] ?? ''
      const again = index !== this.#index && entry === shown
      if (again || find(entry, this.#query) < 0) continue
      this.#index = index
      this.#failed = false
      return
    }
    this.#failed = true
  }
}

/** Capitals count only where the query has one. */
function find(entry: string, query: string): number {
  return query === query.toLowerCase() ? entry.toLowerCase().indexOf(query) : entry.indexOf(query)
}
