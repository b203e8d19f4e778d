import type { Duplex } from 'node:stream'
import { connect, type Listener, listen } from '../../wire/link/transport.ts'

/** Both ends of a real connection. `near` is the acceptor's, `far` the opener's. */
export interface Connection {
  readonly near: Duplex
  readonly far: Duplex
  readonly listener: Listener
  /** Closes everything, however far it got. */
  close(): Promise<void>
}

/** A connection through this address; over loopback TCP unless told otherwise. */
export async function connection(address = 'tcp:127.0.0.1:0'): Promise<Connection> {
  let accept: (transport: Duplex) => void = () => {}
  const accepted = new Promise<Duplex>(resolve => {
    accept = resolve
  })
  const listener = await listen(address, transport => accept(transport))
  const far = await connect(listener.address)
  const near = await accepted
  for (const end of [near, far]) end.on('error', () => {})
  return {
    near,
    far,
    listener,
    async close() {
      near.destroy()
      far.destroy()
      await listener.close()
    },
  }
}
