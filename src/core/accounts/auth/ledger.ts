import { formatTimestamp } from '../../fields/timestamp.js'
import { drawFirstVersion } from '../../first-version.js'
import { digest } from '../../json/digest.js'
import { readOwn } from '../../json/own-properties.js'
import type { CollectionPlan, StoredDocument, WriteStep } from '../../storage.js'
import { EXPIRES_AT, LAST_TIME } from './sessions.js'

/** The name of the internal collection of ledgers. */
export const LEDGERS = '_ledgers'

/** The plan of the collection of ledgers. A stored ledger lists its taken places. */
export const LEDGERS_PLAN: CollectionPlan = {
  name: LEDGERS,
  indexes: [{ fields: [EXPIRES_AT], unique: false }],
}

/**
 * A rate limit. Each counted event, such as a failed login, takes a place; at most `most` places may be taken within
 * any `window` of time.
 */
export interface Ledger {
  readonly _id: string
  /** Milliseconds. */
  readonly window: number
  readonly most: number
  /**
   * The client that takes a place, and the maximum number of places that it may take within the window; `undefined` if
   * the client is unknown.
   */
  readonly taker?: { readonly name: string; readonly most: number } | undefined
}

/** Returns the `_id` of a ledger. It is a digest, so its length is fixed and it does not reveal `parts`. */
export const nameLedger = (...parts: readonly string[]): string => digest(JSON.stringify(parts))

/** A taken place: the time at which it was taken, in milliseconds since 1970, and the name of its taker. */
type LedgerPlace = readonly [at: number, by: string | null]

const isTaken = (place: unknown): place is LedgerPlace => Array.isArray(place) && typeof place[0] === 'number'

/**
 * Returns the places that are taken at the time `now`. A place with a later time, from a process whose clock is ahead,
 * counts too if it is less than `window` later.
 */
function readPlaces(
  stored: StoredDocument | undefined,
  { window }: Ledger,
  now: number,
): readonly LedgerPlace[] {
  const places = stored && readOwn(stored, 'places')
  if (!Array.isArray(places)) return []
  return places.filter(isTaken).filter(([at]) => Math.abs(now - at) < window)
}

/** Counts the taken places of a ledger: in total, and those of its taker. */
export function countPlaces(
  stored: StoredDocument | undefined,
  ledger: Ledger,
  now: number,
): { readonly all: number; readonly own: number } {
  const places = readPlaces(stored, ledger, now)
  return { all: places.length, own: places.filter(([, by]) => by === ledger.taker?.name).length }
}

/** Returns the milliseconds until a place becomes free; 0 if a place is free now. */
export function waitForPlace(stored: StoredDocument | undefined, ledger: Ledger, now: number): number {
  const { window, most, taker } = ledger
  const places = readPlaces(stored, ledger, now)
  const own = taker ? places.filter(([, by]) => by === taker.name) : []
  return Math.max(waitAmong(places, most), taker ? waitAmong(own, taker.most) : 0)

  function waitAmong(among: readonly LedgerPlace[], limit: number): number {
    const times = among.map(([at]) => at).sort((a, b) => a - b)
    const first = times[times.length - limit]
    return first === undefined ? 0 : first + window - now
  }
}

/** Takes one more place: returns the changed ledger and the step that stores it. */
export function takePlace(stored: StoredDocument | undefined, ledger: Ledger, now: number): LedgerWrite {
  const places = readPlaces(stored, ledger, now)
  return writePlaces(stored, ledger, [...places, [now, ledger.taker?.name ?? null]])
}

/**
 * Frees the places of the ledger's taker: returns the changed ledger and the step that stores it; `undefined` if the
 * taker has no places.
 */
export function liftPlaces(
  stored: StoredDocument | undefined,
  ledger: Ledger,
  now: number,
): LedgerWrite | undefined {
  const { taker } = ledger
  const places = readPlaces(stored, ledger, now)
  const others = places.filter(([, by]) => !taker || by !== taker.name)
  return others.length < places.length ? writePlaces(stored, ledger, others) : undefined
}

/** A changed ledger, and the step that stores it. */
export interface LedgerWrite {
  readonly after: StoredDocument
  readonly step: WriteStep
}

function writePlaces(
  stored: StoredDocument | undefined,
  { _id, window }: Ledger,
  places: readonly LedgerPlace[],
): LedgerWrite {
  const last = Math.max(0, ...places.map(([at]) => at))
  const expiresAt = formatTimestamp(last + window) ?? LAST_TIME
  const _version = stored ? stored._version + 1 : drawFirstVersion()
  const after: StoredDocument = { _id, _version, places, expiresAt }
  return {
    after,
    step: stored ? { in: LEDGERS, replace: after, version: stored._version } : { in: LEDGERS, insert: after },
  }
}
