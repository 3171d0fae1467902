const permissions = { '*': true }

/** What the processes of a cluster serve. */
export const config = {
  limits: { requestSeconds: 10 },
  collections: {
    things: { schema: { code: { type: 'string', unique: true }, digest: { type: 'string' } }, permissions },
    marks: { schema: { thing: { type: 'reference', collection: 'things' } }, permissions },
    registers: { schema: { n: { type: 'integer' }, writer: { type: 'string' } }, permissions },
  },
}
