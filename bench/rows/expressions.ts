import { Frames, frame, MOST_BYTES } from '../../wire/swank/frames.ts'
import { read } from '../../wire/swank/read.ts'
import { write } from '../../wire/swank/sexp.ts'
import { median, type Row, ratio } from '../row.ts'

/** What an image tells of its definitions, until there is as much of it as one reply can hold. */
function definitions(fits: (rows: readonly unknown[][]) => boolean): readonly unknown[][] {
  let count = 1 << 12
  const rows = (many: number) =>
    Array.from({ length: many }, (_, number) => [
      `definition-${number}`,
      number,
      'says "hello", and more',
      null,
    ])
  while (fits(rows(count + (1 << 14)))) count += 1 << 14
  return rows(count)
}

/** A reply as it comes from a socket: whole frames in pieces of 64 kB, read to their value. */
function readReply(reply: Buffer): number {
  const begun = performance.now()
  const frames = new Frames()
  let count = 0
  for (let at = 0; at < reply.length; at += 65_536)
    for (const body of frames.add(reply.subarray(at, at + 65_536))) {
      read(body)
      count++
    }
  if (count !== 1) throw new Error(`${count} replies were read, and one was written`)
  return performance.now() - begun
}

const answer = (value: string) => `(:return (:ok ${value}) 1)`
const asJson = (rows: unknown) => answer(write(JSON.stringify(rows)))
const asLists = (rows: readonly unknown[][]) =>
  answer(
    `(${rows.map(([name, number, text]) => `(${write(String(name))} ${number} ${write(String(text))} nil)`).join(' ')})`,
  )
const fitting = (make: (rows: readonly unknown[][]) => string) =>
  definitions(rows => Buffer.byteLength(make(rows)) <= MOST_BYTES)

let text: Buffer
export const replyOfText: Row = {
  what: 'a 16 MB Swank reply of one text, as the peer in an image answers',
  how: 'frames in pieces of 64 kB, UTF-8 checked, and the expression in them read; the text is JSON with its quotes and backslashes escaped',
  bar: { relation: '≥', limit: 100, unit: 'MB/s' },
  async setUp() {
    text = frame(asJson(fitting(asJson)))
  },
  async measure() {
    const ms = median(Array.from({ length: 5 }, () => readReply(text)))
    return { figure: text.length / ms / 1_000, parts: { bytes: text.length, read_ms: ms } }
  },
}

let lists: Buffer
let json: Buffer
export const replyOfLists: Row = {
  what: 'a 16 MB Swank reply of lists beside `JSON.parse`',
  how: 'the same rows as lists and as JSON, each from bytes to values, 5 times in turn; speed in bytes per second',
  bar: { relation: '≥', limit: 0.25, unit: '×' },
  async setUp() {
    const rows = fitting(asLists)
    lists = frame(asLists(rows))
    json = Buffer.from(JSON.stringify(rows))
  },
  async measure() {
    const ours: number[] = []
    const theirs: number[] = []
    for (let turn = 0; turn < 5; turn++) {
      ours.push(readReply(lists))
      const begun = performance.now()
      JSON.parse(json.toString())
      theirs.push(performance.now() - begun)
    }
    const [read_ms, parse_ms] = [median(ours), median(theirs)]
    const [read_mb_per_s, parse_mb_per_s] = [lists.length / read_ms / 1_000, json.length / parse_ms / 1_000]
    return ratio(read_mb_per_s, parse_mb_per_s, { read_mb_per_s, parse_mb_per_s })
  },
}
