import { describeForced } from '../text/describe-condition.js'
import type { MatrixOperation, MatrixRule } from './types.js'

/** A text that is too long for a cell, and its pointers. */
export interface LetterNote {
  readonly letter: string
  readonly text: string
  readonly pointers: readonly string[]
}

/** Gives each text a letter; equal texts share it. */
export interface Letters {
  /** The letter of a text with these pointers. */
  of(text: string, pointers: readonly string[]): string
  /** The texts with a letter, in the order of their first use. */
  readonly notes: () => readonly LetterNote[]
}

/** Creates the letters of a table; `taken` are words with another meaning, as the names of fields. */
export function createLetters(taken: ReadonlySet<string>): Letters {
  const notes = new Map<string, { readonly letter: string; readonly pointers: Set<string> }>()
  let count = 0
  const next = (): string => {
    const letter = toLetters(count++)
    return taken.has(letter) || WORDS.has(letter) ? next() : letter
  }
  return {
    of(text, pointers) {
      const note = notes.get(text) ?? { letter: next(), pointers: new Set() }
      notes.set(text, note)
      for (const pointer of pointers) note.pointers.add(pointer)
      return note.letter
    },
    notes: () =>
      [...notes].map(([text, { letter, pointers }]) => ({ letter, text, pointers: [...pointers] })),
  }
}

/** `a` to `z`, then `aa`. */
function toLetters(number: number): string {
  const last = String.fromCharCode(97 + (number % 26))
  return number < 26 ? last : toLetters(Math.floor(number / 26) - 1) + last
}

/** The words in cells beside names and letters. */
const WORDS: ReadonlySet<string> = new Set(['all', 'any', 'as', 'no', 'fields', 'set', 'then'])

/** The rules of a cell in a few words; conditions and forced values are letters. */
export const abbreviate = (
  rules: readonly MatrixRule[],
  operation: MatrixOperation,
  letters: Letters,
): string =>
  rules
    .map((rule) => abbreviateRule(rule, operation, letters))
    .join(operation === 'read' || operation === 'delete' ? ' + ' : '|')

function abbreviateRule(rule: MatrixRule, operation: MatrixOperation, letters: Letters): string {
  const { pointers, where, fields, set, check } = rule
  const documents = where && letters.of(where.text, where.pointers)
  const names = abbreviateFields(fields, operation)
  const parts = [documents === null ? names : names === 'all' ? documents : `${documents}, ${names}`]
  if (Object.keys(set).length > 0) {
    const places = pointers.map((pointer) => `${pointer}/set`)
    parts.push(`set ${letters.of(describeForced(set), places)}`)
  }
  // A `where` also holds after an update, unless the rule has another `check`.
  const isPlain = operation === 'read' || operation === 'delete' || check?.text === where?.text
  if (!isPlain) parts.push(`then ${check ? letters.of(check.text, check.pointers) : 'any'}`)
  return parts.join('; ')
}

function abbreviateFields(fields: MatrixRule['fields'], operation: MatrixOperation): string {
  if (!fields || fields.kind === 'all') return 'all'
  const names = fields.names.map((name) => (WORDS.has(name) ? JSON.stringify(name) : name))
  if (fields.kind === 'except') return names.map((name) => `-${name}`).join(' ')
  return names.join(' ') || (operation === 'read' ? '_id' : 'no fields')
}
