import type { Field } from '../fields/field-type.js'
import { suggest } from '../fields/schema/names.js'
import { ConditionFault, elementOf } from './condition.js'
import { isTold, unknownField } from './query-string.js'
import type { Following, QueryReading, ReadableNames } from './reading.js'

/** A reference, or an array of references, that is replaced by the documents to which it refers. */
export interface Expansion {
  /** The dotted path of the reference in a document. */
  readonly path: string
  /** The collection of the documents that replace the reference. */
  readonly target: string
  /**
   * Whether the field is declared as an array of references. A stored value of another type is not expanded.
   */
  readonly isList: boolean
  /** The expansions inside the documents that replace the reference, in the order of their fields. */
  readonly onward: readonly Expansion[]
}

/** The maximum number of references that one name may follow (CONTRACT.md §2, "Expand"). */
export const MAX_LEVELS = 3

/** An expansion under construction. Further names of the same query may add expansions inside it. */
interface OpenExpansion extends Expansion {
  readonly onward: OpenExpansion[]
}

/**
 * Compiles the names of references. The caller must be able to read every reference that a name follows, in
 * the collection that contains the reference.
 */
export function compileExpand(
  paths: readonly string[],
  { readable, following, faults, attempt }: QueryReading,
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
          throw new ConditionFault('out_of_range', `follows more than ${MAX_LEVELS} references`)
        const next = into.find((one) => one.path === found.path) ?? { ...found, onward: [] }
        if (!into.includes(next)) into.push(next)
        rest = rest === found.path ? null : rest.slice(found.path.length + 1)
        into = next.onward
        here = rest === null ? null : following.readable(found.target)
      }
    })
  return order(root, readable, following)
}

/** The maximum number of parts of a declared path, because schemas are not nested more deeply. */
const MAX_PARTS = 32

/** Finds the reference with which a name begins. */
function findReference(
  name: string,
  readable: ReadableNames | null,
  following: Following,
): Omit<Expansion, 'onward'> | undefined {
  // Further parts cannot belong to a declared path.
  const parts = name.split('.', MAX_PARTS)
  for (let length = 1; length <= parts.length; length++) {
    const path = parts.slice(0, length).join('.')
    const field = readable?.find(path)
    const target = field && following.targetOf(field)
    if (target !== undefined) return { path, target, isList: field?.type === 'array' }
  }
  return undefined
}

/** Returns the collection to which a reference field, or an array of references, refers. */
export function targetOf(field: Field): string | undefined {
  const { definition } = elementOf(field)
  return definition.type === 'reference' ? definition.collection : undefined
}

/**
 * Sorts expansions by the order of their fields, so that the order of names in a query does not decide which
 * expansions fit the limit.
 */
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
