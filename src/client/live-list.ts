/** A document of a list. */
export interface ListedDocument {
  readonly _id: string
}

/** A list in its order. */
export interface LiveList {
  readonly documents: readonly ListedDocument[]
  /** The most documents of the list; where the limit is unknown, the largest length so far. */
  readonly most: number
  readonly isKnown: boolean
}

/** The longest list without a limit of its own for which the service says whether it was cut. */
const MOST_TOLD = 1000

type CompareValues = (a: unknown, b: unknown) => number

/**
 * The rank of a value that is not text (CONTRACT.md §3.6): missing, false, true; numbers. Any text comes after them.
 */
const rankOf = (value: unknown): number => (typeof value === 'string' ? Infinity : Number(value ?? -Infinity))

/** The common first bits of all surrogates. */
const SURROGATE = 0xd800 >> 11

/** Compares texts by code points. */
function compareText(a: string, b: string): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  // Surrogates stand for characters that come after all others; the end of a text comes before them.
  const rank = (text: string): number => {
    const unit = text.charCodeAt(i)
    return unit >> 11 === SURROGATE ? unit + 0x10000 : unit || -1
  }
  return rank(a) - rank(b)
}

const valueAt = (document: unknown, path: string): unknown =>
  // biome-ignore lint/suspicious/noExplicitAny: a document may have any form
  path.split('.').reduce<any>((value, name) => value?.[name], document)

/** The order of a list by its `sort`, completed by `_id` in the direction of the last key. */
export function compileOrder(sort: object | undefined): CompareValues {
  // The text of a direction decides: it is also the text that is sent to the service.
  const keys = Object.entries(sort ?? {}).map(([path, to]) => [path, /^(desc|-1)$/.test(String(to))] as const)
  const all = [...keys, ['_id', keys.at(-1)?.[1]] as const]
  return (a, b) => {
    for (const [path, isDescending] of all) {
      const [x, y] = [valueAt(a, path), valueAt(b, path)]
      const order = typeof x === 'string' && typeof y === 'string' ? compareText(x, y) : rankOf(x) - rankOf(y)
      // For two missing values the difference is NaN.
      if (order) return isDescending ? -order : order
    }
    return 0
  }
}

/**
 * The list after an event: a document is put in, or removed. `undefined` where only the service knows how long the list
 * may become, or which document now follows the last one.
 */
export function applyEvent(
  { documents, most, isKnown }: LiveList,
  document: ListedDocument,
  isGone: boolean,
  order: CompareValues,
): LiveList | undefined {
  const others = documents.filter(({ _id }) => _id !== document._id)
  const next = isGone ? others : [...others, document].sort(order)
  const isCut = next.length > most
  const hasLost = others.length < documents.length && (isGone || next.at(-1) === document)
  if (isKnown ? hasLost && documents.length >= most : isCut || (hasLost && most > MOST_TOLD)) return undefined
  return { documents: next.slice(0, most), most, isKnown }
}
