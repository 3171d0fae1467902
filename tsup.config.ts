import { writeFile } from 'node:fs/promises'
import { defineConfig } from 'tsup'
import { publishedConfigSchema } from './src/config/config-schema.js'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    node: 'src/mounts/node.ts',
    testing: 'src/testing/index.ts',
    sqlite: 'src/adapters/sqlite/sqlite-adapter.ts',
    postgres: 'src/adapters/postgres/postgres-adapter.ts',
    cli: 'src/cli/main.ts',
  },
  format: ['esm', 'cjs'],
  dts: {
    entry: {
      index: 'src/index.ts',
      node: 'src/mounts/node.ts',
      testing: 'src/testing/index.ts',
      sqlite: 'src/adapters/sqlite/sqlite-adapter.ts',
      postgres: 'src/adapters/postgres/postgres-adapter.ts',
    },
  },
  target: 'es2022',
  platform: 'neutral',
  external: [/^node:/],
  // One copy of each module, whichever subpath asks for it.
  splitting: true,
  treeshake: true,
  sourcemap: true,
  clean: true,
  silent: true,
  async onSuccess() {
    await writeFile('dist/config.schema.json', `${JSON.stringify(publishedConfigSchema(), null, 2)}\n`)
  },
})
