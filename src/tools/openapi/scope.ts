import type { Collection, CookiePlan } from '../../core/config/plan.js'
import { SYSTEM_FIELD_PLANS } from '../../core/fields/compile-fields.js'
import type { Field } from '../../core/fields/field-type.js'
import { USERS } from '../../core/fields/schema/names.js'
import type { JsonSchema } from '../../core/json/json-schema.js'
import { namesOf } from '../../core/permissions/read-access.js'
import { targetOf } from '../../core/query/compile-expand.js'
import type { ReadableNames } from '../../core/query/reading.js'
import { findRights, type Rights, type RightsHolder } from '../../core/request/authorize.js'
import type { Service } from '../../core/request/call.js'
import { type Components, createComponents } from './components.js'
import { describeAny, type SchemaUse, type ValueOptions } from './schemas/value-schema.js'

/** The parts of a service that its description depends on. */
export interface DescribedService extends Pick<Service, 'plan' | 'accounts' | 'deliver' | 'page'> {
  /** Whether the routes of the service's own accounts exist. */
  readonly hasAccountRoutes: boolean
  /** Whether the host identifies callers. */
  readonly hasHost: boolean
  /** Whether the host has hooks, which may reject writes. */
  readonly hasHooks: boolean
}

/** Returns the cookie of sessions; `undefined` if sessions are not in cookies. */
export const findCookie = ({ hasAccountRoutes, accounts }: DescribedService): CookiePlan | undefined =>
  (hasAccountRoutes && accounts?.cookie) || undefined

/** The service, the reader to whom it is described, and the components that were referred to so far. */
export interface DescriptionScope {
  readonly service: DescribedService
  readonly reader: RightsHolder
  readonly components: Components
  rights(collection: Collection): Rights
  /** Returns the names that the reader may read in a collection. There are none without a right to read. */
  names(collection: Collection): ReadableNames
  /** Returns references to the components of query parameters. Several routes share them, so `make` runs only once. */
  parametersOf(collection: Collection, name: string, make: () => readonly JsonSchema[]): readonly JsonSchema[]
  /** Returns the collection to which a field refers, if the reader may read that collection. */
  findTarget(field: Field): Collection | undefined
}

/** Creates the scope of a description. */
export function createScope(service: DescribedService, reader: RightsHolder): DescriptionScope {
  const rights = new Map<Collection, Rights>()
  const names = new Map<Collection, ReadableNames>()
  const parameters = new Map<string, readonly JsonSchema[]>()
  const scope: DescriptionScope = {
    service,
    reader,
    components: createComponents(),
    rights: (collection) => remember(rights, collection, () => findRights(service, collection, reader)),
    names: (collection) => remember(names, collection, () => findNames(collection, scope.rights(collection))),
    parametersOf: ({ name: collection }, name, make) => remember(parameters, `${collection}.${name}`, make),
    findTarget(field) {
      const isAccount = service.accounts !== null && field.path === 'createdBy'
      const target = service.plan.collections.get((isAccount ? USERS : targetOf(field)) ?? '')
      return target && scope.rights(target).read.length > 0 ? target : undefined
    },
  }
  return scope
}

const findNames = (collection: Collection, { read }: Rights): ReadableNames =>
  read.length > 0 ? namesOf(collection, read) : NONE

const NONE: ReadableNames = { find: () => undefined, paths: () => [] }

function remember<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  const found = known.get(key) ?? make()
  known.set(key, found)
  return found
}

/** Whether the reader may read a top-level property of a collection. */
export const isReadable = (scope: DescriptionScope, collection: Collection, name: string): boolean =>
  scope.names(collection).find(name) !== undefined

/** Returns the options for describing the values of a collection. */
export const valueOptions = (
  { components, findTarget }: DescriptionScope,
  { storage }: Collection,
  use: SchemaUse,
  refer: (target: Collection, own: JsonSchema) => JsonSchema = (_, own) => own,
): ValueOptions => ({
  use,
  describeAny() {
    const self = { $ref: '#/components/schemas/service.json' }
    return components.refer('schemas', 'service.json', () => describeAny(self))
  },
  describeReference(field) {
    const target = findTarget(field)
    return target ? refer(target, { type: 'string', 'x-collection': target.name }) : { type: 'string' }
  },
  indexed: new Set(storage.indexes.flatMap(({ fields }) => fields.map(({ path }) => path))),
})

/** The system fields except `_id`. */
export const SYSTEM: readonly Field[] = SYSTEM_FIELD_PLANS.filter(({ name }) => name !== '_id')
