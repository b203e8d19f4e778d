import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy that can swallow everything that goes through it, both ways, without closing anything. */
export interface BlackHole {
  /** Where it listens: `tcp:127.0.0.1:PORT`. */
  readonly address: string
  /** From now on nothing passes through the connections that there are. New ones are not hindered. */
  swallow(): void
  close(): void
}

/** `to` is `tcp:127.0.0.1:PORT`. */
export async function blackHole({ to }: { to: string }): Promise<BlackHole> {
  const ends = new Set<Socket>()
  const swallowed = new Set<Socket>()
  const server = createServer(near => {
    const far = connect(Number(to.split(':')[2]), '127.0.0.1')
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(from)
      from.on('data', data => {
        if (!swallowed.has(from)) into.write(data)
      })
      from.on('error', () => {})
      from.on('close', () => {
        ends.delete(from)
        if (!swallowed.has(from)) into.destroy()
      })
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `tcp:127.0.0.1:${(server.address() as AddressInfo).port}`,
    swallow() {
      for (const end of ends) swallowed.add(end)
    },
    close() {
      server.close()
      for (const end of ends) end.destroy()
    },
  }
}
