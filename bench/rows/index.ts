import type { Row } from '../row.ts'
import { askingCost, manyPlans } from './asking.ts'
import { attachedLatency, attachedMemory } from './attached.ts'
import { errorToAnswer, framesPaged } from './debugger.ts'
import { unifiedLines } from './diffs.ts'
import { evaluateAgainstHop, evaluateAgainstJupyter, pipelined } from './evaluate.ts'
import { replyOfLists, replyOfText } from './expressions.ts'
import { floodLatency, floodMemory } from './flood.ts'
import { admissionCost, admissionScale, framesLinear } from './inside.ts'
import { journalOpen, journalSync } from './journal.ts'
import { lispAttachAgain, lispEvaluation, lispIdle, lispLooks } from './lisp.ts'
import { globalsMany, inspectSize } from './looking.ts'
import { clientMemory, commandCost, idleMemory, mcpStart } from './processes.ts'
import { readBesideKept } from './reading.ts'
import { searchMany } from './searching.ts'
import { slimeIdle, slimeLooking } from './slime.ts'
import { tracepointCost } from './tracepoints.ts'
import { completion, threadsMany } from './vocabulary.ts'
import { firstFrame, scrollStep } from './watching.ts'

/** Every row of the table, in the order of the design's section 8. Rows that share a set-up stand together. */
export const ROWS: readonly Row[] = [
  evaluateAgainstHop,
  evaluateAgainstJupyter,
  pipelined,
  inspectSize,
  globalsMany,
  completion,
  threadsMany,
  floodMemory,
  floodLatency,
  framesLinear,
  replyOfText,
  replyOfLists,
  admissionCost,
  admissionScale,
  mcpStart,
  commandCost,
  idleMemory,
  clientMemory,
  journalOpen,
  journalSync,
  readBesideKept,
  searchMany,
  askingCost,
  manyPlans,
  unifiedLines,
  firstFrame,
  scrollStep,
  attachedLatency,
  attachedMemory,
  lispEvaluation,
  lispAttachAgain,
  lispLooks,
  lispIdle,
  errorToAnswer,
  framesPaged,
  slimeIdle,
  slimeLooking,
  tracepointCost,
]
