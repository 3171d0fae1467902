import { createStamp } from '../../auth/token.js'
import type { Collection } from '../../config/plan.js'
import { isServiceError, ServiceError } from '../../errors.js'
import { bindingOf, type KnownCaller } from '../../permissions/caller.js'
import type { Rule } from '../../permissions/grants.js'
import { isUuid } from '../../schema/names.js'
import { runSliced } from '../../slices.js'
import type { StoredDocument, WriteStep } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { notFound, unexpected } from '../authorize.js'
import { isAccounts, type RequestScope, type ServiceContext } from '../context.js'
import { findById, lazySignal } from '../find-documents.js'
import {
  brokenReference,
  findReferable,
  judgeReferences,
  referencesToHold,
  requireReference,
} from './references.js'
import {
  applyRule,
  type Created,
  chooseRule,
  type Draft,
  type Fitting,
  type Ignoring,
} from './rules/apply-rule.js'
import { createStoredDocument, type SystemFields } from './stored-document.js'
import { checkStoredSize, prepareWritten, type Writer, type Written } from './written.js'

/** Who creates where, under which rules. */
export interface Creation extends Writer {
  readonly rules: readonly Rule[]
}

/**
 * Creates a document under a new `_id` and the first of the rules that fits (CONTRACT.md §4, §5). Returns it as the caller
 * may read it. Throws `validation_failed`, `forbidden`, `document_too_large`, `unique_violation`, `overloaded`.
 */
export function createDocument(
  context: ServiceContext,
  scope: RequestScope,
  creation: Creation,
  body: JsonObject,
): Promise<Written> {
  return withNewId(context, (id) => create(context, scope, creation, id, body))
}

/** An `_id` of the client's choice, and whether anything may be created under it at all. */
export interface Claim {
  readonly id: string
  /** False where the request expects the document to be there, too: that never holds. */
  readonly isExpected: boolean
}

/**
 * Creates a document under the `_id` that its client has chosen, so that a create whose outcome is unknown can be
 * repeated (CONTRACT.md §2). Throws what `createDocument` does, `not_found` for an `_id` that no document can have, and
 * `precondition_failed` wherever it exists, whoever may read it.
 */
export async function createClaimed(
  context: ServiceContext,
  scope: RequestScope,
  creation: Creation,
  { id, isExpected }: Claim,
  body: JsonObject,
): Promise<Written> {
  const { collection } = creation
  if (!isUuid(id)) throw notFound('A document has a UUID in lower case as its _id.')
  const isTaken = async (): Promise<boolean> =>
    (await findById(context, scope, collection.name, id)) !== undefined
  // Asked before the body is judged, because 412 comes before 400; the write decides between two at once.
  if (!isExpected || (await isTaken())) throw unexpected()
  try {
    const written = await create(context, scope, creation, id, body)
    if (!written) throw unexpected()
    return written
  } catch (thrown) {
    // Of two that repeat each other, the later breaks all unique indexes; storage may name another one than that of `_id`.
    if (isServiceError(thrown) && thrown.code === 'unique_violation' && (await isTaken())) throw unexpected()
    throw thrown
  }
}

/** Applies the rules to a body and stores what comes of it; `undefined` where the `_id` exists. */
async function create(
  context: ServiceContext,
  scope: RequestScope,
  { collection, caller, rules }: Creation,
  id: string,
  body: JsonObject,
): Promise<Written | undefined> {
  const system = createSystemFields(context, collection, caller, id)
  const referable = await findReferable(context, scope, { collection, caller, rules }, [body])
  const draft: Omit<Draft, 'slice'> = {
    system,
    binding: bindingOf(caller, context.clock),
    judgeReferences: (fields) => judgeReferences(collection, {}, fields, referable),
  }
  const { fields, given, ignored } = await chooseInSlices(scope, collection, rules, body, draft)
  const document = await buildDocument(context, scope, collection, system, fields)
  const written = prepareWritten(context, { collection, caller }, { document, given, ignored })
  return (await storeNew(context, scope, collection, document)) && written
}

/** What comes of a body under the rule that runs. Throws `validation_failed` and `forbidden`. */
export const chooseInSlices = (
  scope: RequestScope,
  collection: Collection,
  rules: readonly Rule[],
  body: JsonObject,
  draft: Omit<Draft, 'slice'>,
): MaybePromise<Fitting<Created & Ignoring>> =>
  runSliced(
    (slice) =>
      chooseRule(collection, rules, body, (rule, kept) =>
        applyRule(collection, rule, kept.body, { ...draft, slice }),
      ),
    () => scope.signal,
  )

/** What the service puts into a new document. A user is its own creator where the service keeps the accounts. */
export function createSystemFields(
  context: ServiceContext,
  collection: Collection,
  caller: KnownCaller | null,
  _id: string,
): SystemFields {
  const now = context.clock()
  const createdBy = isAccounts(context, collection) ? _id : (caller?.id ?? null)
  return { _id, createdAt: now, updatedAt: now, createdBy }
}

/** The document to store: secrets among its fields become hashes. Throws `overloaded`. */
export async function buildDocument(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  system: SystemFields,
  fields: JsonObject,
): Promise<StoredDocument> {
  const secrets = collection.hashes.map(({ name }) => name).filter((name) => Object.hasOwn(fields, name))
  const hashes: [string, string][] = []
  for (const name of secrets) hashes.push([name, await hashSecret(context, scope, fields[name] as string)])
  const isPlain = ([name]: [string, unknown]): boolean => !secrets.includes(name)
  const plain = secrets.length === 0 ? fields : Object.fromEntries(Object.entries(fields).filter(isPlain))
  const stamp = isAccounts(context, collection) ? createStamp() : undefined
  return createStoredDocument(system, plain, Object.fromEntries(hashes), stamp)
}

/** Hashes a valid secret. Throws `overloaded`. */
export function hashSecret(context: ServiceContext, scope: RequestScope, secret: string): Promise<string> {
  scope.enter('hash')
  return context.hasher.hash(secret, scope.signal)
}

/** How often an `_id` is made anew when a random source repeats itself. */
const MAX_ATTEMPTS = 3

/** Creates under a new `_id`; `create` gives `undefined` where it exists already. */
export async function withNewId<T>(
  context: ServiceContext,
  create: (id: string) => Promise<T | undefined>,
): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const created = await create(context.createId())
    if (created !== undefined) return created
  }
  throw new Error('the random source repeats itself')
}

/** Stores a new document and whatever belongs to it, in one write. Throws `document_too_large`, `unique_violation`. */
export async function storeNew(
  context: ServiceContext,
  scope: RequestScope,
  collection: Collection,
  document: StoredDocument,
  others: readonly WriteStep[] = [],
): Promise<StoredDocument | undefined> {
  checkStoredSize([document])
  scope.enter('write')
  const references = referencesToHold(collection, {}, document)
  const steps: readonly WriteStep[] = [
    ...references.map(requireReference),
    { in: collection.name, insert: document },
    ...others,
  ]
  const result = await context.adapter.write(steps, lazySignal(scope))
  if (result.ok) return document
  if (result.reason === 'missing') throw brokenReference(references[result.step])
  if (result.reason !== 'unique') throw new Error(`an insert was refused: ${result.reason}`)
  const fields = result.fields ?? []
  if (fields.length === 1 && fields[0] === '_id') return undefined
  throw conflict(fields)
}

/** The answer to a value that is taken. `at`: where the document lies in the body. */
export const conflict = (fields: readonly string[], at = ''): ServiceError =>
  new ServiceError('unique_violation', `Another document has the same ${fields.join(' and ')}.`, {
    errors: fields.map((field) => ({ path: `${at}/${field}`, code: 'taken', message: 'is taken' })),
  })
