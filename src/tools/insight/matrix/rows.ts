import { toPrintable } from '../../../core/start/printable.js'
import { keyOf } from './decide.js'
import type { CallerMatrix, CollectionMatrix, MatrixCaller, MatrixOperation, MatrixRule } from './types.js'

/** The operations that have a column in a table, in the order of the columns. */
export const COLUMNS = ['create', 'read', 'update', 'delete'] as const

/** An operation that has a column. */
export type MatrixColumn = (typeof COLUMNS)[number]

/** The content of a cell. */
export interface Cell {
  readonly operation: MatrixOperation
  readonly rules: readonly MatrixRule[]
}

/** A row for callers with the same rights. */
export interface MatrixRow {
  /** `anonymous`, `everyone`, `user` or role names. An inner row has `own` or `registers`. */
  readonly labels: readonly string[]
  /** Whether the row belongs to the last row before it that is not inner. */
  readonly isInner: boolean
  /** The cells by column. A cell is absent if the operation does not apply to the row. */
  readonly cells: { readonly [column in MatrixColumn]?: Cell }
}

/** Signed-in callers with the same rights. `own` has the rights of a caller to documents that the caller created. */
type CallerGroup = readonly { readonly main: CallerMatrix; readonly own: CallerMatrix | undefined }[]

/**
 * Returns the rows of a table. Roles that the collection does not name have the rights of `user`, so they have no row.
 * Rights to own documents have a row only if they differ from the other rights. With `areShared`, callers with the same
 * rights share a row.
 */
export function toRows(collection: CollectionMatrix, areShared: boolean): readonly MatrixRow[] {
  const anonymous = collection.callers.find(({ caller }) => caller.kind === 'anonymous')
  const [users = [], ...others] = toGroups(collection, areShared)
  if (!anonymous) return []
  const registers: readonly MatrixRow[] = anonymous.register
    ? [{ labels: ['registers'], isInner: true, cells: { create: cellOf(anonymous, 'register') } }]
    : []
  const isForAll = areShared && users.some(({ main }) => keyOfCaller(main) === keyOfCaller(anonymous))
  const begin = isForAll
    ? toGroupRows(users, [EVERYONE, ...labelsOf(users.slice(1))], registers)
    : [toRow(['anonymous'], anonymous), ...registers, ...toGroupRows(users, labelsOf(users))]
  return [...begin, ...others.flatMap((group) => toGroupRows(group, labelsOf(group)))]
}

/** Groups signed-in callers. The first group contains callers without a role. */
function toGroups({ roles, callers }: CollectionMatrix, areShared: boolean): readonly CallerGroup[] {
  const groups = new Map<string, CallerGroup>()
  for (const main of callers) {
    const { caller, isOwner } = main
    if (isOwner || caller.kind === 'anonymous') continue
    if (caller.kind === 'role' && !roles.includes(caller.role)) continue
    const own = callers.find((one) => one.isOwner && isSameCaller(one.caller, caller))
    const key = areShared ? keyOfCaller(main) + (own ? keyOfCaller(own) : '') : labelOf(caller)
    groups.set(key, [...(groups.get(key) ?? []), { main, own }])
  }
  return [...groups.values()]
}

function toGroupRows(
  [first]: CallerGroup,
  labels: readonly string[],
  inner: readonly MatrixRow[] = [],
): readonly MatrixRow[] {
  if (!first) return []
  const { main, own } = first
  const isMore = own && keyOfExisting(own) !== keyOfExisting(main)
  return [toRow(labels, main), ...inner, ...(isMore ? [{ ...toRow(['own'], own), isInner: true }] : [])]
}

const labelsOf = (group: CallerGroup): readonly string[] => group.map(({ main }) => labelOf(main.caller))

const toRow = (labels: readonly string[], caller: CallerMatrix): MatrixRow => ({
  labels,
  isInner: false,
  cells: Object.fromEntries(
    COLUMNS.flatMap((column) => (caller[column] ? [[column, cellOf(caller, column)]] : [])),
  ),
})

const EVERYONE = 'everyone'

const cellOf = (caller: CallerMatrix, operation: MatrixOperation): Cell => ({
  operation,
  rules: caller[operation] ?? [],
})

const isSameCaller = (a: MatrixCaller, b: MatrixCaller): boolean =>
  a.kind === 'role' || b.kind === 'role'
    ? a.kind === 'role' && b.kind === 'role' && a.role === b.role
    : a.kind === b.kind

const keyOfCaller = (caller: CallerMatrix): string => keyOf(caller.create ?? []) + keyOfExisting(caller)

const keyOfExisting = (caller: CallerMatrix): string =>
  [caller.read, caller.update, caller.delete].map(keyOf).join()

/** Labels that are not role names. */
const LABELS: readonly string[] = ['anonymous', EVERYONE, 'own', 'registers']

const labelOf = (caller: MatrixCaller): string =>
  caller.kind === 'role' ? nameRole(caller.role) : caller.kind

/** Returns the name of a role, in quotation marks if it could be mistaken for another label. */
export const nameRole = (role: string): string =>
  /^[\p{L}\p{N}_-]+$/u.test(role) && !LABELS.includes(role) ? role : toPrintable(JSON.stringify(role))
