import { isObject } from '../../core/json/own-properties.js'
import type { Caller } from '../../core/types.js'
import { UsageError } from './arguments/options.js'
import { findFault, readTextFile } from './read-json-file.js'

/**
 * Reads the value of `--caller`: `anonymous`, or a JSON object, inline or in a file. The object has an `_id` (or `id`),
 * and may have `roles` and other fields. Throws `UsageError` and `FileError`.
 */
export async function readCaller(named: string): Promise<Caller | null> {
  if (named === 'anonymous') return null
  const text = named.endsWith('.json') ? await readTextFile(named) : named
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The value stays `undefined`, and the check below throws.
  }
  if (!isObject(value)) throw new UsageError(FORMS)
  const fault = findFault(text)
  if (fault !== undefined) throw new UsageError(`--caller: ${fault}`)
  if (value._id !== undefined && value.id !== undefined)
    throw new UsageError('--caller must have an _id or an id, not both')
  const { _id, id = _id, roles = [], ...fields } = value
  const areRoles = Array.isArray(roles) && roles.every((role) => typeof role === 'string')
  if (typeof id !== 'string' || !areRoles) throw new UsageError(FORMS)
  return { ...fields, id, roles }
}

const FORMS =
  '--caller must be anonymous, JSON like {"_id":"ann","roles":["editor"]}, or a .json file with such JSON'
