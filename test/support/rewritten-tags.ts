/** What proxies and middlewares that compress make of an entity tag. */
export const REWRITES: readonly (readonly [by: string, rewrite: (tag: string) => string])[] = [
  ['nginx, HAProxy, hono/compress', (tag) => `W/${tag}`],
  ['Apache and Caddy: gzip', (tag) => tag.replace(/"$/, '-gzip"')],
  ['Jetty', (tag) => tag.replace(/"$/, '--gzip"')],
  ['brotli', (tag) => tag.replace(/"$/, '-br"')],
  ['zstd', (tag) => tag.replace(/"$/, '-zstd"')],
  ['deflate', (tag) => tag.replace(/"$/, '-deflate"')],
  ['two, one after another', (tag) => `W/${tag.replace(/"$/, '-gzip"')}`],
]
