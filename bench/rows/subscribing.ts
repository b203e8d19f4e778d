import { TOPICS } from '../../src/front/operations/operation.ts'
import type { Link } from '../../wire/link/link.ts'
import { type BenchDaemon, benchDaemon, processorSeconds, residentEach } from '../daemon.ts'
import type { Row } from '../row.ts'

/** Follows every topic; `heard` is called for each event with changes. Resolves once it has the rows. */
function follow(link: Link, heard = () => {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const on = (event: unknown) => {
      resolve()
      if ('changes' in (event as object)) heard()
    }
    link.call('subscribe', { topics: TOPICS }, { on }).catch(reject)
  })
}

export const followerMemory: Row = {
  what: 'an idle subscriber of every topic, up to 1,000 of them: resident memory each',
  how: '1,000 clients connect to a fresh daemon, which a first one has warmed, and each follows all topics; growth divided by 1,000',
  bar: { relation: '≤', limit: 40, unit: 'kB' },
  async measure() {
    const fresh = await benchDaemon()
    await follow(await fresh.connect())
    const links: Link[] = []
    const each_kb = await residentEach(fresh, async () => {
      const link = await fresh.connect()
      await follow(link)
      links.push(link)
    })
    await Promise.all(links.map(link => link.close()))
    await fresh.close()
    return { figure: each_kb, parts: { each_kb } }
  },
}

const FOLLOWERS = 100
const EVALUATIONS = 500

/** The daemon's processor time for so many evaluations one after another, in milliseconds. */
async function evaluating(daemon: BenchDaemon): Promise<number> {
  const before = processorSeconds(daemon.pid)
  for (let count = 0; count < EVALUATIONS; count++) await daemon.call('eval_expr', { expr: '1' })
  return 1_000 * (processorSeconds(daemon.pid) - before)
}

export const changeToFollowers: Row = {
  what: 'a change told to 100 subscribers: processor time of the daemon, beside none',
  how: '500 evaluations one after another, whose rows come and go, with 100 clients that follow every topic, and with none; the difference, divided by the events that a subscriber heard',
  bar: { relation: '≤', limit: 5, unit: 'ms' },
  async measure() {
    const fresh = await benchDaemon()
    await evaluating(fresh)
    const alone_ms = await evaluating(fresh)
    let events = 0
    const links: Link[] = []
    for (let count = 0; count < FOLLOWERS; count++) {
      const link = await fresh.connect()
      await follow(link, () => void (count === 0 && events++))
      links.push(link)
    }
    const followed_ms = await evaluating(fresh)
    await Promise.all(links.map(link => link.close()))
    await fresh.close()
    const parts = { alone_ms, followed_ms, events }
    return { figure: (followed_ms - alone_ms) / Math.max(1, events), parts }
  },
}
