import { isOrigin } from '../../config/options/origin.js'
import type { CookiePlan } from '../../config/plan.js'
import type { IsUnsure } from '../../config/shape/check-shape.js'
import type { ConfigReport } from '../../json/report.js'
import type { AuthConfig, CookieConfig } from '../../types.js'

/** The options of a service that its cookie depends on. */
export interface Reach {
  /** The path before all routes, as clients see it. It begins with a slash and does not end in one, or it is empty. */
  readonly path: string
  /** The origins that the option `cors` allows. */
  readonly origins: '*' | readonly string[]
}

/** Prefixes of names that browsers accept only from a secure origin (RFC 6265bis, "Cookie Name Prefixes"). */
const PREFIX = /^__(?:host|secure|http)-/i

/** Matches a name that browsers accept only with the path `/`. */
const HOST_PREFIX = /^__host-/i

const PATH = /^\/[!-+\--:<-~]*$/

/**
 * Compiles `auth.cookie`; returns `null` if sessions are not in cookies. `reach` is not given if the options are
 * unknown: what depends on them is then not checked.
 */
export function compileCookie(
  { cookie = false }: Pick<AuthConfig, 'cookie'>,
  isUnsure: IsUnsure,
  { report, reach }: { readonly report: ConfigReport; readonly reach: Reach | undefined },
): CookiePlan | null {
  if (cookie === false) return null
  const { path = '/', sameSite = 'lax', origins = [], ...named }: CookieConfig = cookie === true ? {} : cookie
  const name = named.name ?? (path === '/' ? '__Host-session' : 'session')
  const bare = name.replace(PREFIX, '')
  if (!isUnsure(report.at('path').path)) {
    const isPath = judgePath(path, report.at('path'), reach)
    if (isPath && path !== '/' && HOST_PREFIX.test(name))
      report
        .at('name')
        .fault(
          `${JSON.stringify(name)} needs the path "/", but the path is ${JSON.stringify(path)}; write a name without "__Host-", such as "session"`,
        )
  }
  if (bare === '') report.at('name').fault(`must be more than the prefix ${JSON.stringify(name)}`)
  for (const [i, origin] of origins.entries()) judgeOrigin(origin, report.at('origins').at(i), reach)
  return {
    name,
    bare,
    path,
    sameSite: sameSite === 'strict' ? 'Strict' : 'Lax',
    origins: new Set(origins),
  }
}

/** Reports the fault of a path. Returns whether it has the form of a path. */
function judgePath(path: string, report: ConfigReport, reach: Reach | undefined): boolean {
  if (!PATH.test(path)) {
    report.fault(
      `must begin with "/" and be visible ASCII without ";" and ",", found ${JSON.stringify(path)}`,
    )
    return false
  }
  const base = reach && (reach.path === '' ? '/' : reach.path)
  if (base !== undefined && !covers(path, base))
    report.fault(
      `${JSON.stringify(path)} does not cover ${JSON.stringify(base)}, the base path of the service; write "/"${base === '/' ? '' : ` or ${JSON.stringify(base)}`}`,
    )
  return true
}

/** Whether browsers send a cookie with the path `path` in requests to `base` (RFC 6265 §5.1.4). */
const covers = (path: string, base: string): boolean =>
  base === path || base.startsWith(path.endsWith('/') ? path : `${path}/`)

function judgeOrigin(origin: string | undefined, report: ConfigReport, reach: Reach | undefined): void {
  if (origin === undefined) return
  if (origin === 'null' || !isOrigin(origin))
    report.fault(
      `must be an origin as browsers send it, such as "https://app.example", found ${JSON.stringify(origin)}`,
    )
  else if (reach && reach.origins !== '*' && !reach.origins.includes(origin))
    report.fault(
      `${JSON.stringify(origin)} is not an origin of options.cors${reach.origins.length > 0 ? `; allowed: ${reach.origins.join(', ')}` : ', which is not set'}`,
    )
}
