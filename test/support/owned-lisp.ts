import type { Launched } from '../../wire/kernels/launch.ts'
import { type LispRequest, launchLisp } from '../../wire/kernels/swank-launch.ts'
import { Playground } from './owned.ts'
import { lispCache } from './runtimes.ts'

/** A folder to play in, which is a home directory too, and the Lisps that were started there. */
export class LispGround extends Playground {
  readonly #lisps: Launched[] = []

  /** Launches the SBCL of this machine, unless told otherwise. */
  async lisp(request: Partial<LispRequest> = {}): Promise<Launched> {
    const launched = await launchLisp(this.lispRequest(request))
    this.#lisps.push(launched)
    return launched
  }

  lispRequest({ env, ...request }: Partial<LispRequest> = {}): LispRequest {
    const own = { PATH: process.env.PATH ?? '', HOME: this.folder, XDG_CACHE_HOME: lispCache }
    return { name: 'lisp', root: this.folder, env: { ...own, ...env }, ...request }
  }

  override async clear(): Promise<void> {
    await Promise.all(this.#lisps.splice(0).map(one => one.stop()))
    await super.clear()
  }

  override wipe(): void {
    for (const one of this.#lisps) one.kill()
    super.wipe()
  }
}
