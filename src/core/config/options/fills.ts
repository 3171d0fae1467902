import type { ConfigFault } from '../../errors.js'
import type { Field } from '../../fields/field-type.js'
import { suggest } from '../../fields/schema/names.js'
import { isObject, readOwn } from '../../json/own-properties.js'
import { toPointerPart } from '../../json/pointer.js'
import type { Collection } from '../plan.js'

/** The names of the fields that hooks fill, by collection. */
export type Fills = ReadonlyMap<string, readonly string[]>

/** Whether a value is an array of strings, without holes. */
export const isListOfNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && [...value].every((name) => typeof name === 'string')

/**
 * Returns the names of the fields that hooks fill. A value of another type is ignored here, because
 * `checkOptions` reports it.
 */
export function readFills(hooks: unknown): Fills {
  const entries = isObject(hooks) ? Object.entries(hooks) : []
  return new Map(
    entries.map(([name, hook]): [string, readonly string[]] => {
      const fills = isObject(hook) ? readOwn(hook, 'fills') : undefined
      return [name, isListOfNames(fills) ? fills : []]
    }),
  )
}

/** Returns the reason why no hook can fill a required field; `undefined` if a hook can. */
function describeUnfillable({ type, definition }: Field): string | undefined {
  if (type === 'hash') return 'is a secret, which hooks cannot set'
  return 'default' in definition && definition.default !== undefined
    ? 'has a default, so no hook needs to fill it'
    : undefined
}

const isFillable = (field: Field): boolean =>
  field.definition.required === true && describeUnfillable(field) === undefined

/** Returns the names in `named` that belong to fields that a hook can fill. */
export const selectFills = (fields: readonly Field[], named: readonly string[] = []): ReadonlySet<string> =>
  new Set(fields.filter((field) => isFillable(field) && named.includes(field.name)).map(({ name }) => name))

/** Returns the faults of names that hooks cannot fill. Skips a collection whose schema has faults. */
export function judgeFills(
  fills: Fills,
  collections: ReadonlyMap<string, Pick<Collection, 'fields'>>,
  known: readonly ConfigFault[],
): readonly ConfigFault[] {
  return Array.from(fills).flatMap(([collection, names]) => {
    const schema = `/collections${toPointerPart(collection)}/schema`
    const fields = collections.get(collection)?.fields
    if (!fields || known.some(({ path }) => path.startsWith(schema))) return []
    const required = fields.filter(({ definition }) => definition.required)
    const fillable = fields.filter(isFillable).map(({ name }) => name)
    return names.flatMap((name, i): readonly ConfigFault[] => {
      const field = findNamed(required.filter(isFillable), name) ?? findNamed(required, name)
      const fault = field
        ? (describeUnfillable(field) ?? (names.indexOf(name) < i ? 'is listed twice' : undefined))
        : `is not a required field of ${collection}${suggest(name, fillable)}`
      const message = `${JSON.stringify(name)} ${fault}`
      return fault === undefined ? [] : [{ path: `options.hooks.${collection}.fills[${i}]`, message }]
    })
  })
}

const findNamed = (fields: readonly Field[], name: string): Field | undefined =>
  fields.find((field) => field.name === name)
