// `npm run vsix`: bundles the extension, and packs it into dist/imago-VERSION.vsix, with nothing that has to be installed.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { strToU8, zipSync } from 'fflate'

const here = import.meta.dirname
const { version } = JSON.parse(readFileSync(join(here, '../../package.json'), 'utf8'))
const about = { ...JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')), version }
const dist = process.argv[2] ?? join(here, 'dist')

// The client of the language server is a file of its own, which is loaded once the extension is there.
const CLIENT = 'vscode-languageclient/node'
const bundles = {
  [join(here, 'src/editor/extension.ts')]: 'extension.cjs',
  [CLIENT]: `node_modules/${CLIENT}.js`,
}
for (const [from, to] of Object.entries(bundles))
  await build({
    entryPoints: [from],
    outfile: join(dist, to),
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    supported: { 'dynamic-import': false },
    external: from === CLIENT ? ['vscode'] : ['vscode', CLIENT],
    logLevel: 'warning',
  })

const XML = '<?xml version="1.0" encoding="utf-8"?>\n'
const manifest = `${XML}<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata><Identity Language="en-US" Id="${about.name}" Version="${version}" Publisher="${about.publisher}"/>
<DisplayName>${about.displayName}</DisplayName><Description>${about.description}</Description></Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>
<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/></Assets>
</PackageManifest>
`
const typeOf = ending => `<Default Extension=".${ending}" ContentType="application/octet-stream"/>`
const types = ['json', 'cjs', 'js', 'md', 'svg', 'txt', 'vsixmanifest'].map(typeOf).join('')
const ns = 'http://schemas.openxmlformats.org/package/2006/content-types'
const vsix = join(dist, `imago-${version}.vsix`)
const built = Object.values(bundles).map(to => [`extension/dist/${to}`, readFileSync(join(dist, to))])
const files = {
  'extension.vsixmanifest': strToU8(manifest),
  '[Content_Types].xml': strToU8(`${XML}<Types xmlns="${ns}">${types}</Types>\n`),
  'extension/package.json': strToU8(`${JSON.stringify(about, null, 2)}\n`),
  'extension/README.md': readFileSync(join(here, 'README.md')),
  'extension/LICENSE.txt': readFileSync(join(here, '../../LICENSE')),
  'extension/imago.svg': readFileSync(join(here, 'imago.svg')),
  ...Object.fromEntries(built),
}
// The first date that the format knows: the same texts make the same archive.
writeFileSync(vsix, zipSync(files, { mtime: '1980-01-01T00:00:00' }))
console.log(vsix)
