import type { Collection } from '../config/plan.js'
import { type Fault, ServiceError } from '../errors.js'
import type { JsonObject } from '../filter/read-path.js'
import type { Rule } from '../permissions/grants.js'
import { dropProperties } from '../permissions/write-rules.js'
import { suggest } from '../schema/names.js'
import { applyDefaults, normaliseProperties } from '../schema/normalise.js'
import { formatTimestamp } from '../schema/timestamp.js'
import type { StoredDocument, WriteStep } from '../storage.js'
import type { Caller, Document } from '../types.js'
import { denied, showWritten } from './authorize.js'
import type { RequestScope, ServiceContext } from './context.js'
import { lazySignal } from './list-documents.js'
import { createStoredDocument } from './stored-document.js'

/** Creates a document under the first of `rules` that fits (contract §4 and §5). Returns it as the caller may read it. */
export async function createDocument(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  caller: Caller | null,
  rules: readonly Rule[],
  body: JsonObject,
): Promise<Document> {
  const now = readClock(context)
  const fields = chooseBody(collection, rules, body, caller, now)
  const hashes = await hashSecrets(context, scope, collection, fields)
  const { document } = await storeNew(context, scope, collection, (id) => ({
    document: buildDocument(context, collection, caller, id, now, hashes),
  }))
  return showWritten(context, collection, caller, document)
}

/** The time of the request in stored form. */
export function readClock(context: ServiceContext): string {
  const now = formatTimestamp(context.now())
  if (now === undefined) throw new RangeError('the clock is outside the years 0001 to 9999')
  return now
}

/**
 * The body under the rule that runs: a rule that drops nothing goes before one that does. The faults of the first rule
 * tried are the answer; a later one that is invalid is passed over.
 */
function chooseBody(
  collection: Collection,
  rules: readonly Rule[],
  body: JsonObject,
  caller: Caller | null,
  now: string,
): JsonObject {
  const candidates = rules.map((rule) => dropProperties(rule, body, collection.roleField))
  const [first] = [
    ...candidates.filter(({ isWhole }) => isWhole),
    ...candidates.filter(({ isWhole }) => !isWhole),
  ]
  if (!first) throw denied(caller)
  return completeBody(collection, first.body, now)
}

/** Normalises a body, puts defaults in and validates the whole. Throws `validation_failed` with every fault. */
export function completeBody(
  collection: Collection,
  body: JsonObject,
  now: string,
  required: readonly string[] = [],
): JsonObject {
  const complete = applyDefaults(collection.fields, normaliseProperties(collection.fields, body), now)
  const missing = required.filter((name) => !Object.hasOwn(complete, name))
  const faults = [
    ...missing.map((name): Fault => ({ path: `/${name}`, code: 'required', message: 'is required' })),
    ...collection.validate(complete).filter(({ path }) => !missing.some((name) => path === `/${name}`)),
  ]
  if (faults.length > 0) throw invalid(faults.map((fault) => explain(collection, fault)))
  return complete
}

export const invalid = (faults: readonly Fault[]): ServiceError =>
  new ServiceError(
    'validation_failed',
    faults.map(({ path, message }) => `${path || 'The body'} ${message}`).join(' · '),
    {
      errors: faults,
    },
  )

function explain(collection: Collection, fault: Fault): Fault {
  if (fault.code !== 'unknown_property') return fault
  const nearest = suggest(
    fault.path.slice(1),
    collection.fields.map(({ name }) => name),
  )
  return { ...fault, message: fault.message + nearest }
}

/** A body in which secrets have become hashes, set apart. */
export interface HashedBody {
  readonly fields: JsonObject
  readonly hashes: JsonObject
}

/** Hashes what the hash fields of a valid body hold. */
export async function hashSecrets(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  body: JsonObject,
): Promise<HashedBody> {
  const secrets = collection.hashes.filter(({ name }) => Object.hasOwn(body, name)).map(({ name }) => name)
  if (secrets.length === 0) return { fields: body, hashes: {} }
  const hashes: [string, string][] = []
  for (const name of secrets) {
    scope.enter('hash')
    hashes.push([name, await context.hasher.hash(body[name] as string, scope.signal)])
  }
  const fields = Object.entries(body).filter(([name]) => !secrets.includes(name))
  return { fields: Object.fromEntries(fields), hashes: Object.fromEntries(hashes) }
}

/** The document to store. A user is its own creator where the service keeps the accounts (contract §1). */
export function buildDocument(
  context: ServiceContext,
  collection: Collection,
  caller: Caller | null,
  _id: string,
  now: string,
  { fields, hashes }: HashedBody,
): StoredDocument {
  const createdBy = isAccounts(context, collection) ? _id : (caller?.id ?? null)
  return createStoredDocument({ _id, createdAt: now, updatedAt: now, createdBy }, fields, hashes)
}

export const isAccounts = ({ keepsAccounts, plan }: ServiceContext, collection: Collection): boolean =>
  keepsAccounts && plan.auth?.users === collection

/** A new document and the steps that store what belongs to it. */
export interface NewDocument {
  readonly document: StoredDocument
  readonly others?: readonly WriteStep[]
}

/** How often an `_id` is made anew when a random source repeats itself. */
const MAX_ATTEMPTS = 3

/** Stores a new document and whatever belongs to it, in one write. Throws `unique_violation`. */
export async function storeNew<T extends NewDocument>(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  build: (id: string) => T,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const built = build(context.createId())
    scope.enter('write')
    const steps: readonly WriteStep[] = [
      { in: collection.name, insert: built.document },
      ...(built.others ?? []),
    ]
    const result = await context.adapter.write(steps, lazySignal(scope))
    if (result.ok) return built
    const isRepeatedId = result.fields?.length === 1 && result.fields[0] === '_id'
    if (!isRepeatedId || attempt === MAX_ATTEMPTS) throw conflict(result.fields ?? [])
  }
}

export const conflict = (fields: readonly string[]): ServiceError =>
  new ServiceError('unique_violation', `Another document has the same ${fields.join(' and ')}.`, {
    errors: fields.map((field) => ({ path: `/${field}`, code: 'taken', message: 'is taken' })),
  })
