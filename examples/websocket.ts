/**
 * A client of the daemon with nothing of Imago's in it: it evaluates, lists the kernels, subscribes, and sees a plan
 * come and go where a person sits (`imago watch`). `imago serve --web 7777` names the file that it takes.
 *
 *     node dist/examples/websocket.js RUNTIME_DIR/web
 */
import { readFileSync } from 'node:fs'
import { WebSocket } from 'ws'

const { address, token } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const socket = new WebSocket(address, 'imago.v2.json', { headers: { authorization: `Bearer ${token}` } })
const say = (message: object) => socket.send(JSON.stringify(message))
const waiting: { heard(event: object): void; answer(message: unknown): void }[] = []
type Row = { key: string; value: { state: string; title: string } | null }

function call(method: string, params: object, heard = (_: { snapshot?: Row[]; changes?: Row[] }) => {}) {
  const id = waiting.push({ heard, answer: () => {} })
  const answer = new Promise(resolve => {
    waiting[id - 1] = { heard, answer: resolve }
  })
  say({ type: 'call', id, method, params })
  return { id, answer }
}

socket.on('message', text => {
  const message = JSON.parse(String(text))
  if (message.type === 'ping') say({ type: 'pong', n: message.n })
  else if (message.type === 'event') waiting[message.id - 1]?.heard(message.event)
  else if (message.type === 'return' || message.type === 'fail')
    waiting[message.id - 1]?.answer(message.result ?? message.error)
})
await new Promise(resolve => socket.once('open', resolve))
const own = { name: 'example', version: '1', root: process.cwd(), env: { PATH: process.env.PATH } }
say({ hello: { role: 'client', protocol: 2, encodings: ['json'], ...own } })

console.log(await call('call', { tool: 'eval_expr', args: { expr: '6 * 7' } }).answer)
console.log(await call('kernels', {}).answer)

const path = `example-${process.pid}.txt`
call('subscribe', { topics: ['approvals'] }, ({ snapshot, changes = snapshot ?? [] }) => {
  for (const { value } of changes)
    if (value?.title.includes(path)) {
      console.log(`${value.state}:`, value.title)
      if (value.state === 'waits') say({ type: 'cancel', id: change.id })
      else socket.close()
    }
})
const change = call('call', { tool: 'create_file', args: { path, content: 'hello\n' } })
console.log(await change.answer)
