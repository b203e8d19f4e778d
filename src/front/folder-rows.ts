import { mkdirSync, watch } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TopicRow } from './subscriptions.ts'

interface FolderRowsOptions {
  readonly folder: string
  read(): Promise<readonly TopicRow[]>
  isFollowed(): boolean
  changed(): void
}

/** How long the next look waits for after one, at least, and at most: who is killed writes nothing. In milliseconds. */
const [PAUSE_MS, AGAIN_MS] = [200, 2_000]

/** Rows of what processes leave in a folder, read while somebody follows them. */
export class FolderRows {
  rows: readonly TopicRow[] = []
  readonly #options: FolderRowsOptions
  #following: Promise<void> | undefined
  #wake = () => {}

  constructor(options: FolderRowsOptions) {
    this.#options = options
  }

  /** Somebody begins to follow, or something may have changed that the folder does not show. */
  look(): void {
    this.#wake()
    if (this.#options.isFollowed()) this.#following ??= this.#follow()
  }

  async #follow(): Promise<void> {
    const { folder, read, isFollowed, changed } = this.#options
    const watcher = watched(folder, () => this.#wake())
    while (isFollowed()) {
      const news = new Promise<void>(resolve => {
        this.#wake = resolve
      })
      this.rows = await read().catch(() => this.rows)
      changed()
      await sleep(PAUSE_MS, undefined, { ref: false })
      await Promise.race([news, sleep(AGAIN_MS, undefined, { ref: false })])
    }
    watcher?.close()
    // Nobody is told of those that go meanwhile: the next follower hears of them after the snapshot.
    this.rows = []
    this.#following = undefined
  }
}

/** Undefined where the system cannot: it is then looked at now and then. */
function watched(folder: string, changed: () => void) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const watcher = watch(folder, { persistent: false }, changed)
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}
