import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { readSecretFile } from '../../../wire/secret-file.ts'
import { EXIT, type ExitCode, Failure, messageOf } from '../../failure.ts'
import type { CommandInput } from '../commands.ts'
import { kernelLine } from '../kernel-table.ts'
import { print, request } from './kernels.ts'

/** `imago attach TARGET`: its program is a kernel from then on, and calls of this project go to it. */
export async function attach(input: CommandInput): Promise<ExitCode> {
  const [target = ''] = input.operands
  const { name, anywhere, 'no-secret': open } = input.options
  const result = await request('attach', {
    target,
    ...(name === undefined ? {} : { name }),
    ...(open ? {} : keyFrom(input.options['key-file'])),
    ...(anywhere && { anywhere }),
    ...(open && { no_secret: open }),
  })
  const how = `Use it with --kernel ${result.name}; imago detach ${result.name} lets go of it, and nothing ends it.`
  return print(input, { result, text: `${kernelLine(result, homedir())}\n${how}` })
}

/** `imago detach NAME`: the program runs on. */
export async function detach(input: CommandInput): Promise<ExitCode> {
  const [name = ''] = input.operands
  const result = await request('detach', { name })
  const { state, pid, attached } = result
  const again = (attached?.announced === null ? attached.address : pid) ?? attached?.announced ?? name
  const process = pid === null ? '' : ` (process ${pid})`
  const text =
    state === 'ended'
      ? `${name} has ended, and is forgotten.`
      : `Let go of ${name}${process}, which runs on. To join it again: imago attach ${again}`
  return print(input, { result, text })
}

/** The key in a file that was named and nobody else can read, or in the environment. It is sent to the daemon, and kept by nobody. */
function keyFrom(file: string | undefined): { key?: string; key_file?: string } {
  if (file === undefined) {
    const key = process.env.IMAGO_KEY?.trim()
    return key ? { key } : {}
  }
  const path = resolve(file)
  try {
    return { key: readSecretFile(path).trim(), key_file: path }
  } catch (error) {
    throw new Failure(`The key file cannot be read: ${messageOf(error)}`, { exit: EXIT.usage, cause: error })
  }
}
