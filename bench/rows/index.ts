import type { Row } from '../row.ts'
import { agentResume, agentStep } from './agent.ts'
import { askingCost, manyPlans } from './asking.ts'
import { attachedLatency, attachedMemory } from './attached.ts'
import { crowd, largeResults } from './bounds.ts'
import { errorToAnswer, framesPaged } from './debugger.ts'
import { unifiedLines } from './diffs.ts'
import { emacsPlan, emacsStart } from './emacs.ts'
import { crashKept, errorsMany, errorsUnseen } from './errors.ts'
import { depths, evaluateAgainstHop, evaluateAgainstJupyter, evaluateTime, pipelined } from './evaluate.ts'
import { replyOfLists, replyOfText } from './expressions.ts'
import { floodLatency, floodMemory } from './flood.ts'
import { successorAnswers } from './following.ts'
import { heldStart } from './held.ts'
import { admissionCost, admissionScale, framesLinear } from './inside.ts'
import { journalOpen, journalSync } from './journal.ts'
import { lispAttachAgain, lispEvaluation, lispIdle, lispLooks } from './lisp.ts'
import { globalsMany, inspectSize } from './looking.ts'
import { errorToDiagnostic, lspCompletion, lspCompletionWorst } from './lsp.ts'
import { mcpListed } from './mcp.ts'
import { neovimPlan, neovimStart } from './neovim.ts'
import { pageChanges, pageDiff, pageOpens, pageWeight } from './page.ts'
import { clientMemory, commandCost, doctorTime, idleMemory, lspStart, mcpStart } from './processes.ts'
import { readBesideKept } from './reading.ts'
import { searchMany } from './searching.ts'
import { slimeIdle, slimeLooking } from './slime.ts'
import { proofCached, proofFirst } from './sources.ts'
import { changeToFollowers, followerMemory } from './subscribing.ts'
import { emojiText, hermesText, pythonicText, textsLinear } from './syntaxes.ts'
import { commonTokens, profileTokens, tableTokens, threadsTokens } from './tokens.ts'
import { tracepointCost } from './tracepoints.ts'
import { completion, threadsMany } from './vocabulary.ts'
import { vscodePlan, vscodeStart } from './vscode.ts'
import { firstFrame, scrollStep } from './watching.ts'
import { webMemory, webOperation } from './web.ts'
import { errorToRun } from './woken.ts'
import {
  wolframAbort,
  wolframBuiltins,
  wolframColdStart,
  wolframDepths,
  wolframEvaluation,
  wolframLooks,
  wolframStart,
} from './wolfram.ts'

/** Every row of the table, in the order of the design's section 8. Rows that share a set-up stand together. */
export const ROWS: readonly Row[] = [
  evaluateTime,
  evaluateAgainstHop,
  evaluateAgainstJupyter,
  pipelined,
  depths,
  inspectSize,
  globalsMany,
  proofFirst,
  proofCached,
  completion,
  threadsMany,
  tableTokens,
  threadsTokens,
  profileTokens,
  commonTokens,
  floodMemory,
  floodLatency,
  framesLinear,
  replyOfText,
  replyOfLists,
  emojiText,
  hermesText,
  pythonicText,
  textsLinear,
  agentStep,
  agentResume,
  heldStart,
  errorToRun,
  admissionCost,
  admissionScale,
  mcpStart,
  mcpListed,
  lspStart,
  lspCompletion,
  lspCompletionWorst,
  errorToDiagnostic,
  commandCost,
  doctorTime,
  idleMemory,
  clientMemory,
  webOperation,
  webMemory,
  followerMemory,
  changeToFollowers,
  pageOpens,
  pageWeight,
  pageDiff,
  pageChanges,
  largeResults,
  crowd,
  journalOpen,
  journalSync,
  readBesideKept,
  searchMany,
  askingCost,
  manyPlans,
  unifiedLines,
  emacsPlan,
  emacsStart,
  firstFrame,
  scrollStep,
  neovimStart,
  neovimPlan,
  attachedLatency,
  attachedMemory,
  errorsUnseen,
  errorsMany,
  crashKept,
  successorAnswers,
  lispEvaluation,
  lispAttachAgain,
  lispLooks,
  lispIdle,
  errorToAnswer,
  framesPaged,
  slimeIdle,
  slimeLooking,
  tracepointCost,
  wolframEvaluation,
  wolframDepths,
  wolframLooks,
  wolframAbort,
  wolframBuiltins,
  wolframStart,
  wolframColdStart,
  vscodeStart,
  vscodePlan,
]
