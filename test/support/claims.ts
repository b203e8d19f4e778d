import { COMMANDS } from '../../src/front/cli.ts'
import { filesIn, importsOf, textOf } from './imports.ts'

/** What pages say that there is: commands with their options, tools, and source that something uses. */

/** A call of the program as a page shows it. */
export interface ShownCommand {
  readonly page: string
  /** All of it, on one line. */
  readonly line: string
  /** What stands after `imago`: words, without quotes. */
  readonly words: readonly string[]
}

const PAGES = ['README.md', 'CHANGELOG.md', ...filesIn(['docs'], ['.md'])]

/** Each `imago …` in the code of a page, in blocks and in lines. */
export function shownCommands(): ShownCommand[] {
  return PAGES.flatMap(page => {
    const text = textOf(page)
    const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) =>
      code.split('\n'),
    )
    const spans = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(
      ([, code = '']) => code,
    )
    return [...blocks, ...spans].flatMap(code => {
      const line = /^(?:\$ )?(?:npx )?imago ([a-z].*?)(?:\s{2,}.*)?$/.exec(code.trim())?.[1]
      return line === undefined ? [] : [{ page, line, words: wordsOf(line) }]
    })
  })
}

/** As a shell would part them; a comment, a pipe, and what a usage has in brackets are left out. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([all, single, double]) => single ?? double ?? all,
  )
  const end = words.findIndex(word => /^(#|\||>|&&|\[|…|\.\.\.$)/.test(word))
  return end < 0 ? words : words.slice(0, end)
}

/** What of it is not there: the command, or an option that it does not take; undefined where all is. */
export function missingOf({ words }: ShownCommand): string | undefined {
  const [name = '', ...rest] = words
  const command = COMMANDS.find(one => one.name === name)
  if (command === undefined) return `there is no command ${name}`
  const options = rest.slice(0, rest.includes('--') ? rest.indexOf('--') : rest.length)
  const unknown = options
    .filter(word => word.startsWith('--'))
    .map(word => word.slice(2).replace(/=.*/, ''))
    .find(word => word !== 'help' && !(command.options as readonly string[]).includes(word))
  if (unknown !== undefined) return `${name} takes no --${unknown}`
  // Where the usage begins with words in small letters, what follows the name is one of them, or is left out.
  const under: readonly string[] =
    command.usage.split('--', 1)[0]?.match(/(?<![\w:/])[a-z]+(?![\w:/])/g) ?? []
  const [first] = rest
  if (under.length === 0 || first === undefined || !/^[a-z]+$/.test(first)) return undefined
  return under.includes(first) ? undefined : `${name} has no ${first}`
}

/** Source files that nothing of the program leads to, beginning at where it begins. */
export function unreachedSource(): string[] {
  const all = filesIn(['src', 'tools', 'wire'], ['.ts'])
  const reached = new Set<string>()
  const open = ['src/main.ts']
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    for (const { to } of importsOf(path, textOf(path))) if (all.includes(to)) open.push(to)
  }
  return all.filter(path => !reached.has(path))
}
