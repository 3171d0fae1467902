import type { Collection } from '../../config/plan.js'
import { isSystemField } from '../../fields/schema/names.js'
import { addNearNames } from '../../fields/schema/near-names.js'
import { applyDefaults, normaliseProperties } from '../../fields/schema/normalise.js'
import { parseTimestamp } from '../../fields/timestamp.js'
import { findUnstorable, isStorable } from '../../json/domain.js'
import { isObject, pickWhere } from '../../json/own-properties.js'
import type { BodyReport } from '../../json/report.js'
import { isUuid, lowerUuid } from '../../json/uuid.js'
import type { Call } from '../../request/call.js'
import type { StoredDocument } from '../../storage.js'
import type { JsonObject, MaybePromise } from '../../types.js'
import { buildDocument, createSystemFields, isCreator } from './new-document.js'

/** A valid document of the seed. It is stored after its secrets are hashed. */
export interface SeedDraft {
  readonly collection: Collection
  /**
   * The document, or a function that builds it if it has secrets to hash. Without secrets it is built immediately, so
   * that a seed of a million documents is not in memory twice.
   */
  readonly document: MaybePromise<StoredDocument> | (() => MaybePromise<StoredDocument>)
  readonly path: string
}

/** The service that stores documents of a seed. */
export interface Seeding {
  readonly call: Call
  /** The `_id`s of the accounts in the seed, in stored form. */
  readonly accounts: ReadonlySet<string>
}

/** Reads an `_id`; `undefined` if a value is none. */
export const readId = (value: unknown): string | undefined => {
  const id = typeof value === 'string' ? lowerUuid(value) : ''
  return isUuid(id) ? id : undefined
}

/**
 * Validates a document like the body of a caller with all rights, except that it may have `_id`, `createdAt`, `updatedAt`
 * and `createdBy`. Returns `undefined` if it is invalid.
 */
export function judgeSeed(
  { call, accounts }: Seeding,
  collection: Collection,
  document: unknown,
  report: BodyReport,
): SeedDraft | undefined {
  if (!isObject(document)) {
    report.fault('wrong_type', 'must be an object')
    return undefined
  }
  if (!isStorable(document)) {
    findUnstorable(document, report)
    return undefined
  }
  const given = readSystemFields(document, report)
  const own = createSystemFields(call, collection, given._id ?? call.service.createId())
  const declared = collection.fields
  const body = normaliseProperties(
    declared,
    pickWhere(document, (name) => !isSystemField(name)),
  )
  const fields = applyDefaults(declared, body, call.service.clock())
  const faults = collection.validate(fields)
  for (const { path, code, message } of addNearNames(faults, declared))
    report.within(path).fault(code, message)
  if (faults.length > 0) return undefined
  const system = { ...own, ...given }
  const creator = lowerUuid(system.createdBy ?? '')
  // If the creator is an account of the seed, `createdBy` gets the lower case of its `_id`. Any other creator is a
  // caller of the host.
  const named = accounts.has(creator) ? { ...system, createdBy: creator } : system
  const build = () => buildDocument(call, collection, { system: named, fields })
  return { collection, document: collection.hashes.length > 0 ? build : build(), path: report.path }
}

interface GivenSystemFields {
  readonly _id?: string
  readonly createdAt?: string
  readonly updatedAt?: string
  readonly createdBy?: string | null
}

/** Reads the system fields of a document of the seed, and converts them to stored form. */
function readSystemFields(document: JsonObject, report: BodyReport): GivenSystemFields {
  const given: { [name: string]: unknown } = {}
  for (const name in SYSTEM_FIELDS) {
    const [read, expected] = SYSTEM_FIELDS[name as keyof GivenSystemFields]
    if (!Object.hasOwn(document, name)) continue
    given[name] = read(document[name])
    if (given[name] === undefined) report.at(name).fault('wrong_type', expected)
  }
  return given
}

const TIME = [
  (value: unknown) => (typeof value === 'string' ? parseTimestamp(value) : undefined),
  'must be an RFC 3339 date-time',
] as const

const SYSTEM_FIELDS: {
  readonly [name in keyof GivenSystemFields]-?: readonly [
    read: (value: unknown) => string | null | undefined,
    expected: string,
  ]
} = {
  _id: [readId, 'must be a UUID'],
  createdAt: TIME,
  updatedAt: TIME,
  createdBy: [
    (value) => (value === null || isCreator(value) ? value : undefined),
    'must be the _id of a user, of at most 1,024 bytes, or null',
  ],
}
