import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'

const test = suite('no room on the disk')

const FULL = join(import.meta.dirname, '../support/full-disk.ts')

/** The limit of a process on the size of a file that it writes is the nearest that any user has to a full disk. */
const NARROW = 'ulimit -S -f 64 && exec "$0" "$@"'
const WIDE = `
import resource, sys
narrow, hard = resource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE)
resource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE, (hard, hard))
`

test('with no room for the new content an approved change is refused, reading goes on, and it works again with room (fault 11)', async () => {
  const child = spawn('sh', ['-c', NARROW, process.execPath, '--import', 'tsx', FULL], {
    env: { ...process.env, TSX_DISABLE_CACHE: '1', IMAGO_TEST_REPORT: '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (data: Buffer) => {
    const waited = said.includes('waiting\n')
    said += data.toString()
    if (waited || !said.includes('waiting\n')) return
    const widened = spawnSync('python3', ['-c', WIDE, String(child.pid)], { encoding: 'utf8' })
    child.stdin.write(`${widened.stderr}\n`)
  })
  await new Promise(resolve => child.once('close', resolve))
  assert.equal(said.trim().split('\n'), [
    'large: file_failed old EFBIG; 1 asked about; a.py holds old',
    'read: ok; 1 asked about; a.py holds old',
    'small: ok; 2 asked about; a.py holds small',
    'large: file_failed old EFBIG; 3 asked about; a.py holds small',
    'waiting',
    'large: ok; 4 asked about; a.py holds all',
  ])
})
