import { join } from 'node:path'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { toldWithin } from '../../src/calls/answer.ts'
import { listedFor, livingOf } from '../../src/front/mcp.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { startProgram } from '../../test/support/program.ts'
import { venvPython } from '../../test/support/runtimes.ts'
import { TABLE, WEB } from '../../test/support/shown-programs.ts'
import { PROFILES } from '../../tools/contract.ts'
import { TOOLS } from '../../tools/index.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { showEnvelope } from '../../tools/show.ts'
import { pause } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import type { Row } from '../row.ts'

const NAME = 'bench-shown'

/** A program beside the daemon, and how many tokens a model reads of one look into it. */
function tokensOf(source: string, look: readonly [tool: string, args: object, settled: string]) {
  const [tool, args, settled] = look
  const ground = sharedGround(async daemon => {
    const runtimeDir = join(daemon.folder, 'run')
    const program = await startProgram({ folder: daemon.folder, runtimeDir, source, python: venvPython })
    await daemon.link.call('attach', { target: 'web', name: NAME })
    return () => program.signal('SIGKILL')
  })
  return {
    setUp: ground.setUp,
    tearDown: ground.tearDown,
    async measure() {
      const asked = TOOLS.find(({ name }) => name === tool)
      for (let tries = 0; ; tries++) {
        const result = await ground.daemon.call(tool, { ...args, kernel: NAME })
        const text = showEnvelope({ ok: true, result }, asked)
        const tokens = countTokens(text)
        if (text.includes(settled)) return { figure: tokens, parts: { tokens, characters: text.length } }
        if (tries > 100) throw new Error(`${settled} was not seen in: ${text}`)
        await pause(50)
      }
    },
  }
}

export const tableTokens: Row = {
  what: '`inspect` of a table of pandas, in tokens',
  how: 'a `DataFrame` of 1,000 rows and five columns in an attached program; the text that a model reads, counted with `o200k_base`',
  bar: { relation: '≤', limit: 500, unit: 'tokens' },
  ...tokensOf(TABLE, ['inspect', { expr: 'orders' }, 'customer']),
}

export const threadsTokens: Row = {
  what: '`threads` of a web program, in tokens',
  how: 'Starlette under uvicorn, three requests in worker threads that wait for a lock; the text that a model reads, counted with `o200k_base`',
  bar: { relation: '≤', limit: 1200, unit: 'tokens' },
  ...tokensOf(WEB, ['threads', {}, 'in reserve']),
}

export const profileTokens: Row = {
  what: 'The tools of each profile, in tokens',
  how: '`tools/list` where one Python program lives, counted whole with `o200k_base`; the figure is that of `live`',
  bar: { relation: '≤', limit: 3_500, unit: 'tokens' },
  async measure() {
    const registry = openRegistry(TOOLS)
    const counts = PROFILES.map(profile => {
      const listed = listedFor(livingOf([]), { tools: registry.list(profile), registry })
      return [`${profile}_tokens`, countTokens(JSON.stringify(listed))] as const
    })
    const parts: Record<string, number> = Object.fromEntries(counts)
    return { figure: parts.live_tokens ?? Number.NaN, parts }
  },
}

/** Ten calls as models make them; the output of the last is long. */
const COMMON: readonly (readonly [tool: string, args: object])[] = [
  ['kernels', {}],
  ['list_globals', {}],
  ['inspect', { expr: 'reserve' }],
  ['inspect', { expr: 'app' }],
  ['symbol_definition', { symbols: ['checkout', 'reserve'] }],
  ['threads', {}],
  ['get_last_error', {}],
  ['eval_expr', { expr: 'port + 1' }],
  ['eval_expr', { expr: '1 / 0' }],
  ['eval_expr', { expr: "for number in range(10**5): print(f'{number:032x}')" }],
]

const commonGround = sharedGround(async daemon => {
  const runtimeDir = join(daemon.folder, 'run')
  const program = await startProgram({ folder: daemon.folder, runtimeDir, source: WEB, python: venvPython })
  await daemon.link.call('attach', { target: 'web', name: NAME })
  return () => program.signal('SIGKILL')
})

export const commonTokens: Row = {
  what: 'Answers to ten common calls, in tokens: the longest',
  how: 'a web program; each answer as an MCP client is given it, counted with `o200k_base`; one of the calls prints 3 MB of hex',
  bar: { relation: '≤', limit: 9_000, unit: 'tokens' },
  setUp: commonGround.setUp,
  tearDown: commonGround.tearDown,
  async measure() {
    const parts: Record<string, number> = {}
    for (const [index, [name, args]] of COMMON.entries()) {
      const tool = TOOLS.find(one => one.name === name)
      if (tool === undefined) throw new Error(`There is no ${name}.`)
      const kernel = tool.needs.length === 0 ? {} : { kernel: NAME }
      const asked = { tool: name, args: { ...args, ...kernel } }
      const envelope = (await commonGround.daemon.link.call('call', asked)) as Envelope
      const { text } = toldWithin({ envelope, tool, structured: false }, { keep: () => '@txt.1' })
      parts[`${index + 1}_${name}_tokens`] = countTokens(text)
    }
    return { figure: Math.max(...Object.values(parts)), parts }
  },
}
