import type { Collection } from '../../config/plan.js'
import { UNSURE } from '../../config/shape/settle-shape.js'
import type { Field } from '../../fields/field-type.js'
import { CREATED_BY, USERS } from '../../fields/schema/names.js'
import { isObject } from '../../json/own-properties.js'
import { takes } from '../../query/condition.js'
import { claimIn, findVariables, type JudgeVariable } from '../../query/variable.js'
import type { ClaimConfig } from '../../types.js'

type WrittenClaims = { readonly [name: string]: ClaimConfig }

interface BaseScope {
  readonly collections: ReadonlyMap<string, Collection>
  readonly judgeVariable: JudgeVariable
  readonly claims: ReadonlyMap<string, Field>
}

/**
 * Creates the check of variables in the `where` of a claim, by the name of the claim. A claim may use claims that use
 * none themselves, and compares them with fields of the same type.
 */
export const createBaseJudge =
  (written: WrittenClaims, { collections, judgeVariable, claims }: BaseScope) =>
  (name: string): JudgeVariable =>
  (variable, form, fields = []) => {
    const message = judgeVariable(variable, form, fields)
    const base = claimIn(claims, variable)
    if (message !== undefined || base === undefined) return message
    const [inner] = findBases(written[base]?.where, claims)
    if (inner !== undefined) {
      const reason = base === name ? 'itself' : `the claim ${base}, which uses the claim ${inner}`
      return `the claim ${name} cannot use ${reason}: a claim that uses claims is used by no claim`
    }
    const from = written[name]?.from ?? ''
    const taken = describeTaken(written[base], collections)
    const misfits = fields.filter((field) => taken && !isAlike(describeField(field, from), taken))
    if (!taken || misfits.length === 0 || misfits.length < fields.length) return undefined
    const [field] = misfits
    return (
      field && `${variable} contains ${taken.text}, but the field contains ${describeField(field, from).text}`
    )
  }

/** Returns the names of the claims that a condition uses, as it is written. */
function findBases(where: unknown, claims: ReadonlyMap<string, Field>): readonly string[] {
  if (Array.isArray(where)) return where.flatMap((part) => findBases(part, claims))
  if (!isObject(where)) return findVariables(where).flatMap((variable) => claimIn(claims, variable) ?? [])
  return Object.entries(where).flatMap(([name, part]) =>
    takes(name, 'pattern') ? [] : findBases(part, claims),
  )
}

/** The kind of the values of a field. `ids`: the collection whose `_id`s they are. */
interface Content {
  readonly type: string
  readonly ids?: string
  readonly text: string
}

const idsOf = (ids: string, type: string): Content => ({ type, ids, text: `_ids of ${ids}` })

/** Describes the values of a field of the collection `from`. */
function describeField({ type, path, definition }: Field, from: string): Content {
  if (path === '_id') return idsOf(from, ANY_TEXT)
  if (path === CREATED_BY) return idsOf(USERS, ANY_TEXT)
  return definition.type === 'reference'
    ? idsOf(definition.collection, type)
    : { type, text: `values of type ${type}` }
}

/** The type of system fields with ids. They are compared with references and with plain strings. */
const ANY_TEXT = 'id'

const TEXTS: readonly string[] = ['string', 'reference', ANY_TEXT]

function describeTaken(
  claim: ClaimConfig | undefined,
  collections: ReadonlyMap<string, Collection>,
): Content | undefined {
  if (!claim) return undefined
  if (claim.take === '_id') return idsOf(claim.from, ANY_TEXT)
  const field = collections.get(claim.from)?.fields.find(({ name }) => name === claim.take)
  return field && field.definition !== UNSURE ? describeField(field, claim.from) : undefined
}

function isAlike(one: Content, other: Content): boolean {
  if (one.ids !== undefined && other.ids !== undefined) return one.ids === other.ids
  const types = [one.type, other.type]
  return one.type === other.type || (types.includes(ANY_TEXT) && types.every((type) => TEXTS.includes(type)))
}
