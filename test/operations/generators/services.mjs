import { readFile } from 'node:fs/promises'

const readExample = async (name) =>
  JSON.parse(await readFile(new URL(`../../../examples/${name}`, import.meta.url), 'utf8'))

const forAll = { '*': { create: true, read: true, update: true, delete: true } }

/** A small service without accounts. */
const notes = {
  collections: {
    notes: {
      schema: { title: { type: 'string', required: true }, text: { type: 'string' } },
      permissions: forAll,
    },
  },
}

/** Accounts, references, claims, hidden fields, live lists, and tasks with times, numbers and an estimate for some. */
async function readTeams() {
  const config = await readExample('teams/config.json')
  const { tasks } = config.collections
  Object.assign(tasks.schema, {
    dueAt: { type: 'timestamp', nullable: true },
    remindAt: { type: 'timestamp', minimum: '2020-01-01' },
    points: { type: 'integer', minimum: 0, maximum: 100 },
    tags: { type: 'array', items: { type: 'string', maxLength: 40 }, maxItems: 20 },
  })
  return config
}

/** Names, values and limits as few services have them. */
const unusual = {
  collections: {
    'order-items': {
      additionalProperties: true,
      schema: {
        class: { type: 'string', enum: ['in progress', '', '"quoted"', "it's", 'null', '1', 'ß'] },
        default: { type: 'number', enum: [1, 2.5, -3] },
        delete: { type: 'boolean', default: false },
        toString: { type: 'string', pattern: '^[a-z/\\\\]+$', minLength: 2, maxLength: 12 },
        length: { type: 'array', items: { type: 'number' }, minItems: 1, maxItems: 3 },
        Type: {
          type: 'object',
          properties: { new: { type: 'timestamp', nullable: true }, in_2: { type: 'json' } },
        },
        trimmed: { type: 'string', trim: true, lowercase: true, minLength: 1, maxLength: 5, unique: true },
        id: { type: 'string', format: 'uuid', immutable: true, required: true },
        mail: {
          type: 'string',
          format: 'email',
          nullable: true,
          description: 'Ends */ comments, `quotes`, and \\ escapes.',
        },
        order: { type: 'reference', collection: 'Order_2', onDelete: 'unset' },
      },
      permissions: forAll,
    },
    Order_2: {
      changes: true,
      schema: { x: { type: 'integer', minimum: -5, maximum: 5, required: true, default: 1 } },
      permissions: forAll,
    },
  },
  limits: { defaultLimit: 2, maxLimit: 3, values: 4, conditions: 5 },
}

/** What generators get: configurations by name. */
export const readServices = async () => ({ notes, teams: await readTeams(), unusual })
