import type { CallId } from '../../wire/kernel.ts'
import type { SwankKernel, SwankOptions } from '../../wire/kernels/swank.ts'
import { type FakeSwank, fakeSwank, type Rex, type SwankClient } from './fake-swank.ts'
import { assert } from './harness.ts'
import { openSwankKernel } from './swank-kernel.ts'

const IDENTITY = {
  pid: 4711,
  epoch_token: '4711:1:elsewhere',
  servers: [],
  abilities: ['evaluate', 'globals', 'inspect', 'interrupt', 'teleport'],
}

/** What an evaluation came to that has no values. */
export const DONE = { type: 'done', values: [], elapsed_ms: 1 }
/** Asked for, and found: a page of no names. */
export const PAGE = { modules: false, limit: 5 }

/** A kernel in an image that is played by a script, and the image's side of it. */
export interface Played {
  readonly kernel: SwankKernel
  readonly image: SwankClient
}

/** What it says of itself. */
interface Playing {
  readonly style?: string | null
  readonly implementation?: string
  readonly abilities?: readonly string[]
}

const servers = new Set<FakeSwank>()

/** An image that says who it is, lets itself be left, shows that it lives, and answers nothing else by itself. */
export async function playImage({
  style = 'spawn',
  implementation = 'SBCL 9',
  abilities = IDENTITY.abilities,
  ...options
}: Partial<SwankOptions> & Playing = {}): Promise<Played> {
  const server = await fakeSwank({
    script: {
      'peer:identity': ({ id }, client) => client.json(id, { ...IDENTITY, implementation, style, abilities }),
      'peer:leave': ({ id }, client) => client.json(id, true).socket.end(),
      'swank:ping': ({ id }, client) => client.say(`(:invalid-rpc ${id} "Thread not found: -1")`),
    },
  })
  servers.add(server)
  const opening = openSwankKernel(server, options)
  const image = await server.next()
  return { kernel: await opening, image }
}

/** Ends all images that were played. */
export async function endImages(): Promise<void> {
  for (const server of servers) await server.close()
  servers.clear()
}

/** An evaluation as the image was given it. */
export interface Given {
  readonly rex: Rex
  readonly call: CallId
  /** Says something of it, as our own code in an image does. */
  tell(message: object): SwankClient
}

/** The next evaluation, or resume, that the image is given. */
export async function given(image: SwankClient, method: 'evaluate' | 'resume' = 'evaluate'): Promise<Given> {
  const rex = await image.called(`peer:${method}`)
  const { call } = rex.given
  const name = typeof call === 'object' && call !== null && 'text' in call ? call.text : ''
  const tell = (message: object) =>
    image.say(`(:channel-send 0 ${JSON.stringify(JSON.stringify({ call: name, ...message }))})`)
  return { rex, call: name as CallId, tell }
}

export const output = (text: string) => ({ event: { type: 'output', stream: 'stdout', text } })
export const started = (thread: number) => ({ started: { thread } })

/** Waits until all that the image said before has been taken in: the answer to a request comes after it. */
export async function takenIn({ kernel, image }: Played): Promise<void> {
  const look = kernel.look('globals', PAGE, { deadlineMs: 10_000 })
  image.json((await image.called('peer:globals')).id, { type: 'found', value: { globals: [], total: 0 } })
  assert.is((await look).type, 'found')
}
