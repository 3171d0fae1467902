import { bounds } from '../../bounds.js'
import { isObject } from '../../json/own-properties.js'
import { isUuid } from '../../json/uuid.js'
import type { Expansion } from '../../query/compile-expand.js'
import { stepsToWrite } from '../../slices.js'
import type { JsonObject } from '../../types.js'
import type { Call } from '../call.js'
import { createPace } from '../pace.js'
import { createExpandedTexts, type ExpandedTexts } from './expanded-texts.js'
import { createLookAhead } from './look-ahead.js'

/** The properties of a document that are expanded, entirely or in part. */
export type Expansions<T> = Map<string, Expansions<T> | ReferenceTexts<T>>

/** The texts of the documents that one property refers to. */
interface ReferenceTexts<T> {
  readonly texts: T
  /** Whether the property is declared as an array of references. */
  readonly isList: boolean
}

/** The number of further expansions allowed. */
interface ExpansionBudget {
  left: number
}

/** A reference that is replaced by its document, if the caller may read it and the budget allows it. */
interface Slot<T> {
  readonly texts: T
  readonly id: string
  readonly room: ExpansionBudget
}

/** Known text, or a reference whose text is not yet found. */
export type TextOrSlot<T> = string | Slot<T>

/**
 * Creates a printer that replaces the ids of references by their documents, as the caller may read them (CONTRACT.md
 * §2).
 */
export function createExpandingPrinter(
  call: Call,
  expand: readonly Expansion[],
): (documents: Iterable<JsonObject>) => AsyncGenerator<string, void, undefined> {
  const pace = createPace(() => call.deadline.signal)
  const limit = call.service.plan.limits.expanded
  return async function* (documents) {
    const expansions: Expansions<ExpandedTexts> = new Map()
    for (const { path, target, isList } of expand) {
      const learning = call.learnToRead({ name: target })
      if (learning) await learning
      const access = call.access({ name: target })
      if (!access) continue
      const texts = createExpandedTexts(call.store.read(access), access)
      place(expansions, path.split('.'), { texts, isList })
    }
    const parts = createLookAhead(writeAll(documents, expansions, limit))
    let text = ''
    for (let part = parts.take(); part !== undefined; part = parts.take()) {
      if (typeof part === 'string') text += part
      else {
        const { texts, id, room } = part
        if (room.left > 0 && !texts.isKnown(id))
          await texts.find(findIds(part, parts.ahead(), texts.window()))
        text += fill(part, texts)
      }
      if (text.length < bounds.writtenCharacters) continue
      await pace(stepsToWrite(text.length))
      yield text
      text = ''
    }
    if (text !== '') yield text
  }
}

/** The text of the referenced document if the budget allows it; otherwise its `_id`. */
export function fill({ id, room }: Slot<unknown>, texts: Pick<ExpandedTexts, 'get'>): string {
  const expanded = room.left > 0 ? texts.get(id) : undefined
  if (expanded !== undefined) room.left -= 1
  return expanded ?? JSON.stringify(id)
}

/** Registers the texts of an expansion at its path. */
export function place<T>(
  expansions: Expansions<T>,
  [name = '', ...rest]: readonly string[],
  texts: ReferenceTexts<T>,
): void {
  if (rest.length === 0) {
    expansions.set(name, texts)
    return
  }
  const known = expansions.get(name)
  const inside: Expansions<T> = known instanceof Map ? known : new Map()
  expansions.set(name, inside)
  place(inside, rest, texts)
}

/** Writes documents, with references as separate slots. */
export function* writeAll<T>(
  documents: Iterable<JsonObject>,
  expansions: Expansions<T>,
  limit: number,
): Generator<TextOrSlot<T>, void, undefined> {
  let separator = ''
  for (const document of documents) {
    yield separator
    yield* writeObject(document, expansions, limit)
    separator = ','
  }
}

function* writeObject<T>(
  value: JsonObject,
  expansions: Expansions<T>,
  limit: number,
): Generator<TextOrSlot<T>, void, undefined> {
  let text = '{'
  let separator = ''
  for (const [name, inner] of Object.entries(value)) {
    const expansion = expansions.get(name)
    text += `${separator}${JSON.stringify(name)}:`
    separator = ','
    if (expansion instanceof Map && isObject(inner)) {
      yield text
      yield* writeObject(inner, expansion, limit)
      text = ''
    } else if (expansion && !(expansion instanceof Map) && expansion.isList === Array.isArray(inner)) {
      yield text
      yield* writeReferences(inner, expansion.texts, limit)
      text = ''
    } else text += JSON.stringify(inner)
  }
  yield `${text}}`
}

/** Writes one reference, or an array of them. */
function* writeReferences<T>(
  value: unknown,
  texts: T,
  limit: number,
): Generator<TextOrSlot<T>, void, undefined> {
  const writeOne = (one: unknown, room: ExpansionBudget): TextOrSlot<T> =>
    typeof one === 'string' && isUuid(one) ? { texts, id: one, room } : JSON.stringify(one)
  if (!Array.isArray(value)) {
    yield writeOne(value, { left: 1 })
    return
  }
  const room = { left: limit }
  let separator = '['
  for (const element of value) {
    yield separator
    yield writeOne(element, room)
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

/** The next ids to find, at most `count`, in the order in which they are needed. */
function findIds(
  first: Slot<ExpandedTexts>,
  ahead: Iterable<TextOrSlot<ExpandedTexts>>,
  count: number,
): readonly string[] {
  const { texts } = first
  const ids = new Set([first.id])
  const wanted = new Map([[first.room, 1]])
  let characters = 0
  for (const part of ahead) {
    characters += typeof part === 'string' ? part.length : part.id.length
    if (ids.size >= count || characters > bounds.searchedCharacters) break
    if (typeof part === 'string' || part.texts !== texts || texts.isKnown(part.id)) continue
    const already = wanted.get(part.room) ?? 0
    if (already >= part.room.left) continue
    wanted.set(part.room, already + 1)
    ids.add(part.id)
  }
  return [...ids]
}
