import type { JsonSchema } from '../../json/json-schema.js'
import { envelope } from '../../schema/envelope.js'
import { OF_ALL_WRITES } from '../problems.js'
import { describeOperations, describeResults } from '../schemas/batches.js'
import { answer, type DescribeOperation, emptyAnswer, PREFER } from './operation.js'

const TEXT: JsonSchema = { type: 'string' }
const OPERATIONS = ['list', 'create', 'read', 'update', 'delete']

const collections: DescribeOperation = (scope) => ({
  summary: 'Lists the collections and account routes of this caller',
  answers: {
    200: answer(scope, 'The collections, and the paths of accounts.', {
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
  summary: 'Returns this OpenAPI document, for the rights of this caller',
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
      ...emptyAnswer(scope, 'The page.', ['ETag']),
      content: { 'text/html': { schema: { type: 'string' } } },
    },
    304: emptyAnswer(scope, 'Not modified.', ['ETag']),
  },
})

/** The operations that belong to no collection and to no account, by name. */
export const OF_SERVICE: { readonly [name: string]: DescribeOperation } = {
  collections,
  batch,
  openapi,
  page,
}
