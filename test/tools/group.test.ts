import { isGroupAnswer, mayBeForAll, showMembers } from '../../tools/group.ts'
import { TOOLS } from '../../tools/index.ts'
import { toolError } from '../../tools/outcome.ts'
import { showEnvelope } from '../../tools/show.ts'
import { assert, suite } from '../support/harness.ts'

/** The answers of a group of kernels as one text: what differs first, what is the same once. */
const test = suite('answers of a group')

const shown = (...texts: readonly string[]) =>
  showMembers(texts.map((text, index) => ({ kernel: name(index), ok: true, text })))

const name = (index: number) => (index === 0 ? 'web' : `web/${index + 1}`)

const lines = (...all: readonly string[]) => all.join('\n')

test('what differs is told by member first, and what all say once', () => {
  assert.is(
    shown(lines('rate: int', 'value: 1', 'by: app'), lines('rate: int', 'value: 2', 'by: app')),
    lines('web:', '  value: 1', 'web/2:', '  value: 2', 'the same in all 2:', '  rate: int', '  by: app'),
  )
})

test('where nothing differs, it is told once of whom', () => {
  const text = lines('a', '', 'b')
  assert.is(shown(text, text, text), lines('the same in all 3 (web, web/2, web/3):', '  a', '', '  b'))
})

test('where nothing is the same, each is told by itself, and so is one alone', () => {
  assert.is(shown('a', 'b'), lines('web:', '  a', 'web/2:', '  b'))
  assert.is(shown('a'), lines('web:', '  a'))
})

test('a line that differs stands below the lines that it was set in below', () => {
  const threads = (waits: string, n: number) =>
    lines(
      '2 threads',
      '',
      'Thread "a", running',
      '  app.py:1 in f',
      `      n = ${n}`,
      `Thread "b", ${waits}`,
      '  app.py:9 in g',
    )
  assert.is(
    shown(threads('running', 1), threads('waiting', 2)),
    lines(
      'web:',
      '  Thread "a", running',
      '    app.py:1 in f',
      '        n = 1',
      '  Thread "b", running',
      '    app.py:9 in g',
      'web/2:',
      '  Thread "a", running',
      '    app.py:1 in f',
      '        n = 2',
      '  Thread "b", waiting',
      '    app.py:9 in g',
      'the same in all 2:',
      '  2 threads',
      '',
      '  Thread "a", running',
      '    app.py:1 in f',
    ),
  )
})

test('a line that one has more often than another is told of that one, as often as it has it more', () => {
  assert.is(
    shown(lines('x', 'x', 'x'), 'x'),
    lines('web:', '  x', '  x', 'web/2: only what is the same in all', 'the same in all 2:', '  x'),
  )
})

test('whoever failed is told first, and does not count for what is the same in the others', () => {
  assert.is(
    showMembers([
      { kernel: 'web', ok: true, text: lines('a', 'b') },
      { kernel: 'web/2', ok: false, text: 'unresponsive: web/2 does not answer.' },
      { kernel: 'web/3', ok: true, text: lines('a', 'c') },
    ]),
    lines(
      'web/2:',
      '  unresponsive: web/2 does not answer.',
      'web:',
      '  b',
      'web/3:',
      '  c',
      'the same in the 2 that answered:',
      '  a',
    ),
  )
})

test('each member is shown by the tool that was asked, with its own error and notice', () => {
  const tool = TOOLS.find(({ name }) => name === 'get_repl_history')
  const own = { ...JSON.parse('{"entries":[],"total":0,"omitted":0}'), notice: 'own' }
  const error = toolError('unresponsive', { message: 'It is frozen.', next: 'Wait.' })
  const members = [
    { kernel: 'web', ok: true as const, result: own },
    { kernel: 'web/2', ok: false as const, error },
  ]
  const text = showEnvelope({ ok: true, result: { members, notice: 'both' } }, tool)
  assert.match(text, /^web\/2:\n {2}unresponsive: It is frozen\.\n {2}next: Wait\.\nweb:\n/)
  assert.match(text, /\n {2}notice: own\n/)
  assert.match(text, /\nnotice: both$/)
})

test('a result with members of its own is not taken for the answers of a group', () => {
  for (const members of [[], 'web', [{ name: 'total' }], [{ kernel: 'web' }], [null]])
    assert.is(isGroupAnswer({ members }), false)
  assert.is(isGroupAnswer({ members: [{ kernel: 'web', ok: true, result: 1 }] }), true)
})

test('all can be asked what only looks, and to trace; nothing that runs code, changes or keeps anything', () => {
  const forAll = TOOLS.filter(tool => tool.needs.length > 0 && mayBeForAll(tool, tool.level))
  const others = TOOLS.filter(tool => tool.needs.length > 0 && !forAll.includes(tool))
  const names = (tools: typeof TOOLS) => tools.map(({ name }) => name)
  for (const tool of [
    'threads',
    'inspect',
    'get_last_error',
    'list_globals',
    'symbol_definition',
    'trace_calls',
  ])
    assert.ok(names(forAll).includes(tool), tool)
  assert.equal(
    forAll.filter(({ level }) => level !== 'safe').map(({ name }) => name),
    ['trace_function', 'untrace_function'],
  )
  for (const tool of ['eval_expr', 'load_file', 'reload', 'debug_eval', 'debug_restart', 'run_tests'])
    assert.ok(names(others).includes(tool), tool)
  assert.is(mayBeForAll({ needs: ['inspect'] }, 'cautious'), false)
})
