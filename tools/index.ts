import { getLastError, getReplHistory, threads } from './activity.ts'
import { readBuffer, searchInBuffer } from './buffers.ts'
import { compileForm, macroexpandForm } from './compile.ts'
import { debugEval, debugRestart } from './debug-act.ts'
import { debugFrame, debugState } from './debug-look.ts'
import type { Tool } from './define.ts'
import { symbolDefinition } from './definition.ts'
import { editFile } from './edit.ts'
import { evalExpr } from './evaluate.ts'
import { getFileInfo, getProjectRoot, readFile } from './files.ts'
import { directoryTree, listDirectory } from './folders.ts'
import { classHierarchy, classSlots, inspect, readMore } from './inspect.ts'
import { interruptJob, job } from './job.ts'
import { attach, kernels } from './kernels.ts'
import { loadFile, loadSystem, reload, runTests } from './load.ts'
import { deleteFile, moveFile } from './move.ts'
import { aproposSearch, complete, listGlobals } from './names.ts'
import { ownToolAmong, permissionPromptBeside } from './permission.ts'
import { proposeFileEdit } from './propose.ts'
import { whoCalls, whoReferences } from './references.ts'
import { searchFiles } from './search-files.ts'
import { traceCalls, traceFunction, untraceFunction } from './tracing.ts'
import { undoChange } from './undo.ts'
import { insertAtLine, writeFile } from './write.ts'

/** In the order in which models read them: look at values and names, at what runs; then run; errors; files. */
const FOR_MODELS: readonly Tool[] = [
  kernels,
  attach,
  listGlobals,
  inspect,
  symbolDefinition,
  aproposSearch,
  classSlots,
  classHierarchy,
  whoCalls,
  whoReferences,
  threads,
  getLastError,
  getReplHistory,
  complete,
  evalExpr,
  compileForm,
  macroexpandForm,
  loadFile,
  reload,
  loadSystem,
  runTests,
  debugState,
  debugFrame,
  debugEval,
  debugRestart,
  traceFunction,
  traceCalls,
  untraceFunction,
  readMore,
  job,
  interruptJob,
  getProjectRoot,
  listDirectory,
  directoryTree,
  searchFiles,
  getFileInfo,
  readFile,
  readBuffer,
  searchInBuffer,
  editFile,
  proposeFileEdit,
  insertAtLine,
  writeFile,
  moveFile,
  deleteFile,
  undoChange,
]

const NAMES = new Set(FOR_MODELS.map(({ name }) => name))

export const permissionPrompt = permissionPromptBeside(NAMES)

/** Every tool. */
export const TOOLS: readonly Tool[] = [...FOR_MODELS, permissionPrompt]

/** The tool of ours that Claude Code names so; undefined for any other. */
export const ownTool = (name: string): string | undefined => ownToolAmong(NAMES, name)
