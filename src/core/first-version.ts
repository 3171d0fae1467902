/**
 * Returns a random version below 2^52 for a new document. Each change adds one. Because the first version is random, a
 * document that was deleted and created again under the same `_id` is not mistaken for the deleted document.
 */
export const drawFirstVersion = (): number => 1 + Math.floor(Math.random() * (2 ** 52 - 1))
