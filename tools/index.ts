import type { Tool } from './define.ts'
import { evalExpr } from './evaluate.ts'
import { listGlobals } from './globals.ts'
import { inspect } from './inspect.ts'
import { job } from './job.ts'
import { readMore } from './more.ts'

/** Every tool, in the order in which models read them: look first, then run. */
export const TOOLS: readonly Tool[] = [listGlobals, inspect, evalExpr, readMore, job]
