import {
  checkRegistration,
  checkRequireVerified,
  checkRoleField,
  compileAuth,
} from '../accounts/config/compile-auth.js'
import { compileCookie, type Reach } from '../accounts/config/compile-cookie.js'
import { findClaimFields } from '../claims/config/claim-fields.js'
import { compileClaims } from '../claims/config/compile-claims.js'
import { presentWays } from '../claims/query/demands.js'
import { ConfigError, type ConfigFault } from '../errors.js'
import { SYSTEM_FIELD_PLANS } from '../fields/compile-fields.js'
import type { Field } from '../fields/field-type.js'
import { checkCase, checkStoredNames, findTwins, storedNameOf } from '../fields/names.js'
import { RESERVED_COLLECTION_NAMES, USERS } from '../fields/schema/names.js'
import { holdsReference } from '../fields/schema/references.js'
import { createPatternStore } from '../filter/pattern/pattern-store.js'
import { toPointerPart } from '../json/pointer.js'
import { type ConfigReport, reportTo } from '../json/report.js'
import { EVERYONE, OWNER, rulesOf } from '../permissions/grants.js'
import type { Where } from '../query/where.js'
import { compileReferences } from '../references/config/compile-references.js'
import type { IndexPlan } from '../storage.js'
import type { CollectionConfig, Config, Limits } from '../types.js'
import {
  compilePermissions,
  grantPointer,
  isOpenToEveryone,
  OPEN_DOOR,
  type RuleScope,
} from './compile-permissions.js'
import { compileSchema } from './compile-schema.js'
import { DEFAULT_LIMITS } from './defaults.js'
import type { HostFacts } from './finder.js'
import { createVariableJudge } from './judge-variable.js'
import { type Fills, judgeFills, selectFills } from './options/fills.js'
import type { Collection, LoggedPlan, ServicePlan } from './plan.js'
import { checkShape, type IsUnsure } from './shape/check-shape.js'
import { isUnsurePath } from './shape/settle-shape.js'

/** The facts about the host application and its options against which a configuration is checked. */
export interface CompileOptions extends HostFacts {
  /** Whether the host application delivers tokens to users. Default: unknown, which is not a fault. */
  readonly hasDeliver?: boolean
  /** Whether the storage adapter can keep a log of changes. Default true. */
  readonly hasLog?: boolean
  /** The `maxDocumentBytes` of the storage adapter. Default: no limit. */
  readonly maxDocumentBytes?: number | undefined
  /** The path and the origins under which clients reach the service. Default: unknown, which is not a fault. */
  readonly reach?: Reach
  /** The fields that hooks fill. Default: none. */
  readonly fills?: Fills
  /** Whether to report names in `fills` that no hook can fill. Default true. */
  readonly judgesFills?: boolean
  /** Faults of the adapter and the options, which were found earlier. */
  readonly faults?: readonly ConfigFault[]
}

/** Compiles a configuration. Throws `ConfigError` with every fault that does not only follow from another. */
export function compileConfig(input: unknown, options: CompileOptions): ServicePlan {
  const { config, isUnsure, faults: misshapen } = checkShape(input)
  const faults: ConfigFault[] = [...(options.faults ?? []), ...misshapen]
  const report = reportTo(faults)
  const { collections: written = {}, auth = {} } = config
  const claims = findClaimFields(config)
  const judgeVariable = createVariableJudge(written[USERS]?.schema, { ...options, isUnsure, claims })

  checkCase(Object.keys(written), RESERVED_COLLECTION_NAMES, report.at('collections'))
  checkStoredNames(written, RESERVED_COLLECTION_NAMES, report.at('collections'))
  const { parse: parsePattern } = createPatternStore()
  const collections = new Map(
    Object.entries(written).map(([name, collection]) => {
      const { roleField = null, verifiedField = null, requireVerified = false } = name === USERS ? auth : {}
      const own = { roleField, verifiedField, requireVerified }
      const context = {
        judgeVariable,
        claims,
        parsePattern,
        isUnsure,
        ...own,
        fills: options.fills?.get(name),
      }
      return [name, compileCollection(name, collection, report.at('collections').at(name), context)]
    }),
  )
  const { fills, judgesFills = true } = options
  if (fills && judgesFills) faults.push(...judgeFills(fills, collections, faults))
  checkRoleField(auth, written[USERS]?.schema, isUnsure, report.at('auth'))
  const { maxDocumentBytes = Number.POSITIVE_INFINITY } = options
  const documentBytes = Math.min(DEFAULT_LIMITS.documentBytes, maxDocumentBytes)
  const limits = { ...DEFAULT_LIMITS, documentBytes, ...config.limits }
  const read = compileClaims(
    auth.claims ?? {},
    {
      collections,
      parsePattern,
      isUnsure,
      judgeVariable,
      claims,
      shownIf: auth.requireVerified
        ? presenceOf(collections.get(USERS)?.fields ?? [], auth.verifiedField ?? null)
        : null,
    },
    report.at('auth').at('claims'),
  )
  const cookie = compileCookie(auth, isUnsure, {
    report: report.at('auth').at('cookie'),
    reach: options.reach,
  })
  const accounts = compileAuth(auth, collections.get(USERS), isUnsure, report.at('auth'))
  const known = {
    collections,
    auth: accounts && { ...accounts, cookie },
    ...compileReferences(collections, isUnsure, report),
    claims: read,
    claimed: new Set(Array.from(read.values(), ({ from }) => from)),
    limits,
    migrations: config.migrations ?? [],
  }
  const sure = known.migrations.filter((_, i) => !isUnsure(`/migrations/${i}`))
  for (const [name, message] of findTwins(sure, []))
    report.at('migrations').at(known.migrations.indexOf(name)).fault(message)
  const log = compileLog(config, known, options.hasLog ?? true, report.at('collections'))
  const plan = { ...known, log }
  checkLimits(limits, maxDocumentBytes, report.at('limits'))
  if (!options.hasAuthenticate) checkRegistration(plan.auth, report)
  const { hasDeliver = true } = options
  checkRequireVerified(
    { config: auth, auth: plan.auth, references: plan, isUnsure, hasDeliver, faults: [...faults] },
    report,
  )
  if (options.production)
    for (const { name } of findOpenDoors(collections, isUnsure, faults))
      report.within(grantPointer(name, EVERYONE)).fault(`${OPEN_DOOR}, which is an error in production`)
  if (faults.length > 0) throw new ConfigError(faults)
  return { ...plan, config }
}

interface CollectionContext
  extends Pick<RuleScope, 'judgeVariable' | 'claims' | 'parsePattern' | 'roleField' | 'verifiedField'> {
  readonly isUnsure: IsUnsure
  readonly requireVerified: boolean
  readonly fills: readonly string[] | undefined
}

function compileCollection(
  name: string,
  config: CollectionConfig,
  report: ConfigReport,
  { isUnsure, requireVerified, fills, ...context }: CollectionContext,
): Collection {
  const { erase = [] } = config
  const reserved = new Set(erase)
  const additionalProperties = config.additionalProperties ?? isUnsure(report.at('additionalProperties').path)
  const { fields, paths, validate, storage } = compileSchema(
    name,
    { ...config, additionalProperties },
    { parsePattern: context.parsePattern, isUnsure, reserved },
    report,
  )
  for (const [i, stored] of erase.entries()) {
    const used = fields.find((field) => storedNameOf(field) === stored)
    if (used)
      report
        .at('erase')
        .at(i)
        .fault(`is the stored name of the field ${JSON.stringify(used.name)}`)
  }
  const shownIf = requireVerified ? presenceOf(fields, context.verifiedField) : null
  const scope = {
    ...context,
    fields,
    paths,
    validate,
    additionalProperties,
    shownIf,
    isUnsure: isUnsurePath(paths),
  }
  const permissions = compilePermissions(config.permissions ?? {}, scope, report.at('permissions'))
  return {
    name,
    storedName: config.stored ?? name,
    isStoredExplicitly: config.stored !== undefined,
    erase,
    fields,
    paths,
    hashes: fields.filter(({ type }) => type === 'hash'),
    referring: fields.filter(holdsReference),
    additionalProperties,
    reserved,
    permissions,
    parsePattern: context.parsePattern,
    validate,
    fills: selectFills(fields, fills),
    roleField: context.roleField,
    verifiedField: context.verifiedField,
    storage:
      rulesOf(permissions.read, OWNER).length > 0
        ? { ...storage, indexes: [...storage.indexes, BY_CREATOR] }
        : storage,
    hasChanges: config.changes ?? false,
  }
}

/** The index for callers who may only read their own documents. */
const BY_CREATOR: IndexPlan = {
  fields: SYSTEM_FIELD_PLANS.flatMap(({ name, ref }) => (ref && name === 'createdBy' ? [ref] : [])),
  unique: false,
}

/** Creates the condition that a document has a field. */
function presenceOf(fields: readonly Field[], name: string | null): Where | null {
  const field = fields.find((one) => one.name === name)
  if (!field?.ref) return null
  return { kind: 'fixed', filter: { kind: 'present', field: field.ref }, ways: presentWays(field) }
}

/**
 * Determines which collections to log: those that have `changes` and, if there are any, those that determine
 * a caller's permissions (CONTRACT.md §9, "The log").
 */
function compileLog(
  config: Partial<Config>,
  { collections, claimed }: Pick<ServicePlan, 'collections' | 'claimed'>,
  hasLog: boolean,
  report: ConfigReport,
): LoggedPlan | null {
  const told = [...collections.values()].filter(({ hasChanges }) => hasChanges)
  if (told.length === 0) return null
  if (!hasLog)
    for (const { name } of told)
      report.at(name).at('changes').fault('needs a log of changes, which this storage adapter does not have')
  const users = collections.has(USERS) ? [USERS] : []
  return {
    collections: new Set([...told.map(({ name }) => name), ...users, ...claimed]),
    configuration: JSON.stringify({ ...config, $schema: undefined, $ignore: undefined }),
  }
}

function checkLimits(
  { defaultLimit, maxLimit, documentBytes }: Limits,
  maxDocumentBytes: number,
  report: ConfigReport,
): void {
  if (documentBytes > maxDocumentBytes)
    report.at('documentBytes').fault(`must be at most ${maxDocumentBytes} with this storage`)
  if (defaultLimit !== null && maxLimit !== null && defaultLimit > maxLimit)
    report.at('defaultLimit').fault(`is greater than maxLimit, ${maxLimit}`)
}

/**
 * Finds collections that are open to everyone. A collection is not included if its grants for everyone have a
 * fault, because correcting the fault could close it.
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
