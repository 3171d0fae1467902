import {
  createScanner,
  type JSONPath,
  type JSONScanner,
  type JSONVisitor,
  printParseErrorCode,
  visit,
} from 'jsonc-parser'
import { isUnderflow } from './domain.js'
import { toPointerPart } from './pointer.js'

/** A position in a text. Line and column are counted from 1. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** The reason why a text is not JSON, with its position; without a position if the text has too many levels. */
export interface TextFault extends Partial<TextPlace> {
  readonly message: string
}

/**
 * Returns the first fault of a JSON text: a syntax error, a key that occurs twice in one object, or a number
 * that would become zero.
 */
export function findTextFault(text: string): TextFault | undefined {
  const objects: Set<string>[] = []
  let fault: TextFault | undefined
  const note = (message: string, line: number, column: number): void => {
    fault ??= { message, line: line + 1, column: column + 1 }
  }
  const visitor: JSONVisitor = {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectEnd: () => void objects.pop(),
    onObjectProperty(name, ...[, , line, column]) {
      const names = objects.at(-1)
      if (names?.has(name)) note(wordsOfTwice(name), line, column)
      names?.add(name)
    },
    onLiteralValue(value, ...[offset, length, line, column]) {
      const isGone = value === 0 && isUnderflow(text.slice(offset, offset + length))
      if (isGone) note('a number is too close to zero', line, column)
    },
    onError: (code, ...[, , line, column]) => note(wordsOf(printParseErrorCode(code)), line, column),
  }
  try {
    visit(text, visitor, { disallowComments: true })
  } catch {
    // `visit` recurses once per level, so a deep text can overflow the stack. `JSON.parse` does not have this
    // limit.
    return isJson(text) ? findTwice(text) : { message: 'too many levels of nesting' }
  }
  return fault
}

/**
 * Replaces each integer of a valid JSON text that a JavaScript number cannot represent exactly. A text that
 * is nested too deeply for the parser is returned unchanged.
 */
export function replaceLongIntegers(text: string, replace: (digits: string) => string): string {
  const parts: string[] = []
  let end = 0
  const onLiteralValue = (value: unknown, offset: number, length: number): void => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return
    const written = text.slice(offset, offset + length)
    if (!/^-?\d+$/.test(written)) return
    parts.push(text.slice(end, offset), replace(written))
    end = offset + length
  }
  try {
    visit(text, { onLiteralValue })
  } catch {
    return text
  }
  return parts.join('') + text.slice(end)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Returns the first key that occurs twice in one object of a valid JSON text, at any depth. */
function findTwice(text: string): TextFault | undefined {
  const scanner = createScanner(text, true)
  /** For each level around the token: the keys of the object so far, or `null` for an array. */
  const levels: (Set<string> | null)[] = []
  let isKeyNext = false
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const names = levels.at(-1)
    switch (text[scanner.getTokenOffset()]) {
      case '{':
        levels.push(new Set())
        isKeyNext = true
        break
      case '[':
        levels.push(null)
        isKeyNext = false
        break
      case '}':
      case ']':
        levels.pop()
        break
      case ',':
        isKeyNext = names instanceof Set
        break
      case '"': {
        const name = scanner.getTokenValue()
        if (isKeyNext && names?.has(name)) return twice(name, scanner)
        if (isKeyNext) names?.add(name)
        isKeyNext = false
        break
      }
      default:
    }
  }
  return undefined
}

const twice = (name: string, scanner: JSONScanner): TextFault => ({
  message: wordsOfTwice(name),
  line: scanner.getTokenStartLine() + 1,
  column: scanner.getTokenStartCharacter() + 1,
})

const wordsOfTwice = (name: string): string => `the key ${JSON.stringify(name)} occurs twice in one object`

/** Turns `CommaExpected` into `comma expected`. */
const wordsOf = (code: string): string => code.replaceAll(/(?<=.)[A-Z]/g, ' $&').toLowerCase()

/**
 * Finds the positions of the values in a JSON text. A property has the position of its key. A missing value
 * has the position of the nearest value around it.
 */
export function locatePointers(text: string): (pointer: string) => TextPlace {
  const places = new Map<string, TextPlace>()
  const note = (path: JSONPath, line: number, column: number): void => {
    const pointer = path.map(toPointerPart).join('')
    if (!places.has(pointer)) places.set(pointer, { line: line + 1, column: column + 1 })
  }
  visit(text, {
    onObjectProperty: (name, ...[, , line, column, path]) => note([...path(), name], line, column),
    onObjectBegin: (...[, , line, column, path]) => note(path(), line, column),
    onArrayBegin: (...[, , line, column, path]) => note(path(), line, column),
    onLiteralValue: (_, ...[, , line, column, path]) => note(path(), line, column),
  })
  return (pointer) => {
    for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const place = places.get(at)
      if (place) return place
    }
    return places.get('') ?? { line: 1, column: 1 }
  }
}
