/** The hosts that a connection string names. */
export interface HostList {
  /** A connection string for each. */
  readonly urls: readonly string[]
  /** Whether connections must lead to the host that takes writes. */
  readonly mustTakeWrites: boolean
}

/** The part before the hosts, the hosts, the database, the parameters. */
const SHAPE = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^?#]*)(?:\?([^#]*))?/

const TARGET = 'target_session_attrs'

/**
 * Splits the connection string of several hosts into one for each. As in libpq, they follow each other behind
 * commas, each with its port, or are in the parameters `host` and `port`. Throws an `Error` where they are not
 * of that form. What it does not know it leaves to `pg`.
 */
export function splitHosts(text: string): HostList {
  const [, head, places = '', path = '', query = ''] = SHAPE.exec(text) ?? []
  if (head === undefined) return { urls: [text], mustTakeWrites: false }
  const parameters = new URLSearchParams(query)
  for (const name of [TARGET, 'host', 'port'])
    if (parameters.getAll(name).length > 1) throw new Error(`the parameter ${name} stands there twice`)
  const target = parameters.get(TARGET)
  parameters.delete(TARGET)
  const write = (place: string): string => head + place + path + (parameters.size > 0 ? `?${parameters}` : '')
  const named = parameters.get('host')?.split(',') ?? []
  const ports = parameters.get('port')?.split(',') ?? []
  if (named.length > 0 && places.includes(','))
    throw new Error('several hosts stand either before the database or in the parameter host')
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

/** A service writes: a host that does not take writes is of no use to it. */
function checkTarget(target: string | null, isOne: boolean): void {
  if (target === null || target === 'read-write' || target === 'primary' || (target === 'any' && isOne))
    return
  throw new Error(`${TARGET} must be read-write`)
}
