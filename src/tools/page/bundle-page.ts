import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, transform } from 'esbuild'
import { minify } from 'terser'

/** The maximum size of the document in compressed bytes, beyond which the build fails (CONTRACT.md §11). */
const MAX_COMPRESSED = 40_000

/** The icon of the browser tab: a sheet with three lines. */
const ICON = `data:image/svg+xml,${"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect width='16' height='16' rx='4' fill='#0b6a6a'/><path d='M4 5h8M4 8h8M4 11h5' stroke='#fff' stroke-width='1.5' stroke-linecap='round'/></svg>".replace(
  /[<>#]/g,
  encodeURIComponent,
)}`

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Escapes the character sequences that would end a script element. They occur only inside string literals. */
const closeSafely = (script: string): string => script.replace(/<(?=\/script|!--)/gi, '\\x3c')

/**
 * Bundles a module and the `style.css` in its folder into one HTML document without external resources. Returns it with
 * its content security policy and entity tag. Throws if the document is too large.
 */
export async function bundlePage(entry: string): Promise<{ html: string; policy: string; etag: string }> {
  const bundled = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
    // These names are shortened. Only our own code uses them: documents, answers and browser APIs contain none of them.
    mangleProps: /^(?:is|has)[A-Z]/,
    reserveProps: /^(?:isCurrent|isArray|isConnected|isFinite|isInteger|isNaN|hasOwn)$/,
  })
  // Each option reduces the size. `unsafe_arrows` is safe here, because `new` is called on classes only.
  const compress = { passes: 3, inline: 1, unsafe_arrows: true } as const
  const { code = '' } = await minify(bundled.outputFiles[0]?.text ?? '', { ecma: 2020, compress })
  const script = closeSafely(code)
  const source = await readFile(join(dirname(entry), 'style.css'), 'utf8')
  const style = (await transform(source, { loader: 'css', minify: true, target: 'es2022' })).code.trim()
  const html = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><title>Collections</title>',
    `<link rel="icon" href="${ICON}"><style>${style}</style></head>`,
    '<body><noscript>This page needs JavaScript.</noscript>',
    `<div id="app"></div><script>${script}</script></body></html>\n`,
  ].join('')
  const { length } = gzipSync(html, { level: 9 })
  if (length > MAX_COMPRESSED)
    throw new Error(`The admin UI has ${length} bytes compressed; the limit is ${MAX_COMPRESSED}.`)
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  const etag = `"${createHash('sha256').update(html).digest('base64url').slice(0, 32)}"`
  return { html, policy, etag }
}
