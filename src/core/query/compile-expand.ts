import type { Field } from '../fields/field-type.js'
import { suggest } from '../fields/schema/names.js'
import { ConditionFault, elementOf } from './condition.js'
import { isTold, unknownField } from './query-string.js'
import type { QueryReading, ReadableNames } from './reading.js'

/** A reference, or an array of them, that is replaced by the documents that it names. */
export interface Expansion {
  /** The dotted path in a document. */
  readonly path: string
  /** The collection of those documents. */
  readonly target: string
  /** Whether an array of references is declared there. A stored value of another type stays as it is. */
  readonly isList: boolean
  /** The expansions inside these documents, in the order of their fields. */
  readonly onward: readonly Expansion[]
}

/** The names that a caller may read of other collections. */
export interface Following {
  /** The collection of the documents that a field names, if it names any. */
  targetOf(field: Field): string | undefined
  /** The names that the caller may read there; `null` if none. */
  readable(collection: string): ReadableNames | null
}

/** The most references on the way of one name (CONTRACT.md §2, "Expand"). */
export const MAX_LEVELS = 3

/** An expansion that longer names of the same query may extend. */
interface OpenExpansion extends Expansion {
  readonly onward: OpenExpansion[]
}

/** Compiles the names of references; each is checked as in a query of the collection that has it. */
export function compileExpand(
  paths: readonly string[],
  { readable, faults, attempt }: QueryReading,
  following: Following,
): readonly Expansion[] {
  const root: OpenExpansion[] = []
  for (const path of paths)
    attempt('expand', undefined, () => {
      let [into, rest, here]: [OpenExpansion[], string | null, ReadableNames | null] = [root, path, readable]
      for (let level = 1; rest !== null; level++) {
        const found = findReference(rest, here, following)
        if (!found) {
          const isField = here?.find(rest) !== undefined
          if (isField) throw new ConditionFault('wrong_type', `${JSON.stringify(path)} is not a reference`)
          const nearest = isTold(faults) ? suggest(rest, here?.paths() ?? []) : ''
          faults.push(unknownField('expand', path, nearest))
          return
        }
        if (level > MAX_LEVELS)
          throw new ConditionFault('out_of_range', `goes over more than ${MAX_LEVELS} references`)
        const next = into.find((one) => one.path === found.path) ?? { ...found, onward: [] }
        if (!into.includes(next)) into.push(next)
        rest = rest === found.path ? null : rest.slice(found.path.length + 1)
        into = next.onward
        here = rest === null ? null : following.readable(found.target)
      }
    })
  return order(root, readable, following)
}

/** As deep as a schema can be nested. */
const MAX_PARTS = 32

/** The reference with which a name begins. */
function findReference(
  name: string,
  readable: ReadableNames | null,
  following: Following,
): Omit<Expansion, 'onward'> | undefined {
  // No declared path has so many parts.
  const parts = name.split('.', MAX_PARTS)
  for (let length = 1; length <= parts.length; length++) {
    const path = parts.slice(0, length).join('.')
    const field = readable?.find(path)
    const target = field && following.targetOf(field)
    if (target !== undefined) return { path, target, isList: field?.type === 'array' }
  }
  return undefined
}

/** The collection to which a field of the schema refers. */
export function targetOf(field: Field): string | undefined {
  const { definition } = elementOf(field)
  return definition.type === 'reference' ? definition.collection : undefined
}

/** Sorts by the order of fields: which expansions fit the limit must not depend on the order of the names. */
const order = (
  expansions: readonly Expansion[],
  readable: ReadableNames | null,
  following: Following,
): readonly Expansion[] => {
  const place = ({ path }: Expansion): number => readable?.paths().indexOf(path) ?? 0
  return expansions
    .map(({ onward, ...one }) => ({
      ...one,
      onward: onward.length > 0 ? order(onward, following.readable(one.target), following) : onward,
    }))
    .sort((a, b) => place(a) - place(b))
}
