import { once } from 'node:events'
import type { Envelope } from '../../tools/outcome.ts'
import { openGround, openWholePath } from './whole-path.ts'

/**
 * All that a daemon does about a call, in a process that may write no large files. Says on its standard output what
 * becomes of calls, a line each, and goes on with as much room as it has by then when something comes on its input.
 */
const LARGE = 'x'.repeat(1_000_000)

const ground = openGround()
const { run, seat, close } = openWholePath(ground)
const { plans } = seat(() => 'approve')
const write = (content: string) => run('write_file', { path: 'a.py', content })

function cameTo(envelope: Envelope): string {
  if (envelope.ok) return 'ok'
  const { code, details } = envelope.error
  return [code, details.holds, details.errno].filter(each => each !== undefined).join(' ')
}

async function say(what: string, envelope: Envelope): Promise<void> {
  const text = ground.text('a.py') ?? ''
  const names = ground.names().join(' ')
  const held = text === LARGE ? 'all' : text
  console.log(`${what}: ${cameTo(envelope)}; ${plans.length} asked about; ${names} holds ${held}`)
}

try {
  ground.put('a.py', 'old')
  await say('large', await write(LARGE))
  await say('read', await run('read_file', { path: 'a.py' }))
  await say('small', await write('small'))
  await say('large', await write(LARGE))
  console.log('waiting')
  await once(process.stdin, 'data')
  await say('large', await write(LARGE))
} finally {
  await close()
  ground.remove()
  process.stdin.destroy()
}
