import { inspect } from '../../tools/inspect.ts'
import type { Inspected } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('inspected')

const type = { name: 'list', module: 'builtins', qualified: 'builtins.list' }
const minimal: Inspected = { type, kind: 'sequence', read: 'static', limits: {} }

test('a value of which only type and kind are known is one line', () => {
  assert.is(inspect.show(minimal), 'list · sequence')
  const other = { ...minimal, type: { name: 'T', module: 'app', qualified: 'app.T' }, read: 'evaluated' }
  assert.is(inspect.show(other), 'app.T · sequence · code was run to see this')
})

test('a container is its size, repr and first items', () => {
  const value: Inspected = {
    ...minimal,
    handle: '@ab12.3',
    repr: { text: '[0, 1, …]', truncated: true, original_len: null },
    size: { len: 10_000_000, shape: [10_000_000] },
    sample: { items: ['0', '1'], shown: 2, total: 10_000_000, truncated: true, handle: '@ab12.4' },
    members: {
      data: [],
      callables: ['append', 'clear'],
      dunder_count: 36,
      shown_per_group: 24,
      truncated: true,
    },
  }
  assert.is(
    inspect.show(value),
    [
      'list · sequence · len 10000000 · shape (10000000,) · @ab12.3',
      'repr (cut at 9 characters): [0, 1, …]',
      'sample (first 2 of 10000000; more: read_more @ab12.4):',
      '  0',
      '  1',
      'members (cut): 36 special',
      '  callables: append, clear',
    ].join('\n'),
  )
})

test('a function is its signature, place and source, as written', () => {
  const value: Inspected = {
    ...minimal,
    type: { name: 'function', module: 'builtins', qualified: 'builtins.function' },
    kind: 'callable',
    callable: {
      module: '__main__',
      signature: '(x)',
      doc: null,
      source_preview: 'def next(x):\n    x + 1\n',
      source_truncated: false,
      file: 'app.py',
      line: 3,
    },
  }
  assert.is(
    inspect.show(value),
    'function · callable\ncallable: (x), in __main__, app.py:3\nsource:\ndef next(x):\n    x + 1',
  )
})

test('seed 2, case 8: a callable without source, signature or place says so', () => {
  const callable = {
    module: null,
    signature: null,
    doc: 'Says hello.',
    source_preview: null,
    source_truncated: false,
    file: null,
    line: null,
  }
  assert.is(
    inspect.show({ ...minimal, kind: 'callable', callable }),
    'list · callable\ncallable: no signature known\ndoc:\n  Says hello.\nsource: not available',
  )
})

test('seed 2, case 7: a section that failed says why, and the others stand', () => {
  const value = {
    ...minimal,
    repr: { text: '<Broken object>', truncated: false, original_len: 15, error: 'RuntimeError: no repr' },
    size: { error: 'TypeError: no len' },
    sample: { error: 'TypeError: not iterable' },
    members: { data: ['a'], callables: [], dunder_count: 3, shown_per_group: 24, truncated: false },
  }
  assert.is(
    inspect.show(value),
    [
      'list · sequence · size unknown: TypeError: no len',
      'repr (its own printer was not used: RuntimeError: no repr): <Broken object>',
      'sample: failed: TypeError: not iterable',
      'members: 3 special',
      '  data: a',
    ].join('\n'),
  )
})

test('seed 2, case 5: an exception is its type, message and traceback', () => {
  const exception = {
    exc_type: 'ValueError',
    message: 'bad',
    traceback: 'Traceback:\n  …\nValueError: bad\n',
  }
  const shown = inspect.show({ ...minimal, kind: 'exception', exception })
  assert.match(shown, 'exception: ValueError: bad\n  Traceback:\n    …\n  ValueError: bad')
  const bare = { exc_type: 'KeyError', message: null, traceback: null }
  assert.match(inspect.show({ ...minimal, kind: 'exception', exception: bare }), /exception: KeyError$/)
})

test('a text of several lines is set in below its title', () => {
  const doc = { text: 'One.\n\nTwo.', truncated: false, original_len: 10 }
  assert.match(inspect.show({ ...minimal, doc }), 'doc:\n  One.\n\n  Two.')
})
