/**
 * A client with nothing of Imago's in it: evaluates, subscribes, and sees a plan come and go where a person sits.
 * `node dist/examples/websocket.js [FILE]`, after `npm run build` and `imago serve --web 7777`, which names the FILE.
 */
import { readFileSync } from 'node:fs'
import { WebSocket } from 'ws'

const file = process.argv[2] ?? `${process.env.XDG_RUNTIME_DIR}/imago/web`
const { address, token } = JSON.parse(readFileSync(file, 'utf8'))
const socket = new WebSocket(address, 'imago.v2.json', { headers: { authorization: `Bearer ${token}` } })
const say = (message: object) => socket.send(JSON.stringify(message))
const call = (id: number, method: string, params: object) => say({ type: 'call', id, method, params })
const own = { name: 'example', version: '1', root: process.cwd(), env: { PATH: process.env.PATH } }
const path = `example-${process.pid}.txt`

socket.on('open', () => {
  say({ hello: { role: 'client', protocol: 2, encodings: ['json'], ...own } })
  call(1, 'subscribe', { topics: ['approvals'] })
  call(2, 'call', { tool: 'eval_expr', args: { expr: '6 * 7' } })
})
socket.on('message', text => {
  const { type, id, n, event, result, error } = JSON.parse(String(text))
  if (type === 'ping') say({ type: 'pong', n })
  for (const { value: plan } of event?.snapshot ?? event?.changes ?? []) {
    if (!plan?.title.includes(path)) continue
    console.log(`${plan.state}:`, plan.title)
    if (plan.state === 'waits') say({ type: 'cancel', id: 3 })
  }
  if (type !== 'return' && type !== 'fail') return
  console.log(id, result ?? error)
  if (id === 2) call(3, 'call', { tool: 'create_file', args: { path, content: 'hello\n' } })
  // The answer to this comes after the last event.
  if (id === 3) say({ type: 'cancel', id: 1 })
  if (id === 1) socket.close()
})
