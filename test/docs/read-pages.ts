import { readdir, readFile } from 'node:fs/promises'

/**
 * A fenced block of a page of the guide. What it may hold:
 *
 * | language | text |
 * |---|---|
 * | `json config.json` `json documents.json` `json /collections/tickets/permissions` | a configuration, first documents, a part of the configuration: compiled, checked, served from here on |
 * | `sh` | lines of curl, each sent to the service in process; `NAME=…  # the "token" of the answer`; the command |
 * | `http` | the answer to the last request: status, some headers, the body, in which `…` is any text, or any more |
 * | `ts name.ts` | a program: compiled with all others, run; `console.log(…) // prints this` |
 * | `text` | what the last command or program printed, in which `…` is any text |
 */
export interface Block {
  /** `docs/permissions.md:12`, the line of its fence. */
  readonly place: string
  /** The first word after the fence. */
  readonly language: string
  /** The rest of that line: the name of a file, or a JSON pointer into the configuration, perhaps behind that of another one and `#`. */
  readonly title: string
  readonly text: string
}

export interface Page {
  readonly name: string
  readonly text: string
  readonly blocks: readonly Block[]
}

const FENCED = /^```(\S*) ?([^\n]*)\n(.*?)^```$/gms

const readBlocks = (name: string, text: string): readonly Block[] =>
  [...text.matchAll(FENCED)].map(({ index, 1: language = '', 2: title = '', 3: block = '' }) => ({
    place: `docs/${name}:${text.slice(0, index).split('\n').length}`,
    language,
    title,
    text: block,
  }))

/** The pages of the guide, in the order of their names. */
export async function readPages(folder: URL): Promise<readonly Page[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md')).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8')
      return { name, text, blocks: readBlocks(name, text) }
    }),
  )
}
