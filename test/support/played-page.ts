import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page, WebSocketRoute } from 'playwright-core'
import { PACKAGE_ROOT } from '../../src/paths.ts'

/** A call of the page; each of these may be done more than once, and none of them has to. */
export interface PlayedCall {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  event(event: object): void
  result(result: object): void
  fails(error: object): void
}

/** The daemon that a test plays for a page. */
interface PlayedDaemon {
  /** The folder of the project, as the address has it. */
  readonly root: string
  /** What the hello of the page is answered with. */
  welcome(): object
  called(call: PlayedCall): void
}

/** Nothing listens there, and a browser trusts it. */
const HOST = '127.0.0.1'

/** Has the tab show the page, whose daemon is that one. Resolves to what sends the page a call. */
export async function playPage(page: Page, { root, welcome, called }: PlayedDaemon) {
  let socket: WebSocketRoute | undefined
  await page.routeWebSocket(`ws://${HOST}/`, route => {
    socket = route
    const send = (message: object) => route.send(JSON.stringify(message))
    route.onMessage(text => {
      const { type, id, method, params, hello } = JSON.parse(String(text))
      if (hello !== undefined) send(welcome())
      if (type !== 'call') return
      const event = (event: object) => send({ type: 'event', id, event })
      const result = (result: object) => send({ type: 'return', id, result })
      called({ method, params, event, result, fails: error => send({ type: 'fail', id, error }) })
    })
  })
  const file = (name: string) => readFileSync(join(PACKAGE_ROOT, 'dist/src/page', name))
  const types = { 'page.js': 'text/javascript', 'page.css': 'text/css' }
  // Without the policy of the daemon, so that markup would do what it can.
  await page.route(`http://${HOST}/page`, route =>
    route.fulfill({ body: file('index.html'), contentType: 'text/html' }),
  )
  for (const [name, contentType] of Object.entries(types))
    await page.route(`http://${HOST}/${name}`, route => route.fulfill({ body: file(name), contentType }))
  await page.goto(`http://${HOST}/page#${new URLSearchParams({ token: 'token', root })}`)
  return (method: string, params: object) =>
    socket?.send(JSON.stringify({ type: 'call', id: 1, method, params }))
}
