import { describe, expect, test } from 'vitest'
import { ConfigError, type ServiceOptions } from '../../src/index.js'
import { checkConfig } from '../../src/tools/insight/index.js'
import { createTestService } from '../support/service.js'
import { configOf } from './support/accounts.js'

// CONTRACT.md §1, "Accounts", §4, "Sessions in cookies"

const APP = 'https://app.example'

/** The faults of a configuration with this cookie, as their paths. */
function pathsOf(cookie: unknown, options: ServiceOptions = {}): readonly string[] {
  try {
    createTestService(configOf({ auth: { cookie } }), options)
    return []
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.faults.map(({ path }) => path)
    throw thrown
  }
}

describe('the settings of the cookie', () => {
  const cors = { origins: [APP] }
  test.each<[string, unknown, ServiceOptions?]>([
    ['none', true],
    ['no cookie', false],
    ['no settings', {}],
    ['a comment', { $comment: 'for the app' }],
    ['a name', { name: 'sid' }],
    ['a prefix that needs no path', { name: '__Secure-sid', path: '/api' }, { basePath: '/api' }],
    ['strict', { sameSite: 'strict' }],
    ['the base path', { path: '/api' }, { basePath: '/api/' }],
    ['a part of the base path', { path: '/api' }, { basePath: '/api/v1' }],
    ['the public path', { path: '/desk' }, { basePath: '/api', publicPath: '/desk/' }],
    ['an origin of cors', { origins: [APP] }, { cors }],
    ['an origin, where cors allows all', { origins: [APP] }, { cors: { origins: '*' } }],
  ])('%s: accepted', (_, cookie, options) => {
    expect(pathsOf(cookie, options)).toEqual([])
  })

  test.each<[string, unknown, string, ServiceOptions?]>([
    ['a text', 'session', ''],
    ['a list', [], ''],
    ['an unknown setting', { domain: 'example.org' }, '/domain'],
    ['a name with a semicolon', { name: 'a;b' }, '/name'],
    ['a name with a comma', { name: 'a,b' }, '/name'],
    ['a name with an equals sign', { name: 'a=b' }, '/name'],
    ['a name with a control character', { name: 'a\tb' }, '/name'],
    ['a name with a line break', { name: 'a\r\nb' }, '/name'],
    ['an empty name', { name: '' }, '/name'],
    ['a long name', { name: 'a'.repeat(101) }, '/name'],
    ['a prefix alone', { name: '__Secure-' }, '/name'],
    ['a host prefix on another path', { name: '__Host-sid', path: '/api' }, '/name', { basePath: '/api' }],
    ['the same in another case', { name: '__host-sid', path: '/api' }, '/name', { basePath: '/api' }],
    ['another value of sameSite', { sameSite: 'none' }, '/sameSite'],
    ['a path without a slash', { path: 'api' }, '/path'],
    ['a path with a semicolon', { path: '/a;b' }, '/path'],
    ['a path with a comma', { path: '/a,b' }, '/path'],
    ['a path with a space', { path: '/a b' }, '/path'],
    ['a path with a line break', { path: '/\r\n' }, '/path'],
    ['a path with a letter outside ASCII', { path: '/ä' }, '/path'],
    ['a path beside the base path', { path: '/shop' }, '/path', { basePath: '/api' }],
    ['a path that only begins like the base path', { path: '/ap' }, '/path', { basePath: '/api' }],
    ['a slash after the base path', { path: '/api/' }, '/path', { basePath: '/api' }],
    ['a path inside the base path', { path: '/api/notes' }, '/path', { basePath: '/api' }],
    ['a path that does not cover the root', { path: '/api' }, '/path'],
    [
      'the base path beside the public path',
      { path: '/api' },
      '/path',
      { basePath: '/api', publicPath: '/x' },
    ],
    ['an origin without cors', { origins: [APP] }, '/origins/0'],
    ['an origin that cors lacks', { origins: [APP, 'https://b.example'] }, '/origins/1', { cors }],
    ['the origin null', { origins: ['null'] }, '/origins/0', { cors: { origins: ['null'] } }],
    ['an origin with a path', { origins: [`${APP}/`] }, '/origins/0', { cors: { origins: '*' } }],
    ['all origins', { origins: '*' }, '/origins', { cors: { origins: '*' } }],
    ['an origin twice', { origins: [APP, APP] }, '/origins', { cors }],
  ])('%s: a fault', (_, cookie, path, options) => {
    expect(pathsOf(cookie, options)).toEqual([`/auth/cookie${path}`])
  })

  test('a path that is no path has no other faults', () => {
    expect(pathsOf({ path: 1, name: '__Host-x' })).toEqual(['/auth/cookie/path'])
  })

  test('what depends on options is not checked where they are unknown', () => {
    const config = configOf({ auth: { cookie: { path: '/api', origins: [APP] } } })
    expect(checkConfig(config).map(({ pointer }) => pointer)).not.toContain('/auth/cookie/path')
  })
})

describe('without accounts', () => {
  const config = { collections: { notes: { schema: {} } }, auth: { cookie: true } }
  test('the cookie has no effect, which is a finding', () => {
    expect(checkConfig(config).map(({ code, pointer }) => [code, pointer])).toContainEqual([
      'no_effect',
      '/auth/cookie',
    ])
    const { logged } = createTestService(config)
    expect(logged.map(String).join('\n')).toContain('/auth/cookie: has no effect')
  })
})
