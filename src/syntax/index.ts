// What `imago/syntax` exports: calls as text, for a program that hosts a model.

export { TOOLS } from '../../tools/index.ts'
export { openRegistry, type Registry } from '../registry/registry.ts'
export {
  type Call,
  type Piece,
  type Reader,
  SYNTAX_NAMES,
  type SyntaxName,
  type TextSyntax,
} from './syntax.ts'
export { documentation, parse, renderResult, SYNTAXES } from './syntaxes.ts'
