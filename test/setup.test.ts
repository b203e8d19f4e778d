import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from './support/harness.ts'
import { root } from './support/imports.ts'
import { venvPython } from './support/runtimes.ts'

const test = suite('setup')
const setup = join(root, 'test/setup.mjs')

function runSetup(path: string, env: NodeJS.ProcessEnv) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path], { encoding: 'utf8', env })
  return { status, stdout, stderr }
}

test('what the tests import from Python is there, in an environment of their own', () => {
  const script =
    'import sys, attr, django, fastapi, gunicorn, ipykernel, jupyter_client, matplotlib, mcp, msgpack, numpy, pandas, polars, pyarrow, pydantic, uvicorn; print(sys.prefix != sys.base_prefix)'
  const { stdout, stderr } = spawnSync(venvPython, ['-c', script], { encoding: 'utf8' })
  assert.is(stdout.trim(), 'True', stderr)
})

test('with everything there, nothing is said or looked for, whatever the environment', () => {
  for (const env of [{}, { HOME: '', PATH: '' }, { HOME: '/nonexistent', PATH: '/nonexistent' }])
    assert.equal(runSetup(setup, env), { status: 0, stdout: '', stderr: '' })
})

test('what is missing is said in one line, with the command that installs it', () => {
  inCopy((path, folder) => {
    const { status, stderr } = runSetup(path, { PATH: folder })
    assert.is(status, 1)
    assert.match(stderr, /^test set-up: there is no python3 on the PATH; .*apt-get install .*python3\n$/)
  })
})

test('a Python too old for the tests is refused in one line', () => {
  inCopy((path, folder) => {
    writeFileSync(join(folder, 'python3'), '#!/bin/sh\n[ "$1" = --version ]\n', { mode: 0o755 })
    const { status, stderr } = runSetup(path, { PATH: folder })
    assert.is(status, 1)
    assert.is(stderr, 'test set-up: the tests need a python3 of 3.10 or newer on the PATH\n')
    assert.not.ok(existsSync(join(folder, '.test-runtimes')))
  })
})

/** The set-up in a folder where nothing is installed. */
function inCopy(body: (path: string, folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'imago-setup-'))
  try {
    mkdirSync(join(folder, 'test'))
    const path = join(folder, 'test/setup.mjs')
    cpSync(setup, path)
    cpSync(join(root, 'test/setup-pythons.mjs'), join(folder, 'test/setup-pythons.mjs'))
    body(path, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
