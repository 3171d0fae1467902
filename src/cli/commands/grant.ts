import { access } from 'node:fs/promises'
import { compileConfig } from '../../config/compile-config.js'
import type { StorageAdapter } from '../../index.js'
import { findRoles, grantRole, type RoleGrant } from '../../service/accounts/grant-role.js'
import { UNHURRIED } from '../../service/deadline.js'
import { createStore } from '../../service/store.js'
import type { GrantArguments, StorageArguments } from '../arguments/parse-arguments.js'
import { createStorage } from '../create-storage.js'
import { FileError, readJsonFile } from '../read-json-file.js'

/**
 * Gives a registered user a role, also while others serve the same storage. Throws `FileError`, `ConfigError`,
 * `StorageError`, and a `ServiceError` that says what keeps the role from being given.
 */
export async function grant(
  { config, storage, ...wanted }: GrantArguments,
  print: (line: string) => void,
): Promise<void> {
  const plan = compileConfig(await readJsonFile(config), { production: false, hasAuthenticate: false })
  const roles = findRoles(plan)
  await refuseNewFile(storage)
  const adapter = createStorage(storage)
  const clock = (): string => new Date().toISOString()
  const { isNew } = await usingStorage(adapter, async () => {
    await adapter.open([roles.auth.users.storage])
    return grantRole(createStore(adapter, UNHURRIED), roles, wanted, clock)
  })
  print(describeGrant(wanted, isNew))
}

const describeGrant = ({ identifier, role }: RoleGrant, isNew: boolean): string =>
  `${identifier} ${isNew ? 'now has' : 'already has'} the role ${role}.`

/** Opening would make a misspelt file, in which nobody is registered. */
async function refuseNewFile(storage: StorageArguments): Promise<void> {
  if (storage.kind !== 'file') return
  await access(storage.file).catch(() => {
    throw new FileError(`there is no file ${storage.file}`)
  })
}

/** Closes the storage in any case: open, it would keep the process. */
async function usingStorage<T>(adapter: StorageAdapter, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    // What was not opened may not close either; what went wrong before matters more.
    await adapter.close().catch(() => {})
  }
}
