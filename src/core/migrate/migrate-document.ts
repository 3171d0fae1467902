import type { Collection, ServicePlan } from '../config/plan.js'
import { judgeSeed } from '../documents/write/seed-document.js'
import { readFields } from '../documents/write/stored-document.js'
import type { Fault } from '../errors.js'
import { HIDDEN, storedNameOf } from '../fields/names.js'
import { isFreeName, isSystemField, suggest } from '../fields/schema/names.js'
import { normaliseProperties } from '../fields/schema/normalise.js'
import { collectReferences, findNewReferences } from '../fields/schema/references.js'
import { isId } from '../filter/filter.js'
import { findUnstorable } from '../json/domain.js'
import { isEqualJson } from '../json/equality.js'
import { freezeCopy, freezeDeep } from '../json/freeze-deep.js'
import { isPlainObject, pickWhere, readOwn, setOwn } from '../json/own-properties.js'
import { toPointerParts } from '../json/pointer.js'
import { reportFirst } from '../json/report.js'
import { planAgreements } from '../references/matches.js'
import { requireReference } from '../references/references.js'
import type { Call } from '../request/call.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import { createNaming } from '../stored/names/renamed-storage.js'
import type { JsonObject, MigrateDocument } from '../types.js'
import { drawIdBeyond } from './draw-id.js'
import type { Fixed } from './fix.js'

/** The maximum number of documents, and of characters of JSON, that one document and what is made of it may have. */
const MOST_DOCUMENTS = 1000
const MOST_CHARACTERS = 16 * 1024 * 1024

/** A migration of the documents of one collection. */
export interface Migrating {
  /** A call with full rights. */
  readonly call: Call
  readonly collection: Collection
  readonly migrate: MigrateDocument
  /** The last `_id` that the migration looks at. */
  readonly last: string
}

/** Evaluates the migration of a document, which it returns unchanged, with the reason, if that fails. */
export async function migrateDocument(migrating: Migrating, before: StoredDocument): Promise<Fixed> {
  try {
    return { before, fields: NO_FIELDS, steps: await planSteps(migrating, before) }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return { before, fields: NO_FIELDS, steps: [], wrong: { reason } }
  }
}

const NO_FIELDS: ReadonlySet<string> = new Set()

async function planSteps(migrating: Migrating, before: StoredDocument): Promise<readonly WriteStep[]> {
  const { collection, migrate, call } = migrating
  const { name } = collection
  const { plan } = call.service
  const stored = createNaming(collection).write(before)
  const shown = pickWhere(stored, (key) => key === '_id' || !key.startsWith('_'))
  const result: unknown = await migrate(freezeCopy(shown) as Parameters<MigrateDocument>[0])
  if (result === undefined) return []
  const { set, also, remove } = readResult(result)
  const made: Step[] = []
  for (const [i, one] of (also ?? []).entries())
    made.push(await makeDocument(migrating, before, one, `also[${i}]`))
  const after = set && applySet(collection, { before, stored, set })
  const changed = after === undefined ? [] : [{ collection, before, after }]
  const written: readonly Step[] = [...changed, ...made]
  if (written.length === 0 && !remove) return []
  const { _id, _version } = before
  const steps: readonly WriteStep[] = [
    ...(after
      ? [{ in: name, replace: after, version: _version }]
      : [{ in: name, require: _id, version: _version }]),
    ...(remove ? [{ in: name, remove: isId(_id), expect: 1 }] : []),
    ...made.map(({ collection: into, after: insert }) => ({ in: into.name, insert })),
    ...(remove ? refuseReferrers(plan, name, _id) : []),
    ...written.flatMap((step) => requireTargets(plan, step)),
  ]
  requireSize(steps)
  return steps
}

/** A document that is created or changed. */
interface Step {
  readonly collection: Collection
  readonly before?: StoredDocument
  readonly after: StoredDocument
}

interface Result {
  readonly set?: JsonObject
  readonly also?: readonly unknown[]
  readonly remove: boolean
}

const ALLOWED = 'allowed: nothing, or any of { set, also, remove: true }'

/** Reads what a function returned. */
function readResult(result: unknown): Result {
  if (!isPlainObject(result)) throw new Error(`the function returned ${describe(result)}; ${ALLOWED}`)
  const [unknown] = Object.keys(result).filter((key) => !['set', 'also', 'remove'].includes(key))
  if (unknown !== undefined) throw new Error(`the function returned ${JSON.stringify(unknown)}; ${ALLOWED}`)
  const { set, also, remove } = result
  if (set !== undefined && !isPlainObject(set))
    throw new Error('set must be an object of values by stored name')
  if (also !== undefined && !Array.isArray(also)) throw new Error('also must be an array of { in, document }')
  if (remove !== undefined && remove !== true) throw new Error('remove must be true, or absent')
  if (set !== undefined && remove) throw new Error('set and remove exclude each other')
  return { ...(set ? { set } : {}), ...(also ? { also } : {}), remove: remove === true }
}

const describe = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`

interface Setting {
  readonly before: StoredDocument
  /** The document by stored names. */
  readonly stored: StoredDocument
  readonly set: JsonObject
}

/** Returns the next version of a document; `undefined` if nothing changes. Throws if a new value is not allowed. */
function applySet(collection: Collection, { before, stored, set }: Setting): StoredDocument | undefined {
  const { fields } = collection
  const byStored = new Map(fields.map((field) => [storedNameOf(field), field]))
  const next: { [name: string]: unknown } = { ...stored }
  /** The declared names of the values that change; of an undeclared one under the name of a renamed field, the hidden name. */
  const changed = new Set<string>()
  for (const [name, value] of Object.entries(set)) {
    const field = byStored.get(name)
    const isOwn = name.startsWith('_') || isSystemField(name)
    if (isOwn) throw new Error(`set.${name} is a field of the service`)
    if (field?.type === 'hash') throw new Error(`set.${name} is stored as a hash`)
    if (value === undefined) throw new Error(`set.${name} is undefined; null removes a value`)
    const old = readOwn(stored, name)
    if (isEqualJson(value, old)) continue
    if (value === null && old === undefined) continue
    if (value === null) delete next[name]
    else if (field || isFree(collection, name)) setOwn(next, name, value)
    else
      throw new Error(`set.${name} is not the stored name of a field${suggest(name, [...byStored.keys()])}`)
    changed.add(field?.name ?? (fields.some((other) => other.name === name) ? HIDDEN + name : name))
  }
  if (changed.size === 0) return undefined
  const declared = createNaming(collection).read(next as StoredDocument)
  const given = pickWhere(declared, (key) => changed.has(key))
  const faults: Fault[] = []
  findUnstorable(given, reportFirst(faults, 1).at('set'))
  requireValid(faults)
  const normalised = normaliseProperties(fields, given)
  const kept = pickWhere(declared, (name) => !changed.has(name))
  const after = { ...kept, ...normalised, _version: before._version + 1 } as StoredDocument
  // Properties that were wrong before the migration are not evaluated.
  const isRelevant = ({ path }: Fault): boolean => changed.has(toPointerParts(path)[0] ?? '')
  requireValid(collection.validate(readFields(after), { limit: 1, isRelevant }))
  return freezeDeep(after)
}

/** Whether a stored name can be that of a free property. */
const isFree = (collection: Collection, name: string): boolean =>
  isFreeName(collection, name) && !collection.fields.some((field) => field.name === name)

function requireValid(faults: readonly Fault[]): void {
  const [fault] = faults
  if (fault) throw new Error(`${toPointerParts(fault.path).join('.')} ${fault.message}`)
}

/** Makes a document of `also`, like one of a seed. */
async function makeDocument(
  { call, collection: walked, last }: Migrating,
  { _id }: StoredDocument,
  made: unknown,
  at: string,
): Promise<Step> {
  const form = `${at} must be { in, document }, with a stored collection and an object`
  if (!isPlainObject(made) || !isPlainObject(made.document) || typeof made.in !== 'string')
    throw new Error(form)
  if (Object.keys(made).length > 2) throw new Error(form)
  const { in: name, document } = made
  const all = [...call.service.plan.collections.values()]
  const collection = all.find(({ storedName }) => storedName === name)
  if (!collection) {
    const known = all.map(({ storedName }) => storedName)
    throw new Error(`${at}.in is not the stored name of a collection${suggest(name, known)}`)
  }
  const isWalked = collection === walked
  if (isWalked && Object.hasOwn(document, '_id'))
    throw new Error(
      `${at}.document has an _id, which a document in the collection that is migrated cannot have`,
    )
  const given: JsonObject = {
    ...(Object.hasOwn(document, 'createdAt') ? { updatedAt: document.createdAt } : {}),
    ...document,
    ...(isWalked ? { _id: drawIdBeyond(call.service.createId, { after: _id, last }) } : {}),
  }
  const declared = createNaming(collection).read(given as StoredDocument)
  const [hidden] = Object.keys(declared).filter((key) => key.startsWith(HIDDEN))
  if (hidden !== undefined)
    throw new Error(`${at}.document.${hidden.slice(HIDDEN.length)} is not the stored name of a field`)
  const faults: Fault[] = []
  const draft = judgeSeed({ call, accounts: NO_ACCOUNTS }, collection, declared, reportFirst(faults, 1))
  const [fault] = faults
  if (!draft || fault) throw new Error(`${at}.document${fault?.path.replaceAll('/', '.')} ${fault?.message}`)
  const after = await (typeof draft.document === 'function' ? draft.document() : draft.document)
  return { collection, after }
}

const NO_ACCOUNTS: ReadonlySet<string> = new Set()

/** Returns the steps that require that no document refers to one. */
const refuseReferrers = ({ referrers }: ServicePlan, name: string, id: string): readonly WriteStep[] =>
  (referrers.get(name) ?? []).map(({ collection, field }) => ({
    in: collection,
    refuse: { kind: 'eq', field, value: id },
  }))

/** Returns the steps that require that the targets of new references exist, and match. */
function requireTargets(plan: ServicePlan, { collection, before, after }: Step): readonly WriteStep[] {
  const { referring } = collection
  const references = before
    ? findNewReferences(referring, before, after)
    : collectReferences(collection.fields, after)
  const agreements = planAgreements(plan, collection, before ? { before, after } : { after })
  return [...references.map(requireReference), ...agreements.flatMap(({ step }) => step ?? [])]
}

function requireSize(steps: readonly WriteStep[]): void {
  const made = steps.filter((step) => 'insert' in step)
  const length = made.length + 1
  if (length > MOST_DOCUMENTS)
    throw new Error(`${length} documents are one write, which may have ${MOST_DOCUMENTS}`)
  const characters = JSON.stringify(steps).length
  if (characters > MOST_CHARACTERS)
    throw new Error(`${characters} characters are one write, which may have ${MOST_CHARACTERS}`)
}
