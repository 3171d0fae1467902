/**
 * A server for `@libsql/client` like sqld, over a connection of the package `libsql`. It speaks the part of Hrana 2 over
 * HTTP that a batch needs: a stream for each request, with `store_sql`, `batch` and `close`.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'

const encode = (value) => {
  if (value === null) return { type: 'null' }
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) }
  return typeof value === 'number' ? { type: 'float', value } : { type: 'text', value: String(value) }
}

const decode = ({ type, value }) => {
  if (type === 'null') return null
  return type === 'integer' ? BigInt(value) : value
}

function execute(connection, sql, args) {
  const statement = connection.prepare(sql).safeIntegers(true)
  const columns = sql.startsWith('SELECT') ? statement.columns() : []
  const rows = columns.length > 0 ? statement.raw(true).all(args) : []
  return {
    cols: columns.map(({ name }) => ({ name })),
    rows: rows.map((row) => row.map(encode)),
    affected_row_count: columns.length > 0 ? 0 : statement.run(args).changes,
    last_insert_rowid: null,
  }
}

/** Whether the condition of a step holds, by the results and errors of earlier steps. */
function holds(condition, results, errors) {
  if (!condition) return true
  const { type, step, cond, conds } = condition
  if (type === 'ok') return results[step] !== null
  if (type === 'error') return errors[step] !== null
  if (type === 'not') return !holds(cond, results, errors)
  if (type === 'and') return conds.every((one) => holds(one, results, errors))
  throw new Error(`the condition ${type} is unknown`)
}

function runBatch(connection, { steps }, texts) {
  const results = steps.map(() => null)
  const errors = steps.map(() => null)
  for (const [i, { condition, stmt }] of steps.entries()) {
    if (!holds(condition, results, errors)) continue
    const sql = stmt.sql ?? texts.get(stmt.sql_id)
    try {
      results[i] = execute(connection, sql, (stmt.args ?? []).map(decode))
    } catch ({ code, message }) {
      errors[i] = { code, message: `SQLite error: ${message}` }
    }
  }
  return { type: 'batch', result: { step_results: results, step_errors: errors } }
}

/** Answers the requests of one stream. */
function runStream(connection, requests) {
  const texts = new Map()
  return requests.map(({ type, sql_id: id, sql, batch }) => {
    if (type === 'store_sql') texts.set(id, sql)
    return { type: 'ok', response: type === 'batch' ? runBatch(connection, batch, texts) : { type } }
  })
}

/**
 * Returns the `fetch` of a client whose server has this connection. All streams use it, because each is over when the
 * next begins.
 */
export const createFetch = (connection) => async (request) => {
  const { requests } = await request.json()
  return Response.json({ baton: null, base_url: null, results: runStream(connection, requests) })
}

/** Starts a server. While `cut` is set, it breaks the connection of a request `before` or `after` its statements. */
export async function serveLibsql(connection) {
  const answer = createFetch(connection)
  const state = { cut: undefined }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request.setEncoding('utf8')) body += part
    if (state.cut === 'before') return request.socket.destroy()
    const answered = await (await answer(new Request('http://sqld', { method: 'POST', body }))).text()
    if (state.cut === 'after') return request.socket.destroy()
    response.setHeader('content-type', 'application/json')
    response.end(answered)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
}
