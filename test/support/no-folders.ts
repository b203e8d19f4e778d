import type { FolderLooks } from '../../tools/contract.ts'
import { failed } from '../../tools/outcome.ts'

const none = async () => failed('not_found', { message: 'These files of a test are in no folders.' })

/** For files of a test that are looked at one by one. */
export const NO_FOLDERS: FolderLooks = { roots: none, list: none, walk: none, info: none }
