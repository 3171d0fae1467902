import { join } from 'node:path'

const TYPESCRIPT = 'typescript@5.9.3'
const NODE_24 = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}@24.21.0`

/**
 * The generators, in exact versions: the packages that are installed, the first of which is the generator; the arguments
 * of its command for a document; the file that is compiled; the libraries that this file needs. `client` does what `use.ts`
 * asks for, as it is and with `toQuery`: the filters that are then wrong. `faults` are those of a generator by document.
 */
export const TOOLS = [
  {
    packages: ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', TYPESCRIPT],
    command: 'openapi-typescript',
    args: (document, folder) => [document, '-o', join(folder, 'api.ts')],
    file: 'api.ts',
    libraries: ['openapi-fetch'],
    client: 'openapi-fetch.ts',
    wrong: { 'as it is': [], 'with `querySerializer: toQuery`': ['null'] },
  },
  {
    packages: ['@hey-api/openapi-ts@0.95.0', TYPESCRIPT],
    command: 'openapi-ts',
    args: (document, folder) => ['-i', document, '-o', join(folder, 'api')],
    file: 'api/index.ts',
    client: 'hey-api.ts',
    wrong: { 'as it is': ['null'], 'with `querySerializer: toQuery`': [] },
  },
  {
    packages: ['swagger-typescript-api@13.13.0'],
    command: 'swagger-typescript-api',
    args: (document, folder) => ['generate', '-p', document, '-o', folder, '-n', 'api.ts'],
    file: 'api.ts',
    client: 'swagger-typescript-api.ts',
    wrong: { 'as it is': [] },
  },
  {
    packages: ['oazapfts@7.5.0', TYPESCRIPT],
    command: 'oazapfts',
    args: (document, folder) => [document, join(folder, 'api.ts')],
    file: 'api.ts',
    libraries: ['@oazapfts/runtime'],
    client: 'oazapfts.ts',
    wrong: { 'as it is': [] },
  },
  {
    packages: ['openapi-zod-client@1.18.3'],
    command: 'openapi-zod-client',
    args: (document, folder) => [document, '-o', join(folder, 'api.ts')],
    file: 'api.ts',
    libraries: ['@zodios/core', 'zod', 'axios'],
    hasSchemas: true,
    faults: { unusual: 'values of `enum` with a `"` are not escaped: the file does not compile' },
  },
  {
    packages: ['orval@8.38.0', TYPESCRIPT],
    command: 'orval',
    args: (document, folder) => [
      '--input',
      document,
      '--output',
      join(folder, 'api.ts'),
      '--client',
      'fetch',
    ],
    file: 'api.ts',
    client: 'orval.ts',
    wrong: { 'as it is': [] },
    // It needs Node.js 22.18.
    node: NODE_24,
  },
]
