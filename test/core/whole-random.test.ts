import { assert, isLong, suite } from '../support/harness.ts'
import { World } from '../support/whole-world.ts'

const test = suite('the whole path at random', { limitMs: 60_000 })

const SEEDS = isLong ? 16 : 4
const STEPS = 500

for (let seed = 1; seed <= SEEDS; seed++)
  test(`${STEPS} things drawn by lot, of seed ${seed}, change what was approved, once, and nothing else (threat 18) (threat 19) (threat 20) (fault 25) (fault 27) (fault 31)`, async () => {
    const world = new World(seed)
    for (let step = 0; step < STEPS; step++) await world.take()
    const wrong = await world.end()
    console.log(`seed ${seed}: ${world.effects} effects of ${JSON.stringify(world.did)}`)
    assert.equal(wrong, [])
    assert.ok(world.effects > 0)
  })
