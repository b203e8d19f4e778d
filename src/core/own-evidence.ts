import type { Evidence } from '../../tools/proposal.ts'
import { toolMoved } from './effect.ts'
import type { Passage } from './passage.ts'
import { sha256 } from './sha256.ts'

/** Any plan stands on its tool, of that hash, and on the image that it is for: they are watched like files. */
export function ownEvidence(passage: Passage, toolHash: string): Evidence[] {
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
