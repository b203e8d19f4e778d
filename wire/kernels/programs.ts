import type { Joining, Program, Programs } from '../contract/programs.ts'
import { WireError } from '../errors.ts'
import { startOf } from '../process-start.ts'
import { isReachable, readAnnouncements, secretOf } from './announcements.ts'
import { type AttachLimits, type AttachRequest, attachKernel, type Reach, rejoinKernel } from './attach.ts'
import { attachSwank, isSwank, rejoinSwank, type SwankRequest } from './swank-attach.ts'
import { homeSecret } from './swank-secret.ts'

export interface ProgramsOptions {
  readonly runtimeDir: string
  readonly limits?: Partial<AttachLimits>
  /** Told the secret of each program that is reached, so that it is kept out of what is written. */
  secret?(value: string): void
}

/** A program takes its announcement back when it ends as well: how long it then has to be gone, in ms. */
const ENDING_MS = 2_000

export function openPrograms({ runtimeDir, limits, secret }: ProgramsOptions): Programs {
  const requestOf = (joining: Joining): AttachRequest => ({
    name: joining.name,
    reach: () => {
      const reach = reachOf(joining, runtimeDir)
      secret?.(reach.secret)
      return reach
    },
    gone: watchFor(joining, runtimeDir),
    background: (_stream, text) => joining.background(text),
    away: why => joining.away(why),
    ...(limits && { limits }),
  })
  const swankOf = (joining: Joining): SwankRequest => ({
    joining,
    ...(secret && { secret: (value: string) => secret(value) }),
    ...(limits && { limits }),
  })
  return {
    read: () => readAnnouncements(runtimeDir),
    isReachable,
    homeSecret: () => homeSecret(),
    attach: joining =>
      isSwank(joining.address) ? attachSwank(swankOf(joining)) : attachKernel(requestOf(joining)),
    rejoin: joining => {
      const { address, epoch, signal } = joining
      if (isSwank(address)) return rejoinSwank({ ...swankOf(joining), epoch, signal })
      return rejoinKernel({ ...requestOf(joining), epoch, signal })
    },
  }
}

function reachOf(joining: Joining, runtimeDir: string): Reach {
  const { name, address, key } = joining
  const announced = announcementOf(joining, runtimeDir)
  if (key !== undefined) return { address: announced?.address ?? address, secret: key }
  if (announced !== undefined) return { address: announced.address, secret: secretOf(announced) }
  throw new WireError('LINK_REFUSED', `${name} has taken its announcement back.`)
}

/** A process that had to listen anew has announced another address than the one it was first joined at. */
function announcementOf({ address, process }: Joining, runtimeDir: string): Program | undefined {
  const { programs } = readAnnouncements(runtimeDir)
  return (
    programs.find(one => one.address === address) ??
    programs.find(one => process !== null && one.pid === process.pid && one.started === process.started)
  )
}

/**
 * Asked now and then, says when its process is not there any more, or has taken back what it had announced, which comes
 * before it hangs up, and goes on nevertheless.
 */
function watchFor(joining: Joining, runtimeDir: string): () => string | undefined {
  const { name, process } = joining
  let silentSince: number | undefined
  return () => {
    if (process === null || !process.seen) return undefined
    const now = startOf(process.pid)
    if (now !== process.started) {
      const since = now === undefined ? '' : `, and ${process.pid} is the number of another one now`
      return `${name} has ended (process ${process.pid}${since}).`
    }
    if (announcementOf(joining, runtimeDir) !== undefined) {
      silentSince = undefined
      return undefined
    }
    silentSince ??= performance.now()
    if (performance.now() - silentSince < ENDING_MS) return undefined
    return `${name} has stopped listening (process ${process.pid} lives on).`
  }
}
