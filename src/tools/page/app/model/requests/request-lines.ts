import { readListQuery, toFilter } from '../list-query.js'

/** A request as it was sent. */
export interface Sent {
  readonly method: string
  /** The path after the base path, without the query. */
  readonly path: string
  readonly query: string
  readonly body?: unknown
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
  readonly isSignedIn: boolean
}

const quote = (text: string): string => `'${text.replace(/'/g, `'\\''`)}'`

const SECRET = /^(?:password|pin|secret|current|new|token)$/i

/** Writes a body as JSON, with `…` instead of secrets. `hidden` are the names of secret fields. */
const withoutSecrets = (body: unknown, hidden: ReadonlySet<string>): string =>
  JSON.stringify(body, (name, value) =>
    typeof value === 'string' && (hidden.has(name) || SECRET.test(name)) ? '…' : value,
  )

/** Writes a request as a curl command. The token is a shell variable, and secrets are left out. */
export function toCurl(base: string, sent: Sent, hidden: ReadonlySet<string> = new Set()): string {
  const url = base + sent.path + (sent.query ? `?${sent.query}` : '')
  const header = (name: string, value: string): string => ` -H ${quote(`${name}: ${value}`)}`
  return [
    'curl -g',
    sent.method === 'GET' ? '' : ` -X ${sent.method}`,
    ` ${quote(url)}`,
    sent.isSignedIn ? ' -H "Authorization: Bearer $TOKEN"' : '',
    sent.ifMatch ? header('If-Match', sent.ifMatch) : '',
    sent.ifNoneMatch ? header('If-None-Match', sent.ifNoneMatch) : '',
    sent.body === undefined ? '' : header('Content-Type', 'application/json'),
    sent.body === undefined ? '' : ` -d ${quote(withoutSecrets(sent.body, hidden))}`,
  ].join('')
}

const NAME = /^[A-Za-z_$][\w$]*$/

/** Writes a value as a TypeScript literal. */
export function toCode(value: unknown): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replace(/\\"/g, '"').replace(/'/g, "\\'")}'`
  if (Array.isArray(value)) return `[${value.map(toCode).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const entries = Object.entries(value).map(
    ([name, own]) => `${NAME.test(name) ? name : toCode(name)}: ${toCode(own)}`,
  )
  return entries.length > 0 ? `{ ${entries.join(', ')} }` : '{}'
}

const ACCOUNT: { readonly [path: string]: string } = {
  'POST login': 'login',
  'POST register': 'register',
  'POST logout': 'logout',
  'POST logout-all': 'logoutAll',
  'POST change-secret': 'changeSecret',
  'POST request-reset': 'requestReset',
  'POST reset': 'reset',
  'POST request-verification': 'requestVerification',
  'POST verify': 'verify',
  'POST change-identifier': 'changeIdentifier',
  'GET me': 'me',
  'GET sessions': 'sessions',
}

/**
 * Writes a request as a call of the typed client; `undefined` if the client has no such call. It has none for a dry
 * run, because it cannot send the entity tag `"-"`, without which the call would take effect.
 */
export function toClientLine(sent: Sent, hidden: ReadonlySet<string> = new Set()): string | undefined {
  const [first = '', second, third] = sent.path.split('/').slice(1).map(decodeURIComponent)
  if (sent.ifMatch === '"-"') return undefined
  const body = sent.body === undefined ? '' : toCode(JSON.parse(withoutSecrets(sent.body, hidden)))
  if (first === 'auth' && second !== undefined) {
    const name = ACCOUNT[`${sent.method} ${second}`]
    if (third !== undefined) return `await client.auth.endSession(${toCode(third)})`
    return name && `await client.auth.${name}(${body})`
  }
  if (first === '_batch') return toBatchLine(sent.body)
  if (first === '' || first.startsWith('_')) return undefined
  const call = toCall(`client.collection(${toCode(first)})`, second, { ...sent, text: body })
  return call && `await ${call}`
}

function toCall(
  at: string,
  id: string | undefined,
  {
    method,
    query,
    text,
    ifMatch,
    ifNoneMatch,
  }: Pick<Sent, 'method' | 'query' | 'ifMatch' | 'ifNoneMatch'> & { readonly text: string },
): string | undefined {
  if (method === 'POST') return id === 'bulk' ? `${at}.createMany(${text})` : `${at}.create(${text})`
  const options = optionsOf(query)
  if (options === undefined) return undefined
  if (id === undefined || id === 'aggregate' || id === 'count' || id === 'changes')
    return `${at}.${id ?? 'list'}(${options === '{}' ? '' : options})`
  // The client sends the entity tag of a document that it has read, so the call gets that document, `seen`, and not its
  // `_id`.
  const which = ifMatch ? 'seen' : toCode(id)
  if (method === 'DELETE') return `${at}.delete(${which})`
  if (method === 'PATCH') return `${at}.update(${which}, ${text})`
  if (method === 'PUT')
    return ifNoneMatch ? `${at}.create(${text}, { id: ${which} })` : `${at}.replace(${which}, ${text})`
  return `${at}.get(${which}${options === '{}' ? '' : `, ${options}`})`
}

/** Writes the options of a call; `undefined` if the client has no equivalent for a parameter. */
function optionsOf(query: string): string | undefined {
  const read = readListQuery(query)
  const { limit, expand, ...others } = Object.fromEntries(read.others)
  if (read.after !== undefined || read.filter.length > 0 || Object.keys(others).length > 0) return undefined
  const filter = toFilter(read)
  return toCode({
    ...(Object.keys(filter).length > 0 ? { q: filter } : {}),
    ...(read.sort.length > 0
      ? {
          sort: Object.fromEntries(
            read.sort.map(({ path, descending }) => [path, descending ? 'desc' : 'asc']),
          ),
        }
      : {}),
    ...(read.project ? { project: read.project } : {}),
    ...(expand ? { expand: JSON.parse(expand) } : {}),
    ...(read.skip > 0 ? { skip: read.skip } : {}),
    ...(limit ? { limit: Number(limit) } : {}),
  })
}

function toBatchLine(body: unknown): string {
  const { operations = [] } = body as {
    readonly operations?: readonly {
      readonly method: string
      readonly path: string
      readonly body?: unknown
      readonly ifMatch?: string
      readonly ifNoneMatch?: string
    }[]
  }
  const calls = operations.map(({ path, body: own, ...operation }) => {
    const [name = '', id] = path.split('/').slice(1).map(decodeURIComponent)
    const at = NAME.test(name) ? `b.${name}` : `b[${toCode(name)}]`
    return toCall(at, id, { ...operation, query: '', text: toCode(own ?? {}) })
  })
  return `await client.batch((b) => [\n  ${calls.join(',\n  ')},\n])`
}
