import type { Collection, ServicePlan } from '../config/plan.js'
import { EVERYONE, type Operation, type Rule } from '../permissions/grants.js'
import { isAnywhere } from '../query/where.js'

/** The operations that the service answers. */
const SERVED: readonly Operation[] = ['read', 'create', 'update', 'delete']

/** What a running service says of itself: its collections, who may do what there, and a line to try. */
export function describeService(plan: ServicePlan, origin: string): string {
  const collections = [...plan.collections.values()]
  const width = Math.max(...collections.map(({ name }) => name.length), 0)
  const lines = collections.map((collection) => {
    const operations = SERVED.map((operation) => `${operation}: ${describeSubjects(collection, operation)}`)
    return `  /${collection.name.padEnd(width)}  ${operations.join(' · ')}`
  })
  const accounts = plan.auth
    ? [describeAccounts(plan.auth.identifier.name, plan.auth.secret.name, plan.auth.register)]
    : []
  return [describeRoot(width), ...lines, ...accounts, '', `Try: ${exampleOf(collections, origin)}`].join('\n')
}

const describeRoot = (width: number): string =>
  `  /${' '.repeat(width)}  GET lists the collections and operations that its caller may use`

const describeAccounts = (identifier: string, secret: string, isOpen: boolean): string =>
  `  /auth  ${isOpen ? 'register, ' : ''}login, logout, logout-all, me · with ${identifier} and ${secret}`

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
  return `curl -i ${origin}/${collections[0]?.name ?? ''}`
}
