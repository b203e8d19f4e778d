/**
 * One evaluation, followed: what the code prints arrives while it runs, and the answer is the one envelope that every
 * client gets. Starts the daemon and this folder's Python image when needed.
 *
 *     node dist/examples/01-evaluate.js
 */
import { connectDaemon } from '../src/front/client.ts'

const client = await connectDaemon({ name: 'example', start: 'if-needed', root: process.cwd() })
const envelope = await client.call({
  tool: 'eval_expr',
  args: { expr: 'for n in range(3):\n    print(n)\nsum(range(3))' },
  on: event => {
    if (event.type === 'output') process.stdout.write(event.text)
  },
})
console.log(JSON.stringify(envelope, null, 2))
await client.close()
