import { type Field, type JsonSchema, type Resolve, readField, readFields } from './schema.js'

/** The operations that `GET /` names. */
export type CollectionOperation = 'list' | 'create' | 'read' | 'update' | 'delete'

/** A collection, as its service describes it to this caller. */
export interface DescribedCollection {
  readonly name: string
  readonly operations: ReadonlySet<CollectionOperation>
  /** What may be read, in the order of the schema, `_id` first. */
  readonly fields: readonly Field[]
  /** What a new document takes. */
  readonly createFields: readonly Field[]
  /** What a change takes. */
  readonly updateFields: readonly Field[]
  /** The operators that each path takes in filters. */
  readonly filters: ReadonlyMap<string, readonly string[]>
  readonly sortable: ReadonlySet<string>
  readonly expandable: ReadonlySet<string>
  readonly projectable: ReadonlySet<string>
  readonly hasChanges: boolean
  /** The most documents that a list gives; `undefined` where there is no such limit. */
  readonly maxLimit: number | undefined
  /** Whether a list without a limit gives all. */
  readonly isUnlimited: boolean
}

/** A form below `/auth`. */
export interface AccountForm {
  /** `login`, `register`, … */
  readonly name: string
  readonly fields: readonly Field[]
}

/** What there is for this caller. */
export interface Description {
  readonly collections: ReadonlyMap<string, DescribedCollection>
  /** The account routes that are open; empty where the service keeps no accounts. */
  readonly accountRoutes: ReadonlySet<string>
  readonly forms: ReadonlyMap<string, AccountForm>
}

interface Parameter {
  readonly name: string
  readonly schema?: JsonSchema
  readonly content?: { readonly 'application/json'?: { readonly schema?: JsonSchema } }
  readonly description?: string
}

interface OperationObject {
  readonly parameters?: readonly JsonSchema[]
  readonly requestBody?: JsonSchema
  readonly responses?: { readonly [status: string]: JsonSchema }
}

/** `GET /`, as far as the page reads it. */
export interface Root {
  readonly collections?: readonly {
    readonly name: string
    readonly operations: readonly CollectionOperation[]
  }[]
  readonly auth?: readonly string[]
}

/** The OpenAPI document, as far as the page reads it. */
export interface OpenApi {
  readonly paths?: { readonly [path: string]: { readonly [method: string]: OperationObject } }
  readonly components?: unknown
}

/** Reads what `GET /` and `GET /_openapi.json` say to this caller. What is missing there, the page does not offer. */
export function readDescription(root: Root, api: OpenApi): Description {
  const resolve = createResolve(api)
  const paths = new Map(Object.entries(api.paths ?? {}))
  const collections = (root.collections ?? []).map((named) => readCollection(named, paths, resolve))
  const accountRoutes = new Set((root.auth ?? []).map((path) => path.replace(/^.*\/auth\//, '')))
  const forms = [...paths].flatMap(([path, methods]): (readonly [string, AccountForm])[] => {
    const [, name] = /^\/auth\/([\w-]+)$/.exec(path) ?? []
    const body = bodyOf(methods.post, resolve)
    return name && body ? [[name, { name, fields: readFields(body, resolve) }]] : []
  })
  return {
    collections: new Map(collections.map((collection) => [collection.name, collection])),
    accountRoutes,
    forms: new Map(forms.map(([name, form]) => [name, { name, fields: nameSecrets(form, new Map(forms)) }])),
  }
}

/**
 * The fields of an account's form, all of one line. Most schemas say of a secret only that it is text: what
 * registration hides, and what stands behind the identifier, is hidden everywhere.
 */
function nameSecrets(
  { name, fields }: AccountForm,
  forms: ReadonlyMap<string, AccountForm>,
): readonly Field[] {
  const known = new Map(forms.get('register')?.fields.map((field) => [field.name, field]))
  const [, secret] = forms.get('login')?.fields ?? []
  return fields.map((field) => {
    const isSecret =
      field.name === secret?.name ||
      field.name === 'current' ||
      (field.name === 'new' && name !== 'change-identifier')
    const own = known.get(field.name) ?? field
    return { ...own, kind: isSecret ? 'secret' : own.kind === 'long' ? 'text' : own.kind }
  })
}

type Paths = ReadonlyMap<string, { readonly [method: string]: OperationObject }>

function readCollection(
  { name, operations }: NonNullable<Root['collections']>[number],
  paths: Paths,
  resolve: Resolve,
): DescribedCollection {
  const all = paths.get(`/${name}`)
  const one = [...paths].find(([path]) => path.startsWith(`/${name}/{`))?.[1]
  const parameters = readParameters(all?.get, resolve)
  const limit = parameters.get('limit')
  const bound = schemaOf(limit)?.maximum
  const maxLimit = bound === undefined || bound === Number.MAX_SAFE_INTEGER ? undefined : bound
  const may = new Set(operations)
  return {
    name,
    operations: may,
    fields: readFields(shownBy(one?.get, resolve) ?? listedBy(all?.get, resolve), resolve),
    createFields: may.has('create') ? readFields(bodyOf(all?.post, resolve), resolve) : [],
    updateFields: may.has('update') ? keepRequired(readFields(bodyOf(one?.patch, resolve), resolve)) : [],
    filters: readFilters([...parameters.keys()]),
    sortable: new Set([...parameters.keys()].flatMap((key) => /^sort\[(.*)\]$/.exec(key)?.[1] ?? [])),
    expandable: new Set(namesIn(parameters.get('expand'))),
    projectable: new Set(namesIn(parameters.get('project'))),
    hasChanges: paths.has(`/${name}/changes`),
    maxLimit,
    isUnlimited: /\ball\b/.test(limit?.description ?? '') && maxLimit === undefined,
  }
}

/** A patch needs no field; but what `null` does not remove, has to stay. */
const keepRequired = (fields: readonly Field[]): readonly Field[] =>
  fields.map((field) => ({ ...field, isRequired: !field.isNullable && field.kind !== 'json' }))

function readParameters(
  described: OperationObject | undefined,
  resolve: Resolve,
): ReadonlyMap<string, Parameter> {
  const all = (described?.parameters ?? []).map((one) => resolve(one) as unknown as Parameter)
  return new Map(all.map((parameter) => [parameter.name, parameter]))
}

const schemaOf = (parameter: Parameter | undefined): JsonSchema | undefined =>
  parameter?.schema ?? parameter?.content?.['application/json']?.schema

const namesIn = (parameter: Parameter | undefined): readonly string[] =>
  (schemaOf(parameter)?.items?.enum ?? []).map(String)

function readFilters(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const filters = new Map<string, string[]>()
  for (const name of names) {
    const [, path, operator = '$eq'] = /^q\[([^\]]+)\](?:\[(\$\w+)\])?$/.exec(name) ?? []
    if (path === undefined || path === '$or' || operator === '$options') continue
    filters.set(path, [...(filters.get(path) ?? []), operator])
  }
  return filters
}

const contentOf = (part: JsonSchema | undefined, resolve: Resolve): JsonSchema | undefined => {
  const { content } = (part ? resolve(part) : {}) as {
    readonly content?: { readonly [type: string]: { readonly schema?: JsonSchema } }
  }
  return content?.['application/json']?.schema
}

const bodyOf = (described: OperationObject | undefined, resolve: Resolve): JsonSchema | undefined => {
  const found = contentOf(described?.requestBody, resolve)
  return found && resolve(found)
}

/** The document of an answer; without what `expand` puts in place of its references. */
function shownBy(described: OperationObject | undefined, resolve: Resolve): JsonSchema | undefined {
  const found = contentOf(described?.responses?.['200'], resolve)
  return found && resolve(found)
}

function listedBy(described: OperationObject | undefined, resolve: Resolve): JsonSchema | undefined {
  const { items } = shownBy(described, resolve) ?? {}
  return items && resolve(items)
}

/** References lead to a part of the same document. */
function createResolve(api: OpenApi): Resolve {
  const resolve = (schema: JsonSchema, depth = 0): JsonSchema => {
    const { $ref, ...own } = schema
    if ($ref === undefined || depth > 8) return schema
    const found = $ref
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>(
        (value, part) =>
          (value as { readonly [name: string]: unknown } | undefined)?.[
            part.replace(/~1/g, '/').replace(/~0/g, '~')
          ],
        api,
      )
    return { ...resolve((found ?? {}) as JsonSchema, depth + 1), ...own }
  }
  return (schema) => resolve(schema)
}

/** The field of a path, through objects. */
export function findField(fields: readonly Field[], path: string): Field | undefined {
  const [name, ...rest] = path.split('.')
  const field = fields.find((one) => one.name === name)
  return rest.length === 0 || !field ? field : findField(field.fields, rest.join('.'))
}

/** A field of which nothing is known. */
export const unknownField = (name: string): Field => readField(name, {}, (schema) => schema)
