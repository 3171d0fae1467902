import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { watchCopy } from '../../src/tools/cli/commands/backup.js'
import { createPlace, openFile, readNotes, write } from '../support/backup-laws.js'
import { ORIGIN, STACK, useCommand } from '../support/command.js'
import { isQuick } from '../support/tier.js'
import { until } from '../support/until.js'

// CONTRACT.md §7, "Backups"

const { folder, run, spawn, runSpawned, writeFiles } = useCommand()

const everyone = { '*': { read: true, create: true } }
const config = {
  collections: {
    notes: {
      changes: true,
      schema: { pair: { type: 'string' }, text: { type: 'string' } },
      permissions: everyone,
    },
  },
}

/** Serves a file in a process of its own. */
async function serve(file: string) {
  const served = spawn('config.json', '--port', '0', '--data', file)
  const [origin] = await served.printed(ORIGIN)
  const post = async (path: string, body: unknown): Promise<Response> =>
    fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  return {
    served,
    origin,
    post,
    async end() {
      served.stop()
      await served.ended
    },
  }
}

/** The pairs of a file, each with the number of its notes. */
function countPairs(file: string): ReadonlyMap<string, number> {
  const database = new Database(file, { readonly: true })
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    const text = `SELECT json_extract(document, '$.pair') AS pair, count(*) AS count FROM c_notes GROUP BY 1`
    const rows = database.prepare(text).raw().all() as [string, number][]
    return new Map(rows)
  } finally {
    database.close()
  }
}

const WRITERS = 8
const BACKUPS = isQuick ? 3 : 20

test('backups beside eight writers have every acknowledged write, and no half batch', async () => {
  await writeFiles({ 'config.json': config })
  const place = await openFile(join(folder(), 'busy.db'))
  // The copy takes several steps.
  const ids = Array.from({ length: 200 }, (_, i) => `first ${i}`)
  await write(place, ids, 'x'.repeat(40_000))
  await place.close()
  const { post, end } = await serve('busy.db')
  const acknowledged = new Set<string>()
  let isOver = false
  const writer = async (name: number): Promise<void> => {
    for (let i = 0; !isOver; i += 1) {
      const pair = `${name} ${i}`
      const create = { method: 'POST', path: '/notes', body: { pair } }
      const { status } = await post('/_batch', { operations: [create, create] })
      expect(status).toBe(200)
      acknowledged.add(pair)
    }
  }
  const writers = Array.from({ length: WRITERS }, (_, i) => writer(i))
  for (let i = 0; i < BACKUPS; i += 1) {
    const before = [...acknowledged]
    const out = `busy-${i}.db`
    const { code, stdout, stderr } = await runSpawned('backup', '--data', 'busy.db', out)
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^Copied busy\.db to busy-\d+\.db, and checked/),
    ])
    expect(stderr).not.toMatch(STACK)
    const pairs = countPairs(join(folder(), out))
    expect(before.filter((pair) => pairs.get(pair) !== 2)).toEqual([])
    expect([...pairs].filter(([pair, count]) => pair !== null && count !== 2)).toEqual([])
  }
  isOver = true
  await Promise.all(writers)
  await end()
  expect(acknowledged.size).toBeGreaterThan(BACKUPS)
  expect((await readdir(folder())).filter((name) => /^busy-\d+\.db./.test(name))).toEqual([])
}, 600_000)

test('a signal ends a backup, which leaves nothing', async () => {
  const { file, adapter, out } = await createPlace(
    Array.from({ length: 1000 }, (_, i) => `n${i}`),
    'x'.repeat(40_000),
  )
  await adapter.close()
  const names = (): Promise<readonly string[]> => readdir(join(file, '..'))
  // On a busy machine, a backup can end before this process sees it.
  for (let code: number | null = 0; code === 0; ) {
    await rm(out, { force: true })
    let hasEnded = false
    const backup = spawn('backup', '--data', file, out)
    void backup.ended.then(() => {
      hasEnded = true
    })
    await until(async () => hasEnded || (await names()).some((name) => name.startsWith('out.db.partial-')))
    backup.stop()
    code = await backup.ended
    if (code !== 0) expect([code, backup.stderr()]).toEqual([1, expect.stringMatching(/\(interrupted\)$/m)])
  }
  expect(await names()).toEqual(['app.db'])
}, 180_000)

describe('restore', () => {
  test('puts a backup in the place of a file that is no longer served', async () => {
    await writeFiles({ 'config.json': config })
    const first = await serve('app.db')
    await first.post('/notes', { text: 'kept' })
    expect((await run('backup', '--data', 'app.db', 'app-1.db')).code).toBe(0)
    await first.post('/notes', { text: 'undone' })
    const refused = await run('restore', 'app-1.db', '--data', 'app.db', '--yes')
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /app\.db cannot be replaced: another process has it open; .*\(in_use\)\n$/,
      ),
    })
    await first.end()

    const asked = await run('restore', 'app-1.db', '--data', 'app.db')
    expect(asked).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^app\.db exists already; with --yes, restore replaces it.*already_exists/,
      ),
    })
    const { code, stdout } = await run('restore', 'app-1.db', '--data', 'app.db', '--yes')
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Restored app\.db from app-1\.db.*\nThe earlier file is now \S+before-\d{8}T\d{6}Z\.\n$/,
      ),
    ])
    const second = await serve('app.db')
    const texts = (await (await fetch(`${second.origin}/notes`)).json()).map(
      ({ text }: { text: string }) => text,
    )
    expect(texts).toEqual(['kept'])
    await second.end()
    const [, before = ''] = /now (\S+)\.\n/.exec(stdout) ?? []
    expect(countPairs(before).get(null as never)).toBe(2)
  }, 180_000)

  test('creates a missing file', async () => {
    const { file, adapter } = await createPlace(['a'])
    const { code, stdout } = await run('restore', file, '--data', 'new.db')
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Restored new\.db from .*\n$/)])
    expect(await readNotes(join(folder(), 'new.db'))).toEqual(['a'])
    await adapter.close()
  })
})

test('progress is printed once a second', () => {
  let time = 0
  const lines: string[] = []
  const { onProgress } = watchCopy(
    { complain: (line) => lines.push(line) },
    () => {},
    () => time,
  )
  for (; time < 2500; time += 100) onProgress(time * 1000, 2_500_000)
  expect(lines).toEqual(['Copied 1.0 MB of 2.5 MB.', 'Copied 2.0 MB of 2.5 MB.'])
})

test.each([
  [['backup', '--data', 'none.db', 'out.db'], 1, 'there is no file none.db (not_found)\n'],
  [
    ['backup', '--data', 'text.db', 'out.db'],
    1,
    'it is not an SQLite file, or it is encrypted (not_a_storage)\n',
  ],
  [
    ['backup', '--data', 'app.db', 'text.db'],
    1,
    'text.db exists already: it is not overwritten (already_exists)\n',
  ],
  [['backup', '--data', 'app.db', 'no/out.db'], 1, 'its folder does not exist; create it (no_folder)\n'],
  [['restore', 'none.db', '--data', 'out.db'], 1, 'there is no file none.db (not_found)\n'],
  [
    ['restore', 'app.db', '--data', 'text.db', '--yes'],
    1,
    'stop all processes and move it away (not_a_storage)\n',
  ],
  [['backup', '--data', 'app.db'], 2, 'backup needs the name of a new file\n'],
  [['backup', '--data', 'app.db', 'a.db', 'b.db'], 2, 'and only one; also found b.db\n'],
  [['backup', 'out.db'], 2, 'backup needs --data, which names the SQLite file of the service\n'],
  [['backup', '--data', ':memory:', 'out.db'], 2, 'backup needs --data'],
  [
    ['backup', '--data', 'postgres://ann:secret@host/app', 'out.db'],
    2,
    'use pg_dump and pg_restore, see docs/backup.md\n',
  ],
  [['restore', '--data', 'app.db'], 2, 'restore needs the name of a backup\n'],
  [
    ['backup', '--data', 'app.db', 'out.db', '--yes'],
    2,
    'backup has no option --yes, which belongs to restore and migrate\n',
  ],
])('%j says what is wrong', async (args, code, text) => {
  await writeFiles({ 'text.db': 'text '.repeat(300) })
  if (!existsSync(join(folder(), 'app.db'))) {
    const place = await openFile(join(folder(), 'app.db'))
    await place.close()
  }
  const { stderr, ...ended } = await run(...args)
  expect(ended.code).toBe(code)
  expect(stderr).toContain(text)
  expect(stderr).not.toMatch(/secret|at .+:\d+:\d+/)
  expect(existsSync(join(folder(), 'out.db'))).toBe(false)
  expect(await readFile(join(folder(), 'text.db'), 'utf8')).toMatch(/^text /)
})
