/**
 * The files that take longest, begun first by `test/run.ts`, whose last lines say which they are. Any order is right; here
 * those that compute come between those that wait.
 */
export const SLOWEST: readonly string[] = [
  'peers/cpython-3.9.test.ts',
  'wire/swank-launch.test.ts',
  'examples.test.ts',
  'peers/cpython-3.13.test.ts',
  'wire/swank-interrupt.test.ts',
  'front/console-approvals.test.ts',
  'peers/python3.test.ts',
  'wire/swank-attach.test.ts',
  'front/attach-faults.test.ts',
  'peers/cpython-3.10.test.ts',
  'wire/kernels-ecl.test.ts',
  'wire/swank-suspended-gone.test.ts',
  'peers/cpython-3.12.test.ts',
]
