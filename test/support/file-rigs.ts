import { TOOLS } from '../../tools/index.ts'
import { type CallsRig, type RigOptions, rigsOf } from './calls-rig.ts'
import type { Suite } from './harness.ts'
import { MemoryFiles, putTool } from './memory-files.ts'

export interface FileRig extends CallsRig {
  readonly files: MemoryFiles
}

/** Rigs with files in memory, where `a.txt` holds `old`, and with a dangerous tool that writes them: `put`. */
export function fileRigsOf(test: Suite): (options?: RigOptions) => FileRig {
  const open = rigsOf(test)
  return options => {
    const made: { files?: MemoryFiles } = {}
    const projectFiles = (root: string) => {
      made.files = new MemoryFiles(root)
      made.files.put('a.txt', 'old')
      return made.files
    }
    const rig = open({ tools: [putTool, ...TOOLS], projectFiles, ...options })
    if (made.files === undefined) throw new Error('the rig made no files')
    return { ...rig, files: made.files }
  }
}

/** What `put` is asked for, unless a test says otherwise. */
export const PUT = { path: 'a.txt', text: 'new' }
