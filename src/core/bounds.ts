/**
 * Sizes and steps at which the service and its adapters reject, cut or switch strategy, besides the `limits` of a
 * configuration. A host cannot change them. Characters are UTF-16 code units of JSON; the bytes of documents are
 * those of their JSON.
 */
export interface Bounds {
  /** The steps between two turns of the event loop, for all requests: about 10 ms (CONTRACT.md §6, "Scheduling"). */
  readonly slice: number
  /** The steps that work may take before it waits for its turn: about 0.5 ms, so that short work never waits. */
  readonly firstSlice: number
  /**
   * The same for work on many documents: about 2.5 ms, enough for a hundred small ones. Half-done work that waits
   * holds more memory than work that has not begun, and each garbage collection copies it.
   */
  readonly longFirstSlice: number
  /** The steps before the first turn if much work began in one turn: enough for short work. */
  readonly leastSlice: number
  /** More steps than most documents take. */
  readonly documentSteps: number
  /** A longer text may consist of short values, and then costs several times as much to write. */
  readonly longText: number
  /**
   * The most bytes of all documents of one write, and of the documents that a batch reads, stores and returns
   * (CONTRACT.md §6, "Scheduling"; §2, "Batch").
   */
  readonly writtenBytes: number
  /** The approximate bytes of documents that a batch caches if no other limit applies. */
  readonly rememberedBytes: number
  /** The approximate bytes that are counted exactly in one piece: for numbers, about 6 ms. */
  readonly countedBytes: number
  /** The most bytes of an unread body that are still received after its response (CONTRACT.md §6). */
  readonly unreadBytes: number
  /** The most bytes of documents that are read into memory at once (CONTRACT.md §6, "Scheduling"). */
  readonly readBytes: number
  /** The most characters of a short array; longer ones are streamed. */
  readonly shortCharacters: number
  /** The bytes of documents that are printed at once: a few large documents may take longer than many small ones. */
  readonly printedBytes: number
  /** The characters that are written at once, unless the text of one document is longer. */
  readonly writtenCharacters: number
  /** The characters of a text that are sent at once: few enough to detect that a slow client still reads. */
  readonly sentCharacters: number
  /** The most characters of cached texts of expanded documents, unless one text alone is longer. */
  readonly expandedCharacters: number
  /**
   * The most characters of expanded documents that are held whole for one batch; others are read again when written.
   */
  readonly heldCharacters: number
  /** The characters ahead that are searched for further ids to request. */
  readonly searchedCharacters: number
  /** A stream with more unsent bytes is cut at the next event (CONTRACT.md §9, "Bounds of streams"). */
  readonly waitingBytes: number
  /** A slow client with fewer unsent bytes receives more. */
  readonly fewWaitingBytes: number
  /** The bytes of text of one batch that an adapter reads, unless one document has more. */
  readonly batchBytes: number
  /** SQLite: the bytes of documents that are read at once. */
  readonly pageBytes: number
  /** SQLite: the most bytes of each of the sorted documents that are read together. */
  readonly sortedBytes: number
  /** SQLite: the bytes of a piece of a collection that is scanned. */
  readonly scannedBytes: number
  /** SQLite: the most characters of the documents that are held to find the first of them. */
  readonly firstCharacters: number
  /** PostgreSQL: the characters, values and steps beyond which a write may take long. */
  readonly longWrite: number
  /** PostgreSQL: a statement that inserts this many characters of documents takes no further document. */
  readonly insertedCharacters: number
}

const KIB = 1024
const MIB = 1024 * KIB

/** The numbers of every release. */
export const SHIPPED: Bounds = Object.freeze({
  slice: 200_000,
  firstSlice: 10_000,
  longFirstSlice: 50_000,
  leastSlice: 1000,
  documentSteps: 500,
  longText: 64 * KIB,
  writtenBytes: 16 * MIB,
  rememberedBytes: 16 * MIB,
  countedBytes: 4 * MIB,
  unreadBytes: 16 * MIB,
  readBytes: MIB,
  shortCharacters: MIB,
  printedBytes: 512 * KIB,
  writtenCharacters: 256 * KIB,
  sentCharacters: 64 * KIB,
  expandedCharacters: 2 * MIB,
  heldCharacters: 4 * MIB,
  searchedCharacters: MIB,
  waitingBytes: MIB,
  fewWaitingBytes: 64 * KIB,
  batchBytes: MIB,
  pageBytes: 2 * MIB,
  sortedBytes: 16 * KIB,
  scannedBytes: 256 * KIB,
  firstCharacters: MIB,
  longWrite: 64 * KIB,
  insertedCharacters: 64 * KIB,
})

/** The bounds in force. Code reads a bound each time it applies, and keeps no copy. */
export let bounds: Bounds = SHIPPED

/** Replaces the bounds, for tests: smaller sizes make the same cases cheaper. */
export function replaceBounds(others: Bounds): void {
  bounds = others
}
