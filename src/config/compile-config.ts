import { ConfigError, type ConfigFault } from '../errors.js'
import { isObject } from '../filter/read-path.js'
import { compileJsonSchema, type Violation } from '../schema/json-schema.js'
import { toPointerPart, USERS } from '../schema/names.js'
import { holdsReference } from '../schema/references.js'
import type { AuthConfig, CollectionConfig, Config, Limits } from '../types.js'
import { checkRoleField, compileAuth } from './compile-auth.js'
import { compilePermissions, isOpenToEveryone, type RuleScope } from './compile-permissions.js'
import { compileReferences } from './compile-references.js'
import { checkCase, compileSchema } from './compile-schema.js'
import { CONFIG_SCHEMA, RESERVED_COLLECTION_NAMES } from './config-schema.js'
import { copyJson } from './copy-json.js'
import { describeViolation } from './describe-violation.js'
import { findWarnings } from './find-warnings.js'
import { createVariableJudge } from './judge-variable.js'
import type { Collection, ServicePlan } from './plan.js'
import { stripComments } from './strip-comments.js'

/** Contract §1. */
const DEFAULT_LIMITS: Limits = {
  defaultLimit: null,
  maxLimit: null,
  bodyBytes: 1_048_576,
  documentBytes: 2_097_152,
  queryBytes: 8192,
  conditions: 64,
  values: 100,
  patterns: 10,
  expanded: 100,
  bulk: 100,
  requestSeconds: 10,
}

let checkShape: ((value: unknown) => readonly Violation[]) | undefined

/** What the host says that bears on a configuration. */
export interface CompileOptions {
  /** Open doors are faults. */
  readonly production: boolean
  /** The host knows its callers, so that `$user` may be anything. */
  readonly hasAuthenticate: boolean
}

/** Compiles a configuration. Throws `ConfigError` with every fault. */
export function compileConfig(input: unknown, options: CompileOptions): ServicePlan {
  const faults: ConfigFault[] = []
  const config = copyJson(input, faults)
  checkShape ??= compileJsonSchema(CONFIG_SCHEMA, { verbose: true })
  if (faults.length === 0) faults.push(...checkShape(config).map(describeViolation))
  const warnings: string[] = []
  const plan = compileSound(stripComments(config), faults, warnings, options)
  if (faults.length > 0) throw new ConfigError(faults)
  return { ...plan, warnings }
}

/** Goes on with the parts that have the right shape, so that one fault does not hide another. */
function compileSound(
  config: unknown,
  faults: ConfigFault[],
  warnings: string[],
  options: CompileOptions,
): Omit<ServicePlan, 'warnings'> {
  const misshapen = faults.map(({ path }) => path)
  const isSound = (at: string): boolean =>
    misshapen.every((path) => path !== at && !path.startsWith(`${at}/`))
  const { collections: written, auth, limits } = (isObject(config) ? config : {}) as Partial<Config>
  const soundAuth: AuthConfig = isObject(auth) && isSound('/auth') ? (auth as AuthConfig) : {}

  const collections = new Map<string, Collection>()
  const users = isSound(`/collections/${USERS}`)
    ? (written as Config['collections'] | undefined)?.[USERS]
    : undefined
  const judgeVariable = createVariableJudge(users?.schema, options)
  if (isObject(written)) {
    checkCase(Object.keys(written), RESERVED_COLLECTION_NAMES, '/collections', faults)
    for (const [name, collection] of Object.entries(written)) {
      const at = `/collections${toPointerPart(name)}`
      if (!isSound(at)) continue
      const roleField = name === USERS ? (soundAuth.roleField ?? null) : null
      const context = { judgeVariable, roleField, faults }
      collections.set(name, compileCollection(name, collection as CollectionConfig, context, at))
    }
  }
  if (isSound('/auth') && isSound('/collections')) {
    checkRoleField(soundAuth, users?.schema, faults)
  }
  const plan = {
    collections,
    auth:
      isSound('/auth') && isSound('/collections')
        ? compileAuth(soundAuth, collections.get(USERS), faults)
        : null,
    referrers: compileReferences(collections, Object.keys(isObject(written) ? written : {}), faults),
    limits: { ...DEFAULT_LIMITS, ...(isSound('/limits') ? limits : {}) },
  }
  checkLimits(plan.limits, faults)
  checkOpenDoors(collections, options.production, faults, warnings)
  if (faults.length === 0) {
    warnings.push(...findWarnings(written as Config['collections'], collections, plan, options))
  }
  return plan
}

function compileCollection(
  name: string,
  config: CollectionConfig,
  context: Pick<RuleScope, 'judgeVariable' | 'roleField' | 'faults'>,
  at: string,
): Collection {
  const { fields, paths, validate, storage } = compileSchema(name, config, at, context.faults)
  const additionalProperties = config.additionalProperties ?? false
  const scope = { ...context, fields, paths, validate, additionalProperties }
  return {
    name,
    fields,
    paths,
    hashes: fields.filter(({ type }) => type === 'hash'),
    hasReferences: fields.some(holdsReference),
    additionalProperties,
    permissions: compilePermissions(config.permissions ?? {}, scope, `${at}/permissions`),
    validate,
    roleField: context.roleField,
    storage,
  }
}

function checkLimits({ defaultLimit, maxLimit }: Limits, faults: ConfigFault[]): void {
  if (defaultLimit !== null && maxLimit !== null && defaultLimit > maxLimit) {
    faults.push({ path: '/limits/defaultLimit', message: `is greater than maxLimit, ${maxLimit}` })
  }
}

function checkOpenDoors(
  collections: ReadonlyMap<string, Collection>,
  production: boolean,
  faults: ConfigFault[],
  warnings: string[],
): void {
  for (const collection of collections.values()) {
    const { name, permissions } = collection
    if (!isOpenToEveryone(permissions, collection)) continue
    const path = `/collections${toPointerPart(name)}/permissions/*`
    const message = 'everyone may create, read, update and delete everything here'
    if (production) faults.push({ path, message: `${message}, which production refuses` })
    else warnings.push(`${path}: ${message}; production refuses that`)
  }
}
