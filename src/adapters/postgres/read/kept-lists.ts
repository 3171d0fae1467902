import { freezeDeep } from '../../../json/freeze-deep.js'
import type { StoredDocument } from '../../../storage.js'
import type { Statement, Value } from '../../sql/dialect.js'
import { Generations, type Kept, measure } from '../../sql/read/generations.js'
import type { Session } from '../connection/session.js'
import { pageOfIds, writeStampedList, writeStamps } from './page.js'
import type { Texts } from './parse-documents.js'

/** A document, and the transaction that has written it: with another, it is another one. */
interface Stamped extends Kept {
  readonly stamp: string
}

/** The documents that were read of a server; of one that is not known, none are kept. */
export interface KeptDocuments {
  of(server: string | null | undefined): Generations<Stamped> | undefined
}

/** Creates the documents that are kept of the server that answers: those of another are forgotten. */
export function createKeptDocuments(): KeptDocuments {
  let known = ''
  let documents = new Generations<Stamped>()
  return {
    of(server) {
      if (!server) return undefined
      if (server !== known) documents = new Generations()
      known = server
      return documents
    },
  }
}

/** Where a list is read, and its documents are kept. */
export interface ListSource {
  readonly kept: KeptDocuments
  readonly collection: string
  readonly table: string
}

/** Reads a list as a whole; `undefined` where it does not fit. */
export type ReadList = (session: Session, values: readonly Value[]) => Promise<Texts | undefined>

/** A list: its page, with values like those of each reading, and what bounds it as a whole. */
export interface List {
  readonly page: Statement
  readonly bounds: readonly [bytes: number, size: number]
}

/** So many misses in a row, and the list is read without looking for so many times. */
const MOST_MISSES = 8
const PAUSE = 64

/** Of so many documents, one may be missing. */
const SHARE = 4

/**
 * Creates what reads a list whose documents are kept: asks which documents it has now, and reads those that are missing.
 * A list that is read for the first time, or changes much between two readings, is read by `readList`.
 */
export function createReadKept(
  { kept, collection, table }: ListSource,
  { page, bounds }: List,
  readList: ReadList,
): ReadList {
  const [bytes, size] = bounds
  const stamps = writeStamps(page.text)
  const whole = writeStampedList(page)
  const some = writeStampedList({ text: pageOfIds(table), values: [''] })
  let isNew = true
  let misses = 0
  let paused = 0

  const readKnown: ReadList = async ({ readRows }, values) => {
    const [[server, ids, stamped] = []] = await readRows(stamps, values)
    const documents = kept.of(server)
    if (!documents) return undefined
    const listed = JSON.parse(ids ?? '[]') as readonly string[]
    const marks = splitList(stamped)
    const found = findKept(documents.finder(collection), listed, marks)
    const { missing } = found
    const left = bytes - found.bytes
    if (missing.length > listed.length / SHARE || left < 0) return undefined
    if (missing.length === 0) return { texts: [], join: joinRead(documents, collection, found, []) }
    const asked = [missing.map((place) => listed[place] ?? ''), left, size]
    const [[list, same, details] = []] = await readRows(some, asked)
    const read = readDetails(details)
    // What has changed in between belongs to a later moment than the rest.
    const isSame =
      read.length === missing.length && read.every(({ stamp }, i) => stamp === marks[missing[i] ?? 0])
    if (typeof list !== 'string' || same !== server || !isSame) return undefined
    return { texts: [list], join: joinRead(documents, collection, found, read) }
  }

  const readAnew: ReadList = async ({ readRows }, values) => {
    const [[list, server, details] = []] = await readRows(whole, [...values, bytes, size])
    if (typeof list !== 'string') return undefined
    const read = readDetails(details)
    return { texts: [list], join: joinRead(kept.of(server), collection, NONE, read) }
  }

  return async (session, values) => {
    if (isNew || paused > 0) {
      if (!isNew) paused -= 1
      isNew = false
      return readList(session, values)
    }
    const known = await readKnown(session, values)
    misses = known ? 0 : misses + 1
    if (known) return known
    if (misses === MOST_MISSES) [misses, paused] = [0, PAUSE]
    return readAnew(session, values)
  }
}

/** The places of a list: the documents that are kept, and which are missing. */
interface Found {
  readonly places: readonly (StoredDocument | undefined)[]
  readonly missing: readonly number[]
  /** Of those that are kept. */
  readonly bytes: number
}

const NONE: Found = { places: [], missing: [], bytes: 0 }

function findKept(
  find: (id: string) => Stamped | undefined,
  ids: readonly string[],
  stamps: readonly string[],
): Found {
  const missing: number[] = []
  let bytes = 0
  const places = ids.map((id, i) => {
    const known = find(id)
    if (known && known.stamp === stamps[i]) {
      bytes += known.size
      return known.document
    }
    missing.push(i)
    return undefined
  })
  return { places, missing, bytes }
}

/** What is known of a document beside its text. */
interface Details {
  readonly stamp: string
  readonly size: number
}

const splitList = (list: string | null | undefined): readonly string[] => (list ? list.split(',') : [])

const readDetails = (list: string | null | undefined): readonly Details[] =>
  splitList(list).map((detail) => {
    const [stamp = '', size] = detail.split(' ')
    return { stamp, size: Number(size) }
  })

/** The bytes in memory of documents that are frozen in about one step. */
const HELD_A_STEP = 16

/** Keeps the documents that were missing, and puts them into their places. */
const joinRead = (
  documents: Generations<Stamped> | undefined,
  collection: string,
  { places, missing }: Found,
  details: readonly Details[],
): NonNullable<Texts['join']> =>
  function* (read, slice) {
    const all = [...places]
    for (const [i, document] of read.entries()) {
      const { stamp = '', size = 0 } = details[i] ?? {}
      if (slice.left <= 0) yield
      const held = measure(document)
      slice.left -= held / HELD_A_STEP
      documents?.keep(collection, { document: freezeDeep(document), size, held, stamp })
      all[missing[i] ?? i] = document
    }
    return all.filter((document) => document !== undefined)
  }
