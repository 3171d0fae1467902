/** The hosts of a connection string. */
export interface HostList {
  /** One connection string per host. */
  readonly urls: readonly string[]
  /** Whether connections must lead to a host that takes writes. */
  readonly mustTakeWrites: boolean
}

/** The part before the hosts, the hosts, the database, the parameters. */
const SHAPE = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^?#]*)(?:\?([^#]*))?/

const TARGET = 'target_session_attrs'

/**
 * Splits a connection string into one per host. As in libpq, hosts with their ports are separated by commas, or given
 * in the parameters `host` and `port`. Throws an `Error` for an invalid list. Other parts are left to `pg`.
 */
export function splitHosts(text: string): HostList {
  const [, head, places = '', path = '', query = ''] = SHAPE.exec(text) ?? []
  if (head === undefined) return { urls: [text], mustTakeWrites: false }
  const parameters = new URLSearchParams(query)
  for (const name of [TARGET, 'host', 'port'])
    if (parameters.getAll(name).length > 1) throw new Error(`the parameter ${name} is given twice`)
  const target = parameters.get(TARGET)
  parameters.delete(TARGET)
  const write = (place: string): string => head + place + path + (parameters.size > 0 ? `?${parameters}` : '')
  const named = parameters.get('host')?.split(',') ?? []
  const ports = parameters.get('port')?.split(',') ?? []
  if (named.length > 0 && places.includes(','))
    throw new Error('give several hosts either before the database or in the parameter host')
  if (ports.length > 1 && ports.length !== named.length)
    throw new Error('the parameter port needs one port, or one for each host of the parameter host')
  const urls =
    named.length > 1
      ? named.map((host, i) => {
          const port = ports[i] ?? ports[0] ?? ''
          parameters.set('host', host)
          if (port === '') parameters.delete('port')
          else parameters.set('port', port)
          return write(places)
        })
      : places.split(',').map(write)
  const isOne = urls.length === 1
  checkTarget(target, isOne)
  if (!isOne && (named.length > 1 ? named : places.split(',')).some((place) => /^(?::|$)/.test(place)))
    throw new Error('a host between commas is empty')
  if (isOne && target === null) return { urls: [text], mustTakeWrites: false }
  return { urls, mustTakeWrites: !isOne || target !== 'any' }
}

/** The service writes, so a host that takes no writes is useless. */
function checkTarget(target: string | null, isOne: boolean): void {
  if (target === null || target === 'read-write' || target === 'primary' || (target === 'any' && isOne))
    return
  throw new Error(`${TARGET} must be read-write`)
}
