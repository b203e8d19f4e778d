import { relative, resolve } from 'node:path'
import { KernelError } from './kernel-error.ts'
import type { KernelRow } from './kernel-row.ts'
import { nearest } from './nearest.ts'
import { isFile, isFolder } from './roots.ts'

/** What whoever wants a kernel is told in place of it. Each says why, and what can be done. */

export function unknownKernel(name: string, kernels: readonly string[]): KernelError {
  const like = nearest(name, kernels)
  const message = kernels.length === 0 ? 'None lives at present.' : `There are: ${kernels.join(', ')}.`
  return new KernelError('no_such_kernel', {
    message: `No kernel is named ${JSON.stringify(name)}. ${message}`,
    next: like[0] === undefined ? 'List them with: imago kernels' : `Did you mean ${like.join(', ')}?`,
    details: { kernels, nearest: like },
  })
}

/** There is a program of that name; whether it becomes a kernel is for a person to say. */
export function notAttachedYet(name: string, program: { attach: string; pid: number }): KernelError {
  return new KernelError('no_such_kernel', {
    message: `No kernel is named ${JSON.stringify(name)}. A program of that name (process ${program.pid}) can be attached to.`,
    next: `imago attach ${program.attach}`,
    details: { kernels: [], nearest: [], announced: program.attach },
  })
}

/** Whoever wants to see what is in a kernel is not shown an empty one that was begun for that. `rows` may be named. */
export function noneLives(where: string, rows: readonly KernelRow[]): KernelError {
  const living = rows.filter(({ state }) => state !== 'ended')
  const kernels = living.map(({ name }) => name)
  const likely = living.find(({ suspended }) => suspended > 0) ?? living[0]
  const shown = living.map(({ name, suspended }) =>
    suspended === 0 ? name : `${name} (${suspended} suspended)`,
  )
  const besides = shown.length === 0 ? '' : ` There are: ${shown.join(', ')}.`
  return new KernelError('no_such_kernel', {
    message: `No kernel lives in ${where}, and none was started: there would be nothing to see in it.${besides}`,
    next:
      likely === undefined ? 'List them with: imago kernels' : `Name one, as in {"kernel": "${likely.name}"}`,
    details: { kernels, nearest: [] },
  })
}

export function severalLive(root: string, kernels: readonly string[]): KernelError {
  return new KernelError('no_such_kernel', {
    message: `Several kernels live in ${root}, and none was named: ${kernels.join(', ')}.`,
    next: `Name one, as in {"kernel": "${kernels[0]}"}`,
    details: { kernels, nearest: [] },
  })
}

/** An unnamed call meant the image that this script made, and there is none any more. */
export function programEnded(ended: {
  name: string
  root: string
  script: string
  how: string
  language: string
}): KernelError {
  const { name, root, script, how, language } = ended
  const shown = relative(root, resolve(root, script))
  return new KernelError('kernel_unavailable', {
    message: `${name} (${shown}) has ended: ${how}`,
    next: `imago restart ${name} starts it again, imago start ${language} a new one`,
    details: { reason: 'ended', kernel: name },
  })
}

/** The script is what a person named, so that a wrong name is theirs to mend, and nothing is started. */
export function refuseMissing(root: string, script: string): void {
  const path = resolve(root, script)
  if (isFile(path)) return
  throw new KernelError('kernel_unavailable', {
    message: `There is no file ${path}, so it cannot be run.`,
    next: 'Name a script that is there, as seen from the root of the project.',
    details: { reason: 'no_script', script: path },
  })
}

export function badName(name: string): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `${JSON.stringify(name)} cannot be the name of a kernel.`,
    next: 'Use up to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit.',
    details: { reason: 'bad_name' },
  })
}

export function nameTaken(name: string): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `A kernel named ${name} lives already.`,
    next: `Choose another name, or: imago restart ${name}`,
    details: { reason: 'name_taken', kernel: name },
  })
}

export function badRoot(root: string, home: string): KernelError {
  const what =
    root === home
      ? 'your home directory'
      : isFolder(root)
        ? 'a folder that your home directory lies in'
        : 'no folder'
  return new KernelError('kernel_unavailable', {
    message: `${root} is ${what}, and a kernel needs a project to live in.`,
    next: 'Run it in the folder of a project.',
    details: { reason: 'bad_root', root },
  })
}

export function unknownLanguage(language: string, languages: readonly string[]): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `There are no kernels for ${JSON.stringify(language)}.`,
    next: `Languages: ${languages.join(', ')}. Wolfram Language comes in a later version.`,
    details: { reason: 'unknown_language', languages },
  })
}

export function shuttingDown(): KernelError {
  const message = 'The daemon is shutting down, and starts nothing any more.'
  return new KernelError('kernel_unavailable', { message, next: null, details: { reason: 'shutting_down' } })
}
