/**
 * A client of the daemon with nothing of Imago's in it: it evaluates, lists the kernels, and sees a plan come and go
 * where a person sits (`imago watch`). `imago serve --web 7777` names the file that it takes.
 *
 *     node dist/examples/websocket.js RUNTIME_DIR/web
 */
import { readFileSync } from 'node:fs'
import { WebSocket } from 'ws'

const { address, token } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const socket = new WebSocket(address, 'imago.v2.json', { headers: { authorization: `Bearer ${token}` } })
const say = (message: object) => socket.send(JSON.stringify(message))
const waiting: ((message: { result?: unknown; error?: unknown }) => void)[] = []

function call<Result>(method: string, params: object): Promise<Result> {
  return new Promise((resolve, reject) => {
    const id = waiting.push(({ result, error }) => (error ? reject(error) : resolve(result as Result)))
    say({ type: 'call', id, method, params })
  })
}

socket.on('message', text => {
  const message = JSON.parse(String(text))
  if (message.type === 'ping') say({ type: 'pong', n: message.n })
  else if (message.type === 'return' || message.type === 'fail') waiting[message.id - 1]?.(message)
})
await new Promise(resolve => socket.once('open', resolve))
const own = { name: 'example', version: '1', root: process.cwd(), env: { PATH: process.env.PATH } }
say({ hello: { role: 'client', protocol: 1, encodings: ['json'], ...own } })

console.log(await call('call', { tool: 'eval_expr', args: { expr: '6 * 7' } }))
console.log(await call('kernels', {}))

const path = `example-${process.pid}.txt`
let answer: unknown
void call('call', { tool: 'create_file', args: { path, content: 'hello\n' } }).then(got => {
  answer = got
})
const id = waiting.length
for (let seen = false; answer === undefined; ) {
  const { approvals } = await call<{ approvals: { title: string }[] }>('approvals', {})
  const plan = approvals.find(({ title }) => title.includes(path))
  if (plan === undefined || seen) continue
  seen = true
  console.log('waits:', plan.title)
  say({ type: 'cancel', id })
}
console.log(answer)
socket.close()
