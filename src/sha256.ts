import { createHash } from 'node:crypto'

/** 64 hex digits; a text counts as its UTF-8. */
export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
