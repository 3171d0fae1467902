/** By hand over pg: one statement for each request beside the one that finds the user, an index for each list. */
import pg from 'pg'
import { createApp, createTokens, hash, SHOWN, write } from './by-hand.mjs'

export { write }

// Timestamps are text, as in the other servers: what they cost to convert is no subject here.
const MINE = 'team IN (SELECT team FROM memberships WHERE person = $1)'
const ORDER = 'ORDER BY due, id LIMIT 20'

/** Each statement, and the names of its values behind the user. */
const STATEMENTS = {
  team: [`SELECT ${SHOWN} FROM tasks WHERE team = $2 AND status = $3 AND ${MINE} ${ORDER}`, 'team', 'status'],
  mine: [`SELECT ${SHOWN} FROM tasks WHERE assignee = $1 AND due >= $2 AND ${MINE} ${ORDER}`, 'from'],
  newest: [
    `SELECT newest.* FROM memberships, LATERAL (SELECT ${SHOWN} FROM tasks WHERE tasks.team = memberships.team ORDER BY created_at DESC, id DESC LIMIT 20) AS newest WHERE person = $1 ORDER BY created_at DESC, id DESC LIMIT 20`,
  ],
  search: [
    `SELECT ${SHOWN} FROM tasks WHERE team = $2 AND strpos(title, $3) > 0 AND ${MINE} ${ORDER}`,
    'team',
    'text',
  ],
  read: [`SELECT ${SHOWN} FROM tasks WHERE id = $2 AND ${MINE}`, 'id'],
  count: [
    `SELECT count(*)::int AS total FROM tasks WHERE team = $2 AND due >= $3 AND due < $4 AND ${MINE}`,
    'team',
    'from',
    'to',
  ],
  patch: [
    `UPDATE tasks SET status = coalesce($3, status), priority = coalesce($4, priority), updated_at = $5 WHERE id = $2 AND ${MINE} RETURNING ${SHOWN}`,
    ...['id', 'status', 'priority', 'now'],
  ],
  create: [
    `INSERT INTO tasks (id, team, title, status, priority, due, assignee, notes, created_at, updated_at, created_by) SELECT $2::uuid, team, $4, $5, $6::int, $7, $8::uuid, $9, $10, $10, $1 FROM memberships WHERE person = $1 AND team = $3 RETURNING ${SHOWN}`,
    ...['id', 'team', 'title', 'status', 'priority', 'due', 'assignee', 'notes', 'now'],
  ],
}

const insertAll = async (pool, table, rows) => {
  for (let i = 0; i < rows.length; i += 1000) {
    const some = JSON.stringify(rows.slice(i, i + 1000))
    await pool.query(`INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1)`, [
      some,
    ])
  }
}

export async function create(_, { people, tasks }) {
  const schema = `bench_hand_${process.pid}`
  const pool = new pg.Pool({
    connectionString: process.env.DATABASE_URL,
    max: 10,
    options: `-c search_path=${schema}`,
  })
  await pool.query(`CREATE SCHEMA ${schema};
    CREATE TABLE sessions (hash text PRIMARY KEY, person uuid NOT NULL);
    CREATE TABLE memberships (person uuid, team uuid, PRIMARY KEY (person, team));
    CREATE TABLE tasks (id uuid PRIMARY KEY, team uuid NOT NULL, title text COLLATE "C" NOT NULL, status text NOT NULL, priority int, due text COLLATE "C", assignee uuid, budget int, notes text, created_at text COLLATE "C" NOT NULL, updated_at text NOT NULL, created_by uuid);
    CREATE INDEX ON tasks (team, status, due, id); CREATE INDEX ON tasks (team, due, id);
    CREATE INDEX ON tasks (assignee, due, id); CREATE INDEX ON tasks (team, created_at DESC, id DESC)`)
  const tokens = createTokens(people)
  const sessions = people.map(({ _id }, i) => ({ hash: hash(tokens[i]), person: _id }))
  const memberships = people.flatMap(({ _id, teams }) => teams.map((team) => ({ person: _id, team })))
  const rows = tasks.map(({ _id, createdAt, ...task }) => ({
    ...task,
    id: _id,
    created_at: createdAt,
    updated_at: createdAt,
  }))
  await insertAll(pool, 'sessions', sessions)
  await insertAll(pool, 'memberships', memberships)
  await insertAll(pool, 'tasks', rows)
  await pool.query('ANALYZE')
  const run = async (name, text, values) => (await pool.query({ name, text, values })).rows
  const findUser = async (hash) =>
    (await run('user', 'SELECT person FROM sessions WHERE hash = $1', [hash]))[0]?.person
  const find = (kind, values) => {
    const [text, ...names] = STATEMENTS[kind]
    return run(kind, text, [values.me, ...names.map((name) => values[name])])
  }
  return { handle: createApp({ find, findUser }).fetch, tokens, ids: people.map(({ _id }) => _id) }
}
