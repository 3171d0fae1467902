import type { AuthPlan, Collection, ServicePlan } from '../config/plan.js'
import { EVERYONE, type Operation, type Rule } from '../permissions/grants.js'
import { isAnywhere } from '../query/where.js'

/** The operations that the service answers. */
const SERVED: readonly Operation[] = ['read', 'create', 'update', 'delete']

/** Where a service runs. */
interface Running {
  readonly origin: string
  /** Whether tokens are delivered. */
  readonly delivers: boolean
}

/** Describes a running service: its routes, their permissions, and a command to try. */
export function describeService({ collections, auth }: ServicePlan, { origin, delivers }: Running): string {
  const all = [...collections.values()]
  const routes: readonly (readonly [path: string, about: string])[] = [
    ['/', 'GET lists the collections and operations that its caller may use'],
    ...all.map((collection) => [`/${collection.name}`, describeOperations(collection)] as const),
    ['/_batch', 'POST does several operations in one step, or none'],
    ...(auth ? [['/auth', describeAccounts(auth, delivers)] as const] : []),
  ]
  const width = Math.max(...routes.map(([path]) => path.length))
  const lines = routes.map(([path, about]) => `  ${path.padEnd(width)}  ${about}`)
  return [...lines, '', `Try: ${exampleOf(all, origin)}`].join('\n')
}

const describeOperations = (collection: Collection): string =>
  [
    ...SERVED.map((operation) => `${operation}: ${describeSubjects(collection, operation)}`),
    ...(collection.hasChanges ? [`changes: as read, at /${collection.name}/changes`] : []),
  ].join(' · ')

function describeAccounts({ identifier, secret, register, verified }: AuthPlan, delivers: boolean): string {
  const routes = [
    ...(register ? ['register'] : []),
    ...['login', 'change-secret', 'logout', 'logout-all', 'me', 'sessions'],
    ...(delivers ? ['request-reset', 'reset'] : []),
    ...(delivers && verified ? ['request-verification', 'verify', 'change-identifier'] : []),
  ]
  return `${routes.join(', ')} · with ${identifier.name} and ${secret.name}`
}

function describeSubjects(collection: Collection, operation: Operation): string {
  const rules = [...collection.permissions[operation]].flatMap(([, rule]) =>
    rule ? [describeRule(rule)] : [],
  )
  return rules.length > 0 ? rules.join(', ') : 'nobody'
}

function describeRule({ subject, properties, where, check }: Rule): string {
  const limits = [
    ...(isAnywhere(where) && isAnywhere(check) ? [] : ['some documents']),
    ...(properties.pick === null && properties.omit.size === 0 ? [] : ['some fields']),
  ]
  return limits.length > 0 ? `${subject} (${limits.join(', ')})` : subject
}

function exampleOf(collections: readonly Collection[], origin: string): string {
  const open = collections.find(({ permissions }) => permissions.read.get(EVERYONE))
  if (open) return `curl -g '${origin}/${open.name}?sort[createdAt]=-1&limit=5'`
  return `curl ${origin}/`
}
