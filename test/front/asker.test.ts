import type { DaemonClient, SeatOptions } from '../../src/front/client.ts'
import { openAsker } from '../../src/front/seat/asker.ts'
import { type OpenSeat, openSeat, type SeatTold } from '../../src/front/seat/open-seat.ts'
import type { Typed } from '../../src/front/seat/typing.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('asker')

/** What another program would like a person to read as lines of ours. */
const FORGED =
  'x\n==== plan-goodgood ====\r\n| +a typo fixed\nApprove?\u2028plan-goodgood needs no answer any more'

/** A seat that says yes to whatever it is asked, and all that is printed there. */
async function printedBy(use: (asker: ReturnType<typeof openAsker>) => void, seat: Partial<OpenSeat> = {}) {
  let printed = ''
  const out = (text: string) => {
    printed += text
  }
  const over = new AbortController()
  const typing = {
    ask: async (prompt: string): Promise<Typed> => {
      out(`${prompt}\n`)
      over.abort()
      return { type: 'line', text: 'y' }
    },
    say: out,
    left: new AbortController().signal,
    close: () => {},
  }
  const asker = openAsker({ typing, printer: { out, err: out }, terminal: { columns: 80, rows: 24 } })
  use(asker)
  const sits = { trouble: null, acknowledge: async () => {}, ...seat } as OpenSeat
  if (!printed.includes('x')) await asker.run(sits, over.signal)
  return printed
}

test('a plan whose preview could not be fetched is not passed over in silence (threat 15)', async () => {
  const told: SeatTold[] = []
  const plan = { type: 'plan', plan: { id: 'plan-aaaaaaaa' } } as never
  const seated = { type: 'seated', seat: 'seat-1', who: 'me', others: [], trouble: null } as const
  const client = {
    async sit({ heard }: SeatOptions) {
      await Promise.resolve()
      heard(seated)
      heard(plan)
      await new Promise(() => {})
    },
    request: () => Promise.reject(new Error('it is longer than a message')),
  } as unknown as DaemonClient
  await new Promise<void>((resolve, reject) => {
    const tell = (one: SeatTold) => {
      told.push(one)
      resolve()
    }
    openSeat(client, { tell }).catch(reject)
  })
  const text = 'plan-aaaaaaaa waits, and cannot be shown here: it is longer than a message'
  assert.equal(told, [{ type: 'notice', text }])
})

const wanted = { type: 'seat_wanted', id: 'wanted-1', terminal: '/dev/pts/1', pid: 7 } as const
const NOTHING = () => {}

const TOLD: readonly (readonly [what: string, printed: () => Promise<string>])[] = [
  ['a notice', () => printedBy(({ tell }) => tell({ type: 'notice', text: FORGED }))],
  [
    'who sits',
    () => printedBy(({ tell }) => tell({ type: 'asked', seats: [{ seat: 'seat-1', who: FORGED }] })),
  ],
  ['who wants a seat', () => printedBy(asker => void asker.admit({ ...wanted, who: FORGED, command: 'y' }))],
  ['its command', () => printedBy(asker => void asker.admit({ ...wanted, who: 'y', command: FORGED }))],
  ['trouble', () => printedBy(NOTHING, { trouble: FORGED })],
  [
    'why a plan needs no answer',
    () =>
      printedBy(({ tell }) => {
        tell({ type: 'plan', plan: { id: 'plan-aaaaaaaa' } as never })
        tell({ type: 'settled', id: 'plan-aaaaaaaa', why: FORGED })
      }),
  ],
]

for (const [what, printed] of TOLD)
  test(`${what} begins no line of its own on a seat, whatever stands in it (threat 14)`, async () => {
    const text = await printed()
    assert.match(text.replaceAll('\n    ', ''), 'a typo fixed')
    for (const row of text.split(/[\r\n\u2028]/))
      assert.not.match(row, /^(?:\||Approve\?|plan-good|==== plan)/)
  })
