import { openApprovals } from '../../src/approvals/queue.ts'
import { type CallsOptions, openCalls } from '../../src/calls/calls.ts'
import type { Calls } from '../../src/calls/contract.ts'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import type { Kernels } from '../../src/kernels/kernels.ts'
import { Leases } from '../../src/suspensions/leases.ts'
import { openTexts } from '../../src/text/texts.ts'
import { asSaid } from './answers.ts'
import { NO_FILES } from './no-files.ts'
import { NO_SOURCES } from './no-sources.ts'
import { openFollowed } from './seat.ts'

export type TestKernels = Pick<CallsOptions['kernels'], 'resolve'> & Partial<CallsOptions['kernels']>

/** What a test gives of the call path. */
export interface TestCalls extends Partial<Omit<CallsOptions, 'kernels'>> {
  readonly kernels?: TestKernels
}

type Needed = 'registry' | 'policy' | 'journal' | 'log'

/**
 * The call path. Left out: no files, no kernels but those that are asked for, nobody on a seat, texts below `stateDir`,
 * the clock of the system, and the usual times.
 */
export function openTestCalls(
  given: TestCalls &
    Pick<CallsOptions, Needed> & { readonly kernels: TestKernels; readonly stateDir: string },
): Calls {
  const { clock = SYSTEM_CLOCK, journal, log, kernels, stateDir, ...rest } = given
  const ruled = (name: string) =>
    kernels.ruled?.(name) ?? { name, otherNames: [], roots: kernels.rootsOf?.(name) ?? [] }
  const calls = openCalls({
    version: 'test',
    approvals: openFollowed(openApprovals, { clock, wallClock: Date.now, expiryMs: 60_000, journal }),
    files: NO_FILES,
    leases: new Leases(journal),
    texts: openTexts({ stateDir, log }),
    sources: NO_SOURCES,
    clock,
    patienceMs: 60_000,
    lookMs: 5_000,
    journal,
    log,
    ...rest,
    kernels: {
      resolve: wanted => kernels.resolve(wanted),
      living: wanted => kernels.living?.(wanted),
      group: async (group, wanted) => (await kernels.group?.(group, wanted)) ?? [],
      membersOf: (group, root) => kernels.membersOf?.(group, root) ?? [],
      meant: wanted =>
        kernels.meant?.(wanted) ?? (wanted.name === undefined ? undefined : ruled(wanted.name)),
      ruled,
      withholds: name => kernels.withholds?.(name) === true,
      stopped: () => null,
      isReloaded: () => false,
      ruledAs: ({ name, cwd }) => ({ name, otherNames: [], roots: [cwd] }),
      areSeveral: wanted => kernels.areSeveral?.(wanted) === true,
      lasts: key => kernels.lasts?.(key) === true,
      keyOf: name => kernels.keyOf?.(name) ?? name,
      rootsOf: name => kernels.rootsOf?.(name) ?? [],
      attachable: (name, root) =>
        kernels.attachable?.(name, root) ?? { name: null, otherNames: [], roots: [], elsewhere: false },
      besides: than => kernels.besides?.(than) ?? [],
      project: async (root, chosen) =>
        (await kernels.project?.(root, chosen)) ?? { kernels: [], searched: '' },
      choose: (name, how) =>
        kernels.choose?.(name, how) ?? Promise.reject(new Error('there are no programs')),
      mayBeLoading: name => kernels.mayBeLoading?.(name) === true,
      runningScript: name => kernels.runningScript?.(name) ?? null,
    } as Partial<Kernels> as Kernels,
  })
  const run: Calls['run'] = async request =>
    asSaid(request.tool, await calls.run(request), given.registry.find(request.tool))
  return { ...calls, run }
}
