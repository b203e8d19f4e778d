import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Kernel } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { evaluate } from '../support/heard.ts'
import { LispGround } from '../support/owned-lisp.ts'
import { until } from '../support/rig.ts'

/** What strangers, and the code of the image itself, try at the ways in which Imago holds an image of its own. */
const test = suite('the door and the lifeline of a Lisp of ours', { limitMs: 50_000 })

const ground = new LispGround()
test.after(() => ground.clear())

async function number(kernel: Kernel, source: string): Promise<number> {
  const evaluated = await evaluate(kernel, source).result
  if (evaluated.type !== 'done') throw new Error(JSON.stringify(evaluated))
  return Number(evaluated.values[0]?.repr.text)
}

/** The port at which that process listens. */
function doorOf(pid: number): number {
  const folder = `/proc/${pid}/fd`
  const sockets = new Set(
    readdirSync(folder).map(fd => {
      try {
        return readlinkSync(join(folder, fd)).replace(/^socket:\[(\d+)\]$/, '$1')
      } catch {
        return ''
      }
    }),
  )
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, local = '', , state, , , , , , socket = ''] = line.trim().split(/\s+/)
    if (state === '0A' && sockets.has(socket)) return Number.parseInt(local.split(':')[1] ?? '', 16)
  }
  throw new Error('It listens nowhere.')
}

test('strangers who announce long messages take up no memory, and keep nobody out (threat 25)', async () => {
  const { kernel, pid } = await ground.lisp()
  const port = doorOf(pid)
  const before = await number(kernel, '(sb-ext:get-bytes-consed)')
  const strangers: Socket[] = []
  for (let count = 0; count < 30; count++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    // Sixteen megabytes, and the length of the secret with another.
    socket.write(count % 2 === 0 ? `ffffff${'a'.repeat(100)}` : `000040${'a'.repeat(64)}`)
    strangers.push(socket)
  }
  await until(() => strangers.every(socket => socket.closed), 'the strangers to be turned away')
  const taken = (await number(kernel, '(sb-ext:get-bytes-consed)')) - before
  assert.ok(taken < 100_000_000, `${taken} bytes were taken`)
})

test('code that ends all other threads does not cut the lifeline: its image still ends in order', async () => {
  const { kernel, stop } = await ground.lisp()
  const left = join(ground.folder, 'left')
  const hook = `(with-open-file (s ${JSON.stringify(left)} :direction :output) (princ "bye" s))`
  await number(kernel, `(progn (push (lambda () ${hook}) sb-ext:*exit-hooks*) 1)`)
  const lifeline =
    '(find "imago: lifeline" (sb-thread:list-all-threads) :key (function sb-thread:thread-name) :test (function equal))'
  for (let time = 0; time < 40; time++)
    assert.is(
      await number(
        kernel,
        `(let ((it ${lifeline})) (sb-thread:terminate-thread it) (sb-thread:join-thread it :default nil) 1)`,
      ),
      1,
    )
  await stop()
  assert.is(readFileSync(left, 'utf8'), 'bye')
})

test('the threads by which Imago holds it are told as its own', async () => {
  const { kernel } = await ground.lisp()
  const look = await kernel.look('threads', { limit: 50, frames: 0, locals: false }, { deadlineMs: 10_000 })
  if (look.type !== 'found') throw new Error(look.type)
  const ours = look.value.threads.filter(({ names }) => names[0]?.startsWith('imago: '))
  assert.ok(ours.length >= 2)
  assert.ok(ours.every(({ role }) => role === 'imago'))
})
