import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream'
import type { Browser } from 'playwright-core'
import { ROUTES } from '../../src/front/web.ts'
import { addressOf, isIn, letIn, openBrowser, openPage, seated, shows } from '../support/browser.ts'
import { assert, suite } from '../support/harness.ts'
import { hello } from '../support/raw-client.ts'
import { openRig, until } from '../support/rig.ts'
import { RawWeb, rawOverWeb, upgradeHead, webOf } from '../support/web-socket.ts'

/** How a page gets in, and who does not. */
const test = suite('the way in for pages', { limitMs: 60_000 })
const rig = openRig({ files: { 'a.txt': 'one\n', 'imago.toml': '' } })
let browser: Browser
test.before(async () => {
  await rig.serve()
  browser = await openBrowser()
})
test.after(async () => {
  await browser?.close()
  await rig.close()
})

const tokenIn = (address: string) => new URLSearchParams(new URL(address).hash.slice(1)).get('token') ?? ''

/** The status that a request for a WebSocket gets which shows this as a page does. */
async function status(shown: string, changed: Parameters<typeof upgradeHead>[1] = {}) {
  const web = webOf(rig)
  const offered = {
    authorization: undefined,
    'sec-websocket-protocol': `imago.v2.json, imago.token.${shown}`,
  }
  const raw = new RawWeb(web.port)
  const answer = await raw.asks(upgradeHead(web, { ...offered, ...changed }))
  raw.socket.destroy()
  return answer
}

test('no WebSocket is taken, and no port listened at, before somebody asks for a page', async () => {
  const own = openRig()
  try {
    await own.serve()
    const client = await own.connect()
    assert.is((await client.request('status', {})).web, null)
    const { address } = await client.request('open_page', {})
    assert.is(new URL(address).host, new URL((await client.request('status', {})).web ?? '').host)
  } finally {
    await own.close()
  }
})

test('a token works once; a foreign origin and a rebound host are refused, and do not use it up (threat 1) (threat 2)', async () => {
  const token = tokenIn(await addressOf(rig))
  const { port } = webOf(rig)
  assert.is(await status(token, { origin: 'http://evil' }), 403)
  assert.is(await status(token, { origin: 'null' }), 403)
  assert.is(await status(token, { host: `evil.example:${port}` }), 421)
  assert.is(await status(token, { path: '/page' }), 401)
  assert.is(await status(token, { connection: undefined, upgrade: undefined }), 401)
  assert.is(await status(token), 101)
  assert.is(await status(token), 401)
})

test('the files of the page come without a token, under a strict policy; nothing else does, and to no other host', async () => {
  const { port } = webOf(rig)
  for (const path of Object.keys(ROUTES).filter(one => ROUTES[one] !== 'sockets')) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    assert.is(answer.status, 200)
    const policy = answer.headers.get('content-security-policy') ?? ''
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      assert.match(policy, rule)
    assert.not.match(policy, /unsafe|\*/)
    assert.is(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.is(answer.headers.get('referrer-policy'), 'no-referrer')
    assert.is(answer.headers.get('cache-control'), 'no-store')
    const text = await answer.text()
    for (const secret of [rig.project, webOf(rig).token]) assert.not.match(text, secret)
    const evil = { host: `evil.example:${port}`, connection: undefined, upgrade: undefined, path }
    assert.is(await status('', evil), 421)
    assert.is(await status('', { ...evil, host: `localhost:${port}`, origin: 'http://evil' }), 403)
  }
  for (const path of ['/', '/page/', '/page?', '/index.html', '/page.js.map', '/../page'])
    assert.is(await status('', { path, connection: undefined, upgrade: undefined }), 401)
  assert.is(
    await status('', { path: '/page', method: 'POST', connection: undefined, upgrade: undefined }),
    401,
  )
})

test('a program with the token of the file sits through nothing, and opens no page (threat 33)', async () => {
  const client = await rawOverWeb(webOf(rig))
  client.send({ hello: hello(rig.project) })
  await client.next()
  client.send({ type: 'call', id: 1, method: 'open_page', params: {} })
  const { error } = (await client.find(({ id }) => id === 1)) as { error: { code: string } }
  assert.is(error.code, 'refused')
  client.send({ type: 'call', id: 2, method: 'sit', params: { through: 'page' } })
  const { error: sits } = (await client.find(({ id, type }) => id === 2 && type === 'fail')) as typeof sitting
  assert.is(sits.code, 'seat_refused')
})
const sitting = { error: { code: '' } }

test('a page forgets its token, and no file has that or the secret of its session (threat 7)', async () => {
  const token = tokenIn(await addressOf(rig))
  const page = await openPage(rig, browser)
  assert.match(page.url(), /\/page$/)
  const secret = await page.evaluate<string>("sessionStorage.getItem('imago.secret')")
  assert.ok(secret.length > 40)
  const { stateDir, runtimeDir, log } = rig.paths
  const files = [stateDir, runtimeDir, dirname(log)].flatMap(folder =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap(entry =>
      entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
    ),
  )
  const texts = files.map(path => readFileSync(path, 'latin1')).join()
  assert.match(texts, 'A client connected.')
  for (const one of [token, secret]) assert.not.match(texts, one)
  assert.is(await status(secret), 101)
  await page.close()
})

test('the file that leads a browser to the page goes with its token (threat 7)', async () => {
  // A browser that does not open.
  const bin = join(rig.folder, 'bin')
  mkdirSync(bin)
  symlinkSync('/bin/true', join(bin, 'xdg-open'))
  const { stdout } = await rig.imago(['web'], { env: { PATH: `${bin}:${process.env.PATH}` } })
  const file = join(rig.paths.runtimeDir, 'page.html')
  assert.is(statSync(file).mode & 0o777, 0o600)
  const page = await browser.newPage()
  await page.goto(stdout.trim())
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  await until(() => !existsSync(file), 'the file to go')
  await page.close()
})

test('over SSH no browser is opened: the forwarding is told, and a page is let in through it', async () => {
  const { stdout, stderr } = await rig.imago(['web'], { env: { SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' } })
  const { port } = new URL(stdout)
  assert.match(stderr, `ssh -N -L ${port}:127.0.0.1:${port} `)
  assert.not.ok(existsSync(join(rig.paths.runtimeDir, 'page.html')))
  // What ssh does at the other machine, where that port is free.
  let carried = 0
  const carrying = new Set<Socket>()
  const relay = createServer(socket => {
    carried++
    carrying.add(socket)
    pipeline(socket, connect(Number(port), '127.0.0.1'), socket, () => {})
  })
  relay.listen(Number(port), '127.0.0.2')
  await once(relay, 'listening')
  const away = await openBrowser('--host-resolver-rules=MAP 127.0.0.1 127.0.0.2')
  const page = await away.newPage()
  await page.goto(stdout.trim())
  await isIn(page)
  assert.ok(carried > 1)
  // The tunnel breaks for a moment; the daemon lives, and the page goes on.
  relay.close()
  for (const socket of carrying) socket.destroy()
  await shows(page, /The daemon is away/)
  relay.listen(Number(port), '127.0.0.2')
  await page.getByText('The daemon is away').waitFor({ state: 'hidden' })
  await shows(page, /What waits for you/)
  await away.close()
  relay.close()
})

test('two pages sit; both see a plan, the first answer wins, and the other sees it go, with why', async () => {
  const [one, two] = [await openPage(rig, browser), await openPage(rig, browser)]
  await shows(one, /Nobody sits, so that all that needs a person is refused/)
  await seated(rig, one)
  await two.getByText('Nobody sits').waitFor({ state: 'hidden' })
  await two.getByRole('button', { name: 'Sit' }).click()
  await shows(
    two,
    /Within a minute, say yes where somebody sits \(through a page in a browser.*imago-admit\), or type in a terminal: imago seat \w{4}-\w{4}/,
  )
  await letIn(one)
  await shows(two, /You sit here/)
  const client = await rig.connect()
  const answering = client.call({ tool: 'write_file', args: { path: 'b.txt', content: 'two\n' } })
  for (const page of [one, two]) {
    await page.getByRole('button', { name: /write_file/ }).click()
    await page.locator('article[aria-busy=false]').waitFor()
  }
  assert.match(await one.title(), /^\(1\) /)
  await one.keyboard.press('y')
  await shows(
    two,
    /A person approved it through a page in a browser \(session [0-9a-f]{8}\), which calls itself/,
  )
  await two.keyboard.press('y')
  assert.ok((await answering).ok)
  await until(async () => !(await one.title()).startsWith('('), 'nothing to wait any more')
  await one.close()
  await two.close()
})

test('the daemon ends under a page: what listens there next gets nothing that lets it in, and the page takes a new address in place (threat 7)', async () => {
  const page = await openPage(rig, browser)
  const stranger = await browser.newPage()
  await stranger.goto(page.url())
  await shows(stranger, /type imago web --no-open/)
  const secret = await page.evaluate<string>("sessionStorage.getItem('imago.secret')")
  await rig.imago(['shutdown', '--force'])
  await shows(page, /The daemon of this page has ended.*type imago web --no-open/)
  await rig.serve()
  await rig.imago(['web', '--no-open'])
  assert.is(await status(secret), 401)
  for (const one of [page, stranger]) {
    await one.getByRole('textbox').fill(await addressOf(rig))
    await one.keyboard.press('Enter')
    await shows(one, /What waits for you/)
    await one.close()
  }
})

test('a seat comes back with its page within a minute, and with no other', async () => {
  const page = await openPage(rig, browser)
  await seated(rig, page)
  await page.reload()
  await shows(page, /You sit here/)
  const resume = await page.evaluate<string>("sessionStorage.getItem('imago.resume')")
  const other = await openPage(rig, browser)
  await other.evaluate(`sessionStorage.setItem('imago.resume', ${JSON.stringify(resume)})`)
  await page.close()
  await other.reload()
  await shows(other, /No seat of this editor was lost within 60 s/)
  await other.close()
})
