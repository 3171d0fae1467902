export type { InsightOptions } from './options.js'
