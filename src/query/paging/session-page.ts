import type { Fault } from '../../errors.js'
import { parseTimestamp } from '../../fields/timestamp.js'
import { decodeBase64url, encodeText } from '../../json/base64url.js'
import { ConditionFault } from '../condition.js'
import { refuse } from '../query-string.js'
import type { ParameterName, RawQuery } from '../raw-query.js'
import { malformedCursor } from './cursor.js'
import { readLimit } from './page.js'

/** The parameters of a list of sessions. */
export const PARAMETERS: readonly ParameterName[] = ['after', 'limit']

/** The most sessions of a page, and those of one that names no limit. */
export const MAX_SESSIONS = 1000

/** A place in the list of an account's sessions. It names none of them: their `_id` is never told. */
export interface SessionPlace {
  /** When the last session before it began, in stored form; empty where that was not stored. */
  readonly began: string
  /** The sessions before it that began then. */
  readonly passed: number
}

/** The part of a list of sessions that a query asks for. */
export interface SessionPage {
  readonly after: SessionPlace
  readonly limit: number
}

/** Before all sessions. */
const START: SessionPlace = { began: '', passed: 0 }

/** Reads `after` and `limit` (CONTRACT.md §4, "Sessions"). Throws `invalid_query` with every fault. */
export function readSessionPage({ after, limit }: RawQuery): SessionPage {
  const faults: Fault[] = []
  const attempt = <T>(path: string, otherwise: T, read: () => T): T => {
    try {
      return read()
    } catch (thrown) {
      if (!(thrown instanceof ConditionFault)) throw thrown
      faults.push({ path, code: thrown.code, message: thrown.message })
      return otherwise
    }
  }
  const page = {
    limit: attempt(
      'limit',
      0,
      () => readLimit(limit, { defaultLimit: null, maxLimit: MAX_SESSIONS }) ?? MAX_SESSIONS,
    ),
    after: attempt('after', START, () => (after === undefined ? START : readPlace(after))),
  }
  refuse(faults)
  return page
}

/** Writes a place, as text for a URL. */
export const writePlace = ({ began, passed }: SessionPlace): string =>
  encodeText(JSON.stringify([began, passed]))

function readPlace(text: string): SessionPlace {
  const parts = parse(text)
  const [began, passed] = Array.isArray(parts) && parts.length === 2 ? (parts as readonly unknown[]) : []
  const isTime = typeof began === 'string' && (began === '' || parseTimestamp(began) === began)
  if (!isTime || !Number.isSafeInteger(passed) || Number(passed) < 0) throw malformedCursor()
  return { began, passed: Number(passed) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(decodeBase64url(text) ?? new Uint8Array()))
  } catch {
    throw malformedCursor()
  }
}
