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
  /** Under which it is prepared; empty for none. */
  readonly name: string
}

/** What a query has brought: the rows of its last statement, and how many that changed or gave. */
export interface RowsRead {
  readonly rows: readonly TextRow[]
  readonly rowCount: number
}

/**
 * A query that `pg` sends as its own: it calls these methods in turn. Its rows are read as text. It costs half of what
 * `pg` spends on a query of any kind: no description of rows is asked for, and no objects are made of them. Its
 * statements are sent at once, and are one transaction. A class: engines keep an object with getters of its own, and
 * with it the rows, until they clean up everything.
 */
export class RowQuery {
  readonly #parts: readonly NamedStatement[]
  #rows: TextRow[] = []
  #rowCount = 0
  /** How many statements are over. */
  #done = 0
  callback: (thrown: unknown, read?: RowsRead) => void

  constructor(parts: readonly NamedStatement[], callback: RowQuery['callback']) {
    this.#parts = parts
    this.callback = callback
  }

  /** Those of the statement that is under way: `pg` notes them as prepared when the server says so. */
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
