/** An HTML document bundled from a module; the build creates it (`bundle-page.ts`). */
declare module '*?document' {
  const page: import('../types/host.js').Page
  // biome-ignore lint/style/noDefaultExport: bundlers export it so
  export default page
}
