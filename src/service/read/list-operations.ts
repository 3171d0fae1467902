import { selectWriteRules } from '../../permissions/write-rules.js'
import { isClosedTo } from '../authorize.js'
import type { Call } from '../call.js'

/** What may be done with a collection, as far as that does not depend on its documents. */
export interface Permitted {
  readonly name: string
  readonly operations: readonly ('list' | 'create' | 'read' | 'update' | 'delete')[]
}

/** The collections of which some rule grants the caller something, in the order of the configuration. */
export const listOperations = (call: Call): readonly Permitted[] =>
  [...call.service.plan.collections.values()].flatMap((collection): readonly Permitted[] => {
    const isReadable = call.access(collection) !== null
    const grants = (operation: 'create' | 'update' | 'delete'): boolean =>
      selectWriteRules(collection.permissions[operation], call.caller).length > 0
    const granted = {
      list: isReadable,
      create: grants('create') && !isClosedTo(call, collection),
      read: isReadable,
      // Nobody may change what they may not read.
      update: isReadable && grants('update'),
      delete: isReadable && grants('delete'),
    }
    const operations = OPERATIONS.filter((operation) => granted[operation])
    return operations.length > 0 ? [{ name: collection.name, operations }] : []
  })

const OPERATIONS = ['list', 'create', 'read', 'update', 'delete'] as const
