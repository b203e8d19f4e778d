import { z } from 'zod'
import { defineTool, type ToolContext } from './define.ts'
import type { Walk, WalkedEntry } from './entries.ts'
import { halfCharacter } from './file-arguments.ts'
import { scan } from './file-matches.ts'
import { EXCLUDE, FOLDER, INCLUDE_IGNORED, OF_LOOK } from './folder-arguments.ts'
import { countsOf, cutLine } from './left-out.ts'
import { type Matcher, openMatcher } from './matching.ts'
import { failed, type Outcome, ok } from './outcome.ts'
import { type Found, type Searched, type Skipped, showSearched } from './searched.ts'

/** Bytes of the largest file that is searched for a text. */
const FILE_BYTES = 2 * 1024 * 1024
/** Lines of one file that are shown, so that a file full of them does not take the place of all others. */
const LINES_OF_FILE = 20
/** Characters of all lines that are shown. */
const ANSWER_LENGTH = 24_000

export const searchFiles = defineTool({
  name: 'search_files',
  description:
    'Find files of the project by name, by a text in them, or both. The text is taken literally and within one line; ' +
    'the answer has the lines, with their numbers. What ignore files leave out, binary files and files over 2 MiB ' +
    'are not searched, but counted. Links are not followed. Runs no code. For names in the running image use ' +
    'apropos_search.',
  parameters: {
    pattern: z
      .string()
      .min(1)
      .max(400)
      .optional()
      .describe(
        'A glob that the name has to match, or a folder above it: `*.py`, `*.{ts,tsx}`; with a slash it counts from ' +
          '`path`: `src/**/test_*.py`.',
      ),
    text: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('A text that a line has to hold, exactly as it is written here; no regular expression.'),
    path: FOLDER.describe('The folder to search, or one file; the root of the project if left out.'),
    ignore_case: z.boolean().default(false).describe('Take upper and lower case for the same in `text`.'),
    whole_word: z.boolean().default(false).describe('Only where `text` is no part of a longer word.'),
    context: z.int().min(0).max(10).default(0).describe('How many lines to show around each line found.'),
    exclude_patterns: EXCLUDE,
    include_ignored: INCLUDE_IGNORED,
    after: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe('Only what comes after that path: the `next` of the answer before.'),
    limit: z.int().min(1).max(1_000).default(100).describe('How many lines, or names, to show at most.'),
  },
  parameterAliases: {
    glob: 'pattern',
    query: 'text',
    directory: 'path',
    folder: 'path',
    context_lines: 'context',
  },
  level: 'safe',
  profile: 'full',
  categories: ['files', 'search'],
  needs: [],
  paths: ['path'],
  examples: [
    { args: { pattern: '*.toml' }, shows: 'files by their name' },
    { args: { text: 'def checkout(', pattern: '*.py', context: 2 }, shows: 'a text in files of one kind' },
  ],

  handler: (args, context) => search(args, context),
  show: result => showSearched(result as Searched),
})

interface Arguments {
  readonly pattern?: string | undefined
  readonly text?: string | undefined
  readonly path: string
  readonly ignore_case: boolean
  readonly whole_word: boolean
  readonly context: number
  readonly exclude_patterns: readonly string[]
  readonly include_ignored: boolean
  readonly after?: string | undefined
  readonly limit: number
}

async function search(args: Arguments, { files, signal, lookMs }: ToolContext): Promise<Outcome<Searched>> {
  const { pattern, text, path, exclude_patterns, include_ignored, after, limit } = args
  if (pattern === undefined && text === undefined) return nothingAsked()
  if (text !== undefined) {
    const fault = /[\r\n]/.test(text) ? severalLines() : halfCharacter('text', text)
    if (fault !== undefined) return fault
  }
  const walk = await files.walk(path, {
    matching: pattern === undefined ? [] : [pattern],
    exclude: exclude_patterns,
    ignored: include_ignored,
    after,
    signal,
    ms: lookMs * OF_LOOK,
  })
  if (walk.type === 'failed') return walk
  const page = new Page(walk, { ...args, limit })
  await page.fill()
  return ok(page.result())
}

const nothingAsked = () =>
  failed('invalid_args', {
    message: 'search_files was asked for nothing: it takes a pattern for names, a text, or both.',
    details: { parameter: 'pattern' },
    next: 'Give a pattern or a text. For all names in a folder use list_directory.',
  })

const severalLines = () =>
  failed('invalid_args', {
    message: 'text holds a line end; it is searched for within single lines.',
    details: { parameter: 'text' },
    next: 'Search for one of its lines, with context to see the others.',
  })

/** One answer, while it is put together. */
class Page {
  readonly #walk: Walk
  readonly #args: Arguments
  readonly #matcher: Matcher | undefined
  readonly #found: Found[] = []
  readonly #skipped: Record<Skipped, number> = { binary: 0, too_large: 0, unreadable: 0, vanished: 0 }
  #searched = 0
  #matches = 0
  #shown = 0
  #size = 0
  /** The last entry that is done with. */
  #passed: string | undefined
  #next: string | undefined

  constructor(walk: Walk, args: Arguments) {
    this.#walk = walk
    this.#args = args
    const { text, ignore_case: ignoreCase, whole_word: wholeWord } = args
    this.#matcher = text === undefined ? undefined : openMatcher({ text, ignoreCase, wholeWord })
    this.#passed = args.after
  }

  async fill(): Promise<void> {
    for await (const entry of this.#walk.entries()) {
      if (this.#isFull()) {
        this.#next = this.#passed
        return
      }
      const matcher = this.#matcher
      const isDone = matcher === undefined ? this.#name(entry) : await this.#lines(entry, matcher)
      if (!isDone) break
      this.#passed = entry.shown
    }
    if (this.#walk.cut !== null) this.#next = this.#passed
  }

  #isFull(): boolean {
    return this.#shown >= this.#args.limit || this.#size >= ANSWER_LENGTH
  }

  /** What is in a folder that was found is not named once more. */
  #name(entry: WalkedEntry): true {
    if (!entry.isWithinMatch) this.#add(entry, {})
    return true
  }

  /** False where there was no time for all of the file. */
  async #lines(entry: WalkedEntry, matcher: Matcher): Promise<boolean> {
    if (entry.kind !== 'file') return true
    const file = entry.read({ most: FILE_BYTES, holding: matcher.holding })
    if (file.type !== 'text' && file.type !== 'without') {
      this.#skipped[file.type]++
      return true
    }
    if (file.type === 'text') {
      const { context, limit } = this.#args
      const most = Math.min(limit - this.#shown, this.#isOneFile(entry) ? limit : LINES_OF_FILE)
      const isOver = () => this.#walk.isOver()
      const matches = await scan({ text: file.text, matcher, context, most, isOver })
      if (matches === undefined) return false
      const { count, lines, shown, size } = matches
      if (count > 0) {
        this.#add(entry, { matches: count, lines, ...(count > shown && { more: count - shown }) })
        this.#matches += count
        this.#shown += shown - 1
        this.#size += size
      }
    }
    this.#searched++
    return true
  }

  #isOneFile({ shown }: WalkedEntry): boolean {
    return shown === this.#walk.shown
  }

  #add({ shown, kind, bytes, target }: WalkedEntry, more: Partial<Found>): void {
    this.#found.push({
      path: shown,
      kind,
      ...(bytes !== null && { bytes }),
      ...(target !== null && { target }),
      ...more,
    })
    this.#shown++
    this.#size += shown.length + 40
  }

  result(): Searched {
    const { left, cut, remarks, shown } = this.#walk
    const skipped = Object.entries(this.#skipped).filter(([, count]) => count > 0)
    return {
      path: shown,
      found: this.#found,
      matches: this.#matcher === undefined ? null : this.#matches,
      searched: this.#searched,
      skipped: Object.fromEntries(skipped),
      left_out: countsOf(left),
      truncated: this.#next !== undefined || cut !== null || this.#found.some(({ more = 0 }) => more > 0),
      next: this.#next === undefined ? null : { after: this.#next },
      notes: [...remarks, ...[cutLine(cut)].filter(line => line !== null)],
    }
  }
}
