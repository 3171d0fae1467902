#!/usr/bin/env bash
# better-sqlite3 12.11.1 (SQLite 3.53): `PRAGMA journal_mode = WAL` does not wait for a lock, whatever the busy timeout is.
#
# With the option `timeout` of 2 seconds, a write waits so long for a lock that another connection holds, and then fails with
# SQLITE_BUSY. A change from the default journal to WAL fails at once. Programs usually set the timeout first and this
# pragma next, and take both for safe; but where another process writes to the file at that moment, the pragma
# fails. It needs a retry of its own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund better-sqlite3@12.11.1
cat >run.mjs <<'JS'
import Database from 'better-sqlite3'

const holder = new Database('app.db')
holder.exec('CREATE TABLE t (x)')
const other = new Database('app.db', { timeout: 2000 })
console.error('SQLite', other.prepare('SELECT sqlite_version()').pluck().get())
console.log('busy timeout:', other.pragma('busy_timeout', { simple: true }))

holder.exec('BEGIN IMMEDIATE; INSERT INTO t VALUES (1)')
for (const statement of ['INSERT INTO t VALUES (2)', 'PRAGMA journal_mode = WAL']) {
  const before = performance.now()
  try {
    other.exec(statement)
    console.log(`${statement}: done`)
  } catch (error) {
    const hasWaited = performance.now() - before > 1000
    console.log(`${statement}: ${error.code}, ${hasWaited ? 'after the timeout' : 'at once'}`)
  }
}
holder.exec('COMMIT')
other.exec('PRAGMA journal_mode = WAL')
console.log('after the commit:', other.pragma('journal_mode', { simple: true }))
JS
node run.mjs | tee seen
diff seen - <<'SEEN'
busy timeout: 2000
INSERT INTO t VALUES (2): SQLITE_BUSY, after the timeout
PRAGMA journal_mode = WAL: SQLITE_BUSY, at once
after the commit: wal
SEEN
