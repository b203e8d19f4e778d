import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LineRead, type ReadOptions, readEntries } from '../../src/journal/reader.ts'
import { assert, suite } from '../support/harness.ts'
import { dispatched, ended, journalsOf } from '../support/journals.ts'

const test = suite('journal reading')

const journals = journalsOf(test)

async function read(options: ReadOptions = {}): Promise<LineRead[]> {
  const lines: LineRead[] = []
  for await (const line of readEntries(journals.dir, options)) lines.push(line)
  return lines
}

const callOf = (line: LineRead) => (line.type === 'entry' ? (line.entry.call ?? line.entry.type) : line.type)

/** One call in each of so many segments. */
async function segments(count: number, now: () => Date = () => new Date()): Promise<void> {
  const journal = journals.open({ segmentBytes: 10, now, kept: { bytes: 1e9, ms: 1e12 } })
  for (let index = 0; index < count; index++) journal.write(dispatched(`call-${index}`))
  await journal.close()
}

test('a journal that is not there, or empty, has no lines', async () => {
  assert.equal(await read(), [])
  mkdirSync(journals.dir)
  writeFileSync(join(journals.dir, '000001.jsonl'), '')
  writeFileSync(join(journals.dir, 'notes.txt'), 'not ours\n')
  assert.equal(await read(), [])
})

test('all lines come in order, with the file, the line and the byte that each is at', async () => {
  await segments(3)
  const lines = await read()
  assert.equal(lines.map(callOf), ['segment', 'call-0', 'segment', 'call-1', 'segment', 'call-2'])
  for (const { file, line, byte } of lines) {
    const bytes = readFileSync(join(journals.dir, file))
    assert.is(bytes.subarray(0, byte).filter(byte => byte === 0x0a).length, line - 1)
    assert.is(bytes[byte], 0x7b)
  }
})

test('the last lines are read from where they begin, over several segments', async () => {
  await segments(5)
  const all = await read()
  for (const last of [0, 1, 2, 3, 5, 9, 10, 11]) {
    const expected = last === 0 ? [] : all.slice(-last)
    assert.equal(await read({ last }), expected, `the last ${last}`)
  }
})

test('what was written before a time is left out', async () => {
  let time = 0
  await segments(5, () => {
    time += 1_000
    return new Date(time)
  })
  const all = await read()
  for (let from = 0; from < time + 2_000; from += 500) {
    const expected = all.filter(line => line.type === 'entry' && new Date(line.entry.time).getTime() >= from)
    assert.equal(await read({ from: new Date(from) }), expected, `from ${from}`)
  }
})

test('a line that is no entry is given as it is, and a line that is being written is left out', async () => {
  await segments(1)
  appendFileSync(join(journals.dir, '000001.jsonl'), 'garbage\n{"v":2,"time":"now"')
  const lines = await read()
  assert.equal(lines.map(callOf), ['segment', 'call-0', 'unreadable'])
  const last = lines.at(-1)
  assert.is(last?.type === 'unreadable' && last.text, 'garbage')
  // With a later segment, it is not being written any more.
  writeFileSync(join(journals.dir, '000002.jsonl'), '')
  assert.equal((await read()).map(callOf), ['segment', 'call-0', 'unreadable', 'unreadable'])
})

test('following goes on with what is written, from a journal that is not there yet on, over segments, until it is stopped', async () => {
  const stop = new AbortController()
  const seen: LineRead[] = []
  const reading = (async () => {
    const options = { follow: true, signal: stop.signal, pollMs: 1 }
    for await (const line of readEntries(journals.dir, options)) seen.push(line)
  })()
  const calls = () => seen.map(callOf).filter(call => call !== 'segment')
  const until = async (count: number) => {
    while (calls().length < count) await new Promise(resolve => setTimeout(resolve, 1))
  }
  const journal = journals.open({ segmentBytes: 500 })
  const expected: string[] = []
  for (let index = 0; index < 8; index++) {
    journal.write(dispatched(`call-${index}`))
    journal.write(ended(`call-${index}`))
    expected.push(`call-${index}`, `call-${index}`)
    if (index % 2 === 0) await until(expected.length)
  }
  await until(expected.length)
  const last = join(journals.dir, journals.names().at(-1) ?? '')
  const line = '{"v":2,"time":"2026-01-01T00:00:00.000Z","type":"ended","call":"by half"}\n'
  appendFileSync(last, line.slice(0, 30))
  await new Promise(resolve => setTimeout(resolve, 5))
  assert.equal(calls(), expected)
  appendFileSync(last, line.slice(30))
  await until(expected.length + 1)
  assert.is(calls().at(-1), 'by half')
  stop.abort()
  await reading
})
