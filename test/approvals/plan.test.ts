import fc from 'fast-check'
import { z } from 'zod'
import { canonical, copied, freeze, isIntact, journalPlan, toolHash } from '../../src/approvals/plan.ts'
import { defineTool, type Tool } from '../../tools/define.ts'
import { ok } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { evidenceThat } from '../support/plans.ts'

const test = suite('plans')

const bytes = (text: string) => Buffer.from(text)

const change = { path: '/project/a.txt', shown: 'a.txt', before: bytes('old'), after: bytes('new') }

const PARTS = {
  call: 'call-1' as CallId,
  tool: 'put',
  level: 'dangerous',
  toolHash: 'f'.repeat(64),
  args: { path: 'a.txt', deep: { list: [1, { two: 2 }] } },
  kernel: 'main',
  epoch: 'feedbeef',
  root: '/project',
  who: 'a test',
  caller: 'tester',
  origin: 'cli /project',
  proposal: {
    type: 'proposal',
    preview: { title: 'Put a.txt', body: '-old\n+new\n' },
    evidence: [{ what: 'a.txt', hash: '0'.repeat(64), moved: async () => undefined }],
    changes: [change],
    result: () => 'done',
  },
} as const satisfies Parameters<typeof freeze>[0]

test('the same plan has the same hash, another id each time, and 64 digits of SHA-256', () => {
  const [one, other] = [freeze(PARTS), freeze({ ...PARTS, call: 'call-2' as CallId })]
  assert.match(one.hash, /^[0-9a-f]{64}$/)
  assert.is(one.hash, other.hash)
  assert.match(one.id, /^plan-[a-z]{8}$/)
  assert.is.not(one.id, other.id)
})

test('a plan is approved for its content: any other byte of it is another hash (threat 18)', () => {
  const proposing = (more: object) => ({ proposal: { ...PARTS.proposal, ...more } })
  const changing = (more: object) => proposing({ changes: [{ ...change, ...more }] })
  const others: readonly object[] = [
    { tool: 'put2' },
    { level: 'cautious' },
    { toolHash: 'e'.repeat(64) },
    { args: { ...PARTS.args, path: 'b.txt' } },
    { args: { ...PARTS.args, deep: { list: [1, { two: 3 }] } } },
    { kernel: 'other' },
    { kernel: null },
    { epoch: 'feedbee0' },
    { root: '/elsewhere' },
    { who: 'another' },
    { caller: 'another' },
    { origin: 'another' },
    proposing({ preview: { title: 'Put b.txt', body: '-old\n+new\n' } }),
    proposing({ preview: { title: 'Put a.txt', body: '-old\n+newer\n' } }),
    proposing({ evidence: [] }),
    proposing({ evidence: [evidenceThat(() => undefined, 'b.txt')] }),
    proposing({ changes: [] }),
    changing({ path: '/project/b.txt' }),
    changing({ before: null }),
    changing({ before: bytes('olD') }),
    changing({ after: bytes('neW') }),
    changing({ after: null }),
    changing({ identity: { folder: '1:2', file: null } }),
  ]
  const hashes = [{}, ...others].map(more => freeze({ ...PARTS, ...more }).hash)
  assert.is(new Set(hashes).size, hashes.length)
})

test('nothing in a plan can be changed, and nothing that it was made of changes it', () => {
  const args = { path: 'a.txt', deep: { list: [1, { two: 2 }] } }
  const evidence = { what: 'a.txt', hash: '0'.repeat(64), moved: async () => undefined as string | undefined }
  const plan = freeze({ ...PARTS, args, proposal: { ...PARTS.proposal, evidence: [evidence] } })
  args.path = 'b.txt'
  args.deep.list.push(3)
  evidence.what = 'b.txt'
  evidence.hash = '1'.repeat(64)
  evidence.moved = async () => 'never'
  assert.equal(plan.args, PARTS.args)
  assert.is(plan.evidence[0]?.what, 'a.txt')
  assert.ok(isIntact(plan))
  const deep = plan.args as { path: string; deep: { list: unknown[] } }
  for (const attempt of [
    () => Object.assign(plan, { tool: 'other' }),
    () => Object.assign(plan.preview, { body: 'nothing to see' }),
    () => Object.assign(plan.changes[0] ?? {}, { path: '/etc/passwd' }),
    () => Object.assign(plan.evidence[0] ?? {}, { moved: async () => undefined }),
    () => (plan.changes as unknown[]).pop(),
    () => Object.assign(deep, { path: 'b.txt' }),
    () => deep.deep.list.push(1),
  ])
    assert.throws(attempt, TypeError)
})

test('the bytes of a change that were written over are noticed (threat 18)', () => {
  const after = bytes('new')
  const plan = freeze({ ...PARTS, proposal: { ...PARTS.proposal, changes: [{ ...change, after }] } })
  assert.ok(isIntact(plan))
  after.write('evi')
  assert.not.ok(isIntact(plan))
})

test('the journal keeps what a plan is and how long it is, not its text', () => {
  const plan = freeze(PARTS)
  const kept = journalPlan(plan)
  assert.equal([kept.id, kept.hash, kept.title], [plan.id, plan.hash, 'Put a.txt'])
  assert.equal([kept.preview_bytes, kept.paths], [10, ['/project/a.txt']])
  assert.match(kept.preview_sha256, /^[0-9a-f]{64}$/)
})

test('data has one text, in whatever order it was put together', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const turned = (part: unknown): unknown => {
        if (Array.isArray(part)) return part.map(turned)
        if (typeof part !== 'object' || part === null) return part
        return Object.fromEntries(
          Object.entries(part)
            .reverse()
            .map(([key, one]) => [key, turned(one)]),
        )
      }
      assert.is(canonical(turned(value)), canonical(value))
      assert.equal(copied(value), value)
    }),
  )
})

const define = (more: Partial<Parameters<typeof defineTool>[0]> = {}): Tool =>
  defineTool({
    name: 'do_it',
    description: 'Does it for a test.',
    parameters: { text: z.string().max(10).describe('Some text.') },
    level: 'dangerous',
    profile: 'full',
    categories: ['tests'],
    needs: [],
    examples: [],
    result: z.string(),
    handler: () => ok('done'),
    ...more,
  } as Parameters<typeof defineTool>[0])

test('the hash of a tool is of all that decides what it does (threat 11)', () => {
  const others = [
    define({ name: 'do_it_2' }),
    define({ description: 'Does something else for a test.' }),
    define({ parameters: { text: z.string().max(11).describe('Some text.') } }),
    define({ parameters: { text: z.string().max(10).describe('Another text.') } }),
    define({ level: 'cautious' }),
    define({ needs: ['evaluate'] }),
    define({ categories: ['files'] }),
    define({ paths: ['text'] }),
    define({ handler: () => ok('something else') }),
    define({ raise: () => 'dangerous' }),
    define({ preview: () => ({ title: 'nothing', body: 'nothing' }) }),
    define({ plan: async () => ok('nothing') }),
    define({ profile: 'core' }),
    define({ parameterAliases: { words: 'text' } }),
    define({ typed: ['text'] }),
    define({ presets: { do_x: { text: 'x' } } }),
  ]
  const hashes = [define(), ...others].map(tool => toolHash(tool, '1'))
  assert.is(new Set(hashes).size, hashes.length)
  assert.is(toolHash(define(), '1'), toolHash(define(), '1'))
  assert.is.not(toolHash(define(), '1'), toolHash(define(), '2'))
})
