import type { Scalar } from '../../../filter/filter.js'
import type { Value } from '../../sql/dialect.js'

/** The columns of a row, as text. */
export type TextRow = readonly (string | null)[]

/** The parts of a connection of `pg` that its own queries use. */
interface Wire {
  readonly parsedStatements: { readonly [name: string]: unknown }
  readonly stream: { cork(): void; uncork(): void }
  parse(statement: { readonly text: string; readonly name: string }): void
  bind(values: { readonly statement: string; readonly values: readonly string[] }): void
  execute(): void
  sync(): void
}

/** A statement of a query. */
export interface NamedStatement {
  readonly text: string
  readonly values: readonly Value[]
  /** The name under which it is prepared; empty for an unnamed statement. */
  readonly name: string
}

/** The result of a query: the rows of its last statement, and how many rows it changed or returned. */
export interface RowsRead {
  readonly rows: readonly TextRow[]
  readonly rowCount: number
}

/**
 * A query object that `pg` submits like its own: `pg` calls these methods in turn. Rows are read as text. It costs
 * half of a `pg` query, because it requests no row description and creates no row objects. Its statements are sent at
 * once, and are one transaction. It is a class because V8 keeps an object literal with getters, and so the rows,
 * until a major garbage collection.
 */
export class RowQuery {
  readonly #parts: readonly NamedStatement[]
  #rows: TextRow[] = []
  #rowCount = 0
  /** The number of finished statements. */
  #done = 0
  callback: (thrown: unknown, read?: RowsRead) => void

  constructor(parts: readonly NamedStatement[], callback: RowQuery['callback']) {
    this.#parts = parts
    this.callback = callback
  }

  /** Name and text of the current statement: `pg` records it as prepared when the server confirms it. */
  get name(): string {
    return this.#parts[this.#done]?.name ?? ''
  }

  get text(): string {
    return this.#parts[this.#done]?.text ?? ''
  }

  submit(wire: Wire): null {
    wire.stream.cork()
    try {
      for (const { text, name, values } of this.#parts) {
        if (name === '' || wire.parsedStatements[name] === undefined) wire.parse({ text, name })
        wire.bind({ statement: name, values: values.map(toText) })
        wire.execute()
      }
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
    return null
  }

  handleDataRow({ fields }: { readonly fields: TextRow }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    if (this.#done < this.#parts.length - 1) {
      this.#done += 1
      this.#rows = []
    } else this.#rowCount = Number(text.slice(text.lastIndexOf(' ') + 1))
  }

  handleError(thrown: unknown): void {
    this.callback(thrown)
  }

  handleReadyForQuery(): void {
    this.callback(null, { rows: this.#rows, rowCount: this.#rowCount })
  }
}

/** A value in the text format of PostgreSQL. */
const toText = (value: Value): string =>
  typeof value === 'object' ? `{${value.map(toElement).join(',')}}` : String(value)

const toElement = (value: Scalar): string =>
  typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value)
