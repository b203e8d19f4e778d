import { LEVELS, PROFILES } from '../../../tools/contract.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { SYNTAX_NAMES } from '../../syntax/syntax.ts'
import { connectHere } from '../client.ts'
import {
  type Command,
  type CommandInput,
  OPTIONS,
  type OperandKind,
  type OptionName,
  typeOf,
} from '../command.ts'

/**
 * `imago completion SHELL`: a script for that shell. `imago completion words -- WORD…` answers what the last of the words
 * may become, a line each, with what it means behind a tab; nothing is started for it.
 */
export async function completion(
  { operands: [shell = ''], rest, printer }: CommandInput,
  commands: readonly Command[],
): Promise<ExitCode> {
  if (shell === 'words') {
    const found = await completed(rest, commands).catch(() => [])
    printer.out(found.map(({ word, means }) => `${word}\t${means}\n`).join(''))
    return EXIT.done
  }
  const script = SCRIPTS[shell]
  if (script === undefined)
    throw new Failure(
      `There is no completion for ${shell}. There is one for: ${Object.keys(SCRIPTS).join(', ')}.`,
      {
        exit: EXIT.usage,
      },
    )
  printer.out(script)
  return EXIT.done
}

/** What a word may become, and what that means. */
export interface Completed {
  readonly word: string
  readonly means: string
}

/** What the shell completes with the names of files. */
const FILE: Completed = { word: ':file', means: '' }

/** What the last word may become, behind the others. */
export async function completed(
  words: readonly string[],
  commands: readonly Command[],
): Promise<readonly Completed[]> {
  const [before, current] = [words.slice(0, -1), words.at(-1) ?? '']
  const [name, ...typed] = before[0]?.startsWith('-') ? ['', ...before] : before
  const command = commands.find(one => one.name === (name ?? ''))
  if (name === 'help' || (name === undefined && !current.startsWith('-')))
    return beginning(
      current,
      commands.flatMap(one => (one.name === '' ? [] : [{ word: one.name, means: one.summary }])),
    )
  if (command === undefined) return []
  if (command.rest && before.includes('--')) return [FILE]
  const [, joined, value] = /^--([\w-]+)=(.*)$/.exec(current) ?? []
  const option = takesValue(command, joined === undefined ? typed.at(-1) : `--${joined}`)
  if (option !== undefined) {
    const found = await wordsOf(VALUES[option] ?? 'code', { command, operands: [] })
    return joined === undefined
      ? beginning(current, found)
      : beginning(value ?? '', found).map(one => ({ ...one, word: `--${joined}=${one.word}` }))
  }
  if (current.startsWith('-')) return beginning(current, optionsOf(command))
  const operands = typed.filter(
    (word, at) => !word.startsWith('-') && takesValue(command, typed[at - 1]) === undefined,
  )
  const kind = command.of?.[Math.min(operands.length, command.of.length - 1)]
  return kind === undefined || operands.length >= command.operands[1]
    ? []
    : kind === 'parameters'
      ? valuesOrNames(current, { command, operands })
      : beginning(current, await wordsOf(kind, { command, operands }))
}

/** Behind its `=` the values of a parameter that has a few; before, its name. */
async function valuesOrNames(current: string, at: Operands): Promise<readonly Completed[]> {
  const [, name] = /^(\w+)=/.exec(current) ?? []
  if (name === undefined) return beginning(current, await parameters(at))
  const values = await valuesIn((await shapeOf(at))[name])
  return beginning(
    current,
    values.map(value => ({ word: `${name}=${value}`, means: '' })),
  )
}

const beginning = (current: string, found: readonly Completed[]) =>
  found.filter(one => one === FILE || one.word.startsWith(current))

function optionsOf(command: Command): readonly Completed[] {
  const names = [...command.options, 'help', ...(command.name === '' ? (['version'] as const) : [])] as const
  return names.map(name => ({ word: `--${name}`, means: command.means?.[name] ?? OPTIONS[name].summary }))
}

/** The option of the command that this word is, where a value has to follow it. */
function takesValue(command: Command, word: string | undefined): OptionName | undefined {
  return command.options.find(name => `--${name}` === word && typeOf(name) === 'string')
}

/** What the values of options are. */
const VALUES: Readonly<Partial<Record<OptionName, OperandKind>>> = {
  kernel: 'kernel',
  script: 'file',
  'key-file': 'file',
  path: 'file',
  root: 'file',
  tool: 'tool',
  profile: PROFILES,
  level: LEVELS,
  format: [
    'text',
    'json',
    'openai',
    'anthropic',
    'gemini',
    'mcp',
    ...SYNTAX_NAMES.map(name => `syntax:${name}`),
  ],
}

interface Operands {
  readonly command: Command
  readonly operands: readonly string[]
}

async function wordsOf(kind: OperandKind, at: Operands): Promise<readonly Completed[]> {
  if (typeof kind !== 'string') return kind.map(word => ({ word, means: '' }))
  switch (kind) {
    case 'tool': {
      const { TOOLS } = await import('../../../tools/index.ts')
      return TOOLS.map(({ name, description }) => ({ word: name, means: firstSentence(description) }))
    }
    case 'parameters':
      return parameters(at)
    case 'kernel':
    case 'program':
      return living(kind)
    case 'client': {
      const { HOSTS } = await import('./mcp-clients.ts')
      return HOSTS.map(({ name }) => ({ word: name, means: '' }))
    }
    case 'file':
      return [FILE]
    case 'code':
      return []
    default:
      return kind satisfies never
  }
}

/** Those of the tool that were not given yet, each with the `=` that follows it. */
async function parameters({ command, operands }: Operands): Promise<readonly Completed[]> {
  const given = operands.map(word => word.split('=', 1)[0])
  return Object.entries(await shapeOf({ command, operands }))
    .filter(([name]) => !given.includes(name))
    .map(([name, schema]) => ({ word: `${name}=`, means: firstSentence(descriptionOf(schema)) }))
}

/** The parameters of the tool that the command calls. */
async function shapeOf({ command, operands }: Operands): Promise<Readonly<Record<string, unknown>>> {
  const { TOOLS } = await import('../../../tools/index.ts')
  const tool = TOOLS.find(
    ({ name, aliases }) => name === command.tool || [name, ...aliases].some(one => operands.includes(one)),
  )
  return tool?.parameters.shape ?? {}
}

/** The values that a parameter can have, where they are a few words. */
async function valuesIn(schema: unknown): Promise<readonly string[]> {
  const z = await import('zod')
  if (!(schema instanceof z.ZodType)) return []
  const { type, enum: words } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return type === 'boolean' ? ['true', 'false'] : (words ?? []).map(String)
}

const descriptionOf = (schema: unknown) =>
  typeof schema === 'object' && schema !== null && 'description' in schema
    ? String(schema.description ?? '')
    : ''

/** Kernels, or programs that can be attached to. None where no daemon runs: to complete a word starts nothing. */
async function living(kind: 'kernel' | 'program'): Promise<readonly Completed[]> {
  await using client = await connectHere('imago completion', 'never')
  const { kernels, announced } = await client.request('kernels', {})
  return kind === 'kernel'
    ? kernels.map(({ name, language, state }) => ({ word: name, means: `${language}, ${state}` }))
    : announced.map(({ attach, pid }) => ({ word: attach, means: `process ${pid}` }))
}

/** In one line, without what would end a word there. */
const firstSentence = (text: string) =>
  (/^.*?[.:](?=\s|$)/s.exec(text)?.[0] ?? text).replaceAll(/\s+/g, ' ').slice(0, 80)

const BASH = `# Completion of imago for bash. In ~/.bashrc:  eval "$(imago completion bash)"
_imago() {
    local line="\${COMP_LINE:0:COMP_POINT}" part="\${COMP_WORDS[COMP_CWORD]}" found word
    local -a typed
    read -ra typed <<< "$line"
    [[ $line == *[[:space:]] ]] && typed+=('')
    word="\${typed[\${#typed[@]}-1]}"
    # Bash takes = and : for the ends of words.
    [[ $part == [=:] ]] && part=
    COMPREPLY=()
    while IFS=$'\\t' read -r found _; do
        if [[ $found == :file ]]; then
            compopt -o filenames
            while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -f -- "$part")
        else
            COMPREPLY+=("\${found#"\${word%"$part"}"}")
        fi
    done < <("\${typed[0]/#\\~/$HOME}" completion words -- "\${typed[@]:1}" 2>/dev/null)
    [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -F _imago imago
`

const ZSH = `#compdef imago
# Completion of imago for zsh. In ~/.zshrc, after compinit:  eval "$(imago completion zsh)"
_imago() {
    local line word means
    local -a plain named
    while IFS=$'\\t' read -r word means; do
        if [[ $word == :file ]]; then _files; return; fi
        line="\${word//:/\\\\:}:$means"
        if [[ $word == *= ]]; then named+=("$line"); else plain+=("$line"); fi
    done < <("\${words[1]}" completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
    (( \${#plain} )) && _describe imago plain
    (( \${#named} )) && _describe imago named -S ''
    return 0
}
compdef _imago imago
`

const FISH = `# Completion of imago for fish. In ~/.config/fish/config.fish:  imago completion fish | source
function __imago_words
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($typed[1] completion words -- $typed[2..-1] "$current" 2>/dev/null)
    if string match -q ':file*' -- "$found[1]"
        __fish_complete_path "$current"
    else
        printf '%s\\n' $found
    end
end
complete -c imago -f -a '(__imago_words)'
`

const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH }
