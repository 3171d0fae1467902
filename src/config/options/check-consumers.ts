import type { ConfigFault } from '../../errors.js'
import { findTwins } from '../../fields/names.js'
import { isObject } from '../../json/own-properties.js'
import { COLLECTION_NAME, RESERVED_COLLECTION_NAMES, suggest } from '../../schema/names.js'

const isName = new RegExp(COLLECTION_NAME)

/** The members of a consumer, all required. */
const MEMBERS: readonly string[] = ['collections', 'handle']

/** The faults of consumers: their collections must exist in `config` and have `changes`. */
export function judgeConsumers(options: unknown, config: unknown): readonly ConfigFault[] {
  const consumers = isObject(options) ? options.consumers : undefined
  if (!isObject(consumers)) return []
  const collections = isObject(config) && isObject(config.collections) ? config.collections : {}
  const named = Object.keys(consumers).filter((name) => consumers[name] !== undefined)
  const twins = findTwins(named, RESERVED_COLLECTION_NAMES)
  return Object.entries(consumers).flatMap(([name, consumer]): readonly ConfigFault[] => {
    const path = `options.consumers.${name}`
    const fault = describeName(name) ?? twins.get(name)
    const unnamed = fault === undefined ? [] : [{ path, message: fault }]
    return consumer === undefined ? unnamed : [...unnamed, ...judgeConsumer(path, consumer, collections)]
  })
}

/** The error of a consumer's name, which is stored with its position. */
function describeName(name: string): string | undefined {
  if (!isName.test(name)) return 'must have a name of letters, digits, _ and -, at most 63, a letter first'
  return RESERVED_COLLECTION_NAMES.includes(name) ? 'is a reserved name' : undefined
}

function judgeConsumer(
  path: string,
  consumer: unknown,
  configured: { readonly [name: string]: unknown },
): readonly ConfigFault[] {
  if (!isObject(consumer)) return [{ path, message: 'must be { collections, handle }' }]
  const { collections, handle } = consumer
  const unknown = Object.keys(consumer).filter((name) => !MEMBERS.includes(name))
  return [
    ...unknown.map((name) => ({
      path: `${path}.${name}`,
      message: `is unknown${suggest(name, MEMBERS) || ';'} allowed: ${MEMBERS.join(', ')}`,
    })),
    ...(typeof handle === 'function'
      ? []
      : [{ path: `${path}.handle`, message: 'must be a function of a change' }]),
    ...(Array.isArray(collections) && collections.length > 0
      ? collections.flatMap((name: unknown, i) =>
          judgeCollection(`${path}.collections[${i}]`, name, configured).concat(
            collections.indexOf(name) < i
              ? [{ path: `${path}.collections[${i}]`, message: `${JSON.stringify(name)} is listed twice` }]
              : [],
          ),
        )
      : [
          {
            path: `${path}.collections`,
            message: 'must be an array of the names of collections, at least one',
          },
        ]),
  ]
}

/** The faults of one collection of a consumer. */
function judgeCollection(
  path: string,
  name: unknown,
  configured: { readonly [name: string]: unknown },
): ConfigFault[] {
  const names = Object.keys(configured).filter((known) => known !== COMMENT)
  if (typeof name !== 'string') return [{ path, message: 'must be the name of a collection' }]
  if (!names.includes(name))
    return [
      {
        path,
        message: `${JSON.stringify(name)} is not a collection${suggest(name, names) || ';'} allowed: ${names.join(', ')}`,
      },
    ]
  const collection = configured[name]
  return isObject(collection) && collection.changes === true
    ? []
    : [{ path, message: `${JSON.stringify(name)} has no "changes": true, so its changes are not logged` }]
}

const COMMENT = '$comment'
