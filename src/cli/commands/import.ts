import { compileConfig } from '../../config/compile-config.js'
import { createCollectionService, createMemoryAdapter } from '../../index.js'
import type { Logger } from '../../types/host.js'
import type { ImportArguments } from '../arguments/arguments.js'
import { FileError } from '../read-json-file.js'
import { explainSeed } from '../start-service.js'
import { describeImport } from './import/describe-import.js'
import { type Imported, importDatabase } from './import/import-database.js'
import { readDatabase } from './import/read-database.js'
import { prepare, writeFiles } from './write-files.js'

/**
 * Converts a file of JSON to a configuration and documents, writes them into a folder, and prints how names and values
 * changed. Throws `FileError`, and `SeedError` for documents that cannot be stored; then no file is written.
 */
export async function importFile(
  { file, folder }: ImportArguments,
  print: (line: string) => void,
): Promise<void> {
  const imported = importDatabase(await readDatabase(file))
  if (imported.collections.length === 0)
    throw new FileError(`${file} holds no list of objects, and no object`)
  await tryOut(imported)
  await writeFiles(
    folder,
    { 'config.json': toText(imported.config), 'documents.json': toText(imported.documents) },
    'import',
  )
  const place = folder === '.' ? '' : ` in ${folder}`
  print(`Wrote config.json, documents.json${place}, from ${file}.\n`)
  print(describeImport(imported))
  print(`\n${describeWarnings(imported)}`)
  print(
    ['\nServe it:', ...prepare(folder), 'npx collection-service --seed documents.json --watch'].join('\n  '),
  )
}

const toText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const SILENT: Logger = { info() {}, warn() {}, error() {} }

/** Stores the documents in memory, as a start will, to find errors before any file is written. */
async function tryOut({ config, documents }: Imported): Promise<void> {
  const handler = createCollectionService(config, createMemoryAdapter({ documents }), {
    logger: SILENT,
    production: false,
  })
  await handler.ready().catch(explainSeed)
  await handler.close()
}

/** The warnings of the start. */
function describeWarnings({ config }: Imported): string {
  const { warnings } = compileConfig(config, { production: false, hasAuthenticate: false })
  return ['Everyone may do everything:', ...warnings.map(({ path, message }) => `${path}: ${message}`)].join(
    '\n  ',
  )
}
