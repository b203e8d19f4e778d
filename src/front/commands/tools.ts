import { PROFILES } from '../../../tools/define.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'

/** `imago tools`: what the registry says of its tools, in the form that was asked for. */
export async function tools({ operands: [name], options, printer }: CommandInput): Promise<ExitCode> {
  const profile = PROFILES.find(known => known === options.profile)
  if (options.profile !== undefined && profile === undefined)
    throw new Failure(`There is no profile ${options.profile}. Profiles: ${PROFILES.join(', ')}.`, {
      exit: EXIT.usage,
    })
  await using client = await connectDaemon({
    name: 'imago tools',
    start: 'if-needed',
    root: findRoot(process.cwd()),
  })
  const { text } = await client.request('tools', {
    ...(profile === undefined ? {} : { profile }),
    ...(options.format === undefined ? {} : { format: options.format }),
    ...(name === undefined ? {} : { name }),
  })
  printer.out(text.endsWith('\n') ? text : `${text}\n`)
  return EXIT.done
}
