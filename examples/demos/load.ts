import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a visitor waits for an answer, in ms. */
const PATIENCE_MS = 300

/** Visitors of a shop, who come all the time. */
export interface Load {
  /** How many of those that came within the next second were answered. */
  watch(): Promise<{ readonly asked: number; readonly answered: number }>
  /** One visitor who wants something; resolves with the status, or undefined after the patience. */
  ask(item: string): Promise<string | undefined>
  stop(): void
}

/** Asks for tea a hundred times a second until it is stopped. */
export function visit(port: number): Load {
  let asked = 0
  let answered = 0
  const timer = setInterval(async () => {
    asked++
    if ((await request(port, 'tea')) === '200') answered++
  }, 10)
  return {
    async watch() {
      const before = { asked, answered }
      await sleep(1_000)
      return { asked: asked - before.asked, answered: answered - before.answered }
    },
    ask: item => request(port, item),
    stop: () => clearInterval(timer),
  }
}

function request(port: number, item: string): Promise<string | undefined> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET /${item} HTTP/1.1\r\nHost: shop\r\n\r\n`),
    )
    socket.setTimeout(PATIENCE_MS, () => end(undefined))
    socket.once('data', data => end(data.toString('latin1').split(' ')[1]))
    socket.once('error', () => end(undefined))
    const end = (status: string | undefined) => {
      socket.destroy()
      resolve(status)
    }
  })
}
