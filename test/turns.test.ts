import { assert, suite } from './support/harness.ts'
import { Turns } from './support/turns.ts'

const test = suite('turns of test files')

const times = {
  works: { seconds: 50, processor: 50 },
  waits: { seconds: 40, processor: 12 },
  half: { seconds: 30, processor: 15 },
  both: { seconds: 20, processor: 40 },
  sleeps: { seconds: 10, processor: 0 },
}
const files = Object.keys(times).reverse()

function takeAll(turns: Turns): string[] {
  const taken: string[] = []
  for (let file = turns.take(); file !== undefined; file = turns.take()) taken.push(file)
  return taken
}

test('the longest files run first, as many as the processors have room for by their measured shares', () => {
  const turns = new Turns(files, times, { room: 1.7, most: 10 })
  assert.equal(takeAll(turns), ['works', 'waits', 'sleeps'])
  turns.end('works')
  assert.equal(takeAll(turns), ['half'])
})

test('a file for which there never is room runs alone', () => {
  const turns = new Turns(files, times, { room: 1.7, most: 10 })
  const first = takeAll(turns)
  for (const file of first) turns.end(file)
  assert.equal(takeAll(turns), ['half'])
  turns.end('half')
  assert.equal(takeAll(turns), ['both'])
})

test('files that only wait take room too, and no more run at once than may', () => {
  const asleep = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`s${at}`, times.sleeps]))
  assert.is(takeAll(new Turns(Object.keys(asleep), asleep, { room: 1, most: 20 })).length, 6)
  assert.is(takeAll(new Turns(Object.keys(asleep), asleep, { room: 1, most: 3 })).length, 3)
})

test('a file that was never measured runs first, and is taken to work all the time', () => {
  const files = ['newer', 'works', 'new', 'sleeps']
  assert.equal(takeAll(new Turns(files, times, { room: 1.7, most: 10 })), ['new', 'sleeps'])
})
