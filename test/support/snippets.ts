/** A language, as `test/wire/kernel-suite.ts` needs it: the same few programs in each. */
export interface Snippets {
  readonly language: string
  /** An expression, how its value is written, and the name of its type. */
  readonly expression: { readonly source: string; readonly repr: string; readonly type: string }
  /** A statement that gives a name the value of an expression. */
  assign(name: string, expression: string): string
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
  }
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
}

export const PYTHON: Snippets = {
  language: 'python',
  expression: { source: '1 + 2', repr: '3', type: 'int' },
  assign: (name, expression) => `${name} = ${expression}`,
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
}
