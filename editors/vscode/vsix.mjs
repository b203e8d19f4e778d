// `npm run vsix`: bundles the extension, and packs it into dist/imago-VERSION.vsix, with nothing that has to be installed.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import { build } from 'esbuild'

const here = import.meta.dirname
const { version } = JSON.parse(readFileSync(join(here, '../../package.json'), 'utf8'))
const about = { ...JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')), version }
const dist = process.argv[2] ?? join(here, 'dist')

await build({
  entryPoints: [join(here, 'src/editor/extension.ts')],
  outfile: join(dist, 'extension.cjs'),
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  logLevel: 'warning',
})

const text = value =>
  String(value).replace(
    /[&<>"]/g,
    found => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[found],
  )
const asset = (type, path) =>
  `<Asset Type="Microsoft.VisualStudio.${type}" Path="extension/${path}" Addressable="true"/>`
const manifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id="${text(about.name)}" Version="${text(version)}" Publisher="${text(about.publisher)}"/>
<DisplayName>${text(about.displayName)}</DisplayName>
<Description xml:space="preserve">${text(about.description)}</Description>
<Categories>${text(about.categories.join(','))}</Categories>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value="${text(about.engines.vscode)}"/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${text(about.extensionKind.join(','))}"/>
</Properties>
<License>extension/LICENSE.txt</License>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
${asset('Code.Manifest', 'package.json')}
${asset('Services.Content.Details', 'README.md')}
${asset('Services.Content.License', 'LICENSE.txt')}
</Assets>
</PackageManifest>
`
const types = {
  json: 'application/json',
  cjs: 'application/javascript',
  md: 'text/markdown',
  svg: 'image/svg+xml',
}
const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${Object.entries({
  ...types,
  txt: 'text/plain',
  vsixmanifest: 'text/xml',
})
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
    'extension/dist/extension.cjs': readFileSync(join(dist, 'extension.cjs')),
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
    // Version 2.0, names in UTF-8, deflated, 1980-01-01.
    const fields = numbers([20, 2], [0x800, 2], [8, 2], [0, 2], [0x21, 2], [crc32(plain), 4])
    const sizes = numbers([packed.length, 4], [plain.length, 4], [name.length, 2], [0, 2])
    const body = Buffer.concat([numbers([0x04034b50, 4]), fields, sizes, name, packed])
    const rest = numbers([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4])
    directory.push(numbers([0x02014b50, 4], [20, 2]), fields, sizes, rest, name)
    bodies.push(body)
    offset += body.length
  }
  const count = bodies.length
  const listing = Buffer.concat(directory)
  const end = numbers(
    [0x06054b50, 4],
    [0, 4],
    [count, 2],
    [count, 2],
    [listing.length, 4],
    [offset, 4],
    [0, 2],
  )
  return Buffer.concat([...bodies, listing, end])
}

/** Little-endian numbers of so many bytes each. */
function numbers(...all) {
  return Buffer.concat(
    all.map(([value, size]) => {
      const bytes = Buffer.alloc(size)
      bytes.writeUIntLE(value, 0, size)
      return bytes
    }),
  )
}
