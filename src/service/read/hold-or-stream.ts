import { bounds } from '../../bounds.js'
import type { StoredDocument } from '../../storage.js'
import type { Call } from '../call.js'
import type { Deadline } from '../deadline.js'
import type { PrintDocuments } from './print-documents.js'
import { START } from './read-batches.js'
import { createTextStream, endOfPiece, type Text } from './text-stream.js'

/** A piece of a text, and the number of documents that end in it. */
export interface Piece {
  readonly text: string
  readonly documents: number
}

/**
 * Whether a text is streamed: beyond this number of shown characters or documents, which also limit how much of a list
 * is written at once. So streaming does not reveal whether the documents, with their hidden parts, were read together.
 */
const isLong = (characters: number, documents: number): boolean =>
  characters > bounds.shortCharacters || documents >= START

/**
 * Returns a short text as a whole, and streams a longer one. The part that is held still counts towards the request's
 * deadline.
 */
export async function holdOrStream(
  call: Call,
  begin: (current: Call) => AsyncGenerator<Piece, void, undefined>,
): Promise<Text> {
  const { deadline } = call
  const stream = createTextStream()
  // The client may disconnect while the first pieces are written, or while it reads the rest.
  const current: Deadline = {
    signal: stream.signal,
    caller: deadline.caller,
    onOver(listener) {
      if (stream.signal.aborted) listener()
      stream.signal.addEventListener('abort', listener, { once: true })
      return () => stream.signal.removeEventListener('abort', listener)
    },
    enter: (wait) => (stream.hasBegun() ? stream.signal.throwIfAborted() : deadline.enter(wait)),
  }
  const pieces = begin(call.within(current))
  const stopListening = deadline.onOver(() => stream.cancel())
  try {
    let held = ''
    let documents = 0
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) return held
      held += value.text
      documents += value.documents
      if (isLong(held.length, documents)) return stream.begin(joinPieces(held, pieces), () => pieces.return())
    }
  } catch (thrown) {
    await pieces.return()
    throw thrown
  } finally {
    stopListening()
  }
}

/**
 * Cuts a text again, into equal pieces: the original cuts depend on how much of the documents, with their hidden parts,
 * was read at once.
 */
async function* joinPieces(
  held: string,
  pieces: AsyncGenerator<Piece, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  let rest = held
  const cut = function* (): Generator<string, void, undefined> {
    while (rest.length > bounds.sentCharacters) {
      const end = endOfPiece(rest, 0)
      yield rest.slice(0, end)
      rest = rest.slice(end)
    }
  }
  for await (const { text } of pieces) {
    yield* cut()
    rest += text
  }
  yield* cut()
  yield rest
}

/** The JSON array of all documents of some batches; no batch is empty. */
export async function* printArray(
  batches: AsyncIterable<readonly StoredDocument[]>,
  print: PrintDocuments,
): AsyncGenerator<Piece, void, undefined> {
  let before = '['
  for await (const batch of batches) {
    for await (const text of print(batch)) {
      yield { text: before + text, documents: 0 }
      before = ''
    }
    yield { text: '', documents: batch.length }
    before = ','
  }
  yield { text: before === '[' ? '[]' : ']', documents: 0 }
}

/** The text of one document. */
export async function* printAlone(
  document: StoredDocument,
  print: PrintDocuments,
): AsyncGenerator<Piece, void, undefined> {
  for await (const text of print([document])) yield { text, documents: 0 }
}
