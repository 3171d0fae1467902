/** The page of kit-in-opfs.mjs: reports what its worker posts. */
const worker = new Worker('opfs.js', { type: 'module' })
worker.onmessage = ({ data }) => globalThis.report(data)
worker.onerror = ({ message }) => globalThis.report({ name: 'the worker', failure: message, count: 0 })
