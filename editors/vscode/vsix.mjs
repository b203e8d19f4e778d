// `npm run vsix`: bundles the extension, and packs it into dist/imago-VERSION.vsix, with nothing that has to be installed.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import { build } from 'esbuild'

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

const { name, publisher, displayName, description, engines } = about
const manifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}"/>
<DisplayName>${displayName}</DisplayName>
<Description xml:space="preserve">${description}</Description>
<Categories>${about.categories}</Categories>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value="${engines.vscode}"/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${about.extensionKind}"/>
</Properties>
<License>extension/LICENSE.txt</License>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
</Assets>
</PackageManifest>
`
const types = {
  json: 'application/json',
  cjs: 'application/javascript',
  md: 'text/markdown',
  svg: 'image/svg+xml',
}
const endings = Object.entries({ ...types, txt: 'text/plain', vsixmanifest: 'text/xml' })
const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${endings
  .map(([ending, type]) => `<Default Extension=".${ending}" ContentType="${type}"/>`)
  .join('')}</Types>
`
const vsix = join(dist, `imago-${version}.vsix`)
mkdirSync(dist, { recursive: true })
writeFileSync(
  vsix,
  zip({
    'extension.vsixmanifest': manifest,
    '[Content_Types].xml': contentTypes,
    'extension/package.json': `${JSON.stringify(about, null, 2)}\n`,
    'extension/README.md': readFileSync(join(here, 'README.md')),
    'extension/LICENSE.txt': readFileSync(join(here, '../../LICENSE')),
    'extension/imago.svg': readFileSync(join(here, 'imago.svg')),
    ...Object.fromEntries(
      Object.values(bundles).map(to => [`extension/dist/${to}`, readFileSync(join(dist, to))]),
    ),
  }),
)
console.log(vsix)

/** An archive of these files, always the same for the same texts: each has the first date that the format knows. */
function zip(files) {
  const bodies = []
  const directory = []
  let offset = 0
  for (const [path, contents] of Object.entries(files)) {
    const name = Buffer.from(path)
    const plain = Buffer.from(contents)
    const packed = deflateRawSync(plain)
    // Version 2.0, names in UTF-8, deflated, 1980-01-01; no extra field.
    const about = numbers(
      '222224444',
      20,
      0x800,
      8,
      0,
      0x21,
      crc32(plain),
      packed.length,
      plain.length,
      name.length,
    )
    const body = Buffer.concat([numbers('4', 0x04034b50), about, name, packed])
    directory.push(numbers('42', 0x02014b50, 20), about, numbers('22244', 0, 0, 0, 0, offset), name)
    bodies.push(body)
    offset += body.length
  }
  const listing = Buffer.concat(directory)
  const { length } = bodies
  const end = numbers('42222442', 0x06054b50, 0, 0, length, length, listing.length, offset, 0)
  return Buffer.concat([...bodies, listing, end])
}

/** Little-endian numbers, each of as many bytes as its digit says. */
function numbers(sizes, ...values) {
  return Buffer.concat(
    values.map((value, at) => {
      const bytes = Buffer.alloc(Number(sizes[at]))
      bytes.writeUIntLE(value, 0, bytes.length)
      return bytes
    }),
  )
}
