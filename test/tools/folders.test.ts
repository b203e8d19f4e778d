import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { ToolContext } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { getFileInfo } from '../../tools/files.ts'
import { directoryTree, listDirectory } from '../../tools/folders.ts'
import type { Outcome } from '../../tools/outcome.ts'
import {
  type Found,
  type FoundLine,
  openMatcher,
  type SearchResult,
  scan,
  searchFiles,
} from '../../tools/search-files.ts'
import { FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { context, errorOf, handled, resultOf } from './context.ts'

const test = suite('folder tools and search_files')

let rig: FilesRig

test.before.each(() => {
  rig = new FilesRig()
})

test.after.each(() => rig.close())

/** As the call path runs it, with a minute for a look unless another time is given. */
function run(tool: Tool, args: object, more: Partial<ToolContext> = {}): Promise<Outcome> {
  const checked = tool.parameters.parse(tool.renamed({ ...args })) as Record<string, unknown>
  return handled(tool, checked, { ...context(), files: rig.files.of(rig.root), lookMs: 60_000, ...more })
}

const AT = new Date('2026-11-20T09:12:30.000Z')

function put(path: string, text: string | Uint8Array = 'x'): void {
  rig.put(path, text)
  utimesSync(rig.at(path), AT, AT)
}

test('a folder is listed with kinds, sizes and times, and what is left out is counted', async () => {
  put('.gitignore', '*.log\n')
  put('a.py', 'x'.repeat(1_234))
  put('b.log')
  mkdirSync(rig.at('src'))
  utimesSync(rig.at('src'), AT, AT)
  symlinkSync('a.py', rig.at('link'))
  const result = resultOf(await run(listDirectory, {}))
  const { entries, ...rest } = result
  const link = (entries as { name: string }[]).find(({ name }) => name === 'link')
  assert.equal(rest, {
    path: '.',
    total: 5,
    left_out: { ignored: 1 },
    truncated: false,
    next: null,
    notes: [],
  })
  assert.equal(
    (entries as { name: string }[]).filter(entry => entry !== link),
    [
      { name: '.gitignore', kind: 'file', bytes: 6, modified: AT.toISOString() },
      { name: 'a.py', kind: 'file', bytes: 1_234, modified: AT.toISOString() },
      { name: 'src', kind: 'folder', modified: AT.toISOString() },
    ],
  )
  const lines = listDirectory.show(result).split('\n')
  assert.is(lines[0], '.: 4 of 5 names; left out: 1 ignored (include_ignored shows them)')
  assert.ok(lines.includes('        1,234  2026-11-20 09:12  a.py'))
  assert.ok(lines.includes('            -  2026-11-20 09:12  src/'))
  assert.ok(lines.some(line => line.endsWith('  link -> a.py')))
})

test('a page says how the next one is asked for, and hidden and ignored names come when asked for', async () => {
  for (const name of ['.env', 'a', 'b', 'c']) put(name)
  put('.gitignore', 'b')
  const first = resultOf(await run(listDirectory, { limit: 2, show_hidden: false }))
  assert.equal([first.next, first.truncated, first.left_out], [null, false, { hidden: 2, ignored: 1 }])
  const page = resultOf(await run(listDirectory, { limit: 2, include_ignored: true }))
  assert.equal([page.next, page.truncated], [{ after: '.gitignore' }, true])
  assert.match(listDirectory.show(page), '2 of 5 names; for more: after ".gitignore"')
  const rest = resultOf(await run(listDirectory, { after: '.gitignore', include_ignored: true }))
  assert.match(listDirectory.show(rest), /a\n.* b \(ignored\)\n.* c$/)
})

test('names that would break a line or cannot be read are shown so that one stays one line', async () => {
  put('two\nlines')
  writeFileSync(Buffer.concat([Buffer.from(`${rig.root}/`), Buffer.from([0xff])]), '')
  const text = listDirectory.show(resultOf(await run(listDirectory, {})))
  assert.is(text.split('\n').length, 3)
  assert.match(text, 'two\\nlines')
  assert.match(text, '\ufffd (not UTF-8, cannot be named)')
})

test('a tree is drawn with sizes, near things first, and says what is not opened', async () => {
  put('a/b/c/d', 'x')
  put('a/z', 'x'.repeat(1_500))
  put('node_modules/big/index.js')
  put('.gitignore', 'node_modules/\n')
  const result = resultOf(await run(directoryTree, { depth: 2 }))
  assert.is(
    directoryTree.show(result),
    [
      '.: 4 entries; left out: 1 ignored (include_ignored shows them)',
      '├── .gitignore  14 B',
      '└── a/',
      '    ├── b/  …',
      '    └── z  1.5 kB',
    ].join('\n'),
  )
  assert.is(result.truncated, true)
  const whole = resultOf(await run(directoryTree, { path: 'a', depth: 9, exclude_patterns: ['/b/c'] }))
  assert.equal([whole.truncated, whole.left_out], [false, { excluded: 1 }])
})

test('a large folder does not take the place of all others in a tree', async () => {
  for (let index = 0; index < 200; index++) put(`big/f${String(index).padStart(3, '0')}`)
  put('small/x')
  const result = resultOf(await run(directoryTree, {}))
  const text = directoryTree.show(result)
  assert.match(text, '│   └── … 140 more\n└── small/\n    └── x  1 B')
  const few = resultOf(await run(directoryTree, { limit: 2 }))
  assert.match(directoryTree.show(few), '├── big/  … (not opened: limit)\n└── small/  … (not opened: limit)')
  assert.is(few.truncated, true)
})

test('a tree of links that lead round, out of the project, or to a pipe ends (threat 23)', async () => {
  put('a/x')
  symlinkSync('..', rig.at('a/up'))
  symlinkSync(rig.outside, rig.at('out'))
  execFileSync('mkfifo', [rig.at('pipe')])
  const text = directoryTree.show(resultOf(await run(directoryTree, { depth: 16 })))
  assert.is(
    text,
    [
      '.: 5 entries',
      '├── a/',
      '│   ├── up -> ..',
      '│   └── x  1 B',
      `├── out -> ${rig.outside}`,
      '└── pipe (pipe)',
    ].join('\n'),
  )
})

test('a folder that cannot be looked into is refused with what to do instead', async () => {
  put('a')
  const file = errorOf(await run(listDirectory, { path: 'a' }))
  assert.equal([file.code, file.details.reason], ['path_refused', 'not_a_folder'])
  assert.match(file.message, 'get_file_info')
  assert.is(errorOf(await run(directoryTree, { path: 'no/such' })).code, 'not_found')
  assert.is(errorOf(await run(listDirectory, { path: join(rig.outside) })).code, 'path_refused')
  const glob = errorOf(await run(directoryTree, { exclude_patterns: ['{a,b}'.repeat(9)] }))
  assert.equal([glob.code, glob.details.glob], ['invalid_args', '{a,b}'.repeat(9)])
})

test('one file is told about without its content', async () => {
  put('.gitignore', 'a.txt\n')
  rig.put('a.txt', Buffer.from('\ufeffgr\u00fc\u00dfe\n', 'utf16le'))
  utimesSync(rig.at('a.txt'), AT, AT)
  const result = resultOf(await run(getFileInfo, { path: 'a.txt' }))
  assert.is(
    getFileInfo.show(result),
    [
      'a.txt: file; 14 bytes; UTF-16 (little-endian); 1 line; lines end with LF; mode 644; changed 2026-11-20 09:12 UTC',
      'ignored: .gitignore:1: a.txt',
    ].join('\n'),
  )
  assert.equal([result.real_path, result.editable], [rig.at('a.txt'), true])
  rig.put('b', Buffer.from([0, 1]))
  assert.match(
    getFileInfo.show(resultOf(await run(getFileInfo, { path: 'b' }))),
    'not editable: it is not text',
  )
  symlinkSync('b', rig.at('link'))
  const link = resultOf(await run(getFileInfo, { path: 'link' }))
  assert.is(link.path, 'b')
  assert.match((link.notes as string[]).join(), 'reached through a link')
})

const search = async (args: object, more = {}) =>
  resultOf(await run(searchFiles, args, more)) as unknown as SearchResult

const text = async (args: object) => searchFiles.show(await search(args))

const paths = ({ found }: SearchResult) => found.map(({ path }) => path)

const linesOf = ({ lines = [] }: Found) => lines.map(({ line }) => line)

test('a text is found with its lines, their numbers and the place in them', async () => {
  put('src/a.py', 'x = 1\nprice = x\nprint(price)\n')
  put('b.md', 'no\n')
  const result = await search({ text: 'price' })
  assert.equal(result, {
    path: '.',
    found: [
      {
        path: 'src/a.py',
        kind: 'file',
        bytes: 29,
        matches: 2,
        lines: [
          { line: 2, column: 1, text: 'price = x' },
          { line: 3, column: 7, text: 'print(price)' },
        ],
      },
    ],
    matches: 2,
    searched: 2,
    skipped: {},
    left_out: {},
    truncated: false,
    next: null,
    notes: [],
  })
  assert.is(
    searchFiles.show(result),
    '.: 2 lines in 1 file of 2 searched\nsrc/a.py\n  2: price = x\n  3: print(price)',
  )
  assert.is(await text({ text: 'nowhere' }), '.: not found of 2 searched')
})

test('files are found by name, and what is in a folder that was found is not named once more', async () => {
  for (const path of ['src/a.py', 'src/b.ts', 'tests/c.py', 'd.py']) put(path, 'x')
  assert.equal(paths(await search({ glob: '*.py' })), ['d.py', 'src/a.py', 'tests/c.py'])
  assert.is(await text({ pattern: '{src,tests}/' }), '.: 2 names\nsrc/\ntests/')
  assert.equal(paths(await search({ pattern: '*.py', path: 'src' })), ['src/a.py'])
  assert.equal(paths(await search({ pattern: 'src', text: 'x' })), ['src/a.py', 'src/b.ts'])
  assert.is(await text({ pattern: '*.rs' }), '.: no such name')
})

test('lines around those that were found are shown once, with a mark where some are left out', async () => {
  put('a', '1\n2 x\n3\n4 x\n5\n6\n7\n8\n9 x\n')
  assert.is(
    await text({ text: 'x', context: 1 }),
    [
      '.: 3 lines in 1 file of 1 searched',
      'a',
      '  1- 1',
      '  2: 2 x',
      '  3- 3',
      '  4: 4 x',
      '  5- 5',
      '  --',
      '  8- 8',
      '  9: 9 x',
    ].join('\n'),
  )
})

test('case and whole words are looked at as asked, in any script', async () => {
  put('a', 'Price\nprices\nprice_list\nprice.\nПРИВЕТ\n')
  const found = async (args: object) => (await search(args)).found.flatMap(linesOf)
  assert.equal(await found({ text: 'price' }), [2, 3, 4])
  assert.equal(await found({ text: 'price', ignore_case: true }), [1, 2, 3, 4])
  assert.equal(await found({ text: 'price', whole_word: true }), [4])
  assert.equal(await found({ text: 'привет', ignore_case: true, whole_word: true }), [5])
  assert.equal(await found({ text: 'e.', ignore_case: true }), [4])
  assert.equal(await found({ text: '.*', ignore_case: true }), [])
})

test('a text is found in any encoding that is read, whichever way the lines end', async () => {
  put('utf8', 'café\r\nthé\r\n')
  put('bom', '\ufeffthé')
  put('latin', Buffer.from('th\xe9', 'latin1'))
  put('utf16', Buffer.from('\ufeffun\rthé\r', 'utf16le'))
  put('binary', Buffer.from('th\xc3\xa9\0', 'latin1'))
  for (const ignore_case of [false, true]) {
    const result = await search({ text: 'thé', ignore_case })
    assert.equal(
      result.found.map(({ path, lines = [] }) => [path, lines[0]?.line, lines[0]?.text]),
      [
        ['bom', 1, 'thé'],
        ['latin', 1, 'thé'],
        ['utf16', 2, 'thé'],
        ['utf8', 2, 'thé'],
      ],
    )
    assert.equal(result.skipped, { binary: 1 })
  }
  assert.match(await text({ text: 'thé' }), 'not searched: 1 binary')
})

test('what is not searched is counted: ignored, excluded, too large, links and pipes (threat 23)', async () => {
  put('.gitignore', 'dist/\n')
  put('dist/a', 'needle')
  put('lib/b', 'needle')
  put('large', `needle\n${'x'.repeat(2 * 1024 * 1024)}`)
  writeFileSync(join(rig.outside, 'secret'), 'needle')
  symlinkSync(join(rig.outside, 'secret'), rig.at('link'))
  symlinkSync('.', rig.at('lib/loop'))
  execFileSync('mkfifo', [rig.at('pipe')])
  const result = await search({ text: 'needle', exclude_patterns: ['lib/'] })
  assert.equal(
    [paths(result), result.skipped, result.left_out],
    [[], { too_large: 1 }, { excluded: 1, ignored: 1 }],
  )
  assert.equal(paths(await search({ text: 'needle', include_ignored: true })), ['dist/a', 'lib/b'])
})

test('a long line is cut around what was found in it, and no character is cut in two', async () => {
  put('a', `${'😀'.repeat(60_000)}needle${'😀'.repeat(60_000)}`)
  const [found] = (await search({ text: 'needle' })).found
  const [line] = found?.lines ?? []
  assert.equal([line?.line, line?.column, line?.cut], [1, 60_001, true])
  assert.match(line?.text ?? '', /^…(😀)+needle(😀)+…$/u)
  assert.ok((line?.text.length ?? 0) < 300)
})

test('pages of a search hold every file once, and each says how to go on', async () => {
  for (let index = 10; index < 30; index++) put(`d${index % 3}/f${index}`, 'x\n'.repeat(3))
  const all: string[] = []
  let after: string | undefined
  do {
    const page = await search({ text: 'x', limit: 10, ...(after !== undefined && { after }) })
    all.push(...paths(page))
    after = page.next?.after
    if (after !== undefined) assert.match(searchFiles.show(page), `for more: after "${after}"`)
  } while (after !== undefined)
  assert.equal(all, [...new Set(all)].sort())
  assert.is(all.length, 20)
})

test('a file full of what is searched for shows some lines, and alone it shows all', async () => {
  put('a', 'x\n'.repeat(50))
  put('b', 'x\n')
  const result = await search({ text: 'x' })
  assert.equal(
    result.found.map(({ path, matches, lines, more }) => [path, matches, lines?.length, more]),
    [
      ['a', 50, 20, 30],
      ['b', 1, 1, undefined],
    ],
  )
  assert.is(result.truncated, true)
  assert.match(searchFiles.show(result), '  … 30 more lines: search this file alone\nb')
  const alone = await search({ text: 'x', path: 'a' })
  assert.equal([alone.found[0]?.lines?.length, alone.truncated], [50, false])
})

test('what is shown of a line cannot end it or move the cursor', async () => {
  put('a', 'x\u2028y\u001b[2Jz\tw\n')
  assert.is(await text({ text: 'x' }), '.: 1 line in 1 file of 1 searched\na\n  1: x\\u2028y\\u001b[2Jz\tw')
})

test('a search that cannot be made is refused with what to do', async () => {
  for (const args of [
    {},
    { text: 'a\nb' },
    { text: '\ud800' },
    { text: 'x', path: '..' },
    { pattern: '{a,b}'.repeat(9) },
  ])
    assert.ok(
      ['invalid_args', 'path_refused'].includes(errorOf(await run(searchFiles, args)).code),
      JSON.stringify(args),
    )
})

test('a search that runs out of time says so, and goes on where it ended', async () => {
  put('a', 'x')
  const none = await search({ text: 'x' }, { lookMs: 0 })
  assert.equal([none.found, none.truncated, none.next], [[], true, null])
  assert.match(searchFiles.show(none), 'ended early: the time for a look was over')
})

test('a literal is found where JavaScript itself finds it, in lines as an editor counts them', async () => {
  const word = fc.stringMatching(/^[ab.*é😀]{1,4}$/u)
  const body = fc.stringMatching(/^[ab.*é😀\n\r]{0,60}$/u)
  await fc.assert(
    fc.asyncProperty(word, body, async (wanted, whole) => {
      const matcher = openMatcher({ text: wanted, ignoreCase: false, wholeWord: false })
      const found = await scan({ text: whole, matcher, context: 0, most: 1_000, isOver: () => false })
      const expected = whole.split(/\r\n|\n|\r/).flatMap((line, index): FoundLine[] => {
        const at = line.indexOf(wanted)
        return at === -1 ? [] : [{ line: index + 1, column: [...line.slice(0, at)].length + 1, text: line }]
      })
      assert.equal(found?.lines, expected)
    }),
    { numRuns: 400, seed: 20_261_122 },
  )
})

test('many lines that are nearly as long as a part give others their turn between them (threat 23)', async () => {
  const text = Array.from({ length: 32 }, () => 'a'.repeat(64 * 1024 - 1)).join('\n')
  const matcher = openMatcher({ text: `${'a'.repeat(999)}b`, ignoreCase: true, wholeWord: false })
  let turns = 0
  const isOver = () => {
    turns++
    return false
  }
  const scanned = await scan({ text, matcher, context: 0, most: 9, isOver })
  assert.equal([scanned?.count, turns], [0, 32])
})

/** A line that counts how often one of its units is looked at. */
class Watched extends String {
  looks = 0
  override charCodeAt(at: number): number {
    this.looks++
    return super.charCodeAt(at)
  }
}

test('each unit of a line is looked at once, whatever almost occurs in it (threat 23)', () => {
  const nearly = 'a'.repeat(20_000)
  for (const [text, ignoreCase, wholeWord] of [
    [`${'a'.repeat(999)}b`, true, false],
    [`b${'a'.repeat(999)}`, false, true],
    [`${'a'.repeat(500)}b${'a'.repeat(499)}`, false, false],
  ] as const) {
    const line = new Watched(nearly)
    const { first } = openMatcher({ text, ignoreCase, wholeWord })
    assert.is(first(line as unknown as string), undefined)
    assert.is(line.looks, nearly.length)
  }
})

test('whatever the case, a text is found where a regular expression without wildcards finds it', () => {
  const some = 'aAbBsSſßẞkK\u212aiIıİσςΣÉéµμΜ\u0345ιǅǆǄ𐐀𐐨😀'
  const word = fc.array(fc.constantFrom(...some), { minLength: 1, maxLength: 4 }).map(parts => parts.join(''))
  const body = fc.array(fc.constantFrom(...some), { maxLength: 80 }).map(parts => parts.join(''))
  fc.assert(
    fc.property(word, body, (text, line) => {
      const found = openMatcher({ text, ignoreCase: true, wholeWord: false }).first(line)
      const at = new RegExp(text, 'iu').exec(line)?.index
      assert.is(found?.at, at)
    }),
    { numRuns: 1_000, seed: 20_261_122 },
  )
})
