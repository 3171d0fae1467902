import { readFile } from 'node:fs/promises'
import { validate } from '@readme/openapi-parser'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/core/types.js'
import { type ApiDocument, describeApi } from '../../src/tools/insight/index.js'

// CONTRACT.md §8, "OpenAPI": two validators that know nothing of each other

const CONFIGS = ['config.json', 'team/config.json', 'teams/config.json']

const CALLERS: readonly (readonly [who: string, caller: Caller | null | undefined])[] = [
  ['all callers', undefined],
  ['an anonymous caller', null],
  ['a user', { id: 'ann' }],
  ['an admin', { id: 'ann', roles: ['admin'] }],
]

const ofEveryType = {
  collections: {
    things: {
      changes: true,
      schema: {
        text: { type: 'string', minLength: 1, pattern: '^a', default: 'a' },
        mail: { type: 'string', format: 'email' },
        secret: { type: 'hash', minLength: 8 },
        half: { type: 'number', minimum: 0.5, nullable: true },
        whole: { type: 'integer', enum: [1, 2] },
        isOpen: { type: 'boolean' },
        at: { type: 'timestamp', minimum: '2020-01-01' },
        list: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
        inner: { type: 'object', properties: { text: { type: 'string', required: true } } },
        any: { type: 'json' },
        other: { type: 'reference', collection: 'things', onDelete: 'unset' },
      },
      permissions: { user: { read: true, create: true, update: true, delete: true } },
    },
  },
}

async function expectValid(document: ApiDocument): Promise<void> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never)
  expect(errors ?? []).toEqual([])
  expect(valid).toBe(true)
  expect(await validate(structuredClone(document) as never)).toMatchObject({ valid: true })
}

describe.each(CONFIGS)('what is described of examples/%s is OpenAPI 3.1', (file) => {
  test.each(CALLERS)('for %s', async (_, caller) => {
    const config = JSON.parse(await readFile(new URL(`../../examples/${file}`, import.meta.url), 'utf8'))
    await expectValid(describeApi(config, caller === undefined ? {} : { caller }))
  })
})

test('so is what is described of fields of every type', async () => {
  await expectValid(describeApi(ofEveryType, { authenticate: true, caller: { id: 'ann' } }))
})

test('both validators notice what is no OpenAPI', async () => {
  const document = { ...describeApi(ofEveryType, { authenticate: true }), paths: { '/things': { get: 7 } } }
  await expect(expectValid(document as never)).rejects.toThrow()
  const { valid } = await new Validator().validate(structuredClone(document) as never)
  expect(valid).toBe(false)
  expect(await validate(structuredClone(document) as never)).toMatchObject({ valid: false })
})
