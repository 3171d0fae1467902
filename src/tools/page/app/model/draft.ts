import type { Field } from './schema.js'

/** The unsaved input for a field: text, a list of drafts, or the drafts of an object's properties. */
export type FieldDraft = string | readonly FieldDraft[] | { readonly [name: string]: FieldDraft }

/** A validation error of a field. `path` is a JSON pointer into the body. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** The result of reading a draft: a value, no value (`undefined`), or validation errors. */
export interface Meaning {
  readonly value: unknown
  readonly faults: readonly Fault[]
}

export const escapePointer = (name: string): string => name.replace(/~/g, '~0').replace(/\//g, '~1')

/** Returns the initial draft for a stored value. A value that does not fit its field is shown as JSON. */
export function toDraft(field: Field, value: unknown): FieldDraft {
  if (field.kind === 'object') {
    const own = isObject(value) ? value : {}
    return Object.fromEntries(field.fields.map((inner) => [inner.name, toDraft(inner, own[inner.name])]))
  }
  if (field.kind === 'array')
    return Array.isArray(value) ? value.map((item) => (field.items ? toDraft(field.items, item) : '')) : []
  if (value === undefined || value === null) return ''
  if (field.kind === 'json') return JSON.stringify(value, null, 2)
  if (field.kind === 'choice') return JSON.stringify(value)
  if (field.kind === 'time' && typeof value === 'string') return toLocal(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Reads a draft. An empty draft has no value, and an unchanged draft keeps the stored value. */
export function readDraft(field: Field, draft: FieldDraft, path = '', stored?: unknown): Meaning {
  if (stored !== undefined && isSame(toDraft(field, stored), draft)) return { value: stored, faults: [] }
  if (field.kind === 'object' && isDrafts(draft)) return readObject(field, draft, path)
  if (field.kind === 'array' && Array.isArray(draft)) {
    const { items } = field
    const read = items ? readItems(items, draft, path, stored) : []
    const faults = read.flatMap((one) => one.faults)
    return {
      value: draft.length > 0 || field.isRequired ? read.map(({ value }) => value) : undefined,
      faults,
    }
  }
  const text = typeof draft === 'string' ? draft : ''
  if (text === '') return { value: undefined, faults: [] }
  return readText(field, text, path)
}

/**
 * Reads the elements of an array. A draft that equals the draft of a stored element is read as that element, preferably
 * the one at the same index. Each stored element is used once.
 */
function readItems(
  items: Field,
  list: readonly FieldDraft[],
  path: string,
  stored: unknown,
): readonly Meaning[] {
  const all: readonly unknown[] = Array.isArray(stored) ? stored : []
  const left: (string | undefined)[] = all.map((one) => JSON.stringify(toDraft(items, one)))
  const take = (draft: string, at: number): unknown => {
    if (left[at] !== draft) return undefined
    left[at] = undefined
    return all[at]
  }
  const drafts = list.map((item) => JSON.stringify(item))
  const kept = drafts.map(take)
  return list.map((item, i) => {
    const draft = drafts[i] ?? ''
    const one = kept[i] === undefined ? take(draft, left.indexOf(draft)) : kept[i]
    return readItem(items, item, `${path}/${i}`, one)
  })
}

function readItem(field: Field, draft: FieldDraft, path: string, stored: unknown): Meaning {
  const read = readDraft(field, draft, path, stored)
  if (read.value !== undefined || read.faults.length > 0) return read
  const isText = field.kind === 'text' || field.kind === 'long'
  return isText ? { value: '', faults: [] } : { ...read, faults: [{ path, message: 'needs a value' }] }
}

function readObject(field: Field, draft: { readonly [name: string]: FieldDraft }, path: string): Meaning {
  const read = field.fields.map((inner) => {
    const own = draft[inner.name]
    return [inner, readDraft(inner, own ?? '', `${path}/${escapePointer(inner.name)}`)] as const
  })
  const given = read.filter(([, { value }]) => value !== undefined)
  const faults = read.flatMap(([, one]) => one.faults)
  const value = Object.fromEntries(given.map(([inner, one]) => [inner.name, one.value]))
  return { value: given.length > 0 || (field.isRequired && path !== '') ? value : undefined, faults }
}

/** A number in the syntax of JSON. Other forms, such as `1,000`, could be read as different numbers. */
const NUMBER = /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i

function readText(field: Field, text: string, path: string): Meaning {
  const fault = (message: string): Meaning => ({ value: undefined, faults: [{ path, message }] })
  switch (field.kind) {
    case 'number':
    case 'integer': {
      const value = NUMBER.test(text.trim()) ? Number(text) : Number.NaN
      if (!Number.isFinite(value)) return fault('is not a number')
      if (field.kind === 'integer' && !Number.isInteger(value)) return fault('is not a whole number')
      return { value, faults: [] }
    }
    case 'boolean':
      return { value: text === 'true', faults: [] }
    case 'choice':
    case 'json':
      try {
        return { value: JSON.parse(text, refuseInfinite), faults: [] }
      } catch {
        return fault('is not JSON: strings and names need double quotes')
      }
    case 'time': {
      const date = new Date(text)
      return Number.isNaN(date.getTime())
        ? fault('is not a date with a time')
        : { value: date.toISOString(), faults: [] }
    }
    default:
      return { value: text, faults: [] }
  }
}

/** Throws for `1e999`, which is parsed as infinity and would be sent as `null`. */
const refuseInfinite = (_: string, value: unknown): unknown => {
  if (value === 1 / 0 || value === -1 / 0) throw value
  return value
}

/** Returns the initial drafts of all fields of a form. */
export const draftAll = (
  fields: readonly Field[],
  document: object = {},
): { readonly [name: string]: FieldDraft } =>
  Object.fromEntries(
    fields.map((field) => [field.name, toDraft(field, (document as Record<string, unknown>)[field.name])]),
  )

/**
 * A request body, and the validation errors that are found before it is sent: values that cannot be read, and missing
 * values.
 */
export interface Body {
  readonly body: { readonly [name: string]: unknown }
  readonly faults: readonly Fault[]
}

/** Reads the drafts of a form as the body of a new document. */
export function readBody(fields: readonly Field[], drafts: { readonly [name: string]: FieldDraft }): Body {
  const read = fields.map((field) => {
    const path = `/${escapePointer(field.name)}`
    const { value, faults } = readDraft(field, drafts[field.name] ?? '', path)
    const isMissing = field.isRequired && value === undefined && faults.length === 0
    return { name: field.name, value, faults: isMissing ? [{ path, message: 'is required' }] : faults }
  })
  return {
    body: Object.fromEntries(
      read.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value]),
    ),
    faults: read.flatMap(({ faults }) => faults),
  }
}

/**
 * Reads the drafts of a form as a merge patch (RFC 7396) for a stored document. The patch omits unchanged and read-only
 * fields, so it does not overwrite what others have changed in them.
 */
export function readPatch(
  fields: readonly Field[],
  stored: object,
  drafts: { readonly [name: string]: FieldDraft },
  at = '',
): Body {
  const patch: { [name: string]: unknown } = {}
  const faults: Fault[] = []
  for (const field of fields) {
    const old = (stored as Record<string, unknown>)[field.name]
    const draft = drafts[field.name]
    if (draft === undefined || isSame(toDraft(field, old), draft)) continue
    const path = `${at}/${escapePointer(field.name)}`
    // An object whose inputs are all empty has no value, so it is removed.
    const read = readDraft(field, draft, path, field.kind === 'array' ? old : undefined)
    if (field.kind === 'object' && isObject(old) && isDrafts(draft) && read.value !== undefined) {
      const inner = readPatch(field.fields, old, draft, path)
      patch[field.name] = inner.body
      faults.push(...inner.faults)
      continue
    }
    faults.push(...read.faults)
    if (field.kind === 'json' && isObject(read.value))
      patch[field.name] = changeJson(old, read.value, () =>
        faults.push({ path, message: 'cannot store null in an object' }),
      )
    else if (read.value !== undefined) patch[field.name] = read.value
    else if (read.faults.length === 0) {
      if (field.isRequired) faults.push({ path, message: 'is required' })
      else patch[field.name] = null
    }
  }
  return { body: patch, faults }
}

/**
 * Returns the merge patch that changes one JSON value to another. `null` in a patch removes a property, so a patch
 * cannot store `null` in an object; for such a `null`, `refuse` is called.
 */
function changeJson(was: unknown, is: unknown, refuse: () => void): unknown {
  if (isSame(was, is)) return undefined
  if (is === null) refuse()
  if (!isObject(is)) return is
  const old = isObject(was) ? was : {}
  const change = (name: string): unknown =>
    Object.hasOwn(is, name) ? changeJson(old[name], is[name], refuse) : null
  return Object.fromEntries(Object.keys({ ...old, ...is }).map((name) => [name, change(name)]))
}

/** Whether two drafts or values have the same JSON. */
export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isDrafts = (draft: FieldDraft): draft is { readonly [name: string]: FieldDraft } => isObject(draft)

/** Returns a time in the format of an input for local times, without seconds if they are zero. */
export function toLocal(text: string): string {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) return text
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1)
  return local.replace(/(?::00)?\.000$/, '')
}
