import { escapePlanLine } from './escape.ts'
import type { Plan } from './plan.ts'

/**
 * What of a kernel an approval does not bind, as a note for whoever is asked. An image is checked again by its epoch,
 * and nothing that is defined in it but what the tool brought as evidence. Nothing to say of a plan without a kernel.
 */
export function unboundIn({ kernel, epoch, evidence }: Plan): readonly string[] {
  if (kernel === null || epoch === null) return []
  const checked = evidence.map(({ what }) => escapePlanLine(what)).join(', ')
  const again = checked === '' ? 'Nothing is checked again.' : `Checked again are: ${checked}.`
  return [`What is defined in ${escapePlanLine(kernel)} may change until this runs. ${again}`]
}
