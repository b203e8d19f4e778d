import { join } from 'node:path'
import { z } from 'zod'
import { DEFAULT_LANGUAGE } from '../../wire/languages.ts'
import { openStateFile, type StateFile } from './state-file.ts'

/** The kernel that a person started last for a project: its successor in the next daemon speaks the same language. */
const STARTED = z.object({
  root: z.string(),
  name: z.string(),
  language: z.string(),
  script: z.string().optional(),
})

export type Started = z.output<typeof STARTED>

export type StartedStore = StateFile<readonly Started[]>

/** `started.json` in the state directory: one for each project, the latest last. */
export const openStartedStore = (options: {
  readonly stateDir: string
  log(sentence: string, error: unknown): void
}): StartedStore =>
  openStateFile({
    path: join(options.stateDir, 'started.json'),
    shape: z.array(STARTED).readonly(),
    none: [],
    unread: 'What was started before cannot be read, so that a project may begin with another language.',
    unwritten: 'What is started cannot be written down; the next daemon does not know it.',
    log: options.log,
  })

/** Projects whose last kernel is remembered. */
const MOST = 200

/** What persons have started, the last of each project. */
export class StartedKernels {
  readonly #store: StartedStore | undefined
  #all: readonly Started[]

  constructor(store: StartedStore | undefined) {
    this.#store = store
    this.#all = store?.read() ?? []
  }

  note({ root, name, language, script }: Started): void {
    this.#all = [...this.#all.filter(one => one.root !== root), { root, name, language, script }].slice(-MOST)
    this.#store?.write(this.#all)
  }

  /** The last of that project, where it is of another language than calls start by themselves. */
  otherIn(root: string): Started | undefined {
    const last = this.#all.find(one => one.root === root)
    return last?.language === DEFAULT_LANGUAGE.name ? undefined : last
  }
}
