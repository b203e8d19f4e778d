import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy that can swallow everything that goes through it, both ways, without closing anything. */
export interface BlackHole {
  /** Where it listens: `tcp:127.0.0.1:PORT`, or the socket it was told. */
  readonly address: string
  /** From now on nothing passes through the connections that there are. New ones are not hindered. */
  swallow(): void
  close(): void
}

/** `to` is `unix:/path` or `tcp:127.0.0.1:PORT`; `at` the path of its own socket, where it is not to be a port. */
export async function blackHole({ to, at }: { to: string; at?: string }): Promise<BlackHole> {
  const ends = new Set<Socket>()
  const swallowed = new Set<Socket>()
  const server = createServer(near => {
    const far = to.startsWith('unix:')
      ? connect(to.slice('unix:'.length))
      : connect(Number(to.split(':')[2]), '127.0.0.1')
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
  await new Promise<void>(resolve =>
    at === undefined ? server.listen(0, '127.0.0.1', resolve) : server.listen(at, resolve),
  )
  return {
    address: at === undefined ? `tcp:127.0.0.1:${(server.address() as AddressInfo).port}` : `unix:${at}`,
    swallow() {
      for (const end of ends) swallowed.add(end)
    },
    close() {
      server.close()
      for (const end of ends) end.destroy()
    },
  }
}
