import { compileConfig } from '../../src/config/compile-config.js'
import { type ApiDocument, describeService } from '../../src/openapi/describe-service.js'
import { fromHost } from '../../src/permissions/caller.js'
import type { Caller, ServiceOptions } from '../../src/types.js'
import { createJudge, type Judge } from './json-schema.js'

/** An answer, and to what request. */
export interface Answered {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
  /** `undefined` where only the service knows who asks. */
  readonly caller: Caller | null | undefined
}

/** What is wrong with an answer; `undefined` for nothing. */
export type JudgeAnswer = (answered: Answered) => string | undefined

interface Description {
  readonly document: ApiDocument
  readonly judge: Judge
}

/** The most descriptions that are kept; services of many files have the same configuration. */
const MAX_KEPT = 500
const kept = new Map<string, Description>()

/** How much was asked of descriptions in this process. */
export const told = { answers: 0, judged: 0, descriptions: 0, milliseconds: 0 }

type Options = Pick<ServiceOptions, 'authenticate' | 'accounts' | 'deliver' | 'basePath' | 'production'> & {
  readonly hooks?: unknown
  readonly openapi?: boolean
}

/**
 * Creates what holds the answers of a service against its OpenAPI document, that of the caller where the test names
 * one: every answer to a described request, and no description of others (CONTRACT.md §8, "OpenAPI").
 */
export function createJudgeAnswer(config: object, options: Options): JudgeAnswer {
  const { authenticate, accounts, deliver, basePath = '', hooks } = options
  let key: string | undefined
  const describe = (caller: Caller | null | undefined, hasAccountRoutes: boolean): Description => {
    key ??= JSON.stringify([config, !authenticate, accounts, !deliver, hooks === undefined])
    const whole = `${JSON.stringify([hasAccountRoutes, caller && (caller.roles ?? []), caller === null])}${key}`
    const known = kept.get(whole)
    if (known) return known
    const plan = compileConfig(config, { production: false, hasAuthenticate: authenticate !== undefined })
    const document = describeService(
      {
        plan,
        accounts: authenticate && accounts !== true ? null : plan.auth,
        deliver,
        page: undefined,
        hasAccountRoutes,
        hasHost: authenticate !== undefined,
        hasHooks: hooks !== undefined,
      },
      caller && fromHost(caller),
    )
    const described = { document, judge: createJudge(document) }
    told.descriptions += 1
    if (kept.size >= MAX_KEPT) kept.delete(String(kept.keys().next().value))
    kept.set(whole, described)
    return described
  }
  return (answered) => {
    const start = performance.now()
    try {
      told.answers += 1
      const { method, path, caller } = answered
      if (method === 'HEAD' || method === 'OPTIONS') return undefined
      const parts = splitPath(path, basePath)
      if (!parts) return undefined
      // A handler for a caller has no accounts.
      const isHosts = caller !== undefined
      const hasAccountRoutes = !isHosts && !(authenticate && accounts !== true)
      const { document, judge } = describe(caller, hasAccountRoutes)
      const operation = findOperation(document, parts, method)
      if (!operation || (path.includes('_openapi.json') && !options.openapi)) return undefined
      told.judged += 1
      return judgeAnswer(document, judge, operation, answered)
    } finally {
      told.milliseconds += performance.now() - start
    }
  }
}

/** The decoded parts of a path below the base path; `undefined` where it has other forms than descriptions name. */
function splitPath(path: string, basePath: string): readonly string[] | undefined {
  const base = basePath.replace(/\/+$/, '')
  const [own = ''] = path.split('?')
  if (own !== base && !own.startsWith(`${base}/`)) return undefined
  try {
    const parts = own
      .slice(base.length + 1)
      .replace(/\/$/, '')
      .split('/')
      .map(decodeURIComponent)
    const isPlain = parts.every((part) => !part.includes('/')) && !own.includes('//')
    return isPlain ? parts : undefined
  } catch {
    return undefined
  }
}

type Operation = { readonly responses: { readonly [status: string]: Response } }
type Response = {
  readonly $ref?: string
  readonly content?: { readonly [type: string]: { readonly schema: object } }
}

function findOperation(
  { paths }: ApiDocument,
  parts: readonly string[],
  method: string,
): Operation | undefined {
  const forms = [`/${parts.join('/')}`, `/${[...parts.slice(0, -1), '{id}'].join('/')}`]
  const form = forms.find(
    (one) => Object.hasOwn(paths, one) && (one.includes('{') || !parts.includes('{id}')),
  )
  return form === undefined ? undefined : (paths[form]?.[method.toLowerCase()] as Operation | undefined)
}

function judgeAnswer(
  document: ApiDocument,
  judge: Judge,
  { responses }: Operation,
  { status, headers, body }: Answered,
): string | undefined {
  const named = responses[status]
  if (!named) return `the status ${status} is not described`
  const response = named.$ref
    ? (document.components.responses?.[named.$ref.split('/').at(-1) ?? ''] as Response)
    : named
  if (body === undefined) return response.content ? `${status} is described with a body` : undefined
  const content = response.content?.[headers.get('content-type') ?? '']
  if (!content) return `no ${headers.get('content-type')} is described for ${status}`
  return judge(content.schema as { readonly [keyword: string]: unknown }, body)
}
