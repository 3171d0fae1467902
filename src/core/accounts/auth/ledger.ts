import { formatTimestamp } from '../../fields/timestamp.js'
import { drawFirstVersion } from '../../first-version.js'
import { readOwn } from '../../json/own-properties.js'
import type { CollectionPlan, StoredDocument, WriteStep } from '../../storage.js'
import { EXPIRES_AT, LAST_TIME } from './sessions.js'
import { digest } from './token.js'

/** The internal collection of ledgers. */
export const LEDGERS = '_ledgers'

/** A stored ledger: the taken places, each with its time and its taker. */
export const LEDGERS_PLAN: CollectionPlan = {
  name: LEDGERS,
  indexes: [{ fields: [EXPIRES_AT], unique: false }],
}

/** A ledger: the number of places within any window of time, in all and for one taker. */
export interface Ledger {
  readonly _id: string
  /** Milliseconds. */
  readonly window: number
  readonly most: number
  /** The taker of places, and the most that it may have; `undefined` for an unknown taker. */
  readonly taker?: { readonly name: string; readonly most: number } | undefined
}

/** The `_id` of a ledger: a digest, so that its length is fixed and it reveals nothing of `parts`. */
export const nameLedger = (...parts: readonly string[]): string => digest(JSON.stringify(parts))

/** A place: the time at which it was taken, in milliseconds since 1970, and its taker. */
type LedgerPlace = readonly [at: number, by: string | null]

const isTaken = (place: unknown): place is LedgerPlace => Array.isArray(place) && typeof place[0] === 'number'

/** The places that are taken at a time; includes those of a clock that is ahead, but not of one that was far ahead. */
function readPlaces(
  stored: StoredDocument | undefined,
  { window }: Ledger,
  now: number,
): readonly LedgerPlace[] {
  const places = stored && readOwn(stored, 'places')
  if (!Array.isArray(places)) return []
  return places.filter(isTaken).filter(([at]) => Math.abs(now - at) < window)
}

/** Counts the taken places, in all and by the taker of a ledger. */
export function countPlaces(
  stored: StoredDocument | undefined,
  ledger: Ledger,
  now: number,
): { readonly all: number; readonly own: number } {
  const places = readPlaces(stored, ledger, now)
  return { all: places.length, own: places.filter(([, by]) => by === ledger.taker?.name).length }
}

/** The milliseconds until a place is free; zero where one is. */
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

/** The ledger with one more place taken, and the step that stores it. */
export function takePlace(stored: StoredDocument | undefined, ledger: Ledger, now: number): LedgerWrite {
  const places = readPlaces(stored, ledger, now)
  return writePlaces(stored, ledger, [...places, [now, ledger.taker?.name ?? null]])
}

/** The ledger without the places of its taker, and the step that stores it; `undefined` where it has none. */
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

/** A ledger after a write, and its step. */
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
