import { z } from 'zod'
import { theirs } from '../../../wire/kernel.ts'
import { SUSPENDED_ROW } from '../../suspensions/rows.ts'
import { operation } from './operation.ts'
import { kernelName, key } from './values.ts'

/** A person may keep a stack for an hour without looking at it, and no longer. Milliseconds. */
const leaseMs = z.int().min(1_000).max(3_600_000)

const suspensionNamed = z.strictObject({
  kernel: kernelName,
  suspension: key,
  lease_ms: leaseMs.exactOptional(),
})

/** Operations on suspended evaluations. */
export const SUSPENSION_OPERATIONS = {
  suspensions: operation({
    does: 'Lists the suspended evaluations of all kernels.',
    result: z.strictObject({ suspensions: z.array(SUSPENDED_ROW) }),
    level: 'safe',
  }),
  take: operation({
    does: 'Makes this connection the owner of a suspended evaluation, and of those that are on the same evaluation. The lease is 30 minutes, unless said otherwise.',
    params: suspensionNamed,
    result: SUSPENDED_ROW,
    act: ({ suspension }: z.infer<typeof suspensionNamed>) => `take over ${suspension}`,
    level: 'cautious',
    topics: ['suspensions'],
  }),
  hand: operation({
    does: 'Puts a suspended evaluation before the agents of its project. The lease is 10 minutes, unless said otherwise.',
    params: suspensionNamed,
    result: SUSPENDED_ROW,
    act: ({ suspension }: z.infer<typeof suspensionNamed>) => `hand over ${suspension}`,
    level: 'cautious',
    topics: ['suspensions'],
  }),
  theirs: operation({
    does: 'Lists the errors that wait in debuggers of the person, such as that of SLIME, or `sys.last_exc`.',
    params: z.strictObject({ kernel: kernelName }),
    result: theirs,
    act: ({ kernel }: { readonly kernel: string }) => `see the errors in your own debuggers of ${kernel}`,
    level: 'safe',
  }),
  adopt: operation({
    does: 'Makes one of those errors a suspended evaluation, and puts it before the agents of its project.',
    params: z.strictObject({ kernel: kernelName, id: key, lease_ms: leaseMs.exactOptional() }),
    result: SUSPENDED_ROW,
    act: ({ kernel }: { readonly kernel: string }) => `put an error of your own in ${kernel} before others`,
    level: 'cautious',
    topics: ['suspensions'],
  }),
} as const
