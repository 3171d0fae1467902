import { TransferError } from './transfer-error.js'

/** The bytes or the text of a dump, in pieces of any size. */
export type DumpSource = Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>

/** A line, without its line feed. */
export interface Line {
  readonly text: string
  /** The number of the line, from 1. */
  readonly number: number
  /** Whether a line feed ends the line. If not, the line may have been cut off. */
  readonly isWhole: boolean
}

/**
 * The maximum number of characters of a line. The documents that one write of the service stores have at most 16 MiB
 * together, so no line of a dump is near this bound.
 */
const MOST = 64 * 1024 * 1024

/** Reads lines of UTF-8, one after another, and passes them to `take`. Throws `TransferError`. */
export async function readLines(
  source: DumpSource,
  take: (line: Line) => Promise<void> | undefined,
): Promise<void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let number = 1
  let rest = ''
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch (cause) {
      throw new TransferError('invalid_line', 'is not UTF-8', { line: number, cause })
    }
  }
  for await (const chunk of receive(source)) {
    // Only the new part is searched. Searching a long line again with each chunk would take quadratic time.
    const [first = '', ...others] = (typeof chunk === 'string' ? chunk : decode(chunk)).split('\n')
    const parts = [rest + first, ...others]
    rest = parts.pop() ?? ''
    for (const text of parts) {
      const taking = take({ text, number, isWhole: true })
      if (taking) await taking
      number += 1
    }
    if (rest.length > MOST)
      throw new TransferError('line_too_long', `has more than ${MOST} characters, the maximum`, {
        line: number,
      })
  }
  rest += decode()
  if (rest !== '') await take({ text: rest, number, isWhole: false })
}

/** Returns an iterator of a source whose errors are those of the input. */
function receive(source: DumpSource): AsyncIterable<Uint8Array | string> {
  const chunks = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  const next = async (): Promise<IteratorResult<Uint8Array | string>> => {
    try {
      return await chunks.next()
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new TransferError('input_failed', `the input cannot be read: ${reason}`, { cause })
    }
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        await chunks.return?.()
        return { done: true, value: undefined }
      },
    }),
  }
}
