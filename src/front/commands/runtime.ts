import { join } from 'node:path'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { PACKAGE_ROOT } from '../../paths.ts'
import type { CommandInput } from '../commands.ts'

const LISP =
  'There is nothing to install for Lisp: Imago speaks through Swank, which the image has already, and leaves nothing ' +
  'there. In the image: (swank:create-server :dont-close t)   Then: imago attach swank://4005'

/** `imago runtime LANG`: where the far end in that language is, as that language's own installer takes it. */
export async function runtime({ operands: [language], printer }: CommandInput): Promise<ExitCode> {
  if (language === 'lisp') throw new Failure(LISP, { exit: EXIT.usage })
  if (language !== 'python')
    throw new Failure(`There is no runtime for ${language}. There is one for: python.`, { exit: EXIT.usage })
  printer.out(`${join(PACKAGE_ROOT, 'wire/peers', language)}\n`)
  return EXIT.done
}
