import { join } from 'node:path'
import type { Failed } from '../../../tools/outcome.ts'
import { type Disk, NODE_DISK } from './disk.ts'
import { faultOfPath } from './names.ts'
import { fileFailed, pathRefused } from './refused.ts'
import { resolvePath } from './resolve.ts'

/**
 * Where an absolute path leads, whether something is there or not, for a file that another process opens. Names under
 * /proc mean another file in each process, so a path that leads through there is refused, as is one that leads nowhere.
 */
export function realAnywhere(path: string, disk: Disk = NODE_DISK): string | Failed {
  let throughProc = false
  const noting: Disk = {
    ...disk,
    lstat(each) {
      throughProc ||= each === '/proc'
      return disk.lstat(each)
    },
  }
  const shown = JSON.stringify(path.slice(0, 300))
  const fault = faultOfPath(path)
  if (fault !== undefined)
    return pathRefused('bad_name', { why: `${shown} is no path: ${fault}.`, next: 'Write another one.' })
  try {
    const found = resolvePath(noting, path)
    if (throughProc)
      return pathRefused('bad_name', {
        why: `${shown} leads through /proc, where each process sees other files.`,
        next: 'Write the path of the file itself.',
      })
    if (found.type === 'resolved') return join(found.there, ...found.missing)
    return pathRefused(found.reason, {
      why: `${shown} leads nowhere: ${found.why}.`,
      next: 'Write another path.',
    })
  } catch (error) {
    return fileFailed(error, { what: 'looked for', shown })
  }
}
