/** Builds the package of an earlier commit once, and keeps it in `node_modules/.cache/twin`. */
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder, root, run, runSound } from '../support/packed.mjs'

/** The commit that the package of today is compared with. */
export const BEFORE = '9324cfdd2c0eca5bb6ddad6a287a1a9162599e9a'

/** The history of this checkout lacks the commit. */
export class NoHistory extends Error {}

const lockOf = (folder) => readFile(join(folder, 'package-lock.json'), 'utf8')

/** The folder of the package as it was, with its `dist`, and with what it needs. */
export async function buildEarlier() {
  const kept = join(root, 'node_modules', '.cache', 'twin', BEFORE)
  if (existsSync(kept)) return kept
  const known = await run('git', ['cat-file', '-e', `${BEFORE}^{commit}`], { cwd: root })
  if (known.status !== 0) throw new NoHistory(NO_HISTORY)
  console.log(`builds ${BEFORE.slice(0, 12)}, once`)
  const folder = await createFolder('twin')
  try {
    await runSound('git', ['archive', '--format=tar', `--output=${join(folder, 'source.tar')}`, BEFORE], {
      cwd: root,
    })
    await runSound('tar', ['-xf', 'source.tar'], { cwd: folder })
    const isSame = (await lockOf(folder)) === (await lockOf(root))
    if (isSame) await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
    else
      await runSound('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], {
        cwd: folder,
        seconds: 600,
      })
    await runSound('npm', ['run', 'build', '--silent'], { cwd: folder, seconds: 600 })
    // Compilers treat files in `node_modules` as dependencies, so the build runs outside and is copied.
    const part = `${kept}.part`
    await rm(part, { recursive: true, force: true })
    await mkdir(part, { recursive: true })
    const needed = ['package.json', 'dist', ...(isSame ? [] : ['node_modules'])]
    for (const name of needed)
      await cp(join(folder, name), join(part, name), { recursive: true, verbatimSymlinks: true })
    await rename(part, kept)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return kept
}

const NO_HISTORY = `This checkout does not have the commit ${BEFORE}, with which the package is compared.
A shallow clone gets it by: git fetch --unshallow
or by: git fetch origin ${BEFORE}`
