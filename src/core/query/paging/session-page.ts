import type { Fault } from '../../errors.js'
import { parseTimestamp } from '../../fields/timestamp.js'
import { decodeBase64url, encodeText } from '../../json/base64url.js'
import { attemptInto, readLimit } from '../compile-query.js'
import { invalidQuery, type ParameterName, type RawQuery } from '../query-string.js'
import { malformedCursor } from './cursor.js'

/** The parameters of a list of sessions. */
export const PARAMETERS: readonly ParameterName[] = ['after', 'limit']

/** The maximum number of sessions on a page, which is also the default. */
export const MAX_SESSIONS = 1000

/**
 * A position in the list of an account's sessions. It does not contain the stored `_id` of a session, because
 * that is secret.
 */
export interface SessionPlace {
  /** The start time of the last session before the position, in stored form; empty if the session has none. */
  readonly began: string
  /** How many sessions before the position have the start time `began`; 0 at the beginning of the list. */
  readonly passed: number
  /** The name of the last session before the position. */
  readonly name: string
}

/** The part of a list of sessions that a query asks for. */
export interface SessionPage {
  readonly after: SessionPlace
  readonly limit: number
}

/** The position before all sessions. */
export const START: SessionPlace = { began: '', passed: 0, name: '' }

/** Reads `after` and `limit` (CONTRACT.md §4, "Sessions"). Throws `invalid_query` with every fault. */
export function readSessionPage({ after, limit }: RawQuery): SessionPage {
  const faults: Fault[] = []
  const attempt = attemptInto(faults)
  const page = {
    limit: attempt(
      'limit',
      0,
      () => readLimit(limit, { defaultLimit: null, maxLimit: MAX_SESSIONS }) ?? MAX_SESSIONS,
    ),
    after: attempt('after', START, () => (after === undefined ? START : readPlace(after))),
  }
  if (faults.length > 0) throw invalidQuery(faults)
  return page
}

/** Encodes a position as a string for a URL. */
export const writePlace = ({ began, passed, name }: SessionPlace): string =>
  encodeText(JSON.stringify([began, passed, name]))

function readPlace(text: string): SessionPlace {
  const parts = parse(text)
  const [began, passed, name, ...others] = Array.isArray(parts) ? (parts as readonly unknown[]) : []
  const isTime = typeof began === 'string' && (began === '' || parseTimestamp(began) === began)
  const isPlace = isTime && typeof name === 'string' && others.length === 0
  if (!isPlace || !Number.isSafeInteger(passed) || Number(passed) < 1) throw malformedCursor()
  return { began, passed: Number(passed), name }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(decodeBase64url(text) ?? new Uint8Array()))
  } catch {
    throw malformedCursor()
  }
}
