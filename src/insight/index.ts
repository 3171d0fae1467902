export { type ApiOptions, describeApi } from '../openapi/describe-api.js'
export type { ApiDocument } from '../openapi/describe-service.js'
export type { InsightOptions } from './options.js'
