import type { PlanRow } from '../../src/front/protocol.ts'
import type { SubscriptionEvent } from '../../src/front/subscriptions.ts'
import { openClient } from '../../wire/link/handshake.ts'
import type { Link } from '../../wire/link/link.ts'
import { hello } from './raw-client.ts'
import type { Rig } from './rig.ts'
import { openScreen } from './screen.ts'
import { noSeat } from './watching.ts'
import { dialWeb, webOf } from './web-socket.ts'

/** Somebody who sits over a WebSocket, as a page does. */
export interface WebSeat {
  readonly link: Link
  /** All plans that it was told of, by their names, each as it is by now. */
  readonly plans: ReadonlyMap<string, PlanRow>
  waits(): readonly Extract<PlanRow, { state: 'waits' }>[]
  /** Resolves to what came of the answer. */
  answers(
    plan: { readonly id: string; readonly hash: string },
    decision: 'approve' | 'deny',
  ): Promise<unknown>
  close(): Promise<void>
}

type Sitting = Pick<Rig, 'connect' | 'env' | 'paths' | 'project'>

/** Shows the token of a page, says its code at a terminal, and follows the plans that wait. */
export async function sitOverWeb(rig: Sitting): Promise<WebSeat> {
  await using client = await rig.connect()
  const { address } = await client.request('open_page', {})
  const token = new URLSearchParams(new URL(address).hash.slice(1)).get('token') ?? ''
  const transport = await dialWeb(webOf(rig), 'json', token)
  const { link } = await openClient({ transport, hello: hello(rig.project) as never })
  await seated(rig, link)
  const plans = new Map<string, PlanRow>()
  const on = (told: unknown) => {
    const event = told as SubscriptionEvent
    for (const { key, value } of 'snapshot' in event ? event.snapshot : event.changes)
      if (value !== null) plans.set(key, value as PlanRow)
  }
  void link.call('subscribe', { topics: ['approvals'] }, { on }).catch(() => {})
  return {
    link,
    plans,
    waits: () => [...plans.values()].filter(plan => plan.state === 'waits'),
    answers: async ({ id, hash }, decision) =>
      (await link.call('answer', { plan: id, hash, decision })) as unknown,
    async close() {
      await link.close()
      await noSeat(rig as Rig)
    },
  }
}

function seated(rig: Sitting, link: Link): Promise<void> {
  return new Promise((resolve, reject) => {
    const on = (told: unknown) => {
      const event = told as { readonly type: string; readonly code?: string }
      if (event.type === 'seated') resolve()
      else void says(rig, event.code ?? '').catch(reject)
    }
    link.call('sit', { through: 'a page of a test' }, { on }).catch(reject)
  })
}

/** A person lets it sit, at a terminal. */
async function says(rig: Sitting, code: string): Promise<void> {
  const screen = openScreen(rig as Rig, { args: ['seat', code], columns: 160, rows: 40 })
  const refused = screen.ended.then(() => Promise.reject(new Error(screen.text())))
  await Promise.race([refused, screen.shows('Let it have a seat? [y]es [n]o')])
  refused.catch(() => {})
  screen.type('y\n')
  await screen.shows('It has a seat')
  screen.close()
}
