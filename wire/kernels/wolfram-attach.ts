import { homedir } from 'node:os'
import { WireError } from '../errors.ts'
import type { Kernel } from '../kernel.ts'
import type { Joining } from '../programs.ts'
import { type AttachLimits, awaitImage } from './attach.ts'
import { findLibrary, launchHost, READY_MS, saidAtTheEnd, type WolframSettings } from './wolfram.ts'

interface WstpRequest {
  readonly joining: Joining
  readonly settings: WolframSettings
  /** Where the socket of the host is made. */
  readonly runtimeDir: string
  readonly limits?: Partial<AttachLimits>
  /** Told the secret of the link to the host, so that it is kept out of what is written. */
  secret?(value: string): void
}

/** The longest time between two tries, in ms. Each starts a host. */
const MOST_MS = 120_000

/**
 * Takes a kernel of a `wstpserver`, or joins it again. It starts our host, which speaks to the kernel. `close` ends the
 * host, and lets go of the kernel. Throws `KERNEL_NOT_FOUND` if there is no library to speak through, and `LINK_REFUSED`,
 * in the host's words, if it gets no kernel.
 */
export async function attachWstp(request: WstpRequest): Promise<Kernel> {
  const { joining, settings, runtimeDir, secret } = request
  const address = placeOf(joining.address)
  const env = Object.fromEntries(Object.entries(process.env).filter(isSet))
  const root = homedir()
  try {
    const { kernel } = await launchHost(
      {
        name: joining.name,
        root,
        env,
        runtimeDir,
        attached: true,
        formatterSeconds: settings.formatterSeconds,
        background: (_stream, text) => joining.background(text),
        ...(secret && {
          secret: (value: string) => {
            secret(value)
            return () => {}
          },
        }),
        limits: { startMs: READY_MS },
      },
      async env => ({ ...(await findLibrary({ ...settings, root, env })), address }),
    )
    return kernel
  } catch (error) {
    if (!(error instanceof WireError) || error.code !== 'KERNEL_START_FAILED') throw error
    throw new WireError('LINK_REFUSED', saidAtTheEnd(error), { cause: error })
  }
}

/** Joins a kernel again that a daemon before this one was attached to; see `awaitImage`. */
export function rejoinWstp(
  request: WstpRequest & { readonly epoch: string; readonly signal: AbortSignal },
): Promise<Kernel | string> {
  const { joining, epoch, signal, limits } = request
  return awaitImage({
    name: joining.name,
    epoch,
    signal,
    attach: () => attachWstp(request),
    away: why => joining.away(why),
    limits: { mostMs: MOST_MS, ...limits },
  })
}

const isSet = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined

/** `host:port` of `wstp://host:port`. Throws `LINK_REFUSED` for anything else. */
function placeOf(address: string): string {
  const [, place] = /^wstp:\/\/((?:\[[\da-f:.]+\]|[\w.-]+):\d{1,5})$/i.exec(address) ?? []
  if (place !== undefined) return place
  throw new WireError(
    'LINK_REFUSED',
    `${address} is no address of a wstpserver, such as wstp://127.0.0.1:31415.`,
  )
}
