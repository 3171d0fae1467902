import { isVariable, userPathOf } from '../query/variable.js'
import { collectPaths, compileFields, SYSTEM_FIELD_PLANS } from '../schema/field.js'
import { suggest, USERS } from '../schema/names.js'
import type { FieldDefinition } from '../types.js'

/**
 * The judge of variables: says why one stands for nothing, if so. Where the service keeps the accounts, `$user` is a
 * document of `users`; a host's callers may have any field (contract §5).
 */
export function createVariableJudge(
  users: { readonly [field: string]: FieldDefinition } | undefined,
  options: { readonly hasAuthenticate: boolean },
): (variable: string) => string | undefined {
  const known = [...collectPaths(compileFields(users ?? {})), ...SYSTEM_FIELD_PLANS].map(({ path }) => path)
  return (variable) => {
    const path = userPathOf(variable)
    if (!isVariable(variable) || path === '') {
      return `${JSON.stringify(variable)} is no variable; there are "$now" and "$user.<field>"`
    }
    if (path === undefined || options.hasAuthenticate || known.includes(path)) return undefined
    return `$user.${path} stands for nothing: "${USERS}" has no such field to read${suggest(path, known)}`
  }
}
