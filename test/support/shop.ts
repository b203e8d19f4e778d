import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProgram } from './program.ts'
import { type Rig, until } from './rig.ts'

/** A real program that sells what is ordered from it, and listens as `shop`. */
export interface Shop {
  /** All that was ordered so far, with what is new at its end: each word is sold once. Resolves once all are. */
  order(words: string): Promise<void>
  close(): Promise<void>
}

/** `source` defines `sell(item)`, and may replace `rest()`, which is called again and again. */
export async function openShop({ project, paths }: Rig, source: string): Promise<Shop> {
  const program = await startProgram({
    folder: project,
    runtimeDir: paths.runtimeDir,
    name: 'shop',
    source: `${SELLING}${source}\n${OPENING}`,
  })
  return {
    async order(words) {
      // At once, so that the shop never reads half of it.
      const written = join(project, 'orders.new')
      writeFileSync(written, words)
      renameSync(written, join(project, 'orders'))
      const count = String(words.split(' ').length)
      const sold = join(project, 'sold')
      await until(() => existsSync(sold) && readFileSync(sold, 'utf8') === count, `${count} to be sold`)
    },
    async close() {
      program.signal('SIGKILL')
      await program.ended
    },
  }
}

const SELLING = `
import os, threading, time

def rest():
    pass

def watch():
    done = 0
    while True:
        rest()
        orders = open('orders').read().split() if os.path.exists('orders') else []
        for item in orders[done:]:
            sell(item)
        if len(orders) > done:
            done = len(orders)
            with open('sold', 'w') as file:
                file.write(str(done))
        time.sleep(0.01)
`

const OPENING = `threading.Thread(target=watch, daemon=True, name='orders').start()`
