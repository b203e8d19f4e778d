import type { Programs } from '../../wire/programs.ts'

/** Where nothing outside can be attached to. */
export const NO_PROGRAMS: Programs = {
  read: () => ({ programs: [], ends: [], skipped: [] }),
  folder: '',
  version: () => '',
  lives: () => false,
  isReachable: async () => false,
  homeSecret: () => ({ type: 'missing', path: '~/.slime-secret' }),
  attach: () => Promise.reject(new Error('there are no programs here')),
  rejoin: async () => 'there are no programs here',
}

export const NO_ATTACHMENTS = { read: () => ({ attached: [], names: [] }), write() {} }
