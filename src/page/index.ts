import type { Page } from '../types/host.js'
import document from './app/main.tsx?document'

/**
 * Creates the page, which `createCollectionService` serves at `GET /_page` where it is given as `options.page`
 * (CONTRACT.md §11): one HTML document that loads nothing else, and a client like any other, without a right of its
 * own. It has the same text for everyone; nothing is thrown.
 *
 * @example
 * ```ts
 * const service = createCollectionService(config, adapter, { page: createPage() })
 * ```
 */
export const createPage = (): Page => document
