#!/usr/bin/env bash
# libsql 0.5.29 and @photostructure/sqlite 1.2.1 in one process, on one file in WAL mode: commits are lost without an error.
#
# Each package brings a SQLite of its own, and neither sees the locks of the other: POSIX locks belong to the process. When
# one closes its only connection, it believes that it was the last one, checkpoints, and deletes the `-wal` file. The other
# goes on writing to the deleted file. Its commits succeed under `synchronous = FULL` and its own reads show them, but they
# are on no disk: after a `kill -9` the next process does not find them. (An orderly close copies them into the database.)
# SQLite's documentation warns of two copies in one application ("How To Corrupt An SQLite Database File", section 2.2.1);
# nothing reports it when it happens.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund libsql@0.5.29 @photostructure/sqlite@1.2.1 2>/dev/null
cat >run.mjs <<'JS'
import { existsSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import Database from 'libsql'

const count = (database) => database.prepare('SELECT count(*) AS n FROM t').get().n

const writer = new DatabaseSync('app.db')
writer.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (x)')
writer.exec('INSERT INTO t VALUES (1), (2), (3)')
console.log('-wal before:', existsSync('app.db-wal'))

const other = new Database('app.db')
other.exec('SELECT count(*) FROM t')
other.close()
console.log('-wal after the other library closed:', existsSync('app.db-wal'))

writer.exec('INSERT INTO t VALUES (4), (5), (6)')
console.log('rows that the writer sees:', count(writer))
process.kill(process.pid, 'SIGKILL')
JS
cat >read.mjs <<'JS'
import { DatabaseSync } from '@photostructure/sqlite'

const { n } = new DatabaseSync('app.db').prepare('SELECT count(*) AS n FROM t').get()
console.log('rows that the next process sees:', n)
JS
{ node run.mjs || true; node read.mjs; } 2>/dev/null | tee seen
diff seen - <<'SEEN'
-wal before: true
-wal after the other library closed: false
rows that the writer sees: 6
rows that the next process sees: 3
SEEN
