import type { ErrorCode } from '../../../core/errors.js'
import { envelope } from '../../../core/fields/schema/envelope.js'
import { USERS } from '../../../core/fields/schema/names.js'
import { findRights } from '../../../core/request/authorize.js'
import { describeGroups, findGroupable } from '../group-parameters.js'
import type { HeaderName } from '../headers.js'
import { referToBody } from '../schemas/bodies.js'
import { referToDocument, referToExpanded } from '../schemas/documents.js'
import type { DescriptionScope } from '../scope.js'
import {
  answer,
  type DescribeOperation,
  emptyAnswer,
  header,
  OF_IGNORING,
  type OperationPlace,
  PREFER,
} from './operation.js'

const DENIED: readonly ErrorCode[] = ['unauthenticated', 'forbidden']
const OF_WRITES: readonly ErrorCode[] = ['outcome_unknown', 'refused']
const OF_NEW: readonly ErrorCode[] = [...DENIED, ...OF_WRITES, 'unique_violation', 'document_too_large']
const OF_ONE: readonly ErrorCode[] = ['unauthenticated', 'not_found', 'precondition_failed']
const OF_CHANGES: readonly ErrorCode[] = [...OF_ONE, ...OF_NEW, 'reference_in_use']

const IF_MATCH = header(
  'If-Match',
  'The request succeeds only if the `ETag` of the document is one of these.',
)
const IF_NONE_MATCH = header(
  'If-None-Match',
  'The request succeeds only if the `ETag` of the document is none of these.',
)

/** Requires a signed-in caller, unless anonymous callers have the right to the operation. */
const askerOf = (
  { service }: DescriptionScope,
  { collection }: OperationPlace,
  operation: 'read' | 'create' | 'update' | 'delete',
) => (findRights(service, collection, null)[operation].length > 0 ? {} : ({ asker: 'caller' } as const))

const NEXT: readonly HeaderName[] = ['Next-Cursor', 'Next-Skip', 'Link', 'X-Total-Count']

const BY_QUERY = 'The description of this API explains conditions, sorting and pages.'

const list: DescribeOperation = (scope, place) => {
  const { collection } = place
  if (scope.rights(collection).read.length === 0) return undefined
  const documents = { type: 'array', items: referToExpanded(scope, collection) }
  return {
    summary: `Lists ${collection.name}`,
    description: BY_QUERY,
    answers: { 200: answer(scope, 'The documents.', documents, NEXT) },
    problems: DENIED,
    ...askerOf(scope, place, 'read'),
  }
}

const count: DescribeOperation = (scope, place) =>
  scope.rights(place.collection).read.length === 0
    ? undefined
    : {
        summary: `Counts ${place.collection.name}`,
        answers: {
          200: answer(
            scope,
            'The number of matching documents.',
            envelope({ total: { type: 'integer', minimum: 0 } }),
          ),
        },
        problems: DENIED,
        ...askerOf(scope, place, 'read'),
      }

const aggregate: DescribeOperation = (scope, place) => {
  const { collection } = place
  if (scope.rights(collection).read.length === 0) return undefined
  const { find, paths } = scope.names(collection)
  const groups = describeGroups(findGroupable(paths().flatMap((path) => find(path) ?? [])))
  return {
    summary: `Counts and sums ${collection.name} in groups`,
    answers: { 200: answer(scope, 'The groups.', groups, ['Next-Skip', 'Link', 'X-Total-Count']) },
    problems: DENIED,
    ...askerOf(scope, place, 'read'),
  }
}

const changes: DescribeOperation = (scope, place) =>
  scope.rights(place.collection).read.length === 0
    ? undefined
    : {
        summary: `Streams the changes in a list of ${place.collection.name}`,
        description:
          'The events are `reset`, `enter` and `change` with the document, `leave` with its `_id`, and `end`. If the header `Last-Event-ID`, or else `lastEventId`, or else `after` contains the `id` of an event, the stream resumes after that event.',
        answers: {
          200: {
            description: 'A stream of events, which stays open.',
            content: { 'text/event-stream': { schema: { type: 'string' } } },
          },
        },
        problems: DENIED,
        ...askerOf(scope, place, 'read'),
      }

const create: DescribeOperation = (scope, place) => {
  const { collection } = place
  const body = referToBody(scope, collection, 'create')
  return (
    body && {
      summary: `Creates a document of ${collection.name}`,
      parameters: [PREFER],
      body,
      answers: {
        201: answer(scope, 'The new document.', referToDocument(scope, collection), [
          'Location',
          'ETag',
          ...OF_IGNORING,
        ]),
      },
      problems: OF_NEW,
      ...askerOf(scope, place, 'create'),
    }
  )
}

const bulk: DescribeOperation = (scope, place) => {
  const { collection } = place
  const items = referToBody(scope, collection, 'create')
  const documents = { type: 'array', items: referToDocument(scope, collection) }
  return (
    items && {
      summary: `Creates several documents of ${collection.name}, all or none`,
      parameters: [PREFER],
      body: envelope({
        documents: { type: 'array', minItems: 1, maxItems: scope.service.plan.limits.bulk, items },
      }),
      answers: { 201: answer(scope, 'The new documents.', envelope({ documents }), OF_IGNORING) },
      problems: OF_NEW,
      ...askerOf(scope, place, 'create'),
    }
  )
}

const read: DescribeOperation = (scope, place) => {
  const { collection } = place
  if (scope.rights(collection).read.length === 0) return undefined
  return {
    summary: `Reads a document of ${collection.name}`,
    parameters: [IF_MATCH, IF_NONE_MATCH],
    answers: {
      200: answer(
        scope,
        'The document. With `expand`, there is no `ETag`.',
        referToExpanded(scope, collection),
        ['ETag'],
      ),
      304: emptyAnswer(scope, 'Not modified.', ['ETag']),
    },
    problems: OF_ONE,
    ...askerOf(scope, place, 'read'),
  }
}

const update: DescribeOperation = (scope, place) => {
  const { collection } = place
  const body = referToBody(scope, collection, 'patch')
  return (
    body && {
      summary: `Changes a document of ${collection.name}`,
      description:
        'A merge patch (RFC 7396): fields that the body does not contain stay unchanged, and `null` removes a field.',
      parameters: [IF_MATCH, IF_NONE_MATCH, PREFER],
      body,
      answers: {
        200: answer(scope, 'The changed document.', referToDocument(scope, collection), [
          'ETag',
          ...OF_IGNORING,
        ]),
      },
      problems: OF_CHANGES,
      ...askerOf(scope, place, 'update'),
    }
  )
}

const CREATES =
  'With `If-None-Match: *`, the request creates a document with this UUID. The body has the form of a body of POST.'

const replace: DescribeOperation = (scope, place) => {
  const { collection } = place
  const own = referToBody(scope, collection, 'replace')
  // A client cannot choose the `_id` of an account, because it is an identity.
  const created = collection.name === USERS ? undefined : referToBody(scope, collection, 'create')
  const body = own ?? created
  const document = referToDocument(scope, collection)
  return (
    body && {
      summary: own
        ? `Replaces a document of ${collection.name}`
        : `Creates a document of ${collection.name} with a given UUID`,
      ...(created ? { description: CREATES } : {}),
      parameters: own
        ? [IF_MATCH, PREFER]
        : [{ ...IF_NONE_MATCH, required: true, schema: { type: 'string', enum: ['*'] } }, PREFER],
      body,
      answers: {
        ...(own ? { 200: answer(scope, 'The replaced document.', document, ['ETag', ...OF_IGNORING]) } : {}),
        ...(created
          ? { 201: answer(scope, 'The new document.', document, ['Location', 'ETag', ...OF_IGNORING]) }
          : {}),
      },
      problems: OF_CHANGES,
      ...askerOf(scope, place, own ? 'update' : 'create'),
    }
  )
}

const remove: DescribeOperation = (scope, place) =>
  scope.rights(place.collection).delete.length === 0
    ? undefined
    : {
        summary: `Deletes a document of ${place.collection.name}`,
        parameters: [IF_MATCH, IF_NONE_MATCH],
        answers: { 204: emptyAnswer(scope, 'The document is deleted.') },
        problems: [
          ...OF_ONE,
          ...OF_WRITES,
          'forbidden',
          'reference_in_use',
          'cascade_too_large',
          'document_too_large',
        ],
        ...askerOf(scope, place, 'delete'),
      }

/** The operations on a collection, by name. */
export const OF_COLLECTIONS: { readonly [name: string]: DescribeOperation } = {
  list,
  count,
  aggregate,
  changes,
  create,
  bulk,
  read,
  update,
  replace,
  delete: remove,
}
