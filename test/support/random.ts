/** Numbers that look drawn by lot, and are the same for the same seed. */
export function random(seed: number) {
  let state = seed % 2_147_483_647 || 1
  const next = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  return {
    /** A whole number from 0, below the limit. */
    below: (limit: number) => Math.floor(next() * limit),
  }
}
