import type { Scalar } from '../../../filter/filter.js'
import type { Value } from '../../sql/dialect.js'
import type { Connections, WorkCaller, WorkOptions } from '../connection/connections.js'
import type { DatabaseSession } from '../connection/session.js'
import type { Watch } from '../connection/watch.js'
import { createAskTogether } from './ask-together.js'
import { writeAll, writeFirst, writeJoined, writeList } from './page.js'
import type { TextList } from './parse-documents.js'

/** A page of documents; its values come with each read. */
export interface PageQuery {
  readonly text: string
  /** Example values, for their number and types. */
  readonly values: readonly Value[]
  /** The most documents of the page. */
  readonly most: number
  /** The most bytes of text to read. */
  readonly bytes: number | undefined
  readonly mayBeLong: boolean
  /** Whether it is read more than once. */
  readonly isKept: boolean
  /** Writes the text with the columns of `asked` as values, if several pages can be read at once. */
  readonly join?: (() => string) | undefined
}

/** Reads a page with some values. The caller may override the options of a page that may be long. */
export type ReadPage = (
  values: readonly Value[],
  caller: WorkCaller,
  manner: WorkOptions,
) => Promise<TextList>

/**
 * The fewest bytes per document for which a page is first read as a whole. A kept plan adapts, so its limit is lower.
 */
const MIN_SHARE = { once: 3200, kept: 256 }

/** The largest document of a page that is read as a whole, as a multiple of its share of the bytes. */
const MAX_SHARES = 4

/** The number of reads that skip the whole-page attempt after one did not fit. */
const PAUSE = 15

/** The limits of pages that are read together: documents, bytes, and bytes of one document. */
const JOINED = { most: 32, bytes: 65_536, size: 8192 }

/** Creates the reader of a page. Small pages requested together share one statement. */
export function createPageReader(use: Connections['use'], watch: Watch, page: PageQuery): ReadPage {
  const { values, most, mayBeLong, join } = page
  const readAlone = createReadAlone(page)
  const alone: ReadPage = (values, caller, manner) =>
    use((session) => readAlone(session, values), caller, manner)
  if (!join || mayBeLong || most > JOINED.most) return alone

  const { bytes, size } = JOINED
  const text = writeJoined(writeList(join(), String(bytes), String(Math.min(size, bytes / most))), values)
  return createAskTogether<TextList>(watch, {
    alone: (values, caller) => alone(values, caller, page),
    async together(distinct, caller) {
      const columns = values.map((_, i) => columnOf(distinct, i))
      const rows = await use(({ readRows }) => readRows(text, columns), caller)
      const lists = new Map(rows.map(([place, list]) => [Number(place) - 1, list]))
      return distinct.map((_, i) => {
        const list = lists.get(i)
        return typeof list === 'string' ? { texts: [list] } : undefined
      })
    },
  })
}

/** The values of all queries at one place. */
const columnOf = (distinct: readonly (readonly Value[])[], place: number): readonly Scalar[] =>
  distinct.map((values) => values[place] as Scalar)

function createReadAlone(
  page: PageQuery,
): (session: DatabaseSession, values: readonly Value[]) => Promise<TextList> {
  const { text, values, most, bytes } = page
  if (most <= 1 || bytes === undefined) {
    const all = writeAll(text)
    return async ({ readRows }, values) => ({
      texts: (await readRows(all, values)).map(([document]) => String(document)),
    })
  }
  const place = `$${values.length + 1}::float8`
  const readList = createReadList(page, bytes)
  let first: string | undefined
  let paused = 0
  return async (session, values) => {
    if (paused > 0) paused -= 1
    else {
      const found = await readList?.(session, values)
      if (found) return found
      paused = PAUSE
    }
    first ??= writeFirst(text, place)
    return readFirst(session.readRows, first, [...values, bytes])
  }
}

/** Reads a list as a whole; `undefined` if it does not fit. */
type ReadList = (session: DatabaseSession, values: readonly Value[]) => Promise<TextList | undefined>

/** A list is parsed at once: one MiB, the most that the service requests, takes less than a slice. */
function createReadList(page: PageQuery, bytes: number): ReadList | undefined {
  const { text, values, most, isKept } = page
  const share = bytes / most
  if (share < (isKept ? MIN_SHARE.kept : MIN_SHARE.once)) return undefined
  const bounds = [bytes, MAX_SHARES * share] as const
  const { length } = values
  const list = writeList(text, `$${length + 1}::float8`, `$${length + 2}::float8`)
  return async ({ readRows }, values) => {
    const [[found] = []] = await readRows(list, [...values, ...bounds])
    return typeof found === 'string' ? { texts: [found] } : undefined
  }
}

/** Reads the first documents of a page. */
export async function readFirst(
  readRows: DatabaseSession['readRows'],
  text: string,
  values: readonly Value[],
): Promise<TextList> {
  const [[list, rest] = []] = await readRows(text, values)
  return { texts: [list ?? '[]'], rest }
}
