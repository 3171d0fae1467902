import { dropUnique, type UniqueFields } from '../../core/migrate/drop-unique.js'
import { type Expectations, FUNCTION, requireOptions, TEXT } from '../../core/options.js'
import type { StorageAdapter } from '../../core/storage.js'
import { SCHEMA_PLAN } from '../../core/stored/record/schema-record.js'
import { assemble } from './assemble.js'

/** A unique index to drop, by stored names. */
export interface DropUniqueOptions extends UniqueFields {
  /** Returns the current time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
}

/** The requirements for these options. */
const OPTIONS: Expectations = {
  collection: TEXT,
  fields: [
    (value) => Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string'),
    'a list of stored names',
  ],
  now: FUNCTION,
}

/**
 * Drops a unique index that an earlier configuration declared and this one does not (CONTRACT.md §7, "Dropping a unique
 * index"). It opens the adapter, and leaves it open. Rejects with `ConfigError` if the configuration declares the index, the
 * storage lacks it, or a process that declares it serves; and with errors of the storage.
 *
 * @param adapter an adapter that no service has opened
 *
 * @example
 * ```ts
 * await dropUniqueIndex(config, createSqliteAdapter({ file: 'app.db' }), { collection: 'articles', fields: ['slug'] })
 * ```
 */
export async function dropUniqueIndex(
  config: unknown,
  adapter: StorageAdapter,
  { collection, fields, ...others }: DropUniqueOptions,
): Promise<void> {
  requireOptions({ collection, fields, ...others }, OPTIONS)
  const { plan, now } = assemble(config, adapter, others)
  await adapter.open([SCHEMA_PLAN])
  await dropUnique(adapter, { collection, fields }, { plan, now, signal: new AbortController().signal })
}
