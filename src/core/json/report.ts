import type { ConfigFault, Fault } from '../errors.js'
import { toPointerPart } from './pointer.js'

type NoteFault<What extends readonly (string | undefined)[]> = (path: string, ...what: What) => boolean

/**
 * Collects faults at one location in a value. `What` is the content of a fault. It is a class, because every body gets a
 * report and few of them are used.
 */
export class Report<What extends readonly (string | undefined)[]> {
  /** The location as a JSON pointer. */
  readonly path: string
  readonly #note: NoteFault<What>

  constructor(note: NoteFault<What>, path: string) {
    this.#note = note
    this.path = path
  }

  /** Returns the report for a property or an element of this location. */
  at(name: string | number): Report<What> {
    return this.within(toPointerPart(name))
  }

  /** Returns the report for the location at a JSON pointer, relative to this location. */
  within(pointer: string): Report<What> {
    return new Report(this.#note, this.path + pointer)
  }

  /** Adds a fault at this location. Returns false when there is no room for more. */
  fault(...what: What): boolean {
    return this.#note(this.path, ...what)
  }
}

/** A report of faults in a configuration. */
export type ConfigReport = Report<[message: string]>

/** A report of faults in a document. */
export type BodyReport = Report<[code: string, message: string]>

/**
 * Creates the report for a value, or for its part at `path`. `note` returns false when there is no room for
 * more faults.
 */
export const createReport = <What extends readonly (string | undefined)[]>(
  note: NoteFault<What>,
  path = '',
): Report<What> => new Report(note, path)

/** Creates a report that collects all faults of a configuration in `faults`. */
export const reportTo = (faults: ConfigFault[]): ConfigReport =>
  createReport((path, message) => faults.push({ path, message }) > 0)

/** Creates a report that collects the first `limit` faults of documents in `faults`. */
export const reportFirst = (faults: Fault[], limit: number): BodyReport =>
  createReport((path, code, message) => {
    if (faults.length < limit) faults.push({ path, code, message })
    return faults.length < limit
  })
