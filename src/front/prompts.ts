import type { GetPromptResult, Prompt as ListedPrompt } from '@modelcontextprotocol/server'

/** A question that people have about a program that runs, as their MCP client offers it: `/imago:why-stuck`. */
interface Prompt {
  readonly name: string
  readonly title: string
  readonly description: string
  /** What may be said with it. None is required: what is left out is found out. */
  readonly arguments: readonly { readonly name: string; readonly description: string }[]
  /** The tools that its text names: where one is not shown, neither is the prompt. */
  readonly needs: readonly string[]
  ask(said: Readonly<Record<string, string | undefined>>): string
}

/** The end of each: the person has asked for a reason, and for nothing to be changed. */
const REPORT =
  'Run no code and change nothing before you have told me what you found: the reason, the values that show it, and where it stands in the source. Say so where you could not tell.'

const PROMPTS: readonly Prompt[] = [
  {
    name: 'why-stuck',
    title: 'Why is it stuck?',
    description: 'Finds out what the running program waits for, or what it is busy with.',
    // Claude Code keeps the first word of an argument alone, so that a sentence would come to nothing.
    arguments: [],
    needs: ['threads', 'inspect', 'symbol_definition'],
    ask: () =>
      [
        'My program is stuck. Find out why.',
        '1. Call threads. For each thread and task it shows the frame where it stands, and local variables.',
        '2. Look for what waits: a lock, a queue, a socket, another task. Call inspect on what it waits for, and find who holds it. Two that wait for each other are a deadlock.',
        '3. Where nothing waits, call threads once more: a thread that stands in the same function each time is busy there. Read that function with symbol_definition.',
        REPORT,
      ].join('\n'),
  },
  {
    name: 'why-wrong',
    title: 'Why is this value wrong?',
    description: 'Follows a value of the running program back to where it comes from.',
    arguments: [
      { name: 'value', description: 'an expression, such as app.cart.total' },
      { name: 'expected', description: 'what it should be' },
    ],
    needs: ['inspect', 'symbol_definition', 'list_globals'],
    ask: ({ value, expected }) =>
      [
        `${value ? `\`${value}\`` : 'A value'} in my program is wrong${expected ? `; it should be ${expected}` : ''}. Find out why.`,
        value
          ? `1. Call inspect with ${JSON.stringify({ expr: value })}, and look at what it is now.`
          : '1. Ask me which value, or find it with list_globals. Then call inspect on it.',
        '2. Read the code that sets it with symbol_definition: that shows what really runs, which may not be what stands in the file.',
        '3. Inspect what that code reads, and compare each value with what the code takes it for. Go on until one is wrong by itself.',
        REPORT,
      ].join('\n'),
  },
  {
    name: 'what-failed',
    title: 'What failed last?',
    description: 'Explains the last error of the running program, with the values of that moment.',
    arguments: [],
    needs: ['get_last_error', 'inspect', 'symbol_definition'],
    ask: () =>
      [
        'Something failed in my program. Find out what, and why.',
        '1. Call get_last_error. It shows the last error of the program, also one that its framework has caught, with frames and local variables.',
        '2. Read the function of the innermost frame of my own code with symbol_definition, and inspect the values that it was called with.',
        '3. Find where the value that made it fail comes from.',
        REPORT,
      ].join('\n'),
  },
]

/** The prompts for a client that is shown these tools, as MCP lists them. */
export function listPrompts(tools: ReadonlySet<string>): ListedPrompt[] {
  return shownWith(tools).map(({ name, title, description, arguments: wanted }) => ({
    name,
    title,
    description,
    arguments: wanted.map(one => ({ ...one, required: false })),
  }))
}

/** One prompt as a message of the person's; undefined where none of that name is listed. */
export function getPrompt(
  tools: ReadonlySet<string>,
  { name, arguments: said = {} }: { name: string; arguments?: Readonly<Record<string, string>> | undefined },
): GetPromptResult | undefined {
  const prompt = shownWith(tools).find(one => one.name === name)
  if (prompt === undefined) return undefined
  const heard = prompt.arguments.map(one => [one.name, plainly(said[one.name])])
  const text = prompt.ask(Object.fromEntries(heard))
  return {
    description: prompt.description,
    messages: [{ role: 'user', content: { type: 'text', text } }],
  }
}

const shownWith = (tools: ReadonlySet<string>) =>
  PROMPTS.filter(({ needs }) => needs.every(name => tools.has(name)))

const MOST_CHARACTERS = 500

/** On one line, as it stands in the middle of a sentence. */
const plainly = (said: string | undefined) =>
  said?.replaceAll(/\s+/g, ' ').trim().slice(0, MOST_CHARACTERS) || undefined
