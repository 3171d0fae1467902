import { etagOfText } from '../../core/http/etag.js'
import type { DescribeService, MountPoint } from '../../core/http/routes/route.js'
import type { Bytes } from '../../core/json/bytes.js'
import { createBoundedMap } from '../../core/kept/bounded-map.js'
import { CACHES } from '../../core/kept/caches.js'
import type { KnownCaller } from '../../core/permissions/caller.js'
import { OPERATIONS } from '../../core/permissions/grants.js'
import type { KeptText } from '../../core/permissions/kept-texts.js'
import type { Call } from '../../core/request/call.js'
import { forEachSliced, inSlices, type Sliced, stepsToWrite } from '../../core/slices.js'
import { writeDescription } from './describe-service.js'
import type { DescribedService } from './scope.js'

/** The maximum number of bytes of all cached documents. A document of 50 collections with 30 fields each has 8 MB. */
const MAX_KEPT = 32 * 1024 * 1024

/** Creates the function that describes a service to a caller. Callers with the same roles share a cached document. */
export function createDescribe(service: Omit<DescribedService, 'hasAccountRoutes'>): DescribeService {
  const kept = createBoundedMap<string, KeptText>(CACHES.descriptions, MAX_KEPT)
  const subjects = findSubjects(service)
  let underWay: Promise<unknown> | undefined
  const make = async (call: Call, found: MountPoint, key: string): Promise<KeptText> => {
    const own = { ...service, hasAccountRoutes: found.hasAccountRoutes }
    const document = await inSlices(
      async (slices) => join(await writeDescription(own, call.caller, found.prefix, slices), slices),
      () => call.deadline.signal,
    )
    kept.set(key, document, document.bytes.length)
    return document
  }
  /** Creates one document at a time, because the creation needs several times the memory of the finished document. */
  const makeInTurn = async (call: Call, found: MountPoint, key: string): Promise<KeptText> => {
    call.deadline.enter('describe')
    while (underWay) await underWay
    call.deadline.signal.throwIfAborted()
    const known = kept.get(key)
    if (known) return known
    const making = make(call, found, key)
    const end = (): void => {
      underWay = undefined
    }
    underWay = making.then(end, end)
    return making
  }
  return (call, found) => {
    const { caller } = call
    const key = JSON.stringify([found.prefix, found.hasAccountRoutes, caller && rolesOf(caller, subjects)])
    return kept.get(key) ?? makeInTurn(call, found, key)
  }
}

/**
 * Joins the pieces of a document. The ETag of the document is a digest of the pieces' tags, because a digest of many
 * megabytes would block the process for too long.
 */
const join: Sliced<[pieces: readonly Bytes[]], KeptText> = async (pieces, slices) => {
  const bytes = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0))
  const tags: string[] = []
  let at = 0
  await forEachSliced(slices, pieces, (piece) => {
    bytes.set(piece, at)
    at += piece.length
    tags.push(etagOfText({ bytes: piece }))
    slices.left -= stepsToWrite(piece.length)
  })
  return { bytes, etag: etagOfText(tags.join()) }
}

/** Returns the subjects that appear in at least one rule. */
const findSubjects = ({ plan }: Pick<DescribedService, 'plan'>): readonly string[] => [
  ...new Set(
    [...plan.collections.values()].flatMap(({ permissions }) =>
      OPERATIONS.flatMap((operation) => [...permissions[operation].keys()]),
    ),
  ),
]

/** Returns the roles of a caller that appear in at least one rule. */
const rolesOf = ({ roles }: KnownCaller, subjects: readonly string[]): readonly string[] =>
  subjects.filter((subject) => roles.includes(subject))
