import { compileConfig } from '../../core/config/compile-config.js'
import { BASE_PATH, HOOKS, judgeHooks } from '../../core/config/options/check-options.js'
import { readFills } from '../../core/config/options/fills.js'
import { ConfigError } from '../../core/errors.js'
import type { AnyHooks } from '../../core/hooks/types.js'
import { checkCaller } from '../../core/http/identify.js'
import { ANY, BOOLEAN, requireOptions } from '../../core/options.js'
import type { KnownCaller } from '../../core/permissions/caller.js'
import type { Caller, Config } from '../../core/types.js'
import { type ApiDocument, describeService } from './describe-service.js'

/** The options of `describeApi`. */
export interface ApiOptions {
  /** The caller whose rights are described (`null`: anonymous). Default: the rights of all callers combined. */
  readonly caller?: Caller | null
  /** Whether the host identifies callers. Default: false. */
  readonly authenticate?: boolean
  /** Whether settings that are rejected in production are errors. Default: false. */
  readonly production?: boolean
  /** Whether the service keeps accounts of its own in addition to `authenticate`. Default: false. */
  readonly accounts?: boolean
  /** Whether the host delivers tokens. Default: true if the configuration has `auth.verifiedField`. */
  readonly deliver?: boolean
  /** The path under which the service is mounted. Default: `""`. */
  readonly basePath?: string
  /** The `hooks` option of the service. Request bodies need not have fields that hooks fill. Default: no hooks. */
  readonly hooks?: AnyHooks
}

const OPTIONS = {
  authenticate: BOOLEAN,
  production: BOOLEAN,
  accounts: BOOLEAN,
  deliver: BOOLEAN,
  caller: ANY,
  basePath: BASE_PATH,
  hooks: HOOKS,
}

/**
 * Describes the HTTP interface of a configuration as OpenAPI 3.1 (CONTRACT.md §8, "OpenAPI"). With a `caller`, the
 * document contains the operations that the subjects of the caller allow for some documents and some values of `$user`.
 * Throws `ConfigError`.
 *
 * @example
 * ```ts
 * const document = describeApi(config, { caller: { id: 'ann', roles: ['editor'] } })
 * Object.keys(document.paths)  // the paths that an editor may use
 * ```
 */
export function describeApi(
  config: Config | { readonly [key: string]: unknown },
  options: ApiOptions = {},
): ApiDocument {
  requireOptions(options, OPTIONS)
  const { caller, authenticate = false, production = false, basePath = '' } = options
  const plan = compileConfig(config, {
    production,
    hasAuthenticate: authenticate,
    fills: readFills(options.hooks),
    faults: judgeHooks(options, config),
  })
  const accounts = authenticate && options.accounts !== true ? null : plan.auth
  const delivers = options.deliver ?? (accounts?.verified ?? null) !== null
  const document = describeService(
    {
      plan,
      accounts,
      hasAccountRoutes: accounts !== null,
      deliver: delivers ? () => {} : undefined,
      page: undefined,
      hasHost: authenticate,
      hasHooks: options.hooks !== undefined,
    },
    caller === undefined ? undefined : readCaller(caller),
    basePath.replace(/\/+$/, ''),
  )
  // A copy, because the document shares objects with other documents.
  return structuredClone(document)
}

function readCaller(caller: unknown): KnownCaller | null {
  try {
    return checkCaller(caller)
  } catch (thrown) {
    throw new ConfigError([
      { path: 'caller', message: thrown instanceof Error ? thrown.message : 'cannot be read' },
    ])
  }
}
