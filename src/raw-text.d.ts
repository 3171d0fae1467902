/** The text of a module instead of what it exports; the build puts it in. */
declare module '*?raw' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: that is how tools give it
  export default text
}
