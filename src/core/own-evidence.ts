import type { Level } from '../../tools/define.ts'
import type { Evidence, PlanImage, Proposal } from '../../tools/proposal.ts'
import { type Context, ContextOnKernel } from './context.ts'
import { toolMoved } from './effect.ts'
import { freeze, toolHash } from './freezing.ts'
import type { Arguments, Passage } from './passage.ts'
import { originOf } from './pauses.ts'
import type { Plan } from './plan.ts'
import { sha256 } from './sha256.ts'

/** What its tool proposes for a call, as a plan. */
export function planOf(
  passage: Passage,
  { args, level, proposal }: { readonly args: Arguments; readonly level: Level; readonly proposal: Proposal },
): Plan {
  const { flight, tool, place, options } = passage
  const { caller } = flight
  const hash = toolHash(tool, options.version)
  return freeze({
    call: flight.call,
    tool: tool.name,
    level,
    toolHash: hash,
    args,
    kernel: passage.kernelName,
    epoch: place?.kernel.identity.epoch ?? null,
    root: caller.root,
    who: caller.who,
    caller: caller.id,
    origin: originOf(caller),
    proposal: { ...proposal, evidence: [...proposal.evidence, ...ownEvidence(passage, hash)] },
  })
}

/** The image that a tool may look at to work a call out. */
export function imageOf(context: Context): PlanImage | undefined {
  if (!(context instanceof ContextOnKernel)) return undefined
  const { kernel, kernelName, leases, lookMs, signal, jobs, others } = context
  const seen: PlanImage['seen'] = ({ what, text, moved }) => ({ what, hash: sha256(text), moved })
  return { kernel, kernelName, leases, lookMs, signal, jobs, others, seen }
}

/** Any plan stands on its tool, of that hash, and on the image that it is for: they are watched like files. */
function ownEvidence(passage: Passage, toolHash: string): Evidence[] {
  const { tool, place } = passage
  const own: Evidence[] = [
    { what: `the tool ${tool.name}`, hash: toolHash, moved: async () => toolMoved(passage, { toolHash }) },
  ]
  if (place !== undefined)
    own.push({
      what: `the image of ${place.name}`,
      hash: sha256(place.kernel.identity.epoch),
      moved: async () => passage.imageMoved(),
    })
  return own
}
