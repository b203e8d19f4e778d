import { sharedGround } from '../ground.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const CONTAINERS = `
small = {'list': list(range(100)), 'dict': dict.fromkeys(range(100)), 'set': set(range(100)), 'str': 'x' * 100}
large = {'list': list(range(10**7)), 'dict': dict.fromkeys(range(10**7)), 'set': set(range(10**7)), 'str': 'x' * 10**7}
`

/** One filtered selection of the first hundred names, timed inside the interpreter itself; in microseconds. */
const SELECTION = `
def _selection():
    import heapq, time, types
    begun = time.perf_counter_ns()
    names = heapq.nsmallest(100, (
        name for name, value in globals().items()
        if not name.startswith('__') and type(value) is not types.ModuleType
    ))
    rows = [(name, type(globals()[name]).__name__) for name in names]
    return (time.perf_counter_ns() - begun) / 1000
`

/** One image for both rows: large containers, and many names. */
const ground = sharedGround(async daemon => {
  await daemon.call('eval_expr', { expr: CONTAINERS })
  await daemon.call('eval_expr', { expr: 'globals().update({f"name_{i:06}": i for i in range(10**5)})' })
  await daemon.call('eval_expr', { expr: SELECTION })
})

export const inspectSize: Row = {
  what: '`inspect`, from 10² to 10⁷ elements: cost ratio',
  how: 'a list, a dict, a set and a string of 10⁷ against ones of 10², through the daemon, 60 times each in alternating blocks of 10; the worst of the four ratios',
  bar: { relation: '≤', limit: 1.5, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const parts: Record<string, number> = {}
    for (const type of ['list', 'dict', 'set', 'str']) {
      const [small = [], large = []] = await interleaved(
        { blocks: 6, each: 10 },
        () => daemon.call('inspect', { expr: `small['${type}']` }),
        () => daemon.call('inspect', { expr: `large['${type}']` }),
      )
      parts[`${type}_ratio`] = median(large) / median(small)
      parts[`${type}_large_us`] = median(large)
    }
    const figure = Math.max(
      ...Object.entries(parts).flatMap(([name, part]) => (name.endsWith('_ratio') ? [part] : [])),
    )
    return { figure, parts }
  },
}

export const globalsMany: Row = {
  what: '`list_globals` with 10⁵ names, first page',
  how: 'the first 100 through the daemon, against `heapq.nsmallest` over the filtered names timed inside the same interpreter, 10 times each in turn',
  bar: { relation: '≤', limit: 1.2, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const selections: number[] = []
    const pages: number[] = []
    for (let turn = 0; turn < 10; turn++) {
      const { value_repr } = (await daemon.call('eval_expr', { expr: '_selection()' })) as {
        value_repr: string
      }
      selections.push(Number(value_repr))
      const [times = []] = await interleaved({ blocks: 1, each: 1 }, () => daemon.call('list_globals', {}))
      pages.push(...times)
    }
    const [ours_us, reference_us] = [median(pages), median(selections)]
    return ratio(ours_us, reference_us, { ours_us, reference_us })
  },
}
