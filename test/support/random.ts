/** Numbers that look drawn by lot, and are the same for the same seed (mulberry32, by Tommy Ettinger). */
export function random(seed: number) {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    /** A whole number from 0, below the limit. */
    below: (limit: number) => Math.floor(next() * limit),
  }
}
