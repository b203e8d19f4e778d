import { DECISIONS, type Decision } from '../../src/journal/entries.ts'
import { type Asked, decide, type Rule } from '../../src/policy/rules.ts'
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

/** Every set of matching rules, at every level. With no rule at all, the default of the level holds. */
const WHOLE: readonly (readonly [Level, readonly Decision[], Decision])[] = [
  ['safe', [], 'allow'],
  ['safe', ['allow'], 'allow'],
  ['safe', ['ask'], 'ask'],
  ['safe', ['deny'], 'deny'],
  ['safe', ['allow', 'ask'], 'ask'],
  ['safe', ['allow', 'deny'], 'deny'],
  ['safe', ['ask', 'deny'], 'deny'],
  ['safe', ['allow', 'ask', 'deny'], 'deny'],
  ['cautious', [], 'allow'],
  ['cautious', ['allow'], 'allow'],
  ['cautious', ['ask'], 'ask'],
  ['cautious', ['deny'], 'deny'],
  ['cautious', ['allow', 'ask'], 'ask'],
  ['cautious', ['allow', 'deny'], 'deny'],
  ['cautious', ['ask', 'deny'], 'deny'],
  ['cautious', ['allow', 'ask', 'deny'], 'deny'],
  ['dangerous', [], 'ask'],
  ['dangerous', ['allow'], 'allow'],
  ['dangerous', ['ask'], 'ask'],
  ['dangerous', ['deny'], 'deny'],
  ['dangerous', ['allow', 'ask'], 'ask'],
  ['dangerous', ['allow', 'deny'], 'deny'],
  ['dangerous', ['ask', 'deny'], 'deny'],
  ['dangerous', ['allow', 'ask', 'deny'], 'deny'],
]

test('the table of levels and rules is whole', () => {
  assert.is(WHOLE.length, LEVELS.length * 2 ** DECISIONS.length)
  assert.is(new Set(WHOLE.map(row => JSON.stringify(row.slice(0, 2)))).size, WHOLE.length)
})

for (const [level, decisions, expected] of WHOLE)
  test(`${level} with ${decisions.join(', ') || 'no rule'} is ${expected}, in any order of the rules`, () => {
    const rules = decisions.map(decision => rule(decision))
    assert.is(ask({ level, rules }), expected)
    assert.is(ask({ level, rules: [...rules].reverse() }), expected)
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
