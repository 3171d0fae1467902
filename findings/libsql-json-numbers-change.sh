#!/usr/bin/env bash
# libsql 0.5.29 (SQLite 3.45.1): `json_extract` reads some JSON numbers as the next double.
#
# JavaScript, and the JSON text in the database, have the shortest decimal of a double. SQLite of this version does not
# convert all decimals to the nearest double, so a coordinate that is stored as JSON comes back with other digits, and does
# not equal the same number bound as a parameter: a search by value misses its document. About 1 of 3,000 coordinates with
# seven decimals is affected. better-sqlite3 12.11.1 (SQLite 3.53) reads all of them exactly. One
# would expect to read what was stored; a program should compare such numbers within SQL, where both sides err alike.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund libsql@0.5.29 better-sqlite3@12.11.1 2>/dev/null
cat >run.mjs <<'JS'
import BetterSqlite3 from 'better-sqlite3'
import Libsql from 'libsql'

const QUERY = "SELECT json_extract(?, '$.x') AS read, json_extract(?, '$.x') = ? AS isSame"

for (const [name, Database] of Object.entries({ Libsql, BetterSqlite3 })) {
  const query = new Database(':memory:').prepare(QUERY)
  let others = 0
  let first
  for (let i = 0; i < 50_000; i++) {
    const x = Math.round((-180 + i * 0.0072007) * 1e7) / 1e7
    const text = JSON.stringify({ x })
    const { read, isSame } = query.get(text, text, x)
    if (isSame && read === x) continue
    others += 1
    first ??= `${x} is read as ${read}`
  }
  console.log(`${name}: ${others} of 50000 numbers are read as others${first ? `: ${first}` : ''}`)
}
JS
node run.mjs | tee seen
diff seen - <<'SEEN'
Libsql: 18 of 50000 numbers are read as others: -160.7597296 is read as -160.75972960000001
BetterSqlite3: 0 of 50000 numbers are read as others
SEEN
