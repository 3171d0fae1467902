import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

/** Bytes of the client as the package has it: minified. */
const MOST = 6000

test('the client is small, and whole by itself', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL('../../src/client/client.ts', import.meta.url))],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    minify: true,
    metafile: true,
    write: false,
  })
  const [file] = outputFiles
  expect(gzipSync(file?.contents ?? '', { level: 9 }).length).toBeLessThan(MOST)
  expect(Object.keys(metafile.inputs).filter((path) => !/(^|\/)src\/client\/[\w-]+\.ts$/.test(path))).toEqual(
    [],
  )
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([])
})
