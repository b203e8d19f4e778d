import { join } from 'node:path'
import { languageNamed, namesOf } from '../../../wire/languages.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { PACKAGE_ROOT } from '../../paths.ts'
import type { CommandInput } from '../commands.ts'
import { frontLanguage } from '../languages.ts'

/** `imago runtime LANG`: where the far end in that language is, as that language's own installer takes it. */
export async function runtime({ operands: [language = ''], printer }: CommandInput): Promise<ExitCode> {
  if (languageNamed(language)?.installed !== true) {
    const names = namesOf(({ installed }) => installed).join(', ')
    const instead = frontLanguage(language)?.insteadOfRuntime
    throw new Failure(instead ?? `There is no runtime for ${language}. There is one for: ${names}.`, {
      exit: EXIT.usage,
    })
  }
  printer.out(`${join(PACKAGE_ROOT, 'wire/peers', language)}\n`)
  return EXIT.done
}
