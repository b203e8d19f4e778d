import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { z } from 'zod'
import { envelopeOf } from '../../src/front/description.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import type { Tool } from '../../tools/define.ts'
import { isGroupAnswer } from '../../tools/group.ts'
import { TOOLS } from '../../tools/index.ts'
import type { Envelope, Outcome } from '../../tools/outcome.ts'
import { isRecord } from '../../tools/record.ts'

const REGISTRY = openRegistry(TOOLS)

const ajv = new Ajv2020({ strict: false })
const checks = new WeakMap<Tool, ValidateFunction>()

/** Of objects, all fields have to be named, too. */
function checkOf(tool: Tool): ValidateFunction {
  const known = checks.get(tool)
  if (known !== undefined) return known
  const schema = z.toJSONSchema(envelopeOf(tool.result), { io: 'output', unrepresentable: 'any' })
  const check = ajv.compile(schema)
  checks.set(tool, check)
  return check
}

/** The mark of a list or a text that the call path has cut. */
const CUT = /… \[[\d,]+ (?:more|characters cut here)/

/**
 * The answer of that tool, which is known to be what its definition says. Throws where it is not: where a field is
 * missing or is none that is named. What a tool answers that is none of ours is not looked at.
 */
export function asSaid<Answer extends Envelope>(
  name: string,
  answer: Answer,
  tool: Tool | undefined = REGISTRY.find(name),
): Answer {
  if (tool === undefined) return answer
  const envelope = JSON.parse(JSON.stringify(answer)) as Envelope
  const { result } = envelope.ok ? envelope : { result: undefined }
  if (isGroupAnswer(result)) {
    for (const { kernel: _, ...member } of result.members) asSaid(name, member as Envelope, tool)
    return answer
  }
  if (isRecord(result) && result.truncated === true && CUT.test(JSON.stringify(result))) return answer
  if (tool.name === 'job' && isRecord(result) && result.status === 'done') {
    const { status: _, job: __, tool: of, ...done } = result
    asSaid(String(of), { ok: true, result: done })
  }
  const check = checkOf(tool)
  if (check(envelope)) return answer
  const faults = check.errors?.map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
  throw new Error(
    `${tool.name} answers otherwise than it says:\n${faults?.join('\n')}\n${JSON.stringify(envelope, null, 1)}`,
  )
}

/** The same of an outcome. */
export function outcomeAsSaid(tool: Tool, outcome: Outcome): Outcome {
  if (outcome.type === 'ok') asSaid(tool.name, { ok: true, result: outcome.result }, tool)
  return outcome
}
