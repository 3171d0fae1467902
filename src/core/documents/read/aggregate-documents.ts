import { foldDocuments } from '../../aggregates/fold.js'
import type { Group } from '../../aggregates/groups.js'
import { keysFor, mergeGroups } from '../../aggregates/merge-groups.js'
import { bounds } from '../../bounds.js'
import { countBytes } from '../../json/bytes.js'
import type { ReadAccess } from '../../permissions/read-access.js'
import { whenReady } from '../../promises.js'
import { type AggregateRequest, tooManyGroups } from '../../query/compile-aggregate.js'
import type { Call } from '../../request/call.js'
import {
  everySliced,
  forEachSliced,
  inSlices,
  type Sliced,
  Slices,
  sortSliced,
  stepsToWrite,
} from '../../slices.js'
import type { Aggregated, MaybePromise } from '../../storage.js'
import { holdOrStream } from './hold-or-stream.js'
import { visitAll } from './list-documents.js'
import { compileGroupOrder, compilePrinter } from './print-groups.js'
import type { Text } from './text-stream.js'

/** A page of groups. */
export interface GroupPage {
  readonly json: Text
  /** The number of groups on all pages. */
  readonly total: number
  /** The number of groups before the next page; `undefined` on the last page, or if the query has no limit or none. */
  readonly next: number | undefined
}

/**
 * Groups the documents that a caller requests and may read (CONTRACT.md §2, "Aggregates"). Throws `invalid_query` if
 * there are more groups than `limits.groups`, or if their JSON is too long.
 */
export function aggregateDocuments(
  call: Call,
  access: ReadAccess,
  asked: AggregateRequest,
): MaybePromise<GroupPage> {
  const limit = call.service.plan.limits.groups
  const { skip, limit: size } = asked
  const print = (aggregated: Aggregated): MaybePromise<GroupPage> =>
    whenReady(
      inSlices(
        (slices) => printAll({ asked, limit, aggregated }, slices),
        () => call.deadline.signal,
      ),
      (texts) => {
        const end = size === null ? texts.length : Math.min(skip + size, texts.length)
        const next = size !== null && size > 0 && end < texts.length ? end : undefined
        const page = texts.slice(skip, end)
        return whenReady(writePage(call, page), (json) => ({ json, total: texts.length, next }))
      },
    )
  return whenReady(readGroups(call, access, asked, limit), print)
}

/** Reads partial groups: from a storage that can group, or else from its documents. */
function readGroups(
  call: Call,
  access: ReadAccess,
  asked: AggregateRequest,
  most: number,
): MaybePromise<Aggregated> {
  const { filter, measures } = asked
  const by = asked.by.map(({ field, shown, cut }) => ({ field, shown, cut }))
  const query = {
    by,
    measures,
    limit: keysFor(asked, most),
    characters: keysFor(asked, bounds.groupedBytes),
  }
  const reader = call.store.read(access, 'compare')
  const grouped = reader.aggregate({ ...query, filter })
  if (grouped !== undefined) return grouped
  const fold = foldDocuments(query)
  const slices = new Slices(bounds.longFirstSlice, () => call.deadline.signal)
  const visiting = visitAll(reader, filter, (batch) =>
    everySliced(slices, batch, (document) => fold.add(document, slices)),
  )
  return whenReady(visiting, () => fold.finish())
}

interface ReadPage {
  readonly asked: AggregateRequest
  readonly limit: number
  readonly aggregated: Aggregated
}

/** Prints all groups in their order: the bound of the answer holds for all pages together. */
const printAll: Sliced<[page: ReadPage], readonly string[]> = ({ asked, limit, aggregated }, slices) =>
  whenReady(mergeGroups(asked, aggregated, slices), (groups) => {
    if (groups.length > limit) throw tooManyGroups(`makes more than ${limit} groups: add a filter`)
    return whenReady(sortSliced<Group>(slices, groups, compileGroupOrder(asked)), (sorted) => {
      const print = compilePrinter(asked)
      const texts: string[] = []
      let bytes = 2
      const printing = forEachSliced(slices, sorted, (group) => {
        const text = print(group)
        slices.left -= stepsToWrite(text.length) + STEPS * asked.measures.length
        bytes += countBytes(text) + (texts.length > 0 ? 1 : 0)
        if (bytes > bounds.groupedBytes)
          throw tooManyGroups(`makes groups of more than ${bounds.groupedBytes} bytes: add a filter`)
        texts.push(text)
      })
      return whenReady(printing, () => {
        if (aggregated.isCut)
          throw new Error('the storage has stopped although an answer may have all groups')
        return texts
      })
    })
  })

/** The steps that rounding a sum costs. */
const STEPS = 20

/** Writes the array of some groups. */
const writePage = (call: Call, texts: readonly string[]): MaybePromise<Text> =>
  holdOrStream(call, (_, write, slices) =>
    whenReady(
      forEachSliced(slices, texts, (text, i) => {
        slices.left -= stepsToWrite(text.length)
        return write((i === 0 ? '[' : ',') + text)
      }),
      () => write(texts.length === 0 ? '[]' : ']'),
    ),
  )
