/** Packs what is built; the tarball's path. */
export function pack(folder: string): Promise<string>
