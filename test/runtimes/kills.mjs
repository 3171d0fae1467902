/** Finds and kills programs that write pairs of documents, each pair in one batch, and judges what they have stored. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function listProcesses() {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,comm='])
  return stdout.split('\n').map((line) => {
    const [pid, parent, group, state = '', name = ''] = line.trim().split(/\s+/)
    return { pid: Number(pid), parent: Number(parent), group: Number(group), state, name }
  })
}

/** The id of the child of this process whose name has a part. */
export async function findChild(part) {
  const all = await listProcesses()
  const found = all.filter(({ parent, name }) => parent === process.pid && name.includes(part))
  if (found.length !== 1) throw new Error(`${part} is ${found.length} processes`)
  return found[0].pid
}

/** Kills all processes of a group, and waits for their ends. */
export async function killGroup(group) {
  process.kill(-group, 'SIGKILL')
  // A zombie has ended, and only its parent has not read how.
  const runs = ({ group: its, state }) => its === group && !state.startsWith('Z')
  while ((await listProcesses()).some(runs)) await wait(5)
}

/**
 * Judges what a storage has after kills. `told`: the pairs that it has acknowledged. `stored`: the pair of each document.
 */
export function judgePairs(judge, storage, { told, stored }) {
  const counts = new Map()
  for (const pair of stored) counts.set(pair, (counts.get(pair) ?? 0) + 1)
  const lost = told.filter((pair) => !counts.has(pair))
  const torn = [...counts].filter(([, count]) => count !== 2)
  console.log(`${storage}: ${told.length} acknowledged, ${counts.size} stored`)
  judge(`${storage} › ${lost.length} of ${told.length} writes are lost: ${lost[0]}`, lost.length === 0)
  judge(`${storage} › ${torn.length} writes are torn: ${torn[0]}`, torn.length === 0)
}
