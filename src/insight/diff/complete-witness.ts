import type { Claim, ServicePlan } from '../../config/plan.js'
import { and, type Filter, isId, not, type Scalar } from '../../filter/filter.js'
import { matches } from '../../filter/matches.js'
import { type Binding, USER } from '../../query/variable.js'
import { isUuid } from '../../schema/names.js'
import { collectReferences } from '../../schema/references.js'
import { bindClaim } from '../../service/claims.js'
import type { JsonObject } from '../../types.js'
import { createStage, type Stage } from './stage.js'
import type { Plans, Witness, WitnessCaller } from './types.js'
import { type Held, SOME_CALLER } from './write-witness.js'

/**
 * Adds to a witness what it takes to run it: the documents that give the caller's claims, those to which references lead,
 * and the secrets of accounts. Where no documents give such claims, they stay fields of the caller.
 */
export function completeWitness(witness: Witness, held: Held, plans: Plans): Witness {
  // Documents that give no other claims, or else any.
  for (const isStrict of [true, false]) {
    const claiming = giveClaims(witness, held, plans, isStrict)
    if (!claiming) continue
    const { stage, caller, isHeld } = claiming
    addAllTargets(stage, witness, plans)
    if (isHeld()) return { ...witness, caller, documents: stage.written() }
  }
  const stage = createStage(plans, witness.documents)
  addAllTargets(stage, witness, plans)
  return { ...witness, documents: stage.written() }
}

const CALLER_ID = '01990000-0000-7000-8000-00000000000a'

/** What a caller has of which only a claim asks. */
const SOME_TEXT = 'a'

/** A caller, and the documents that give claims to them. */
interface Claiming {
  readonly stage: Stage
  readonly caller: WitnessCaller
  /** Whether the documents give claims with which the difference shows. */
  readonly isHeld: () => boolean
}

/** The caller of a witness without claims, and documents that give them; `undefined` where none do. */
function giveClaims(
  { caller: written, documents, now }: Witness,
  { names, claims: held, staysWith }: Held,
  plans: Plans,
  isStrict: boolean,
): Claiming | undefined {
  // Who has a claim that asks for more often has those that ask for less.
  const claims = [...names]
    .flatMap((name) => plans.after.claims.get(name) ?? plans.before.claims.get(name) ?? [])
    .sort((a, b) => (b.where.ways[0]?.length ?? 0) - (a.where.ways[0]?.length ?? 0))
  const stage = createStage(plans, documents)
  // References to users lead to an `_id` alone.
  let caller =
    written && claims.length > 0 && written.id === SOME_CALLER ? { ...written, id: CALLER_ID } : written
  for (const { name, where } of claims) {
    if (caller) {
      const { [name]: _, ...others } = caller
      caller = others as WitnessCaller & object
    }
    if (!held.has(name) || where.kind === 'fixed') continue
    for (const variable of where.variables) {
      const field = variable.slice(USER.length)
      if (!variable.startsWith(USER) || field === '_id' || (caller && Object.hasOwn(caller, field))) continue
      if (!caller || names.has(field)) return undefined
      caller = { ...caller, [field]: SOME_TEXT }
    }
  }
  const binding: Binding = { user: caller && { ...caller, _id: caller.id }, now }
  const bound = claims.map((claim) => ({
    claim,
    filter: bindClaim(claim, binding),
    values: held.get(claim.name) ?? [],
  }))
  for (const { claim, filter, values } of bound)
    for (const value of values) {
      if (!filter) return undefined
      if (valuesOf(stage, claim, filter).includes(value)) continue
      // The same document must not give a value to a claim that lacks it.
      const others = bound.flatMap((other): Filter[] =>
        isStrict && other.filter && other.claim.from === claim.from && !other.values.includes(value)
          ? [not(other.filter)]
          : [],
      )
      const isGiven = and([filter, { kind: 'eq', field: claim.taken, value }])
      if (!stage.add(claim.from, and([isGiven, ...others])) && !stage.add(claim.from, isGiven))
        return undefined
    }
  const isHeld = () => {
    const given = bound.flatMap(({ claim, filter }): [string, readonly Scalar[]][] =>
      filter ? [[claim.name, [...new Set(valuesOf(stage, claim, filter))]]] : [],
    )
    return staysWith(new Map(given))
  }
  return { stage, caller, isHeld }
}

/** The values that the documents of a stage give to a claim. */
const valuesOf = (stage: Stage, claim: Claim, filter: Filter): readonly Scalar[] =>
  stage
    .documentsOf(claim.from)
    .flatMap((document) => (matches(filter, document) ? (claim.take(document) ?? []) : []))

/** A document, or a part of one, and where it is. */
interface Placed {
  readonly collection: string
  readonly document: JsonObject
}

/** Adds the documents to which the references of all documents, and of the body, lead. */
function addAllTargets(stage: Stage, { request: { body, path } }: Witness, plans: Plans): void {
  const [, name = ''] = path.split('/')
  if (body) addTargets(stage, plans, { collection: name, document: body })
  for (const collection of Object.keys(stage.written()))
    for (const document of stage.documentsOf(collection)) addTargets(stage, plans, { collection, document })
}

/** Adds the documents to which references lead, and those to which they do. */
function addTargets(stage: Stage, plans: Plans, { collection: name, document }: Placed): void {
  const collection = stage.collectionOf(name)
  const { matches: agreeing }: Pick<ServicePlan, 'matches'> = plans.before.collections.has(name)
    ? plans.before
    : plans.after
  if (!collection?.hasReferences) return
  for (const { id, field, collection: target } of collectReferences(collection.fields, document)) {
    if (!isUuid(id) || stage.documentsOf(target).some(({ _id }) => _id === id)) continue
    const pairs = (agreeing.from.get(name) ?? []).flatMap((match) =>
      match.field === field ? match.pairs : [],
    )
    const agreed = pairs.flatMap(({ there, readHere }): Filter[] => {
      const value = readHere(document)
      return value === undefined ? [] : [{ kind: 'eq', field: there, value }]
    })
    if (stage.add(target, and([isId(id), ...agreed])))
      for (const added of stage.documentsOf(target).slice(-1))
        addTargets(stage, plans, { collection: target, document: added })
  }
}
