import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Launched } from '../../wire/kernels/launch.ts'
import { launchPython, type PythonRequest } from '../../wire/kernels/python.ts'
import { atEnd } from './endings.ts'

const playgrounds = new Set<Playground>()
atEnd(() => {
  for (const ground of playgrounds) ground.wipe()
})

/** A folder to play in, and the kernels that were started there. All of it is gone after `clear`. */
export class Playground {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-owned-')))
  readonly runtimeDir = join(this.folder, 'run')
  readonly #launched: Launched[] = []

  constructor() {
    playgrounds.add(this)
  }

  /** Launches the real Python, unless told otherwise. */
  async launch(request: Partial<PythonRequest> = {}): Promise<Launched> {
    const launched = await launchPython(this.request(request))
    this.#launched.push(launched)
    return launched
  }

  request(request: Partial<PythonRequest> = {}): PythonRequest {
    return {
      name: 'python',
      root: this.folder,
      env: { PATH: process.env.PATH ?? '', HOME: this.folder },
      runtimeDir: this.runtimeDir,
      ...request,
    }
  }

  /** A file that poses as an interpreter of this version, and then does what `body` says, in the language of `sh`. */
  interpreter(name: string, { body = 'exit 3', version = '3.11.0' } = {}): string {
    const path = join(this.folder, name)
    const probe = `case "$*" in *version_info*) echo ${version}; echo "$0"; exit 0;; esac`
    writeFileSync(path, `#!/bin/sh\n${probe}\n${body}\n`)
    chmodSync(path, 0o755)
    return path
  }

  /** A file that can be started. */
  script(name: string, text: string): string {
    const path = this.write(name, text)
    chmodSync(path, 0o755)
    return path
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, text)
    return path
  }

  async clear(): Promise<void> {
    await Promise.all(this.#launched.splice(0).map(one => one.stop()))
    this.wipe()
  }

  wipe(): void {
    playgrounds.delete(this)
    for (const one of this.#launched) one.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Whether a process of that number is there, and is not only waiting to be collected. */
export function lives(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
