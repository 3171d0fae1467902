import { findRights } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'

/** The operations on a collection that a caller may use. They do not depend on individual documents. */
export interface Permitted {
  readonly name: string
  readonly operations: readonly ('list' | 'create' | 'read' | 'update' | 'delete')[]
}

const OPERATIONS = ['list', 'create', 'read', 'update', 'delete'] as const

/** Returns the collections in which a rule grants the caller an operation, in the order of the configuration. */
export const listOperations = ({ service, caller }: Call): readonly Permitted[] =>
  [...service.plan.collections.values()].flatMap((collection): readonly Permitted[] => {
    const rights = findRights(service, collection, caller)
    const operations = OPERATIONS.filter((name) => rights[name === 'list' ? 'read' : name].length > 0)
    return operations.length > 0 ? [{ name: collection.name, operations }] : []
  })
