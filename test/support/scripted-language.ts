import type { Ability, EvalEvent, Evaluated } from '../../wire/kernel.ts'
import { doneWith, FakeKernel, type Scene, shownAs } from './fake-kernel.ts'
import type { Snippets } from './snippets.ts'
import { WOLFRAM } from './snippets-wolfram.ts'

/** A language of one word a line, which a `FakeKernel` speaks: just enough for what a kernel evaluates. */
export const SCRIPTED: Omit<Snippets, 'cannot'> = {
  // Of no use here: nothing that a kernel looks at is ever asked.
  ...WOLFRAM,
  language: 'scripted',
  expression: { source: '3', repr: '3', type: 'object' },
  assign: (name, expression) => `set ${name} ${expression}`,
  oneMore: name => `more ${name}`,
  print: (stream, text) => `${stream} ${text}`,
  printBelow: text => `stdout ${text}`,
  inOrder: (...sources) => sources.join('\n'),
  raises: {
    source: message => `raise ${message}`,
    type: 'object',
    functions: ['outer', 'inner'],
    unplaced: true,
  },
  forever: 'forever',
}

/** A kernel of that language that can do only what is listed. */
export function scriptedKernel(abilities: readonly Ability[]): FakeKernel {
  const values = new Map<string, string>()
  const worth = (text: string) => {
    const [word, name = ''] = text.split(' ')
    return word === 'more' ? String(Number(values.get(name)) + 1) : (values.get(text) ?? text)
  }
  const scene = (source: string): Scene => {
    const events: EvalEvent[] = []
    let ends: Evaluated | 'never' = doneWith()
    for (const line of source.split('\n')) {
      const [word, name = ''] = line.split(' ')
      const rest = line.slice(line.indexOf(' ') + 1)
      if (word === 'stdout' || word === 'stderr')
        events.push({ type: 'output', stream: word, text: `${rest}\n` })
      else if (word === 'set') values.set(name, worth(rest.slice(name.length + 1)))
      else if (word === 'raise') ends = raised(rest)
      else ends = word === 'forever' ? 'never' : doneWith(worth(line))
    }
    return { events, ends }
  }
  const evaluate = new Proxy<Record<string, Scene>>({}, { get: (_, source) => scene(String(source)) })
  return new FakeKernel({ language: SCRIPTED.language, abilities, evaluate })
}

function raised(message: string): Evaluated {
  const frames = SCRIPTED.raises.functions.map(name => ({
    function: name,
    file: null,
    line: null,
    source: null,
    locals: [],
    locals_omitted: 0,
  }))
  const { type } = shownAs('')
  return {
    type: 'raised',
    exception: { type, message, traceback: message, frames, frames_omitted: 0 },
    elapsed_ms: 1,
  }
}
