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
import { authorizeClaim, authorizeRead, authorizeWrite } from '../../request/authorize.js'
import { notFound, unexpected } from '../../request/refusals.js'
import type { MaybePromise } from '../../types.js'
import type { Answer } from '../answer.js'
import { etagOfText, expectsNothing, isKnown, isMatched, readExpectation, readMatch } from '../etag.js'
import { answerCreated, answerText, NOTHING, tellIgnored } from './answers.js'
import type { Endpoint, Exchange, NamedByPath } from './route.js'

type DocumentEndpoint = Endpoint<'collection' | 'id'>
type DocumentPlace = Pick<NamedByPath, 'collection' | 'id'>

/** `GET /:collection/:id`. */
export const read: DocumentEndpoint = {
  parameters: ['project', 'expand'],
  reads: 'document',
  run(exchange, place) {
    const unclaimed = exchange.call.accessUnclaimed(place.collection)
    const query = unclaimed && exchange.readQuery(unclaimed.access)
    // With `expand`, claims may decide about the referenced documents, so the claims are read.
    if (unclaimed && query?.expand.length === 0) {
      return whenReady(readUnclaimed(exchange.call, { ...unclaimed, query }, place), (found) =>
        answerRead(exchange, found ?? absent()),
      )
    }
    const learning = exchange.call.learnToRead(place.collection)
    return learning ? learning.then(() => runRead(exchange, place)) : runRead(exchange, place)
  },
}

function runRead(exchange: Exchange, { collection, id }: DocumentPlace): MaybePromise<Answer> {
  const { call } = exchange
  const access = authorizeRead(call, collection)
  const reading = { access, query: exchange.readQuery(access) }
  // Expanded documents may change independently of this one, so there is no ETag.
  return reading.query.expand.length > 0
    ? readExpanded(call, reading, id, readMatch(exchange)).then((expanded) =>
        answerText(200, expanded ?? absent()),
      )
    : whenReady(readDocument(call, reading, id), (found) => answerRead(exchange, found ?? absent()))
}

const absent = (): never => {
  throw notFound()
}

function answerRead(exchange: Exchange, { whole, asked }: DocumentTexts): Answer {
  const etag = etagOfText(whole)
  if (!isMatched(exchange.header('if-match'), etag)) throw unexpected()
  if (isKnown(exchange, etag)) return { status: 304, headers: { etag }, body: null }
  return answerText(200, asked ?? (typeof whole === 'string' ? whole : whole.bytes), { etag })
}

/** `PATCH /:collection/:id`. */
export const patch: DocumentEndpoint = {
  mayIgnore: true,
  run: (exchange, place) => update(exchange, place, 'patch'),
}

/** `PUT /:collection/:id`. */
export const put: DocumentEndpoint = {
  mayIgnore: true,
  run: (exchange, place) =>
    expectsNothing(exchange) ? claim(exchange, place) : update(exchange, place, 'put'),
}

/** `DELETE /:collection/:id`. */
export const remove: DocumentEndpoint = {
  async run(exchange, { collection, id }) {
    const { call } = exchange
    const permit = authorizeWrite(call, collection, 'delete')
    if (permit.rules.length === 0) return refuseUnauthorized(call, permit, id)
    const isExpected = readExpectation(exchange)
    exchange.refuseQuery()
    await deleteDocument(call, { id, isExpected, ...permit })
    return NOTHING
  },
}

/** Returns the response with a changed document. */
const answerWritten = ({ text, ignored }: WrittenDocument): Answer =>
  answerText(200, text, Object.assign({ etag: etagOfText(text) }, tellIgnored(ignored)))

function update(
  exchange: Exchange,
  { collection, id }: DocumentPlace,
  mode: UpdateRequest['mode'],
): MaybePromise<Answer> {
  const { call } = exchange
  const permit = authorizeWrite(call, collection, 'update')
  if (permit.rules.length === 0) return refuseUnauthorized(call, permit, id)
  const isExpected = readExpectation(exchange)
  return whenReady(exchange.readBody(), (body) =>
    whenReady(updateDocument(call, { id, isExpected, ...permit }, { mode, body }), answerWritten),
  )
}

/**
 * Creates a document with the `_id` of the path. Only the right to create is checked here; whether the `_id` is taken
 * is checked later.
 */
async function claim(exchange: Exchange, { collection, id }: DocumentPlace): Promise<Answer> {
  const { call } = exchange
  const permit = authorizeClaim(call, collection)
  const isExpected = exchange.header('if-match') === undefined
  const body = await exchange.readBody()
  return answerCreated(exchange, collection, await createClaimed(call, permit, { id, isExpected }, body))
}
