import type { ToolContext } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { getFileInfo, getProjectRoot } from '../../tools/files.ts'
import { directoryTree, listDirectory } from '../../tools/folders.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { searchFiles } from '../../tools/search-files.ts'
import { context } from '../tools/context.ts'
import { FilesRig } from './files-rig.ts'
import type { Suite } from './harness.ts'

export const fileInfoTools = { listDirectory, directoryTree, getFileInfo, getProjectRoot, searchFiles }

/** Tools over a real folder, which is another one for each test of the suite. */
export function folderRig(test: Suite) {
  let rig: FilesRig
  test.before.each(() => {
    rig = new FilesRig()
  })
  test.after.each(() => rig.close())
  return {
    rig: () => rig,
    /** As the call path runs it, with a minute for a look unless another time is given. */
    run(tool: Tool, args: object, more: Partial<ToolContext> = {}): Promise<Outcome> {
      const checked = tool.parameters.parse(tool.renamed({ ...args })) as Record<string, unknown>
      return tool.handler(checked, { ...context(), files: rig.files.of(rig.root), lookMs: 60_000, ...more })
    },
    shown: (tool: Tool, result: unknown) => tool.show(result),
  }
}
