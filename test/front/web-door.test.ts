import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { ROUTES } from '../../src/front/web.ts'
import { assert, suite } from '../support/harness.ts'
import { hello } from '../support/raw-client.ts'
import { openRig, type Rig } from '../support/rig.ts'
import { RawWeb, rawOverWeb, upgradeHead, webOf } from '../support/web-socket.ts'

const test = suite('the way in for WebSockets')
const rig = openRig({ config: '[web]\nport = 0\n' })
test.before(async () => {
  await rig.serve()
})
test.after(() => rig.close())

const web = () => webOf(rig)
const status = (changed: Parameters<typeof upgradeHead>[1]) =>
  new RawWeb(web().port).asks(upgradeHead(web(), changed))

const AS_PAGE = { authorization: undefined }
const offered = (token: string, name = 'imago.v2.json') => `${name}, imago.token.${token}`

for (const [what, changed, expected] of [
  ['Host: evil', { host: 'evil' }, 421],
  ['a Host with our port and another name', () => ({ host: `evil.example:${web().port}` }), 421],
  ['a Host with a dot at its end', () => ({ host: `localhost.:${web().port}` }), 421],
  ['a Host of IPv6', () => ({ host: `[::1]:${web().port}` }), 421],
  ['a Host without the port', { host: '127.0.0.1' }, 421],
  ['two Hosts', () => ({ host: `127.0.0.1:${web().port}\r\nhost: evil` }), [400, 421]],
  ['the address of another host in the first line', { path: 'http://evil/' }, 421],
  ['CONNECT', { method: 'CONNECT', path: 'evil:443' }, 421],
  ['Origin: http://evil', { origin: 'http://evil' }, 403],
  ['Origin: null', { origin: 'null' }, 403],
  ['an empty Origin', { origin: '' }, 403],
  ['the Origin of another port', { origin: 'http://localhost' }, 403],
  ['two Origins', () => ({ origin: `http://127.0.0.1:${web().port}\r\norigin: http://evil` }), 403],
  ['no token', AS_PAGE, 401],
  ['a wrong token', { authorization: 'Bearer wrong' }, 401],
  ['an empty token', { authorization: 'Bearer ' }, 401],
  ['a wrong token of a page', { ...AS_PAGE, 'sec-websocket-protocol': offered('wrong') }, 401],
  ['the token in the address (threat 7)', () => ({ ...AS_PAGE, path: `/?token=${web().token}` }), 401],
  ['the token in a cookie', () => ({ ...AS_PAGE, cookie: `token=${web().token}` }), 401],
  ['another path, with the token', { path: '/other' }, 404],
  ['another path, without the token', { ...AS_PAGE, path: '/other' }, 401],
  ['a subprotocol that there is not', { 'sec-websocket-protocol': 'imago.v9' }, 400],
  ['no subprotocol', { 'sec-websocket-protocol': undefined }, 400],
  ['no WebSocket, with the token', { connection: undefined, upgrade: undefined }, 426],
  ['a body', { method: 'POST', connection: undefined, upgrade: undefined, 'content-length': '2' }, 426],
  ['another upgrade', { connection: 'Upgrade', upgrade: 'h2c' }, 400],
  ['imago.v2.json', {}, 101],
  ['imago.v2.msgpack', { 'sec-websocket-protocol': 'imago.v2.msgpack' }, 101],
  [
    'a page of our own, by a subprotocol',
    () => ({
      ...AS_PAGE,
      host: `localhost:${web().port}`,
      origin: `http://localhost:${web().port}`,
      'sec-websocket-protocol': offered(web().token, 'imago.v2.msgpack'),
    }),
    101,
  ],
] as const)
  test(`a request with ${what} is answered with ${expected} (threat 1) (threat 2) (threat 3)`, async () => {
    const raw = new RawWeb(web().port)
    const answer = await raw.asks(upgradeHead(web(), typeof changed === 'function' ? changed() : changed))
    assert.ok(
      [expected].flat().some(one => one === answer),
      String(answer),
    )
    assert.not.match(raw.received.toString('latin1'), web().token)
    if (answer !== 101) await raw.gone
    else assert.not.match(raw.received.toString('latin1'), /deflate/)
    raw.socket.destroy()
  })

const isPageFile = (path: string) => typeof ROUTES[path] === 'object'

for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND'])
  test(`${method} of any path, upgraded or not, is refused without the token, but for a file of the page (threat 3)`, async () => {
    for (const path of [...Object.keys(ROUTES), '/other', '/web', '/../', '/?a'])
      for (const expect of [undefined, '100-continue', 'evil'])
        for (const upgrade of [undefined, 'websocket']) {
          const isGiven =
            isPageFile(path) && method === 'GET' && expect === undefined && upgrade === undefined
          const connection = upgrade && 'Upgrade'
          const answer = await status({ ...AS_PAGE, method, path, expect, upgrade, connection })
          assert.is(answer, isGiven ? 200 : 401, path)
        }
  })

for (const path of Object.keys(ROUTES).filter(isPageFile))
  test(`the bytes of ${path} are the same for everybody, and have nothing of who asks (threat 3)`, async () => {
    const bodies = await Promise.all(
      [
        AS_PAGE,
        { authorization: 'Bearer wrong' },
        {},
        { 'sec-websocket-protocol': offered(web().token) },
      ].map(async changed => {
        const raw = new RawWeb(web().port)
        const plain = { path, upgrade: undefined, connection: undefined }
        assert.is(await raw.asks(upgradeHead(web(), { ...changed, ...plain })), 200)
        await raw.gone
        return raw.received.toString('latin1').split('\r\n\r\n')[1]
      }),
    )
    assert.ok((bodies[0]?.length ?? 0) > 100)
    assert.is(new Set(bodies).size, 1)
    for (const secret of [rig.project, web().token]) assert.not.match(bodies[0] ?? '', secret)
  })

test('the file with the token is for its owner alone, and goes with its daemon, as the token does (threat 8)', async () => {
  const own = openRig()
  try {
    const first = await serveWeb(own, '0')
    const before = webOf(own)
    assert.is(statSync(own.paths.web).mode & 0o777, 0o600)
    const client = await rawOverWeb(before)
    await own.imago(['shutdown', '--force'])
    await first.ended
    await client.gone
    assert.not.ok(existsSync(own.paths.web))
    await serveWeb(own, String(before.port))
    assert.is(await new RawWeb(before.port).asks(upgradeHead(before)), 401)
    assert.is(await new RawWeb(before.port).asks(upgradeHead(webOf(own))), 101)
  } finally {
    await own.close()
  }
})

async function serveWeb(own: Rig, port: string) {
  const begun = own.begin(['serve', '--web', port])
  await begun.says(/WebSockets connect to ws:/)
  return begun
}

test('nothing that is printed, logged or journaled has the token (threat 7)', async () => {
  const { token } = web()
  const client = await rawOverWeb(web())
  client.send({ hello: hello(rig.project) })
  await client.next()
  const args = { expr: JSON.stringify(token) }
  client.send({ type: 'call', id: 1, method: 'call', params: { tool: 'eval_expr', args } })
  await client.find(({ type }) => type === 'return')
  await status({ path: `/${token}` })
  const { stdout } = await rig.imago(['doctor'])
  assert.match(stdout, web().address)
  const kept = readdirSync(rig.paths.stateDir, { recursive: true, withFileTypes: true })
    .filter(one => one.isFile() && !one.parentPath.includes('texts'))
    .map(one => readFileSync(join(one.parentPath, one.name), 'utf8'))
  assert.ok(kept.length > 1)
  for (const text of [stdout, ...kept]) assert.not.ok(text.includes(token))
  client.close()
})

test('without the option and the setting no port is open', async () => {
  const own = openRig()
  try {
    const { pid } = await own.serve()
    assert.not.ok(existsSync(own.paths.web))
    assert.is(listeningPorts(pid), 0)
    assert.is(listeningPorts(Number(readLock(rig))), 1)
  } finally {
    await own.close()
  }
})

/** How many TCP sockets of that process listen. */
function listeningPorts(pid: number): number {
  const inodes = new Set(
    readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
      .split('\n')
      .flatMap(line => (line.split(/\s+/)[4] === '0A' ? [line.trim().split(/\s+/)[9] ?? ''] : [])),
  )
  return readdirSync(`/proc/${pid}/fd`).filter(fd => inodes.has(socketOf(pid, fd))).length
}

function socketOf(pid: number, fd: string): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? ''
  } catch {
    return ''
  }
}

const readLock = ({ paths }: Rig) => {
  const name = readdirSync(paths.runtimeDir).find(one => one.startsWith('daemon.lock.')) ?? ''
  return JSON.parse(readFileSync(join(paths.runtimeDir, name), 'utf8')).pid
}

test('imago serve --web says which port is taken, and what to do where a daemon runs already', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  const own = openRig()
  try {
    const ran = await own.imago(['serve', '--web', String(port)])
    assert.is(ran.code, 1)
    assert.match(ran.stderr, `port ${port} of 127.0.0.1 cannot be used: another program listens there`)
    const second = await rig.imago(['serve', '--web', '7777'])
    assert.is(second.code, 2)
    assert.match(
      second.stderr,
      /runs already.*imago shutdown\nThen run this again; or .*\[web\] port = 7777/s,
    )
    const wrong = await own.imago(['serve', '--web', '99999'])
    assert.is(wrong.code, 2)
    assert.match(wrong.stderr, /--web takes the number of a port/)
  } finally {
    taken.close()
    await own.close()
  }
})
