import { compileConfig } from '../../../core/config/compile-config.js'
import { findWarnings } from '../../../core/config/find-warnings.js'
import { toPrintable } from '../../../core/start/printable.js'
import type { Logger } from '../../../core/types/host.js'
import type { FieldDefinition } from '../../../core/types.js'
import { createCollectionService, createMemoryAdapter } from '../../../index.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { FileError } from '../read-json-file.js'
import { explainSeed } from '../start-service.js'
import { type Imported, type ImportedCollection, importDatabase } from './import/import-database.js'
import { readDatabase } from './import/read-database.js'
import { prepare, writeFiles } from './write-files.js'

/**
 * Returns the text about an import: the collections with their types, the names and values that differ from the file,
 * and the addresses that replace those of json-server.
 */
function describeImport({ collections, losses, isJsonServer }: Imported): string {
  const renames = collections.flatMap(describeRenames)
  const parts: readonly (readonly [about: string, lines: readonly string[]])[] = [
    ['Collections, with the types found in all documents:', align(collections.map(describeCollection))],
    ['Renamed, because a name is already used or not allowed:', renames],
    ['Changed or left out:', losses],
    ['Ids, references and other properties:', align([...collections.flatMap(describeKeys), UNDECLARED])],
    [
      'The addresses of json-server, and what replaces each:',
      isJsonServer ? align(describeAddresses(collections)) : [],
    ],
  ]
  return parts
    .filter(([, lines]) => lines.length > 0)
    .map(([about, lines]) => [about, ...lines.map((line) => `  ${toPrintable(line)}`)].join('\n'))
    .join('\n\n')
}

type SummaryLine = readonly [left: string, right: string]

function align(rows: readonly SummaryLine[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`)
}

function describeCollection({ name, isSingle, documents, schema }: ImportedCollection): SummaryLine {
  const count = isSingle ? 'one object' : `${documents.length} document${documents.length === 1 ? '' : 's'}`
  const fields = Object.entries(schema).map(([field, definition]) => `${field} ${describeType(definition)}`)
  return [name, [count, ...fields].join(', ')]
}

/**
 * Returns the lines about the references of a collection, and about the field that was the key of its documents in the
 * file.
 */
function describeKeys({ name, key, schema }: ImportedCollection): readonly SummaryLine[] {
  const references = Object.entries(schema).flatMap(([field, definition]): readonly SummaryLine[] => {
    const { type, collection } = asReference(definition.type === 'array' ? definition.items : definition)
    if (type !== 'reference') return []
    const held =
      definition.type === 'array' ? 'contains the _ids of documents' : 'contains the _id of a document'
    return [
      [
        `${name}.${field}`,
        `${held} of ${collection}; GET /${name}?expand=["${field}"] returns the documents instead`,
      ],
    ]
  })
  if (key === undefined) return references
  const row: SummaryLine = [
    `${name}.${key}`,
    `is kept beside _id, and is unique: GET /${name}?q[${key}]=… finds one document`,
  ]
  return [row, ...references]
}

const UNDECLARED: SummaryLine = [
  'a property that no imported document has',
  'is rejected with 400 validation_failed until config.json declares it',
]

function describeType(definition: FieldDefinition): string {
  switch (definition.type) {
    case 'array':
      return `${describeType(definition.items)}[]`
    case 'reference':
      return `→ ${definition.collection}`
    case 'string':
    case 'integer':
    case 'number':
      return definition.unique ? `unique ${definition.type}` : definition.type
    default:
      return definition.type
  }
}

const describeRenames = ({ from, name, renamed }: ImportedCollection): readonly string[] => [
  ...(from === name ? [] : [`${from} is now ${name}`]),
  ...[...renamed].map(([field, free]) => `${from}.${field} is now ${name}.${free}`),
]

/**
 * Returns lines about the addresses of json-server, by kind, with a suitable collection as the example of each kind.
 */
function describeAddresses(collections: readonly ImportedCollection[]): readonly SummaryLine[] {
  const list = collections.find(({ isSingle }) => !isSingle)
  const single = collections.find(({ isSingle }) => isSingle)
  return [
    ...(list ? describeList(list) : []),
    ...describeRelations(collections),
    ...(single ? describeSingle(single) : []),
    ['GET /db', 'none: no request reads all collections at once'],
  ]
}

function describeList({ from, name, schema }: ImportedCollection): readonly SummaryLine[] {
  const [first] = Object.entries(schema).find(([field, { type }]) => type === 'string' && field !== 'id') ?? [
    '_id',
  ]
  const id =
    schema.id && 'unique' in schema.id ? `GET /${name}?q[id]=1, or /${name}/<_id>` : `GET /${name}/<_id>`
  return [
    [`GET /${from}`, `GET /${name}`],
    [`GET /${from}/1`, id],
    [`GET /${from}?${first}=a`, `GET /${name}?q[${first}]=a`],
    [`GET /${from}?${first}_gte=a&${first}_ne=b`, `GET /${name}?q[${first}][$gte]=a&q[${first}][$ne]=b`],
    [`GET /${from}?${first}_like=a`, `GET /${name}?q[${first}][$regex]=a`],
    [`GET /${from}?_sort=${first}&_order=desc`, `GET /${name}?sort[${first}]=-1`],
    [`GET /${from}?_page=3&_limit=10`, `GET /${name}?skip=20&limit=10&total=true`],
    [`GET /${from}?q=word`, 'none: a search must name a field'],
    [`POST /${from}`, `POST /${name}`],
    [`PUT, PATCH, DELETE /${from}/1`, `PUT, PATCH, DELETE /${name}/<_id>`],
  ]
}

/**
 * Returns the lines about `_expand` and `_embed` of json-server: the document that a reference names instead of its
 * `_id`, and the documents that refer to a document.
 */
function describeRelations(collections: readonly ImportedCollection[]): readonly SummaryLine[] {
  for (const { from, name, schema } of collections) {
    for (const [field, definition] of Object.entries(schema)) {
      const { type, collection } = asReference(definition.type === 'array' ? definition.items : definition)
      if (type !== 'reference') continue
      const target = collections.find((one) => one.name === collection)?.from ?? ''
      return [
        [`GET /${from}?_expand=${field.replace(/_?ids?$/i, '')}`, `GET /${name}?expand=["${field}"]`],
        [`GET /${target}?_embed=${from}`, `none: GET /${name}?q[${field}]=<_id> lists them`],
        [`GET /${target}/1/${from}`, `GET /${name}?q[${field}]=<_id>`],
      ]
    }
  }
  return [
    ['GET /posts?_expand=user', 'none: no field refers to a collection'],
    ['GET /users?_embed=posts', 'none: no field refers to a collection'],
  ]
}

const asReference = (definition: FieldDefinition): { readonly type: string; readonly collection?: string } =>
  definition

const describeSingle = ({
  from,
  name,
  documents: [document],
}: ImportedCollection): readonly SummaryLine[] => {
  const id = String(document?._id)
  return [
    [`GET /${from}`, `GET /${name}/${id}, or GET /${name}, a list of one`],
    [`PUT, PATCH /${from}`, `PUT, PATCH /${name}/${id}`],
  ]
}

/**
 * Converts a JSON file to a configuration and documents, writes both into a folder, and prints how names and values
 * changed. Throws `FileError`, and `SeedError` for documents that cannot be stored. If it throws, it has written no
 * file.
 */
export async function importFile(
  { file, folder }: ArgumentsOf<'import'>,
  print: (line: string) => void,
): Promise<void> {
  const imported = importDatabase(await readDatabase(file))
  if (imported.collections.length === 0)
    throw new FileError(`${file} contains neither an object nor a list of objects`)
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
    ['\nStart the server:', ...prepare(folder), 'npx collection-service --seed documents.json --watch'].join(
      '\n  ',
    ),
  )
}

const toText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const SILENT: Logger = { info() {}, warn() {}, error() {} }

/**
 * Stores the documents in memory, as the service will do at its start, so that errors are found before any file is
 * written.
 */
async function tryOut({ config, documents }: Imported): Promise<void> {
  const handler = createCollectionService(config, createMemoryAdapter({ documents }), {
    logger: SILENT,
    production: false,
  })
  await handler.ready().catch(explainSeed)
  await handler.close()
}

/** Returns the warnings that the service logs when it starts with the configuration. */
function describeWarnings({ config }: Imported): string {
  const facts = { production: false, hasAuthenticate: false }
  const warnings = findWarnings({ ...facts, plan: compileConfig(config, facts) })
  return [
    'Everyone may read and change everything:',
    ...warnings.map(({ path, message }) => `${path}: ${message}`),
  ].join('\n  ')
}
