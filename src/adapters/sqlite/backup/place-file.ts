import { chmod, chown, link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { explained } from './backup-error.js'

/** Moves a file to a new name of the same file system, and overwrites nothing. The file is on disk when this resolves. */
export async function placeFile(copy: string, file: string, mode: number): Promise<void> {
  await explained(`${file} cannot be written`, async () => {
    await chmod(copy, mode)
    await sync(copy)
    // `rename` alone would overwrite a file that another process has just created.
    await (await open(file, 'wx', 0o600)).close()
    await rename(copy, file)
    await sync(dirname(file))
  })
}

/**
 * Puts a file in the place of another one, which gets the name `before`. There is a file with the name `file` at each
 * moment. The new file has the permissions and the owner of the earlier one.
 */
export async function replaceFile(copy: string, file: string, before: string): Promise<void> {
  await explained(`${file} cannot be replaced`, async () => {
    const { mode, uid, gid } = await stat(file)
    await chmod(copy, mode)
    const own = await stat(copy)
    if (own.uid !== uid || own.gid !== gid) await chown(copy, uid, gid)
    await sync(copy)
    await explained(`${before} cannot be written`, () => link(file, before))
    await rename(copy, file).catch(async (thrown: unknown) => {
      await rm(before)
      throw thrown
    })
    await sync(dirname(file))
  })
}

/** Writes a file or the names in a folder to the disk. Windows does not open folders, and keeps names itself. */
async function sync(path: string): Promise<void> {
  const isFolder = (await stat(path)).isDirectory()
  if (isFolder && process.platform === 'win32') return
  const handle = await open(path, isFolder ? 'r' : 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
