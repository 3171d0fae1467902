#!/usr/bin/env bash
# @hattip/adapter-node 0.0.49 on Node 20: `request.signal` aborts as soon as the body of a POST was read.
#
# The client is still connected and receives the answer. A handler that takes the signal for "the client has gone", as
# MDN and undici describe it, gives up every request that has a body. The adapter listens to the `close` event of the
# incoming message, which node emits when the body has ended; a GET, whose body nothing reads, keeps its signal.
# Expected: aborted only when the connection closes before the answer has ended.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @hattip/adapter-node@0.0.49
cat >run.mjs <<'JS'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createMiddleware } from '@hattip/adapter-node'

const server = createServer(
  createMiddleware(async ({ request }) => {
    const before = request.signal.aborted
    const text = await request.text()
    await setTimeout(50)
    return new Response(`${request.method} ${text.length} bytes, aborted: ${before} -> ${request.signal.aborted}`)
  }),
)
await new Promise((resolve) => server.listen(0, resolve))
const url = `http://localhost:${server.address().port}`
console.log(await (await fetch(url, { method: 'POST', body: '{"a":1}' })).text())
console.log(await (await fetch(url)).text())
server.close()
JS
node run.mjs | tee seen
diff seen - <<'SEEN'
POST 7 bytes, aborted: false -> true
GET 0 bytes, aborted: false -> false
SEEN
