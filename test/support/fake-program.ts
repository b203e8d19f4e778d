import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { LIMITS } from '../../wire/codec/messages.ts'
import { provePeer, sendFrame } from '../../wire/link/handshake.ts'
import { type Listener, listen } from '../../wire/link/transport.ts'
import { startOf } from '../../wire/process-start.ts'
import { FAKE_HELLO, type FakePeer, greeted, type Script } from './fake-peer.ts'

export interface FakeProgramOptions {
  readonly runtimeDir: string
  readonly name?: string
  readonly script?: Script
  /** In place of a socket beside the announcement: `tcp:127.0.0.1:0`. */
  readonly address?: string
  readonly epoch?: string
  /** Fields in place of those that it would announce, right or wrong; `undefined` leaves one out. */
  readonly announced?: Readonly<Record<string, unknown>>
}

/** A program that listens and has announced itself, played by a test in its own process. */
export interface FakeProgram {
  readonly file: string
  readonly address: string
  readonly secret: string
  /** The daemons that were let in, in order. */
  readonly peers: readonly FakePeer[]
  /** Whoever proves itself from now on is refused so. */
  refuse(refused: { code: string; message: string } | undefined): void
  /** Stops listening; what was announced stays, as after a crash. The present links break. */
  crash(): Promise<void>
  /** Listens again at the same address, as the same image. */
  listen(): Promise<void>
}

const programs: FakeProgram[] = []

/** Ends all that `fakeProgram` has made. */
export async function endPrograms(): Promise<void> {
  for (const program of programs.splice(0)) await program.crash()
}

let made = 0

export async function fakeProgram(options: FakeProgramOptions): Promise<FakeProgram> {
  const { runtimeDir, name = 'web', script = {}, epoch = FAKE_HELLO.epoch } = options
  const folder = `${runtimeDir}/programs`
  mkdirSync(runtimeDir, { recursive: true, mode: 0o700 })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stem = `${folder}/${process.pid}-${(++made).toString(16).padStart(4, '0')}`
  const secret = made.toString(16).padStart(64, '0')
  const peers: FakePeer[] = []
  const open = new Set<Duplex>()
  let refused: { code: string; message: string } | undefined
  let listener: Listener | undefined
  let address = options.address ?? `unix:${stem}.sock`

  async function admit(transport: Duplex): Promise<void> {
    open.add(transport)
    transport.on('error', () => {}).once('close', () => open.delete(transport))
    await provePeer({ transport, secret, side: 'acceptor', limits: LIMITS })
    if (refused !== undefined) {
      sendFrame(transport, { refused })
      transport.end()
      return
    }
    sendFrame(transport, { hello: { ...FAKE_HELLO, epoch, attached: true } })
    peers.push(await greeted(transport, script))
  }

  const program: FakeProgram = {
    file: `${stem}.json`,
    get address() {
      return address
    },
    secret,
    peers,
    refuse(how) {
      refused = how
    },
    async crash() {
      await listener?.close()
      for (const transport of open) transport.destroy()
    },
    async listen() {
      if (address.startsWith('unix:')) rmSync(address.slice('unix:'.length), { force: true })
      listener = await listen(address, transport => void admit(transport).catch(() => transport.destroy()))
      address = listener.address
    },
  }
  await program.listen()
  programs.push(program)
  writeFileSync(
    program.file,
    JSON.stringify({
      imago: 1,
      name,
      language: FAKE_HELLO.language,
      implementation: FAKE_HELLO.implementation,
      pid: process.pid,
      started: startOf(process.pid),
      address,
      secret,
      epoch,
      cwd: '/somewhere',
      program: `${name}.py`,
      announced_at: new Date().toISOString(),
      ...options.announced,
    }),
    { mode: 0o600 },
  )
  return program
}
