import type { KnownCaller } from '../permissions/caller.js'
import { selectWriteRules } from '../permissions/write-rules.js'
import { gateOf, isClosedTo } from './authorize.js'
import type { ServiceContext } from './context.js'

/** What may be done with a collection, as far as that does not depend on its documents. */
export interface Permitted {
  readonly name: string
  readonly operations: readonly ('list' | 'create' | 'read' | 'update' | 'delete')[]
}

/** The collections of which some rule grants a caller something, in the order of the configuration. */
export const listOperations = (context: ServiceContext, caller: KnownCaller | null): readonly Permitted[] =>
  [...context.plan.collections.values()].flatMap((collection): readonly Permitted[] => {
    const isReadable = gateOf(context, collection, caller) !== null
    const grants = (operation: 'create' | 'update' | 'delete'): boolean =>
      selectWriteRules(collection.permissions[operation], caller).length > 0
    const granted = {
      list: isReadable,
      create: grants('create') && !isClosedTo(context, collection, caller),
      read: isReadable,
      // Nobody may change what they may not read.
      update: isReadable && grants('update'),
      delete: isReadable && grants('delete'),
    }
    const operations = OPERATIONS.filter((operation) => granted[operation])
    return operations.length > 0 ? [{ name: collection.name, operations }] : []
  })

const OPERATIONS = ['list', 'create', 'read', 'update', 'delete'] as const
