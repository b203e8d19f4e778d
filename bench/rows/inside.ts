import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { openPolicy } from '../../src/policy/policy.ts'
import { decide } from '../../src/policy/rules.ts'
import { openRegistry, type Registry, validate } from '../../src/registry/registry.ts'
import { defineTool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import { ok } from '../../tools/outcome.ts'
import { FrameDecoder, json, LIMITS } from '../../wire/codec/messages.ts'
import { median, type Row } from '../row.ts'

/** A registry of the real tools and as many others as it takes to have so many. */
function registryOf(count: number): Registry {
  const others = Array.from({ length: Math.max(0, count - TOOLS.length) }, (_, index) =>
    defineTool({
      name: `tool_${index}`,
      description: 'One of many.',
      parameters: { text: z.string().max(100).describe('anything') },
      level: 'safe',
      profile: 'full',
      categories: ['bench'],
      needs: [],
      examples: [],
      result: z.null(),
      handler: () => ok(null),
    }),
  )
  return openRegistry([...TOOLS, ...others])
}

const folder = mkdtempSync(join(tmpdir(), 'imago-bench-inside-'))

// Whichever rows are run, this module is loaded.
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const policy = openPolicy(folder)

const registries = new Map([10, 10_000].map(count => [count, registryOf(count)]))

/** Microseconds for what stands before a safe call: find, validate, level, rules, gate. */
function admission(count: number): number {
  const registry = registries.get(count)
  const args = { expr: 'orders[0].customer' }
  const runs = 5_000
  const begun = performance.now()
  for (let run = 0; run < runs; run++) {
    const tool = registry?.find('inspect')
    if (registry === undefined || tool === undefined) throw new Error('inspect is missing')
    const checked = validate(tool, args, registry)
    if (checked.type === 'invalid') throw new Error('the arguments do not fit')
    const { rules } = policy.rulesFor(folder)
    const { decision } = decide({ tool: tool.name, level: tool.raise(args), kernel: 'python', rules })
    if (decision !== 'allow') throw new Error('the gate refused')
  }
  return ((performance.now() - begun) * 1_000) / runs
}

export const admissionCost: Row = {
  what: 'registry, validation and gate on a safe call: time added',
  how: 'find, validate, level, rules and decision for one `inspect`, 5,000 times in process, with 10 tools; nothing else of the path',
  bar: { relation: '≤', limit: 20, unit: 'µs' },
  async measure() {
    const ten_tools_us = admission(10)
    return { figure: ten_tools_us, parts: { ten_tools_us } }
  },
}

export const admissionScale: Row = {
  what: 'the same with 10⁴ tools against 10',
  how: 'ratio of the two, measured in turn in the same round',
  bar: { relation: '≤', limit: 1.2, unit: '×' },
  async measure() {
    const few = median([admission(10), admission(10), admission(10)])
    const many = median([admission(10_000), admission(10_000), admission(10_000)])
    return { figure: many / few, parts: { ten_tools_us: few, ten_thousand_tools_us: many } }
  },
}

/** Nanoseconds per byte of reading a stream of frames of this size, pushed in pieces as a socket would. */
function frameCost(bodyBytes: number): number {
  const total = 16 * 1024 * 1024
  const body = Buffer.from(JSON.stringify({ type: 'note', name: 'n', params: 'x'.repeat(bodyBytes - 40) }))
  const frame = Buffer.alloc(4 + body.length)
  frame.writeUInt32BE(body.length, 0)
  body.copy(frame, 4)
  const frames = Math.max(1, Math.floor(total / frame.length))
  let taken = 0
  const decoder = new FrameDecoder({
    limit: 16 * 1024 * 1024,
    take: read => {
      json.decode(read, LIMITS)
      taken++
    },
  })
  const begun = process.hrtime.bigint()
  for (let sent = 0; sent < frames; sent++)
    for (let at = 0; at < frame.length; at += 65_536) decoder.push(frame.subarray(at, at + 65_536))
  const elapsed = Number(process.hrtime.bigint() - begun)
  if (taken !== frames) throw new Error('frames were lost')
  return elapsed / (frames * frame.length)
}

export const framesLinear: Row = {
  what: 'reading frames is linear: cost per byte of 8 MB frames against 1 MB ones',
  how: '16 MB of JSON frames pushed in pieces of 64 kB and decoded, per byte, 5 times each in turn; both sizes are beyond the caches, and a quadratic reader would show 8',
  bar: { relation: '≤', limit: 1.5, unit: '×' },
  async measure() {
    const small: number[] = []
    const large: number[] = []
    for (let turn = 0; turn < 5; turn++) {
      small.push(frameCost(1_000_000))
      large.push(frameCost(8_000_000))
    }
    const [small_ns_per_byte, large_ns_per_byte] = [median(small), median(large)]
    return { figure: large_ns_per_byte / small_ns_per_byte, parts: { small_ns_per_byte, large_ns_per_byte } }
  },
}
