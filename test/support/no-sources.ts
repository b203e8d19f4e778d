import type { Sources } from '../../tools/contract.ts'

/** For call paths on which no source is compared. */
export const NO_SOURCES: Sources = {
  prove: async () => ({ source: 'unknown', because: 'nothing is compared here' }),
  keep: () => '@txt.1',
}
