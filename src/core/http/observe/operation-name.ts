/** The names of operations that are not the last part of their path. */
const NAMES: { readonly [route: string]: string } = {
  'GET /': 'collections',
  'POST /_batch': 'batch',
  'GET /_openapi.json': 'openapi',
  'GET /_page': 'page',
  'DELETE /auth/sessions/:id': 'end-session',
  'GET /:collection': 'list',
  'POST /:collection': 'create',
  'GET /:collection/:id': 'read',
  'PATCH /:collection/:id': 'update',
  'PUT /:collection/:id': 'replace',
  'DELETE /:collection/:id': 'delete',
}

/** Returns the name of the operation of a method at a route; by default the last part of the route's path. */
export const nameOperation = (method: string, path: string): string =>
  NAMES[`${method} ${path}`] ?? path.slice(path.lastIndexOf('/') + 1)
