import { bindClaim } from '../../../core/claims/claims.js'
import { ANY_WAY } from '../../../core/claims/query/demands.js'
import type { Claim, Collection, ServicePlan } from '../../../core/config/plan.js'
import { isSystemField } from '../../../core/fields/schema/names.js'
import { collectReferences } from '../../../core/fields/schema/references.js'
import { compileField } from '../../../core/filter/compare.js'
import { and, type FieldRef, type Filter, isId, not, type Scalar } from '../../../core/filter/filter.js'
import { matches } from '../../../core/filter/matches.js'
import { isUuid } from '../../../core/json/uuid.js'
import { ALL_PROPERTIES, EVERYONE, type Rule } from '../../../core/permissions/grants.js'
import { type ClaimValues, USER } from '../../../core/query/variable.js'
import { ANYWHERE } from '../../../core/query/where.js'
import type { JsonObject } from '../../../core/types.js'
import { whereHolds } from './model/conditions.js'
import { STORED } from './model/deciding.js'
import { createUniverses } from './model/universe.js'
import { type Budget, Undecided } from './solver/budget.js'
import { findModel } from './solver/find-model.js'
import { createLogic } from './solver/logic.js'
import type { Plans, Witness, WitnessCaller } from './types.js'
import { type HeldNames, SOME_CALLER, writeDocument } from './write-witness.js'

/** The maximum number of decisions for finding one document. */
const MAX_DECISIONS = 20_000

/** Finds a document that a collection accepts and a filter matches; `undefined` if none is found. */
function findDocument(collection: Collection, filter: Filter): JsonObject | undefined {
  const sides = { before: collection, after: collection }
  const rule: Rule = {
    subject: EVERYONE,
    place: '',
    properties: ALL_PROPERTIES,
    where: { kind: 'fixed', filter, ways: ANY_WAY },
    check: ANYWHERE,
    set: new Map(),
    acceptsRole: false,
    claims: [],
  }
  const universeOf = createUniverses(sides, [rule], { fields: null, claims: new Map() })
  const { fresh: variables } = universeOf({ isSignedIn: false, operation: 'read' })
  const budget: Budget = { left: MAX_DECISIONS }
  try {
    const logic = createLogic(variables, budget)
    const place = { logic, variables, budget, isBestMissing: () => false }
    const model = findModel(whereHolds(logic, rule.where, STORED), place)
    return model && writeDocument(sides, { variables, model, isFresh: true })
  } catch (thrown) {
    if (thrown instanceof Undecided) return undefined
    throw thrown
  }
}

/** The stored documents with which a counterexample runs. */
interface Fixture {
  /** Returns the configuration that has a collection: `before`, if both have it. */
  readonly planOf: (name: string) => ServicePlan | undefined
  readonly documentsOf: (name: string) => readonly JsonObject[]
  /** Returns all documents, by collection. */
  readonly written: () => Witness['documents']
  /** Adds a document that matches a filter. Returns false if none is found. */
  readonly add: (name: string, filter: Filter) => boolean
}

/** The maximum number of added documents. A limit is necessary because each document may need more documents. */
const MAX_DOCUMENTS = 50

/** Creates a fixture that begins with the given documents. */
function createFixture({ before, after }: Plans, given: Witness['documents']): Fixture {
  const planOf = (name: string) => [before, after].find(({ collections }) => collections.has(name))
  const collectionOf = (name: string) => planOf(name)?.collections.get(name)
  const withSecrets = (name: string, document: JsonObject): JsonObject =>
    giveSecrets(collectionOf(name), document)
  const documents = new Map(
    Object.entries(given).map(([name, all]) => [name, all.map((one) => withSecrets(name, one))]),
  )
  let added = 0
  const documentsOf = (name: string): readonly JsonObject[] => documents.get(name) ?? []
  return {
    planOf,
    documentsOf,
    written: () => Object.fromEntries(documents),
    add(name, filter) {
      const collection = collectionOf(name)
      if (!collection || added === MAX_DOCUMENTS) return false
      const unlike = findUnlike(collection, documentsOf(name))
      const found = findDocument(collection, and([filter, ...unlike]))
      if (!found) return false
      added += 1
      const isOwn = isUuid(String(found._id)) && documentsOf(name).every(({ _id }) => _id !== found._id)
      const document = withSecrets(name, isOwn ? found : { ...found, _id: makeId(added) })
      if (!matches(filter, document) || !isTaken(collection, document)) return false
      documents.set(name, [...documentsOf(name), document])
      return true
    },
  }
}

/** Returns filters that exclude the documents that would violate a unique index together with one of `others`. */
const findUnlike = ({ storage }: Collection, others: readonly JsonObject[]): readonly Filter[] =>
  storage.indexes.flatMap(({ unique, fields }) => {
    if (!unique) return []
    const columns = fields.map((field) => ({ field, read: compileField(field) }))
    return others.flatMap((other) => {
      const same = columns.flatMap((column) => equalTo(column, other))
      return same.length === fields.length ? [not(and(same))] : []
    })
  })

/** Returns a filter for documents with the same value in a column as `document`; none if `document` has no value. */
function equalTo(
  { field, read }: { readonly field: FieldRef; readonly read: ReturnType<typeof compileField> },
  document: JsonObject,
): readonly Filter[] {
  const value = read(document)
  return value === undefined ? [] : [{ kind: 'eq', field, value }]
}

const makeId = (number: number): string => `01990000-0000-7000-8000-${String(number).padStart(12, '1')}`

/** Adds the required secrets. A model never contains them, because rules cannot read secrets. */
function giveSecrets(collection: Collection | undefined, document: JsonObject): JsonObject {
  const lacking = collection?.hashes.filter(
    ({ name, definition }) => definition.required && !Object.hasOwn(document, name),
  )
  if (!lacking?.length) return document
  const secrets = lacking.map(({ name, definition }) => {
    const { minLength = 0 } = definition as { readonly minLength?: number }
    return [name, 'a secret'.padEnd(minLength, '.')]
  })
  return { ...document, ...Object.fromEntries(secrets) }
}

const isTaken = ({ validate }: Collection, document: JsonObject): boolean =>
  validate(Object.fromEntries(Object.entries(document).filter(([name]) => !isSystemField(name)))).length === 0

/**
 * Adds the documents and values that a counterexample needs to run: documents that give the caller's claims, the
 * targets of references, and the secrets of accounts. Claims that no documents can give stay fields of the caller.
 */
export function completeWitness(witness: Witness, held: HeldNames, plans: Plans): Witness {
  // Claims with more conditions come first, because their documents often give the other claims too.
  // Claims that use claims come last: their documents depend on the values of these.
  const find = (name: string): readonly Claim[] =>
    [plans.after.claims.get(name) ?? plans.before.claims.get(name)].filter((claim) => claim !== undefined)
  const claims = [...held.names]
    .flatMap(find)
    .sort((a, b) => (b.where.ways[0]?.length ?? 0) - (a.where.ways[0]?.length ?? 0))
    .sort((a, b) => a.bases.length - b.bases.length)
  for (const text of SOME_TEXTS) {
    const caller = findCaller(witness.caller, { claims, find }, held, text)
    if (caller === undefined) break
    const bound = claims.map((claim) => bind(claim, caller, { now: witness.now, held, find }))
    const documents = findGiving(witness, bound, held, plans)
    if (documents) return { ...witness, caller, documents }
  }
  return withTargets(witness, plans)
}

/** Returns the documents of a counterexample and those that give the caller's claims; `undefined` if none are found. */
function findGiving(
  witness: Witness,
  bound: readonly ClaimBinding[],
  held: HeldNames,
  plans: Plans,
): Witness['documents'] | undefined {
  // The first attempt allows only documents that give no other claims; the second allows all documents.
  for (const beside of [bound, []]) {
    const fixture = createFixture(plans, witness.documents)
    if (!bound.every((one) => give(fixture, one, beside))) continue
    addAllTargets(fixture, witness)
    const given = bound.flatMap((one): [string, readonly Scalar[]][] =>
      one.filterIn(fixture) ? [[one.claim.name, valuesIn(fixture, one)]] : [],
    )
    if (held.staysWith(new Map(given))) return fixture.written()
  }
  return undefined
}

/** Returns a counterexample with the targets of its references. */
function withTargets(witness: Witness, plans: Plans): Witness {
  const fixture = createFixture(plans, witness.documents)
  addAllTargets(fixture, witness)
  return { ...witness, documents: fixture.written() }
}

const CALLER_ID = '01990000-0000-7000-8000-00000000000a'

/**
 * Values for caller fields that only claims use. The requested document may contain the first value and so give the
 * caller a claim by accident; then the second value is tried.
 */
const SOME_TEXTS = ['a', 'something else']

/**
 * Returns the caller without the claims, but with the fields that the claims use; `undefined` if the counterexample
 * requires the caller to lack such a field.
 */
function findCaller(
  written: WitnessCaller,
  { claims, find }: { readonly claims: readonly Claim[]; readonly find: BindingScope['find'] },
  { names, claims: held }: HeldNames,
  text: string,
): WitnessCaller | undefined {
  if (claims.length === 0) return written
  const all = claims.flatMap((claim) => (held.has(claim.name) ? [claim, ...claim.bases.flatMap(find)] : []))
  const asked = all.flatMap(({ where, bases }) =>
    where.kind === 'bound'
      ? where.variables.filter((one) => one.startsWith(USER) && !bases.includes(one.slice(USER.length)))
      : [],
  )
  if (!written) return asked.length > 0 ? undefined : written
  const own = Object.entries(written).filter(([name]) => !claims.some((claim) => claim.name === name))
  // A reference to `users` contains only an `_id`, so the caller's id must be a valid `_id`.
  const id = written.id === SOME_CALLER ? CALLER_ID : written.id
  const caller: WitnessCaller & object = { ...Object.fromEntries(own), id, roles: written.roles }
  const lacking = asked
    .map((one) => one.slice(USER.length))
    .filter((name) => name !== '_id' && !(name in caller))
  if (lacking.some((name) => names.has(name))) return undefined
  return { ...caller, ...Object.fromEntries(lacking.map((name) => [name, text])) }
}

/** A claim of one caller, and its required values. */
interface ClaimBinding {
  readonly claim: Claim
  /** The filter of its documents, with the values that its bases have; `undefined` if the caller cannot have the claim. */
  readonly filterIn: (fixture: Fixture) => Filter | undefined
  /** The values; `undefined` for a base with any values. */
  readonly values: readonly Scalar[] | undefined
  readonly bases: readonly ClaimBinding[]
}

interface BindingScope {
  readonly now: string
  readonly held: HeldNames
  readonly find: (name: string) => readonly Claim[]
}

function bind(claim: Claim, caller: WitnessCaller, { now, held, find }: BindingScope): ClaimBinding {
  const bases = claim.bases.flatMap(find).map((base) => bind(base, caller, { now, held, find }))
  const isNamed = held.names.has(claim.name)
  return {
    claim,
    filterIn(fixture) {
      const read = new Map(
        bases.flatMap((base): [string, ClaimValues][] =>
          base.filterIn(fixture)
            ? [[base.claim.name, { values: valuesIn(fixture, base), isWhole: true }]]
            : [],
        ),
      )
      const claims = {
        has: (name: string) => claim.bases.includes(name),
        get: (name: string) => read.get(name),
      }
      return bindClaim(claim, { user: caller && { ...caller, _id: caller.id }, now, claims })
    },
    values: isNamed ? (held.claims.get(claim.name) ?? []) : undefined,
    bases,
  }
}

/** Adds documents that give a claim its values, but give the claims in `beside` no value that they should not have. */
function give(fixture: Fixture, bound: ClaimBinding, beside: readonly ClaimBinding[]): boolean {
  const { claim, values = [], bases } = bound
  if (values.length > 0) for (const base of bases) giveAny(fixture, base)
  const filter = bound.filterIn(fixture)
  if (!filter) return values.length === 0
  return values.every((value) => {
    if (valuesOf(fixture, claim, filter).includes(value)) return true
    const others = beside.flatMap((other): Filter[] => {
      const unwanted = other.claim.from === claim.from && other.values?.includes(value) === false
      const filter = unwanted ? other.filterIn(fixture) : undefined
      return filter ? [not(filter)] : []
    })
    return fixture.add(claim.from, and([filter, { kind: 'eq', field: claim.taken, value }, ...others]))
  })
}

/** Adds a document that gives a base some value, unless rules use the base itself, or it has a value. */
function giveAny(fixture: Fixture, base: ClaimBinding): void {
  const filter = base.filterIn(fixture)
  if (!filter || base.values || valuesIn(fixture, base).length > 0) return
  fixture.add(base.claim.from, and([filter, { kind: 'present', field: base.claim.taken }]))
}

const valuesIn = (fixture: Fixture, { claim, filterIn }: ClaimBinding): readonly Scalar[] => {
  const filter = filterIn(fixture)
  return filter ? [...new Set(valuesOf(fixture, claim, filter))] : []
}

/** Returns the values that the documents of a fixture give to a claim. */
const valuesOf = (fixture: Fixture, claim: Claim, filter: Filter): readonly Scalar[] =>
  fixture
    .documentsOf(claim.from)
    .flatMap((document) => (matches(filter, document) ? (claim.take(document) ?? []) : []))

/** A document, or a part of one, and its collection. */
interface LocatedDocument {
  readonly collection: string
  readonly document: JsonObject
}

/** Adds the targets of the references in the body and in all documents. */
function addAllTargets(fixture: Fixture, { request: { body, path } }: Witness): void {
  const [, name = ''] = path.split('/')
  if (body) addTargets(fixture, { collection: name, document: body })
  for (const collection of Object.keys(fixture.written()))
    for (const document of fixture.documentsOf(collection)) addTargets(fixture, { collection, document })
}

/** Adds the targets of a document's references, recursively. */
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
