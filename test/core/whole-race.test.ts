import { provesRaces } from '../support/whole-race.ts'

/** All of the 10,000 races with `IMAGO_TEST_LONG=1`, a quarter of them without. */
const SEEDS = process.env.IMAGO_TEST_LONG === '1' ? [1, 2, 3, 4] : [1]

for (const seed of SEEDS) provesRaces(seed)
