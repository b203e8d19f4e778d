/**
 * The files that take longest, begun first by `test/run.ts`, whose last lines say which they are. Any order is right; here
 * those that compute come between those that wait.
 */
export const SLOWEST: readonly string[] = [
  'peers/python-oldest.test.ts',
  'wire/swank-launch.test.ts',
  'examples.test.ts',
  'peers/python-newest.test.ts',
  'wire/swank-interrupt.test.ts',
  'front/console-approvals.test.ts',
  'wire/swank-attach.test.ts',
  'front/attach-faults.test.ts',
  'wire/kernels-ecl.test.ts',
  'wire/swank-suspended-gone.test.ts',
]
