/**
 * Draws the version of a new document, below 2^52. A document that is deleted and made again under its `_id` is
 * then never taken for the one that was read. Each change adds one.
 */
export const drawFirstVersion = (): number => 1 + Math.floor(Math.random() * (2 ** 52 - 1))
