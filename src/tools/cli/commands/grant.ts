import { findRoles, findVerifiable, grantRole, grantVerified } from '../../../core/accounts/grant-role.js'
import { plansOf } from '../../../core/changes/log/log-plans.js'
import { compileConfig } from '../../../core/config/compile-config.js'
import { UNHURRIED } from '../../../core/request/deadline.js'
import { createStore } from '../../../core/request/store.js'
import { renameStorage } from '../../../core/stored/names/renamed-storage.js'
import type { ArgumentsOf } from '../arguments/commands.js'
import { createStorage, usingStorage } from '../create-storage.js'
import { refuseNewFile } from '../existing-storage.js'
import { readConfig } from '../read-config.js'

/**
 * Gives a registered user a role, marks the user as verified, or both. It also works while other processes serve the
 * same storage. Throws `FileError`, `ConfigError`, `StorageError`, and a `ServiceError` with the reason if the user
 * cannot get the role or the mark.
 */
export async function grant(
  { config, storage, identifier, role, isVerified }: ArgumentsOf<'grant'>,
  print: (line: string) => void,
): Promise<void> {
  const plan = compileConfig(await readConfig(config), { production: false, hasAuthenticate: false })
  const roles = role === undefined ? undefined : findRoles(plan)
  const verifiable = isVerified ? findVerifiable(plan) : undefined
  // The storage is opened as a service would open it, including its change log if it has one.
  const users = plansOf(plan).filter(({ name }) => name === plan.auth?.users.name)
  await refuseNewFile(storage)
  const adapter = renameStorage(createStorage(storage), plan.collections)
  const clock = (): string => new Date().toISOString()
  await usingStorage(adapter, async () => {
    await adapter.open(users)
    const store = createStore(adapter, UNHURRIED)
    if (roles && role !== undefined) {
      const { isNew } = await grantRole(store, roles, { identifier, role }, clock)
      print(`${identifier} ${isNew ? 'now has' : 'already has'} the role ${role}.`)
    }
    if (verifiable) {
      const { isNew } = await grantVerified(store, verifiable, identifier, clock)
      print(`${identifier} ${isNew ? 'is now' : 'was already'} verified.`)
    }
  })
}
