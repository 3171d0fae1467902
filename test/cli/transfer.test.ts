import { exec, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createPostgresAdapter } from '../../src/adapters/postgres/postgres-adapter.js'
import { tableNameOf } from '../../src/adapters/sql/table-names.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { everything } from '../../src/core/filter/filter.js'
import type { StorageAdapter } from '../../src/index.js'
import { command, STACK, useCommand } from '../support/command.js'
import { newSchema, usePostgres } from '../support/postgres.js'
import { idOf } from '../support/stored.js'
import { config, fill, NAMES, readTexts } from '../support/transfer-laws.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "Dumps"

const { folder, run, runOn, writeFiles } = useCommand()
const postgres = usePostgres()
const shell = promisify(exec)
const COMMAND = `"${process.execPath}" "${command}"`

let dumped = ''
beforeAll(async () => {
  await writeFiles({ 'config.json': config })
  const { service } = await fill(createSqliteAdapter({ file: join(folder(), 'app.db') }))
  await service.handler.close()
  dumped = (await run('dump', '--data', 'app.db')).stdout
}, 60_000)

const opened: StorageAdapter[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((adapter) => adapter.close()))
})

async function open(adapter: StorageAdapter): Promise<StorageAdapter> {
  opened.push(adapter)
  await adapter.open([])
  return adapter
}

const openFile = (name: string) => open(createSqliteAdapter({ file: join(folder(), name) }))

describe('dump', () => {
  test('prints lines, and what they are on the error output', async () => {
    const { code, stdout, stderr } = await run('dump', '--data', 'app.db')
    expect(code).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      format: 'collection-service dump',
      version: 1,
      collections: NAMES,
    })
    expect(Object.keys(JSON.parse(lines.at(-1) ?? '').end)).toEqual(NAMES)
    expect(stderr).toMatch(/^projects {2}40 documents, sha256 [\da-f]{64}\ntasks {5}\d+ documents, /)
    expect(stderr).toContain(
      'The dump contains hashes of secrets. Keep it where only you can read it: chmod 600',
    )
    expect(stdout).not.toContain('_sessions')
  })

  test('has sessions if asked, and the same documents', async () => {
    const { stdout, stderr } = await run('dump', '--sessions', '--data', 'app.db')
    expect(stderr).toMatch(/^_sessions +9 documents/m)
    expect(stdout.split('\n').filter((line) => /"in":"(?:projects|tasks|users)"/.test(line))).toEqual(
      dumped.split('\n').slice(1, -2),
    )
  })

  test('says which collections it leaves out', async () => {
    const { tasks: _, ...collections } = config.collections
    await writeFiles({ 'fewer.json': { ...config, collections } })
    const { code, stderr } = await run('dump', 'fewer.json', '--data', 'app.db')
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('Not in the dump, because the configuration does not declare them: tasks'),
    ])
  })

  test('changes no file, and needs one', async () => {
    const file = join(folder(), 'app.db')
    const before = await readFile(file)
    await run('dump', '--data', 'app.db')
    expect((await readFile(file)).equals(before)).toBe(true)
    const { code, stderr } = await run('dump', '--data', 'ap.db')
    expect([code, stderr]).toEqual([1, 'there is no file ap.db\n'])
    const without = await run('dump')
    expect([without.code, without.stderr]).toEqual([
      2,
      expect.stringContaining('dump needs --data or --database'),
    ])
  })
})

describe('a dump of another storage than that of the service', () => {
  test('is an error, and not empty', async () => {
    const others = [
      { name: 'orders', indexes: [] },
      { name: '_keys', indexes: [] },
    ]
    const adapter = createSqliteAdapter({ file: join(folder(), 'others.db') })
    await adapter.open(others)
    await adapter.close()
    await writeFile(join(folder(), 'none.db'), '')
    const storages = [
      [['--data', 'others.db'], 'orders'],
      [['--data', 'none.db'], 'no collections'],
      [['--database', postgres.url, '--schema', newSchema()], 'no collections'],
    ] as const
    for (const [options, found] of storages) {
      const { code, stdout, stderr } = await run('dump', ...options)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toBe(
        `the storage has none of the collections of the configuration (projects, tasks, users), but ${found}: name the storage that a service with this configuration has opened (no_collections)\n`,
      )
    }
  })
})

describe('load', () => {
  test('moves a file to PostgreSQL with one pipe, and back', async () => {
    const schema = newSchema()
    const database = `--database "${postgres.url}" --schema ${schema}`
    const { stdout } = await shell(`${COMMAND} dump --data app.db | ${COMMAND} load ${database}`, {
      cwd: folder(),
    })
    expect(stdout).toMatch(
      /^projects {2}40 documents, sha256 .*^Loaded \d+ documents\. The storage agrees with the dump\.$/ms,
    )
    await shell(`${COMMAND} dump ${database} | ${COMMAND} load --data back.db`, { cwd: folder() })
    const [first, middle, last] = [
      await openFile('app.db'),
      await open(createPostgresAdapter({ connectionString: postgres.url, schema })),
      await openFile('back.db'),
    ]
    for (const name of NAMES) {
      const texts = await readTexts(first, name, false)
      expect(await readTexts(middle, name, false)).toEqual(texts)
      expect(await readTexts(last, name, false)).toEqual(texts)
    }
    // A dump does not depend on the storage, apart from the order of keys.
    const { stdout: end } = await shell(`${COMMAND} dump ${database} | tail -1`, { cwd: folder() })
    expect(end.trim()).toBe(dumped.trimEnd().split('\n').at(-1))
  }, 60_000)

  test('stores the same bytes', async () => {
    await shell(`${COMMAND} dump --data app.db | ${COMMAND} load --data copy.db`, { cwd: folder() })
    const textsIn = (file: string, name: string): readonly unknown[] => {
      const database = new Database(join(folder(), file), { readonly: true })
      try {
        return database
          .prepare(`SELECT _id, document FROM "${tableNameOf(name)}" ORDER BY _id`)
          .raw()
          .all()
      } finally {
        database.close()
      }
    }
    for (const name of NAMES) {
      const texts = textsIn('app.db', name)
      expect(texts.length).toBeGreaterThan(0)
      expect(textsIn('copy.db', name)).toEqual(texts)
    }
  })

  test('stores the same bytes in PostgreSQL, whichever storage was between', async () => {
    const [first, second] = [newSchema(), newSchema()]
    const at = (schema: string) => `--database "${postgres.url}" --schema ${schema}`
    await shell(
      `${COMMAND} dump --data app.db | ${COMMAND} load ${at(first)} && ${COMMAND} dump ${at(first)} | ${COMMAND} load --data between.db && ${COMMAND} dump --data between.db | ${COMMAND} load ${at(second)}`,
      { cwd: folder() },
    )
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    try {
      for (const name of NAMES) {
        const textsIn = async (schema: string) =>
          (
            await client.query(
              `SELECT _id, document::text FROM ${schema}."${tableNameOf(name)}" ORDER BY _id`,
            )
          ).rows
        const texts = await textsIn(first)
        expect(texts.length).toBeGreaterThan(0)
        expect(await textsIn(second)).toEqual(texts)
      }
    } finally {
      await client.end()
    }
  }, 60_000)

  test('says what is wrong, without a stack', async () => {
    await runOn(dumped, 'load', '--data', 'full.db')
    const cut = dumped.slice(0, -100)
    const faults: readonly (readonly [input: string, args: readonly string[], said: RegExp])[] = [
      [
        dumped,
        ['full.db'],
        /^the storage already contains documents \(projects 40, .*--resume .*\(not_empty\)\n$/,
      ],
      [cut, ['cut.db'], /^the dump was cut off: .*--resume .*\(incomplete\)\n$/],
      ['', ['empty.db'], /^the input is empty, and no dump \(incomplete\)\n$/],
      ['a,b\n', ['csv.db'], /^line 1: is not JSON: .*\(invalid_line\)\n$/],
      [
        dumped.replace('"version":1', '"version":9'),
        ['later.db'],
        /this release reads version 1 \(unknown_format\)\n$/,
      ],
      [
        dumped.replace('"tasks"', '"task"'),
        ['other.db'],
        /"task", which the configuration does not declare; did you mean "tasks"\? \(unknown_collection\)\n$/,
      ],
      [
        dumped.replace('Bern', 'Basel'),
        ['changed.db'],
        /^the dump was changed: it has 40 documents .*\(wrong_digest\)\n$/,
      ],
    ]
    for (const [input, [file = ''], said] of faults) {
      const { code, stdout, stderr } = await runOn(input, 'load', '--data', file)
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(said)])
      expect(stderr).not.toMatch(STACK)
    }
  })

  test('needs a storage that lasts, and an input', async () => {
    for (const [args, said] of [
      [['load'], 'load needs --data or --database'],
      [['load', '--data', ':memory:'], 'load needs a file, because documents in memory are lost'],
      [['load', '--sessions', '--data', 'a.db'], '--sessions'],
      [['dump', '--resume', '--data', 'a.db'], '--resume'],
    ] as const) {
      const { code, stderr } = await run(...args)
      expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
    }
    const { stderr } = await shell(`(${COMMAND} load --data closed.db; echo "exit $?" >&2) <&-`, {
      cwd: folder(),
    })
    expect(stderr).toBe('the input is empty, and no dump (incomplete)\nexit 1\n')
  })
})

describe('what ends early', () => {
  const things = {
    collections: { things: { schema: { n: { type: 'integer' } }, permissions: { '*': true } } },
  }
  const PARTS = 3000
  let lines: readonly string[] = []
  beforeAll(async () => {
    await writeFiles({ 'things.json': things })
    const adapter = createSqliteAdapter({ file: join(folder(), 'things.db') })
    await adapter.open([{ name: 'things', indexes: [] }])
    const documents = Array.from({ length: PARTS }, (_, n) => ({ _id: idOf(n), _version: 1, n }))
    await adapter.write(
      documents.map((insert) => ({ in: 'things', insert })),
      {},
    )
    await adapter.close()
    const { stdout } = await run('dump', 'things.json', '--data', 'things.db')
    lines = stdout.match(/[^\n]*\n/g) ?? []
    await writeFile(join(folder(), 'things.ndjson'), stdout)
  })

  test('a dump fails if its reader ends before it', async () => {
    const { stderr } = await shell(
      `(${COMMAND} dump things.json --data things.db; echo "exit $?" >&2) | head -c 5`,
      {
        cwd: folder(),
      },
    )
    expect(stderr).toMatch(/^the output failed: .*\(output_failed\)\nexit 1\n$/)
  })

  // A limit of the size of files cuts a write, as a full disk does.
  test.runIf(process.platform === 'linux')('a dump fails if a file does not take its last line', async () => {
    const file = join(folder(), 'large.db')
    const adapter = createSqliteAdapter({ file })
    await adapter.open([{ name: 'things', indexes: [] }])
    const document = { _id: 'a', _version: 1, text: '' }
    const { length } = `${JSON.stringify({ in: 'things', document })}\n`
    const head = lines[0]?.length ?? 0
    const text = 'x'.repeat(100 * 1024 - head - length - 9)
    await adapter.write([{ in: 'things', insert: { ...document, text } }], {})
    await adapter.close()
    const { stderr } = await shell(
      `trap '' XFSZ; ulimit -f 100; ${COMMAND} dump things.json --data large.db > large.ndjson; echo "exit $?" >&2`,
      { cwd: folder(), shell: '/bin/bash' },
    )
    expect((await readFile(join(folder(), 'large.ndjson'), 'utf8')).slice(-9)).toBe('{"end":{"')
    expect(stderr).toMatch(/^the output failed: .*\(output_failed\)\nexit 1\n$/)
  })

  test('a load says that the disk is full, and that it can be continued', async () => {
    const { stderr } = await shell(
      `trap '' XFSZ; ulimit -f 200; ${COMMAND} load things.json --data full-disk.db < things.ndjson; echo "exit $?" >&2`,
      { cwd: folder(), shell: '/bin/bash' },
    )
    expect(stderr).toMatch(
      /^full-disk\.db cannot be used: .*\. The documents stored so far remain; .*--resume to continue\nexit 1\n$/,
    )
    const { stdout } = await shell(
      `${COMMAND} load things.json --resume --data full-disk.db < things.ndjson`,
      {
        cwd: folder(),
      },
    )
    expect(stdout).toContain('The storage agrees with the dump.')
  })

  const places: readonly (readonly [
    name: string,
    place: () => readonly [options: readonly string[], adapter: StorageAdapter],
  ])[] = [
    [
      'SQLite',
      () => {
        const file = join(folder(), `${newSchema()}.db`)
        return [['--data', file], createSqliteAdapter({ file })]
      },
    ],
    [
      'PostgreSQL',
      () => {
        const schema = newSchema()
        const adapter = createPostgresAdapter({ connectionString: postgres.url, schema })
        return [['--database', postgres.url, '--schema', schema], adapter]
      },
    ],
  ]

  test.each(places)(
    'in %s, continues with --resume',
    async (_, place) => {
      const [options, adapter] = place()
      opened.push(adapter)
      const count = async (): Promise<number> => {
        await adapter.open([{ name: 'things', indexes: [] }])
        return adapter.count('things', everything, {})
      }
      let before = 0
      for (const [signal, said] of [
        ['SIGKILL', /^$/],
        ['SIGINT', /^the load was interrupted; \d+ documents are stored\. .*--resume .*\(interrupted\)\n$/],
      ] as const) {
        const args = ['load', 'things.json', ...(before > 0 ? ['--resume'] : []), ...options]
        const child = spawn(process.execPath, [command, ...args], { cwd: folder() })
        let stderr = ''
        child.stderr.setEncoding('utf8').on('data', (text) => {
          stderr += text
        })
        const ended = once(child, 'close')
        child.stdin.on('error', () => {})
        child.stdin.write(lines.slice(0, before + 1200).join(''))
        await until(async () => (await count()) > before)
        child.kill(signal)
        const [code, by] = await ended
        expect([code, by]).toEqual(signal === 'SIGKILL' ? [null, 'SIGKILL'] : [1, null])
        expect(stderr).toMatch(said)
        before = await count()
        expect(before).toBeLessThan(PARTS)
      }
      const { stdout } = await shell(
        `${COMMAND} load things.json --resume ${options.map((one) => `"${one}"`).join(' ')} < things.ndjson`,
        { cwd: folder() },
      )
      expect(stdout).toContain(`Loaded ${PARTS - before} documents, ${before} were already stored.`)
      expect(await count()).toBe(PARTS)
    },
    60_000,
  )
})
