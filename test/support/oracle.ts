/**
 * What a list must answer, computed the slow and obvious way from the configuration, the stored documents, the caller
 * and the query. Imports nothing of the library: it is the second opinion.
 */

type Json = { readonly [name: string]: unknown }

export type OracleCondition = {
  readonly path: string
  readonly operator: string
  readonly values: readonly unknown[]
}

export interface OracleQuery {
  /** Groups of which one must hold. */
  readonly or?: readonly (readonly OracleCondition[])[]
  readonly conditions: readonly OracleCondition[]
  readonly ignoreCase?: boolean
  readonly sort: readonly { readonly path: string; readonly descending: boolean }[]
  readonly skip?: number
  readonly limit?: number
  readonly project?: readonly string[]
  readonly expand?: readonly string[]
}

export type OracleCaller = Json & { readonly id: string; readonly roles: readonly string[] }

interface Grant {
  readonly subject: string
  readonly pick?: readonly string[]
  readonly omit?: readonly string[]
  readonly where?: Json
}

const SYSTEM: Json = {
  _id: { type: 'string' },
  createdAt: { type: 'timestamp' },
  updatedAt: { type: 'timestamp' },
  createdBy: { type: 'string' },
}

export interface OracleCollection {
  readonly schema: Json
  readonly permissions: Json
  readonly additionalProperties?: boolean
}

/** A collection that others refer to, and what is stored in it. */
export interface OracleTarget {
  readonly collection: OracleCollection
  readonly documents: readonly Json[]
}

/** Where references lead; where there are `users`, `createdBy` leads there. */
export interface OracleOthers {
  readonly collections: { readonly [name: string]: OracleTarget }
  /** The most documents under one array. */
  readonly expanded?: number
  /** The names of claims. */
  readonly claims?: readonly string[]
}

/** All documents as the caller sees them, in the order of `_id`. */
export function viewsOf(
  collection: OracleCollection,
  documents: readonly Json[],
  caller: OracleCaller | null,
): Json[] {
  const fields: Json = { ...collection.schema, ...SYSTEM }
  const grants = grantsOf(collection.permissions, caller)
  const views = documents.flatMap((document) => {
    const matching = grants.filter((grant) => grantMatches(grant, document, caller, fields))
    if (matching.length === 0) return []
    const isShown = (name: string): boolean => matching.some((grant) => shows(grant, name))
    return [viewOf(document, fields, isShown, collection.additionalProperties ?? false)]
  })
  return views.sort((a, b) => orderOf(a._id, b._id))
}

/** The read grants that show a caller this document, by their subjects and their places among the rules. */
export const readersOf = (
  { schema, permissions }: OracleCollection,
  document: Json,
  caller: OracleCaller | null,
): readonly string[] =>
  grantsOf(permissions, caller).flatMap((grant, i) =>
    grantMatches(grant, document, caller, { ...schema, ...SYSTEM }) ? [`${grant.subject} ${i}`] : [],
  )

/** What a rule that writes says, as far as it decides whether it runs. */
export interface OracleRule extends Grant {
  readonly set?: Json
  readonly check?: Json
}

/** The rules under which a caller may update or delete this document, in the order of their trial. */
export function writeRulesOf(
  { schema, permissions }: OracleCollection,
  operation: 'update' | 'delete',
  document: Json,
  caller: OracleCaller | null,
): readonly OracleRule[] {
  const ruleOf = (subject: string): unknown => {
    const grant = Object.hasOwn(permissions, subject) ? permissions[subject] : undefined
    return typeof grant === 'boolean' ? grant : (grant as Json | undefined)?.[operation]
  }
  const mentions = (subject: string): boolean => ruleOf(subject) !== undefined
  const isRole = (subject: string): boolean => !['*', 'user', 'owner'].includes(subject)
  const roles = caller
    ? Object.keys(permissions).filter((s) => isRole(s) && caller.roles.includes(s) && mentions(s))
    : []
  const deciding = roles.length > 0 ? roles : caller && mentions('user') ? ['user'] : ['*']
  return [...deciding, ...(caller ? ['owner'] : [])].flatMap((subject): OracleRule[] => {
    const rule = ruleOf(subject)
    if (!rule) return []
    const grants: readonly OracleRule[] =
      rule === true ? [{ subject }] : [rule as object].flat().map((one) => ({ subject, ...one }))
    return grants.filter((grant) => grantMatches(grant, document, caller, { ...schema, ...SYSTEM }))
  })
}

/** The documents that the answer must hold, or the status with which it must refuse. */
export function expectList(
  collection: OracleCollection,
  documents: readonly Json[],
  caller: OracleCaller | null,
  query: OracleQuery,
  others: OracleOthers = { collections: {} },
): readonly Json[] | 400 | 401 | 403 {
  const fields: Json = { ...collection.schema, ...SYSTEM }
  const grants = grantsOf(collection.permissions, caller)
  if (grants.length === 0) return caller === null ? 401 : 403
  const isShownBySome = (path: string): boolean =>
    definitionOf(fields, path) !== undefined && grants.some((grant) => shows(grant, topOf(path)))
  const deciding = grantsThatDecide(grants, fields, others.claims ?? [])
  const isShownByAll = (path: string): boolean => deciding.every((grant) => shows(grant, topOf(path)))
  const asked = [...query.conditions, ...(query.or ?? []).flat()]
  const named = [...asked.map(({ path }) => path), ...(query.project ?? [])]
  if (!named.every(isShownBySome)) return 400
  if (!query.sort.every(({ path }) => isShownBySome(path) && isShownByAll(path))) return 400

  const expand = { paths: query.expand ?? [], collection, caller, others }
  if (expand.paths.length > 0 && !followAll(expand)) return 400

  const views = viewsOf(collection, documents, caller)
  const isMet = (view: Json, { path, operator, values }: OracleCondition): boolean =>
    holds(view, fields, path, operator, values, query.ignoreCase ?? false)
  const found = views.filter(
    (view) =>
      query.conditions.every((condition) => isMet(view, condition)) &&
      (!query.or?.length || query.or.some((group) => group.every((condition) => isMet(view, condition)))),
  )
  const last = query.sort.at(-1)
  const keys = [...query.sort, { path: '_id', descending: last?.descending ?? false }]
  const sorted = found.sort((a, b) => {
    for (const { path, descending } of keys) {
      const order = orderOf(typedAt(a, fields, path), typedAt(b, fields, path))
      if (order !== 0) return descending ? -order : order
    }
    return 0
  })
  const skip = query.skip ?? 0
  const page = sorted.slice(skip, query.limit === undefined ? undefined : skip + query.limit)
  const projected = query.project ? page.map((view) => projectView(view, query.project ?? [])) : page
  return expand.paths.length === 0 ? projected : projected.map((view) => expandView(view, expand))
}

/** What is expanded for whom in the documents of a collection. */
export interface OracleExpand {
  readonly paths: readonly string[]
  readonly collection: OracleCollection
  readonly caller: OracleCaller | null
  readonly others: OracleOthers
}

/** A reference that is expanded, and what is expanded in its target. */
interface Step {
  readonly path: string
  readonly target: string
  readonly isList: boolean
  readonly onward: readonly Step[]
}

/** The references with which names begin, in the order of fields; `undefined` where a name is refused. */
function followAll({ paths, collection, caller, others }: OracleExpand, level = 1): Step[] | undefined {
  const fields: Json = { ...collection.schema, ...SYSTEM }
  const grants = grantsOf(collection.permissions, caller)
  const behind = new Map<string, string[]>()
  for (const path of paths) {
    const names = path.split('.')
    const prefixes = names.map((_, i) => names.slice(0, i + 1).join('.'))
    const first = prefixes.find((prefix) => targetOf(fields, prefix, others) !== undefined)
    if (level > 3 || first === undefined || !grants.some((grant) => shows(grant, topOf(first))))
      return undefined
    const rests = behind.get(first) ?? []
    behind.set(first, path === first ? rests : [...rests, path.slice(first.length + 1)])
  }
  const steps = [...behind].map(([path, rests]): Step | undefined => {
    const target = targetOf(fields, path, others) ?? ''
    const isList = definitionOf(fields, path)?.type === 'array'
    const next = others.collections[target]?.collection
    if (rests.length === 0) return { path, target, isList, onward: [] }
    const onward = next && followAll({ paths: rests, collection: next, caller, others }, level + 1)
    return onward && { path, target, isList, onward }
  })
  const place = ({ path }: Step): number => Object.keys(fields).indexOf(topOf(path))
  const known = steps.filter((step) => step !== undefined)
  return known.length < steps.length ? undefined : known.sort((a, b) => place(a) - place(b))
}

/** The collection to which a field refers, if it does. */
function targetOf(fields: Json, path: string, { collections }: OracleOthers): string | undefined {
  if (path === 'createdBy') return Object.hasOwn(collections, 'users') ? 'users' : undefined
  const definition = definitionOf(fields, path)
  const element = definition?.type === 'array' ? (definition.items as Json) : definition
  return element?.type === 'reference' ? String(element.collection) : undefined
}

/** A document whose references are still to be replaced. */
interface Place {
  readonly view: Json
  readonly steps: readonly Step[]
  /** How many documents there is still room for under the array around it. */
  readonly room?: { left: number }
}

/** The document with what may be read in the place of what refers to it, level by level. */
export function expandView(shown: Json, expand: OracleExpand): Json {
  const { caller, others } = expand
  const seen = Object.entries(others.collections).map(([name, { collection, documents }]) => {
    const views = viewsOf(collection, documents, caller)
    return [name, new Map(views.map((view) => [view._id, view]))] as const
  })
  const targets = new Map(seen)
  const root: Place = { view: structuredClone(shown), steps: followAll(expand) ?? [] }
  for (let level: Place[] = [root]; level.length > 0; ) {
    const next: Place[] = []
    for (const { view, steps, room: around } of level) {
      for (const { path, target, isList, onward } of steps) {
        const value = valueAt(view, path)
        if (Array.isArray(value) !== isList) continue
        const room = around ?? (Array.isArray(value) ? { left: others.expanded ?? 100 } : undefined)
        const replace = (id: unknown): unknown => {
          const found = targets.get(target)?.get(id)
          if (!found || (room && room.left-- <= 0)) return id
          const inside = structuredClone(found)
          next.push({ view: inside, steps: onward, ...(room ? { room } : {}) })
          return inside
        }
        if (value !== undefined) putAt(view, path, Array.isArray(value) ? value.map(replace) : replace(value))
      }
    }
    level = next
  }
  return root.view
}

function putAt(view: Json, path: string, value: unknown): void {
  const names = path.split('.')
  const around = names.slice(0, -1).reduce<unknown>((inner, name) => (inner as Json)[name], view)
  Object.assign(around as object, { [names.at(-1) ?? '']: value })
}

const topOf = (path: string): string => path.split('.')[0] ?? path

function grantsOf(permissions: Json, caller: OracleCaller | null): readonly Grant[] {
  return Object.entries(permissions).flatMap(([subject, grant]): Grant[] => {
    const isMine =
      subject === '*' ||
      (caller !== null && (subject === 'user' || subject === 'owner' || caller.roles.includes(subject)))
    if (!isMine || grant === false) return []
    if (grant === true) return [{ subject }]
    const rules = grant as { read?: boolean | object; pick?: unknown; omit?: unknown }
    if (rules.pick !== undefined || rules.omit !== undefined || rules.read === true) return [{ subject }]
    return rules.read ? [rules.read].flat().map((rule) => ({ subject, ...rule })) : []
  })
}

const shows = (grant: Grant, name: string): boolean =>
  name === '_id' || ((grant.pick?.includes(name) ?? true) && !(grant.omit?.includes(name) ?? false))

/** The grants but for those whose claims are not read (CONTRACT.md §5, "Claims"). */
function grantsThatDecide(
  grants: readonly Grant[],
  fields: Json,
  claims: readonly string[],
): readonly Grant[] {
  const usesClaims = ({ where = {} }: Grant): boolean =>
    claims.some((claim) => JSON.stringify(where).includes(`"$user.${claim}"`))
  const general = grants.filter(
    ({ subject, where = {} }) => subject !== 'owner' && Object.keys(where).length === 0,
  )
  const covers = (one: Grant, other: Grant): boolean =>
    [...Object.keys(fields), 'a name that no field has'].every(
      (name) => !shows(other, name) || shows(one, name),
    )
  return grants.filter((grant) => !usesClaims(grant) || !general.some((one) => covers(one, grant)))
}

function grantMatches(grant: Grant, document: Json, caller: OracleCaller | null, fields: Json): boolean {
  if (grant.subject === 'owner' && document.createdBy !== caller?.id) return false
  return meets(grant.where ?? {}, document, caller, fields)
}

function meets(where: Json, document: Json, caller: OracleCaller | null, fields: Json): boolean {
  return Object.entries(where).every(([path, condition]) => {
    if (path === '$or') return (condition as Json[]).some((part) => meets(part, document, caller, fields))
    if (path === '$and') return (condition as Json[]).every((part) => meets(part, document, caller, fields))
    const isOperators = typeof condition === 'object' && condition !== null && !Array.isArray(condition)
    const operators = isOperators ? Object.entries(condition as Json) : [['$eq', condition] as const]
    return operators.every(([operator, operand]) => {
      const value = resolve(operand, caller)
      if (value === undefined || !fits(definitionOf(fields, path), operator, value, operand)) return false
      return holds(document, fields, path, operator, [value], false)
    })
  })
}

/** The time at which every question is asked. */
export const NOW = '2026-01-01T00:00:00.000Z'

/** The operand with what the caller holds; `undefined` where the caller does not. */
function resolve(operand: unknown, caller: OracleCaller | null): unknown {
  if (operand === '$now') return NOW
  if (typeof operand !== 'string' || !operand.startsWith('$user.')) return operand
  const name = operand.slice('$user.'.length)
  const held = name === '_id' ? caller?.id : caller && Object.hasOwn(caller, name) ? caller[name] : undefined
  return held ?? undefined
}

/** Whether what a caller holds has a form that the field and the operator can take. */
function fits(definition: Json | undefined, operator: string, value: unknown, written: unknown): boolean {
  if (typeof written !== 'string' || !written.startsWith('$')) return true
  const isList = operator === '$in' || operator === '$nin'
  const values = isList ? value : [value]
  return Array.isArray(values) && values.every((one) => isOfType(definition?.type, one))
}

function definitionOf(fields: Json, path: string): Json | undefined {
  let level: Json | undefined = fields
  let definition: Json | undefined
  for (const name of path.split('.')) {
    definition = level && Object.hasOwn(level, name) ? (level[name] as Json) : undefined
    level = definition?.type === 'object' ? (definition.properties as Json) : undefined
  }
  return definition?.type === 'hash' ? undefined : definition
}

/** The document as the caller sees it: hidden fields are absent, and undeclared ones unless they are let in. */
function viewOf(
  document: Json,
  fields: Json,
  isShown: (name: string) => boolean,
  showsUndeclared: boolean,
): Json {
  const view: { [name: string]: unknown } = {}
  for (const [name, value] of Object.entries(document)) {
    const definition = Object.hasOwn(fields, name) ? (fields[name] as Json) : undefined
    if (definition?.type === 'hash' || !isShown(name)) continue
    if (definition) view[name] = declaredPart(definition, value)
    else if (showsUndeclared && !name.startsWith('_')) view[name] = value
  }
  return view
}

function declaredPart(definition: Json, value: unknown): unknown {
  const { items } = definition
  if (items && Array.isArray(value)) return value.map((element) => declaredPart(items as Json, element))
  if (definition.type !== 'object' || typeof value !== 'object' || value === null || Array.isArray(value))
    return value
  const properties = definition.properties as Json
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => Object.hasOwn(properties, name))
      .map(([name, inner]) => [name, declaredPart(properties[name] as Json, inner)]),
  )
}

function valueAt(document: Json, path: string): unknown {
  let value: unknown = document
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined
    value = (value as Json)[name]
  }
  return value
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'string':
    case 'reference':
      return typeof value === 'string'
    case 'timestamp':
      return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
    case 'number':
      return typeof value === 'number'
    case 'integer':
      return Number.isInteger(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    default:
      return value !== undefined && value !== null
  }
}

function typedAt(document: Json, fields: Json, path: string): unknown {
  const value = valueAt(document, path)
  return isOfType(definitionOf(fields, path)?.type, value) ? value : undefined
}

function holds(
  document: Json,
  fields: Json,
  path: string,
  operator: string,
  operands: readonly unknown[],
  ignoreCase: boolean,
): boolean {
  const definition = definitionOf(fields, path) ?? {}
  const value = typedAt(document, fields, path)
  const isArray = definition.type === 'array'
  const items = (definition.items as Json | undefined)?.type
  const elements = isArray
    ? ((value ?? []) as unknown[]).filter((element) => isOfType(items, element))
    : [value]
  const some = (test: (element: unknown) => boolean): boolean =>
    elements.some((e) => e !== undefined && test(e))
  const equals = (operand: unknown): boolean =>
    operand === null ? value === undefined : some((element) => element === operand)
  const [first] = operands
  switch (operator) {
    case '$eq':
      return operands.some(equals)
    case '$ne':
      return operands.every((operand) => !equals(operand))
    case '$in':
      return (first as unknown[]).some(equals)
    case '$nin':
      return !(first as unknown[]).some(equals)
    case '$exists':
      return (value !== undefined) === first
    case '$gt':
      return some((element) => sameKind(element, first) && orderOf(element, first) > 0)
    case '$gte':
      return some((element) => sameKind(element, first) && orderOf(element, first) >= 0)
    case '$lt':
      return some((element) => sameKind(element, first) && orderOf(element, first) < 0)
    case '$lte':
      return some((element) => sameKind(element, first) && orderOf(element, first) <= 0)
    case '$regex':
      return operands.some((pattern) =>
        some((e) => new RegExp(String(pattern), ignoreCase ? 'iu' : 'u').test(String(e))),
      )
    default:
      throw new Error(`the oracle knows no ${operator}`)
  }
}

const sameKind = (a: unknown, b: unknown): boolean => typeof a === typeof b

/** Missing, false, true, numbers, strings by code point. */
function orderOf(a: unknown, b: unknown): number {
  const kinds = ['undefined', 'boolean', 'number', 'string']
  if (typeof a !== typeof b) return kinds.indexOf(typeof a) - kinds.indexOf(typeof b)
  if (typeof a === 'string' && typeof b === 'string') {
    const [x, y] = [[...a], [...b]].map((text) => text.map((character) => character.codePointAt(0) ?? 0))
    for (let i = 0; i < Math.min(x?.length ?? 0, y?.length ?? 0); i++) {
      const difference = (x?.[i] ?? 0) - (y?.[i] ?? 0)
      if (difference !== 0) return difference
    }
    return (x?.length ?? 0) - (y?.length ?? 0)
  }
  return a === undefined || a === b ? 0 : (a as number) < (b as number) ? -1 : 1
}

function projectView(view: Json, paths: readonly string[]): Json {
  const keep = (value: Json, prefix: string): Json =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
        const path = prefix + name
        if (path === '_id' || paths.includes(path)) return [[name, inner]]
        const isParent = paths.some((wanted) => wanted.startsWith(`${path}.`))
        if (!isParent || typeof inner !== 'object' || inner === null || Array.isArray(inner)) return []
        return [[name, keep(inner as Json, `${path}.`)]]
      }),
    )
  return keep(view, '')
}
