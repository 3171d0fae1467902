import { placeOf } from './answers.js'
import { type FollowedQuery, followEvents, persist, type Sent } from './following.js'
import { createList } from './lists.js'
import { readByIds } from './pages.js'
import { pathOf } from './requests.js'
import type { Transport } from './transport.js'
import { refuseOthers, writeQuery } from './write-query.js'

interface ListedDocument {
  readonly _id: string
}

/** The current state of a live list. */
interface LiveList {
  readonly documents: readonly ListedDocument[]
  /** The maximum number of documents in the list; if `isKnown` is false, the number when the list was last read. */
  readonly most: number
  readonly isKnown: boolean
}

/** Up to this number of documents, the answer to a list without a limit says whether the service has cut the list. */
const MOST_TOLD = 1000

type CompareValues = (a: unknown, b: unknown) => number

/**
 * The rank of a value in the order of CONTRACT.md §3.6: missing, false and true, numbers, then strings. All strings
 * have the same rank, because `compareText` orders them.
 */
const rankOf = (value: unknown): number => (typeof value === 'string' ? Infinity : Number(value ?? -Infinity))

/** The first five bits of every surrogate code unit. */
const SURROGATE = 0xd800 >> 11

/** Compares strings by code points. */
function compareText(a: string, b: string): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  // Surrogates encode the characters after U+FFFF, so they sort after all other code units. The end of a string (`NaN`)
  // sorts first.
  const rank = (text: string): number => {
    const unit = text.charCodeAt(i)
    return unit >> 11 === SURROGATE ? unit + 0x10000 : unit || -1
  }
  return rank(a) - rank(b)
}

/** Returns the value at a path; of an expanded reference its `_id`, by which the service orders. */
function valueAt(document: unknown, path: string): unknown {
  // biome-ignore lint/suspicious/noExplicitAny: a document may have any form
  const value = path.split('.').reduce<any>((value, name) => value?.[name], document)
  return value?._id ?? value
}

/**
 * Compiles the `sort` of a list into a comparison. Documents with equal keys are ordered by `_id`, in the direction of
 * the last sort key.
 */
function compileOrder(sort: object | undefined): CompareValues {
  // A direction is read as a string, because the client also sends it to the service as a string.
  const keys = Object.entries(sort ?? {}).map(([path, to]) => [path, /^(desc|-1)$/.test(String(to))] as const)
  const all = [...keys, ['_id', keys.at(-1)?.[1]] as const]
  return (a, b) => {
    for (const [path, isDescending] of all) {
      const [x, y] = [valueAt(a, path), valueAt(b, path)]
      const order = typeof x === 'string' && typeof y === 'string' ? compareText(x, y) : rankOf(x) - rankOf(y)
      // The difference of two missing values is NaN, so the next key decides.
      if (order) return isDescending ? -order : order
    }
    return 0
  }
}

/**
 * Returns the list after an event, which adds, changes or removes one document. Returns `undefined` if the list must be
 * read again, because only the service knows the maximum length of the list, or the document that now follows the last
 * one.
 */
function applyEvent(
  { documents, most, isKnown }: LiveList,
  document: ListedDocument,
  isGone: boolean,
  order: CompareValues,
): LiveList | undefined {
  const others = documents.filter(({ _id }) => _id !== document._id)
  const next = isGone ? others : [...others, document].sort(order)
  const isCut = next.length > most
  const hasLost = others.length < documents.length && (isGone || next.at(-1) === document)
  if (isKnown ? hasLost && documents.length >= most : isCut || (hasLost && most > MOST_TOLD)) return undefined
  return { documents: next.slice(0, most), most, isKnown }
}

interface LiveQuery extends FollowedQuery {
  readonly sort?: object
  readonly limit?: number
  readonly project?: readonly string[]
  readonly expand?: readonly string[]
}

/** Returns the part of a document that the paths of a projection select. */
const pick = (document: object, paths: readonly string[]): object =>
  Object.fromEntries(
    Object.entries(document).flatMap(([name, value]) => {
      if (name === '_id' || paths.includes(name)) return [[name, value]]
      const inner = paths.flatMap((path) => (path.startsWith(`${name}.`) ? path.slice(name.length + 1) : []))
      return inner[0] ? [[name, pick(value, inner)]] : []
    }),
  )

/** Creates the function that removes the fields that a list has only for its order. */
function compileShow(project: readonly string[] | undefined) {
  if (!project) return (documents: LiveList['documents']) => documents
  // A document that stays the same remains the same object in each list.
  const shown = new WeakMap<object, object>()
  return (documents: LiveList['documents']) =>
    documents.map((document) => {
      const known = shown.get(document) ?? pick(document, project)
      shown.set(document, known)
      return known
    })
}

/** Repeats a request until it succeeds. Returns `undefined` if the signal aborts. */
async function insist<T>(
  request: (connection: AbortController) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const answers = persist(async function* (connection) {
    yield await request(connection)
  }, signal)
  for await (const answer of answers) return answer
  return undefined
}

/** Creates the call `live` of a collection. */
export function createLive(name: string, transport: Transport) {
  const path = pathOf(name)
  const list = createList(path, transport)

  async function fetchAll({ limit, signal, ...asked }: LiveQuery): Promise<LiveList | undefined> {
    const query = writeQuery({ ...asked, limit })
    const answer = await insist((connection) => list(query, { connection }), signal)
    if (!answer) return undefined
    const { body, headers } = answer
    return { documents: body, most: limit ?? body.length, isKnown: limit !== undefined || !!placeOf(headers) }
  }

  /** Reads the documents of some events with their references expanded. The stream cannot expand them. */
  async function expandAll(told: readonly Sent[], { q, project, expand, signal }: LiveQuery) {
    const ids = told.flatMap(({ event, data }) => (/^(enter|change)$/.test(event) ? data._id : []))
    const documents = await insist(
      (connection) => readByIds(list, [...new Set(ids)], { q, project, expand }, { connection }),
      signal,
    )
    return documents && new Map(documents.map((document) => [document._id, document]))
  }

  return {
    async *live({ q, sort, limit, project, expand, signal, ...others }: LiveQuery = {}) {
      refuseOthers(others)
      const order = compileOrder(sort)
      const show = compileShow(project)
      // The order needs the fields of `sort`, also if they are not shown.
      const fields = project && [...new Set([...project, ...Object.keys(sort ?? {})])]
      const asked = { q, sort, limit, project: fields, expand, signal } as LiveQuery
      let present: LiveList | undefined
      for await (const told of followEvents(path, transport, { q, project: fields, signal })) {
        const read = expand ? await expandAll(told, asked) : undefined
        if (expand && !read) return
        for (const { event, data } of told) {
          // A document that is no longer in the list has left it. The event that says so follows.
          const document = read ? read.get(data._id) : data
          const isGone = event === 'leave' || !document
          present =
            (event !== 'reset' && present && applyEvent(present, isGone ? data : document, isGone, order)) ||
            (await fetchAll(asked))
          if (present) yield show(present.documents)
        }
      }
    },
  }
}
