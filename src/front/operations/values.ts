import { z } from 'zod'

/** A name of something that the daemon made: a plan, a suspension, a call. */
export const key = z.string().min(1).max(128)

/** Which names a kernel can have is for the kernels to say. */
export const kernelName = z.string().max(1_024)

export const reason = z.string().max(10_000)

export const nothing = z.strictObject({})
