import { LightSignal } from '../../wire/signal.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('signal')

test('an abort tells each listener once, in the order in which they were added', () => {
  const signal = new LightSignal()
  const heard: string[] = []
  const first = () => void heard.push('first')
  signal.addEventListener('abort', first)
  signal.addEventListener('abort', first)
  signal.addEventListener('abort', () => heard.push('second'))
  assert.is(signal.aborted, false)
  assert.is(signal.reason, undefined)
  signal.abort('because')
  signal.abort('again')
  assert.equal(heard, ['first', 'second'])
  assert.is(signal.aborted, true)
  assert.is(signal.reason, 'because')
})

test('whoever no longer listens is not told, even where that was decided while others were', () => {
  const signal = new LightSignal()
  const heard: string[] = []
  const late = () => void heard.push('late')
  const gone = () => void heard.push('gone')
  signal.addEventListener('abort', () => signal.removeEventListener('abort', late))
  signal.addEventListener('abort', late)
  signal.addEventListener('abort', gone)
  signal.removeEventListener('abort', gone)
  signal.abort()
  signal.addEventListener('abort', late)
  assert.equal(heard, [])
})

test('without a reason it is aborted as an AbortController would', () => {
  const signal = new LightSignal()
  signal.abort()
  assert.instance(signal.reason, DOMException)
  assert.is((signal.reason as DOMException).name, 'AbortError')
})
