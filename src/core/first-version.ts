/**
 * Draws the version of a new document, below 2^52, at random: a document that was deleted and created again under its
 * `_id` is then never mistaken for the former one. Each change adds one.
 */
export const drawFirstVersion = (): number => 1 + Math.floor(Math.random() * (2 ** 52 - 1))
