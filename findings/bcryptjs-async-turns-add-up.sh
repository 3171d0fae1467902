#!/usr/bin/env bash
# bcryptjs 3.0.3 in Node: ten hashes at once block the event loop for a second in each of its turns.
#
# The asynchronous functions compute for 100 ms at a time (`MAX_EXECUTION_TIME`), then continue with `setImmediate`. Node
# runs all immediates of a turn one after another, so the pauses of hashes that run at once add up: with ten of them,
# timers and sockets wait for a second, until the hashes have ended. The README says that the functions split an operation
# into small chunks and yield "efficiently" for other computation; that holds for one hash. A server that hashes passwords
# needs a queue, so that one hash runs at a time, or a worker thread.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund bcryptjs@3.0.3
cat >run.mjs <<'JS'
import { setImmediate } from 'node:timers/promises'
import bcrypt from 'bcryptjs'

/** The longest turn of the event loop, in milliseconds, while so many hashes are computed at once. */
async function findLongestTurn(count) {
  let isOver = false
  let longest = 0
  const measure = async () => {
    while (!isOver) {
      const before = performance.now()
      await setImmediate()
      longest = Math.max(longest, performance.now() - before)
    }
  }
  const measuring = measure()
  await Promise.all(Array.from({ length: count }, () => bcrypt.hash('correct horse', 12)))
  isOver = true
  await measuring
  return longest
}

for (const count of [1, 10]) {
  const longest = await findLongestTurn(count)
  console.error(`${count} at once: the longest turn took ${Math.round(longest)} ms`)
  console.log(`${count} at once: a turn of more than 500 ms:`, longest > 500)
}
JS
node run.mjs | tee seen
diff seen - <<'SEEN'
1 at once: a turn of more than 500 ms: false
10 at once: a turn of more than 500 ms: true
SEEN
