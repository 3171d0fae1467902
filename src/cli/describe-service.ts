import type { AuthPlan, Collection, ServicePlan } from '../config/plan.js'
import { describePermissions } from '../insight/matrix/permission-matrix.js'
import { printText, type TextOptions } from '../insight/matrix/print-text.js'
import { EVERYONE } from '../permissions/grants.js'
import { DEFAULT_CONFIG } from './arguments/read-options.js'

/** A service that runs. */
interface Running {
  readonly plan: ServicePlan
  /** The source of the plan. */
  readonly config: unknown
  /** The name of its file. */
  readonly file: string
  readonly origin: string
  /** Whether tokens are delivered. */
  readonly delivers: boolean
}

/** Describes a running service: its permissions, the routes beside the collections', and a command to try. */
export function describeService(
  { plan, config, file, origin, delivers }: Running,
  text: TextOptions = {},
): string {
  const { collections, auth } = plan
  const all = [...collections.values()]
  const routes: readonly (readonly [path: string, about: string])[] = [
    ['/', 'GET lists the collections and operations that its caller may use'],
    ...all.flatMap(({ name, hasChanges }) =>
      hasChanges
        ? [[`/${name}/changes`, 'GET streams changes of documents that its caller may read'] as const]
        : [],
    ),
    ['/_batch', 'POST runs several operations, all or none'],
    ...(auth ? [['/auth', describeAccounts(auth, delivers)] as const] : []),
  ]
  const width = Math.max(...routes.map(([path]) => path.length))
  const lines = routes.map(([path, about]) => `${path.padEnd(width)}  ${about}`)
  const permitted = printText(describePermissions(plan, config), text)
  const more = `More about these tables: collection-service matrix${file === DEFAULT_CONFIG ? '' : ` ${file}`}`
  return [permitted, more, lines.join('\n'), `Try: ${exampleOf(all, origin)}`].join('\n\n')
}

function describeAccounts({ identifier, secret, register, verified }: AuthPlan, delivers: boolean): string {
  const routes = [
    ...(register ? ['register'] : []),
    ...['login', 'change-secret', 'logout', 'logout-all', 'me', 'sessions'],
    ...(delivers ? ['request-reset', 'reset'] : []),
    ...(delivers && verified ? ['request-verification', 'verify', 'change-identifier'] : []),
  ]
  return `${routes.join(', ')} · with ${identifier.name} and ${secret.name}`
}

function exampleOf(collections: readonly Collection[], origin: string): string {
  const open = collections.find(({ permissions }) => permissions.read.get(EVERYONE))
  if (open) return `curl -g '${origin}/${open.name}?sort[createdAt]=-1&limit=5'`
  return `curl ${origin}/`
}
