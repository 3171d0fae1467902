import { ConfigError, type ConfigFault } from '../errors.js'
import { checkCase } from '../fields/names.js'
import { createPatternStore } from '../filter/pattern/pattern-store.js'
import { toPointerPart } from '../json/pointer.js'
import { type ConfigReport, createReport, reportTo } from '../json/report.js'
import { EVERYONE } from '../permissions/grants.js'
import { RESERVED_COLLECTION_NAMES, USERS } from '../schema/names.js'
import { holdsReference } from '../schema/references.js'
import type { CollectionConfig, Limits } from '../types.js'
import { checkRoleField, compileAuth } from './compile-auth.js'
import { compilePermissions, isOpenToEveryone, type RuleScope } from './compile-permissions.js'
import { compileReferences } from './compile-references.js'
import { compileSchema } from './compile-schema.js'
import { DEFAULT_LIMITS } from './defaults.js'
import { findWarnings } from './find-warnings.js'
import { createVariableJudge } from './judge-variable.js'
import type { Collection, ServicePlan } from './plan.js'
import { checkShape, type IsUnsure } from './shape/check-shape.js'
import { isUnsurePath } from './shape/settle-shape.js'

/** What the host's options say about a configuration. */
export interface CompileOptions {
  /** Whether a collection that is open to everyone is a fault. */
  readonly production: boolean
  /** Whether the host identifies callers; `$user` may then have any field. */
  readonly hasAuthenticate: boolean
  /** The faults of the host's adapter and options. */
  readonly faults?: readonly ConfigFault[]
}

/**
 * Compiles a configuration. Throws `ConfigError` with every fault, but without faults that only follow from
 * another.
 */
export function compileConfig(input: unknown, options: CompileOptions): ServicePlan {
  const { config, isUnsure, faults: misshapen } = checkShape(input)
  const faults: ConfigFault[] = [...(options.faults ?? []), ...misshapen]
  const report = reportTo(faults)
  const { collections: written = {}, auth = {} } = config
  const judgeVariable = createVariableJudge(written[USERS]?.schema, { ...options, isUnsure })

  checkCase(Object.keys(written), RESERVED_COLLECTION_NAMES, report.at('collections'))
  const { parse: parsePattern } = createPatternStore()
  const collections = new Map(
    Object.entries(written).map(([name, collection]) => {
      const roleField = name === USERS ? (auth.roleField ?? null) : null
      const context = { judgeVariable, parsePattern, isUnsure, roleField }
      return [name, compileCollection(name, collection, report.at('collections').at(name), context)]
    }),
  )
  checkRoleField(auth, written[USERS]?.schema, isUnsure, report.at('auth'))
  const limits = { ...DEFAULT_LIMITS, ...config.limits }
  const plan = {
    collections,
    auth: compileAuth(auth, collections.get(USERS), isUnsure, report.at('auth')),
    referrers: compileReferences(collections, isUnsure, report),
    limits,
  }
  checkLimits(limits, report.at('limits'))
  const warnings: string[] = []
  const warn: ConfigReport = createReport((path, message) => warnings.push(`${path}: ${message}`) > 0)
  for (const { name } of findOpenDoors(collections, isUnsure, faults)) {
    const place = (options.production ? report : warn)
      .at('collections')
      .at(name)
      .at('permissions')
      .at(EVERYONE)
    place.fault(
      `${OPEN_DOOR}${options.production ? ', which production refuses' : '; production refuses that'}`,
    )
  }
  if (faults.length > 0) throw new ConfigError(faults)
  findWarnings(written, plan, options, warn)
  return { ...plan, warnings }
}

interface CollectionContext extends Pick<RuleScope, 'judgeVariable' | 'parsePattern' | 'roleField'> {
  readonly isUnsure: IsUnsure
}

function compileCollection(
  name: string,
  config: CollectionConfig,
  report: ConfigReport,
  { isUnsure, ...context }: CollectionContext,
): Collection {
  const additionalProperties = config.additionalProperties ?? isUnsure(report.at('additionalProperties').path)
  const { fields, paths, validate, storage } = compileSchema(
    name,
    { ...config, additionalProperties },
    context.parsePattern,
    report,
  )
  const scope = { ...context, fields, paths, validate, additionalProperties, isUnsure: isUnsurePath(paths) }
  return {
    name,
    fields,
    paths,
    hashes: fields.filter(({ type }) => type === 'hash'),
    hasReferences: fields.some(holdsReference),
    additionalProperties,
    permissions: compilePermissions(config.permissions ?? {}, scope, report.at('permissions')),
    parsePattern: context.parsePattern,
    validate,
    roleField: context.roleField,
    storage,
  }
}

function checkLimits({ defaultLimit, maxLimit }: Limits, report: ConfigReport): void {
  if (defaultLimit !== null && maxLimit !== null && defaultLimit > maxLimit)
    report.at('defaultLimit').fault(`is greater than maxLimit, ${maxLimit}`)
}

const OPEN_DOOR = 'everyone may create, read, update and delete everything here'

/**
 * Finds collections that are open to everyone. Not those with a fault in what everyone may do: its correction
 * could close them.
 */
const findOpenDoors = (
  collections: ReadonlyMap<string, Collection>,
  isUnsure: IsUnsure,
  faults: readonly ConfigFault[],
): readonly Collection[] =>
  [...collections.values()].filter((collection) => {
    const at = `/collections${toPointerPart(collection.name)}`
    const isAtFault = faults.some(({ path }) => path.startsWith(`${at}/permissions/*/`))
    return (
      !isAtFault &&
      !isUnsure(`${at}/additionalProperties`) &&
      isOpenToEveryone(collection.permissions, collection)
    )
  })
