import { isServiceError } from '../../../errors.js'
import { quoteName } from '../../sql/dialect.js'
import { messageOf, UnusableStorage } from '../../sql/faults.js'
import type { Connections } from '../connection/connections.js'
import { codeOf, isDenied, isLost, isReadOnly, lacksLanguage, unavailable } from '../faults.js'

/** The advice for a server that rejects connections. The text of the server names the database and the role. */
const REFUSED: readonly (readonly [code: RegExp, advice: string])[] = [
  [/^28/, 'correct the user and the password of the connection, or let the role in by pg_hba.conf'],
  [/^3D/, 'create the database, or correct its name in the connection'],
  [/^42501/, 'grant the role CONNECT on the database'],
  [/^53300/, 'raise max_connections of the server, or lower the connections of its clients'],
]

/** Explains to the operator why the opening of a schema failed. */
export async function explainOpening(
  use: Connections['use'] | undefined,
  schema: string,
  thrown: unknown,
): Promise<unknown> {
  if (isServiceError(thrown)) {
    const { cause } = thrown
    const advice = REFUSED.find(([code]) => code.test(codeOf(cause)))?.[1]
    return advice === undefined ? thrown : unavailable(explained(cause, advice))
  }
  if (isReadOnly(thrown))
    return unavailable(explained(thrown, 'connect to a server that takes writes, which a standby does not'))
  if (isLost(thrown)) return unavailable(thrown)
  return (isDenied(thrown) || lacksLanguage(thrown)) && use ? explainDenied(use, schema, thrown) : thrown
}

const explained = (cause: unknown, advice: string): Error =>
  new Error(`${messageOf(cause)}; ${advice}`, { cause })

/** Names the role, which the server's error does not, and the rights that it needs. */
async function explainDenied(use: Connections['use'], schema: string, thrown: unknown): Promise<unknown> {
  const ask = 'SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database'
  const { rows } = await use(({ run }) => run(ask), {}).catch(() => ({ rows: [] }))
  const [{ role = 'the role', database = 'the database' } = {}] = rows
  const name = quoteName(schema)
  return new UnusableStorage(
    `the role ${role} may not open the schema ${name} of the database ${database} (${messageOf(thrown)}); a role that may runs CREATE SCHEMA IF NOT EXISTS ${name} AUTHORIZATION ${role}, or GRANT USAGE, CREATE ON SCHEMA ${name} TO ${role}, and makes ${role} the owner of tables that are there; an index over an array needs USAGE ON LANGUAGE plpgsql as well; or it opens the service once, and grants what migrate: false needs: USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on its tables`,
    thrown,
  )
}
