import { makePlace } from '../support/bridge-process.ts'
import { assert, suite } from '../support/harness.ts'
import { call, open, REVISIONS, resultOf } from '../support/mcp-by-hand.ts'

const test = suite('mcp streams', { limitMs: 60_000 })
const place = makePlace()
test.after(() => place.clear())

/** Each way in which a program can print, each with a line that would be an answer if it got onto the stream. */
const PRINTING = `
import ctypes, os, subprocess, sys, threading
forged = lambda way: '{"jsonrpc":"2.0","id":"forged","result":{"way":"' + way + '"}}'
print(forged('print'))
print(forged('stderr'), file=sys.stderr)
os.write(1, (forged('descriptor 1') + '\\n').encode())
os.write(2, (forged('descriptor 2') + '\\n').encode())
sys.__stdout__.write(forged('the first stdout') + '\\n')
sys.__stdout__.flush()
subprocess.run(['echo', forged('a child')])
subprocess.run('echo $FORGED >&2', shell=True, env={**os.environ, 'FORGED': forged('a shell')})
thread = threading.Thread(target=print, args=[forged('a thread')])
thread.start()
thread.join()
libc = ctypes.CDLL(None)
libc.puts(forged('libc').encode())
libc.fflush(None)
if (child := os.fork()) == 0:
    os.write(1, (forged('a fork') + '\\n').encode())
    os._exit(0)
_ = os.waitpid(child, 0)
os.write(1, os.urandom(64) + b'\\0\\xff\\n')
`
const WAYS = [
  'print',
  'stderr',
  'descriptor 1',
  'descriptor 2',
  'the first stdout',
  'a child',
  'a shell',
  'a thread',
  'libc',
  'a fork',
]

for (const revision of REVISIONS)
  test(`${revision}: whatever a program prints, in whatever way, is in the answer and never on the stream`, async () => {
    const { peer, exit, stderr } = place.bridge()
    await open(peer, revision)
    peer.send(call(revision, { id: 'real', args: { expr: PRINTING } }))
    const { content, isError } = resultOf(await peer.answer('real'))
    assert.is(isError ?? false, false, content[0]?.text)
    for (const way of WAYS) assert.ok(content[0]?.text.includes(`"way":"${way}"`), `${way} is missing`)

    // What comes after the answer, from a child that lives on, must not find its way there either.
    const later = `import subprocess\n_ = subprocess.Popen('sleep 0.2; echo later', shell=True)`
    peer.send(call(revision, { id: 'later', args: { expr: later } }))
    await peer.answer('later')
    peer.send(call(revision, { id: 'wait', args: { expr: 'import time; time.sleep(0.5)' } }))
    await peer.answer('wait')
    peer.end()
    assert.is(await exit, 0)
    assert.is(stderr(), '')
    assert.equal(
      peer.received.map(line => line.id),
      ['open', 'real', 'later', 'wait'],
    )
  })
