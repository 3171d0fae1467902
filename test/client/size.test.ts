import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

/** Bytes of the client as the package has it, without `edges`, and of `edges`: minified and compressed. */
const MOST = 6000
const MOST_OF_EDGES = 1000

const CLIENT = fileURLToPath(new URL('../../src/client/client.ts', import.meta.url))

/** Bundles a module as a page would. */
async function bundle(contents: string) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    minify: true,
    metafile: true,
    write: false,
  })
  return { text: outputFiles[0]?.text ?? '', metafile }
}

test('the client is small, and whole by itself', async () => {
  const { edges: _, ...others } = await import('../../src/client/client.js')
  const sizeOf = async (names: string) => {
    const { text } = await bundle(`export { ${names} } from ${JSON.stringify(CLIENT)}`)
    return gzipSync(text, { level: 9 }).length
  }
  expect(await sizeOf(Object.keys(others).join())).toBeLessThan(MOST)
  expect(await sizeOf('edges')).toBeLessThan(MOST_OF_EDGES)
  const { metafile } = await bundle(`export * from ${JSON.stringify(CLIENT)}`)
  const files = Object.keys(metafile.inputs).filter((path) => path !== '<stdin>')
  expect(files.filter((path) => !/(^|\/)src\/client\/[\w-]+\.ts$/.test(path))).toEqual([])
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([])
})

/** The exports that are not part of a client, with a text that only their code has. */
const APART = {
  edges: 'u-ca-gregory',
  retry: 'pauseSeconds',
  toQuery: '|options]$',
  escapePattern: '{}|/-]',
} as const

test.each(Object.entries(APART))('%s is in a bundle only if it is imported', async (name, mark) => {
  const importing = (names: string) => bundle(`export { ${names} } from ${JSON.stringify(CLIENT)}`)
  expect((await importing(name)).text).toContain(mark)
  expect((await importing(name)).text).not.toContain('/auth/')
  const client = await importing('createClient, ClientError, isClientError')
  expect(client.text).toContain('/auth/')
  expect(client.text).not.toContain(mark)
})

test('an error keeps the name of its class', async () => {
  const { text } = await bundle(`export { ClientError } from ${JSON.stringify(CLIENT)}`)
  expect(text).not.toMatch(/class ClientError/)
  const { ClientError } = await import(`data:text/javascript,${encodeURIComponent(text)}`)
  const error = new ClientError(new Response(null, { status: 500 }), null)
  expect([error.name, error.constructor.name, `${error}`]).toEqual([
    'ClientError',
    'ClientError',
    'ClientError: unexpected_answer 500',
  ])
})
