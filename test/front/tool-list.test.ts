import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { CallRequest } from '../../src/calls/contract.ts'
import { listedFor, livingOf } from '../../src/front/mcp.ts'
import { validate } from '../../src/registry/registry.ts'
import { PROFILES, type Profile } from '../../tools/contract.ts'
import { toolError } from '../../tools/outcome.ts'
import { ABILITIES, type Ability, type Kernel } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import type { Line } from '../support/line-peer.ts'
import { call, connect, MODERN, open, registry, request, resultOf, three } from '../support/mcp-by-hand.ts'

/** Which tools and arguments a client is shown, by what lives in its project. */
const test = suite('the list of tools')

const kernelWith = (abilities: readonly Ability[]) =>
  ({ identity: { abilities: new Set(abilities) } }) as unknown as Kernel

const PYTHON = kernelWith(
  ABILITIES.filter(one => !['compile', 'expand', 'system', 'packages', 'callers', 'sections'].includes(one)),
)

const LISP = kernelWith(ABILITIES.filter(one => !['reload', 'tests', 'sections'].includes(one)))

/** As Mathics3 says it: no debugger, no threads, no packages to read code in. */
const WOLFRAM = kernelWith([
  ...(['evaluate', 'load', 'interrupt', 'ask', 'callers', 'sections', 'inspect', 'more', 'history'] as const),
  ...(['last_error', 'globals', 'definition', 'describe', 'arglist', 'complete', 'apropos'] as const),
  ...(['symbols', 'references'] as const),
])

const listed = (kernels: readonly Kernel[], profile: Profile = 'live') =>
  listedFor(livingOf(kernels), { tools: registry.list(profile), registry })

const namesOf = (kernels: readonly Kernel[]) => listed(kernels).map(({ name }) => name)

const argumentsOf = (kernels: readonly Kernel[], tool: string) =>
  Object.keys(listed(kernels).find(({ name }) => name === tool)?.inputSchema.properties ?? {})

const forModels = ({ title: _, _meta: __, ...shown }: ReturnType<typeof listed>[number]) => shown

/** Tokens of the list: what hosts leave out of it, such as the hints, is counted too, but for what is for people alone. */
const BARS: Readonly<Record<Profile, number>> = { core: 1_000, live: 3_500, full: 10_500, desk: 3_800 }

for (const profile of PROFILES)
  test(`${profile} has at most ${BARS[profile]} tokens, whatever lives`, () => {
    const several = [
      [PYTHON, PYTHON],
      [PYTHON, LISP],
      [PYTHON, WOLFRAM],
      [WOLFRAM, LISP],
      [PYTHON, LISP, WOLFRAM],
    ]
    for (const kernels of [[], [PYTHON], [LISP], [WOLFRAM], ...several]) {
      const tokens = countTokens(JSON.stringify(listed(kernels, profile).map(forModels)))
      assert.ok(tokens <= BARS[profile], `${tokens} tokens with ${kernels.length} kernels`)
    }
  })

test('the argument kernel is listed only where several kernels live', () => {
  for (const [kernels, isListed] of [
    [[], false],
    [[PYTHON], false],
    [[PYTHON, PYTHON], true],
  ] as const)
    for (const { name, needs } of registry.list('live'))
      assert.is(
        argumentsOf(kernels, name).includes('kernel'),
        isListed && needs.length > 0 && name !== 'compile_form',
      )
})

test('tools and arguments of Lisp are listed only where a Lisp lives, and what only Python has is not where it does not', () => {
  for (const kernels of [[], [PYTHON], [PYTHON, PYTHON]]) {
    assert.is(namesOf(kernels).includes('compile_form'), false)
    assert.is(namesOf(kernels).includes('reload'), true)
    for (const tool of ['eval_expr', 'inspect', 'symbol_definition'])
      assert.is(argumentsOf(kernels, tool).includes('package'), false)
    assert.is(argumentsOf(kernels, 'list_globals').includes('package'), true)
  }
  assert.ok(namesOf([PYTHON, LISP]).includes('compile_form'))
  assert.ok(argumentsOf([PYTHON, LISP], 'eval_expr').includes('package'))
  assert.is(namesOf([LISP]).includes('reload'), false)
  for (const [kernels, isListed] of [
    [[PYTHON, LISP], false],
    [[WOLFRAM], true],
  ] as const)
    assert.is(argumentsOf(kernels, 'symbol_definition').includes('include'), isListed)
})

test('what is not listed is accepted all the same', () => {
  assert.is(argumentsOf([], 'eval_expr').includes('patience'), false)
  const tool = registry.find('eval_expr') ?? assert.unreachable('eval_expr is gone')
  const args = { expr: '1', kernel: 'web', patience: 5, package: 'SHOP' }
  assert.is(tool && validate(tool, args, registry).type, 'valid')
})

test('a client is told when a call has brought in a kernel that can do more, once, and finds the new list', async () => {
  const living: Kernel[] = []
  let changed = () => {}
  const { peer } = connect({
    living: () => livingOf(living),
    follow(news) {
      changed = news
      return () => {}
    },
    run: async ({ args }: CallRequest) => {
      if ((args as Line).expr === 'more') living.push(LISP)
      changed()
      return (args as Line).expr === 'fail'
        ? { ok: false, error: toolError('busy', { message: 'Busy.' }) }
        : three
    },
  })
  await open(peer, '2025-11-25')
  const names = async (id: number) => {
    peer.send(request('2025-11-25', { id, method: 'tools/list' }))
    return (resultOf(await peer.answer(id)).tools as Line[]).map(({ name }) => name)
  }
  const news = () =>
    peer.received.filter(({ method }) => method === 'notifications/tools/list_changed').length
  assert.is((await names(1)).includes('compile_form'), false)
  for (const [id, expr] of ['1', 'fail', 'more', '1'].entries()) {
    peer.send(call('2025-11-25', { id: 10 + id, args: { expr } }))
    await peer.answer(10 + id)
  }
  await peer.line(() => news() > 0)
  assert.is((await names(2)).includes('compile_form'), true)
  assert.is(news(), 1)
})

test('a client that follows no changes can call what it was not listed', async () => {
  const { peer, requests } = connect()
  await open(peer, MODERN)
  peer.send(call(MODERN, { id: 1, name: 'compile_form', args: { form: '(f)' } }))
  assert.equal(resultOf(await peer.answer(1)).isError ?? false, false)
  assert.is(requests[0]?.tool, 'compile_form')
})
