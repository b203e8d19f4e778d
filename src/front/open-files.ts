import { readFileSync } from 'node:fs'

/** Descriptors with which a daemon, its kernels and its clients never run out in daily use. */
const NEEDED = 256

/** Throws where this process may open too few files to be a daemon: it would fail in the middle of its work. */
export function checkOpenFiles(): void {
  if ((openFilesLimit() ?? NEEDED) < NEEDED) throw new Error('It was not started.')
}

/** What fails below that number fails in many ways, and each is the limit's doing. Undefined where it is not that. */
export function tooFewFiles(message: string): string | undefined {
  const limit = openFilesLimit()
  if (limit === undefined || (limit >= NEEDED && !message.includes('EMFILE'))) return undefined
  return (
    `A program may open no more than ${limit} files at once here (ulimit -n), and Imago needs ${NEEDED}. ` +
    `Raise the limit in this shell and try again: ulimit -n 1024. It said: ${message}`
  )
}

/** What this process may open at once; undefined where that is not bounded. */
function openFilesLimit(): number | undefined {
  const [, listed] = /^Max open files +(\w+)/m.exec(ownLimits()) ?? []
  if (listed !== undefined) return listed === 'unlimited' ? undefined : Number(listed)
  // All there is to tell of this process: slow, but no file is opened.
  const { userLimits } = process.report.getReport() as unknown as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } }
  }
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : undefined
}

/** As Linux lists them; empty elsewhere, and where no file can be opened. */
function ownLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
