import type { Leases } from '../../tools/define.ts'

/** Where nobody is shown a debugger: errors end evaluations. */
export const NO_LEASES: Leases = { leaseMs: null, hold: () => {}, holderOf: () => ({ type: 'anyone' }) }
