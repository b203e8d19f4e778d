import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { type Caller, type Calls, openCalls } from '../../src/core/call.ts'
import { decide } from '../../src/core/gate.ts'
import { type Journal, openJournal } from '../../src/core/journal.ts'
import { openPolicy } from '../../src/core/policy.ts'
import { openRegistry } from '../../src/core/registry.ts'
import { validate } from '../../src/core/validate.ts'
import { defineTool, type Tool } from '../../tools/define.ts'
import { ok } from '../../tools/outcome.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const ARGS = { expr: 'orders[0].customer', line: 7 }
/** Steps of the path are timed so many at a time: a single one is shorter than a clock can tell. */
const TIMES = 50

let folder = ''
let few: Setting
let many: Setting

/** Registries of ten and of ten thousand tools, each with the call path over it. */
interface Setting {
  readonly journal: Journal
  /** Finds the tool, checks the arguments, reads the policy and asks the gate, `TIMES` times. */
  steps(): Promise<void>
  /** One whole call, with journal and bounds, of a tool that does nothing. */
  call(): Promise<unknown>
}

// Both rows measure the same settings: whichever is set up first makes them, and whichever ends first lets go.
const setUp = async () => {
  if (folder !== '') return
  folder = mkdtempSync(join(tmpdir(), 'imago-bench-'))
  few = setting(10)
  many = setting(10_000)
}

const tearDown = async () => {
  if (folder === '') return
  await Promise.all([few.journal.close(), many.journal.close()])
  rmSync(folder, { recursive: true, force: true })
  folder = ''
}

export const registryCost: Row = {
  what: 'registry, validation and gate on a safe call, added',
  how: 'finding one of 10⁴ tools, checking two arguments, looking whether the policy files have changed, and the gate; parts: a whole call of a tool that does nothing, journal and bounds included',
  bar: { relation: '≤', limit: 20, unit: 'µs' },
  setUp,
  tearDown,
  async measure() {
    const [steps = [], call = []] = await interleaved({ blocks: 6, each: 50 }, many.steps, many.call)
    const figure = median(steps) / TIMES
    return { figure, parts: { added_us: figure, whole_call_us: median(call) } }
  },
}

export const registrySize: Row = {
  what: 'the same, from 10 to 10⁴ tools: cost ratio',
  how: 'the same steps on both registries, in alternating blocks',
  bar: { relation: '≤', limit: 1.5, unit: '×' },
  setUp,
  tearDown,
  async measure() {
    const [small = [], large = []] = await interleaved({ blocks: 6, each: 50 }, few.steps, many.steps)
    const [ten, tenThousand] = [median(small) / TIMES, median(large) / TIMES]
    return ratio(tenThousand, ten, { ten_us: ten, ten_thousand_us: tenThousand })
  },
}

function setting(count: number): Setting {
  const registry = openRegistry(Array.from({ length: count }, (_, index) => tool(`tool_${index}`)))
  const name = `tool_${count >> 1}`
  const policy = openPolicy(folder)
  const journal = openJournal({ stateDir: join(folder, String(count)) })
  const log = () => undefined
  const kernels = { resolve: () => Promise.reject(new Error('no tool here needs a kernel')) }
  const calls: Calls = openCalls({ registry, kernels, policy, journal, stateDir: folder, log })
  const caller: Caller = {
    id: 'bench',
    kind: 'test',
    root: folder,
    env: {},
    readOnlyPromised: false,
    profile: 'full',
  }
  return {
    journal,
    async steps() {
      for (let time = 0; time < TIMES; time++) {
        const found = registry.find(name)
        if (found === undefined || validate(found, ARGS, registry).type !== 'valid')
          throw new Error('the call does not fit')
        const { rules } = policy.rulesFor(folder)
        if (decide({ tool: name, level: 'safe', kernel: null, rules }).decision !== 'allow')
          throw new Error('the call is not allowed')
      }
    },
    call: () => calls.run({ tool: name, args: ARGS, caller }),
  }
}

function tool(name: string): Tool {
  return defineTool({
    name,
    description: 'Does nothing.',
    parameters: {
      expr: z.string().min(1).max(1_000).describe('Some text.'),
      line: z.int().min(1).optional().describe('A number.'),
    },
    level: 'safe',
    profile: 'full',
    categories: ['bench'],
    needs: [],
    examples: [],
    handler: () => ok(null),
  })
}
