import type { AuthPlan, Collection, ServicePlan } from '../config/plan.js'
import type { KnownCaller } from '../permissions/caller.js'
import { EVERYONE, type Operation, type Rule } from '../permissions/grants.js'
import { selectReadRules } from '../permissions/read-gate.js'
import { selectWriteRules } from '../permissions/write-rules.js'
import { isClosedTo, rulesToCreate } from './authorize.js'

/** Whose rights are asked for: a caller's, those of nobody who is signed in (`null`), or of all callers together (`undefined`). */
export type Reader = KnownCaller | null | undefined

/** The rules that may let a reader do something in a collection, by operation. */
export type Rights = { readonly [operation in Operation]: readonly Rule[] }

/** The parts of a service on which rights depend. */
export interface Governed {
  readonly plan: ServicePlan
  readonly accounts: AuthPlan | null
}

/** The rights of a reader; those of all callers together are all that anybody has. */
export function findRights(service: Governed, collection: Collection, reader: Reader): Rights {
  const { permissions } = collection
  if (reader === undefined) return findAllRights(service, collection)
  const asking = { caller: reader, service }
  const read = selectReadRules(permissions, reader)
  // A caller who may not read may not change anything.
  const select = (operation: 'update' | 'delete'): readonly Rule[] =>
    read.length > 0 ? selectWriteRules(permissions[operation], reader) : []
  return {
    read,
    create: isClosedTo(asking, collection) ? [] : rulesToCreate(asking, collection),
    update: select('update'),
    delete: select('delete'),
  }
}

function findAllRights({ accounts }: Governed, collection: Collection): Rights {
  const { permissions } = collection
  const all = (operation: Operation): readonly Rule[] =>
    [...permissions[operation].values()].filter((rule) => rule !== null)
  const isQuiet = accounts?.users === collection && accounts.requiresVerified
  const create = all('create').filter(({ subject }) => !(isQuiet && subject === EVERYONE))
  return { read: all('read'), create, update: all('update'), delete: all('delete') }
}
