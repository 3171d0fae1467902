import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'

// CONTRACT.md §8, "Check": documents are read page by page

const script = fileURLToPath(new URL('support/check-heap.mjs', import.meta.url))
const COUNT = 6000
/** Characters. All documents together are many times what may be held. */
const LENGTH = 12_000
/** MiB: the bits of a unique index take 16, a page 4 as text, and as much as objects. */
const MOST = 48

/** Stores documents as the adapter does, each without a field that the configuration requires. */
function fill(file: string): void {
  const database = new Database(file)
  database.exec('CREATE TABLE c_notes (_id TEXT NOT NULL PRIMARY KEY, document TEXT NOT NULL)')
  database
    .prepare(
      `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
      INSERT INTO c_notes SELECT printf('0190163d-8694-7000-8000-%012d', n), json_object(
        '_id', printf('0190163d-8694-7000-8000-%012d', n), 'text', printf('%.*c', ?, 'x'), 'code', CAST(max(n, 2) AS TEXT),
        'createdAt', '2026-01-01T00:00:00.000Z', 'updatedAt', '2026-01-01T00:00:00.000Z', 'createdBy', null, '_version', 1,
        'other', 1
      ) FROM numbers`,
    )
    .run(COUNT, LENGTH)
  database.close()
}

test('a check of many stored documents does not hold them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-check-heap-'))
  try {
    const file = join(folder, 'app.db')
    fill(file)
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--expose-gc', script, file, String(COUNT)],
      { env: { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '' } },
    )
    const { growth, report } = JSON.parse(stdout)
    expect(report).toMatchObject({
      invalid: { count: COUNT },
      cut: { count: COUNT },
      unreadable: { count: COUNT },
      notUnique: [{ count: 2 }],
    })
    expect(growth).toBeLessThan(MOST)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
