/** An HTML document that the build bundles from a module (`bundle-page.ts`). */
declare module '*?document' {
  const page: import('../types/host.js').Page
  // biome-ignore lint/style/noDefaultExport: bundlers use a default export
  export default page
}
