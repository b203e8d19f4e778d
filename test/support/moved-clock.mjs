/**
 * `node --import` this for a process whose clock goes forward by a minute at each SIGUSR2, with all timers that are due then.
 */
const MINUTE_MS = 60_000
const { now } = Date
const { setTimeout: after } = globalThis
let ahead = 0
const timers = new Map()

Date.now = () => now() + ahead

globalThis.setTimeout = (run, ms = 0, ...args) => {
  const timer = after(run, ms, ...args)
  timers.set(timer, { due: Date.now() + ms, run: () => run(...args) })
  return timer
}

process.on('SIGUSR2', () => {
  ahead += MINUTE_MS
  for (const [timer, { due, run }] of timers) {
    if (!timer._destroyed && due > Date.now()) continue
    timers.delete(timer)
    if (timer._destroyed) continue
    clearTimeout(timer)
    run()
  }
})
