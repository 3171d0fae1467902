import type { TextStream } from '../../src/core/documents/read/text-stream.js'
import { type Answer, type IncomingRequest, isStream, type Respond } from '../../src/core/http/answer.js'
import { createRespond as create, type RespondOptions } from '../../src/core/http/respond.js'
import { joinPrefix, splitTarget } from '../../src/core/http/routes/find-route.js'
import { whenReady } from '../../src/core/promises.js'
import type { RightsHolder } from '../../src/core/request/authorize.js'
import type { Service } from '../../src/core/request/call.js'
import type { DescribedService } from '../../src/tools/openapi/scope.js'
import { createDescription, type Description, judgeAnswer, type Responses } from './described.js'
import { holdsOthers, isUnjudged, judged, noteFault } from './judged.js'
import { findUnknownName } from './named-faults.js'
import { judgePlace } from './page-headers.js'

/**
 * Stands in every test for `createRespond` of `src/core/http/respond.ts`: each answer of each service is held against the
 * description of the service (CONTRACT.md §8, "OpenAPI"), whichever way it leaves, and is given on as it is.
 */
export function createRespond(service: Service, options: RespondOptions): Respond {
  if (isUnjudged(options.host)) return create(service, options)
  const readers = new WeakMap<IncomingRequest, RightsHolder>()
  const { identify } = options
  const respond = create(service, {
    ...options,
    identify:
      identify &&
      ((incoming, by) =>
        whenReady(identify(incoming, by), (identity) => {
          readers.set(incoming, identity.caller)
          return identity
        })),
  })
  return (incoming) =>
    whenReady(respond(incoming), (answer) => {
      const reader = identify ? readers.get(incoming) : null
      judgeNames(service, options, { incoming, reader, answer })
      const misplaced = judgePlace(answer.headers)
      if (misplaced !== undefined) noteFault(`${incoming.method} ${incoming.target} has ${misplaced}`)
      const found = findDescription(service, options, incoming, reader)
      return found ? judgeOnTheWay(incoming, answer, { ...found, options }) : answer
    })
}

interface Told {
  readonly incoming: IncomingRequest
  readonly reader: RightsHolder
  readonly answer: Answer
}

/** Notes a fault that names what its reader may not know. */
function judgeNames(service: Service, options: RespondOptions, { incoming, reader, answer }: Told): void {
  const { method, target, mountPath } = incoming
  const { status, body } = answer
  const path = splitTarget(target, joinPrefix(mountPath, options.basePath))?.path
  if (path === undefined || reader === undefined || ![400, 409].includes(status) || typeof body !== 'string')
    return
  const name = findUnknownName(service, { method, path, caller: reader }, body)
  if (name !== undefined)
    noteFault(`${method} ${target} names ${name}, which its caller may not know: ${body}`)
}

interface Found {
  readonly description: Description
  readonly responses: Responses
}

/**
 * What a service describes to the one who sent a request, or to all where it is not known who that is, or it is
 * nothing to them. `undefined` where the request is described to nobody.
 */
function findDescription(
  service: Service,
  options: RespondOptions,
  { method, target, mountPath }: IncomingRequest,
  reader: RightsHolder,
): Found | undefined {
  const path = splitTarget(target, joinPrefix(mountPath, options.basePath))?.path
  if (path === undefined || (path.startsWith('/_openapi.json') && !options.describe)) return undefined
  for (const one of [reader, undefined]) {
    const description = descriptionOf(service, options, one)
    const responses = description.findResponses(method, path)
    if (responses) return { description, responses }
  }
  return undefined
}

const descriptions = new WeakMap<Service, Map<string, Description>>()

function descriptionOf(service: Service, options: RespondOptions, reader: RightsHolder): Description {
  const known = descriptions.get(service) ?? new Map<string, Description>()
  descriptions.set(service, known)
  const key = `${options.hasAccountRoutes} ${reader ? JSON.stringify(reader.roles) : reader}`
  const description = known.get(key) ?? createDescription(toDescribed(service, options), reader)
  known.set(key, description)
  return description
}

const toDescribed = (
  { plan, accounts, deliver, page }: Service,
  { hasAccountRoutes, host }: RespondOptions,
): DescribedService => ({
  plan,
  accounts,
  deliver,
  page,
  hasAccountRoutes,
  hasHost: host.authenticate !== undefined,
  hasHooks: 'hooks' in host && host.hooks !== undefined,
})

function judgeOnTheWay(
  { method, target }: IncomingRequest,
  answer: Answer,
  { description, responses, options }: Found & { readonly options: RespondOptions },
): Answer {
  const { status, headers, body } = answer
  const judge = (text: string | undefined): void => {
    const isOthers = (status < 300 || status >= 500) && holdsOthers(options.host)
    const answered = { status, headers, body: isOthers ? undefined : text }
    const fault = attempt(() => judgeAnswer(description, responses, answered))
    if (fault !== undefined)
      noteFault(`${method} ${target} is not as described: ${fault} in ${status} ${text}`)
  }
  judged.answers += 1
  if (!isStream(body)) {
    judge(typeof body === 'string' ? body : String(toBuffer(body ?? '')))
    return answer
  }
  // It may be cut off, and some have no end.
  judge(undefined)
  return body.isEndless?.() ? answer : { ...answer, body: readAlong(body, judge) }
}

/** What judges an answer must not change it: what it throws is a fault of the answer. */
function attempt(judge: () => string | undefined): string | undefined {
  try {
    return judge()
  } catch (thrown) {
    return String(thrown)
  }
}

/** The same stream, of which somebody gets the whole text when it has ended. */
const readAlong = (stream: TextStream, onWhole: (text: string) => void): TextStream => ({
  async *[Symbol.asyncIterator]() {
    const pieces: Buffer[] = []
    for await (const piece of stream) {
      pieces.push(toBuffer(piece))
      yield piece
    }
    onWhole(String(Buffer.concat(pieces)))
  },
  cancel: () => stream.cancel(),
})

const toBuffer = (text: string | Uint8Array): Buffer =>
  typeof text === 'string' ? Buffer.from(text) : Buffer.from(text)
