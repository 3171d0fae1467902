import {
  canDeliver,
  canVerify,
  changeIdentifier,
  changeSecret,
  endOne,
  login,
  logout,
  logoutAll,
  me,
  register,
  requestReset,
  requestVerification,
  reset,
  sessions,
  verify,
} from '../../accounts/routes/accounts.js'
import { batch } from '../../batch/routes/batch.js'
import { changes } from '../../changes/routes/changes.js'
import { aggregate, bulk, count, create, list } from './collection.js'
import { patch, put, read, remove } from './document.js'
import { live, ready } from './health.js'
import { hasPage, openapi, page, root } from './root.js'
import { type Route, route } from './route.js'

/**
 * All routes. The first route whose path matches is used. HEAD is handled like GET; OPTIONS is answered for every path.
 */
export const ROUTES: readonly Route[] = [
  route('/', { GET: root }),
  route('/_batch', { POST: batch }),
  route('/_health/live', { GET: live }, { isThere: ({ hasHealth }) => hasHealth }),
  route('/_health/ready', { GET: ready }, { isThere: ({ hasHealth }) => hasHealth }),
  route('/_openapi.json', { GET: openapi }, { isThere: ({ isDescribed }) => isDescribed }),
  route('/_page', { GET: page }, { isThere: hasPage }),
  route('/auth/register', { POST: register }, { isOpen: (auth) => auth.register }),
  route('/auth/login', { POST: login }),
  route('/auth/change-secret', { POST: changeSecret }),
  route('/auth/request-reset', { POST: requestReset }, { isThere: canDeliver }),
  route('/auth/reset', { POST: reset }, { isThere: canDeliver }),
  route('/auth/request-verification', { POST: requestVerification }, { isThere: canVerify }),
  route('/auth/verify', { POST: verify }, { isThere: canVerify }),
  route('/auth/change-identifier', { POST: changeIdentifier }, { isThere: canVerify }),
  route('/auth/logout', { POST: logout }),
  route('/auth/logout-all', { POST: logoutAll }),
  route('/auth/me', { GET: me }),
  route('/auth/sessions', { GET: sessions }),
  route('/auth/sessions/:id', { DELETE: endOne }),
  route('/:collection', { GET: list, POST: create }),
  route('/:collection/aggregate', { GET: aggregate }),
  route('/:collection/count', { GET: count }),
  route('/:collection/changes', { GET: changes }, { isIn: ({ hasChanges }) => hasChanges, isReserved: true }),
  // Secrets are hashed one after another, so a collection with a secret has no bulk create.
  route('/:collection/bulk', { POST: bulk }, { isIn: ({ hashes }) => hashes.length === 0 }),
  route('/:collection/:id', { GET: read, PATCH: patch, PUT: put, DELETE: remove }),
]
