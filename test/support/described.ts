import type { JsonSchema } from '../../src/core/json/json-schema.js'
import type { RightsHolder } from '../../src/core/request/authorize.js'
import {
  type ApiDocument,
  describeResponses,
  pathsOf,
  type Spot,
} from '../../src/tools/openapi/describe-service.js'
import { createScope, type DescribedService } from '../../src/tools/openapi/scope.js'
import { createJudge, findIn, type Judge } from './json-schema.js'

/** An answer. */
export interface Answered {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** Empty where there is none; `undefined` where it is not looked at. */
  readonly body: string | undefined
}

/** What an operation may answer, by status. */
export type Responses = { readonly [status: string]: JsonSchema }

/** A description of a service to one reader, of which only what is asked for is made. */
export interface Description {
  /** What an operation may answer; `undefined` where it is not described. */
  findResponses(method: string, path: string): Responses | undefined
  resolve(one: JsonSchema): JsonSchema
  readonly judge: Judge
}

/**
 * Describes a service as `describeService` does. That makes everything at once, which costs more than the few answers
 * of most services that tests create.
 */
export function createDescription(service: DescribedService, reader: RightsHolder): Description {
  const scope = createScope(service, reader)
  const paths = new Map(pathsOf(service))
  const described = new Map<Spot, Responses | undefined>()
  const made = new Map<string, JsonSchema>()
  const find = (ref: string): JsonSchema => {
    const component = made.get(ref) ?? scope.components.make(ref)
    if (!component) throw new Error(`there is no ${ref}`)
    made.set(ref, component)
    return component
  }
  return {
    findResponses(method, path) {
      const form = formsOf(path).find((one) => paths.has(one)) ?? ''
      const spot = paths.get(form)?.find((one) => one.method === method)
      if (!spot) return undefined
      if (!described.has(spot)) described.set(spot, describeResponses(scope, spot) as Responses | undefined)
      return described.get(spot)
    },
    resolve: (one) => (typeof one.$ref === 'string' ? find(one.$ref) : one),
    judge: createJudge(find),
  }
}

/** The description of a service that has described itself. */
export function readDescription(document: ApiDocument): Description {
  const find = findIn(document)
  const paths = new Map(Object.entries(document.paths))
  return {
    findResponses(method, path) {
      const form = formsOf(path).find((one) => paths.has(one)) ?? ''
      return paths.get(form)?.[method.toLowerCase()]?.responses as Responses | undefined
    },
    resolve: (one) => (typeof one.$ref === 'string' ? find(one.$ref) : one),
    judge: createJudge(find),
  }
}

/** The ways in which a description may name a path; none where it has a form that descriptions do not name. */
function formsOf(path: string): readonly string[] {
  try {
    const parts = path
      .replace(/^\/|\/$/g, '')
      .split('/')
      .map(decodeURIComponent)
    const isPlain = !path.includes('//') && parts.every((part) => !part.includes('/') && part !== '{id}')
    return isPlain ? [`/${parts.join('/')}`, `/${[...parts.slice(0, -1), '{id}'].join('/')}`] : []
  } catch {
    return []
  }
}

type Content = { readonly [type: string]: { readonly schema: JsonSchema } }

/** What is wrong with an answer; `undefined` for nothing. */
export function judgeAnswer(
  { resolve, judge }: Description,
  responses: Responses,
  { status, headers, body }: Answered,
): string | undefined {
  const response = responses[status]
  if (!response) return `the status ${status} is not described`
  const { content } = resolve(response) as { readonly content?: Content }
  const type = headers['content-type']
  if (type === undefined && !body) return content ? `${status} is described with a body` : undefined
  const described = content?.[type?.split(';')[0] ?? '']
  if (!described) return `no ${type} is described for ${status}`
  if (body === undefined) return undefined
  return judge(described.schema, /\bjson$/.test(type ?? '') ? JSON.parse(body) : body)
}
