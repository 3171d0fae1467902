import type { ConfigFault, Fault } from '../errors.js'
import { toPointerPart } from './pointer.js'

/** Collects faults at one place. `What` is the content of a fault. */
export interface Report<What extends readonly string[]> {
  /** The place as a JSON pointer. */
  readonly path: string
  /** The report of a property or an element. */
  at(name: string | number): Report<What>
  /** The report of the place at a JSON pointer, relative to this one. */
  within(pointer: string): Report<What>
  /** Notes a fault at this place. False when there is no room for more. */
  fault(...what: What): boolean
}

/** The report of a configuration. */
export type ConfigReport = Report<[message: string]>

/** The report of warnings: valid configuration that its author may not have meant. The code is stable. */
export type WarningReport = Report<[code: string, message: string]>

/** The report of a document. */
export type BodyReport = Report<[code: string, message: string]>

/**
 * Creates the report of a value, or of its part at `path`. `note` returns false when there is no more room.
 */
export const createReport = <What extends readonly string[]>(
  note: NoteFault<What>,
  path = '',
): Report<What> => new NotingReport(note, path)

type NoteFault<What extends readonly string[]> = (path: string, ...what: What) => boolean

/** A class, because every body gets a report, and few use it. */
class NotingReport<What extends readonly string[]> implements Report<What> {
  readonly path: string
  readonly #note: NoteFault<What>

  constructor(note: NoteFault<What>, path: string) {
    this.#note = note
    this.path = path
  }

  at(name: string | number): Report<What> {
    return this.within(toPointerPart(name))
  }

  within(pointer: string): Report<What> {
    return new NotingReport(this.#note, this.path + pointer)
  }

  fault(...what: What): boolean {
    return this.#note(this.path, ...what)
  }
}

/** Creates the report of a configuration: it collects all faults. */
export const reportTo = (faults: ConfigFault[]): ConfigReport =>
  createReport((path, message) => faults.push({ path, message }) > 0)

/** Creates the report of documents: it collects the first `limit` faults. */
export const reportFirst = (faults: Fault[], limit: number): BodyReport =>
  createReport((path, code, message) => {
    if (faults.length < limit) faults.push({ path, code, message })
    return faults.length < limit
  })
