import type { Collection } from '../../src/core/config/plan.js'
import { USERS } from '../../src/core/fields/schema/names.js'
import type { KnownCaller } from '../../src/core/permissions/caller.js'
import type { Service } from '../../src/core/request/call.js'

/**
 * CONTRACT.md §6, "Problems": no fault of a write names a declared property that no rule of its caller's subjects
 * shows or accepts. Told from the rules alone, in the words of the contract and not of the service.
 */

/** Faults of any body, whatever the schema: they repeat its own names, and would tell which are declared if they did not. */
const OF_ALL: readonly string[] = ['forbidden_name', 'too_deep', 'ignored']

interface Problem {
  readonly code: string
  readonly errors?: readonly { readonly path: string; readonly code: string }[]
}

interface Asked {
  readonly method: string
  /** Below the base path. */
  readonly path: string
  readonly caller: KnownCaller | null
}

/** The property that a problem names and its caller may not know; `undefined` for none. */
export function findUnknownName(service: Service, asked: Asked, text: string): string | undefined {
  const { code, errors = [] } = JSON.parse(text) as Problem
  // A hook of the host says what it will.
  if (code === 'refused') return undefined
  const parts = asked.path.split('/').filter((part) => part !== '')
  const isRegistration = parts.join('/') === 'auth/register'
  const collection = service.plan.collections.get(isRegistration ? USERS : (parts[0] ?? ''))
  if (!collection || !['POST', 'PUT', 'PATCH'].includes(asked.method)) return undefined
  const known = namesKnownTo(service, collection, isRegistration ? null : asked.caller)
  const prefix = parts[1] === 'bulk' ? /^\/documents\/\d+/ : /^/
  for (const { path, code } of errors) {
    if (OF_ALL.includes(code)) continue
    const [, name = ''] = path.replace(prefix, '').split('/')
    if (collection.fields.some((field) => field.name === name) && !known(name)) return name
  }
  return undefined
}

function namesKnownTo(
  { accounts }: Service,
  collection: Collection,
  caller: KnownCaller | null,
): (name: string) => boolean {
  const subjects = ['*', ...(caller ? ['user', 'owner', ...caller.roles] : [])]
  const { read, create, update } = collection.permissions
  const rules = [read, create, update].flatMap((one) => subjects.flatMap((subject) => one.get(subject) ?? []))
  const isUsers = accounts?.users === collection
  // What a registration takes is known to all.
  const more = isUsers ? [collection.permissions.create.get('*') ?? []].flat() : []
  const own = isUsers ? [accounts.identifier.name, accounts.secret.name] : []
  return (name) =>
    own.includes(name) ||
    [...rules, ...more].some(
      ({ properties: { pick, omit } }) => (pick === null || pick.has(name)) && !omit.has(name),
    )
}
