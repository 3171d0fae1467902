/** The words of a line of a POSIX shell: quotes, `\` and variables, and nothing else that a shell would do. */
export function readWords(line: string, variables: ReadonlyMap<string, string>): readonly string[] {
  const put = (text: string): string =>
    text.replaceAll(/\$(\w+)/g, (_, name) => {
      const value = variables.get(name)
      if (value === undefined) throw new Error(`no variable ${name}`)
      return value
    })
  const words: string[] = []
  const parts = /(\s+)|'([^']*)'|"([^"]*)"|([^\s'"]+)/gy
  let word: string | undefined
  for (const [, space, single, double, bare] of line.matchAll(parts)) {
    if (bare !== undefined && /[&;|<>*?()`#]/.test(bare))
      throw new Error(`a shell would not read ${bare} as text`)
    if (space === undefined) word = (word ?? '') + (single ?? put(double ?? bare ?? ''))
    else if (word !== undefined) words.push(word)
    if (space !== undefined) word = undefined
  }
  return word === undefined ? words : [...words, word]
}

/** What curl would send. Throws for options that are not listed here, and where curl itself would fail. */
export function readCurl([name, ...words]: readonly string[], origin: string): Request {
  if (name !== 'curl') throw new Error(`${name} is not curl`)
  const headers = new Headers()
  const given: { method?: string; body?: string; url?: string } = {}
  let isGlobbing = true
  const left = [...words]
  const next = (): string => left.shift() ?? ''
  while (left.length > 0) {
    const word = next()
    if (/^-[gisN]+$/.test(word)) isGlobbing &&= !word.includes('g')
    else if (word === '-X') given.method = next()
    else if (word === '--oauth2-bearer') headers.set('authorization', `Bearer ${next()}`)
    else if (word === '-H') {
      const [, header = '', value = ''] = /^([\w-]+): (.*)$/.exec(next()) ?? []
      headers.set(header, value)
    } else if (word === '--json') {
      headers.set('content-type', 'application/json')
      headers.set('accept', 'application/json')
      given.body = next()
    } else if (word.startsWith(`${origin}/`) && given.url === undefined) given.url = word
    else throw new Error(`curl with ${word}`)
  }
  const { url = '', body, method = body === undefined ? 'GET' : 'POST' } = given
  if (isGlobbing && /[[\]{}]/.test(url)) throw new Error('curl needs -g for brackets')
  if (/\s/.test(url)) throw new Error('curl refuses a space in a URL')
  return new Request(url, { method, headers, ...(body === undefined ? {} : { body }) })
}
