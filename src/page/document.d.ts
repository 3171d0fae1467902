/** A page in place of the module that it begins with; the build makes it (`bundle-page.ts`). */
declare module '*?document' {
  const page: import('../types/host.js').Page
  // biome-ignore lint/style/noDefaultExport: that is how tools give it
  export default page
}
