import { selectReadRules } from '../../permissions/read-gate.js'
import { selectWriteRules } from '../../permissions/write-rules.js'
import { isClosedTo, rulesToCreate } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'

/** The operations on a collection that a caller may use. They do not depend on individual documents. */
export interface Permitted {
  readonly name: string
  readonly operations: readonly ('list' | 'create' | 'read' | 'update' | 'delete')[]
}

/** Returns the collections in which a rule grants the caller an operation, in the order of the configuration. */
export const listOperations = (call: Call): readonly Permitted[] =>
  [...call.service.plan.collections.values()].flatMap((collection): readonly Permitted[] => {
    const isReadable = selectReadRules(collection.permissions, call.caller).length > 0
    const grants = (operation: 'update' | 'delete'): boolean =>
      selectWriteRules(collection.permissions[operation], call.caller).length > 0
    const granted = {
      list: isReadable,
      create: rulesToCreate(call, collection).length > 0 && !isClosedTo(call, collection),
      read: isReadable,
      // A caller without read rights may not change or delete anything.
      update: isReadable && grants('update'),
      delete: isReadable && grants('delete'),
    }
    const operations = OPERATIONS.filter((operation) => granted[operation])
    return operations.length > 0 ? [{ name: collection.name, operations }] : []
  })

const OPERATIONS = ['list', 'create', 'read', 'update', 'delete'] as const
