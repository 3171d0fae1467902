import {
  type DocumentTexts,
  readDocument,
  readExpanded,
  readUnclaimed,
} from '../../documents/read/read-document.js'
import { createClaimed } from '../../documents/write/create-document.js'
import { refuseUnauthorized } from '../../documents/write/find-target.js'
import { type UpdateRequest, updateDocument } from '../../documents/write/update-document.js'
import type { WrittenDocument } from '../../documents/write/written.js'
import { whenReady } from '../../promises.js'
import { deleteDocument } from '../../references/delete-document.js'
import { authorizeCreate, authorizeRead, authorizeWrite } from '../../request/authorize.js'
import type { Call } from '../../request/call.js'
import { notFound, unexpected } from '../../request/refusals.js'
import type { Document, MaybePromise } from '../../types.js'
import { type Answer, answerText, NOTHING, tellIgnored } from '../answer.js'
import { etagOf, etagOfText, expectsNothing, isKnown, isMatched, readExpectation } from '../etag.js'
import { answerCreated } from './collection.js'
import type { Endpoint, NamedByPath } from './route.js'

type DocumentEndpoint = Endpoint<'collection' | 'id'>
type DocumentPlace = Pick<NamedByPath, 'collection' | 'id'>

/** `GET /:collection/:id`. */
export const read: DocumentEndpoint = {
  parameters: ['project', 'expand'],
  reads: 'document',
  run(call, place) {
    // Most collections have no read rule that uses claims.
    if (!call.service.readByClaims.has(place.collection.name)) return runRead(call, place)
    const unclaimed = call.accessUnclaimed(place.collection)
    const query = unclaimed && call.readQuery(unclaimed.access)
    // With `expand`, claims may decide about the referenced documents, so the claims are read.
    if (unclaimed && query?.expand.length === 0) {
      return whenReady(readUnclaimed(call, { ...unclaimed, query }, place), (found) =>
        answerRead(call, found ?? absent()),
      )
    }
    return whenReady(call.learnToRead(place.collection), () => runRead(call, place))
  },
}

function runRead(call: Call, { collection, id }: DocumentPlace): MaybePromise<Answer> {
  const access = authorizeRead(call, collection, 'document')
  const reading = { access, query: call.readQuery(access) }
  if (reading.query.expand.length === 0)
    return whenReady(readDocument(call, reading, id), (found) => answerRead(call, found ?? absent()))
  const match = call.request.header('if-match')
  const isExpected = (shown: Document): boolean => match === undefined || isMatched(match, etagOf(shown))
  // Expanded documents may change independently of this one, so there is no ETag.
  return whenReady(readExpanded(call, reading, id, isExpected), (expanded) =>
    answerText(200, expanded ?? absent()),
  )
}

const absent = (): never => {
  throw notFound()
}

function answerRead({ request }: Call, { whole, asked }: DocumentTexts): Answer {
  const etag = etagOfText(whole)
  if (!isMatched(request.header('if-match'), etag)) throw unexpected()
  if (isKnown(request, etag)) return { status: 304, headers: { etag }, body: null }
  return answerText(200, asked ?? (typeof whole === 'string' ? whole : whole.bytes), { etag })
}

/** `PATCH /:collection/:id`. */
export const patch: DocumentEndpoint = {
  mayIgnore: true,
  run: (call, place) => update(call, place, 'patch'),
}

/** `PUT /:collection/:id`. */
export const put: DocumentEndpoint = {
  mayIgnore: true,
  run: (call, place) => (expectsNothing(call.request) ? claim(call, place) : update(call, place, 'put')),
}

/** `DELETE /:collection/:id`. */
export const remove: DocumentEndpoint = {
  async run(call, { collection, id }) {
    const permit = authorizeWrite(call, collection, 'delete')
    if (permit.rules.length === 0) return refuseUnauthorized(call, permit, id)
    const isExpected = readExpectation(call.request)
    call.refuseQuery()
    await deleteDocument(call, { id, isExpected, ...permit })
    return NOTHING
  },
}

/** Returns the response with a changed document. */
const answerWritten = ({ text, ignored }: WrittenDocument): Answer =>
  answerText(200, text, Object.assign({ etag: etagOfText(text) }, tellIgnored(ignored)))

function update(
  call: Call,
  { collection, id }: DocumentPlace,
  mode: UpdateRequest['mode'],
): MaybePromise<Answer> {
  const permit = authorizeWrite(call, collection, 'update')
  if (permit.rules.length === 0) return refuseUnauthorized(call, permit, id)
  const isExpected = readExpectation(call.request)
  return whenReady(call.request.readBody(), (body) =>
    whenReady(updateDocument(call, { id, isExpected, ...permit }, { mode, body }), answerWritten),
  )
}

/**
 * Creates a document with the `_id` of the path. Only the right to create is checked here; whether the `_id` is taken
 * is checked later.
 */
async function claim(call: Call, { collection, id }: DocumentPlace): Promise<Answer> {
  const permit = authorizeCreate(call, collection, true)
  const isExpected = call.request.header('if-match') === undefined
  const body = await call.request.readBody()
  return answerCreated(call, collection, await createClaimed(call, permit, { id, isExpected }, body))
}
