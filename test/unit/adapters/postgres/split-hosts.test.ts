import { describe, expect, test } from 'vitest'
import { splitHosts } from '../../../../src/adapters/postgres/connection/hosts.js'
import { createPostgresAdapter } from '../../../../src/adapters/postgres/postgres-adapter.js'
import { ConfigError } from '../../../../src/core/errors.js'

describe('a connection string', () => {
  test.each<[string, readonly string[], boolean]>([
    ['postgres://u:p@a:1/app', ['postgres://u:p@a:1/app'], false],
    ['postgres://u:p,@a/app?ssl=true', ['postgres://u:p,@a/app?ssl=true'], false],
    ['postgres:///app?host=/run/postgresql', ['postgres:///app?host=/run/postgresql'], false],
    ['/run/postgresql app', ['/run/postgresql app'], false],
    ['postgres://a/app?target_session_attrs=any', ['postgres://a/app'], false],
    ['postgres://a/app?target_session_attrs=read-write', ['postgres://a/app'], true],
    ['postgres://u:p@a:1,b:2,c/app', ['a:1', 'b:2', 'c'].map((host) => `postgres://u:p@${host}/app`), true],
    ['postgresql://[::1]:1,[::2]', ['postgresql://[::1]:1', 'postgresql://[::2]'], true],
    [
      'postgres://u@a,b/app?sslmode=require&target_session_attrs=primary',
      ['postgres://u@a/app?sslmode=require', 'postgres://u@b/app?sslmode=require'],
      true,
    ],
    [
      'postgres:///app?host=a,b&port=1,2',
      ['postgres:///app?host=a&port=1', 'postgres:///app?host=b&port=2'],
      true,
    ],
    [
      'postgres:///app?host=a,b&port=1',
      ['postgres:///app?host=a&port=1', 'postgres:///app?host=b&port=1'],
      true,
    ],
  ])('%s', (text, urls, mustTakeWrites) => {
    expect(splitHosts(text)).toEqual({ urls, mustTakeWrites })
  })

  test.each([
    'postgres://a:1,,b:2/app',
    'postgres://a,:2/app',
    'postgres://a,b/app?target_session_attrs=any',
    'postgres://a/app?target_session_attrs=standby',
    'postgres:///app?host=a,b,c&port=1,2',
    'postgres://a,b/app?host=c',
    'postgres://a,b/app?port=1,2',
    'postgres:///app?host=a&port=1,2',
    'postgres:///app?host=a&host=b',
    'postgres://a/app?target_session_attrs=any&target_session_attrs=read-write',
    'app',
    'host=localhost dbname=app',
    'mysql://a/app',
  ])('%s is refused', (connectionString) => {
    expect(() => createPostgresAdapter({ connectionString })).toThrow(ConfigError)
  })
})
