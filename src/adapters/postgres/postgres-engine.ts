import type { FieldRef } from '../../core/filter/filter.js'
import type { Range } from '../../core/filter/pattern/syntax/code-points.js'
import type { Pattern } from '../../core/filter/pattern/syntax/pattern.js'
import { type PatternDialect, printPattern } from '../../core/filter/pattern/syntax/print-pattern.js'
import type { IndexPlan } from '../../core/storage.js'
import { type Bind, quoteName, type SqlDialect, STRUCTURES, type Value } from '../sql/dialect.js'
import type { SqlEngine } from '../sql/engine.js'
import { LOG, LOG_HEAD } from '../sql/log/recorder.js'
import { createStatements } from '../sql/statements.js'
import { createElements } from './elements.js'
import { isExisting, isTooLong, lacksColumn, takenBy } from './faults.js'
import { LAYOUT, type Layout } from './layout.js'
import { createSeek } from './read/entries.js'
import { elementsAt, jsonAt, textAt, valueAt, valueOfElement } from './values.js'

/** The syntax of PostgreSQL's advanced regular expressions, on text with the collation "C". */
const ARE: PatternDialect = {
  codePoint: (point) => `\\U${point.toString(16).padStart(8, '0')}`,
  start: '\\A',
  end: '\\Z',
  boundary: '\\y',
  noBoundary: '\\Y',
}

/** The maximum number of repetitions in a pattern of PostgreSQL. */
const MAX_REPEAT = 255

/** Prints a pattern for PostgreSQL; `undefined` if PostgreSQL cannot express it. */
function printRegex(pattern: Pattern): string | undefined {
  const sayable = toSayable(pattern)
  return sayable && printPattern(sayable, ARE)
}

/** Rewrites a pattern with the constructs that PostgreSQL has. Returns `undefined` if they are not enough. */
function toSayable(pattern: Pattern): Pattern | undefined {
  switch (pattern.kind) {
    case 'set': {
      // PostgreSQL allows U+0000 neither in strings nor in regular expressions.
      const ranges = pattern.ranges
        .map(([first, last]): Range => [Math.max(first, 1), last])
        .filter(([first, last]) => first <= last)
      return ranges.length === 0 ? undefined : { kind: 'set', ranges }
    }
    case 'sequence':
    case 'choice': {
      const parts = pattern.parts.map(toSayable)
      const sayable = parts.filter((part) => part !== undefined)
      return sayable.length === parts.length ? { kind: pattern.kind, parts: sayable } : undefined
    }
    case 'repeat': {
      if (pattern.min > MAX_REPEAT || (pattern.max ?? 0) > MAX_REPEAT) return undefined
      const part = toSayable(pattern.part)
      return part && { ...pattern, part }
    }
    default:
      return pattern
  }
}

/** The default schema of the tables. */
export const DEFAULT_SCHEMA = 'collection_service'

const PARAMETER_TYPES: { readonly [type: string]: string } = { number: 'float8', boolean: 'boolean' }

/**
 * Compiles a pattern to the condition that a string contains a match. Returns `undefined` if PostgreSQL cannot
 * express the pattern.
 */
function compileMatch(pattern: Pattern, bind: Bind): ((text: string) => string) | undefined {
  if (pattern.kind === 'text') return (text) => `strpos(${text}, ${bind(pattern.text)}) > 0`
  const regex = printRegex(pattern)
  return regex === undefined ? undefined : (text) => `${text} ~ ${bind(regex)}`
}

/** Returns the PostgreSQL type for a value. */
export function typeOf(value: Value): string {
  const [one, ending] = typeof value === 'object' ? [value[0], '[]'] : [value, '']
  return `${PARAMETER_TYPES[typeof one] ?? 'text'}${ending}`
}

/** Builds a parameter with its type, because PostgreSQL cannot always infer the type. */
const parameterOf = (place: number, value: Value): string => `$${place}::${typeOf(value)}`

/**
 * Builds an expression for the bytes of a string, which may be used in an index. `decode` needs doubled backslashes.
 * They are written with `chr(92)`, because no literal of a backslash is portable.
 */
const bytesOf = (text: string): string => `decode(replace(${text}, chr(92), repeat(chr(92), 2)), 'escape')`

const plainValue = (field: FieldRef): string => (field.path === '_id' ? '_id' : valueAt(field))

/**
 * The clauses that lock rows. All writes lock in the same order, to avoid deadlocks. After it has waited for a lock,
 * PostgreSQL reads the row again.
 */
const HOLDS = {
  require: ' ORDER BY _id FOR KEY SHARE',
  // A weaker lock would let two writes each change what the other requires.
  'require state': ' ORDER BY _id FOR SHARE',
  replace: ' ORDER BY _id FOR NO KEY UPDATE',
  remove: ' ORDER BY _id FOR UPDATE',
}

/** An expression for the random name of a new log. */
const NEW_NAME = 'left(md5(random()::text || clock_timestamp()::text), 8)'

/**
 * Returns the statements that create the log and its head. Columns of the log: `seq` is assigned when the write locks
 * the document; `position` is assigned after the commit; `write` groups the changes of one write; `total` is set
 * together with `position`, to the bytes of this change and of all changes before it. Columns of the head: `last` is
 * the last position that was assigned, `dropped` the position of the last change that was dropped.
 */
const createLog = (log: string, head: string): readonly string[] => [
  `CREATE TABLE ${log} (seq bigint GENERATED ALWAYS AS IDENTITY, position bigint, write bigint, time timestamptz NOT NULL DEFAULT clock_timestamp(), collection text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, before jsonb, after jsonb)`,
  `CREATE UNIQUE INDEX _log_seq ON ${log} (seq) WHERE position IS NULL`,
  `CREATE UNIQUE INDEX _log_position ON ${log} (position) WHERE position IS NOT NULL`,
  `CREATE UNIQUE INDEX _log_write ON ${log} (write, id, collection) WHERE position IS NULL AND write IS NOT NULL`,
  `CREATE TABLE ${head} (log text NOT NULL, last bigint NOT NULL, dropped bigint NOT NULL)`,
  `INSERT INTO ${head} (log, last, dropped) VALUES (${NEW_NAME}, 0, 0)`,
  // Logs of earlier versions lack these two columns. Processes of those versions keep writing without them.
  `ALTER TABLE ${log} ADD COLUMN IF NOT EXISTS caller text`,
  `ALTER TABLE ${log} ADD COLUMN IF NOT EXISTS total bigint`,
  `ALTER TABLE ${log} ADD COLUMN IF NOT EXISTS migration boolean`,
]

/**
 * Creates the dialect for documents as `jsonb` in one schema of PostgreSQL. Strings are compared by bytes, which in
 * UTF-8 gives the order of code points. `layoutOf` returns the layout of the schema, once it is open.
 */
export function createPostgresDialect(schema: string, layoutOf: () => Layout = () => LAYOUT): SqlDialect {
  const ownTable = (name: string): string => `${quoteName(schema)}.${quoteName(name)}`
  const table = (collection: string): string => ownTable(layoutOf().tableNameOf(collection))
  return {
    parameter: parameterOf,
    ownPlace: 'a schema of its own (option `schema`)',
    table,
    ownTable,
    columns: {
      id: (constraint) => `text COLLATE "C" NOT NULL CONSTRAINT ${constraint} PRIMARY KEY`,
      document: 'jsonb',
    },
    structures: { table: ownTable(STRUCTURES), order: 'position', owner: () => layoutOf().owner },
    log: createLog(ownTable(LOG), ownTable(LOG_HEAD)),
    newLog: `UPDATE ${ownTable(LOG_HEAD)} SET log = ${NEW_NAME}`,
    documentText: 'document::text AS document',
    toDocument: (text) => `${text}::jsonb`,
    hold: { most: null, endings: HOLDS },
    removeFound: (table, search) => `DELETE FROM ${table} WHERE _id = ANY(ARRAY(${search}))`,
    toArray: (values) => `json_build_array(${values.join(', ')})::text`,
    // The version is not converted to float8: printed as text, it might lose digits, depending on the server setting
    // `extra_float_digits`. A `jsonb` number keeps all its digits.
    storedVersion: jsonAt('_version'),
    value: plainValue,
    hasValue: (field) => `${plainValue(field)} IS NOT NULL`,
    isPresent(path, kind) {
      const found = `coalesce(jsonb_typeof(${jsonAt(path)}), 'null')`
      return kind === 'any' ? `(${found} <> 'null')` : `(${found} = '${kind}')`
    },
    hasElement: (field, condition) =>
      `EXISTS (SELECT 1 FROM ${elementsAt(field.path)} WHERE ${condition(valueOfElement(field))})`,
    match(text, pattern, bind, { path, type, each }) {
      const contains = compileMatch(pattern, bind)
      if (!contains || each || type !== 'string' || path === '_id') return contains?.(text)
      // The type check comes last, because it would take half of the time for strings that do not match.
      return `(${contains(textAt(path))} AND jsonb_typeof(${jsonAt(path)}) = 'string')`
    },
    isOneOf: (value, values, bind) => `${value} = ANY(${bind(values)})`,
    // `_id` has no NULLS FIRST or NULLS LAST: as the last key of every index, it has PostgreSQL's default order of
    // nulls.
    order: (field, descending) => {
      if (field.path === '_id') return `_id ${descending ? 'DESC' : 'ASC'}`
      return `${plainValue(field)} ${descending ? 'DESC NULLS LAST' : 'ASC NULLS FIRST'}`
    },
    elements: (index) => {
      const { create, fill } = createElements(schema, table(index.collection), index)
      return [...create, fill]
    },
    // An entry of a B-tree has at most 2,704 bytes. Two strings and the `_id` take 2,100 bytes, a timestamp takes 25.
    entries: { texts: 2, fields: 20, digest: (value) => `(sha256(${bytesOf(value)}))` },
    limit: (skip, limit, bind) =>
      [
        ...(limit === null ? [] : [` LIMIT (${bind(limit)})::bigint`]),
        ...(skip === 0 ? [] : [` OFFSET (${bind(skip)})::bigint`]),
      ].join(''),
  }
}

/**
 * Creates the engine of a schema. `indexesOf` returns the indexes of a collection that statements can use. `layoutOf`
 * returns the layout of the schema, once it is open.
 */
export function createPostgresEngine(
  schema: string,
  indexesOf: (collection: string) => readonly IndexPlan[] = () => [],
  layoutOf?: () => Layout,
): SqlEngine {
  const plain = createPostgresDialect(schema, layoutOf)
  const dialect = { ...plain, seek: createSeek(plain, indexesOf) }
  return { dialect, statements: createStatements(dialect), takenBy, isExisting, lacksColumn, isTooLong }
}
