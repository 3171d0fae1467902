#!/usr/bin/env bash
# @azure/functions 4.16.5: the `HttpRequest` that a v4 function gets looks like a web-standard Request, and has no `signal`.
#
# It has `method`, `url`, `headers`, `body` and `clone`, so a fetch-style handler takes it. `request.signal` is `undefined`:
# code such as `request.signal.aborted` throws, possibly after it has stored something. `bytes()` is absent too, and it is
# no instance of `Request`, nor does `new Request(request)` accept it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @azure/functions@4.16.5
cat >run.mjs <<'JS'
import functions from '@azure/functions'

const request = new functions.HttpRequest({
  method: 'POST',
  url: 'http://localhost/api/articles',
  headers: { 'content-type': 'application/json' },
  body: { string: '{"a":1}' },
})
for (const name of ['method', 'url', 'headers', 'body', 'clone', 'text', 'bytes', 'signal'])
  console.log(name, typeof request[name])
console.log('instanceof Request', request instanceof Request)
try {
  new Request(request)
} catch (error) {
  console.log('new Request(request)', error.name)
}
JS
node run.mjs | tee seen
diff seen - <<'SEEN'
method string
url string
headers object
body object
clone function
text function
bytes undefined
signal undefined
instanceof Request false
new Request(request) TypeError
SEEN
