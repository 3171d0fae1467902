import { existsSync, readdirSync, statSync } from 'node:fs'
import { lstat, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { backUp } from '../../src/adapters/sqlite/backup/back-up.js'
import { restore } from '../../src/adapters/sqlite/backup/restore.js'
import { codeOf, createPlace, unwatched } from '../support/backup-laws.js'

// CONTRACT.md §7, "Backups": what others of the same machine gain by a backup

const OTHERS = 0o077

test('others can read no part of a copy before it has its permissions', async () => {
  const { file, adapter, out } = await createPlace()
  const modes: number[] = []
  const onProgress = (): void => {
    for (const name of readdirSync(dirname(out)))
      if (name.startsWith('out.db')) modes.push(statSync(join(dirname(out), name)).mode & OTHERS)
  }
  await backUp(file, out, { ...unwatched, onProgress })
  expect(modes).toEqual([0])
  await adapter.close()
})

test('a link in the place of the backup is not followed', async () => {
  const { file, adapter, out } = await createPlace()
  const target = `${file}.target`
  await symlink(target, out)
  expect(await codeOf(backUp(file, out, unwatched))).toBe('already_exists')
  expect(existsSync(target)).toBe(false)
  await writeFile(target, 'kept')
  expect(await codeOf(backUp(file, out, unwatched))).toBe('already_exists')
  expect(await codeOf(restore(file, out, { ...unwatched, replaces: true }))).toBe('not_a_storage')
  expect(await readFile(target, 'utf8')).toBe('kept')
  await adapter.close()
})

test('a restore through a link replaces the file, and keeps the link', async () => {
  const { file, adapter, out } = await createPlace()
  await backUp(file, out, unwatched)
  await adapter.close()
  const link = `${file}.link`
  await symlink(file, link)
  const { before = '' } = await restore(out, link, { ...unwatched, replaces: true })
  expect((await lstat(link)).isSymbolicLink()).toBe(true)
  expect([dirname(before), (await lstat(before)).isFile()]).toEqual([dirname(file), true])
})
