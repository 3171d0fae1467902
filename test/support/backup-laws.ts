import { copyFileSync } from 'node:fs'
import { chmod, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import type { backUp } from '../../src/adapters/sqlite/backup/back-up.js'
import type { restore } from '../../src/adapters/sqlite/backup/restore.js'
import { createSqliteAdapter } from '../../src/adapters/sqlite/sqlite-adapter.js'
import { everything } from '../../src/core/filter/filter.js'
import type { CollectionPlan, StorageAdapter } from '../../src/index.js'

/** What holds of backups of SQLite files (CONTRACT.md §7, "Backups"). */

export interface Backups {
  readonly backUp: typeof backUp
  readonly restore: typeof restore
}

const PLANS: readonly CollectionPlan[] = [
  { name: 'notes', indexes: [], log: { keep: 3_600_000, omit: [] } },
  { name: '_consumers', indexes: [], mark: 'mark' },
]

/** A file that is copied in several steps has documents of this size. */
const LARGE = 'x'.repeat(40_000)

export const unwatched = { signal: new AbortController().signal, onProgress() {} }

/** A folder with a file that is open, with notes. */
export async function createPlace(notes: readonly string[] = ['a'], text = '') {
  const folder = await mkdtemp(join(tmpdir(), 'collection-service-backup-'))
  const file = join(folder, 'app.db')
  const adapter = await openFile(file)
  if (notes.length > 0) await write(adapter, notes, text)
  return { file, adapter, out: join(folder, 'out.db') }
}

export async function openFile(file: string): Promise<StorageAdapter> {
  const adapter = createSqliteAdapter({ file })
  await adapter.open(PLANS)
  return adapter
}

/** Writes notes, all or none. */
export const write = async (adapter: StorageAdapter, ids: readonly string[], text = ''): Promise<unknown> =>
  adapter.write(
    ids.map((_id) => ({ in: 'notes', insert: { _id, _version: 1, text } })),
    {},
  )

/** The `_id`s of all notes of a file. */
export async function readNotes(file: string): Promise<readonly string[]> {
  const adapter = await openFile(file)
  try {
    const notes = await adapter.list('notes', { filter: everything, sort: [], skip: 0, limit: null })
    return notes.map(({ _id }) => _id).sort()
  } finally {
    await adapter.close()
  }
}

/** The code of the error of a backup or a restore. */
export const codeOf = (done: Promise<unknown>): Promise<unknown> =>
  done.then(
    () => 'done',
    (thrown: { readonly code?: unknown }) => thrown.code,
  )

/** The names of all files beside a file that belong to it or are left of its copy. */
const namesBeside = async (file: string): Promise<readonly string[]> =>
  (await readdir(dirname(file))).filter((name) => name.startsWith(basename(file))).sort()

const permissionsOf = async (file: string): Promise<number> => (await stat(file)).mode & 0o777

type Law = readonly [what: string, check: (backups: Backups) => Promise<void>]

export const laws: readonly Law[] = [
  [
    'a backup is one file with all that was written, also while the file is open',
    async ({ backUp }) => {
      const { file, adapter, out } = await createPlace(['a', 'b'])
      await write(adapter, ['c'])
      expect(await backUp(file, out, unwatched)).toBe((await stat(out)).size)
      expect(await namesBeside(out)).toEqual(['out.db'])
      // A file in WAL mode could not be read in a folder that cannot be written.
      expect((await readFile(out)).subarray(18, 20)).toEqual(Buffer.from([1, 1]))
      expect(await readNotes(out)).toEqual(['a', 'b', 'c'])
      await adapter.close()
    },
  ],
  [
    'a backup has what was written before its call, and nothing later',
    async ({ backUp }) => {
      const notes = Array.from({ length: 300 }, (_, i) => `n${i}`)
      const { file, adapter, out } = await createPlace(notes, LARGE)
      const writes: Promise<unknown>[] = []
      const onProgress = (): void => {
        if (writes.length < 20)
          writes.push(write(adapter, [`late ${writes.length}`, `later ${writes.length}`], LARGE))
      }
      await backUp(file, out, { ...unwatched, onProgress })
      await Promise.all(writes)
      expect(writes.length).toBeGreaterThan(1)
      expect(await readNotes(out)).toEqual([...notes].sort())
      await adapter.close()
    },
  ],
  [
    'a damaged file has no backup, and a damaged backup is not restored',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace(
        Array.from({ length: 200 }, (_, i) => `n${i}`),
        'x'.repeat(400),
      )
      await adapter.close()
      const handle = await open(file, 'r+')
      await handle.write(Buffer.alloc(4096, 7), 0, 4096, (await handle.stat()).size - 4096)
      await handle.close()
      expect(await codeOf(backUp(file, out, unwatched))).toBe('damaged')
      expect(await codeOf(restore(file, out, { ...unwatched, replaces: false }))).toBe('damaged')
      expect(await namesBeside(out)).toEqual([])
    },
  ],
  [
    'a backup overwrites nothing, and takes no name that SQLite would join with other files',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace()
      for (const part of ['', '-wal', '-shm', '-journal']) {
        await writeFile(out + part, 'kept')
        expect(await codeOf(backUp(file, out, unwatched))).toBe('already_exists')
        expect(await codeOf(restore(file, out, { ...unwatched, replaces: false }))).toBe('already_exists')
        expect(await readFile(out + part, 'utf8')).toBe('kept')
        await rm(out + part)
      }
      const onProgress = (): void => copyFileSync(file, out)
      const taken = await codeOf(backUp(file, out, { ...unwatched, onProgress }))
      expect([taken, await namesBeside(out)]).toEqual(['already_exists', ['out.db']])
      expect(await readFile(out)).toEqual(await readFile(file))
      await adapter.close()
    },
  ],
  [
    'an interrupted copy leaves nothing',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace()
      for (const copy of [backUp, restore]) {
        const ending = new AbortController()
        const onProgress = (): void => ending.abort()
        const done = copy(file, out, { onProgress, signal: ending.signal, replaces: false })
        expect([await codeOf(done), await namesBeside(out)]).toEqual(['interrupted', []])
      }
      await adapter.close()
    },
  ],
  [
    'a backup has the permissions of its source without those of others',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace()
      await adapter.close()
      for (const [mode, allowed] of [
        [0o644, 0o640],
        [0o600, 0o600],
        [0o666, 0o660],
      ] as const) {
        await chmod(file, mode)
        await backUp(file, out, unwatched)
        expect(await permissionsOf(out)).toBe(allowed)
        await rm(out)
      }
      await restore(file, out, { ...unwatched, replaces: false })
      expect(await permissionsOf(out)).toBe(0o600)
      await chmod(out, 0o644)
      await restore(file, out, { ...unwatched, replaces: true })
      expect(await permissionsOf(out)).toBe(0o644)
    },
  ],
  [
    'a restore replaces no file that is open',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace()
      await backUp(file, out, unwatched)
      await write(adapter, ['b'])
      expect(await codeOf(restore(out, file, { ...unwatched, replaces: true }))).toBe('in_use')
      expect(await namesBeside(file)).toEqual(['app.db', 'app.db-shm', 'app.db-wal'])
      await write(adapter, ['c'])
      await adapter.close()
      expect(await readNotes(file)).toEqual(['a', 'b', 'c'])
    },
  ],
  [
    'a restore keeps the earlier file, with the writes in its log',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace()
      await backUp(file, out, unwatched)
      await write(adapter, ['b'])
      // The files as a process leaves them that is killed.
      const crashed = `${file}.crashed`
      for (const part of ['', '-wal']) copyFileSync(file + part, crashed + part)
      await adapter.close()
      expect(await codeOf(restore(out, crashed, { ...unwatched, replaces: false }))).toBe('already_exists')
      const { before = '' } = await restore(out, crashed, { ...unwatched, replaces: true })
      expect(await namesBeside(crashed)).toEqual(['app.db.crashed', basename(before)])
      expect(await readNotes(crashed)).toEqual(['a'])
      expect(await readNotes(before)).toEqual(['a', 'b'])
    },
  ],
  [
    'a file that was opened before a restore replaced it cannot be written after it',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace()
      await backUp(file, out, unwatched)
      await adapter.close()
      const early = new Database(file)
      await restore(out, file, { ...unwatched, replaces: true })
      expect(() => early.pragma('journal_mode = WAL')).toThrow(/readonly/)
      early.close()
    },
  ],
  [
    'after a restore every earlier position is a gap, and consumers keep their places',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace()
      const read = (from: StorageAdapter, after: string | null) =>
        from.changes?.(after, { limit: 10, wait: 0 }) ?? Promise.reject(new Error('no log'))
      const { position } = await read(adapter, null)
      const record = { _id: 'told', _version: 1, position, mark: position, waiting: [{ after: position }] }
      await adapter.write([{ in: '_consumers', insert: record }], {})
      await write(adapter, ['b'])
      const kept = await read(adapter, position)
      await backUp(file, out, unwatched)
      await write(adapter, ['c'])
      const undone = await read(adapter, null)
      await adapter.close()
      await restore(out, file, { ...unwatched, replaces: true })

      const restored = await openFile(file)
      await write(restored, ['d'])
      for (const earlier of [position, kept.position, undone.position])
        expect((await read(restored, earlier)).gap).toBe(true)
      const all = { filter: everything, sort: [], skip: 0, limit: null }
      const [{ position: place, mark, waiting } = record] = (await restored.list(
        '_consumers',
        all,
      )) as unknown as readonly (typeof record)[]
      expect([mark, waiting]).toEqual([place, [{ after: place }]])
      const { gap, changes } = await read(restored, place)
      expect([gap, changes.map(({ id }) => id)]).toEqual([false, ['b', 'd']])
      await restored.close()
    },
  ],
  [
    'other files are neither backed up nor restored nor replaced',
    async ({ backUp, restore }) => {
      const { file, adapter, out } = await createPlace()
      await adapter.close()
      const other = `${file}.other`
      for (const content of ['text '.repeat(300), '']) {
        await writeFile(other, content)
        expect(await codeOf(backUp(other, out, unwatched))).toBe('not_a_storage')
        expect(await codeOf(restore(other, out, { ...unwatched, replaces: false }))).toBe('not_a_storage')
        expect(await codeOf(restore(file, other, { ...unwatched, replaces: true }))).toBe('not_a_storage')
        expect(await readFile(other, 'utf8')).toBe(content)
      }
      await rm(other)
      const database = new Database(other)
      database.exec('CREATE TABLE others (value)')
      expect(await codeOf(backUp(other, out, unwatched))).toBe('not_a_storage')
      database.close()
      expect(await codeOf(restore(file, other, { ...unwatched, replaces: true }))).toBe('not_a_storage')
      expect(await codeOf(backUp(`${file}.missing`, out, unwatched))).toBe('not_found')
      expect(await codeOf(backUp(file, join(out, 'no', 'folder.db'), unwatched))).toBe('no_folder')
      expect(await namesBeside(out)).toEqual([])
    },
  ],
]

/** Checks all laws. */
export async function checkBackups(backups: Backups): Promise<void> {
  for (const [, check] of laws) await check(backups)
}
