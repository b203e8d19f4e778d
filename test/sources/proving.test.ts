import { execFileSync } from 'node:child_process'
import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import { NODE_DISK } from '../../src/files/disk.ts'
import { openKept } from '../../src/files/undo.ts'
import { openSources } from '../../src/sources/sources.ts'
import type { Definitions } from '../../tools/definition.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { openCompiler } from '../../wire/kernels/compiler.ts'
import { type CallsRig, openCallsRig, resultOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { EDITED, MOVED, openProvingRig, PRICE, type ProvingRig } from '../support/proving-rig.ts'
import { ownedPython } from '../support/real-kernels.ts'

const test = suite('what is shown of a Python program is what runs', { limitMs: 60_000 })

/** What edits replaced, by path, as a test says it. */
const edits = new Map<string, { change: string; bytes: Uint8Array }[]>()

/** What happens while a text is compiled. */
let between: (() => Promise<void>) | undefined

let proving: ProvingRig
let folder: string
let kernel: Kernel
let rig: CallsRig

test.before(async () => {
  proving = await openProvingRig({
    replaced: path => edits.get(path) ?? [],
    compiled: async () => between?.(),
  })
  ;({ folder, kernel, rig } = proving)
})

test.after(() => proving?.close())

const run = (expr: string) => proving.run(expr)
const defined: ProvingRig['defined'] = (symbol, args) => proving.defined(symbol, args)

let made = 0

/** A module of that text, which the image has imported. */
async function imported(text: string | Buffer) {
  const name = `module_${++made}`
  const path = join(folder, `${name}.py`)
  const write = (text: string | Buffer) => writeFileSync(path, text)
  write(text)
  await run(`importlib.invalidate_caches(); import ${name}`)
  return { name, path, write }
}

const inspected = async (expr: string) => {
  const { callable } = resultOf(await rig.run('inspect', { expr })) as { callable: Record<string, unknown> }
  return callable
}

test('a function of a file that is as it was is proved, and nothing is said', async () => {
  const { name } = await imported(PRICE)
  const { current, proof, markdown } = await defined(`${name}.price`)
  assert.equal([current, proof], [true, { from: 'file', line: null, because: null }])
  assert.not.match(markdown, /changed|cannot/)
})

test('a function that has only moved is proved, with its line as it is now', async () => {
  const { name, write } = await imported(PRICE)
  write(MOVED)
  const { current, line, source, markdown } = await defined(`${name}.price`)
  assert.equal([current, line, source], [true, 4, PRICE.trimEnd()])
  assert.match(markdown, /began on line 1 when it was loaded, and has only moved/)
  const callable = await inspected(`${name}.price`)
  assert.equal([callable.source_preview, callable.line], [PRICE.trimEnd(), 4])
})

test('where the file has another text, that is said before anything else', async () => {
  const { name, write } = await imported(PRICE)
  write(EDITED)
  const { current, proof, markdown } = await defined(`${name}.price`)
  assert.equal([current, proof?.from], [false, null])
  assert.match(markdown, /^# \S+\n\n\*\*The file’s text is not what runs/)
  assert.match(markdown, /\* 3/)
  assert.is((await inspected(`${name}.price`)).source_preview, null)
})

test('what was evaluated for a file is compared with the file, now and after it is written', async () => {
  const { name, path, write } = await imported(PRICE)
  const evaluate = async (expr: string) => resultOf(await rig.run('eval_expr', { expr, file: path, line: 1 }))
  await evaluate('def price(order):\n    return order.total * 3\n')
  const beside = await defined(`${name}.price`)
  assert.equal([beside.current, beside.proof?.from], [true, 'as evaluated'])
  assert.match(beside.source ?? '', /\* 3/)
  assert.match(beside.markdown, /Its file does not have that text/)
  write(EDITED)
  const same = await defined(`${name}.price`)
  assert.equal([same.current, same.proof?.from], [true, 'file'])
  assert.not.match(same.markdown, /does not have that text/)
  write(MOVED)
  assert.is((await defined(`${name}.price`)).proof?.from, 'as evaluated')
  await evaluate('class Till:\n    def open(self):\n        return 1\n')
  assert.is((await defined(`${name}.Till`)).proof?.from, 'as evaluated')
})

test('a file that is not valid any more is not shown as what runs', async () => {
  const { name, write } = await imported(PRICE)
  write('def price(order:\n')
  const { current, markdown } = await defined(`${name}.price`)
  assert.is(current, false)
  assert.match(markdown, /not valid any more: SyntaxError/)
})

test('the text as it was first read is shown where it is what runs', async () => {
  const { name, path, write } = await imported(PRICE)
  await run(`import linecache; len(linecache.getlines(${JSON.stringify(path)}))`)
  write(EDITED)
  const { current, proof, source, markdown } = await defined(`${name}.price`)
  assert.equal([current, source], [true, PRICE.trimEnd()])
  assert.equal(proof, { from: 'as first read', line: 4, because: null })
  assert.match(markdown, /another text of that name is on line 4 now/)
})

test('the text that an approved edit replaced is shown where it is what runs', async () => {
  const { name, path, write } = await imported(PRICE)
  write(EDITED)
  edits.set(path, [
    { change: 'edit-13', bytes: Buffer.from(EDITED) },
    { change: 'edit-12', bytes: Buffer.from(PRICE) },
  ])
  const { current, proof, source } = await defined(`${name}.price`)
  assert.equal([current, proof?.from, source], [true, 'before edit-12', PRICE.trimEnd()])
  const callable = await inspected(`${name}.price`)
  assert.is(callable.source_preview, PRICE.trimEnd())
})

const DIFFERENT: readonly (readonly [what: string, before: string, after: string])[] = [
  ['1 and 1.0', 'return 1', 'return 1.0'],
  ['1 and True', 'return 1', 'return True'],
  ['0.0 and -0.0', 'return 0.0', 'return -0.0'],
  ['(1, 2) and (1.0, 2)', 'return (1, 2)', 'return (1.0, 2)'],
  ['sets with other members', 'return y in {1, 2}', 'return y in {1, 3}'],
  ['other names', 'return y.a', 'return y.b'],
  ['an inner function', 'return (lambda: 1)', 'return (lambda: 2)'],
  ["'a' and b'a'", "return 'a'", "return b'a'"],
]

for (const [what, before, after] of DIFFERENT)
  test(`${what} are told apart`, async () => {
    const text = (line: string) => `def f(y=None):\n    ${line}\n`
    const { name, write } = await imported(text(before))
    assert.is((await defined(`${name}.f`)).current, true)
    write(text(after))
    assert.is((await defined(`${name}.f`)).current, false)
  })

test('another default of a parameter is another text', async () => {
  const { name, write } = await imported('def f(x, y=1, *, z=2):\n    return x, y, z\n')
  for (const parameters of ['x, y=2, *, z=2', 'x, y=1, *, z=3', 'x, y=1.0, *, z=2', 'x=1, y=1, *, z=2']) {
    write(`def f(${parameters}):\n    return x, y, z\n`)
    assert.is((await defined(`${name}.f`)).current, false, parameters)
  }
  write('def f(x, y = 1, *, z = 2):\n    return x, y, z\n')
  assert.is((await defined(`${name}.f`)).current, true)
})

const [F, G] = ['def f(x):\n    return x\n', 'def f(x: int):\n    return x\n']
const BESIDE: readonly (readonly [what: string, before: string, after: string])[] = [
  ['decorators', `@plain\n${F}`, `\n@other\n${F}`],
  ['decorators', `@plain\n${F}`, `\n\n\n${F}`],
  ['decorators', F, `@plain\n${F}`],
  ['annotations', G, `\n${G.replace('int', 'str')}`],
  ['annotations', G, `\n${F}`],
  ['annotations', F, F.replace(':', ' -> int:')],
  ['computed defaults', F.replace('x', 'x=len("a")'), `\n${F.replace('x', 'x=len("")')}`],
]

for (const [what, before, after] of BESIDE)
  test(`a function is not said to have only moved where its ${what} may be others: ${JSON.stringify(after)}`, async () => {
    const { name, write } = await imported(`plain = other = lambda f: f\n${before}`)
    write(`plain = other = lambda f: f\n${after}`)
    const { markdown } = await defined(`${name}.f`)
    assert.match(markdown, new RegExp(`Its code is .*; whether its .*${what} are the same cannot be told`))
    assert.match(String((await inspected(`${name}.f`)).proof_note), what)
  })

const NESTED = `from __future__ import annotations
class Order:
    rate = 1
    class Line:
        def total(self) -> int:
            return __class__, self.__count, [n for n in self.lines]
def make(step):
    def inner(x, *rest):
        nonlocal step
        step += x
        return lambda: (step, rest)
    return inner
made = make(1)
`

test('methods, closures and code under future statements are compared inside what encloses them', async () => {
  const { name, write } = await imported(NESTED)
  write(`# Moved.\n${NESTED.replace('import annotations', 'import annotations\n\n')}`)
  for (const [symbol, line] of [
    ['Order.Line.total', 8],
    ['made', 11],
  ] as const) {
    const { current, line: shown } = await defined(`${name}.${symbol}`)
    assert.equal([current, shown], [true, line], symbol)
  }
  write(NESTED.replace('from __future__ import annotations', ''))
  assert.is((await defined(`${name}.made`)).current, false)
})

test('of a class and a module the functions are compared, and no more is claimed', async () => {
  const { name, write } = await imported(NESTED)
  write(`\n${NESTED}`)
  const { current, line, markdown } = await defined(`${name}.Order.Line`)
  assert.equal([current, line], [null, 5])
  assert.match(markdown, /Its functions are what runs; what else the text says cannot be compared/)
  write(NESTED.replace('self.lines', 'self.rows'))
  const other = await defined(`${name}.Order.Line`)
  assert.is(other.current, false)
  assert.match(other.markdown, /runs another `Order.Line.total`/)
  assert.is((await defined(name)).current, null)
  write(NESTED.replace('step += x', 'step -= x').replace('def make(step)', 'def make(step, more=1)'))
  assert.is((await defined(name)).current, false)
})

test('code that was compiled from no file says that nothing can be compared', async () => {
  await run("made_up = {}; exec('def f():\\n    return 1\\n', made_up); generated = made_up['f']")
  const { current, proof, markdown } = await defined('generated')
  assert.is(current, null)
  assert.match(proof?.because ?? '', /compiled from a text named <string>/)
  assert.match(markdown, /No source:/)
})

test('code that a program has rewritten is not said to differ', async () => {
  const { name } = await imported('def f(x):\n    return x\n')
  await run(`${name}.f.__code__ = ${name}.f.__code__.replace(co_consts=(None, object()))`)
  const { current, proof } = await defined(`${name}.f`)
  assert.is(current, null)
  assert.match(proof?.because ?? '', /a program has changed its code/)
})

test('what a loader may have rewritten cannot be compared', async () => {
  const { name } = await imported('def f(x):\n    return x + 1\n')
  await run(
    `class Rewriting: pass
${name}.__loader__ = Rewriting()
exec(compile('def f(x):\\n    return x + 2\\n', ${name}.__file__, 'exec'), vars(${name}))`,
  )
  const { current, proof } = await defined(`${name}.f`)
  assert.is(current, null)
  assert.match(proof?.because ?? '', /Rewriting loaded it, and may rewrite what it loads/)
})

test('a function that is traced is compared as it was compiled', async () => {
  const { name } = await imported(PRICE)
  resultOf(await rig.run('trace_function', { name: `${name}.price` }))
  await run(`${name}.price(type('O', (), {'total': 2}))`)
  assert.is((await defined(`${name}.price`)).current, true)
})

test('a decorated name shows what it wraps, and names the wrapper', async () => {
  const { name, write } = await imported(`import functools
def traced(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner
@traced
def total(x):
    return x
`)
  const found = await defined(`${name}.total`)
  assert.equal([found.current, found.source], [true, '@traced\ndef total(x):\n    return x'])
  assert.match(found.markdown, /seen through, outermost first: `module_\d+\.traced`/)
  const wrapper = '    @functools.wraps(f)\n    def inner(*args):\n        return f(*args)'
  assert.match(found.markdown, `### Around it: ${name}.traced.<locals>.inner`)
  assert.match(found.markdown, wrapper)
  const looked = await inspected(`${name}.total`)
  assert.equal((looked.wraps as { name: string }).name, `${name}.total`)
  write(
    '# Moved.\nimport functools\ndef traced(f):\n    @functools.wraps(f)\n    def inner(*args):\n        return [f(*args)]\n    return inner\n@traced\ndef total(x):\n    return x\n',
  )
  const changed = await defined(`${name}.total`)
  assert.equal([changed.current, changed.line], [true, 8])
  assert.not.match(changed.markdown, /\[f\(/)
  assert.match(changed.markdown, /No source: the file’s text is not what runs/)
  write('x = 1\n')
  assert.is((await defined(`${name}.total`)).current, false)
})

test('a file in another encoding is read as it says, and one that cannot be decoded says so', async () => {
  const latin = (text: string) => Buffer.from(`# coding: cp1252\n${text}`, 'latin1')
  const { name, write } = await imported(latin("def f():\n    return 'é'\n"))
  const found = await defined(`${name}.f`)
  assert.equal([found.current, found.source], [true, "def f():\n    return 'é'"])
  write(Buffer.from([0x64, 0xff, 0xfe, 0x0a]))
  assert.match((await defined(`${name}.f`)).proof?.because ?? '', /cannot be decoded: /)
  write('# coding: nonsense\ndef f():\n    return 1\n')
  assert.match((await defined(`${name}.f`)).proof?.because ?? '', /cannot be decoded: .*nonsense/)
})

test('a pipe, a huge file or nothing in its place is said at once', async () => {
  const { name, path, write } = await imported(PRICE)
  write('')
  truncateSync(path, 2 ** 30)
  assert.match((await defined(`${name}.price`)).proof?.because ?? '', /larger than/)
  const { source_preview, proof_note } = await inspected(`${name}.price`)
  assert.is(source_preview, null)
  assert.match(String(proof_note), /larger than/)
  rmSync(path)
  assert.match((await defined(`${name}.price`)).proof?.because ?? '', /is not there any more/)
  execFileSync('mkfifo', [path])
  const { current, proof, source } = await defined(`${name}.price`)
  assert.equal([current, source], [null, null])
  assert.match(proof?.because ?? '', /not a regular file/)
})

test('a long text that is proved elsewhere is cut, and its rest is kept', async () => {
  const body = 'x'.repeat(500)
  const { name, path, write } = await imported(`def f():\n    return '${body}'\n`)
  edits.set(path, [{ change: 'edit-1', bytes: Buffer.from(`def f():\n    return '${body}'\n`) }])
  write('def f():\n    return 1\n')
  const found = await defined(`${name}.f`, { max_length: 100 })
  assert.equal([found.truncated, found.original_len], [true, body.length + 22])
  const rest = resultOf(await rig.run('read_more', { handle: found.handle }))
  assert.match(String(rest.text), /x{400}'$/)
})

test('looks at code fire no audit hook for compiling or parsing, and no warning, in the image', async () => {
  const text = `import functools, os
from typing import overload
limit, other = 1, [2]
@overload
def f(x: int): ...
@overload
def f(x: str): ...
def f(x, key=lambda: 1):
    return x is 1
class Order:
    rate = 2
    def __init__(self): self.total = 3
    def add(self): return f(self.rate)
cached = functools.lru_cache(f)
order = Order()
`
  const { name, write } = await imported(text)
  await run(
    `import sys, warnings
seen = []
warnings.simplefilter('always')
def watch(event, args):
    if event == 'compile' and watching and args[1] is not None: seen.append(args[1])  # None: of a tree, not a text
watching = True
sys.addaudithook(watch)`,
  )
  write(`\n${text}`)
  assert.is((await defined(`${name}.f`)).line, 9)
  for (const symbol of ['Order', 'Order.add', 'limit', 'other', 'cached', 'order.total', 'Order.rate'])
    await rig.run('symbol_definition', { symbols: [`${name}.${symbol}`], include_context_details: true })
  await rig.run('symbol_definition', { symbols: [name, 'os.path.join', 'len', 'dict.fromkeys'] })
  for (const symbol of [`${name}.f`, 'len', 'int.to_bytes', 'dict.fromkeys']) {
    await rig.run('function_arglist', { name: symbol })
    await rig.run('describe_symbol', { name: symbol })
  }
  await rig.run('inspect', { expr: `${name}.f` })
  await rig.run('threads', {})
  const parsed = String((await run('watching = False; sorted(set(seen))')).value_repr)
  // What was evaluated, and the expression of `inspect`, are the caller's own.
  assert.match(parsed, /<expression>/)
  assert.not.match(parsed.replace(/'<(expression|imago[- ][^>]*)>'/g, ''), "'")
})

test('an interpreter that is not the one of the process is never started', async () => {
  const bytes = Buffer.from(PRICE)
  const compiler = openCompiler()
  const asked = {
    language: kernel.identity.language,
    pid: kernel.identity.pid,
    version: '',
    optimize: 0,
    futures: 0,
  }
  for (const interpreter of ['/bin/sh', '', 'python3', '/nowhere/python3', process.execPath]) {
    const { type } = await compiler.compile({ ...asked, interpreter, bytes })
    assert.is(type, 'failed', interpreter)
  }
  compiler.close()
})

const compiling = (limits: Parameters<typeof openCompiler>[0]) => {
  const one = openCompiler(limits)
  const compile = async (text: string) => {
    const looked = await kernel.look(
      'definition',
      { name: 'asked.f', max_length: 100 },
      { deadlineMs: 15_000 },
    )
    const running = looked.type === 'found' ? looked.value.running : undefined
    if (running === undefined) throw new Error(JSON.stringify(looked))
    const { language, pid } = kernel.identity
    const { interpreter, version, optimize, futures } = running
    return one.compile({ language, pid, interpreter, version, optimize, futures, bytes: Buffer.from(text) })
  }
  return { compile, close: () => one.close() }
}

test('a text that takes the compiler too long, or too much, ends that process, and the next one is answered', async () => {
  const { name } = await imported('def f():\n    return 1\n')
  await run(`asked = ${name}`)
  const one = compiling({ textMs: 1_500, textBytes: 100_000 })
  const deep = await one.compile(`x = ${'-'.repeat(90_000)}1\n`)
  assert.is.not(deep.type, 'compiled')
  const large = await one.compile('x'.repeat(100_001))
  assert.match(large.type === 'failed' ? large.because : '', /larger than 100000 bytes/)
  const next = await one.compile('def f():\n    return 1\n')
  assert.is(next.type, 'compiled')
  one.close()
  const hasty = compiling({ textMs: 0 })
  const late = await hasty.compile('x = 1\n')
  assert.match(late.type === 'failed' ? late.because : '', /took longer than 0 s/)
  hasty.close()
})

test('a thread that stands in a function of a changed file shows the line that runs, or none', async () => {
  const waiting =
    'import threading\ngate = threading.Event()\n\ndef wait_here(gate):\n    gate.wait()  # the line\n'
  const { name, write } = await imported(waiting)
  await run(
    `import threading; threading.Thread(target=${name}.wait_here, args=(${name}.gate,), daemon=True).start()`,
  )
  const sourceThere = async () => {
    const { threads } = resultOf(await rig.run('threads', { filter: 'wait_here' })) as {
      threads: { frames: { function: string; source: string | null; running?: unknown }[] }[]
    }
    const frame = threads.flatMap(one => one.frames).find(one => one.function === 'wait_here')
    assert.is(frame?.running, undefined)
    return frame?.source
  }
  write(`# One.\n# Two.\n${waiting}`)
  assert.is(await sourceThere(), 'gate.wait()  # the line')
  write(waiting.replace('gate.wait()', 'gate.wait(5)'))
  assert.is(await sourceThere(), null)
  await run(`${name}.gate.set()`)
})

const FAILING = `def outer(order):
    total = order
    return inner(total)


def inner(total):
    rate = 0
    return total / rate  # the line
`

/** A module whose `outer` fails in `inner`, which stands in a file that has changed since. */
async function failing(change: (text: string) => string) {
  const module = await imported(FAILING)
  await rig.run('eval_expr', { expr: `${module.name}.outer(1)` })
  await forgotten(module)
  return { ...module, change: () => module.write(change(FAILING)) }
}

/** Has the image forget the text as it was first read. */
const forgotten = ({ path }: { path: string }) =>
  run(`import linecache; linecache.cache.pop(${JSON.stringify(path)}, None)`)

interface FrameTold {
  readonly function: string
  readonly source: string | null
  readonly now?: number
  readonly differs?: true
  readonly running?: unknown
}

/** What a tool tells of the innermost frame, and its text. */
async function innermost(tool: string, args: object) {
  const { error, frames = [] } = resultOf(await rig.run(tool, args)) as {
    error?: { frames: FrameTold[]; traceback: string }
    frames?: FrameTold[]
  }
  const frame = [...(error?.frames ?? frames)].find(one => one.function === 'inner')
  assert.is(frame?.running, undefined)
  return {
    source: frame?.source,
    now: frame?.now,
    differs: frame?.differs,
    traceback: error?.traceback ?? '',
  }
}

/** What an evaluation raises. */
async function failure(expr: string) {
  const answer = await rig.run('eval_expr', { expr })
  if (answer.ok) throw new Error('it has not failed')
  return answer.error.details.exception as { traceback: string; frames: FrameTold[] }
}

const LINE = 'return total / rate  # the line'

test('an evaluation that fails in a file that has changed shows the lines that run, or none', async () => {
  const { name, write } = await imported(FAILING)
  const tracebackThere = async () => {
    const { traceback, frames } = await failure(`${name}.outer(1)`)
    assert.ok(frames.every(({ running }) => running === undefined))
    return traceback
  }
  assert.match(await tracebackThere(), LINE)
  const looked = await rig.run('inspect', { expr: `${name}.outer(1)` })
  assert.is(looked.ok ? undefined : looked.error.code, 'needs_evaluation')
  assert.not.match(JSON.stringify(looked), '"running"')
  write(`# One.\n# Two.\n${FAILING}`)
  const moved = await tracebackThere()
  assert.match(moved, `line 8, in inner\n    ${LINE}\n`)
  assert.match(moved, 'line 3, in outer\n    return inner(total)\n')
  write(FAILING.replace('/ rate', '// rate'))
  const other = await tracebackThere()
  assert.match(other, 'line 8, in inner\nZeroDivisionError')
  assert.match(other, 'line 3, in outer\n    return inner(total)\n')
})

test('the frames of an error that was kept show the lines that run, or none', async () => {
  const moved = await failing(text => `# One.\n${text}`)
  moved.change()
  const looked = await innermost('get_last_error', { whose: 'callers' })
  assert.equal([looked.source, looked.now, looked.differs], [LINE, 9, undefined])
  assert.match(looked.traceback, `line 8, in inner\n    ${LINE}\n`)
  const changed = await failing(text => text.replace('/ rate', '// rate'))
  changed.change()
  const other = await innermost('get_last_error', { whose: 'callers' })
  assert.equal([other.source, other.differs], [null, true])
  assert.not.match(other.traceback, 'total /')
})

test('a suspended frame shows the lines that run, by the numbers that they had, or none', async () => {
  const { name, path, write } = await imported(FAILING)
  await rig.run('eval_expr', { expr: `${name}.outer(1)`, on_error: 'suspend' })
  await forgotten({ path })
  write(`# One.\n${FAILING}\nx = 1\n`)
  assert.equal((await innermost('debug_state', {})).source, LINE)
  const around = async () =>
    (resultOf(await rig.run('debug_frame', { frame: 0 })) as { around: unknown }).around
  assert.equal(await around(), {
    first_line: 6,
    lines: ['def inner(total):', '    rate = 0', `    ${LINE}`],
  })
  write(FAILING.replace('/ rate', '// rate'))
  assert.equal((await innermost('debug_state', {})).source, null)
  assert.is(await around(), null)
})

test('a line within code that was only laid out anew is not guessed', async () => {
  const { write, change } = await failing(text => text.replace('    rate = 0', '    # Why.\n    rate = 0'))
  change()
  assert.equal((await innermost('get_last_error', { whose: 'callers' })).source, null)
  write(FAILING)
  assert.equal((await innermost('get_last_error', { whose: 'callers' })).source, LINE)
})

test('the top level of a module is compared as well', async () => {
  const path = join(folder, 'top_level.py')
  const text = "one = 1\nraise ValueError('no')  # here\n"
  writeFileSync(path, text)
  const code = `compile(open(${JSON.stringify(path)}).read(), ${JSON.stringify(path)}, 'exec')`
  await run(`code_of_module = ${code}`)
  const tracebackThere = async () => {
    return (await failure('exec(code_of_module, {})')).traceback
  }
  assert.match(await tracebackThere(), '# here')
  writeFileSync(path, text.replace('one = 1', 'one = 2'))
  assert.not.match(await tracebackThere(), '# here')
})

test('the traceback of an exception that is inspected has the lines that run, or none', async () => {
  const { name, write } = await imported(FAILING)
  await run(`
try:
    ${name}.outer(1)
except Exception as error:
    caught_${name} = error
`)
  const tracebackThere = async () => {
    const looked = resultOf(await rig.run('inspect', { expr: `caught_${name}` }))
    const { traceback, frames } = looked.exception as { traceback: string; frames?: unknown }
    assert.is(frames, undefined)
    return traceback
  }
  write(`# One.\n${FAILING}`)
  assert.match(await tracebackThere(), `line 8, in inner\n    ${LINE}\n`)
  write(FAILING.replace('/ rate', '// rate'))
  assert.not.match(await tracebackThere(), 'total /')
})

test('frames of a file that is a pipe, huge, gone or in no known encoding show no line', async () => {
  const { path, write } = await failing(text => text)
  const shown = async () => (await innermost('get_last_error', { whose: 'callers' })).source
  write('')
  truncateSync(path, 2 ** 30)
  assert.is(await shown(), null)
  write('# coding: nonsense\n')
  assert.is(await shown(), null)
  rmSync(path)
  assert.is(await shown(), null)
  execFileSync('mkfifo', [path])
  assert.is(await shown(), null)
})

test('what is begun anew while it is proved is told as it was looked at', async () => {
  const { name, write } = await imported(`${PRICE}# Old.\n`)
  await run(`import linecache; len(linecache.getlines(${name}.__file__))`)
  write(`${EDITED}# New.\n`)
  between = async () => {
    between = undefined
    await run(`importlib.reload(${name})`)
  }
  const { source, proof } = await defined(`${name}.price`)
  assert.equal([source, proof?.from], [PRICE.trimEnd(), 'as first read'])
  assert.equal((await defined(`${name}.price`)).proof?.from, 'file')
})

test('an error that the program had in a file that had changed before shows the lines that run, or none', async () => {
  const { name, path, write } = await imported(FAILING)
  const failed = async () => {
    await forgotten({ path })
    await run(
      `import threading; one = threading.Thread(target=${name}.outer, args=(1,)); one.start(); one.join()`,
    )
    return innermost('get_last_error', {})
  }
  write(FAILING.replace('/ rate', '// rate'))
  const other = await failed()
  assert.equal([other.source, other.differs], [null, true])
  assert.not.match(other.traceback, 'total /')
  write(`# One.\n${FAILING}`)
  const moved = await failed()
  assert.equal([moved.source, moved.now], [LINE, 9])
  assert.match(moved.traceback, `line 8, in inner\n    ${LINE}\n`)
})

test('an image that ends while its code is proved leaves an answer all the same', async () => {
  const other = await ownedPython()
  const compiler = openCompiler()
  const path = join(folder, 'left_alone.py')
  writeFileSync(path, `${PRICE}# Of one that ends.\n`)
  const sources = openSources({
    compile: async request => {
      await other.close()
      return compiler.compile(request)
    },
    replaced: () => [],
    committed: async () => [],
  })
  const kernels = { resolve: async () => ({ name: 'python', kernel: other }) }
  const alone = openCallsRig({ options: { kernels, sources, clock: SYSTEM_CLOCK, lookMs: 15_000 } })
  const expr = `import sys; sys.path.insert(0, ${JSON.stringify(folder)}); sys.dont_write_bytecode = True; import left_alone`
  resultOf(await alone.run('eval_expr', { expr }))
  writeFileSync(path, `${EDITED}# Of one that ends.\n`)
  const { symbols } = resultOf(
    await alone.run('symbol_definition', { symbols: ['left_alone.price'] }),
  ) as unknown as Definitions
  const facts = symbols[0]?.ok === true ? symbols[0] : undefined
  assert.is(facts?.current, null)
  assert.match(facts?.proof?.because ?? '', /interpreter/)
  compiler.close()
  await alone.close()
})

test('what edits of a file replaced is found by its path, newest first', async () => {
  const limits = { bytes: 2 ** 20, ms: 1_000_000, fileBytes: 2 ** 20 }
  const kept = openKept({ disk: NODE_DISK, stateDir: folder, now: Date.now, limits })
  assert.equal(kept.textsOf('/app/a.py', 5), [])
  const changed = { afterSha256: null, mode: 0o600, owner: null, folders: 0 }
  for (const [change, path, text] of [
    ['edit-1', '/app/a.py', 'one'],
    ['edit-2', '/app/b.py', 'other'],
    ['edit-3', '/app/a.py', 'three'],
  ] as const) {
    await kept.keep(change, [{ ...changed, path, before: Buffer.from(text) }])
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const found = kept
    .textsOf('/app/a.py', 5)
    .map(({ change, bytes }) => [change, Buffer.from(bytes).toString()])
  assert.equal(found, [
    ['edit-3', 'three'],
    ['edit-1', 'one'],
  ])
  assert.is(kept.textsOf('/app/a.py', 1).length, 1)
})
