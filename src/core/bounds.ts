/**
 * Internal limits: the numbers of bytes, characters and steps at which the service and its adapters reject work, split
 * it or switch to another strategy. A host cannot change them, unlike the `limits` of the configuration. A step is
 * about 50 ns of work. Characters are UTF-16 code units of JSON text. The bytes of a document are those of its JSON.
 */
export interface Bounds {
  /**
   * The steps that all requests combined may take between two turns of the event loop: about 10 ms (CONTRACT.md §6,
   * "Scheduling").
   */
  readonly slice: number
  /** The steps that a piece of work may take before it first waits: about 0.5 ms, so that short work never waits. */
  readonly firstSlice: number
  /**
   * `firstSlice` for work on many documents: about 2.5 ms, enough for a hundred small documents. Work that pauses
   * half-done holds more memory than work that has not begun, and each garbage collection copies that memory.
   */
  readonly longFirstSlice: number
  /** `firstSlice` after much other work has begun in the same turn of the event loop: enough for short work. */
  readonly leastSlice: number
  /** An upper estimate of the steps per document: most documents take fewer. */
  readonly documentSteps: number
  /**
   * The characters of JSON beyond which a text is assumed to cost several times as much per character, because it may
   * consist of many short values.
   */
  readonly longText: number
  /**
   * The maximum number of bytes of all documents of one write, and of all documents that one batch reads, stores and
   * returns (CONTRACT.md §6, "Scheduling"; §2, "Batch").
   */
  readonly writtenBytes: number
  /** The approximate bytes of documents that a batch caches, besides those that count towards `writtenBytes`. */
  readonly rememberedBytes: number
  /** Values of at most about this many bytes are measured exactly without a pause: about 6 ms for numbers. */
  readonly countedBytes: number
  /**
   * The maximum number of bytes of an unread request body that are still received after its response was sent
   * (CONTRACT.md §6).
   */
  readonly unreadBytes: number
  /** The maximum number of bytes of documents that one read loads into memory (CONTRACT.md §6, "Scheduling"). */
  readonly readBytes: number
  /** The maximum number of characters of an array that is returned whole; longer arrays are streamed. */
  readonly shortCharacters: number
  /**
   * The bytes of documents that are serialized together. A limit on the number of documents would not suffice: a few
   * large ones may take longer than many small ones.
   */
  readonly printedBytes: number
  /** The characters of JSON that are produced in one piece, unless the text of a single document is longer. */
  readonly writtenCharacters: number
  /** The characters of text that are sent in one piece: few enough to detect that a slow client still reads. */
  readonly sentCharacters: number
  /** The maximum number of characters of expanded documents that are held. A single document may be longer. */
  readonly expandedCharacters: number
  /**
   * The maximum number of unsent bytes of a stream of changes. A stream with more is cut at its next event (CONTRACT.md
   * §9, "Bounds of streams").
   */
  readonly waitingBytes: number
  /** A slow client of a stream of changes receives further events once it has at most this many unsent bytes. */
  readonly fewWaitingBytes: number
  /** The maximum number of bytes of the JSON of all groups of an aggregate (CONTRACT.md §6, "Scheduling"). */
  readonly groupedBytes: number
  /** The bytes of documents that an adapter reads in one batch, unless a single document has more. */
  readonly batchBytes: number
  /** SQLite: the maximum number of bytes of documents that are read together. */
  readonly pageBytes: number
  /** SQLite: after sorting, documents of at most this many bytes are read together; larger ones are read alone. */
  readonly sortedBytes: number
  /** SQLite: the bytes of documents in one piece of a collection scan. */
  readonly scannedBytes: number
  /** SQLite without snapshots: the bytes of documents that are read together for a filter that no statement can evaluate. */
  readonly judgedBytes: number
  /** SQLite: the characters of documents that a search for the first documents of an order may hold in memory. */
  readonly firstCharacters: number
  /** PostgreSQL: a write may take long if its characters, values and steps add up to more than this number. */
  readonly longWrite: number
  /** PostgreSQL: once a statement inserts or replaces this many characters of documents, the next document goes into another. */
  readonly joinedCharacters: number
}

const KIB = 1024
const MIB = 1024 * KIB

/** The bounds that every release uses. */
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
  waitingBytes: MIB,
  fewWaitingBytes: 64 * KIB,
  groupedBytes: 16 * MIB,
  batchBytes: MIB,
  pageBytes: 2 * MIB,
  sortedBytes: 16 * KIB,
  scannedBytes: 256 * KIB,
  judgedBytes: 4 * MIB,
  firstCharacters: MIB,
  longWrite: 64 * KIB,
  joinedCharacters: 64 * KIB,
})

/** The current bounds. Code reads a bound on each use and stores no copy, because tests replace the bounds. */
export let bounds: Bounds = SHIPPED

/** Replaces the bounds, for tests: with smaller bounds the same cases are cheaper to test. */
export function replaceBounds(others: Bounds): void {
  bounds = others
}
