// Loads and activates the packed extension of VS Code where all that an extension host has loaded is there, with an editor
// that does nothing. Prints the milliseconds of processor time of that, and those of the client that it loads afterwards.
for (const name of [
  'assert',
  'child_process',
  'crypto',
  'events',
  'fs',
  'net',
  'path',
  'stream',
  'url',
  'util',
])
  require(`node:${name}`)
const Module = require('node:module')

const anything = new Proxy(class {}, {
  get: (target, name) =>
    name === 'prototype' ? target.prototype : name === Symbol.toPrimitive ? () => '' : anything,
  set: () => true,
  apply: () => anything,
  construct: () => anything,
})
// A bundle copies the names that it finds there.
const names = [
  'window',
  'workspace',
  'commands',
  'languages',
  'Uri',
  'EventEmitter',
  'StatusBarAlignment',
  'DecorationRangeBehavior',
]
const api = new Proxy(Object.fromEntries(names.map(name => [name, anything])), { get: () => anything })
const load = Module._load
Module._load = (id, ...rest) => (id === 'vscode' ? api : load(id, ...rest))

const timed = does => {
  const before = process.cpuUsage()
  does()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
const dist = process.argv[2]
const activation_ms = timed(() => require(`${dist}/extension.cjs`).activate({ subscriptions: [] }))
const client_ms = timed(() => require(`${dist}/node_modules/vscode-languageclient/node.js`))
console.log(JSON.stringify({ activation_ms, client_ms }))
process.exit(0)
