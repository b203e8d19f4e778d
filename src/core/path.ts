import type { Envelope } from '../../tools/outcome.ts'
import { bounded, enveloped } from './answer.ts'
import type { CallRequest } from './call.ts'
import { faultOf } from './faults.ts'
import type { Flight } from './flight.ts'
import { codeOf, type PathOptions, type Refusal } from './passage.ts'
import { unknownTool } from './refusals.ts'
import { validate } from './validate.ts'
import { Walk } from './walk.ts'

/**
 * The path of one call: find, validate, level, gate, journal, run, bound, journal, answer. Each step either goes on
 * to the next or ends in an outcome; the answer never rejects.
 */
export async function walk(flight: Flight, request: CallRequest, options: PathOptions): Promise<Envelope> {
  const { registry, texts, log } = options
  const { tool: name, args = {} } = request
  const turnedAway = (tool: string, refusal: Refusal) => {
    note({ options, flight, tool, args, refusal })
    return enveloped(bounded(refusal, texts))
  }
  try {
    const tool = registry.find(name)
    if (tool === undefined) return turnedAway(name.slice(0, 128), unknownTool(name, registry))
    const checked = validate(tool, args, registry)
    if (checked.type === 'invalid') return turnedAway(tool.name, checked.refusal)
    return enveloped(await new Walk({ options, flight, tool, checked }).toItsEnd())
  } catch (error) {
    const fault = faultOf({ error, tool: name, kernel: null, level: 'safe', cancelled: false, log })
    return enveloped(bounded(fault, texts))
  }
}

/** A refusal of what did not get as far as the gate, for the journal. */
function note(o: {
  readonly options: PathOptions
  readonly flight: Flight
  readonly tool: string
  readonly args: unknown
  readonly refusal: Refusal
}): void {
  const { call, caller } = o.flight
  const nowhere = { level: null, kernel: null, epoch: null, decision: null }
  const { tool, args } = o
  const outcome = codeOf(o.refusal)
  o.options.journal.later({ type: 'refused', call, tool, ...nowhere, caller: caller.id, args, outcome })
}
