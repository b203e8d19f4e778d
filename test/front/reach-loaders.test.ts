import { loadersIn } from '../../src/front/reach.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('with what a daemon is started whose source is run')

test('it is given what loads modules, in the order given, and nothing else of how its client was started', () => {
  const options = [
    '--inspect-brk=0',
    '--import',
    './typescript.mjs',
    '--test',
    '--import=./other.mjs',
    '--watch-path',
    '--loader',
    './old.mjs',
    '--experimental-loader=./older.mjs',
    '--importing',
    '--max-old-space-size=100',
  ]
  assert.equal(loadersIn(options), [
    '--import',
    './typescript.mjs',
    '--import=./other.mjs',
    '--loader',
    './old.mjs',
    '--experimental-loader=./older.mjs',
  ])
  assert.equal(loadersIn([]), [])
  assert.equal(loadersIn(['--import']), [])
})
