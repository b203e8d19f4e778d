import { z } from 'zod'
import { TOOLS } from '../../tools/index.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('paths of tools')

/** Texts that speak of files and name none that a tool opens; each with why a rule about a path leaves it alone. */
const NO_FILE: Readonly<Record<string, string>> = {
  'eval_expr.file': 'whose names are meant: the image finds its module; of a Lisp file the package is read',
  'inspect.file': 'the same',
  'complete.file': 'the same',
  'symbol_definition.file': 'the same',
  'compile_form.file': 'a label for tracebacks: nothing is opened',
  'load_system.force': 'yes or no',
  'directory_tree.exclude_patterns': 'globs, for names that are met: each real path is judged by itself',
  'search_files.pattern': 'a glob, as the one before',
  'search_files.exclude_patterns': 'globs, as the ones before',
  'edit_file.old_str': 'text of the file',
  'insert_at_line.line': 'a number',
  'write_file.new': 'a yes or no',
  'insert_at_line.expected': 'text of the file',
}

test('every parameter that is a text and speaks of a file or a path says how the gate judges it', () => {
  const seen = new Set<string>()
  for (const tool of TOOLS) {
    const declared = new Set(tool.paths.map(({ name }) => name))
    const { properties = {} } = z.toJSONSchema(tool.parameters, { io: 'input' })
    for (const [name, property] of Object.entries(properties)) {
      const { description = '' } = property as { description?: string }
      if (!/\b(file|folder|director|relative path)|^path/i.test(`${name} ${description}`)) continue
      const key = `${tool.name}.${name}`
      seen.add(key)
      assert.is(declared.has(name) || key in NO_FILE, true, `${key}: ${description}`)
      assert.not.ok(declared.has(name) && key in NO_FILE, key)
    }
  }
  assert.equal(
    Object.keys(NO_FILE).filter(key => !seen.has(key)),
    [],
  )
})

test('what the daemon itself opens is confined to the project; what the image opens is judged wherever it is', () => {
  const named = TOOLS.flatMap(({ name, paths }) => paths.map(path => [name, path.name, path.confined]))
  assert.equal(named, [
    ['load_file', 'path', false],
    ['list_directory', 'path', true],
    ['directory_tree', 'path', true],
    ['search_files', 'path', true],
    ['get_file_info', 'path', true],
    ['read_file', 'path', true],
    ['read_buffer', 'path', true],
    ['search_in_buffer', 'path', true],
    ['edit_file', 'path', true],
    ['propose_file_edit', 'edits', true],
    ['insert_at_line', 'path', true],
    ['write_file', 'path', true],
    ['move_file', 'source', true],
    ['move_file', 'destination', true],
    ['delete_file', 'path', true],
  ])
})
