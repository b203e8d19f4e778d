import type { Ability, NameKind } from '../../wire/kernel.ts'

/** A language, as `test/wire/kernel-suite.ts` needs it: the same few programs in each. */
export interface Snippets {
  readonly language: string
  /** A name of the top level as answers write it, whatever is in force: in Lisp with its package. */
  qualified(name: string): string
  /** What a kernel of this language cannot do, and says so by not declaring it. */
  readonly cannot: readonly Ability[]
  /** An expression, how its value is written, and the name of its type. */
  readonly expression: { readonly source: string; readonly repr: string; readonly type: string }
  /** A statement that gives a name the value of an expression. */
  assign(name: string, expression: string): string
  /** An expression for one more than the value of a name. */
  oneMore(name: string): string
  /** Prints to one stream, with a line end. */
  print(stream: 'stdout' | 'stderr', text: string): string
  /** Prints through a child process, or in another way that the language's own streams do not see. */
  printBelow(text: string): string
  /** Several statements as one source. */
  inOrder(...sources: readonly string[]): string
  /** Raises an exception with this message two calls deep; `raises.type` is its type's name. */
  readonly raises: {
    source(message: string): string
    readonly type: string
    readonly functions: readonly string[]
    /** Frames are told by their names alone: what runs keeps no places. */
    readonly unplaced?: true
  }
  /** Ends before it is code, so that nothing before it may have run either. */
  readonly malformed: string
  /** Runs for a long time, and can be interrupted. */
  readonly forever: string
  /** Reads a line from standard input; its value is what was read, written as `repr`. */
  readonly readLine: { source(prompt: string): string; repr(line: string): string }
  /** An expression for a text of so many letters `x`, and the length of its repr. */
  readonly longText: { source(length: number): string; reprLength(length: number): number }
  /** An expression that only running code can resolve, and its value's repr. */
  readonly call: { readonly source: string; readonly repr: string }
  /** An expression for a value with items, which is worth a handle. */
  readonly container: { readonly source: string; readonly kind: string; readonly length: number }
  readonly world: World
  readonly module: LoadedModule
  /** Leaves a thread behind that waits in a function. */
  readonly waiter: {
    readonly source: string
    readonly thread: string
    readonly function: string
    /** Whether the language lets a thread be looked into while it goes on; else its stack is not told, and why is. */
    readonly seen: boolean
  }
}

/** What looks at names are tried on: all of it at the top level, and typed in. */
export interface World {
  readonly source: string
  readonly function: {
    readonly name: string
    /** A piece of its text. */
    readonly text: string
  }
  /** A function that uses the other, and a variable that holds it. */
  readonly user: string
  readonly holder: string
  /** Left out: the language has no classes. */
  readonly class?: {
    readonly name: string
    readonly method: string
    /** What kind of name the method has: where methods belong to functions, it is the function's. */
    readonly methodKind: NameKind
  }
}

/** A module in a file, before and after it was edited. */
export interface LoadedModule {
  readonly name: string
  /** A member as it is named from outside. */
  named(member: string): string
  /** Whether what a file defines keeps no place in it. */
  readonly unplaced?: true
  /** What a loaded file is said to have been loaded into, and a member as it is named there. */
  readonly into: string
  loaded(member: string): string
  readonly file: string
  readonly before: string
  readonly after: string
  /** Code that loads it for the first time, from this folder. */
  load(folder: string): string
  /** A function that it offers, one that it keeps to itself, and one that only comes with the edit. */
  readonly offers: string
  readonly internal: string
  readonly comes: string
  /** A class of which something lives, and an expression that makes it so. */
  readonly class: string
  readonly lives: string
  /** An expression that calls what it offers, and what that comes to before and after. */
  readonly call: string
  readonly reprs: readonly [before: string, after: string]
}

/** In a Python that is ours; one that is only attached to holds no stack. */
export const PYTHON: Snippets = {
  language: 'python',
  qualified: name => name,
  cannot: ['compile', 'expand', 'system', 'tests', 'packages', 'callers', 'sections'],
  expression: { source: '1 + 2', repr: '3', type: 'int' },
  assign: (name, expression) => `${name} = ${expression}`,
  oneMore: name => `${name} + 1`,
  print: (stream, text) => `__import__('sys').${stream}.write(${JSON.stringify(`${text}\n`)}) and None`,
  printBelow: text => `import subprocess; subprocess.run(['echo', ${JSON.stringify(text)}], check=True)`,
  inOrder: (...sources) => sources.join('\n'),
  raises: {
    source: message =>
      `def outer():\n    inner()\n\ndef inner():\n    raise ValueError(${JSON.stringify(message)})\n\nouter()`,
    type: 'ValueError',
    functions: ['outer', 'inner'],
  },
  malformed: '1 +',
  forever: 'import time\nwhile True: time.sleep(0.01)',
  readLine: { source: prompt => `input(${JSON.stringify(prompt)})`, repr: line => `'${line}'` },
  longText: { source: length => `'x' * ${length}`, reprLength: length => length + 2 },
  call: { source: 'sorted([3, 1, 2])', repr: '[1, 2, 3]' },
  container: { source: 'list(range(1000))', kind: 'sequence', length: 1000 },
  world: {
    source: `
def suite_total(orders, *, rate=19):
    '''Adds up what orders cost.'''
    return sum(orders) * (100 + rate) // 100

def suite_report(orders):
    return suite_total(orders, rate=7)

suite_handlers = {'total': suite_total}

class SuiteOrder:
    '''What one customer wants.'''
    __slots__ = ('lines',)

    def price(self):
        return suite_total(self.lines)

class SuiteGift(SuiteOrder):
    pass
`,
    function: {
      name: 'suite_total',
      text: 'return sum(orders) * (100 + rate) // 100',
    },
    user: 'suite_report',
    holder: 'suite_handlers',
    class: {
      name: 'SuiteOrder',
      method: 'SuiteOrder.price',
      methodKind: 'method',
    },
  },
  module: {
    name: 'suite_shop',
    named: member => `suite_shop.${member}`,
    into: 'suite_shop',
    loaded: member => member,
    file: 'suite_shop.py',
    before:
      "import os\n\ndef fee():\n    '''What it costs.'''\n    return 1\n\ndef _hidden():\n    return 0\n\nclass Parcel:\n    pass\n",
    after:
      'import os\n\ndef fee():\n    return 2 + 0\n\ndef extra():\n    return 3\n\nclass Parcel:\n    size = 4\n',
    load: folder => `import sys\nsys.path.insert(0, ${JSON.stringify(folder)})\nimport suite_shop`,
    offers: 'fee',
    internal: '_hidden',
    comes: 'extra',
    class: 'Parcel',
    lives: 'suite_parcel = suite_shop.Parcel()',
    call: 'suite_shop.fee()',
    reprs: ['1', '2'],
  },
  waiter: {
    source: `
import threading
def suite_waits(gate):
    gate.wait()
threading.Thread(target=suite_waits, args=(threading.Event(),), name='suite-waiter', daemon=True).start()
`,
    thread: 'suite-waiter',
    function: 'suite_waits',
    seen: true,
  },
}
