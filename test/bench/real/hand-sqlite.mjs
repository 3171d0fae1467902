/** By hand over better-sqlite3: prepared statements, an index for each list, membership in SQL. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createApp, createTokens, hash, SHOWN, write } from './by-hand.mjs'

export { write }

const MINE = 'team IN (SELECT team FROM memberships WHERE user = @me)'
const ORDER = 'ORDER BY due, id LIMIT 20'

const STATEMENTS = {
  team: `SELECT ${SHOWN} FROM tasks WHERE team = @team AND status = @status AND ${MINE} ${ORDER}`,
  mine: `SELECT ${SHOWN} FROM tasks WHERE assignee = @me AND due >= @from AND ${MINE} ${ORDER}`,
  search: `SELECT ${SHOWN} FROM tasks WHERE team = @team AND ${MINE} AND instr(title, @text) > 0 ${ORDER}`,
  read: `SELECT ${SHOWN} FROM tasks WHERE id = @id AND ${MINE}`,
  count: `SELECT count(*) AS total FROM tasks WHERE team = @team AND due >= @from AND due < @to AND ${MINE}`,
  patch: `UPDATE tasks SET status = coalesce(@status, status), priority = coalesce(@priority, priority), updated_at = @now WHERE id = @id AND ${MINE} RETURNING ${SHOWN}`,
  create: `INSERT INTO tasks (id, team, title, status, priority, due, assignee, notes, created_at, updated_at, created_by) SELECT @id, team, @title, @status, @priority, @due, @assignee, @notes, @now, @now, @me FROM memberships WHERE user = @me AND team = @team RETURNING ${SHOWN}`,
}

export async function create(_, { people, tasks }) {
  const db = new Database(join(await mkdtemp(join(tmpdir(), 'bench-')), 'data.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec(`CREATE TABLE sessions (hash TEXT PRIMARY KEY, user TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE memberships (user TEXT, team TEXT, PRIMARY KEY (user, team)) WITHOUT ROWID;
    CREATE TABLE tasks (id TEXT PRIMARY KEY, team TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL, priority INTEGER, due TEXT, assignee TEXT, budget INTEGER, notes TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, created_by TEXT);
    CREATE INDEX by_status ON tasks (team, status, due, id); CREATE INDEX by_due ON tasks (team, due, id);
    CREATE INDEX by_assignee ON tasks (assignee, due, id); CREATE INDEX by_age ON tasks (team, created_at, id)`)
  const tokens = createTokens(people)
  db.transaction(() => {
    const addSession = db.prepare('INSERT INTO sessions VALUES (?, ?)')
    const addMember = db.prepare('INSERT INTO memberships VALUES (?, ?)')
    for (const [i, { _id, teams }] of people.entries()) {
      addSession.run(hash(tokens[i]), _id)
      for (const team of teams) addMember.run(_id, team)
    }
    const addTask = db.prepare(
      'INSERT INTO tasks VALUES (@_id, @team, @title, @status, @priority, @due, @assignee, @budget, @notes, @createdAt, @createdAt, NULL)',
    )
    for (const task of tasks) addTask.run(task)
  })()
  const prepared = new Map(Object.entries(STATEMENTS).map(([kind, text]) => [kind, db.prepare(text)]))
  const userOf = db.prepare('SELECT user FROM sessions WHERE hash = ?').pluck()
  const teamsOf = db.prepare('SELECT team FROM memberships WHERE user = ?').pluck()
  const newestOf = db.prepare(
    `SELECT ${SHOWN} FROM tasks WHERE team = ? ORDER BY created_at DESC, id DESC LIMIT 20`,
  )
  // The newest of each team by its index, then of all: to sort the tasks of all teams would cost twenty times as much.
  const isNewer = (a, b) =>
    a.created_at < b.created_at || (a.created_at === b.created_at && a.id < b.id) ? 1 : -1
  const findNewest = ({ me }) =>
    teamsOf
      .all(me)
      .flatMap((team) => newestOf.all(team))
      .sort(isNewer)
      .slice(0, 20)
  const find = (kind, values) => (kind === 'newest' ? findNewest(values) : prepared.get(kind).all(values))
  const app = createApp({ find, findUser: (hash) => userOf.get(hash) })
  return { handle: app.fetch, tokens, ids: people.map(({ _id }) => _id) }
}
