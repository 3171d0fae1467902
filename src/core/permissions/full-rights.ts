import { ANYWHERE } from '../query/where.js'
import { ALL_PROPERTIES, type CompiledPermissions, EVERYONE, type Mentions, type Rule } from './grants.js'

/** The rule of full rights: it allows everything in every document. */
export const EVERYTHING: Rule = {
  subject: EVERYONE,
  place: '',
  properties: ALL_PROPERTIES,
  where: ANYWHERE,
  check: ANYWHERE,
  set: new Map(),
  acceptsRole: true,
  claims: [],
}

const mentions: Mentions = new Map([[EVERYONE, [EVERYTHING]]])

/** The permissions of a collection with which every caller has full rights. */
export const FULL_RIGHTS: CompiledPermissions = {
  create: mentions,
  read: mentions,
  update: mentions,
  delete: mentions,
}
