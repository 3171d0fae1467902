export { createTestHasher } from './test-hasher.js'
