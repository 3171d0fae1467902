import type { Claim } from '../../config/plan.js'
import { and, type Filter, isId, not, type Scalar } from '../../filter/filter.js'
import { matches } from '../../filter/matches.js'
import { isUuid } from '../../json/uuid.js'
import { USER } from '../../query/variable.js'
import { collectReferences } from '../../schema/references.js'
import { bindClaim } from '../../service/claims.js'
import type { JsonObject } from '../../types.js'
import { createFixture, type Fixture } from './fixture.js'
import type { Plans, Witness, WitnessCaller } from './types.js'
import { type HeldNames, SOME_CALLER } from './write-witness.js'

/**
 * Adds the parts that a counterexample needs to run: the documents that give the caller's claims, the targets of
 * references, and the secrets of accounts. Claims that no documents can give stay fields of the caller.
 */
export function completeWitness(witness: Witness, held: HeldNames, plans: Plans): Witness {
  // A caller with the claim that has more conditions often has those with fewer.
  const claims = [...held.names]
    .flatMap((name) => plans.after.claims.get(name) ?? plans.before.claims.get(name) ?? [])
    .sort((a, b) => (b.where.ways[0]?.length ?? 0) - (a.where.ways[0]?.length ?? 0))
  for (const text of SOME_TEXTS) {
    const caller = findCaller(witness.caller, claims, held, text)
    if (caller === undefined) break
    const bound = claims.map((claim) => bind(claim, caller, { now: witness.now, held }))
    const documents = findGiving(witness, bound, held, plans)
    if (documents) return { ...witness, caller, documents }
  }
  return withTargets(witness, plans)
}

/** The documents of a counterexample with those that give its caller's claims; `undefined` if none give only these. */
function findGiving(
  witness: Witness,
  bound: readonly ClaimBinding[],
  held: HeldNames,
  plans: Plans,
): Witness['documents'] | undefined {
  // First documents that give no other claims, then any.
  for (const beside of [bound, []]) {
    const fixture = createFixture(plans, witness.documents)
    if (!bound.every((one) => give(fixture, one, beside))) continue
    addAllTargets(fixture, witness)
    const given = bound.flatMap(({ claim, filter }): [string, readonly Scalar[]][] =>
      filter ? [[claim.name, [...new Set(valuesOf(fixture, claim, filter))]]] : [],
    )
    if (held.staysWith(new Map(given))) return fixture.written()
  }
  return undefined
}

/** A counterexample with the targets of its references. */
function withTargets(witness: Witness, plans: Plans): Witness {
  const fixture = createFixture(plans, witness.documents)
  addAllTargets(fixture, witness)
  return { ...witness, documents: fixture.written() }
}

const CALLER_ID = '01990000-0000-7000-8000-00000000000a'

/** Values for caller fields that only claims use: the requested document may have the first, and so give the claim. */
const SOME_TEXTS = ['a', 'something else']

/**
 * The caller without the claims, but with the values that they use; `undefined` if the counterexample says that it
 * lacks them.
 */
function findCaller(
  written: WitnessCaller,
  claims: readonly Claim[],
  { names, claims: held }: HeldNames,
  text: string,
): WitnessCaller | undefined {
  if (claims.length === 0) return written
  const asked = claims.flatMap(({ name, where }) =>
    held.has(name) && where.kind === 'bound' ? where.variables.filter((one) => one.startsWith(USER)) : [],
  )
  if (!written) return asked.length > 0 ? undefined : written
  const own = Object.entries(written).filter(([name]) => !claims.some((claim) => claim.name === name))
  // References to users are an `_id` alone.
  const id = written.id === SOME_CALLER ? CALLER_ID : written.id
  const caller: WitnessCaller & object = { ...Object.fromEntries(own), id, roles: written.roles }
  const lacking = asked
    .map((one) => one.slice(USER.length))
    .filter((name) => name !== '_id' && !(name in caller))
  if (lacking.some((name) => names.has(name))) return undefined
  return { ...caller, ...Object.fromEntries(lacking.map((name) => [name, text])) }
}

/** A claim of a caller, with its values; without a filter, the caller lacks it. */
interface ClaimBinding {
  readonly claim: Claim
  readonly filter: Filter | undefined
  readonly values: readonly Scalar[]
}

const bind = (
  claim: Claim,
  caller: WitnessCaller,
  { now, held }: { now: string; held: HeldNames },
): ClaimBinding => ({
  claim,
  filter: bindClaim(claim, { user: caller && { ...caller, _id: caller.id }, now }),
  values: held.claims.get(claim.name) ?? [],
})

/** Adds documents that give a claim its values, but no values to claims that lack them. */
function give(
  fixture: Fixture,
  { claim, filter, values }: ClaimBinding,
  beside: readonly ClaimBinding[],
): boolean {
  if (!filter) return values.length === 0
  return values.every((value) => {
    if (valuesOf(fixture, claim, filter).includes(value)) return true
    const others = beside.flatMap((other): Filter[] =>
      other.filter && other.claim.from === claim.from && !other.values.includes(value)
        ? [not(other.filter)]
        : [],
    )
    return fixture.add(claim.from, and([filter, { kind: 'eq', field: claim.taken, value }, ...others]))
  })
}

/** The values that the documents give to a claim. */
const valuesOf = (fixture: Fixture, claim: Claim, filter: Filter): readonly Scalar[] =>
  fixture
    .documentsOf(claim.from)
    .flatMap((document) => (matches(filter, document) ? (claim.take(document) ?? []) : []))

/** A document, or a part of one, and its place. */
interface LocatedDocument {
  readonly collection: string
  readonly document: JsonObject
}

/** Adds the targets of the references of all documents and of the body. */
function addAllTargets(fixture: Fixture, { request: { body, path } }: Witness): void {
  const [, name = ''] = path.split('/')
  if (body) addTargets(fixture, { collection: name, document: body })
  for (const collection of Object.keys(fixture.written()))
    for (const document of fixture.documentsOf(collection)) addTargets(fixture, { collection, document })
}

/** Adds the targets of references, and theirs. */
function addTargets(fixture: Fixture, { collection: name, document }: LocatedDocument): void {
  const plan = fixture.planOf(name)
  const collection = plan?.collections.get(name)
  if (!collection || collection.referring.length === 0) return
  for (const { id, field, collection: target } of collectReferences(collection.fields, document)) {
    if (!isUuid(id) || fixture.documentsOf(target).some(({ _id }) => _id === id)) continue
    const pairs = (plan?.matches.from.get(name) ?? []).flatMap((match) =>
      match.field === field ? match.pairs : [],
    )
    const agreed = pairs.flatMap(({ there, readHere }): Filter[] => {
      const value = readHere(document)
      return value === undefined ? [] : [{ kind: 'eq', field: there, value }]
    })
    if (fixture.add(target, and([isId(id), ...agreed])))
      for (const added of fixture.documentsOf(target).slice(-1))
        addTargets(fixture, { collection: target, document: added })
  }
}
