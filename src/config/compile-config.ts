import { ConfigError, type ConfigFault } from '../errors.js'
import { createPatternStore } from '../filter/pattern/pattern-store.js'
import { toPointerPart } from '../json/pointer.js'
import { createQueryParser } from '../query/query-string.js'
import { USERS } from '../schema/names.js'
import { holdsReference } from '../schema/references.js'
import type { CollectionConfig, Limits } from '../types.js'
import { checkShape, type IsUnsure } from './check-shape.js'
import { checkRoleField, compileAuth } from './compile-auth.js'
import { compilePermissions, isOpenToEveryone, type RuleScope } from './compile-permissions.js'
import { compileReferences } from './compile-references.js'
import { checkCase, compileSchema } from './compile-schema.js'
import { RESERVED_COLLECTION_NAMES } from './config-schema.js'
import { DEFAULT_LIMITS } from './defaults.js'
import { findWarnings } from './find-warnings.js'
import { createVariableJudge } from './judge-variable.js'
import type { Collection, ServicePlan } from './plan.js'
import { isUnsurePath } from './settle-shape.js'

/** What the host says that bears on a configuration. */
export interface CompileOptions {
  /** Open doors are faults. */
  readonly production: boolean
  /** The host knows its callers, so that `$user` may be anything. */
  readonly hasAuthenticate: boolean
  /** What is wrong with what else the host gave. */
  readonly faults?: readonly ConfigFault[]
}

/** Compiles a configuration. Throws `ConfigError` with every fault, and none that is only what follows from another. */
export function compileConfig(input: unknown, options: CompileOptions): ServicePlan {
  const faults: ConfigFault[] = [...(options.faults ?? [])]
  const { config, isUnsure } = checkShape(input, faults)
  const { collections: written = {}, auth = {} } = config
  const judgeVariable = createVariableJudge(written[USERS]?.schema, { ...options, isUnsure })

  checkCase(Object.keys(written), RESERVED_COLLECTION_NAMES, '/collections', faults)
  const { parse: parsePattern } = createPatternStore()
  const collections = new Map(
    Object.entries(written).map(([name, collection]) => {
      const roleField = name === USERS ? (auth.roleField ?? null) : null
      const context = { judgeVariable, parsePattern, isUnsure, roleField, faults }
      return [name, compileCollection(name, collection, context)]
    }),
  )
  checkRoleField(auth, written[USERS]?.schema, isUnsure, faults)
  const limits = { ...DEFAULT_LIMITS, ...config.limits }
  const plan = {
    collections,
    auth: compileAuth(auth, collections.get(USERS), isUnsure, faults),
    referrers: compileReferences(collections, isUnsure, faults),
    limits,
    parseQuery: createQueryParser(limits),
  }
  checkLimits(limits, faults)
  const warnings = checkOpenDoors(collections, options.production, isUnsure, faults)
  if (faults.length > 0) throw new ConfigError(faults)
  return { ...plan, warnings: [...warnings, ...findWarnings(written, collections, plan, options)] }
}

function compileCollection(
  name: string,
  config: CollectionConfig,
  {
    isUnsure,
    ...context
  }: Pick<RuleScope, 'judgeVariable' | 'parsePattern' | 'roleField' | 'faults'> & {
    readonly isUnsure: IsUnsure
  },
): Collection {
  const at = `/collections${toPointerPart(name)}`
  const additionalProperties = config.additionalProperties ?? isUnsure(`${at}/additionalProperties`)
  const { fields, paths, validate, storage } = compileSchema(
    name,
    { ...config, additionalProperties },
    at,
    context.faults,
  )
  const scope = { ...context, fields, paths, validate, additionalProperties, isUnsure: isUnsurePath(paths) }
  return {
    name,
    fields,
    paths,
    hashes: fields.filter(({ type }) => type === 'hash'),
    hasReferences: fields.some(holdsReference),
    additionalProperties,
    permissions: compilePermissions(config.permissions ?? {}, scope, `${at}/permissions`),
    parsePattern: context.parsePattern,
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

/** Open doors: faults in production, else returned as warnings. */
function checkOpenDoors(
  collections: ReadonlyMap<string, Collection>,
  production: boolean,
  isUnsure: IsUnsure,
  faults: ConfigFault[],
): readonly string[] {
  return [...collections.values()].flatMap((collection) => {
    const at = `/collections${toPointerPart(collection.name)}`
    const path = `${at}/permissions/*`
    // Once they are mended, they may close the door.
    const isAtFault = faults.some((fault) => fault.path.startsWith(`${path}/`))
    if (isAtFault || isUnsure(`${at}/additionalProperties`)) return []
    if (!isOpenToEveryone(collection.permissions, collection)) return []
    const message = 'everyone may create, read, update and delete everything here'
    if (!production) return [`${path}: ${message}; production refuses that`]
    faults.push({ path, message: `${message}, which production refuses` })
    return []
  })
}
