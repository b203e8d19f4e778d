import { COMMANDS, type Command, OPTIONS } from './commands.ts'

/** The text of `imago --help`, or of one command's, written from the tables. */
export function help(command?: Command): string {
  return command === undefined ? overview() : details(command)
}

function overview(): string {
  const rows = COMMANDS.map(command => [invocation(command), command.summary] as const)
  return `An agent that lives inside a running program.

${rows.map(([line, summary]) => `  ${line}\n      ${summary}`).join('\n')}

imago COMMAND --help tells a command's options.

Exit codes: 0 done, 1 the tool failed, 2 usage, 3 denied, 4 no such kernel, 5 still running (the job is named).
`
}

function details(command: Command): string {
  const options = command.options.map(name => {
    const option = OPTIONS[name]
    return [
      `--${name}${'value' in option ? ` ${option.value}` : ''}`,
      command.means?.[name] ?? option.summary,
    ] as const
  })
  const width = Math.max(0, ...options.map(([line]) => line.length))
  const list = options.map(([line, summary]) => `  ${line.padEnd(width)}  ${summary}\n`).join('')
  return `${invocation(command)}\n${command.summary}\n${list && `\n${list}`}`
}

const invocation = ({ name, usage }: Command) => ['imago', name, usage].filter(word => word !== '').join(' ')
