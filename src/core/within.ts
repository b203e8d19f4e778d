/** Whether an absolute path is that folder or in it. By component: `/a/bc` is not within `/a/b`. Both are real paths. */
export function isWithin(path: string, folder: string): boolean {
  const trimmed = folder.endsWith('/') ? folder.slice(0, -1) : folder
  return path === trimmed || path.startsWith(`${trimmed}/`)
}
