import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { conversationOf } from '../../src/agent/conversation.ts'
import type { Entry, EntryOf } from '../../src/agent/entries.ts'
import type { OpenModel } from '../../src/agent/providers.ts'
import { work } from '../../src/agent/run.ts'
import { openRun } from '../../src/agent/run-file.ts'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import { describeTool } from '../../src/registry/descriptions.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import { median, type Row } from '../row.ts'

const registry = openRegistry(TOOLS)
const listed = registry.list('full').map(tool => {
  const { description, schema } = describeTool({ registry, tool })
  return { type: 'function' as const, name: tool.name, description, inputSchema: schema }
})

const begun: EntryOf<'begun'> = {
  type: 'begun',
  at: 0,
  run: 'run-1',
  id: 'run-1-abc',
  root: '/project',
  text: 'Why is the total of this order wrong?',
  guidance: 'You work inside running programs. '.repeat(60),
  model: 'played',
  profile: 'full',
}

const RESULT = 'total: 41.5, of 3 lines, each with its rate\n'.repeat(45)

/** As many steps of one call each; two messages come of one. */
const steps = (count: number): Entry[] =>
  Array.from({ length: count }, (_, at): Entry[] => {
    const [step, call] = [at + 1, `run-1-abc.${at + 1}.1`]
    const args = { expr: `orders[${at}]` }
    const content = [{ type: 'call' as const, id: `call_${at}`, call, tool: 'inspect', args }]
    const tokens = { input: 1, output: 1 }
    return [
      { type: 'asked', at, step, messages: 2 * step },
      { type: 'answered', at, step, content, said: '', finish: 'tool-calls', tokens },
      { type: 'called', at, call },
      { type: 'ended', at, call, outcome: 'ok', text: RESULT },
    ]
  }).flat()

/** A call, or the end, as a server would stream it. */
const streamOf = (delta: unknown, finish: string): string =>
  [{ delta }, { delta: {}, finish_reason: finish }]
    .map(choice => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, ...choice }] })}\n\n`)
    .concat('data: [DONE]\n\n')
    .join('')

/** A model that answers every request at once: a call so many times, then the end. Gives back when each came, too. */
function playModel(calls: number): OpenModel & { readonly asked: readonly number[] } {
  const asked: number[] = []
  const fetch = async () => {
    asked.push(performance.now())
    const call = { id: `new_${asked.length}`, function: { name: 'inspect', arguments: '{"expr":"orders"}' } }
    const text =
      asked.length <= calls
        ? streamOf({ tool_calls: [{ index: 0, type: 'function', ...call }] }, 'tool_calls')
        : streamOf({ content: 'Because of its rate.' }, 'stop')
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  }
  const model = createOpenAICompatible({ name: 'openai', baseURL: 'http://127.0.0.1:9/v1', fetch })('played')
  return { asked, model, key: undefined, redacted: text => text }
}

interface Resumed {
  /** Milliseconds from the file of the run to its first request. */
  readonly first: number
  /** Of each step after it. */
  readonly each: readonly number[]
}

/** Goes on with a run of so many steps, for as many more. `kept`: each entry is on the disk before what follows. */
async function resume(before: number, more: number, { kept }: { readonly kept: boolean }): Promise<Resumed> {
  const stateDir = mkdtempSync(join(tmpdir(), 'imago-bench-'))
  const model = playModel(more)
  try {
    mkdirSync(join(stateDir, 'runs'))
    const lines = [begun, ...steps(before)].map(entry => `${JSON.stringify(entry)}\n`)
    writeFileSync(join(stateDir, 'runs/run-1.jsonl'), lines.join(''), { mode: 0o600 })
    const from = performance.now()
    const file = await openRun(stateDir, 'run-1')
    const end = await work({
      conversation: conversationOf(file.entries),
      model,
      tools: {
        listed,
        isSafe: () => true,
        call: async () => ({ type: 'ended', outcome: 'ok', text: RESULT }),
      },
      budget: { steps: 100_000, tokens: 1e9, minutes: 60, context_tokens: 1e8 },
      clock: SYSTEM_CLOCK,
      signal: new AbortController().signal,
      keep: entry => (kept ? file.keep(entry) : undefined),
    })
    file.close()
    if (end.type !== 'over' || end.why !== 'done') throw new Error(`it ended as ${JSON.stringify(end)}`)
    const [first = Number.NaN, ...others] = model.asked
    return { first: first - from, each: others.map((at, index) => at - (model.asked[index] ?? Number.NaN)) }
  } finally {
    rmSync(stateDir, { recursive: true })
  }
}

export const agentStep: Row = {
  what: 'a step of `imago ask` with 100 messages and all tools, apart from model and kernel',
  how: 'from one request to the next, the model and the tool played in the process, results of 2 kB each; median of 20 steps; `without_file_ms`: no entry is written',
  bar: { relation: '≤', limit: 5, unit: 'ms' },
  async measure() {
    const [step_ms, without_file_ms] = [
      median((await resume(50, 20, { kept: true })).each),
      median((await resume(50, 20, { kept: false })).each),
    ]
    return { figure: step_ms, parts: { step_ms, without_file_ms } }
  },
}

export const agentResume: Row = {
  what: 'a run of 10⁴ messages, from its file to its first request',
  how: '5,000 calls with results of 2 kB each; read, checked and sent with all tools',
  bar: { relation: '≤', limit: 500, unit: 'ms' },
  async measure() {
    const { first } = await resume(5_000, 0, { kept: true })
    return { figure: first, parts: { first_ms: first } }
  },
}
