import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DisplayFiles, filed, openDisplayFiles } from '../../src/text/display-files.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('files of displays')

let stateDir: string
let faults: string[]
test.before.each(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'imago-displays-'))
  faults = []
})
test.after.each(() => rmSync(stateDir, { recursive: true }))

const open = (): DisplayFiles =>
  openDisplayFiles({ stateDir, log: sentence => faults.push(sentence) })('/project')
const names = () => readdirSync(join(stateDir, 'displays')).sort()
const kept = (files: DisplayFiles, bytes: Uint8Array): string => {
  const path = files.keep(bytes, 'png')
  if (path === undefined) throw new Error('nothing was kept')
  return path
}

test('the last 128 are kept, those of earlier daemons among them, for their owner alone', () => {
  const earlier = kept(open(), Buffer.from('first'))
  assert.is(statSync(earlier).mode & 0o777, 0o600)
  const files = open()
  for (let n = 0; n < 128; n++) kept(files, Buffer.from(`${n}`))
  assert.is(names().length, 128)
  assert.is(files.read(earlier), undefined)
})

test('large ones make room earlier, and the newest stays', () => {
  const files = open()
  const large = Buffer.alloc(40 * 1024 * 1024)
  const first = kept(files, large)
  const second = kept(files, large)
  assert.equal([files.read(first), files.read(second)?.length], [undefined, large.length])
})

test('no other file is read, and none that lies beside them is touched', () => {
  const files = open()
  const path = kept(files, Buffer.from('picture'))
  const other = join(stateDir, 'displays', 'mine.png')
  writeFileSync(other, 'mine')
  for (const asked of [other, '/etc/passwd', `${path}/../mine.png`, 'x', ''])
    assert.is(files.read(asked), undefined)
  for (let n = 0; n < 130; n++) kept(files, Buffer.from(`${n}`))
  assert.ok(names().includes('mine.png'))
})

test('what was displayed to one project is not read by another', () => {
  const of = openDisplayFiles({ stateDir, log: sentence => faults.push(sentence) })
  const path = kept(of('/project'), Buffer.from('theirs'))
  assert.equal([of('/other').read(path), String(of('/project').read(path))], [undefined, 'theirs'])
})

test('where no file can be written, that is said, and the rest is told', () => {
  writeFileSync(join(stateDir, 'displays'), 'in the way')
  const told = filed({ what: 'figure 1', png: Buffer.from('x').toString('base64'), text: 'a line' }, open())
  assert.equal(told, { what: 'figure 1', text: 'a line', note: 'It could not be written to a file.' })
  assert.is(faults.length, 1)
})
