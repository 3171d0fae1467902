import { type Field, type JsonSchema, type Resolve, readField, readFields } from './schema.js'

/** The operations that the answer to `GET /` can contain. */
export type CollectionOperation = 'list' | 'create' | 'read' | 'update' | 'delete'

/** A collection as the service describes it to this caller. */
export interface DescribedCollection {
  readonly name: string
  readonly operations: ReadonlySet<CollectionOperation>
  /** The fields that the caller may read: `_id`, then the fields of the schema in its order. */
  readonly fields: readonly Field[]
  /** The fields that the body of a create may contain. */
  readonly createFields: readonly Field[]
  /** The fields that the body of an update may contain. */
  readonly updateFields: readonly Field[]
  /** The operators that filters support, by path. */
  readonly filters: ReadonlyMap<string, readonly string[]>
  readonly sortable: ReadonlySet<string>
  readonly expandable: ReadonlySet<string>
  readonly projectable: ReadonlySet<string>
  /** The paths that can divide documents into groups. */
  readonly groupable: readonly string[]
  /** The paths whose values can be added. */
  readonly summable: readonly string[]
  readonly hasChanges: boolean
  /** The maximum number of documents in a list; `undefined` if there is no maximum. */
  readonly maxLimit: number | undefined
  /** Whether a list without a limit returns all documents. */
  readonly isUnlimited: boolean
}

/** The form for a route below `/auth`. */
export interface AccountForm {
  /** The last segment of the route: `login`, `register`, … */
  readonly name: string
  readonly fields: readonly Field[]
}

/** The collections and account forms that this caller may use. */
export interface Description {
  readonly collections: ReadonlyMap<string, DescribedCollection>
  /** The public account routes; empty if the service has no accounts. */
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

/** The part of `GET /` that the admin UI reads. */
export interface Root {
  readonly collections?: readonly {
    readonly name: string
    readonly operations: readonly CollectionOperation[]
  }[]
  readonly auth?: readonly string[]
}

/** The part of the OpenAPI document that the admin UI reads. */
export interface OpenApi {
  readonly paths?: { readonly [path: string]: { readonly [method: string]: OperationObject } }
  readonly components?: unknown
}

/**
 * Reads the answers to `GET /` and `GET /_openapi.json` for this caller. The admin UI offers only the operations in
 * them.
 */
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
 * Returns the fields of an account form, all as single-line inputs. Most schemas describe a secret only as a string, so
 * a field is treated as a secret in every form if it is a secret in the registration, or the second field of the login,
 * which follows the identifier.
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
  const ofGroups = readParameters(paths.get(`/${name}/aggregate`)?.get, resolve)
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
    sortable: new Set(pathsOf('sort', parameters)),
    expandable: new Set(namesIn(parameters.get('expand'))),
    projectable: new Set(namesIn(parameters.get('project'))),
    groupable: pathsOf('by', ofGroups),
    summable: namesIn(ofGroups.get('sum')),
    hasChanges: paths.has(`/${name}/changes`),
    maxLimit,
    isUnlimited: /\ball\b/.test(limit?.description ?? '') && maxLimit === undefined,
  }
}

/** Marks the fields of an update as required if `null` cannot remove them. */
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

/** Returns the paths in the names of parameters, such as `sort[title]`. */
const pathsOf = (name: string, parameters: ReadonlyMap<string, Parameter>): readonly string[] =>
  [...parameters.keys()].flatMap((key) => (key.startsWith(`${name}[`) ? key.slice(name.length + 1, -1) : []))

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

/** Returns the schema of the document in an answer. */
function shownBy(described: OperationObject | undefined, resolve: Resolve): JsonSchema | undefined {
  const found = contentOf(described?.responses?.['200'], resolve)
  return found && resolve(found)
}

function listedBy(described: OperationObject | undefined, resolve: Resolve): JsonSchema | undefined {
  const { items } = shownBy(described, resolve) ?? {}
  return items && resolve(items)
}

/** Creates the function that resolves a `$ref` inside the OpenAPI document. */
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

/** Returns the field at a dotted path, which may lead through objects. */
export function findField(fields: readonly Field[], path: string): Field | undefined {
  const [name, ...rest] = path.split('.')
  const field = fields.find((one) => one.name === name)
  return rest.length === 0 || !field ? field : findField(field.fields, rest.join('.'))
}

/** Returns a field whose schema is unknown. */
export const unknownField = (name: string): Field => readField(name, {}, (schema) => schema)
