import { NodeProp, type SyntaxNode, type Tree } from '@lezer/common'
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight'
import { parser } from '@lezer/python'
import { type Look, looking, plain, restyled, type Span } from './style.ts'

/** Longer text is shown without colours: it is data, not something that a person reads. */
const MOST = 50_000

const HIGHLIGHTER = tagHighlighter([
  { tag: tags.comment, class: 'comment' },
  { tag: [tags.string, tags.special(tags.string), tags.character], class: 'text' },
  { tag: [tags.number, tags.bool, tags.null], class: 'number' },
  {
    tag: [
      tags.keyword,
      tags.operatorKeyword,
      tags.controlKeyword,
      tags.definitionKeyword,
      tags.moduleKeyword,
    ],
    class: 'keyword',
  },
  {
    tag: [tags.definition(tags.className), tags.className, tags.function(tags.definition(tags.variableName))],
    class: 'definition',
  },
  { tag: tags.meta, class: 'decorator' },
])

/** What Python calls by name and everybody knows. */
const BUILTINS = new Set(
  (
    'abs all any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir ' +
    'divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help hex id input int ' +
    'isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print property ' +
    'range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip'
  ).split(' '),
)
const CONSTANTS = new Set(['None', 'True', 'False', 'Ellipsis', 'NotImplemented'])

/** Python, coloured. */
export function highlight(text: string): Span[] {
  if (text.length > MOST) return [plain(text)]
  return spansOf(text, parsed(text))
}

/** The same, and the bracket at the cursor with its other half. */
export function highlightAt(text: string, cursor: number): Span[] {
  if (text.length > MOST) return [plain(text)]
  const tree = parsed(text)
  return bracketsAt(tree, cursor).reduce(
    (spans, from) => restyled(spans, { from, to: from + 1, look: 'bracket' }),
    spansOf(text, tree),
  )
}

let last: { readonly text: string; readonly tree: Tree } | undefined

function parsed(text: string): Tree {
  if (last?.text !== text) last = { text, tree: parser.parse(text) }
  return last.tree
}

function spansOf(text: string, tree: Tree): Span[] {
  const spans: Span[] = []
  let at = 0
  const upTo = (to: number) => {
    if (to > at) spans.push(...words(text.slice(at, to)))
    at = to
  }
  highlightTree(tree, HIGHLIGHTER, (from, to, name) => {
    upTo(from)
    const piece = text.slice(from, to)
    spans.push(looking(lookOf(piece, name as Look), piece))
    at = to
  })
  upTo(text.length)
  return spans
}

/** The grammar knows constants as words of the language, and `print` as the statement that it once was. */
function lookOf(piece: string, look: Look): Look {
  if (CONSTANTS.has(piece)) return 'number'
  return look === 'keyword' && piece === 'print' ? 'builtin' : look
}

/** What no rule has coloured: names, among them those that are built in. */
function words(text: string): Span[] {
  return text
    .split(/((?<![\p{L}\p{N}_.])[A-Za-z]+(?![\p{L}\p{N}_]))/u)
    .filter(piece => piece !== '')
    .map(piece => (BUILTINS.has(piece) ? looking('builtin', piece) : plain(piece)))
}

/** Where the bracket before or under the cursor stands, and its other half. */
function bracketsAt(tree: Tree, cursor: number): number[] {
  for (const at of [cursor - 1, cursor]) {
    if (at < 0) continue
    const node = tree.resolveInner(at, 1)
    if (node.from !== at || node.to !== at + 1) continue
    const other = otherHalf(node)
    if (other !== undefined) return [at, other.from]
  }
  return []
}

function otherHalf(node: SyntaxNode): SyntaxNode | undefined {
  const closers = node.type.prop(NodeProp.closedBy)
  const openers = node.type.prop(NodeProp.openedBy)
  const names = closers ?? openers
  if (names === undefined) return undefined
  const step = (from: SyntaxNode) => (closers === undefined ? from.prevSibling : from.nextSibling)
  for (let sibling = step(node); sibling !== null; sibling = step(sibling))
    if (names.includes(sibling.name)) return sibling
  return undefined
}

const PLACE = /^(\s*File )("[^"\n]*")(, line )(\d+)(, in )?(.*)$/
const MARKERS = /^[\s~^]*[\^~][\s~^]*$/
const RAISED = /^([A-Za-z_][\w.]*)(: .*)?$/

/** A report of what was raised: places, code, and what it says. `margin` stands before each line that is not empty. */
export function highlightTraceback(report: string, margin = ''): Span[] {
  let inMessage = false
  return report.split('\n').flatMap((line, index) => {
    const before = `${index === 0 ? '' : '\n'}${line === '' ? '' : margin}`
    const end = before === '' ? [] : [plain(before)]
    const place = PLACE.exec(line)
    if (place !== null) {
      const [, file = '', path = '', at = '', number = '', within = '', name = ''] = place
      inMessage = false
      return [
        ...end,
        plain(file),
        looking('place', path),
        plain(at),
        looking('number', number),
        plain(within),
        looking('definition', name),
      ]
    }
    if (MARKERS.test(line)) return [...end, looking('failure', line)]
    if (/^\s/.test(line) && !inMessage) return [...end, ...highlight(line)]
    const raised = inMessage ? null : RAISED.exec(line)
    if (raised === null || line.startsWith('Traceback')) return [...end, plain(line)]
    inMessage = true
    return [...end, looking('failure', raised[1] ?? ''), plain(raised[2] ?? '')]
  })
}
