// CONTRACT.md §8, "Check"

export type Json = { readonly [name: string]: unknown }

export const TEXT = { type: 'string' }
export const TEXTS = { type: 'array', items: TEXT, maxItems: 20 }
export const STATUS = { type: 'string', enum: ['draft', 'published'], default: 'draft', index: true }
export const ACCOUNT = {
  email: { type: 'string', unique: true, required: true, lowercase: true },
  password: { type: 'hash', required: true },
  role: { type: 'string', enum: ['editor', 'admin'] },
}
export const SELF = { read: true, delete: true }

/** A configuration without any finding, but for what the parts say. */
export const config = ({
  schema = { title: TEXT, status: STATUS },
  permissions = { user: { read: true, create: true, update: true } },
  users = {},
  account = {},
  others = {},
  auth = {},
  collection = {},
  ...rest
}: {
  readonly [part: string]: Json
} = {}): Json => ({
  collections: {
    users: { schema: { ...ACCOUNT, ...account }, permissions: { owner: SELF, ...users } },
    notes: { schema, permissions, ...collection },
    ...others,
  },
  auth: { roleField: 'role', ...auth },
  limits: { defaultLimit: 20 },
  ...rest,
})

export const notes = (permissions: Json, more: { readonly [part: string]: Json } = {}): Json =>
  config({ permissions, ...more })

export const N = '/collections/notes/permissions'
export const U = '/collections/users/permissions'
export const S = '/collections/notes/schema'

export const reads = { read: true }
export const PUBLISHED = { status: 'published' }
export const OWN_TEAM = { team: '$user.team' }
export const withTeam = { account: { team: TEXT }, schema: { title: TEXT, team: { ...TEXT, index: true } } }
export const teamUser = { ...withTeam, users: { admin: true } }
/** References to documents that only a role reads. */
export const target = (permissions: Json) => ({
  schema: { title: TEXT, about: { type: 'reference', collection: 'topics' } },
  others: { topics: { schema: { name: TEXT }, permissions } },
})

/** A configuration that shows a finding at some places, and one, as near as can be, that is silent. */
export type Row = readonly [what: string, shown: Json, findings: readonly string[], near: Json]

export type Rows = { readonly [code: string]: readonly Row[] }
