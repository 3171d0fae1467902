/** A document as a list holds it. */
export interface ListedDocument {
  readonly _id: string
}

/** A list in its order. */
export interface LiveList {
  readonly documents: readonly ListedDocument[]
  /** How many documents it holds at most; where that is not known, as many as it has been seen to hold. */
  readonly most: number
  readonly isKnown: boolean
}

/** Of a list that is longer, and has no limit of its own, the service does not say whether it was cut. */
const MOST_TOLD = 1000

type CompareValues = (a: unknown, b: unknown) => number

/** The order of what is not text (CONTRACT.md §3.6): nothing, false, true; numbers. Any text comes behind. */
const rankOf = (value: unknown): number => (typeof value === 'string' ? Infinity : Number(value ?? -Infinity))

/** The first bits of all surrogates. */
const SURROGATE = 0xd800 >> 11

/** The same of texts, by code points. */
function compareText(a: string, b: string): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  // Surrogates stand for what comes after all other characters; the end comes before them.
  const rank = (text: string): number => {
    const unit = text.charCodeAt(i)
    return unit >> 11 === SURROGATE ? unit + 0x10000 : unit || -1
  }
  return rank(a) - rank(b)
}

const valueAt = (document: unknown, path: string): unknown =>
  // biome-ignore lint/suspicious/noExplicitAny: a document may have any form
  path.split('.').reduce<any>((value, name) => value?.[name], document)

/** The order of a list by its `sort`, ended by `_id` in the direction of the last key. */
export function compileOrder(sort: object | undefined): CompareValues {
  // By its text, which is what the service is asked for.
  const keys = Object.entries(sort ?? {}).map(([path, to]) => [path, /^(desc|-1)$/.test(String(to))] as const)
  const all = [...keys, ['_id', keys.at(-1)?.[1]] as const]
  return (a, b) => {
    for (const [path, isDescending] of all) {
      const [x, y] = [valueAt(a, path), valueAt(b, path)]
      const order = typeof x === 'string' && typeof y === 'string' ? compareText(x, y) : rankOf(x) - rankOf(y)
      // Of two that are missing, the difference is not a number.
      if (order) return isDescending ? -order : order
    }
    return 0
  }
}

/**
 * The list behind an event: a document is put there, or gone. `undefined` where only the service knows how long the
 * list may become, or what comes behind the last document now.
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
