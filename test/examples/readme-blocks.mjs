/** Blocks of the README that are neither compiled nor run by `npm run test:examples`, by their first line, and why. */
export const NOT_RUN = {
  'npx collection-service --seed documents.json --watch':
    'serves until it is stopped: test/cli/init.test.ts serves what init has written',
  'cp -r node_modules/collection-service/examples/team . && cd team':
    'serves until it is stopped: test/examples/readme.test.ts asks that service',
  'npx collection-service config.json --data app.db':
    'serves until it is stopped, and needs a native package: test/cli/storage.test.ts runs both commands',
  'npm ci && npm start   # in a clone: serves examples/config.json on http://localhost:3000':
    'serves until it is stopped, in a clone: .ci/run does the same',
}

/** Languages of blocks that hold no code of their own: test/examples/readme.test.ts asks them. */
const OTHERS = new Set(['console', 'json', 'text', ''])

/**
 * The blocks of ts, js and sh that must work, those of ts as one: each goes on where the one before ends. Throws when
 * an exception is not needed, or a language is unknown.
 */
export function readBlocks(page) {
  const unused = new Set(Object.keys(NOT_RUN))
  const blocks = []
  for (const [, language = '', text = ''] of page.matchAll(/^```(\S*)[^\n]*\n(.*?)^```$/gms)) {
    const [title = ''] = text.split('\n')
    if (unused.delete(title) || OTHERS.has(language)) continue
    if (!['ts', 'js', 'sh'].includes(language))
      throw new Error(`nobody checks blocks of ${language}: ${title}`)
    const begun = language === 'ts' && blocks.find((block) => block.language === language)
    if (begun) begun.text += text
    else blocks.push({ language, text, title })
  }
  if (unused.size > 0) throw new Error(`not in the README: ${[...unused].join('; ')}`)
  return blocks
}
