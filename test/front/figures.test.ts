import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { WireError } from '../../wire/errors.ts'
import { assert, suite } from '../support/harness.ts'
import { type Notebook, openNotebook } from '../support/notebook.ts'
import { openRig, type Rig } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** What code draws and displays: whoever has it run gets it, and nobody else does. */
const test = suite('figures', { limitMs: 45_000 })

const PNG = '89504e470d0a1a0a'
const DRAW =
  'import matplotlib.pyplot as plt\nplt.figure(figsize=(3, 2), dpi=100)\nplt.plot([1, 4, 9])\nplt.show()'

let rig: Rig
let notebook: Notebook

test.before(async () => {
  rig = openRig({ config: `[kernels]\npython = "${venvPython}"\n` })
  notebook = await openNotebook(rig, 'sales')
  await notebook.run('%load_ext imago')
  await rig.imago(['attach', 'sales'])
})
test.after(async () => {
  await notebook.close()
  await rig.close()
})

async function call(args: object): Promise<string> {
  const { stdout, stderr } = await rig.imago(['call', 'eval_expr', JSON.stringify(args)])
  return stdout + stderr
}

const inNotebook = (expr: string) => call({ kernel: 'sales', expr })

/** The path of a picture that an answer names, having looked that it is one. */
function pictureIn(answer: string, what: string): string {
  const [, path = ''] = new RegExp(`^${what}: PNG, \\d+ × \\d+, (/.*\\.png)$`, 'm').exec(answer) ?? []
  assert.ok(path !== '', answer)
  assert.is(readFileSync(path).toString('hex', 0, 8), PNG)
  return path
}

/** What an MCP client gets from one call. */
async function overMcp(args: Record<string, unknown>) {
  const client = new Client({ name: 'test', version: '1' })
  const words = [join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'mcp']
  const [command, env, cwd] = [process.execPath, { ...rig.env }, rig.project]
  await client.connect(new StdioClientTransport({ command, args: words, env, cwd }))
  try {
    const answer = await client.callTool({ name: 'eval_expr', arguments: args })
    return answer as { content: { type: string; text?: string; data?: string; mimeType?: string }[] }
  } finally {
    await client.close()
  }
}

test('a figure that code in an image of ours draws is a file, whose path stands in the answer, for its owner alone', async () => {
  await rig.imago(['start', 'python', '--name', 'plain'])
  const path = pictureIn(await call({ kernel: 'plain', expr: DRAW }), 'figure 1')
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.match(path, rig.paths.stateDir)
})

test('a client reads a figure by its path, and neither one of another project, one that was removed, nor another file', async () => {
  const path = pictureIn(await call({ kernel: 'plain', expr: DRAW }), 'figure 1')
  const [client, elsewhere] = [await rig.connect(), await rig.connect({ root: rig.folder })]
  const read = (asked: string, by = client) =>
    by.request('display', { path: asked }).catch((error: WireError) => error.remote?.code)
  const { media_type, bytes, data } = await client.request('display', { path })
  const file = readFileSync(path)
  assert.equal([media_type, bytes, data], ['image/png', file.length, file.toString('base64')])
  for (const refused of [read(path, elsewhere), read('/etc/passwd'), read(`${path}/../../token`)])
    assert.is(await refused, 'no_such_display')
  rmSync(path)
  assert.is(await read(path), 'no_such_display')
})

test('over MCP it is an image as well, behind the text, also where the code raises', async () => {
  const drawn = await overMcp({ kernel: 'sales', expr: DRAW })
  assert.equal(
    drawn.content.map(({ type, mimeType }) => mimeType ?? type),
    ['text', 'image/png'],
  )
  assert.is(Buffer.from(drawn.content[1]?.data ?? '', 'base64').toString('hex', 0, 8), PNG)
  pictureIn(drawn.content[0]?.text ?? '', 'figure 1')
  const raised = await overMcp({ kernel: 'sales', expr: 'plt.plot([1])\n1 / 0' })
  assert.equal(
    raised.content.map(({ type }) => type),
    ['text', 'image'],
  )
})

test('a result that only says it has displayed something brings no file', async () => {
  const expr = `{"displays": [{"files": [{"path": "/etc/passwd", "media_type": "image/png"}]}]}`
  const { content } = await overMcp({ kernel: 'sales', expr })
  assert.is(content.length, 1)
})

test('in a notebook the caller gets what is displayed, and neither the notebook nor the next cell shows it', async () => {
  const shown = await notebook.run('%matplotlib inline\nimport matplotlib.pyplot as plt')
  assert.is(shown, '')
  pictureIn(await inNotebook(DRAW), 'figure 1')
  pictureIn(await inNotebook('plt.plot([1, 2])\nNone'), 'figure 1')
  const table = await inNotebook('import pandas\ndisplay(pandas.DataFrame({"price": [7, 8]}))')
  assert.match(table, /price\n0 +7/)
  assert.match(table, /inspect @/)
  assert.match(table, /^DataFrame: HTML, \/.*\.html$/m)
  assert.is(await notebook.run('41 + 1'), '42')
  assert.is(await notebook.run('plt.get_fignums()'), '[]')
})

test('where cells keep their figures open, a figure of a call is still in none of them', async () => {
  await notebook.run('%config InlineBackend.close_figures = False')
  await inNotebook('plt.figure()\nNone')
  assert.is(await notebook.run('1'), '1')
  await notebook.run('%config InlineBackend.close_figures = True')
})

test('the person’s own figures are shown as before', async () => {
  assert.match(await notebook.run('_ = plt.plot([1, 2])'), '<Figure size')
  assert.match(await notebook.run('display("for me")'), 'for me')
})

test('the notebook shows what the code asks to be shown', async () => {
  const hook = 'lambda message: (sent.append(message["msg_type"]), message)[1]'
  await notebook.run(`sent = []\nget_ipython().display_pub.register_hook(${hook})`)
  pictureIn(await inNotebook('plt.figure(figsize=(1, 1))\nplt.show()'), 'figure 1')
  assert.is(await notebook.run('sent'), '[]')
  const answer = await inNotebook('import imago\nplt.figure(figsize=(1, 1))\nimago.show(plt.gcf())')
  pictureIn(answer, 'figure 1')
  assert.is(await notebook.run('sent'), "['display_data']")
})

test('a figure that is too large to be sent is drawn smaller, in a notebook too, and that is said', async () => {
  for (const draw of [
    'plt.figure(figsize=(100, 100), dpi=100)',
    'import numpy\nplt.figure(figsize=(20, 12.5), dpi=100)\nplt.axes((0, 0, 1, 1)).imshow(numpy.random.rand(1250, 2000, 3))',
  ]) {
    const answer = await inNotebook(`${draw}\nplt.show()\n"after"`)
    pictureIn(answer, 'figure 1')
    assert.match(
      answer,
      /figure 1: It is drawn smaller: with its [\d,]+ × [\d,]+ pixels it is too large to be sent/,
    )
    assert.match(answer, 'after')
  }
})

test('imago eval of a plot names the file', async () => {
  const { code, stdout, stderr } = await rig.imago(['eval', `${DRAW}\n1 + 1`, '--kernel', 'sales'])
  assert.equal([code, stdout], [0, '2\n'], stderr)
  assert.match(stderr, /^imago: figure 1: \/.*\.png\n$/)
})

test('what its library can export is a picture where the exporter is installed, and else a page', async () => {
  const plot = (exporter: string) =>
    [
      'import sys, types, importlib.machinery as m, matplotlib.pyplot as plt',
      `sys.modules.pop("kaleido", None); name = ${JSON.stringify(exporter)}`,
      'if name: sys.modules[name] = types.ModuleType(name); sys.modules[name].__spec__ = m.ModuleSpec(name, None)',
      'def write_image(self, file, format):',
      '    plt.figure(figsize=(1, 1)).savefig(file, format=format); plt.close()',
      'Plot = type("Plot", (), {"__module__": "plotly.graph_objs", "write_image": write_image, "_repr_html_": lambda self: "<b>1</b>"})',
      'Plot()',
    ].join('\n')
  assert.match(await call({ kernel: 'plain', expr: plot('') }), /^Plot: HTML, /m)
  pictureIn(await call({ kernel: 'plain', expr: plot('kaleido') }), 'Plot')
})

test('magics and ! work in a notebook, and are no Python elsewhere', async () => {
  assert.match(await inNotebook('%timeit -n 1 -r 1 1 + 1'), /1 loop each/)
  assert.match(await inNotebook('!echo from the shell'), 'from the shell')
  assert.match(await inNotebook('found = !echo one\nfound[0]'), "'one'")
  assert.match(await inNotebook('1 +'), 'SyntaxError')
  assert.match(await call({ kernel: 'plain', expr: '%timeit 1' }), 'SyntaxError')
})

test('an error that the shell catches in a call is told to the caller, and not to the notebook', async () => {
  await notebook.run(
    'told = []\nshell = get_ipython()\nsend = shell.displayhook.session.send\n' +
      'shell.displayhook.session.send = lambda *all, **more: (told.append(all[1]), send(*all, **more))[1]',
  )
  const answer = await inNotebook(
    'class Broken:\n  def _repr_html_(self): return self.nothing\ndisplay(Broken())\n"after"',
  )
  assert.match(answer, /AttributeError: .*nothing/)
  assert.match(answer, "'after'")
  assert.is(await notebook.run('shell.displayhook.session.send = send\n"error" in told'), 'False')
})

test('hooks that print, raise or never end fail no call', async () => {
  const expr = [
    'class Odd:',
    '    def _repr_html_(self): raise ValueError("no")',
    'class Endless:',
    '    def _repr_html_(self):',
    '        while True: pass',
    'print("printed")',
  ].join('\n')
  await call({ kernel: 'plain', expr })
  assert.match(await call({ kernel: 'plain', expr: 'Odd()' }), 'Odd: It was not drawn: ValueError: no.')
  assert.match(await call({ kernel: 'plain', expr: 'Endless()' }), 'took longer than 2 s')
})

test('a picture has a file of its own, and there are no others', () => {
  const names = readdirSync(`${rig.paths.stateDir}/displays`)
  assert.ok(names.length > 5 && names.every(name => /\.(png|html)$/.test(name)))
})
