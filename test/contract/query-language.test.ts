import { describe, expect, test } from 'vitest'
import { createTestService, faultsOf } from '../support/service.js'
import { ALL, config, expectRefused, service, titles } from './support/queries.js'

/** A list of titles and the count of the same query agree. */
async function expectTitles(query: string, expected: readonly string[]): Promise<void> {
  expect(await titles(query)).toEqual(expected)
  const { body } = await service.send(`GET /items/count?${query}`)
  expect(body).toEqual({ total: expected.length })
}

describe('values: a string is written in double quotes, other JSON scalars as they are', () => {
  test.each([
    ['q[title]="one"', ['one']],
    ['q[title]="\\u006fne"', ['one']],
    ['q[views]=10', ['three']],
    ['q[views]=1e1', ['three']],
    ['q[views]=1.0', ['one']],
    ['q[price]=1.5', ['one']],
    ['q[price]=-0', ['three']],
    ['q[active]=true', ['one']],
    ['q[active]=false', ['two']],
    ['q[active]=null', ['three', 'Four']],
    ['q[views]=null', ['Four']],
  ])('%s', expectTitles)
})

describe('values: text that is not JSON is taken as it is', () => {
  test.each([
    ['q[title]=one', ['one']],
    ['q[title]=Four', ['Four']],
    ['q[title]=ONE', []],
    ['q[address.city]=Oslo', ['one']],
    ['q[title]=', []],
  ])('%s', expectTitles)
})

describe('values: what begins with a quote or a bracket must be JSON', () => {
  test.each(['"one', '"one"x', '"one" ', '[', '{', '{"a"', '"\\x"', '[1,]'])('q[title]=%s', (value) =>
    expectRefused(`q[title]=${value}`, 'q[title]'),
  )
})

describe('values: an array or object has no place outside $in and $nin', () => {
  test.each([
    ['q[title]=["one"]', 'q[title]'],
    ['q[title]={"a":1}', 'q[title]'],
    ['q[title][$ne]=["one"]', 'q[title][$ne]'],
    ['q[views][$gt]=[1]', 'q[views][$gt]'],
    ['q[tags]=["red"]', 'q[tags]'],
    ['q[tags]=[]', 'q[tags]'],
    ['q[title][$in]=[["one"]]', 'q[title][$in]'],
    ['q[title][$nin]=[{"a":1}]', 'q[title][$nin]'],
  ])('%s', expectRefused)
})

describe('values: for fields that hold strings an unquoted value other than null is text', () => {
  test.each([
    ['q[zip]=01234', ['one']],
    ['q[zip]=true', ['two']],
    ['q[zip]="null"', ['three']],
    ['q[zip]=null', ['Four']],
    ['q[zip][$ne]=01234', ['two', 'three', 'Four']],
    ['q[zip][$gte]=1', ['two', 'three']],
    ['q[tags]=red', ['one', 'two']],
    ['q[at]=2026-01-01', ['one']],
    ['q[days]=2026-06-01', ['one']],
  ])('%s', expectTitles)
})

describe('values: a value of a type that the field can never hold is refused', () => {
  test.each([
    ['q[views]="many"', 'q[views]'],
    ['q[views]=many', 'q[views]'],
    ['q[views]="1"', 'q[views]'],
    ['q[views]=1.5', 'q[views]'],
    ['q[views]=01', 'q[views]'],
    ['q[views]=0x1', 'q[views]'],
    ['q[views]=', 'q[views]'],
    ['q[views]=true', 'q[views]'],
    ['q[views]=9007199254740993', 'q[views]'],
    ['q[views][$gt]="1"', 'q[views][$gt]'],
    ['q[views][$lt]=1.5', 'q[views][$lt]'],
    ['q[price]=1e400', 'q[price]'],
    ['q[price]=NaN', 'q[price]'],
    ['q[active]=1', 'q[active]'],
    ['q[active]="true"', 'q[active]'],
    ['q[active]=yes', 'q[active]'],
    ['q[at]=soon', 'q[at]'],
    ['q[at]="2026-02-30"', 'q[at]'],
    ['q[at][$gt]=1767225600000', 'q[at][$gt]'],
    ['q[scores]=red', 'q[scores]'],
    ['q[scores][$in]=[1,"2"]', 'q[scores][$in]'],
    ['q[title][$in]=["one",2]', 'q[title][$in]'],
    ['q[title][$in]=[true]', 'q[title][$in]'],
    ['q[title]="\\ud800"', 'q[title]'],
    ['q[title]="\\u0000"', 'q[title]'],
    ['q[title]=%00', 'q[title]'],
  ])('%s', expectRefused)
})

describe('values: a plus is a space, and what is no percent-encoded UTF-8 is refused', () => {
  const spaced = createTestService(config, {
    documents: { items: [{ title: 'a b' }, { title: 'a+b' }, { title: 'ä' }] },
  })
  test.each([
    ['q[title]=a+b', ['a b']],
    ['q[title]=a%20b', ['a b']],
    ['q[title]="a+b"', ['a b']],
    ['q[title]=a%2Bb', ['a+b']],
    ['q[title]=%C3%A4', ['ä']],
    ['q%5Btitle%5D=%c3%a4', ['ä']],
    ['q[title]=ä', ['ä']],
  ])('%s', async (query, expected) => {
    expect(await spaced.list(`/items?${query}`, 'title')).toEqual(expected)
  })
  test.each([
    'q[title]=%',
    'q[title]=%zz',
    'q[title]=%ff',
    'q[title]=%c3%28',
    'q[title]=%ed%a0%80',
    'q[%ff]=1',
    'q[title]=%C0%AF',
  ])('%s is refused', (query) => expectRefused(query))
})

describe('fields: any field of the schema and every system field', () => {
  test('a system field is asked like any other', async () => {
    const [first] = (await service.send('GET /items')).body
    await expectTitles(`q[_id]=${first._id}`, ['one'])
    await expectTitles(`q[_id]="${first._id}"`, ['one'])
    await expectTitles(`q[_id][$ne]=${first._id}`, ['two', 'three', 'Four'])
    await expectTitles(`q[createdAt][$gte]=${first.createdAt}`, ALL)
    await expectTitles('q[updatedAt][$lt]=2000-01-01', [])
    await expectTitles('q[createdBy]=null', ALL)
  })
  test.each([
    ['q[address.city]="Oslo"', ['one']],
    ['q[address.geo.lat][$gt]=50', ['one']],
    ['q[address.geo.isExact]=false', ['two']],
    ['q[address.city]=null', ['three', 'Four']],
  ])('a dotted path reaches into an object: %s', expectTitles)
  test.each([
    ['q[parts.size]=1', 'q[parts.size]'],
    ['q[tags.0]=red', 'q[tags.0]'],
    ['q[meta.any]=1', 'q[meta.any]'],
    ['q[title.length]=3', 'q[title.length]'],
    ['q[extra]=kept', 'q[extra]'],
    ['q[toString]=1', 'q[toString]'],
    ['q[constructor]=1', 'q[constructor]'],
    ['q[__proto__]=1', 'q[__proto__]'],
    ['q[_version]=1', 'q[_version]'],
    ['q[_hashes]=1', 'q[_hashes]'],
    ['sort[extra]=1', 'sort[extra]'],
    ['sort[parts.size]=1', 'sort[parts.size]'],
    ['project=["extra"]', 'project'],
    ['project=["parts.size"]', 'project'],
  ])('no path leads into an array, a json field or an undeclared property: %s', expectRefused)
})

describe('fields: a condition on an array holds when any element satisfies it', () => {
  test.each([
    ['q[tags]="blue"', ['one']],
    ['q[tags][$in]=["blue","green"]', ['one']],
    ['q[tags][$regex]="^bl"', ['one']],
    ['q[scores][$gt]=5', ['one']],
    ['q[scores][$lte]=5', ['one', 'two']],
    ['q[days][$gt]=2026-05-15', ['one']],
    ['q[flags]=true', ['one']],
    ['q[flags]=false', []],
  ])('%s', expectTitles)
  test('each condition is satisfied by itself, be it by another element', () =>
    expectTitles('q[scores][$lt]=2&q[scores][$gt]=10', ['one']))
  test.each([
    ['q[tags][$ne]="blue"', ['two', 'three', 'Four']],
    ['q[tags][$nin]=["blue","green"]', ['two', 'three', 'Four']],
    ['q[scores][$ne]=5', ['one', 'three', 'Four']],
  ])('$ne and $nin hold when no element equals: %s', expectTitles)
  test.each([
    ['q[tags][$exists]=true', ['one', 'two', 'three']],
    ['q[tags]=null', ['Four']],
  ])('an empty array is there: %s', expectTitles)
})

describe('fields: json, object and arrays of anything but scalars take only $exists', () => {
  test.each([
    ['q[meta][$exists]=true', ['one', 'two']],
    ['q[meta][$exists]=false', ['three', 'Four']],
    ['q[address][$exists]=true', ['one', 'two', 'three']],
    ['q[parts][$exists]=true', ['one']],
    ['q[grid][$exists]=false', ['two', 'three', 'Four']],
  ])('%s', expectTitles)
  test.each(
    ['meta', 'address', 'parts', 'grid', 'address.geo'].flatMap((field) => [
      [`q[${field}]=null`, `q[${field}]`],
      [`q[${field}][$ne]="x"`, `q[${field}][$ne]`],
      [`q[${field}][$in]=[1]`, `q[${field}][$in]`],
      [`q[${field}][$gt]=1`, `q[${field}][$gt]`],
      [`q[${field}][$regex]=x`, `q[${field}][$regex]`],
      [`sort[${field}]=1`, `sort[${field}]`],
    ]),
  )('%s', expectRefused)
})

describe('fields: one that nobody declared and one that may not be read get the same answer', () => {
  const guarded = createTestService({
    collections: {
      items: {
        schema: { title: { type: 'string' }, hiddenA: { type: 'string' }, pin: { type: 'hash' } },
        permissions: { '*': { read: { omit: ['hiddenA', 'createdAt'] } }, admin: true },
      },
    },
  })
  const ask = async (query: string, name: string) => {
    const { body, status } = await guarded.send(`GET /items?${query.replaceAll('@', name)}`)
    expect(status).toBe(400)
    const { requestId, ...rest } = body
    expect(requestId).toEqual(expect.any(String))
    return JSON.parse(JSON.stringify(rest).replaceAll(name, '@'))
  }
  test.each(['q[@]=1', 'q[@][$exists]=true', 'q[@][$ne]=x', 'q[@][$gt]=null', 'sort[@]=1', 'project=["@"]'])(
    '%s',
    async (query) => {
      // Of the same length, and equally far from every readable name.
      expect(await ask(query, 'hiddenA')).toEqual(await ask(query, 'hiddenB'))
    },
  )
  test.each(['q[createdAt]=2026-01-01', 'sort[createdAt]=1', 'project=["createdAt"]'])(
    'an omitted system field: %s',
    async (query) => {
      const answer = await guarded.send(`GET /items?${query}`)
      expect(answer.status).toBe(400)
      expect(Object.values(faultsOf(answer))).toEqual(['unknown_field'])
    },
  )
  test.each(['q[pin]=1', 'q[pin][$exists]=true', 'q[pin][$regex]=^.2b', 'sort[pin]=1', 'project=["pin"]'])(
    'a hash is readable for nobody: %s',
    async (query) => {
      const answer = await guarded.send(`GET /items?${query}`, { caller: { id: 'a', roles: ['admin'] } })
      expect(answer.status).toBe(400)
      expect(Object.values(faultsOf(answer))).toEqual(['unknown_field'])
    },
  )
})

describe('operators', () => {
  test.each([
    ['q[title][$eq]="one"', ['one']],
    ['q[title][$ne]="one"', ['two', 'three', 'Four']],
    ['q[views][$gt]=2', ['three']],
    ['q[views][$gte]=2', ['two', 'three']],
    ['q[views][$lt]=2', ['one']],
    ['q[views][$lte]=2', ['one', 'two']],
    ['q[at][$gt]="2026-01-01T23:59:59Z"', ['two']],
    ['q[title][$gt]="three"', ['two']],
    ['q[title][$in]=["one","Four","none"]', ['one', 'Four']],
    ['q[title][$nin]=["one","Four"]', ['two', 'three']],
    ['q[views][$in]=[1,null]', ['one', 'Four']],
    ['q[views][$nin]=[1,null]', ['two', 'three']],
    ['q[title][$in]=[]', []],
    ['q[title][$nin]=[]', ALL],
    ['q[active][$in]=[true,false]', ['one', 'two']],
    ['q[views][$exists]=true', ['one', 'two', 'three']],
    ['q[views][$exists]=false', ['Four']],
    ['q[title][$regex]="o"', ['one', 'two', 'Four']],
    ['q[title][$regex]=^t', ['two', 'three']],
    ['q[title][$regex]=e$', ['one', 'three']],
    ['q[title][$regex]=FOUR', []],
    ['q[title][$regex]=FOUR&q[title][$options]=i', ['Four']],
    ['q[at][$regex]=^2026-01-02T10', ['two']],
  ])('%s', expectTitles)

  test('all conditions hold together', async () => {
    await expectTitles('q[tags]=red&q[views][$gt]=1', ['two'])
    await expectTitles('q[views][$gt]=1&q[views][$lt]=10', ['two'])
    await expectTitles('q[title]=one&q[title][$ne]=one', [])
  })
})

describe('operators: repeating one', () => {
  test.each([
    ['q[title]="one"&q[title]="two"', ['one', 'two']],
    ['q[title][$eq]=one&q[title][$eq]=Four', ['one', 'Four']],
    ['q[title]=one&q[title][$eq]=two', ['one', 'two']],
    ['q[views]=1&q[views]=null', ['one', 'Four']],
    ['q[title]=one&q[title]=one', ['one']],
    ['q[title][$regex]=^o&q[title][$regex]=^F', ['one', 'Four']],
    ['q[title][$regex]=^O&q[title][$regex]=^f&q[title][$options]=i', ['one', 'Four']],
    ['q[title][$ne]=one&q[title][$ne]=two', ['three', 'Four']],
    ['q[title]=one&q[views]=1&q[title]=two', ['one']],
  ])('%s', expectTitles)

  test('as many repetitions as the limit allows are all heard', async () => {
    const many = [...Array(99).keys()].map((i) => `q[title]=none${i}`).join('&')
    await expectTitles(`${many}&q[title]=one`, ['one'])
    await expectTitles(`${many.replaceAll(']=', '][$ne]=')}&q[title][$ne]=one`, ['two', 'three', 'Four'])
  })

  test.each(
    ['$gt', '$gte', '$lt', '$lte', '$exists', '$in', '$nin'].map((operator) => {
      const value = operator === '$exists' ? 'true' : operator.endsWith('in') ? '[1]' : '1'
      return [`q[views][${operator}]=${value}&q[views][${operator}]=${value}`, `q[views][${operator}]`]
    }),
  )('%s', expectRefused)
})

describe('operators: $in and $nin take values one by one, each as $eq reads it', () => {
  test.each([
    ['q[title][$in]=one', ['one']],
    ['q[title][$in]="one"', ['one']],
    ['q[title][$in]=one&q[title][$in]="Four"&q[title][$in]=none', ['one', 'Four']],
    ['q[title][$in]=', []],
    ['q[title][$in]=one,two', []],
    ['q[title][$nin]=one', ['two', 'three', 'Four']],
    ['q[title][$nin]=one&q[title][$nin]=two', ['three', 'Four']],
    ['q[zip][$in]=01234&q[zip][$in]=true&q[zip][$in]="null"', ['one', 'two', 'three']],
    ['q[zip][$in]=null&q[zip][$in]=true', ['two', 'Four']],
    ['q[views][$in]=1&q[views][$in]=null', ['one', 'Four']],
    ['q[views][$nin]=1&q[views][$nin]=null', ['two', 'three']],
    ['q[active][$in]=true&q[active][$in]=false', ['one', 'two']],
    ['q[at][$in]=2026-01-01&q[at][$in]=2026-01-02T11:00:00%2B01:00', ['one', 'two']],
    ['q[email][$in]=ANN@example.org&q[email][$in]=BOB@example.org', ['one', 'two']],
    ['q[tags][$in]=blue&q[tags][$in]=green', ['one']],
    ['q[scores][$nin]=5', ['one', 'three', 'Four']],
    ['q[title][$in]=one&q[title][$nin]=two&q[title][$in]=two', ['one']],
    ['q[$or][0][title][$in]=one&q[$or][1][views][$in]=2&q[$or][0][title][$in]=Four', ['one', 'two', 'Four']],
    ['q[$or][0][$or][0][title][$in]=one&q[$or][0][$or][0][title][$in]=two', ['one', 'two']],
  ])('%s', expectTitles)

  test.each(
    [
      ['["one"]', '["two"]'],
      ['["one"]', 'two'],
      ['one', '["two"]'],
      ['one', '[]'],
      ['one', '['],
    ].flatMap(([one, two]) =>
      ['q[title][$in]', 'q[title][$nin]', 'q[$or][0][title][$in]'].map((name) => [
        `${name}=${one}&${name}=${two}`,
        name,
      ]),
    ),
  )('an array stands alone: %s', async (query, name = '') => {
    const answer = await service.send(`GET /items?${query}`)
    expect([answer.status, faultsOf(answer)]).toEqual([400, { [name]: 'repeated' }])
  })

  test('each value counts', async () => {
    const many = (count: number) => [...Array(count).keys()].map((i) => `q[title][$in]=none${i}`).join('&')
    await expectTitles(`${many(99)}&q[title][$in]=one`, ['one'])
    const answer = await service.send(`GET /items?${many(101)}`)
    expect([answer.status, faultsOf(answer)]).toEqual([400, { q: 'too_many' }])
  })
})

/** What an answer says in words; how it is corrected is part of that. */
async function detailOf(query: string, code: string): Promise<string> {
  const answer = await service.send(`GET /items?${query}`)
  expect([answer.status, Object.values(faultsOf(answer))]).toEqual([400, [code]])
  return answer.body.detail
}

describe('forms of other software: the fault names the form that is understood', () => {
  test.each([
    ['q[title][]=one', 'q[title]'],
    ['q[title][0]=one', 'q[title]'],
    ['q[title][$in][]=one', 'q[title][$in]'],
    ['q[title][$in][0]=one', 'q[title][$in]'],
    ['q[title][$nin][17]=one', 'q[title][$nin]'],
    ['q[$or][0][title][$in][]=one', 'q[$or][0][title][$in]'],
    ['project[]=title', 'project'],
    ['project[0]=title', 'project'],
    ['expand[]=title', 'expand'],
  ])('%s', async (query, form) => {
    expect(await detailOf(query, 'malformed')).toContain(` ${form}=<value>`)
  })

  test.each([
    ['q[__proto__][0]=one', 'unknown_field'],
    ['q[title][0][1]=one', 'malformed'],
    ['q[title][$in][0][a]=one', 'malformed'],
    ['q[title][in][0]=one', 'malformed'],
    ['limit[]=1', 'malformed'],
    ['sort[]=title', 'unknown_field'],
  ])('an index where no list is: %s', async (query, code) => {
    expect(await detailOf(query, code)).not.toContain('=<value>')
  })

  test.each([
    ['q[at][$gt]=2026-01-01T00:00:00+02:00', 'wrong_type'],
    ['q[at]="2026-01-01T00:00:00+02:00"', 'wrong_type'],
    ['q[at][$in]=["2026-01-01T00:00:00+02:00"]', 'wrong_type'],
    ['q[at][$in]=2026-01-01&q[at][$in]=2026-01-01T00:00:00+02:00', 'wrong_type'],
    ['q[days]=2026-01-01T00:00:00+02:00', 'wrong_type'],
    ['q[price]=1e+5', 'wrong_type'],
    ['q[price][$nin]=[1e+5]', 'malformed'],
    ['q[$or][0][price][$lt]=1e+5', 'wrong_type'],
  ])('a plus that became a space: %s', async (query, code) => {
    expect(await detailOf(query, code)).toContain('%2B')
  })

  test.each(['q[at]=yester+day', 'q[price]=1+2', 'q[active]=true+', 'q[at]=soon'])(
    'a plus that would not help: %s',
    async (query) => expect(await detailOf(query, 'wrong_type')).not.toContain('%2B'),
  )
})

describe('an empty pair beside others is skipped', () => {
  test.each([
    ['q[title]=one&', ['one']],
    ['&q[title]=one', ['one']],
    ['q[title]=one&&&q[views]=1', ['one']],
    ['&&q[title]=one&&', ['one']],
  ])('%s', expectTitles)
  test.each(['&', '&&&', 'q[title]=one&=', '=&q[title]=one', 'q[title]=one&%20', 'q[title]=one&+'])(
    'what is no empty pair, or alone, is refused: %s',
    (query) => expectRefused(query),
  )
})

describe('operators: what they do not take', () => {
  test.each([
    ['q[title][$options]=i', 'q[title][$options]'],
    ['q[title][$regex]=x&q[zip][$options]=i', 'q[zip][$options]'],
    ['q[title][$regex]=x&q[title][$options]=g', 'q[title][$options]'],
    ['q[title][$regex]=x&q[title][$options]=im', 'q[title][$options]'],
    ['q[title][$regex]=x&q[title][$options]=', 'q[title][$options]'],
    ['q[title][$regex]=x&q[title][$options]=i&q[title][$options]=i', 'q[title][$options]'],
    ['q[title][$like]=x', 'q[title][$like]'],
    ['q[title][eq]=x', 'q[title][eq]'],
    ['q[title][$EQ]=x', 'q[title][$EQ]'],
    ['q[title][$where]=1', 'q[title][$where]'],
    ['q[title][$not]=x', 'q[title][$not]'],
    ['q[title][toString]=x', 'q[title][toString]'],
    ['q[views][$gt]=null', 'q[views][$gt]'],
    ['q[title][$lte]=null', 'q[title][$lte]'],
    ['q[active][$gt]=true', 'q[active][$gt]'],
    ['q[views][$gt]=true', 'q[views][$gt]'],
    ['q[flags][$lt]=true', 'q[flags][$lt]'],
    ['q[title][$in]=[one]', 'q[title][$in]'],
    ['q[title][$in]={"0":"one"}', 'q[title][$in]'],
    ['q[title][$in]="one', 'q[title][$in]'],
    ['q[views][$in]=one', 'q[views][$in]'],
    ['q[views][$in]=', 'q[views][$in]'],
    ['q[views][$in]=1&q[views][$nin]=x', 'q[views][$nin]'],
    ['q[views][$in]=1&q[views][$in]=1.5', 'q[views][$in]'],
    ['q[meta][$in]=1', 'q[meta][$in]'],
    ['q[at][$in]=soon&q[at][$in]=2026-01-01', 'q[at][$in]'],
    ['q[price][$in]=1&q[price][$in]=1e-999', 'q[price][$in]'],
    ['q[title][$exists]=1', 'q[title][$exists]'],
    ['q[title][$exists]="true"', 'q[title][$exists]'],
    ['q[title][$exists]=', 'q[title][$exists]'],
    ['q[views][$regex]=1', 'q[views][$regex]'],
    ['q[active][$regex]=t', 'q[active][$regex]'],
    ['q[scores][$regex]=1', 'q[scores][$regex]'],
  ])('%s', expectRefused)
})

describe('operators: a pattern is a JSON string if it begins with a quote, else the raw text', () => {
  const quoted = createTestService(config, {
    documents: { items: [{ title: 'a.b' }, { title: 'axb' }, { title: '"a"' }, { title: '5' }] },
  })
  test.each([
    ['q[title][$regex]="a\\\\.b"', ['a.b']],
    ['q[title][$regex]=a\\.b', ['a.b']],
    ['q[title][$regex]=a.b', ['a.b', 'axb']],
    ['q[title][$regex]=[.]', ['a.b']],
    ['q[title][$regex]=\\"a', ['"a"']],
    ['q[title][$regex]=5', ['5']],
    ['q[title][$regex]=', ['a.b', 'axb', '"a"', '5']],
  ])('%s', async (query, expected) => {
    expect(await quoted.list(`/items?${query}`, 'title')).toEqual(expected)
  })
  test.each([
    '"a',
    '"a"b',
    '(',
    '[z-a]',
    'a{2,1}',
    '(?=a)',
    '\\1',
    '\\u0061',
    '\\p{L}',
    '(?<n>a)',
    '(?i:a)',
    'a{1001}',
  ])('a pattern outside the portable core is refused: %s', (pattern) =>
    expectRefused(`q[title][$regex]=${encodeURIComponent(pattern)}`, 'q[title][$regex]'),
  )
})

describe('meaning: null is a missing field', () => {
  test.each([
    ['q[views]=null', 'q[views][$exists]=false'],
    ['q[views][$ne]=null', 'q[views][$exists]=true'],
    ['q[address.city]=null', 'q[address.city][$exists]=false'],
    ['q[tags]=null', 'q[tags][$exists]=false'],
  ])('%s is %s', async (left, right) => {
    expect(await titles(left)).toEqual(await titles(right))
  })
})

describe('meaning: $ne matches exactly the documents that $eq does not', () => {
  test.each([
    ['title', '"one"'],
    ['title', 'null'],
    ['views', '1'],
    ['views', 'null'],
    ['active', 'false'],
    ['tags', 'red'],
    ['address.geo.lat', '59.9'],
    ['at', '2026-01-01'],
  ])('%s, %s', async (field, value) => {
    const equal = await titles(`q[${field}]=${value}`)
    const different = await titles(`q[${field}][$ne]=${value}`)
    expect(ALL.filter((title) => !equal.includes(title))).toEqual(different)
    expect([...equal, ...different].sort()).toEqual([...ALL].sort())
  })
})

describe('meaning: strings are ordered by Unicode code point', () => {
  // By UTF-16 unit the emoji would come before the private use character.
  const ordered = ['', 'A', 'Z', 'a', 'aa', 'z', 'é', '\ue000', '\uffee', '\u{1f600}']
  const texts = createTestService(config, {
    documents: { items: ordered.toReversed().map((title) => ({ title })) },
  })
  test('a sort goes by it', async () => {
    expect(await texts.list('/items?sort[title]=1', 'title')).toEqual(ordered)
    expect(await texts.list('/items?sort[title]=-1', 'title')).toEqual(ordered.toReversed())
  })
  test.each(ordered.map((title, i) => [title, i] as const))('so do comparisons with %j', async (title, i) => {
    const value = encodeURIComponent(JSON.stringify(title))
    const sorted = (operator: string) =>
      texts.list(`/items?q[title][${operator}]=${value}&sort[title]=1`, 'title')
    expect(await sorted('$lt')).toEqual(ordered.slice(0, i))
    expect(await sorted('$lte')).toEqual(ordered.slice(0, i + 1))
    expect(await sorted('$gt')).toEqual(ordered.slice(i + 1))
    expect(await sorted('$gte')).toEqual(ordered.slice(i))
  })
})

describe('meaning: a query value is normalised like a stored one, but for patterns', () => {
  test.each([
    ['q[email]=ANN@Example.org', ['one']],
    ['q[email]="  ann@example.org "', ['one']],
    ['q[email][$ne]=ANN@EXAMPLE.ORG', ['two', 'three', 'Four']],
    ['q[email][$in]=["ANN@example.org","BOB@example.org "]', ['one', 'two']],
    ['q[email][$nin]=[" ANN@example.org"]', ['two', 'three', 'Four']],
    ['q[email][$lte]=ANN@EXAMPLE.ORG', ['one']],
    ['q[email][$regex]=ANN', []],
    ['q[at]=2026-01-02T11:00:00%2B01:00', ['two']],
    ['q[at]="2026-01-02T10:00:00.0009Z"', ['two']],
    ['q[at][$in]=["2026-01-01"]', ['one']],
    ['q[at][$lt]=2026-01-02', ['one']],
  ])('%s', expectTitles)
})

describe('patterns', () => {
  test('i is Unicode case folding', async () => {
    const cased = createTestService(config, {
      documents: {
        items: [{ title: 'ÄRGER' }, { title: 'ärger' }, { title: 'ΣΊΣΥΦΟΣ' }, { title: 'straße' }],
      },
    })
    const find = (pattern: string) =>
      cased.list(`/items?q[title][$regex]=${encodeURIComponent(pattern)}&q[title][$options]=i`, 'title')
    expect(await find('^ärg')).toEqual(['ÄRGER', 'ärger'])
    expect(await find('σίσυφος')).toEqual(['ΣΊΣΥΦΟΣ'])
    expect(await find('STRAẞE')).toEqual(['straße'])
    expect(await find('STRASSE')).toEqual([])
  })
  test('a pattern that makes other engines give up is answered', async () => {
    const long = createTestService(config, { documents: { items: [{ title: `${'a'.repeat(20_000)}!` }] } })
    expect(await long.list('/items?q[title][$regex]=^(a%2B)%2B$', 'title')).toEqual([])
    expect(await long.list('/items?q[title][$regex]=(a|a)*b', 'title')).toEqual([])
  })
})
