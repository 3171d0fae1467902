import { describe, expect, test } from 'vitest'
import { ConfigError, createCollectionService, createMemoryAdapter, defineConfig } from '../../src/index.js'
import {
  checkConfig,
  comparePermissions,
  describeApi,
  explainRequest,
} from '../../src/tools/insight/index.js'
import { FILL_LAWS, FILLED, FILLS, opener } from '../support/fill-laws.js'
import { closeAfterEach, useStorages } from '../support/storages.js'

// CONTRACT.md §9, "Before a write"

const opened = closeAfterEach()

describe.each(useStorages())('a hook that fills, in %s,', (_, adapter) => {
  test.each(FILL_LAWS)('%s', (_what, check) =>
    check(opener({ adapter, onOpen: (service) => opened.push(service) })),
  )
})

const before = () => undefined
const hooksOf = (fills: unknown) => ({ tickets: { fills, before } }) as never

describe('what a hook fills', () => {
  const { log, ...others } = FILLED.collections.tickets.schema as { [name: string]: object }
  const config = {
    collections: {
      tickets: {
        schema: {
          ...others,
          secret: { type: 'hash', required: true },
          state: { type: 'string', required: true, default: 'open' },
          place: { type: 'object', properties: { city: { type: 'string', required: true } } },
        },
        permissions: { '*': { create: true } },
      },
      constructor: { schema: { toString: { type: 'string', required: true } }, permissions: {} },
    },
  }
  const judge = (hooks: unknown, written: unknown = config) => {
    try {
      createCollectionService(written as { readonly [name: string]: unknown }, createMemoryAdapter(), {
        hooks,
      } as never)
      return []
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ConfigError)
      return (thrown as ConfigError).faults
    }
  }

  test.each<readonly [what: string, fills: unknown, paths: readonly string[]]>([
    ['required fields', ['number', 'mark'], []],
    ['nothing', [], []],
    ['nothing that is said', undefined, []],
    ['a name that is no field', ['nothing'], ['[0]']],
    ['a field that is not required', ['number', 'note'], ['[1]']],
    ['a system field', ['createdAt', '_id'], ['[0]', '[1]']],
    ['a secret', ['secret'], ['[0]']],
    ['what has a default', ['state'], ['[0]']],
    ['a path', ['place.city', 'city', '/number'], ['[0]', '[1]', '[2]']],
    ['a field twice', ['number', 'number'], ['[1]']],
    ['a member of objects', ['constructor', '__proto__', 'toString'], ['[0]', '[1]', '[2]']],
  ])('%s', (_, fills, paths) => {
    expect(judge(hooksOf(fills)).map(({ path }) => path)).toEqual(
      paths.map((path) => `options.hooks.tickets.fills${path}`),
    )
  })

  test.each<readonly [what: string, fills: unknown]>([
    ['text', 'number'],
    ['null', null],
    ['true', true],
    ['an object', { number: true }],
    ['numbers', [1]],
    ['a hole', Array(1)],
    ['a set', new Set(['number'])],
  ])('as %s is no list of names', (_, fills) => {
    expect(judge(hooksOf(fills)).map(({ path }) => path)).toEqual(['options.hooks.tickets'])
  })

  test('has the names of its own collection, however they are called', () => {
    expect(judge({ constructor: { fills: ['toString'], before } })).toEqual([])
    expect(judge({ constructor: { fills: ['number'], before } })).toHaveLength(1)
  })

  test('is told the nearest name that could be meant', () => {
    const [fault] = judge(hooksOf(['numbr']))
    expect(fault?.message).toContain('"number"')
    // It would be refused as well.
    expect(
      judge(hooksOf(['secre', 'stat']))
        .map(({ message }) => message)
        .join(),
    ).not.toContain('did you mean')
  })

  test('is not judged by a schema that is wrong itself', () => {
    const schema = { ...config.collections.tickets.schema, number: { type: 'integer', required: 'yes' } }
    const wrong = { collections: { tickets: { ...config.collections.tickets, schema } } }
    expect(judge(hooksOf(['number']), wrong).map(({ path }) => path)).toEqual([
      '/collections/tickets/schema/number/required',
    ])
  })
})

test('the start warns of no field that a hook fills', async () => {
  const warned = (hooks: object): readonly unknown[] => {
    const lines: unknown[] = []
    const logger = { info() {}, warn: (line: string) => void lines.push(line) }
    createCollectionService(FILLED, createMemoryAdapter(), { hooks, logger, authenticate: () => null })
    return lines.filter((line) => String(line).includes('required'))
  }
  expect(warned({})).toEqual(['/number', '/mark', '/by'].map((at) => expect.stringContaining(at)))
  const hooks = { tickets: { fills: FILLS.tickets, before }, log: { fills: ['by'], before } }
  expect(warned(hooks)).toEqual([])
})

test('seeds need all of it: nobody is asked about them', async () => {
  const ticket = { title: 'A', number: 1, kind: 'plain' }
  const start = (one: object) =>
    createCollectionService(FILLED, createMemoryAdapter({ documents: { tickets: [one] } }), {
      hooks: hooksOf(['mark']),
      authenticate: () => null,
      logger: { warn() {} },
    }).ready()
  await expect(start(ticket)).rejects.toMatchObject({ code: 'validation_failed' })
  await start({ ...ticket, mark: 'm' })
})

describe('what says what a configuration means, and knows its hooks,', () => {
  const options = { authenticate: true, hooks: { tickets: { fills: ['number', 'mark'], before } } }
  const tickets = {
    schema: {
      title: { type: 'string', required: true },
      number: { type: 'integer', required: true, index: true },
      mark: { type: 'string', required: true },
    },
    permissions: { user: { read: true, create: { pick: ['title', 'mark'], check: { mark: null } } } },
  }
  const config = { collections: { tickets }, limits: { maxLimit: 10 } }
  const codesOf = (hooks: typeof options.hooks | Record<string, never>) =>
    checkConfig(config, { authenticate: true, hooks }).map(({ code, pointer }) => `${code} ${pointer}`)

  test('finds nothing wrong with what they fill', () => {
    expect(codesOf({})).toEqual([
      'unfillable_field /collections/tickets/schema/number',
      'unmeetable_check /collections/tickets/permissions/user/create/check',
    ])
    expect(codesOf(options.hooks)).toEqual([])
  })

  test('describes bodies without it', () => {
    const createOf = (hooks: object) => {
      const { components } = describeApi(config, {
        caller: { id: 'ann' },
        authenticate: true,
        hooks,
      } as never)
      return (components as { schemas: { [name: string]: { required?: unknown } } }).schemas['tickets.create']
    }
    expect(createOf({})).toBeUndefined()
    expect(createOf(options.hooks)?.required).toEqual(['title'])
  })

  test('compares creates that only hooks complete', () => {
    const open = defineConfig({
      collections: {
        tickets: {
          ...tickets,
          permissions: { '*': { create: { pick: ['title'] } }, user: tickets.permissions.user },
        },
      },
    } as never)
    const found = (hooks: object) =>
      comparePermissions(config, open, { authenticate: true, hooks } as never)
        .filter((one) => 'operation' in one && one.operation === 'create')
        .map(({ kind }) => kind)
    expect(found({})).not.toContain('widening')
    expect(found(options.hooks)).toContain('widening')
  })

  test('compares with what is not yet, or no longer, required', () => {
    const { number, ...schema } = tickets.schema
    const earlier = { ...config, collections: { tickets: { ...tickets, schema } } }
    for (const [one, other] of [
      [earlier, config],
      [config, earlier],
      [{ collections: {} }, config],
    ])
      expect(comparePermissions(one, other, options)).not.toEqual([])
    expect(() => comparePermissions(earlier, earlier, options)).toThrow(ConfigError)
    expect(() => comparePermissions({ collections: {} }, { collections: {} }, options)).toThrow(ConfigError)
  })

  test('refuses hooks that no service would take', async () => {
    const wrong = { authenticate: true, hooks: { tickets: { fills: ['title', 'numbr'], before } } }
    const request = { caller: null, method: 'GET', path: '/tickets' }
    for (const run of [
      () => checkConfig(config, wrong),
      () => describeApi(config, wrong),
      () => comparePermissions(config, config, wrong),
      () => explainRequest(config, request, wrong),
    ])
      await expect(async () => run()).rejects.toMatchObject({
        code: 'invalid_config',
        faults: [{ path: 'options.hooks.tickets.fills[1]' }],
      })
    // What is wrong with the configuration comes first.
    expect(checkConfig({ collections: { tickets: {} } }, wrong).map(({ pointer }) => pointer)).toEqual([
      '/collections/tickets/schema',
    ])
  })
})
