import type { Collection } from '../../../core/config/plan.js'
import { envelope } from '../../../core/fields/schema/envelope.js'
import { USERS } from '../../../core/fields/schema/names.js'
import type { JsonSchema } from '../../../core/json/json-schema.js'
import { OF_ALL_WRITES } from '../problems.js'
import { type BodyUse, referToBody, referToPlainBody } from '../schemas/bodies.js'
import { referToDocument } from '../schemas/documents.js'
import type { DescriptionScope } from '../scope.js'
import { answer, type DescribeOperation, emptyAnswer, PREFER } from './operation.js'

const LIST = '"[!#-~]*"(?:, "[!#-~]*")*'
const ANY_OR_TAGS: JsonSchema = { type: 'string', pattern: `^(?:\\*|${LIST})$` }
/** A list of entity tags. `*` is not allowed here, because it makes a PUT create a document. */
const TAGS: JsonSchema = { type: 'string', pattern: `^${LIST}$` }

const operation = (properties: { readonly method: string; readonly [name: string]: unknown }): JsonSchema => {
  const { method, ifMatch, ...needed } = properties
  return {
    type: 'object',
    properties: {
      method: { type: 'string', const: method },
      ...needed,
      ...(ifMatch ? { ifMatch, ifNoneMatch: TAGS } : {}),
    },
    required: ['method', ...Object.keys(needed)],
    additionalProperties: false,
  }
}

/** Describes, for each collection, the operations that the reader may use in a batch (CONTRACT.md §2, "Batch"). */
const describeOperations = (scope: DescriptionScope): readonly JsonSchema[] =>
  [...scope.service.plan.collections.values()]
    .filter((collection) => takesAny(scope, collection))
    .map((collection) =>
      scope.components.refer('schemas', `${collection.name}.operation`, () => ({
        anyOf: describeOwn(scope, collection),
      })),
    )

/** Whether a batch of the reader may contain any operation on a collection. */
function takesAny(scope: DescriptionScope, collection: Collection): boolean {
  const rights = scope.rights(collection)
  const isTaken = (use: BodyUse): boolean => referToBody(scope, collection, use) !== undefined
  return (
    rights.read.length > 0 ||
    rights.delete.length > 0 ||
    (takesNew(collection) && isTaken('create')) ||
    isTaken('patch') ||
    isTaken('replace')
  )
}

function describeOwn(scope: DescriptionScope, collection: Collection): readonly JsonSchema[] {
  const rights = scope.rights(collection)
  const at = `/${collection.name}`
  const path: JsonSchema = {
    type: 'string',
    // `bulk`, `count` and `changes` are names of other routes, which a batch does not accept.
    pattern: `^${at}/(?!(?:bulk|count|changes)$)[\\w-]+$`,
    maxLength: 512,
  }
  const ifMatch = ANY_OR_TAGS
  const create = takesNew(collection) ? referToPlainBody(scope, collection, 'create') : undefined
  const patch = referToPlainBody(scope, collection, 'patch')
  const replace = referToPlainBody(scope, collection, 'replace')
  return [
    ...(rights.read.length > 0 ? [operation({ method: 'GET', path, ifMatch })] : []),
    ...(create ? [operation({ method: 'POST', path: { type: 'string', const: at }, body: create })] : []),
    ...(create && collection.name !== USERS
      ? [
          operation({
            method: 'PUT',
            path: { ...path, pattern: `^${at}/${UUID}$` },
            ifNoneMatch: { type: 'string', const: '*' },
            body: create,
          }),
        ]
      : []),
    ...(patch ? [operation({ method: 'PATCH', path, ifMatch, body: patch })] : []),
    ...(replace ? [operation({ method: 'PUT', path, ifMatch, body: replace })] : []),
    ...(rights.delete.length > 0 ? [operation({ method: 'DELETE', path, ifMatch })] : []),
  ]
}

const UUID = '[\\da-fA-F]{8}-[\\da-fA-F]{4}-[\\da-fA-F]{4}-[\\da-fA-F]{4}-[\\da-fA-F]{12}'

/** Whether a document can be created without a secret. A batch cannot set secrets. */
const takesNew = ({ hashes }: Collection): boolean => hashes.every(({ definition }) => !definition.required)

/** Describes the response to a batch. */
const describeResults = (scope: DescriptionScope): JsonSchema => {
  const documents = [...scope.service.plan.collections.values()]
    .filter((collection) => Object.values(scope.rights(collection)).some((rules) => rules.length > 0))
    .map((collection) => referToDocument(scope, collection))
  return {
    type: 'object',
    properties: {
      results: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            status: { type: 'integer' },
            etag: { type: 'string' },
            location: { type: 'string' },
            ignored: { type: 'array', items: { type: 'string' } },
            body: { anyOf: documents },
          },
          required: ['status'],
          additionalProperties: false,
        },
      },
    },
    required: ['results'],
    additionalProperties: false,
  }
}

const TEXT: JsonSchema = { type: 'string' }
const OPERATIONS = ['list', 'create', 'read', 'update', 'delete']

const collections: DescribeOperation = (scope) => ({
  summary: 'Lists the collections and account routes of this caller',
  answers: {
    200: answer(scope, 'The collections, and the paths of the account routes.', {
      type: 'object',
      properties: {
        collections: {
          type: 'array',
          items: envelope({
            name: TEXT,
            href: TEXT,
            operations: { type: 'array', items: { type: 'string', enum: OPERATIONS } },
          }),
        },
        auth: { type: 'array', items: TEXT },
      },
      required: ['collections'],
      additionalProperties: false,
    }),
  },
})

const batch: DescribeOperation = (scope) => {
  const operations = describeOperations(scope)
  if (operations.length === 0) return undefined
  const { bulk } = scope.service.plan.limits
  return {
    summary: 'Runs several operations, all or none',
    description:
      'Unique values and references are checked after all operations, on what they leave together.',
    parameters: [PREFER],
    body: envelope({
      operations: { type: 'array', minItems: 1, maxItems: bulk, items: { anyOf: operations } },
    }),
    answers: {
      200: answer(scope, 'The response to each operation.', describeResults(scope), ['Preference-Applied']),
    },
    problems: ['unauthenticated', 'invalid_token', ...OF_ALL_WRITES],
  }
}

const openapi: DescribeOperation = (scope) => ({
  summary: 'Returns this OpenAPI document, which describes the rights of this caller',
  answers: {
    200: answer(scope, 'An OpenAPI document.', { type: 'object' }, ['ETag']),
    304: emptyAnswer(scope, 'Not modified.', ['ETag']),
  },
  problems: ['precondition_failed'],
})

const page: DescribeOperation = (scope) => ({
  summary: 'Serves the admin UI',
  answers: {
    200: {
      ...emptyAnswer(scope, 'The admin UI, as an HTML page.', ['ETag']),
      content: { 'text/html': { schema: { type: 'string' } } },
    },
    304: emptyAnswer(scope, 'Not modified.', ['ETag']),
  },
})

/** The operations that belong to neither a collection nor an account, by name. */
export const OF_SERVICE: { readonly [name: string]: DescribeOperation } = {
  collections,
  batch,
  openapi,
  page,
}
