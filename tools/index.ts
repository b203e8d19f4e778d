import { getLastError, getReplHistory } from './activity.ts'
import { whoCalls } from './callers.ts'
import { classHierarchy, classSlots } from './classes.ts'
import { compileForm } from './compile.ts'
import { complete } from './complete.ts'
import { createFile } from './create.ts'
import { debugEval, debugRestart } from './debug-act.ts'
import { debugFrame, debugState } from './debug-look.ts'
import type { Tool } from './define.ts'
import { symbolDefinition } from './definition.ts'
import { deleteFile } from './delete.ts'
import { editFile } from './edit.ts'
import { evalExpr } from './evaluate.ts'
import { macroexpandForm } from './expand.ts'
import { getFileInfo, getProjectRoot } from './file-info.ts'
import { readFile } from './files.ts'
import { listDirectory } from './folders.ts'
import { listGlobals } from './globals.ts'
import { insertAtLine } from './insert.ts'
import { inspect } from './inspect.ts'
import { job } from './job.ts'
import { loadFile, reload } from './load.ts'
import { readMore } from './more.ts'
import { moveFile } from './move.ts'
import { describeSymbol, functionArglist } from './names.ts'
import { proposeFileEdit } from './propose.ts'
import { whoReferences } from './references.ts'
import { runTests } from './run-tests.ts'
import { aproposSearch, listPackageSymbols } from './search.ts'
import { searchFiles } from './search-files.ts'
import { loadSystem } from './systems.ts'
import { threads } from './threads.ts'
import { traceCalls } from './traced-calls.ts'
import { traceFunction, untraceFunction } from './tracing.ts'
import { directoryTree } from './tree.ts'
import { undoChange } from './undo.ts'
import { writeFile } from './write.ts'

/** Every tool, in the order in which models read them: look at values and names, at what runs; then run; errors; files. */
export const TOOLS: readonly Tool[] = [
  listGlobals,
  inspect,
  symbolDefinition,
  describeSymbol,
  functionArglist,
  aproposSearch,
  listPackageSymbols,
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
  getProjectRoot,
  listDirectory,
  directoryTree,
  searchFiles,
  getFileInfo,
  readFile,
  editFile,
  proposeFileEdit,
  insertAtLine,
  createFile,
  writeFile,
  moveFile,
  deleteFile,
  undoChange,
]
