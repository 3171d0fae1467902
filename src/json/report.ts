import type { ConfigFault, Fault } from '../errors.js'
import { toPointerPart } from './pointer.js'

/** A place in what is checked. What is wrong there is said in `What`. */
export interface Report<What extends readonly string[]> {
  /** The place as a JSON pointer. */
  readonly path: string
  /** The place of a property or an element. */
  at(name: string | number): Report<What>
  /** The place to which a JSON pointer leads from here. */
  within(pointer: string): Report<What>
  /** Notes what is wrong here. False where there is room for no more. */
  fault(...what: What): boolean
}

/** What is wrong with a configuration. */
export type ConfigReport = Report<[message: string]>

/** What is wrong with a document. */
export type BodyReport = Report<[code: string, message: string]>

/** Creates the report of a whole, or of what lies at `path`. `note` is false where there is room for no more. */
export const createReport = <What extends readonly string[]>(
  note: (path: string, ...what: What) => boolean,
  path = '',
): Report<What> => ({
  path,
  at: (name) => createReport(note, path + toPointerPart(name)),
  within: (pointer) => createReport(note, path + pointer),
  fault: (...what) => note(path, ...what),
})

/** Creates the report of a configuration, whose faults are all told. */
export const reportTo = (faults: ConfigFault[]): ConfigReport =>
  createReport((path, message) => faults.push({ path, message }) > 0)

/** Creates the report of documents, of whose faults the first `limit` are told. */
export const reportFirst = (faults: Fault[], limit: number): BodyReport =>
  createReport((path, code, message) => {
    if (faults.length < limit) faults.push({ path, code, message })
    return faults.length < limit
  })
