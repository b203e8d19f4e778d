import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sharedGround } from '../ground.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const FOLDERS = 100
const FILES = 100
/** One in so many files holds the text that is sought. */
const HOLDS = 1_000
const SOUGHT = 'def checkout('
const run = promisify(execFile)

/** 10,000 files of Python, 60 lines each, that git knows. */
function put(folder: string): void {
  const line = (number: number) => `def total_${number}(prices, rate=${number}): return sum(prices) * rate\n`
  const text = Array.from({ length: 60 }, (_, number) => line(number)).join('')
  for (let at = 0; at < FOLDERS; at++) {
    mkdirSync(join(folder, `shop/part_${at}`), { recursive: true })
    for (let file = 0; file < FILES; file++) {
      const holds = (at * FILES + file) % HOLDS === 0 ? `${SOUGHT}cart): return total_1(cart)\n` : ''
      writeFileSync(join(folder, `shop/part_${at}/file_${file}.py`), `${text}${holds}`)
    }
  }
  for (const args of [
    ['init', '-q'],
    ['add', 'shop'],
  ])
    execFileSync('git', args, { cwd: folder })
}

const ground = sharedGround(async daemon => {
  put(daemon.folder)
  return undefined
})

export const searchMany: Row = {
  what: '`search_files` over 10,000 files, against `git grep`',
  how: 'a text that ten of them have, 100 folders, 34 MB; through the daemon, against git’s process from its start to its end (it has an index of the names, and several threads), 5 times each in turn',
  bar: { relation: '≤', limit: 20, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const [ours = [], git = []] = await interleaved(
      { blocks: 5, each: 1 },
      async () => {
        const found = JSON.stringify(await daemon.call('search_files', { text: SOUGHT, path: 'shop' }))
        if (found.split(SOUGHT).length - 1 < 10) throw new Error(`too few were found: ${found}`)
      },
      () => run('git', ['grep', '-n', '-F', SOUGHT, '--', 'shop'], { cwd: daemon.folder }),
    )
    const [ours_ms, git_ms] = [median(ours) / 1_000, median(git) / 1_000]
    return ratio(ours_ms, git_ms, { ours_ms, git_ms })
  },
}
