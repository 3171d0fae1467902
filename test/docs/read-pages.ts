import { readdir, readFile } from 'node:fs/promises'

/**
 * A fenced block of a page of the guide. What it may hold:
 *
 * | language | text |
 * |---|---|
 * | `json config.json` `json documents.json` | a configuration, first documents: compiled, checked, and served by the rest of the page |
 * | `json /auth` `json change /auth` | a part of the configuration as it is, or as it is from here on; `examples/team/config.json#/auth` is one of another configuration |
 * | `json examples/wrangler.d1.json` | that file |
 * | `sh` | lines of curl, each sent to the service in process; `NAME=…  # the "token" of the answer`; the command |
 * | `http` | the answer to the last request: status, some headers, the body, in which `…` is any text, or any more |
 * | `ts name.ts` | a program: compiled with all others, run; `console.log(…) // prints this` |
 * | `ts examples/helpdesk/help-desk.ts` | lines of that file |
 * | `ts migrations/name.mjs` | a migration, which `migrate` runs |
 * | `text` | what the last command or program printed, in which `…` is any text |
 */
export interface Block {
  /** `docs/permissions.md:12`, the line of its fence. */
  readonly place: string
  /** The first word after the fence. */
  readonly language: string
  /** The rest of that line. */
  readonly title: string
  readonly text: string
}

export interface Page {
  /** Below the root, `docs/permissions.md`. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
}

const FENCED = /^```(\S*) ?([^\n]*)\n(.*?)^```$/gms

const readBlocks = (path: string, text: string): readonly Block[] =>
  [...text.matchAll(FENCED)].map(({ index, 1: language = '', 2: title = '', 3: block = '' }) => ({
    place: `${path}:${text.slice(0, index).split('\n').length}`,
    language,
    title,
    text: block,
  }))

/** The paths of the guide, in the order of their names. */
export async function listPages(root: URL): Promise<readonly string[]> {
  const names = await readdir(new URL('docs/', root))
  return names
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`)
}

export const readPages = (root: URL, paths: readonly string[]): Promise<readonly Page[]> =>
  Promise.all(
    paths.map(async (path) => {
      const text = await readFile(new URL(path, root), 'utf8')
      return { path, text, blocks: readBlocks(path, text) }
    }),
  )
