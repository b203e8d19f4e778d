import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchDaemon, benchDaemon } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const KEPT = 20_000
const SMALL = { path: 'small.txt' }

/** A small file in a project. */
function put({ folder }: BenchDaemon): void {
  writeFileSync(join(folder, SMALL.path), 'one\ntwo\nthree\n')
}

/** What there would be after so many changes: a record of each, and what was there before. */
function keep({ env }: BenchDaemon): void {
  const dir = join(env.IMAGO_STATE_DIR ?? '', 'undo')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  for (let number = 0; number < KEPT; number++) {
    writeFileSync(join(dir, `plan-${number}.json`), '{}\n')
    writeFileSync(join(dir, `plan-${number}.0.before`), 'old\n')
  }
}

let bare: BenchDaemon

const ground = sharedGround(async daemon => {
  bare = await benchDaemon()
  put(bare)
  put(daemon)
  keep(daemon)
  return () => void bare.close()
})

export const readBesideKept: Row = {
  what: '`read_file` of a small file, with 20,000 kept changes against with none',
  how: 'through two daemons, 100 times each in alternating blocks of 10; `undo/` of one of them holds 40,000 files',
  bar: { relation: '≤', limit: 1.5, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const [many = [], none = []] = await interleaved(
      { blocks: 10, each: 10 },
      () => daemon.call('read_file', SMALL),
      () => bare.call('read_file', SMALL),
    )
    const [many_us, none_us] = [median(many), median(none)]
    return ratio(many_us, none_us, { many_us, none_us })
  },
}
