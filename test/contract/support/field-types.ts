import { expect } from 'vitest'
import { type AnyConfig, createTestService, faultsOf, type TestService } from '../../support/service.js'

/** What the tests of fields have in common. */

export type Schema = { readonly [field: string]: object }

export const configOf = (schema: Schema, settings: object = {}): AnyConfig => ({
  collections: { items: { schema, permissions: { '*': true }, ...settings } },
})

export const serve = (schema: Schema, settings?: object): TestService =>
  createTestService(configOf(schema, settings))

export const create = (service: TestService, body: unknown) => service.send('POST /items', { body })

/** What is stored of a body, without what the service adds. */
export async function store(service: TestService, body: unknown): Promise<{ [name: string]: unknown }> {
  const answer = await create(service, body)
  expect(answer.status, answer.text).toBe(201)
  const read = await service.send(`GET /items/${answer.body._id}`)
  expect(read.body).toEqual(answer.body)
  const { _id, createdAt, updatedAt, createdBy, ...rest } = answer.body
  expect({ _id, createdAt, updatedAt, createdBy }).toEqual({
    _id: expect.any(String),
    createdAt: expect.any(String),
    updatedAt: createdAt,
    createdBy: null,
  })
  return rest
}

/** The codes of the faults of a body, by path; nothing is stored. */
export async function faults(service: TestService, body: unknown): Promise<{ [path: string]: string }> {
  const before = (await service.send('GET /items/count')).body
  const answer = await create(service, body)
  expect(answer.status, answer.text).toBe(400)
  expect(answer.body.code).toBe('validation_failed')
  expect((await service.send('GET /items/count')).body).toEqual(before)
  return faultsOf(answer)
}

export const letters = (count: number): string => 'a'.repeat(count)
