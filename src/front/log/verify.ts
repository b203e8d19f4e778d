import { join } from 'node:path'
import { sentence, type Verified, verifyJournal } from '../../core/journal/verification.ts'
import { EXIT, type ExitCode } from '../../failure.ts'
import type { CommandInput } from '../commands.ts'
import { printEnvelope } from '../envelopes.ts'

/** `imago log verify`: whether the journal is what was written, as far as it can show that. Exit code 1 if it is not. */
export async function verify(dir: string, { options, printer }: CommandInput): Promise<ExitCode> {
  const progress = openProgress()
  const found = await verifyJournal(dir, { onProgress: progress.show })
  progress.clear()
  const sound = found.problem === undefined
  if (options.json) printEnvelope(printer, { ok: true, result: { sound, directory: dir, ...found } })
  else if (sound) printer.out(`${whole(found, dir)}\n${notesOf(found)}`)
  else printer.err(`${broken(found, dir)}\n${notesOf(found)}`)
  return sound ? EXIT.done : EXIT.failed
}

const whole = (found: Verified, dir: string) =>
  `The journal is what was written: ${extent(found)}, in ${dir}.`

function broken(found: Verified, dir: string): string {
  const { problem } = found
  if (problem === undefined) return ''
  const { file, line } = problem
  const look = line === null ? '' : `\n  Look at it:     sed -n ${line}p '${join(dir, file)}'`
  return `imago: The journal is not what was written. ${sentence(problem)}
Read: ${extent(found)}, in ${dir}.
What to do:
  Keep a copy:    cp -a '${dir}' SOMEWHERE${look}
  Find out what changed it: a disk that fails, a program, or a person. Lines before that place are what was written.
  Then let dangerous calls be asked for again: imago log acknowledge`
}

const notesOf = ({ notes }: Verified) => notes.map(note => `Note: ${note}\n`).join('')

function extent({ segments, entries, bytes }: Verified): string {
  const files = segments === 1 ? '1 file' : `${segments} files`
  return `${entries} lines, ${(bytes / 1024 / 1024).toFixed(1)} MiB in ${files}`
}

/** How far it is, on one line of a terminal that is written over. */
function openProgress() {
  const { stderr } = process
  let shown = ''
  return {
    show({ bytes, of }: { bytes: number; of: number }) {
      const text = `${of === 0 ? 100 : Math.floor((100 * bytes) / of)} % read`
      if (stderr.isTTY !== true || text === shown) return
      shown = text
      stderr.write(`\r${text}`)
    },
    clear() {
      if (shown !== '') stderr.write(`\r${' '.repeat(shown.length)}\r`)
    },
  }
}
