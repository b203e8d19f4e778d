/**
 * A client that runs at a terminal, as an editor in one would: `node --import tsx test/support/seat-terminal.ts`. Each
 * line that is typed there is a command, and each line that it prints is JSON: what the seat was told, and what came
 * of a command. `sit`, `leave`, and `METHOD {…}` for any method of the protocol.
 */
import { createInterface } from 'node:readline'
import { connectDaemon } from '../../src/front/client.ts'
import type { Method } from '../../src/front/protocol.ts'
import { type OpenSeat, openSeat } from '../../src/front/seat/open-seat.ts'

const client = await connectDaemon({ name: 'a seat of a test', start: 'never', root: process.cwd() })
let seat: OpenSeat | undefined

// The screen echoes what is typed, so that what is printed is told apart by its first word.
const print = (value: unknown) => process.stdout.write(`\n@${JSON.stringify(value)}\n`)

async function run(line: string): Promise<unknown> {
  const [, word = '', json = '{}'] = /^(\w+)\s*(.*)$/.exec(line) ?? []
  if (word === 'sit') {
    seat = await openSeat(client, {
      tell(told) {
        print(told)
        if (told.type === 'wanted') void seat?.admit(told.wanted.id, false)
      },
    })
    const { id, who, others, trouble } = seat
    return { seated: id, who, others, trouble }
  }
  if (word === 'leave') {
    await seat?.leave()
    return { left: true }
  }
  return { [word]: await client.request(word as Exclude<Method, 'call'>, JSON.parse(json)) }
}

print({ ready: process.pid })
for await (const line of createInterface({ input: process.stdin, terminal: false }))
  print(
    await run(line.trim()).catch(error => ({
      failed: error.remote?.code ?? String(error),
      said: error.message,
    })),
  )
