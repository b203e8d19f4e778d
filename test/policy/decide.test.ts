import { DECISIONS, type Decision } from '../../src/journal/entries.ts'
import { type Asked, asksByDefault, decide, type Rule } from '../../src/policy/rules.ts'
import { LEVELS, type Level } from '../../tools/contract.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('gate')

const from = { type: 'user', file: '/policy.toml', number: 1 } as const

const rule = (decision: Decision, matching: Partial<Rule> = { tool: 't' }): Rule => ({
  decision,
  ...matching,
  from,
})

const ask = (asked: Partial<Asked>): Decision =>
  decide({ tool: 't', level: 'cautious', kernel: 'k', rules: [], ...asked }).decision

/** Every set of matching rules, and what it comes to at each level. With no rule at all, the default of the level holds. */
const WHOLE: readonly (readonly [readonly Decision[], Readonly<Record<Level, Decision>>])[] = [
  [[], { safe: 'allow', cautious: 'allow', dangerous: 'ask' }],
  [['allow'], { safe: 'allow', cautious: 'allow', dangerous: 'allow' }],
  [['ask'], { safe: 'ask', cautious: 'ask', dangerous: 'ask' }],
  [['deny'], { safe: 'deny', cautious: 'deny', dangerous: 'deny' }],
  [['allow', 'ask'], { safe: 'ask', cautious: 'ask', dangerous: 'ask' }],
  [['allow', 'deny'], { safe: 'deny', cautious: 'deny', dangerous: 'deny' }],
  [['ask', 'deny'], { safe: 'deny', cautious: 'deny', dangerous: 'deny' }],
  [['allow', 'ask', 'deny'], { safe: 'deny', cautious: 'deny', dangerous: 'deny' }],
]

test('the table of rules is whole', () => {
  assert.is(new Set(WHOLE.map(([decisions]) => decisions.join())).size, 2 ** DECISIONS.length)
})

for (const [decisions, expected] of WHOLE)
  for (const level of LEVELS)
    test(`${level} with ${decisions.join(', ') || 'no rule'} is ${expected[level]}, in any order of the rules`, () => {
      const rules = decisions.map(decision => rule(decision))
      assert.is(ask({ level, rules }), expected[level])
      assert.is(ask({ level, rules: [...rules].reverse() }), expected[level])
    })

/** Whether a rule with these matchers speaks about the call. */
const MATCHING: readonly (readonly [Partial<Rule>, Partial<Asked>, boolean])[] = [
  [{ tool: 'eval_expr' }, { tool: 'eval_expr' }, true],
  [{ tool: 'eval_expr' }, { tool: 'eval_exprs' }, false],
  [{ tool: 'eval_*' }, { tool: 'eval_expr' }, true],
  [{ tool: 'eval_*' }, { tool: 'evil' }, false],
  [{ tool: '*' }, { tool: 'anything' }, true],
  [{ level: 'cautious' }, { level: 'cautious' }, true],
  [{ level: 'cautious' }, { level: 'dangerous' }, false],
  [{ level: 'dangerous' }, { level: 'cautious' }, false],
  [{ kernel: 'main' }, { kernel: 'main' }, true],
  [{ kernel: 'main' }, { kernel: 'mainly' }, false],
  [{ kernel: 'scratch-*' }, { kernel: 'scratch-2' }, true],
  [{ kernel: 'scratch-*' }, { kernel: 'scratch' }, false],
  [{ kernel: '*' }, { kernel: null }, false],
  [{ path: '/p/src' }, { paths: ['/p/src'] }, true],
  [{ path: '/p/src' }, { paths: ['/p/src/a.py'] }, true],
  [{ path: '/p/src/' }, { paths: ['/p/src/a.py'] }, true],
  [{ path: '/p/src' }, { paths: ['/p/src-old/a.py'] }, false],
  [{ path: '/p/src' }, {}, false],
  [{ path: '/' }, { paths: ['/anything'] }, true],
  [{ file: '/p/src' }, { paths: ['/p/src'] }, true],
  [{ file: '/p/src' }, { paths: ['/p/src/a.py'] }, false],
  [{ file: '/p/src' }, { paths: ['/p'] }, false],
  [{ file: '/p/src' }, {}, false],
  [{ file: '/p/src', real: '/q/src' }, { paths: ['/q/src'] }, true],
  [{ file: '/p/src', real: '/q/src' }, { paths: ['/q/src/a.py'] }, false],
  [{ effect: 'write_file' }, { effects: ['write_file'] }, true],
  [{ effect: 'write_file' }, { effects: ['start_process'] }, false],
  [{ effect: 'write_file' }, {}, false],
  [{ tool: 't', kernel: 'k', level: 'cautious' }, {}, true],
  [{ tool: 't', kernel: 'other', level: 'cautious' }, {}, false],
]

for (const [matching, asked, matches] of MATCHING)
  test(`a rule for ${JSON.stringify(matching)} ${matches ? 'speaks' : 'does not speak'} about ${JSON.stringify(asked)}`, () => {
    assert.is(ask({ ...asked, rules: [rule('deny', matching)] }) === 'deny', matches)
  })

test('each effect is judged by itself, and the strictest answer holds', () => {
  const rules = [rule('allow', { effect: 'write_file' }), rule('deny', { effect: 'open_connection' })]
  const level = 'dangerous'
  assert.is(ask({ level, rules, effects: ['write_file'] }), 'allow')
  assert.is(ask({ level, rules, effects: ['write_file', 'start_process'] }), 'ask')
  assert.is(ask({ level, rules, effects: ['write_file', 'start_process', 'open_connection'] }), 'deny')
})

test('a verdict names the rule that decided, and a default names itself', () => {
  const strict = { ...rule('deny'), from: { ...from, number: 2 } }
  assert.equal(
    decide({ tool: 't', level: 'safe', kernel: null, rules: [rule('allow'), strict] }).rule,
    strict,
  )
  const { rule: byDefault } = decide({ tool: 't', level: 'dangerous', kernel: null, rules: [] })
  assert.equal(byDefault, { decision: 'ask', level: 'dangerous', from: { type: 'default' } })
})

/** A kernel `k` of another project: the rules, and what they come to for a call that would run otherwise. */
const ELSEWHERE: readonly (readonly [string, readonly Rule[], Decision])[] = [
  ['no rule', [], 'ask'],
  ['a rule that allows and names it', [rule('allow', { kernel: 'k' })], 'allow'],
  ['a rule that names the beginning of its name', [rule('allow', { kernel: 'k*' })], 'allow'],
  ['a rule for whatever kernel', [rule('allow', { kernel: '*' })], 'ask'],
  ['a rule that names no kernel', [rule('allow')], 'ask'],
  ['a rule that names another one', [rule('allow', { kernel: 'other' })], 'ask'],
  ['a rule that names it for another tool', [rule('allow', { kernel: 'k', tool: 'other' })], 'ask'],
  ['a rule that denies', [rule('deny')], 'deny'],
  ['rules that allow it and ask', [rule('allow', { kernel: 'k' }), rule('ask')], 'ask'],
]

for (const [what, rules, decision] of ELSEWHERE)
  for (const level of ['safe', 'cautious'] as const)
    test(`with ${what}, a ${level} call to a kernel of another project is decided: ${decision}`, () => {
      assert.is(ask({ level, rules, elsewhere: true }), decision)
      assert.is(ask({ level, rules: [...rules].reverse(), elsewhere: true }), decision)
    })

test('no default alone asks about a kernel of another project, so that no grant lets a call through', () => {
  const asked = { tool: 't', level: 'dangerous', kernel: 'k', rules: [] } as const
  assert.is(asksByDefault(asked), true)
  assert.is(asksByDefault({ ...asked, elsewhere: true }), false)
})

/** What a rule says of `write_file`, and of the calls of it that are called `create_file`. */
const NAMED: readonly (readonly [string, ofOthers: readonly Decision[], ofThose: readonly Decision[]])[] = [
  // For what allows, what asks and what denies: all are dangerous, so that the default asks.
  ['write_file', ['allow', 'ask', 'deny'], ['ask', 'ask', 'deny']],
  ['create_file', ['ask', 'ask', 'ask'], ['allow', 'ask', 'deny']],
  ['write_*', ['allow', 'ask', 'deny'], ['ask', 'ask', 'deny']],
  ['create_*', ['ask', 'ask', 'ask'], ['allow', 'ask', 'deny']],
  ['*', ['allow', 'ask', 'deny'], ['allow', 'ask', 'deny']],
]

for (const [tool, ofOthers, ofThose] of NAMED)
  test(`a rule about ${tool} is ${ofOthers.join(', ')} for write_file, and ${ofThose.join(', ')} for what is create_file`, () => {
    const all = (asked: Partial<Asked>) =>
      DECISIONS.map(decision =>
        ask({
          tool: 'write_file',
          level: 'dangerous',
          kernel: null,
          rules: [rule(decision, { tool })],
          ...asked,
        }),
      )
    assert.equal(all({}), ofOthers)
    assert.equal(all({ as: 'write_file' }), ofOthers)
    assert.equal(all({ as: 'create_file' }), ofThose)
  })

test('a rule about a tool and one about its older name hold together, and the stricter decides', () => {
  const rules = [rule('deny', { tool: 'write_file' }), rule('allow', { tool: 'create_file' })]
  assert.is(ask({ tool: 'write_file', as: 'create_file', rules }), 'deny')
})

test('what asks or denies holds by every name of a kernel, and what allows by its own alone', () => {
  const asked = { kernel: 'mine', otherNames: ['web', 'web/*', '4711', 'web-4711'] }
  for (const kernel of ['mine', 'web', 'web/*', 'we*', '4711', 'web-4711']) {
    assert.is(ask({ ...asked, rules: [rule('deny', { kernel })] }), 'deny', kernel)
    assert.is(ask({ ...asked, rules: [rule('ask', { kernel })] }), 'ask', kernel)
    const allows = [rule('allow', { kernel })]
    assert.is(
      ask({ ...asked, level: 'dangerous', rules: allows }),
      kernel === 'mine' ? 'allow' : 'ask',
      kernel,
    )
    assert.is(ask({ ...asked, elsewhere: true, rules: allows }), kernel === 'mine' ? 'allow' : 'ask', kernel)
  }
  for (const kernel of ['web/2', '471', 'yours'])
    assert.is(ask({ ...asked, rules: [rule('deny', { kernel })] }), 'allow')
})
