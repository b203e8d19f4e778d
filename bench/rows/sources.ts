import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sharedGround } from '../ground.ts'
import { interleaved, median, type Row } from '../row.ts'

/** A file of 5,000 lines, `number` of the kind. */
const program = (number: number): string =>
  Array.from(
    { length: 500 },
    (_, index) => `def f_${index}(order, rate=${number}):
    """Function ${index}."""
    total = 0
    for line in order.lines:
        if line.price > ${index}:
            total += line.price * rate
        else:
            total -= 1
    return total

`,
  ).join('')

const PROGRAMS = 12
let next = 0

const ground = sharedGround(async daemon => {
  const { folder } = daemon
  for (let number = 0; number < PROGRAMS; number++)
    writeFileSync(join(folder, `large_${number}.py`), program(number))
  const names = Array.from({ length: PROGRAMS }, (_, number) => `large_${number}`).join(', ')
  await daemon.call('eval_expr', {
    expr: `import sys; sys.path.insert(0, ${JSON.stringify(folder)}); import ${names}`,
  })
  return undefined
})

const look = (number: number) => ground.daemon.call('inspect', { expr: `large_${number}.f_250` })

async function timed(body: () => Promise<unknown>): Promise<number> {
  const begun = process.hrtime.bigint()
  await body()
  return Number(process.hrtime.bigint() - begun) / 1e6
}

export const proofCached: Row = {
  what: 'proving a source, once its text was compiled',
  how: '`inspect` of a function in a file of 5,000 lines through the daemon, 40 times; the median, the look itself included',
  bar: { relation: '≤', limit: 5, unit: 'ms' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    await look(0)
    const [times = []] = await interleaved({ blocks: 4, each: 10 }, () => look(0))
    const figure = median(times) / 1_000
    return { figure, parts: { ours_ms: figure } }
  },
}

export const proofFirst: Row = {
  what: 'proving a source in a file of 5,000 lines for the first time',
  how: '`inspect` of a function through the daemon, in a file that it has not compiled yet; the process that compiles is warm from the second round on',
  bar: { relation: '≤', limit: 250, unit: 'ms' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    next = (next % (PROGRAMS - 1)) + 1
    const figure = await timed(() => look(next))
    return { figure, parts: { ours_ms: figure } }
  },
}
