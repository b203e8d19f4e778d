import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unifiedDiff } from '../../tools/diff.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const run = promisify(execFile)

/** A file of so many lines, and the same with a word of every tenth line changed, in two files that git can read. */
export interface TwoFiles {
  readonly before: string
  readonly after: string
  /** `git diff`, with those options; what it printed. */
  git(...options: readonly string[]): Promise<string>
  remove(): void
}

export function twoFiles(lines: number): TwoFiles {
  const folder = mkdtempSync(join(tmpdir(), 'imago-bench-diff-'))
  const text = (word: (line: number) => string) =>
    Array.from(
      { length: lines },
      (_, line) => `    total_${line} += ${word(line)} * quantity(${line})\n`,
    ).join('')
  const before = text(() => 'price')
  const after = text(line => (line % 10 === 0 ? 'reduced_price' : 'price'))
  writeFileSync(join(folder, 'before.py'), before)
  writeFileSync(join(folder, 'after.py'), after)
  return {
    before,
    after,
    git: (...options) =>
      run('git', ['diff', '--no-index', ...options, 'before.py', 'after.py'], {
        cwd: folder,
        maxBuffer: 64 * 1024 * 1024,
      }).then(
        () => Promise.reject(new Error('git saw no difference')),
        (error: { code?: unknown; stdout?: string }) => {
          if (error.code === 1 && error.stdout !== undefined) return error.stdout
          throw error
        },
      ),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

let files: TwoFiles | undefined

export const unifiedLines: Row = {
  what: 'a unified diff of 10,000 lines, against `git diff`',
  how: 'a word in every tenth line is another: 1,000 hunks; in process, against git’s process on two files with the same content, from its start to its end, 10 times each in turn',
  bar: { relation: '≤', limit: 4, unit: '×' },
  async setUp() {
    files = twoFiles(10_000)
  },
  async measure() {
    if (files === undefined) throw new Error('the row was not set up')
    const { before, after, git } = files
    const [one = [], other = []] = await interleaved(
      { blocks: 10, each: 1 },
      async () => unifiedDiff({ path: 'after.py', before, after }).text,
      () => git(),
    )
    const [ours_ms, git_ms] = [median(one) / 1_000, median(other) / 1_000]
    return ratio(ours_ms, git_ms, { ours_ms, git_ms })
  },
  async tearDown() {
    files?.remove()
  },
}
