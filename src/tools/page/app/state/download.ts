import { writeDocument, writeRow } from '../model/csv.js'
import type { DescribedCollection } from '../model/description.js'
import { createElementReader } from '../model/elements.js'
import { type ListQuery, writeListQuery, writeNext } from '../model/list-query.js'
import { open } from './service.js'

export type Format = 'csv' | 'json'

interface DownloadOptions {
  readonly query: ListQuery
  readonly format: Format
  readonly columns: readonly string[]
  readonly signal: AbortSignal
  /** Called with the number of documents that are downloaded so far. */
  readonly tell: (count: number) => void
}

/** The maximum number of documents in a page with a cursor (CONTRACT.md §3.7). */
const PAGE = 1000

/**
 * Yields the JSON texts of all matching documents as they arrive: in one stream, or in pages if the service limits
 * lists.
 */
async function* readAll(
  collection: DescribedCollection,
  { query, signal }: DownloadOptions,
): AsyncGenerator<readonly string[]> {
  const { name, isUnlimited, maxLimit } = collection
  const own = { ...query, project: undefined, after: undefined, skip: 0, others: [] }
  const limit = isUnlimited ? '' : `limit=${Math.min(maxLimit ?? PAGE, PAGE)}`
  let next: string | undefined = writeListQuery(own)
  while (next !== undefined) {
    const page: string = [next, limit].filter(Boolean).join('&')
    const response = await open(`/${name}`, { query: page, signal })
    const read = createElementReader()
    const decoder = new TextDecoder()
    const reader = response.body?.getReader()
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
      yield read(decoder.decode(part.value, { stream: true }))
    next = writeNext(own, response.headers)
  }
}

/**
 * Downloads all matching documents into a file in the browser's storage, so that only one piece is in memory at a time.
 */
export async function download(collection: DescribedCollection, asked: DownloadOptions): Promise<number> {
  const { format, columns, tell } = asked
  const name = `${collection.name}.${format}`
  const file = await createFile(name)
  let n = 0
  try {
    await file.write(format === 'csv' ? writeRow(columns) : '[')
    for await (const texts of readAll(collection, asked)) {
      if (texts.length === 0) continue
      const piece =
        format === 'csv'
          ? texts.map((text) => writeDocument(columns, JSON.parse(text))).join('')
          : `${n > 0 ? ',\n' : '\n'}${texts.join(',\n')}`
      await file.write(piece)
      n += texts.length
      tell(n)
    }
    if (format === 'json') await file.write('\n]\n')
  } catch (thrown) {
    await file.discard()
    throw thrown
  }
  offer(await file.finish(), name)
  // After this time, the browser has its own copy. The file is removed so that the next person cannot find it.
  setTimeout(() => void file.discard(), 60_000)
  return n
}

/** A file that is being written. */
interface File_ {
  write(text: string): Promise<void>
  finish(): Promise<Blob>
  discard(): Promise<void>
}

/** Creates a file in the browser's storage for this origin, or in memory if there is no such storage. */
async function createFile(name: string): Promise<File_> {
  try {
    const folder = await navigator.storage.getDirectory()
    const path = `download-${Date.now()}-${name}`
    const handle = await folder.getFileHandle(path, { create: true })
    const writable = await handle.createWritable()
    // Files of earlier downloads must not remain.
    void clear(folder, path)
    return {
      write: (text) => writable.write(text),
      async finish() {
        await writable.close()
        return handle.getFile()
      },
      async discard() {
        await writable.abort().catch(() => {})
        await folder.removeEntry(path).catch(() => {})
      },
    }
  } catch {
    let whole = new Blob([])
    return {
      async write(text) {
        whole = new Blob([whole, text])
      },
      finish: async () => whole,
      discard: async () => {},
    }
  }
}

/** The age after which a file is removed. An hour is enough for any browser to save a file. */
const HOUR = 3_600_000

async function clear(folder: FileSystemDirectoryHandle, own: string): Promise<void> {
  const names = (folder as unknown as { keys(): AsyncIterable<string> }).keys()
  for await (const name of names) {
    const [, time] = /^download-(\d+)-/.exec(name) ?? []
    if (name !== own && time !== undefined && Number(time) < Date.now() - HOUR)
      await folder.removeEntry(name).catch(() => {})
  }
}

function offer(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
