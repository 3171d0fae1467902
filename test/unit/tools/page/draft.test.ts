import { describe, expect, test } from 'vitest'
import { findConflicts, keepNewer, settle } from '../../../../src/tools/page/app/model/conflict.js'
import {
  draftAll,
  type FieldDraft,
  readBody,
  readPatch,
  toLocal,
} from '../../../../src/tools/page/app/model/draft.js'
import { type JsonSchema, readFields } from '../../../../src/tools/page/app/model/schema.js'

const SCHEMA: JsonSchema = {
  properties: {
    title: { type: 'string', maxLength: 80 },
    views: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    open: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
    state: { anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] },
    at: {
      anyOf: [{ type: 'string', format: 'date-time' }, { type: 'string', format: 'date' }, { type: 'null' }],
    },
    tags: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }] },
    part: {
      anyOf: [
        { type: 'object', properties: { x: { type: 'number' }, y: { type: 'string' } } },
        { type: 'null' },
      ],
    },
    any: {},
    who: { anyOf: [{ type: 'string', 'x-collection': 'users' }, { $ref: '#/users' }] },
  },
  required: ['title'],
}

const FIELDS = readFields(SCHEMA, (schema) => schema)

const DOCUMENT = {
  title: 'T',
  views: 3,
  open: false,
  state: 'a',
  at: '2026-01-01T00:00:00.000Z',
  tags: ['x', 'y'],
  part: { x: 1.5, y: 'z' },
  any: { deep: [1] },
  who: '1',
}

test('each schema has its kind of field', () => {
  expect(FIELDS.map(({ kind }) => kind)).toEqual([
    'text',
    'integer',
    'boolean',
    'choice',
    'time',
    'array',
    'object',
    'json',
    'reference',
  ])
  expect(FIELDS.at(-1)?.target).toBe('users')
  expect(FIELDS.map(({ isRequired }) => isRequired).indexOf(true)).toBe(0)
})

test('a document goes through a form and comes out the same', () => {
  expect(readBody(FIELDS, draftAll(FIELDS, DOCUMENT))).toEqual({ body: DOCUMENT, faults: [] })
})

test('an empty form is an empty body, and says what is needed', () => {
  expect(readBody(FIELDS, draftAll(FIELDS))).toEqual({
    body: {},
    faults: [{ path: '/title', message: 'is required' }],
  })
})

test.each([
  ['views', '1.5', '/views'],
  ['views', 'many', '/views'],
  ['views', '1,000', '/views'],
  ['views', '0x10', '/views'],
  ['views', '1e999', '/views'],
  ['any', '{', '/any'],
  ['any', '{"a":[-1e999]}', '/any'],
  ['at', 'soon', '/at'],
])('%s cannot be %s', (name, draft, path) => {
  const { faults } = readBody(FIELDS, { ...draftAll(FIELDS, DOCUMENT), [name]: draft })
  expect(faults.map((fault) => fault.path)).toEqual([path])
})

test('a patch names what was touched, and no more', () => {
  const before = draftAll(FIELDS, DOCUMENT)
  expect(readPatch(FIELDS, DOCUMENT, before).body).toEqual({})
  const after = { ...before, title: 'U', views: '', part: { x: '1.5', y: '' }, tags: ['x'] }
  const patch = readPatch(
    FIELDS.map((field) =>
      field.name === 'part'
        ? { ...field, fields: field.fields.map((one) => ({ ...one, isNullable: true })) }
        : field,
    ),
    DOCUMENT,
    after,
  )
  expect(patch).toEqual({ body: { title: 'U', views: null, part: { y: null }, tags: ['x'] }, faults: [] })
  expect(readPatch(FIELDS, DOCUMENT, { ...before, title: '' }).faults).toEqual([
    { path: '/title', message: 'is required' },
  ])
})

test('an object in which nothing is left is removed, whatever else it seems to hold', () => {
  const stored = { ...DOCUMENT, part: { x: null, y: 'a' } }
  const drafts = { ...draftAll(FIELDS, stored), part: { x: '', y: '' } }
  expect(readPatch(FIELDS, stored, drafts)).toEqual({ body: { part: null }, faults: [] })
})

test('JSON may hold any text', () => {
  for (const any of ['Infinity', { a: '-Infinity' }, ['1e999'], { toString: 'x' }])
    expect(readBody(FIELDS, draftAll(FIELDS, { ...DOCUMENT, any }))).toEqual({
      body: { ...DOCUMENT, any },
      faults: [],
    })
})

test('a field that a form did not have when it was made is not touched', () => {
  const { title, ...others } = draftAll(FIELDS, DOCUMENT)
  expect(readPatch(FIELDS, DOCUMENT, { title: 'U' })).toEqual({ body: { title: 'U' }, faults: [] })
  expect(readPatch(FIELDS, DOCUMENT, others)).toEqual({ body: {}, faults: [] })
})

describe('of a list that is changed', () => {
  const items: JsonSchema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      count: { type: 'integer' },
      any: {},
      at: { type: 'string', format: 'date-time' },
    },
  }
  const fields = readFields({ properties: { lines: { type: 'array', items } } }, (schema) => schema)
  // What a form shows of them is less than what they are.
  const lines: readonly object[] = [
    { name: '', count: 1, any: null, at: '1850-01-01T00:00:00.123456Z' },
    { name: 'b', count: 2, at: '2026-10-25T01:30:00.000Z' },
    { name: '', count: 3 },
  ]
  const shown = draftAll(fields, { lines }).lines as readonly { readonly [name: string]: FieldDraft }[]
  const read = (drafts: FieldDraft) => readPatch(fields, { lines }, { lines: drafts }).body.lines

  test('the other elements stay as they were stored', () => {
    expect(read(shown)).toBeUndefined()
    expect(read(shown.with(1, { ...shown[1], count: '5' }))).toEqual(lines.with(1, { ...lines[1], count: 5 }))
    expect(read(shown.slice(1))).toEqual(lines.slice(1))
    expect(read([shown[2] ?? '', { name: 'new' }, shown[0] ?? ''])).toEqual([
      lines[2],
      { name: 'new' },
      lines[0],
    ])
  })

  test('one that is new is none of them', () => {
    const numbers: JsonSchema = { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] } }
    const [list] = readFields({ properties: { list: numbers } }, (schema) => schema)
    if (!list) throw new Error('there is no field')
    const stored = { list: [null, 1] }
    expect(readPatch([list], stored, { list: ['', '1', ''] }).faults).toEqual([
      { path: '/list/2', message: 'needs a value' },
    ])
    expect(readPatch([list], stored, { list: ['1', ''] }).body).toEqual({ list: [1, null] })
    expect(read([{ count: '9' }, ...shown.slice(1)])).toEqual([{ count: 9 }, ...lines.slice(1)])
  })
})

test.each([
  [{ a: 1, b: 2 }, '{"a":1}', { b: null }],
  [{ a: { x: 1, y: [null] } }, '{"a":{"y":[null]}}', { a: { x: null } }],
  [{ a: 1 }, '{"a":1,"b":{"c":2}}', { b: { c: 2 } }],
  [{ a: null, b: 1 }, '{"a":null,"b":2}', { b: 2 }],
  [[1], '{"a":1}', { a: 1 }],
  [{ a: 1 }, '[null,{"b":null}]', [null, { b: null }]],
])('JSON becomes what was written: %j, %s', (any, written, patch) => {
  const stored = { ...DOCUMENT, any }
  const drafts = { ...draftAll(FIELDS, stored), any: written }
  expect(readPatch(FIELDS, stored, drafts)).toEqual({ body: { any: patch }, faults: [] })
})

test('a null in an object of JSON cannot be written by a change', () => {
  const stored = { ...DOCUMENT, any: { a: 1 } }
  const drafts = { ...draftAll(FIELDS, stored), any: '{"a":1,"b":{"c":null}}' }
  expect(readPatch(FIELDS, stored, drafts).faults).toEqual([
    { path: '/any', message: 'cannot store null in an object' },
  ])
})

test('a time is that of the device, to the millisecond where it has any', () => {
  expect(new Date(toLocal('2026-01-01T00:00:00.000Z')).toISOString()).toBe('2026-01-01T00:00:00.000Z')
  expect(toLocal('2026-01-01T00:00:01.250Z')).toMatch(/:01\.250$/)
  expect(toLocal('never')).toBe('never')
})

test('others and oneself: theirs is kept where only they wrote, and chosen where both did', () => {
  const was = draftAll(FIELDS, DOCUMENT)
  const theirs = { ...was, title: 'theirs', views: '9' }
  const mine = { ...was, title: 'mine', state: '"b"' }
  const conflicts = findConflicts(FIELDS, { was, theirs, mine })
  expect(conflicts.map((one) => [one.field.name, one.mine])).toEqual([
    ['title', 'mine'],
    ['views', undefined],
  ])
  expect(settle(conflicts, mine, new Set())).toEqual({ ...was, title: 'mine', views: '9', state: '"b"' })
  expect(settle(conflicts, mine, new Set(['title']))).toEqual({
    ...was,
    title: 'theirs',
    views: '9',
    state: '"b"',
  })
})

test('what is written while a form is stored stays written', () => {
  const before = draftAll(FIELDS, DOCUMENT)
  const sent = { ...before, title: 'sent', tags: ['x'] }
  const stored = { ...before, title: 'sent, and trimmed', tags: ['x'], views: '4' }
  expect(keepNewer(sent, sent, stored)).toEqual(stored)
  expect(keepNewer(sent, { ...sent, title: 'newer', state: '"b"' }, stored)).toEqual({
    ...stored,
    title: 'newer',
    state: '"b"',
  })
})
