/**
 * Ends what a module of support has begun for the tests of a file: when the file has ended, for its process may go on with
 * the next one, and when the process ends.
 */
const endings: (() => void)[] = []

process.on('exit', endBegun)

/** `end` is called at the end of every file. */
export function atEnd(end: () => void): void {
  endings.push(end)
}

export function endBegun(): void {
  for (const end of endings) end()
}
