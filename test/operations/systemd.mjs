import { execFileSync } from 'node:child_process'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder, root, run } from '../support/packed.mjs'

/** Asks systemd whether it understands the unit of `examples/deployment`: it prints what it ignores or does not find. */
export async function operate() {
  const [, version] = /^systemd (\d+)/.exec(
    execFileSync('systemd-analyze', ['--version'], { encoding: 'utf8' }),
  )
  const folder = await createFolder('systemd')
  try {
    // An instance of the template, whose name ends with its port.
    const unit = join(folder, 'collections@3001.service')
    await copyFile(join(root, 'examples/deployment/collections@.service'), unit)
    const { status, stdout, stderr } = await run('systemd-analyze', ['verify', unit])
    const said = (stdout + stderr).trim()
    return {
      title: `systemd ${version}`,
      about: '`systemd-analyze verify` for `examples/deployment/collections@.service`',
      columns: ['check', 'result'],
      rows: [
        {
          isRight: status === 0 && said === '',
          cells: ['an instance', said || 'nothing is said against it'],
        },
      ],
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
