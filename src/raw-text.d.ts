/** The text of a module in place of its exports; the build inserts it. */
declare module '*?raw' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: that is how tools give it
  export default text
}
