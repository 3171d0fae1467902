import type { Collection, ServicePlan } from '../../../../core/config/plan.js'
import type { Field } from '../../../../core/fields/field-type.js'
import { storedNameOf } from '../../../../core/fields/names.js'
import { USERS } from '../../../../core/fields/schema/names.js'

/** The common names of the fields of one object, by their names in `before`. */
export type FieldMatches = ReadonlyMap<string, FieldMatch>

/** A field of `before`, and the name that it has for the comparison. */
export interface FieldMatch {
  /** The name of the field of `after` with the same stored name, if there is one. */
  readonly common: string
  /** The fields inside an object, or inside the objects of an array. */
  readonly inside: FieldMatches
}

/** A collection of `before`, with the names that it and its fields have for the comparison. */
export interface CollectionMatch {
  readonly common: string
  readonly fields: FieldMatches
  /** Returns the common name of a free property of `before`. */
  readonly freeName: (name: string) => string
  /**
   * The common names of the free properties that no caller of one configuration sees, because a field that is stored
   * under another name has their name there.
   */
  readonly hidden: ReadonlySet<string>
}

/** The collections of `before`, by their names there. */
export type Matches = ReadonlyMap<string, CollectionMatch>

/** Matches the collections and fields of two configurations by their stored names. The common names are those of `after`. */
export function matchNames(before: ServicePlan, after: ServicePlan): Matches {
  const all = [...before.collections.values()]
  const others = [...after.collections.values()]
  const create = createNames([...all, ...others].flatMap(({ name, storedName }) => [name, storedName]))
  const isTaken = (name: string): boolean =>
    others.some((one) => one.name.toLowerCase() === name.toLowerCase())
  return new Map(
    all.map((collection) => {
      const other = others.find((one) => areSame(collection, one))
      const { name } = collection
      return [name, matchCollection(collection, other, other?.name ?? (isTaken(name) ? create(name) : name))]
    }),
  )
}

/** Whether two collections contain the same documents. Accounts are compared with accounts, wherever they are stored. */
const areSame = (one: Collection, other: Collection): boolean =>
  one.name === USERS || other.name === USERS ? one.name === other.name : one.storedName === other.storedName

function matchCollection(before: Collection, after: Collection | undefined, common: string): CollectionMatch {
  const fields = after?.fields ?? []
  const commonOf = createCommon(before.fields, fields)
  const matches = matchFields(before.fields, after?.fields, commonOf)
  const declared = new Set([
    ...fields.map(({ name }) => name),
    ...Array.from(matches.values(), (one) => one.common),
  ])
  const hidden = [before.fields, fields].flatMap((own) =>
    own
      .filter(({ name }) => own.every((field) => storedNameOf(field) !== name))
      .map(({ name }) => commonOf(name))
      .filter((name) => !declared.has(name)),
  )
  return {
    common,
    fields: matches,
    freeName: after ? commonOf : (name) => name,
    hidden: new Set(after ? hidden : []),
  }
}

/** Matches the fields of an object. Without a matching object in `after`, all names are common. */
function matchFields(
  before: readonly Field[],
  after: readonly Field[] | undefined,
  commonOf: (stored: string) => string = after ? createCommon(before, after) : (name) => name,
): FieldMatches {
  return new Map(
    before.map((field) => {
      const stored = storedNameOf(field)
      const other = after?.find((one) => storedNameOf(one) === stored)
      return [
        field.name,
        { common: after ? commonOf(stored) : field.name, inside: matchInside(field, other) },
      ]
    }),
  )
}

const matchInside = (before: Field, after: Field | undefined): FieldMatches =>
  before.items
    ? matchInside(before.items, after?.items ?? undefined)
    : matchFields(before.properties, after && !after.items ? after.properties : undefined)

/**
 * Creates the function that returns the common name of a stored one: the name of the field of `after` that is stored under
 * it, else the stored name itself, unless it is the name of something else in `after`.
 */
function createCommon(before: readonly Field[], after: readonly Field[]): (stored: string) => string {
  const byStored = new Map(after.map((field) => [storedNameOf(field), field.name]))
  const create = createNames([...before, ...after].flatMap((field) => [field.name, storedNameOf(field)]))
  const declared = new Set(before.map(storedNameOf))
  const known = new Map<string, string>()
  return (stored) => {
    const same = byStored.get(stored)
    if (same !== undefined) return same
    // Two declared names must not differ only in letter case.
    const isTaken = after.some(({ name }) =>
      declared.has(stored) ? name.toLowerCase() === stored.toLowerCase() : name === stored,
    )
    const common = known.get(stored) ?? (isTaken ? create(stored) : stored)
    known.set(stored, common)
    return common
  }
}

/** Creates the function that returns a name that nothing has yet. */
export function createNames(known: readonly string[]): (name: string) => string {
  const taken = new Set(known.map((name) => name.toLowerCase()))
  return (name) => {
    for (let number = 2; ; number++) {
      const created = `${name.slice(0, 50)}__${number}`
      if (taken.has(created.toLowerCase())) continue
      taken.add(created.toLowerCase())
      return created
    }
  }
}
