import type { KernelsOptions } from '../../src/kernels/contract.ts'
import { type Kernels, openKernels as open } from '../../src/kernels/kernels.ts'
import { NO_ATTACHMENTS, NO_PROGRAMS } from './no-programs.ts'

type Outside = 'programs' | 'attachments'

/** Kernels; left out: nothing outside can be attached to, and nothing was. */
export const openKernels = (
  options: Omit<KernelsOptions, Outside> & Partial<Pick<KernelsOptions, Outside>>,
): Kernels => open({ programs: NO_PROGRAMS, attachments: NO_ATTACHMENTS, ...options })
