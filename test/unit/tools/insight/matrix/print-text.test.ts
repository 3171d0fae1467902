import { describe, expect, test } from 'vitest'
import { permissionMatrix } from '../../../../../src/tools/insight/matrix/permission-matrix.js'
import { printText } from '../../../../../src/tools/insight/matrix/print-text.js'
import { coloured } from '../../../../../src/tools/insight/text/paint.js'

const schema = {
  title: { type: 'string', required: true, maxLength: 200 },
  status: { type: 'string', enum: ['draft', 'published'], default: 'draft', index: true },
  tags: { type: 'array', items: { type: 'string' } },
  views: { type: 'integer', minimum: 0, default: 0 },
}

const matrixOf = (permissions: object, more: object = {}) =>
  permissionMatrix({ collections: { articles: { schema, permissions, ...more } } }, { authenticate: true })

const linesOf = (permissions: object, more: object = {}): readonly string[] =>
  printText(matrixOf(permissions, more)).split('\n')

/** The permissions of CONTRACT.md §1. */
const PERMISSIONS = {
  '*': { read: { where: { status: 'published' }, omit: ['views'] } },
  user: { create: { pick: ['title', 'tags'] } },
  owner: { read: true, update: { omit: ['views'], check: { status: { $ne: 'published' } } }, delete: true },
  editor: { read: true, update: { pick: ['status'] } },
  admin: true,
}

describe('a table', () => {
  test('shows in a few lines what rules add up to', () => {
    expect(linesOf(PERMISSIONS)).toEqual([
      'articles   create      read          update                delete',
      'anonymous  –           a, -views     –                     –',
      'user       title tags  as anonymous  –                     –',
      '  own                  all           -views; then b        all',
      'editor     as user     all           status                –',
      '  own                  all           status|-views; then b all',
      'admin      all         all           all                   all',
      'several roles: editor, admin',
      'a  status = "published"   /collections/articles/permissions/*/read/where',
      'b  status ≠ "published"   /collections/articles/permissions/owner/update/check',
    ])
  })

  test('names the rules in a second one, on demand', () => {
    const lines = printText(matrixOf(PERMISSIONS), { isFull: true }).split('\n')
    expect(lines.slice(11, 22)).toEqual([
      'rules in /collections/articles/permissions/…',
      'articles   create       read                    update                      delete',
      'anonymous  –            */read                  –                           –',
      'user       user/create  */read                  –                           –',
      '  own                   owner/read              owner/update                owner/delete',
      'editor     user/create  editor/read             editor/update               –',
      '  own                   owner/read editor/read  editor/update owner/update  owner/delete',
      'admin      admin        admin                   admin                       admin',
      '',
      'signs',
      '–              nothing',
    ])
  })

  const tables: readonly (readonly [what: string, permissions: object, lines: readonly string[]])[] = [
    ['where nobody may do anything', {}, ['everyone  –       –     –       –']],
    ['where all may do the same', { '*': { read: true } }, ['everyone  –       all   –       –']],
    [
      'where a subject is refused what everyone may do',
      { '*': { read: true, create: true }, user: { create: false } },
      ['anonymous  all     all   –       –', 'user       –       all   –       –'],
    ],
    [
      'where roles are equal, or do as user',
      {
        user: { read: { where: { views: 0 } } },
        a: { create: true },
        b: { read: { where: { views: { $eq: 0 } } } },
        c: { create: true },
      },
      [
        'anonymous  –       –     –       –',
        'user, b    –       a     –       –',
        'a, c       all     a     –       –',
        'several roles: a, b, c',
        'a  views = 0   /collections/articles/permissions/user/read/where',
      ],
    ],
    [
      'where an owner adds nothing',
      { user: true, owner: true },
      ['anonymous  –       –     –       –', 'user       all     all   all     all'],
    ],
    [
      'where nothing is read, and so nothing is changed',
      { user: { update: true, delete: true } },
      ['everyone  –       –     –       –'],
    ],
    [
      'where more may be written than read',
      {
        user: {
          read: { where: { views: 0 } },
          update: { where: { views: { $lt: 9 } }, check: {} },
          delete: true,
        },
      },
      [
        'anonymous  –       –     –            –',
        'user       –       a     b; then any  all',
        'update and delete: only documents that may be read',
        'a  views = 0   /collections/articles/permissions/user/read/where',
        'b  views < 9   /collections/articles/permissions/user/update/where',
      ],
    ],
    [
      'where values are forced',
      { user: { create: { omit: ['tags'], set: { views: 0, title: '$user.name' }, check: { views: 0 } } } },
      [
        'anonymous  –                     –     –       –',
        'user       -tags; set a; then b  –     –       –',
        'a  views := 0, title := $user.name   /collections/articles/permissions/user/create/set',
        'b  views = 0                         /collections/articles/permissions/user/create/check',
      ],
    ],
    [
      'where reading adds up',
      {
        '*': { read: { pick: ['title'] } },
        user: { read: { pick: ['title', 'status'], where: { views: 0 } } },
        a: { read: { pick: [] } },
        b: { read: { omit: ['views'] } },
        c: { read: { pick: ['tags'], where: { views: 0 } } },
      },
      [
        'anonymous  –       title                         –       –',
        'user, a    –       title + a, title status       –       –',
        'b          –       -views                        –       –',
        'c          –       title + a, title status tags  –       –',
        'several roles: a, b, c',
        'a  views = 0   /collections/articles/permissions/user/read/where',
        '               /collections/articles/permissions/c/read/where',
      ],
    ],
  ]
  test.each(tables)('%s', (_, permissions, lines) => {
    expect(linesOf(permissions).slice(1)).toEqual(lines)
  })

  test('has no letter and no label that could mean something else', () => {
    const lines = printText(
      permissionMatrix(
        {
          collections: {
            notes: {
              schema: { a: { type: 'integer' }, b: { type: 'integer' }, all: { type: 'string' } },
              permissions: {
                '*': { read: { pick: ['a', 'all'], where: { b: 1 } } },
                own: { read: { where: { b: 2 } } },
                'x, y': { read: { where: { b: 3 } } },
              },
            },
          },
        },
        { authenticate: true },
      ),
    ).split('\n')
    expect(lines).toEqual([
      'notes     create  read            update  delete',
      'everyone  –       b, a "all"      –       –',
      '"own"     –       b, a "all" + c  –       –',
      '"x, y"    –       b, a "all" + d  –       –',
      'several roles: "own", "x, y"',
      'b  b = 1   /collections/notes/permissions/*/read/where',
      'c  b = 2   /collections/notes/permissions/own/read/where',
      'd  b = 3   /collections/notes/permissions/x, y/read/where',
    ])
  })
})

describe('on a terminal', () => {
  const names = Array.from({ length: 12 }, (_, i) => `property_number_${i}`)
  const wide = permissionMatrix(
    {
      collections: {
        [`a${'b'.repeat(62)}`]: {
          schema: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
          permissions: {
            '*': { read: { pick: names } },
            user: {
              create: { omit: names.slice(3), set: { property_number_0: 'x'.repeat(120) } },
              update: { pick: names.slice(5), where: { property_number_1: { $in: names } } },
            },
            [`role_${'of'.repeat(60)}`]: { delete: true },
          },
        },
      },
    },
    { authenticate: true },
  )

  test.each([100, 80, 60])('no line is wider than %i characters', (width) => {
    const lines = printText(wide, { width, isFull: true }).split('\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(width)
    expect(lines.filter((line) => line.endsWith(' '))).toEqual([])
  })

  test('colours change nothing but colours', () => {
    const text = printText(wide, { paint: coloured, isFull: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them
    expect(text.replaceAll(/\u001b\[\d+m/g, '')).toBe(printText(wide, { isFull: true }))
  })

  test('no name and no value moves the cursor', () => {
    const text = printText(
      matrixOf({
        '*': { read: { where: { title: 'a\u001b[2J\u009b\n\u202e' } } },
        'x\u009by': { read: { where: { views: 0 } }, create: true },
      }),
      { isFull: true },
    )
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })
})
