import type { Duplex } from 'node:stream'
import { type FramedKernel, type FramedOptions, framedKernel } from '../../wire/kernels/framed.ts'
import { type FakePeer, fakeKernelPeer, type Script } from './fake-peer.ts'
import { connection } from './sockets.ts'

export const SECRET = '5e'.repeat(32)
export const DONE = { type: 'done', values: [], elapsed_ms: 1 }

export interface Pair {
  readonly kernel: FramedKernel
  readonly peer: FakePeer
}

export type Playing = Partial<FramedOptions> & { script?: Script; hello?: Record<string, unknown> }

const pairs: Pair[] = []

/** Lets go of every kernel that `pair` has made. */
export async function closePairs(): Promise<void> {
  for (const { kernel } of pairs.splice(0)) await kernel.close()
}

/** A kernel, and the peer that a test plays for it. */
export async function pair({ script, hello, ...options }: Playing = {}): Promise<Pair> {
  const [near, far] = await wires()
  const [kernel, peer] = await Promise.all([
    framedKernel({ name: 'python', transport: near, secret: SECRET, ...options }),
    fakeKernelPeer(far, { secret: SECRET, ...(script && { script }), ...(hello && { hello }) }),
  ])
  pairs.push({ kernel, peer })
  return { kernel, peer }
}

/** Both ends of a connection. */
async function wires(): Promise<[Duplex, Duplex]> {
  const { near, far, listener } = await connection()
  await listener.close()
  return [near, far]
}

/** The kernel's peer comes back over a new line, with this secret and hello. */
export async function comeBack(
  kernel: FramedKernel,
  options: { secret?: string; hello?: object; script?: Script } = {},
) {
  const [near, far] = await wires()
  const rejoining = kernel.rejoin({ transport: near })
  rejoining.catch(() => {})
  const peer = await fakeKernelPeer(far, {
    secret: options.secret ?? SECRET,
    ...(options.hello && { hello: { ...options.hello } }),
    ...(options.script && { script: options.script }),
  })
  return { peer, rejoining }
}

/** Waits until something is so. */
export async function until(met: () => boolean): Promise<void> {
  while (!met()) await new Promise(resolve => setTimeout(resolve, 2))
}
