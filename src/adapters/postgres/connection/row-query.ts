import type { Scalar } from '../../../filter/filter.js'
import type { Value } from '../../sql/dialect.js'

/** The columns of a row, as text. */
export type Row = readonly (string | null)[]

/** The parts of a connection of `pg` that its own queries use. */
interface Wire {
  readonly parsedStatements: { readonly [name: string]: unknown }
  readonly stream: { cork(): void; uncork(): void }
  parse(statement: { readonly text: string; readonly name: string }): void
  bind(values: { readonly statement: string; readonly values: readonly string[] }): void
  execute(): void
  sync(): void
}

/** A query that `pg` sends as its own: it calls these methods in turn. */
export interface RowQuery {
  /** Under which it is prepared; empty for none. */
  name: string
  readonly text: string
  callback: (thrown: unknown, rows?: readonly Row[]) => void
  submit(wire: Wire): null
  handleDataRow(message: { readonly fields: Row }): void
  handleError(thrown: unknown): void
  handleReadyForQuery(): void
  handleCommandComplete(): void
}

/**
 * Creates a query whose rows are read as text. It costs half of what `pg` spends on a query of any kind: no
 * description of rows is asked for, and no objects are made of them.
 */
export function createRowQuery(
  text: string,
  values: readonly Value[],
  callback: RowQuery['callback'],
): RowQuery {
  const rows: Row[] = []
  return {
    name: '',
    text,
    callback,
    submit(wire) {
      wire.stream.cork()
      try {
        const { name } = this
        if (name === '' || wire.parsedStatements[name] === undefined) wire.parse({ text, name })
        wire.bind({ statement: name, values: values.map(toText) })
        wire.execute()
        wire.sync()
      } finally {
        wire.stream.uncork()
      }
      return null
    },
    handleDataRow({ fields }) {
      rows.push(fields)
    },
    handleCommandComplete() {},
    handleError(thrown) {
      this.callback(thrown)
    },
    handleReadyForQuery() {
      this.callback(null, rows)
    },
  }
}

/** A value in the text format of PostgreSQL. */
const toText = (value: Value): string =>
  typeof value === 'object' ? `{${value.map(toElement).join(',')}}` : String(value)

const toElement = (value: Scalar): string =>
  typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value)
